r"""Texts as sparse rows: words by a stated rule, hashed with a sign into so many columns.

A word is a run of letters, digits and underscores (``\w+``) of the text in lower case; so are the
parts of ``don't`` and ``a-b``. A word's column and sign are the same in every process and version:
the size of its hash (:mod:`lasec.murmur`, of its bytes in UTF-8) modulo the columns, and the sign
of its hash. A row counts how often each word occurs, with its sign, so that words that collide
cancel on average (K. Weinberger and others, *Feature Hashing for Large Scale Multitask Learning*,
ICML 2009). ``HashingVectorizer(norm=None, token_pattern=r"\w+")`` of scikit-learn gives the same
rows. The :class:`~lasec.Tracker` weighs the counts by itself (:mod:`lasec.rules.tracker.weighing`).
Words that are counted already, or any features with names, are hashed by the same rule.

With ``ngrams``, a row counts the character n-grams of each word as well, so that words which share
a part share columns: those of the word between the marks ``<`` and ``>``, which no word has (P.
Bojanowski and others, *Enriching Word Vectors with Subword Information*, TACL 2017). An n-gram
without a mark has the column of the word that it spells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from lasec.kernel import engine
from lasec.murmur import murmur
from lasec.parameters import Range, number, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["TextHasher"]

_WORD = re.compile(r"\w+")
_ASCII = bytes(ord(chr(i).lower()) if re.match(r"\w", chr(i)) else 32 for i in range(128)) * 2
_APART = re.compile(r"[^\w\x00-\x7f]+")  # beyond ASCII, and part of no word
_COLUMNS = Range(2, 2**31)
_LENGTHS = Range(1, 20)  # characters
_ROOM = 200_000  # texts whose columns are remembered
_SHORT = 40  # characters of a text that is: longer ones could fill the memory


def words_of(text: str) -> list[str]:
    """The words of a text, in their order.

    >>> words_of("Don't miss it: 50% OFF!")
    ['don', 't', 'miss', 'it', '50', 'off']
    """
    if text.isascii():  # ten times as fast
        return text.encode().translate(_ASCII).decode().split()
    return _WORD.findall(text.lower())


def ngrams_of(word: str, shortest: int, longest: int) -> tuple[str, ...]:
    """The character n-grams of a word and its marks, of these lengths, the shortest first.

    >>> ngrams_of("free", 4, 5)
    ('<fre', 'free', 'ree>', '<free', 'free>')
    """
    marked = f"<{word}>"
    return tuple(
        marked[i : i + size]
        for size in range(shortest, longest + 1)
        for i in range(len(marked) - size + 1)
    )


def _bits(word: str) -> int:
    """The hash of a word."""
    return murmur(word.encode("utf-8", "replace"))


_known_ngrams, _known_bits = lru_cache(50_000)(ngrams_of), lru_cache(_ROOM)(_bits)


class TextHasher:
    """Turns texts into sparse rows of hashed words, for a :class:`~lasec.Tracker`.

    A dict, such as ``{"free": 2, "prize": 1}``, is a row of words or other features with their
    values. A name that is no text is hashed as its ``str()``.

    Parameters
    ----------
    columns
        The number of columns; from 2^18 to 2^24, few words collide, and more cost nothing.
    ngrams
        The shortest and the longest character n-grams to count beside the words, such as (4, 5), or
        None for words alone.
    heard
        Called with the words of each text, and with its n-grams if they are counted.

    Examples
    --------
    >>> import lasec
    >>> hasher = TextHasher()
    >>> mails = ["win a free prize", "lunch at noon?", "free prize inside", "see you at lunch"]
    >>> X = hasher.rows(mails)
    >>> X.shape, X.nnz
    ((4, 262144), 14)
    >>> tracker = lasec.Tracker(rate=1.0, seed=0)
    >>> records = tracker.run(X, ["spam", "ham", "spam", "ham"])
    >>> tracker.predict(hasher.rows(["a free prize"])).tolist()
    ['spam']
    >>> tracker.ask(hasher.row({"free": 2, "prize": 1})).label
    'spam'
    """

    def __init__(
        self,
        columns: Annotated[int, _COLUMNS] = 2**18,
        *,
        ngrams: tuple[int, int] | None = None,
        heard: Callable[[list[str]], None] | None = None,
    ) -> None:
        self.columns: int = number("columns", columns, int, _COLUMNS)
        self.ngrams = None if ngrams is None else _lengths(ngrams)
        self._heard = heard

    def words(self, text: str) -> list[str]:
        """The words of a text, in their order, and then their n-grams if they are counted.

        >>> TextHasher().words("Don't miss it: 50% OFF!")
        ['don', 't', 'miss', 'it', '50', 'off']
        >>> TextHasher(ngrams=(4, 5)).words("it is free")
        ['it', 'is', 'free', '<it>', '<is>', '<fre', 'free', 'ree>', '<free', 'free>']
        """
        words = words_of(_text(text))
        if self.ngrams is not None:
            words += [part for word in words for part in _parts(word, self.ngrams)]
        return words

    def column(self, word: str) -> tuple[int, float]:
        """The column and the sign of a word.

        >>> TextHasher().column("prize")
        (221993, 1.0)
        """
        bits = _known_bits(word) if len(word) <= _SHORT else _bits(word)
        return abs(bits) % self.columns, 1.0 if bits >= 0 else -1.0

    def counts(self, text: str | Mapping[Hashable, float]) -> dict[int, float]:
        """How often the words of each column occur in a text, with their signs.

        >>> sorted(TextHasher().counts("free free prize").values())
        [1.0, 2.0]
        >>> sorted(TextHasher().counts({"free": 2, "prize": 1}).values())
        [1.0, 2.0]
        """
        if isinstance(text, Mapping):
            return self._named(text)
        counts: dict[int, float] = {}
        words = self.words(text)
        if self._heard is not None:
            self._heard(words)
        for word in words:
            column, sign = self.column(word)
            counts[column] = counts.get(column, 0.0) + sign
        return counts

    def _named(self, values: Mapping[Hashable, float]) -> dict[int, float]:
        """The values of named features, in the columns of their names."""
        names = [name if isinstance(name, str) else str(name) for name in values]
        if self._heard is not None:
            self._heard(names)
        counts: dict[int, float] = {}
        for name, value in zip(names, values.values(), strict=True):
            column, sign = self.column(name)
            counts[column] = counts.get(column, 0.0) + sign * _value(name, value)
        return counts

    def row(self, text: str | Mapping[Hashable, float]) -> csr_array:
        """The sparse row of one text, or of words with their counts.

        >>> hasher = TextHasher()
        >>> (hasher.row("free free prize") != hasher.row({"free": 2, "prize": 1})).nnz
        0
        """
        return self.rows([text])

    def rows(self, texts: Iterable[str | Mapping[Hashable, float]]) -> csr_array:
        """A sparse row for each text, or for each dict of words with their counts.

        >>> TextHasher(columns=16).rows([""]).nnz
        0
        """
        from scipy.sparse import csr_array  # noqa: PLC0415, importing lasec imports no SciPy

        given = list(texts)
        if self.ngrams is None and all(isinstance(text, str) for text in given):
            data = [self._bytes(text) for text in given]  # type: ignore[arg-type]
            starts, columns, values = engine.word_pairs(data, self.columns)
        else:
            starts, columns, values = self._pairs(given)
        whole = np.int32 if len(columns) < 2**31 else np.int64  # scikit-learn wants the former
        found = values, columns.astype(whole), starts.astype(whole)
        return csr_array(found, (len(given), self.columns))

    def _pairs(self, texts: list[Any]) -> tuple[Any, Any, Any]:
        """The same pairs as those of compiled code, of dicts and n-grams too."""
        starts, columns, values = [0], list[int](), list[float]()
        for text in texts:
            found = sorted((at, value) for at, value in self.counts(text).items() if value != 0.0)
            columns += [at for at, _ in found]
            values += [value for _, value in found]
            starts.append(len(columns))
        return np.array(starts), np.array(columns, np.int64), np.array(values)

    def _bytes(self, text: str) -> bytes:
        """A text as compiled code takes it: beyond ASCII, words alone and in lower case."""
        if self._heard is not None:
            self._heard(self.words(text))
        return (text if text.isascii() else _APART.sub(" ", text.lower())).encode()


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"texts: expected text or a dict, got {type(given).__name__}")
    return given


def _parts(word: str, lengths: tuple[int, int]) -> tuple[str, ...]:
    """The n-grams of a word; those of a short one are remembered."""
    return _known_ngrams(word, *lengths) if len(word) <= _SHORT else ngrams_of(word, *lengths)


def _lengths(given: Any) -> tuple[int, int]:
    """The lengths of n-grams, the shorter first."""
    try:
        shortest, longest = given
    except (TypeError, ValueError):
        raise TypeError(
            f"ngrams: expected two lengths, such as (4, 5), got {shown(given)}"
        ) from None
    low = number("ngrams", shortest, int, _LENGTHS)
    return low, number("ngrams", longest, int, Range(low, _LENGTHS.high))


def _value(name: str, given: Any) -> float:
    try:
        return math.fsum([given])  # which takes no text for a number
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"texts: {shown(name)} is no number but {shown(given)}") from None
