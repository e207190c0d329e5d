"""Three small things that compiled loops need and numba has no word for.

numba counts references to an array with an atomic instruction each time that one is handed to a
function or cut into a view, and cannot leave out most of these counts in a loop with calls. On
short rows that is a fifth of all time, and several threads that share an array would wait for each
other. A *borrowed* array has no count. Whoever lends it must keep it: only arguments of a function
that Python has called are lent here, and only for as long as that call lasts.

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

A = TypeVar("A")

cgutils: Any = _cgutils
arrayobj: Any = _arrayobj


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


def _borrow(typing_context: Any, kept: Any) -> Any:
    """The same array, uncounted; or the same tuple, with all of its arrays uncounted."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _uncounted(context, builder, kept, arguments[0])

    return kept(kept), generate


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
borrowed: Callable[[A], A] = _intrinsic(_borrow)
data: Callable[[Any], Any] = _intrinsic(_data)
address: Callable[[Any], Any] = _intrinsic(_address)
