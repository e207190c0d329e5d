"""What compiled code was made from, as a digest: of the kernel, and of the modules of a rule."""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

ABI = 1  # of tables and functions, as the C file and the loader have them
PACKAGE = Path(__file__).parents[1]
# What every function is made with, beside the modules of its types.
SHARED = (
    *(f"kernel/{name}.py" for name in ("calls", "functions", "places")),
    *(f"kernel/jit/{name}.py" for name in ("bridge", "calls", "emit", "lean", "products")),
    "contract.py",
    "methods.py",
    "types.py",
    "validation.py",
)
# How tables are made: what they look like is said by `ABI`.
ASIDE = {"lasec.kernel.handle"}
_IMPORTS = re.compile(r"^\s*from (lasec[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


@cache
def shared() -> bytes:
    """A digest of the kernel's own sources."""
    total = hashlib.sha256(str(ABI).encode())
    for name in SHARED:
        total.update(name.encode() + b"\0" + (PACKAGE / name).read_bytes())
    return total.digest()


@cache
def of_module(name: str) -> bytes:
    """A digest of a module of lasec and of those that it imports, but for packages' names.

    >>> of_module("lasec.rules.perceptron") == of_module("lasec.rules.second_order")
    False
    """
    found: dict[str, bytes] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        path = PACKAGE / f"{'/'.join(module.split('.')[1:])}.py"
        if module not in {*found, *ASIDE} and path.is_file():
            found[module] = path.read_bytes()
            for inner, names in _IMPORTS.findall(found[module].decode()):
                parts = re.findall(r"\w+", names)
                waiting += [inner, *(f"{inner}.{part}" for part in parts)]
    total = hashlib.sha256()
    for module in sorted(found):
        total.update(module.encode() + b"\0" + found[module])
    return total.digest()


def symbol(role: str, kinds: str, types: tuple[type, ...]) -> str:
    """The name of a compiled function: a digest of what it does, for which types, of which sources.

    ``role`` begins with the module of the function, if that is not the one of the types.

    >>> symbol("decide", "i", ()) == symbol("decide", "f", ())
    False
    """
    total = hashlib.sha256(f"{role}\0{kinds}".encode() + shared())
    room = role.rpartition(".")[0]
    for module in sorted({room, *(kind.__module__ for kind in types)} - {""}):
        own = module.split(".")[0] == "lasec"
        total.update(of_module(module) if own else of_other(module))
    return f"lasec_{total.hexdigest()[:24]}"


@cache
def of_other(name: str) -> bytes:
    """A digest of a module that is not lasec's: its file, and those beside it that it imports."""
    module: Any = sys.modules.get(name)
    path = Path(getattr(module, "__file__", None) or "?")
    if name == "__main__" or not path.is_file():
        return b""
    source = path.read_bytes()
    total = hashlib.sha256(source)
    for beside in sorted(path.parent.glob("*.py")):
        if beside.stem.encode() in source:
            total.update(beside.read_bytes())
    return total.digest()


def can_be_kept(types: tuple[type, ...]) -> bool:
    """Whether the sources of all types are in files, so that a change in them is noticed."""
    return all(kind.__module__.startswith("lasec.") or of_other(kind.__module__) for kind in types)
