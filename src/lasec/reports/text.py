"""Words of a user, made fit to be drawn and written: names can be anything."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MOST = 24
OTHERS = ("another class", "the predicted class")


def clean(words: str) -> str:
    r"""Words that any file can hold: no control characters, and no halves of characters.

    >>> clean("a\tb"), clean("x\ud800")
    ('a b', 'x\\ud800')
    """
    whole = words.encode(errors="backslashreplace").decode()
    return "".join(" " if unicodedata.category(c) == "Cc" else c for c in whole)


def across(words: str) -> int:
    r"""How many letters wide words are; those of East Asia and pictures are two.

    >>> across("Tokyo"), across("\u6771\u4eac")
    (5, 4)
    """
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in words)


def short(words: str, most: int = MOST) -> str:
    """A name that fits into a figure, with nothing in it that matplotlib would take for math.

    The middle is left out, as names often differ at the end.

    >>> short("_a name that is much too long for a legend, number 7")
    'a name that\N{HORIZONTAL ELLIPSIS}nd, number 7'
    """
    kept = clean(words).lstrip("_")
    if across(kept) > most:
        head, tail = kept[: most // 2], kept[-(most // 2) :]
        while across(head + tail) >= most:
            head, tail = (head[:-1], tail) if across(head) >= across(tail) else (head, tail[1:])
        kept = f"{head}\N{HORIZONTAL ELLIPSIS}{tail}"
    return kept.replace("$", "\\$")


def pair(classes: Sequence[str]) -> tuple[str, str]:
    """What margins tell apart: the first of two classes and the second, or any and the predicted.

    >>> pair(["ham", "spam"]), pair(()), pair(["ham", "spam", "eggs"])
    (('ham', 'spam'), ('-1', '+1'), ('another class', 'the predicted class'))
    """
    if isinstance(classes, str):
        raise ValueError(f"classes: expected names, got {classes!r}")
    two = {0: ("-1", "+1"), 2: tuple(classes)}.get(len(classes), OTHERS)
    below, above = (clean(str(name)) for name in two)
    return below, above
