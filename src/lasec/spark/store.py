"""A shard's state: named bytes in a few parts, kept by Spark's state store or by a dictionary."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

import numpy as np
from pyspark.sql.streaming import StatefulProcessorHandle

MODELS = ("page", "block")  # the parts that hold models
KEY = "part string, name string"
PARTS, PAGES = "parts", "pages"  # two map states of Spark: bytes, and what is kept as text


class Store(Protocol):
    """Bytes under a part and a name."""

    def get(self, part: str, name: str = "") -> bytes | None:
        """What is kept there, or None."""

    def put(self, part: str, name: str, value: bytes) -> None:
        """Keep ``value`` there."""

    def remove(self, part: str, name: str) -> None:
        """Keep nothing there any more."""


class SparkStore:
    """The map states of one group: each call is a round trip from the Python worker to the JVM.

    Models are kept as text, of which Spark hands a page to Python in a fifth of the time that it
    takes for bytes (docs/decisions/0013-engine.md).
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._parts = handle.getMapState(PARTS, KEY, "value binary")
        self._pages = handle.getMapState(PAGES, KEY, "value string")

    def get(self, part: str, name: str = "") -> bytes | None:
        """What is kept there, or None."""
        state = self._pages if part in MODELS else self._parts
        found = state.getValue((part, name))
        if found is None or part not in MODELS:
            return None if found is None else bytes(found[0])
        with suppress(ValueError):
            return from_text(found[0])
        return b""  # not what was written, as its fingerprint will say

    def put(self, part: str, name: str, value: bytes) -> None:
        """Keep ``value`` there."""
        if part in MODELS:
            self._pages.updateValue((part, name), (to_text(value),))
        else:
            self._parts.updateValue((part, name), (value,))

    def remove(self, part: str, name: str) -> None:
        """Keep nothing there any more."""
        (self._pages if part in MODELS else self._parts).removeKey((part, name))


def to_text(value: bytes) -> str:
    """Bytes as ASCII: the lower seven bits of each, and then the eighth bits in hexadecimal.

    It is a quarter longer than the bytes, and ten times as fast as base64.

    >>> to_text(b"page"), from_text(to_text(bytes(range(256)))) == bytes(range(256))
    ('page00', True)
    """
    data = np.frombuffer(value, np.uint8)
    eighth = np.packbits(data >> 7, bitorder="little").tobytes()
    return (data & 127).tobytes().decode("ascii") + eighth.hex()


def from_text(text: str) -> bytes:
    """The bytes that :func:`to_text` was given."""
    size = 4 * len(text) // 5
    data = np.frombuffer(bytes.fromhex(text[size:]), np.uint8)
    bits = np.unpackbits(data, count=size, bitorder="little")
    return (np.frombuffer(text[:size].encode("ascii"), np.uint8) | (bits << 7)).tobytes()


class PlainStore(dict[tuple[str, str], bytes]):
    """The same in memory: a shard without Spark, for trying things out and for tests.

    >>> store = PlainStore()
    >>> store.put("page", "0", b"...")
    >>> store.get("page", "0"), store.get("page", "1")
    (b'...', None)
    """

    def get(self, part: str, name: str = "") -> bytes | None:  # type: ignore[override]
        """What is kept there, or None."""
        return super().get((part, name))

    def put(self, part: str, name: str, value: bytes) -> None:
        """Keep ``value`` there."""
        self[part, name] = value

    def remove(self, part: str, name: str) -> None:
        """Keep nothing there any more."""
        super().pop((part, name), None)
