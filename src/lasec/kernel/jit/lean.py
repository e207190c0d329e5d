"""Functions that only compiled code calls, compiled once: as a part of what is emitted.

numba makes of every function an optimized module, machine code and wrappers for C and Python, and
then links the module into those of its callers, which are optimized and translated again. Of the
hundred functions in the Tracker's margin, only the outermost one is ever called. So they have no
wrappers here (``overload``), and while that one is compiled (``outermost``), lasec's own functions
in it are left as they are and optimized with it, and nothing is loaded: half the time to compile.

That needs numba's insides. Where they are not as expected, or for functions that are not lasec's,
everything is as numba does it. The results are the same to rounding: a sum whose terms may be added
in any order may be added in another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar, cast

from llvmlite import binding
from numba.core import codegen as _codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import overload as _overload

__all__ = ["WITHIN", "outermost", "overload"]

# Nobody calls these functions by their address.
WITHIN: dict[str, Any] = {"no_cfunc_wrapper": True}

F = TypeVar("F", bound=Callable[..., Any])

_OWN = "_ZN5lasec"  # how the symbols of lasec's functions begin
_WRAPPERS = ("_ZN7cpython", "cfunc.")
_NEEDED = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
_library: Any = getattr(_codegen, "JITCodeLibrary", object)
_waiting: dict[str, Any] = {}  # environments of functions that are in no machine code yet


def overload(function: Callable[..., Any]) -> Callable[[F], F]:
    """``numba.extending.overload``, of a function that only compiled code calls."""
    register: Any = _overload
    return cast(Callable[[F], F], register(function, strict=False, jit_options=WITHIN))


class Environments:
    """numba's code generator; an environment whose symbol does not exist yet is set later."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Set the environment of a function, and those that waited for this one's code."""
        _waiting[name] = environment
        known = self._codegen._engine.is_symbol_defined
        for symbol in [symbol for symbol in _waiting if known(symbol)]:
            self._codegen.set_env(symbol, _waiting.pop(symbol))


class Library(_library):  # type: ignore[misc]
    """What is compiled of one function: of an inner one of lasec's, a module to link, no more."""

    @property
    def codegen(self) -> Any:
        """The code generator that owns this."""
        return Environments(self._codegen)

    @cached_property
    def _defined(self) -> list[str]:
        external = binding.Linkage.external
        return [
            function.name
            for function in self._final_module.functions
            if not function.is_declaration and function.linkage == external
        ]

    @property
    def is_inner(self) -> bool:
        """Whether this is one of lasec's functions, and has no wrapper to call it by."""
        called = any(name.startswith(_WRAPPERS) for name in self._defined)
        return not called and any(name.startswith(_OWN) for name in self._defined)

    @property
    def is_called(self) -> bool:
        """Whether Python can call this one."""
        return any(name.startswith(_WRAPPERS[0]) for name in self._defined)

    def _optimize_final_module(self) -> None:
        if not self.is_inner:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.is_called:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._finalized = True


def _fits(codegen: Any) -> bool:
    """Whether numba has the insides that this module needs."""
    engine = getattr(codegen, "_engine", None)
    known = getattr(type(codegen), "_library_class", None) is _library
    there = all(hasattr(_library, name) for name in _NEEDED)
    return known and there and hasattr(codegen, "set_env") and hasattr(engine, "is_symbol_defined")


@contextmanager
def outermost() -> Iterator[None]:
    """While a function is compiled to be emitted: those that it calls are a part of it."""
    target: Any = cpu_target
    codegen = target.target_context.codegen()
    with global_compiler_lock:
        if not _fits(codegen) or "_library_class" in vars(codegen):
            yield
            return
        codegen._library_class = Library
        try:
            yield
        finally:
            del codegen._library_class
