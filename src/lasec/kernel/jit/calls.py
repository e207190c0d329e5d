"""What compiled code makes of tables and addresses: :mod:`lasec.kernel.calls` as intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types as _types
from numba.extending import intrinsic as _intrinsic
from numba.np import arrayobj as _arrayobj

from lasec.kernel import calls
from lasec.kernel.jit.lean import WITHIN, overload
from lasec.nested import entry_of

types: Any = _types
arrayobj: Any = _arrayobj
intrinsic: Any = _intrinsic
from_dtype: Any = numba.from_dtype

I64, F64 = types.int64, types.float64
_WORD, _DOUBLE = ir.IntType(64), ir.DoubleType()
_IN_LLVM = {I64: _WORD, F64: _DOUBLE}

SIGNATURES = {
    "look": I64(I64, I64, I64, I64, I64),
    "learn": I64(I64, I64, I64, F64, F64, I64),
    "note": I64(I64, I64, I64),
    "classes": I64(I64, I64, I64, I64, I64),
    "admit": I64(I64, I64, I64),
    "decide": I64(I64, I64, F64, I64, F64, I64),
}
TABLE = I64(I64)  # of a function that takes a table


def kind_of(value: Any) -> Any:
    """numba's type of nested tuples of numbers and arrays."""
    if isinstance(value, tuple):
        members = [kind_of(part) for part in value]
        named = hasattr(value, "_fields")
        return types.NamedTuple(members, type(value)) if named else types.Tuple(members)
    if isinstance(value, np.ndarray):
        return types.Array(from_dtype(value.dtype), value.ndim, "C")
    if isinstance(value, bool | np.bool_):
        return types.boolean
    if isinstance(value, np.uint64):
        return types.uint64
    return I64 if isinstance(value, int | np.integer) else F64


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """A C-contiguous array without a reference count."""
    array, entry = arrayobj.make_array(kind)(context, builder), context.get_data_type(kind.dtype)
    size = context.get_constant(types.intp, context.get_abi_sizeof(entry))
    strides: list[Any] = []
    step = size
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent, flags=["nsw"])
    data = builder.inttoptr(data, entry.as_pointer())
    arrayobj.populate_array(
        array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None
    )
    return array._getvalue()


def _taken(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    if isinstance(kind, types.BaseTuple):
        parts = [_taken(context, builder, part, words) for part in kind.types]
        return context.make_tuple(builder, kind, parts)
    word = next(words)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, word, [next(words) for _ in range(kind.ndim)])
    return builder.bitcast(word, _DOUBLE) if kind == F64 else context.cast(builder, word, I64, kind)


