"""A shard's state: named bytes in a few parts, kept by Spark's state store or by a dictionary."""

from __future__ import annotations

from typing import Any, Protocol

MODELS = ("page", "block")  # the parts that hold models
KEY_SCHEMA, VALUE_SCHEMA = "part string, name string", "value binary"


class Store(Protocol):
    """Bytes under a part and a name."""

    def get(self, part: str, name: str = "") -> bytes | None:
        """What is kept there, or None."""

    def put(self, part: str, name: str, value: bytes) -> None:
        """Keep ``value`` there."""

    def remove(self, part: str, name: str) -> None:
        """Keep nothing there any more."""


class SparkStore:
    """The map state of one group: each call is a round trip from the Python worker to the JVM."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, part: str, name: str = "") -> bytes | None:
        """What is kept there, or None."""
        found = self._state.getValue((part, name))
        return None if found is None else bytes(found[0])

    def put(self, part: str, name: str, value: bytes) -> None:
        """Keep ``value`` there."""
        self._state.updateValue((part, name), (value,))

    def remove(self, part: str, name: str) -> None:
        """Keep nothing there any more."""
        self._state.removeKey((part, name))


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
