"""A bounded memory of the words that have come, so that hashed columns can be named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter

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

    def __deepcopy__(self, memo: object) -> Vocabulary:
        twin = Vocabulary({})
        dict.update(twin, self)  # none of them is to be checked again
        return twin

    def hear(self, words: Sequence[str]) -> None:
        """Count words."""
        if max(map(len, words), default=0) > _LONGEST:
            words = [word for word in words if len(word) <= _LONGEST]
        self.update(words)
        if len(self) > MOST:
            often = sorted(self.items(), key=itemgetter(1), reverse=True)  # as most_common, faster
            self.clear()
            self.update(dict(often[: MOST // 2]))

    def most(self, count: int) -> list[str]:
        """The words that came most often."""
        return [word for word, _ in self.most_common(count)]
