"""Words on their way to a terminal: what a file holds must not steer it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# C0, DEL, C1; marks that turn the direction of writing; line ends of Unicode; halves of characters.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(words: str) -> str:
    r"""Words that any terminal can show: control characters as they are written in Python.

    Line ends and tabs are left as they are.

    >>> clean("a\x1b[2Jb\u202e")
    'a\\x1b[2Jb\\u202e'
    """
    if words.isprintable():
        return words
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], words)


def one_line(words: str) -> str:
    r"""The same, in one line.

    >>> one_line("a\nb")
    'a\\nb'
    """
    return clean(words).replace("\n", "\\n")


class Terminal(Console):
    """A console that shows control characters in place of obeying them."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print each text in one line, and anything else as it is."""
        super().print(*(one_line(o) if isinstance(o, str) else o for o in objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """All that is printed, progress bars included, comes through here."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=clean(segment.text))
