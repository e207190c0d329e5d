"""A stream of bytes whose beginning can be looked at before it is read."""

from __future__ import annotations

from typing import Any


class Replay:
    """Reads ``stream`` from its beginning, of which up to ``size`` bytes are ``peeked`` at first.

    >>> import io
    >>> file = Replay(io.BytesIO(b"abcdef"), 4)
    >>> file.peeked, file.read(3), file.read(9), file.read(9)
    (b'abcd', b'abc', b'def', b'')
    """

    closed = False

    def __init__(self, stream: Any, size: int) -> None:
        self._stream, self.peeked, self._at = stream, b"", 0
        self.look(size)

    def look(self, size: int) -> None:
        """Look at ``size`` bytes from the beginning, before the first is read."""
        self.peeked += self._fill(size - len(self.peeked))
        self.ended = len(self.peeked) < size

    @property
    def share(self) -> int:
        """So much of what was peeked at that a row which it cuts is not in it."""
        return len(self.peeked) + 1 if self.ended else max(1, len(self.peeked) // 2)

    @property
    def holds_rows(self) -> bool:
        """Whether that share holds two lines at least, or all that there are."""
        ends = (self.peeked.count(end, 0, self.share) for end in (b"\n", b"\r"))
        return self.ended or max(ends) > 1

    def block(self, least: int) -> int:
        """How much should be read at a time: some of the longest lines seen so far must fit."""
        return max(least, 4 * max(map(len, self.peeked.split(b"\n"))))

    def read(self, size: int = -1) -> bytes:
        """The next bytes, ``size`` at most; empty at the end."""
        rest = self.peeked[self._at : None if size < 0 else self._at + size]
        self._at += len(rest)
        if size < 0:
            return rest + bytes(self._stream.read())
        return rest + (self._fill(size - len(rest)) if len(rest) < size else b"")

    def _fill(self, size: int) -> bytes:
        """So many bytes, or all that there are: a pipe gives them in small pieces."""
        pieces, missing = [], size
        while missing > 0 and (piece := bytes(self._stream.read(missing))):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def close(self) -> None:
        """Whatever opened the stream closes it."""
