"""Alarms as bytes: a kind, parameters and arrays, in a :mod:`lasec.persistence.container`.

What is saved has a ``KIND``, the names of its ``PARAMETERS``, and gives the rest as header and
arrays by ``_saved``, which ``_restore`` takes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lasec.errors import StateError
from lasec.persistence.container import Arrays, pack, restored

T = TypeVar("T")


def to_bytes(part: Any) -> bytes:
    """The whole of an alarm."""
    header, arrays = part._saved()
    parameters = {name: getattr(part, name) for name in part.PARAMETERS}
    return pack({"kind": part.KIND, "parameters": parameters, **header}, arrays)


def from_bytes(data: bytes, kind: str, make: Callable[..., T]) -> T:
    """What :func:`to_bytes` gave; ``make`` is called with the parameters."""

    def build(header: dict[str, Any], arrays: Arrays) -> T:
        if header.get("kind") != kind:
            raise StateError(f"foreign: this is not a {kind}")
        made: Any = make(**header["parameters"])
        made._restore(header, arrays)
        return made  # type: ignore[no-any-return]

    return restored(data, build)