def reader(kind: Any) -> Callable[[int], Any]:
    """A function of an address: the parts of the table that lies there."""

    def read(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table = builder.inttoptr(arguments[0], _WORD.as_pointer())
            places = (builder.gep(table, [ir.Constant(_WORD, i)]) for i in count(1))
            return _taken(context, builder, kind, map(builder.load, places))

        return kind(I64), generate

    made: Callable[[int], Any] = intrinsic(read)
    return made


def viewer(dtype: np.dtype[Any]) -> Callable[[int, int], Any]:
    """A function (address, n): so many entries from there on, as an array."""
    kind = types.Array(from_dtype(dtype), 1, "C")

    def view(typing: Any, address: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _array(context, builder, kind, arguments[0], [arguments[1]])

        return kind(I64, I64), generate

    made: Callable[[int, int], Any] = intrinsic(view)
    return made


_numbers = viewer(np.dtype(np.float64))
overload(calls.numbers)(lambda address, count: lambda address, count: _numbers(address, count))


def _caller(name: str) -> Any:
    """An intrinsic that calls the function of a signature at an address."""
    signature = SIGNATURES[name]
    kinds = [_IN_LLVM[kind] for kind in signature.args]
    pointer = ir.FunctionType(_WORD, kinds).as_pointer()

    def build(typing: Any, function: Any, *given: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            return builder.call(builder.inttoptr(arguments[0], pointer), list(arguments[1:]))

        return I64(I64, *signature.args), generate

    return build


@intrinsic
def _look(typing, f, model, row, n, t, out):  # type: ignore[no-untyped-def]
    return _caller("look")(typing, f)


@intrinsic
def _learn(typing, f, model, row, n, y, draw, t):  # type: ignore[no-untyped-def]
    return _caller("learn")(typing, f)


@intrinsic
def _note(typing, f, model, row, n):  # type: ignore[no-untyped-def]
    return _caller("note")(typing, f)


@intrinsic
def _decide(typing, f, query, seen, drawn, ticket, time, waiting):  # type: ignore[no-untyped-def]
    return _caller("decide")(typing, f)


# numba wants a function of the same arguments.
# ruff: noqa: PLW0108
overload(calls.call_look)(
    lambda look, model, row, n, t, out: (
        lambda look, model, row, n, t, out: _look(look, model, row, n, t, out)
    )
)
overload(calls.call_learn)(
    lambda learn, model, row, n, y, draw, t: (
        lambda learn, model, row, n, y, draw, t: _learn(learn, model, row, n, y, draw, t)
    )
)
overload(calls.call_note)(
    lambda note, model, row, n: lambda note, model, row, n: _note(note, model, row, n)
)
overload(calls.call_decide)(
    lambda decide, query, seen, drawn, ticket, time, waiting: (
        lambda decide, query, seen, drawn, ticket, time, waiting: _decide(
            decide, query, seen, drawn, ticket, time, waiting
        )
    )
)


@overload(calls.point)
def _point(scratch: Any, here: Any, stack: Any, words: Any, strides: Any, k: Any) -> Any:
    def point(scratch: Any, here: int, stack: int, words: Any, strides: Any, k: int) -> None:
        for j in range(scratch.size):
            scratch[j] = words[j] + k * strides[j]

    return point


def _cut(context: Any, builder: Any, kinds: tuple[Any, Any], stacked: Any, at: Any) -> Any:
    """One entry of the first axis of a C-contiguous array, without a reference count."""
    given = arrayobj.make_array(kinds[0])(context, builder, stacked)
    shape = [builder.extract_value(given.shape, i) for i in range(kinds[0].ndim)]
    step = builder.extract_value(given.strides, 0)
    begin = builder.add(builder.ptrtoint(given.data, _WORD), builder.mul(at, step))
    return _array(context, builder, kinds[1], begin, shape[1:])


def _entry_kind(stack: Any) -> Any:
    """The type of one entry of each array's first axis, in nested tuples."""
    if isinstance(stack, types.Array):
        return types.Array(stack.dtype, stack.ndim - 1, "C")
    return types.NamedTuple([_entry_kind(kind) for kind in stack.types], stack.instance_class)


def _entry(context: Any, builder: Any, kinds: tuple[Any, Any], stacked: Any, at: Any) -> Any:
    """The entry itself."""
    if isinstance(kinds[0], types.Array):
        return _cut(context, builder, kinds, stacked, at)
    parts = [
        _entry(context, builder, pair, builder.extract_value(stacked, i), at)
        for i, pair in enumerate(zip(kinds[0].types, kinds[1].types, strict=True))
    ]
    return context.make_tuple(builder, kinds[1], parts)


def _of_entry(typing: Any, stack: Any, at: Any) -> Any:
    """The same tuples, of one entry of each array's first axis."""
    one = _entry_kind(stack)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _entry(context, builder, (stack, one), *arguments)

    return one(stack, I64), generate


_member: Any = intrinsic(_of_entry)
overload(entry_of)(lambda value, k: lambda value, k: _member(value, k))

__all__ = ["SIGNATURES", "TABLE", "WITHIN", "kind_of", "reader", "viewer"]
