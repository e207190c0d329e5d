"""Object code that was compiled on this machine, loaded into this process."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from numba.core.registry import cpu_target  # registers the functions that numba's code calls

from lasec.kernel import library
from lasec.kernel.jit.emit import Object

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

_engines: list[Any] = []  # what they hold is called for as long as the process lives
# What numba's code calls, which the library has without Python.
RUNTIME = (
    "NRT_Allocate", "NRT_Free", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned",
    "NRT_MemInfo_call_dtor", "NRT_MemInfo_new_varsize_dtor", "numba_attempt_nocopy_reshape",
    "numba_gil_ensure", "numba_xxdot", "numba_xxgemv",
)  # fmt: skip


def load(name: str, made: Object) -> int:
    """The address of a function in some object code, all of whose needs are there."""
    _prepared()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=0, reloc="pic", codemodel="default"
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    lacking = [need for need in made.needs if not llvm.address_of_symbol(need)]
    if lacking:  # else their addresses would be zero, without a word
        raise ImportError(f"compiled code needs {', '.join(lacking)}, which numba does not have")
    engine.add_object_file(llvm.ObjectFileRef.from_data(made.data))
    engine.finalize_object()
    _engines.append(engine)
    address: int = engine.get_function_address(name)
    return address


def _prepared() -> None:
    """Let object code find what it calls: in the library, else in numba."""
    if _engines:
        return
    for name, address in zip(library.PRODUCTS, library.products(), strict=True):
        llvm.add_symbol(f"lasec_{name}", address)
    found = library.shipped()
    if found.library is None:
        cpu_target.target_context.refresh()
        from numba.core.runtime import nrt  # noqa: PLC0415

        nrt.rtsys.initialize(cpu_target.target_context)
        return
    for symbol in RUNTIME:
        function = getattr(found.library, symbol, None)
        if function is not None:
            llvm.add_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)
