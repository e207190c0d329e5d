"""Arrays without reference counts, and addresses: what compiled loops need beyond numba's API.

numba counts references to an array with an atomic instruction each time that one is passed to a
function or sliced, and cannot remove most of these counts in a loop with calls. On short rows that
is a fifth of all time, and several threads that share an array would wait for each other. An
*unmanaged* array has no reference count, so something else must keep it alive: only arguments of a
function that Python has called are treated so here, and only until that call returns. *member* is
one model of a stack, as unmanaged views.

BLAS takes all of its arguments as addresses: *address* puts a number onto the stack, and *data* is
where an array begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic
from numba.np import arrayobj as _arrayobj

from lasec.kernel.lean import overload

A = TypeVar("A")

cgutils: Any = _cgutils
arrayobj: Any = _arrayobj
named_tuple: Any = types.NamedTuple


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An array without its count, a tuple of such arrays, or a number as it is."""
    if isinstance(kind, types.BaseTuple):
        members: Any = kind
        items = zip(members.types, cgutils.unpack_tuple(builder, value), strict=True)
        bare = [_uncounted(context, builder, *item) for item in items]
        return context.make_tuple(builder, kind, bare)
    if not isinstance(kind, types.Array):
        return value
    given = arrayobj.make_array(kind)(context, builder, value)
    array = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array,
        data=given.data,
        shape=cgutils.unpack_tuple(builder, given.shape),
        strides=cgutils.unpack_tuple(builder, given.strides),
        itemsize=given.itemsize,
        meminfo=None,
    )
    return array._getvalue()


def _strip(typing_context: Any, kept: Any) -> Any:
    """The same array, uncounted; or the same tuple, with all of its arrays uncounted."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _uncounted(context, builder, kept, arguments[0])

    return kept(kept), generate


def _cut(context: Any, builder: Any, kinds: tuple[Any, Any], stacked: Any, at: Any) -> Any:
    """One entry of the first axis of an array, uncounted; ``kinds`` are those of both arrays."""
    given = arrayobj.make_array(kinds[0])(context, builder, stacked)
    array = arrayobj.make_array(kinds[1])(context, builder)
    strides = cgutils.unpack_tuple(builder, given.strides)
    start = cgutils.pointer_add(builder, given.data, builder.mul(at, strides[0]), given.data.type)
    arrayobj.populate_array(
        array,
        data=start,
        shape=cgutils.unpack_tuple(builder, given.shape)[1:],
        strides=strides[1:],
        itemsize=given.itemsize,
        meminfo=None,
    )
    return array._getvalue()


def _member(typing_context: Any, stack: Any, at: Any) -> Any:
    """The same NamedTuple, of one entry of each array's first axis."""
    ones = [types.Array(kind.dtype, kind.ndim - 1, "C") for kind in stack.types]
    one: Any = named_tuple(ones, stack.instance_class)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = cgutils.unpack_tuple(builder, arguments[0])
        pairs = zip(stack.types, ones, strict=True)
        parts = [
            _cut(context, builder, kinds, array, arguments[1])
            for kinds, array in zip(pairs, arrays, strict=True)
        ]
        return context.make_tuple(builder, one, parts)

    return one(stack, types.int64), generate


def _data(typing_context: Any, array: Any) -> Any:
    """Where the numbers of an array begin."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = arrayobj.make_array(array)(context, builder, arguments[0])
        return builder.bitcast(given.data, cgutils.voidptr_t)

    return types.voidptr(array), generate


def _address(typing_context: Any, value: Any) -> Any:
    """Where a copy of a number lies, for as long as the calling function runs."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        slot = cgutils.alloca_once_value(builder, arguments[0])
        return builder.bitcast(slot, cgutils.voidptr_t)

    return types.voidptr(value), generate


_intrinsic: Any = intrinsic
_stripped: Any = _intrinsic(_strip)
data: Callable[[Any], Any] = _intrinsic(_data)
address: Callable[[Any], Any] = _intrinsic(_address)
_cut_member: Any = _intrinsic(_member)


def unmanaged(kept: A) -> A:
    """The same array or tuple; in compiled code, its arrays have no reference count."""
    return kept


def member(stack: Any, at: int) -> Any:
    """Entry ``at`` of each array of a NamedTuple of C-contiguous arrays, as views."""
    return type(stack)(*(array[at] for array in stack))


@overload(unmanaged)
def _unmanaged(kept: Any) -> Any:
    return lambda kept: _stripped(kept)  # noqa: PLW0108 numba wants a function


@overload(member)
def _member_of(stack: Any, at: Any) -> Any:
    return lambda stack, at: _cut_member(stack, at)  # noqa: PLW0108 numba wants a function
