"""The library that comes with lasec: compiled functions in one file, for this kind of processor.

It is loaded only if its manifest beside it says that it is whole, and made for this version of
tables and functions. Functions are found by a digest of their sources, so that a library that is
older or newer than these is one in which there is nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lasec.kernel.sources import ABI, shared

FOLDER = Path(__file__).parent / "library"
LEVELS = ("x86-64-v3", "x86-64-v2", "generic")
_NEEDS = {"x86-64-v3": ("AVX2", "FMA3"), "x86-64-v2": ("SSE42", "POPCNT")}
PRODUCTS = ("dgemm", "dgemv", "dsymm", "dsyrk")


class Shipped(NamedTuple):
    """A library that was loaded, and the functions that it has; or why there is none."""

    library: Any
    names: frozenset[str]
    is_current: bool
    flaw: str

    def address(self, name: str) -> int | None:
        """Where a function is; None where there is no such function."""
        if name not in self.names:
            return None
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value


@cache
def shipped() -> Shipped:
    """The library for this processor."""
    flaw = "there is none for this platform"
    for level in LEVELS:
        manifest = FOLDER / f"{level}.json"
        if manifest.is_file() and runs_here(level):
            found = opened(manifest)
            if not found.flaw:
                return found
            flaw = found.flaw
    return Shipped(None, frozenset(), is_current=True, flaw=flaw)


def opened(manifest: Path) -> Shipped:
    """The library of a manifest, once all of it has been checked."""
    nothing = Shipped(None, frozenset(), is_current=True, flaw="")
    try:
        said = json.loads(manifest.read_text())
        path = manifest.parent / str(said["file"])
        data = path.read_bytes()
        if said["abi"] != ABI:
            return nothing._replace(flaw=f"{path.name} is for another version of lasec")
        if path.parent != manifest.parent or hashlib.sha256(data).hexdigest() != said["sha256"]:
            return nothing._replace(flaw=f"{path.name} is damaged")
        library = ctypes.CDLL(str(path))
        names = frozenset(map(str, said["names"]))
        for name in names:
            getattr(library, name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return nothing._replace(flaw=f"{manifest.stem} cannot be loaded: {error}")
    return Shipped(library, names, said["sources"] == shared().hex(), "")


def runs_here(level: str) -> bool:
    """Whether this machine has what a level of processors has.

    >>> runs_here("x86-64-v3") and not runs_here("x86-64-v2")
    False
    """
    if level == "generic":
        return True
    machine, has = platform.machine().lower(), features()
    return machine in {"x86_64", "amd64"} and all(has.get(name) for name in _NEEDS[level])


def features() -> dict[str, bool]:
    """What NumPy has found out about the processor."""
    core: Any = sys.modules.get("numpy._core._multiarray_umath")
    core = core or sys.modules.get("numpy.core._multiarray_umath")
    return dict(getattr(core, "__cpu_features__", {}))


def products() -> list[int]:
    """The addresses of the matrix products in SciPy's BLAS."""
    from scipy.linalg import cython_blas  # noqa: PLC0415 SciPy takes time to import

    api: Any = ctypes.pythonapi
    name, pointer = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsules = [cython_blas.__pyx_capi__[product] for product in PRODUCTS]
    return [int(pointer(capsule, name(capsule))) for capsule in capsules]
