"""A bounded memory of the words that have come, so that hashed columns can be named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from lasec.parameters import Range, number

MOST = 50_000  # words
_LONGEST = 60  # characters of a word that is remembered


class Vocabulary(Counter[str]):
    """Words and how often they came; where there are too many, the rarest half is forgotten.

    >>> vocabulary = Vocabulary({"free": 3})
    >>> vocabulary.hear(["free", "lunch"])
    >>> vocabulary.most(2), vocabulary["free"]
    (['free', 'lunch'], 4)
    """

    def __init__(self, given: Mapping[str, int]) -> None:
        super().__init__()
        for word, count in dict(given).items():
            if not isinstance(word, str):
                raise ValueError("vocabulary: a word is no text")
            self[word] = number("vocabulary", count, int, Range(1, 2**62))

    def hear(self, words: Iterable[str]) -> None:
        """Count words."""
        self.update(word for word in words if len(word) <= _LONGEST)
        if len(self) > MOST:
            kept = self.most_common(MOST // 2)
            self.clear()
            self.update(dict(kept))

    def most(self, count: int) -> list[str]:
        """The words that came most often."""
        return [word for word, _ in self.most_common(count)]
