"""JSON lines, checked before a parser sees them: an object in each line, and not too deep.

Arrow's parser ends the process where all rows of a block are ``null``, and every recursive parser
where values are nested deeply enough; neither can be caught afterwards.
"""

from __future__ import annotations

import re
from typing import Any

from lasec.errors import TableError

DEEPEST = 64  # objects and arrays inside each other
LONGEST = 1 << 26  # bytes of a line
_BLOCK = 1 << 20
_END = re.compile(rb"\r\n|[\r\n]")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def too_deep(line: bytes) -> bool:
    """Whether the values of a line are nested deeper than ``DEEPEST``; brackets in texts are none.

    >>> too_deep(b"[" * 65), too_deep(b"[]" * 65), too_deep(b'["' + b"[" * 65 + b'"]')
    (True, False, False)
    """
    if line.count(b"[") + line.count(b"{") <= DEEPEST:
        return False
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub(b"", line)):
        depth += 1 if found[0] in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


class Objects:
    r"""A stream of bytes that gives the lines of ``stream`` as long as each holds an object.

    >>> import io
    >>> lines = Objects(io.BytesIO(b'{"a": 1}\nnull\n'), "rows.jsonl")
    >>> lines.read(100)
    Traceback (most recent call last):
    lasec.errors.TableError: rows.jsonl: line 2: expected an object, got 'null'
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name
        self._ready, self._rest = b"", list[bytes]()  # checked; a line whose end is still to come
        self._lines, self._ended = 0, False

    def read(self, size: int) -> bytes:
        """The next bytes, ``size`` at most; empty at the end."""
        while not self._ready and not self._ended:
            self._more()
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def _more(self) -> None:
        """Check some more lines."""
        piece = bytes(self._stream.read(_BLOCK))
        cut = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        if not piece:
            self._ended, cut = True, 0
        elif not cut:
            self._rest.append(piece)
            if sum(map(len, self._rest)) > LONGEST:
                raise TableError(f"{self._name}: a line is longer than {LONGEST >> 20} MB")
            return
        self._ready = b"".join([*self._rest, piece[:cut]])
        self._rest = [piece[cut:]]
        self._check(self._ready)

    def _check(self, lines: bytes) -> None:
        if not self._lines:
            lines = lines.removeprefix(b"\xef\xbb\xbf")
        some, objects = _END.split(lines) if b"\r" in lines else lines.split(b"\n"), 0
        for at, line in enumerate(some):
            first = line[:1] if line[:1] not in (b" ", b"\t") else line.lstrip(b" \t")[:1]
            if first not in (b"{", b""):
                found = line[:80].decode("utf-8", "replace")
                raise self._wrong(at, f"expected an object, got {found!r}")
            objects += bool(first)
        if lines.count(b"{") + lines.count(b"[") >= objects + DEEPEST:  # else none can be too deep
            for at, line in enumerate(some):
                if too_deep(line):
                    raise self._wrong(at, f"nested deeper than {DEEPEST}")
        self._lines += len(some) - 1

    def _wrong(self, at: int, what: str) -> TableError:
        return TableError(f"{self._name}: line {self._lines + at + 1}: {what}")
