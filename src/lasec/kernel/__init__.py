"""Compiled code, imported when it is first used: importing numba takes half a second."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lasec.kernel import engine as engine


def __getattr__(name: str) -> ModuleType:
    """The engine, imported on first use."""
    if name != "engine":
        raise AttributeError(f"module 'lasec.kernel' has no attribute {name!r}")
    return importlib.import_module("lasec.kernel.engine")
