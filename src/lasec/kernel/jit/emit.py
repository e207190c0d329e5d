"""Functions as object code: position-independent, in the default code model, with names of C.

numba's own way of loading code puts it into memory in the large code model, in which the same code
takes 1.4 times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from numba.core import types as _types

from lasec.kernel.jit.lean import WITHIN, outermost
from lasec.kernel.places import FAILED

types: Any = _types
njit: Any = numba.njit
config: Any = numba.config
_C = {types.int64: "i64", types.float64: "double"}


def inner(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls."""
    return njit(nogil=True, no_cpython_wrapper=True, **WITHIN)(function)


def here() -> tuple[str, str]:
    """This machine's processor, and what it can do, as numba compiles for it."""
    name, features = config.CPU_NAME, config.CPU_FEATURES
    return (
        name or llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten() if features is None else features,
    )


def bitcode(name: str, function: Callable[..., int], signature: Any) -> bytes:
    """A module that defines ``int64 name(...)`` and nothing else.

    The function gives ``FAILED`` where the one in Python would have raised an error.
    """
    made = njit(nogil=True, no_cpython_wrapper=True)(function)
    with outermost():
        made.compile(signature)
    code = made.overloads[signature.args]
    module = llvm.parse_bitcode(code.library._final_module.as_bitcode())
    module.link_in(
        llvm.parse_assembly(_wrapper(name, code.fndesc.llvm_func_name, signature, module))
    )
    for item in [*module.functions, *module.global_variables]:
        if not item.is_declaration and item.name != name:
            item.linkage = "internal"
    _make_one(module)
    made_of: bytes = module.as_bitcode()
    return made_of


def _make_one(module: Any) -> None:
    """Let functions become a part of what calls them, and leave out counts that cancel.

    A state is handed on as some hundred numbers, and each function counts references to the arrays
    that it is given. Only now, when nothing else can call these functions, may LLVM take them
    apart; numba's own inlining, of Python, loses what is written into an array that a tuple holds.
    """
    passes = llvm.create_pass_builder(_machine(*here()), llvm.create_pipeline_tuning_options(3))
    unused, counts = llvm.create_new_module_pass_manager(), llvm.create_new_module_pass_manager()
    unused.add_global_dead_code_eliminate_pass()
    counts.add_refprune_pass()
    counts.add_dead_code_elimination_pass()
    for step in (unused, passes.getModulePassManager(), counts, unused):
        step.run(module, passes)


def _machine(cpu: str, features: str) -> Any:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


def _wrapper(name: str, native: str, signature: Any, module: Any) -> str:
    """What calls numba's function, whose result is a status, as a function of C."""
    kinds = [_C[kind] for kind in signature.args]
    given = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
    return f"""
        target triple = "{module.triple}"
        target datalayout = "{module.data_layout}"
        declare i32 @"{native}"(ptr, ptr, {", ".join(kinds)})
        define i64 @{name}({given}) {{
          %r = alloca i64
          %e = alloca ptr
          store i64 0, ptr %r
          store ptr null, ptr %e
          %s = call i32 @"{native}"(ptr %r, ptr %e, {given})
          %bad = icmp ne i32 %s, 0
          %v = load i64, ptr %r
          %w = select i1 %bad, i64 {FAILED}, i64 %v
          ret i64 %w
        }}"""


class Object(NamedTuple):
    """Machine code as a file that a linker reads, and the functions that it needs from outside."""

    needs: tuple[str, ...]
    data: bytes


def object_code(module: bytes, cpu: str, features: str = "") -> Object:
    """Machine code of a module for a processor."""
    parsed = llvm.parse_bitcode(module)
    names = [f.name for f in parsed.functions if f.is_declaration]
    needs = tuple(name for name in names if not name.startswith("llvm."))
    return Object(needs, _machine(cpu, features).emit_object(parsed))
