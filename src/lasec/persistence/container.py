"""The container of a saved model: plain arrays behind a JSON header, sealed by a digest.

::

    8 bytes   signature
    4 bytes   format version        (little-endian, as all numbers here)
    4 bytes   length of the header
    8 bytes   length of the whole file
    header    JSON, UTF-8; its "arrays" lists name, dtype and shape of each array in order
    arrays    their bytes, C order, one after the other
    32 bytes  BLAKE2b of everything before

Nothing in it is ever executed, and nothing is allocated that the file does not really contain. What
the header means is not known here: see :mod:`lasec.persistence.codec`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")

SIGNATURE = b"\x89LASEC\r\n"
FORMAT = 4  # the only one that is read, of everything that is saved
_PROLOGUE = struct.Struct("<8sIIQ")
_DIGEST = 32
_DTYPES = ("<f8", "<f4", "<i8", "<u8", "|i1", "|u1")
_DEEPEST = 32
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# What code that takes a header at its word can raise.
_WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file that holds ``header`` and ``arrays`` (64-bit numbers, float32 and bytes).

    >>> header, arrays = unpack(pack({"dimension": 2}, {"weights": np.zeros(2)}))
    >>> header["dimension"], arrays["weights"].tolist()
    (2, [0.0, 0.0])
    """
    blobs, listing = [], []
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        listing.append({"name": name, "dtype": plain.dtype.str, "shape": list(array.shape)})
        blobs.append(plain.reshape(-1).data)
    text = json.dumps({**header, "arrays": listing}, allow_nan=False).encode()
    total = _PROLOGUE.size + len(text) + sum(blob.nbytes for blob in blobs) + _DIGEST
    prologue = _PROLOGUE.pack(SIGNATURE, FORMAT, len(text), total)
    parts: list[bytes | memoryview] = [prologue, text, *blobs]
    return b"".join([*parts, _digest(*parts)])


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model's file, or a :class:`StateError` before much of it is read.

    No more is read than a model that begins like this file has. Pipes and devices are refused.

    >>> read("/dev/zero")
    Traceback (most recent call last):
    lasec.errors.StateError: not a lasec model: not a regular file
    """
    handle = os.open(path, _READ)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise StateError("not a lasec model: not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            _, total = _check_prologue(file.read(_PROLOGUE.size), found.st_size)
            file.seek(0)
            return file.read(total)
    except MemoryError:
        raise StateError(f"too large: {found.st_size} bytes do not fit into memory") from None
    finally:
        os.close(handle)


def restored(data: bytes, build: Callable[[dict[str, Any], Arrays], T]) -> T:
    """What ``build`` makes of the header and the arrays of a file: the one way to load anything.

    Whatever a wrong content makes ``build`` raise is a :class:`StateError`.

    >>> restored(pack({"dimension": 2}, {}), lambda header, arrays: header["seed"])
    Traceback (most recent call last):
    lasec.errors.StateError: invalid: 'seed'
    """
    header, arrays = unpack(data)
    with checking():
        return build(header, arrays)


@contextmanager
def checking() -> Iterator[None]:
    """Whatever a wrong content raises in this context is a :class:`StateError`.

    >>> with checking():
    ...     {}["seed"]
    Traceback (most recent call last):
    lasec.errors.StateError: invalid: 'seed'
    """
    try:
        yield
    except StateError:
        raise
    except _WRONG as error:
        raise StateError(f"invalid: {error}") from error


def kind_of(data: bytes) -> str:
    """What a file holds: a "learner", a "session", a "table", or another of the records.

    >>> import lasec
    >>> kind_of(lasec.LASEC(dimension=2).to_bytes())
    'learner'
    """
    return restored(data, lambda header, _: str(header["kind"]))


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file, or a :class:`StateError` that says what is wrong with it.

    >>> unpack(pack({}, {})[:-5])
    Traceback (most recent call last):
    lasec.errors.StateError: truncated: 65 of 70 bytes are here
    """
    data = data if type(data) is bytes else bytes(memoryview(data))
    header_length = _check_frame(data)
    start = _PROLOGUE.size + header_length
    if start + _DIGEST > len(data):
        raise StateError("corrupted: the header is longer than the file")
    header = _parse(data[_PROLOGUE.size : start])
    return header, _cut(header.pop("arrays", None), memoryview(data)[start:-_DIGEST])


def _digest(*parts: bytes | memoryview) -> bytes:
    made = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        made.update(part)
    return made.digest()


def _check_prologue(start: bytes, size: int) -> tuple[int, int]:
    """Signature, version and length; gives the lengths of the header and of the whole file."""
    if start[: len(SIGNATURE)] != SIGNATURE[: len(start)] or not start:
        raise StateError("not a lasec model: the file does not begin with lasec's signature")
    if size < _PROLOGUE.size + _DIGEST:
        raise StateError(f"truncated: {size} bytes are too few for any model")
    _, version, header_length, total = _PROLOGUE.unpack_from(start)
    if version != FORMAT:
        raise StateError(
            f"another format: the file is in {version}, this lasec reads {FORMAT} only"
        )
    if size < total:
        raise StateError(f"truncated: {size} of {total} bytes are here")
    if size > total:
        raise StateError("corrupted: the contents do not match their digest")
    return header_length, total


def _check_frame(data: bytes) -> int:
    """The prologue and the digest; gives the length of the header."""
    header_length, _ = _check_prologue(data, len(data))
    if _digest(memoryview(data)[:-_DIGEST]) != data[-_DIGEST:]:
        raise StateError("corrupted: the contents do not match their digest")
    return header_length


def _parse(text: bytes) -> dict[str, Any]:
    """The header as a dict."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        header = json.loads(text.decode(), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise StateError("corrupted: the header is not valid JSON") from error
    if not isinstance(header, dict):
        raise StateError("invalid: the header is not a JSON object")
    _check_depth(header)
    return header


def _check_depth(header: dict[str, Any]) -> None:
    """Refuse what is nested so deep that walking it could exhaust the stack."""
    level: list[Any] = [header]
    for _ in range(_DEEPEST):
        inner = (part.values() if isinstance(part, dict) else part for part in level)
        level = [value for part in inner for value in part if isinstance(value, (dict, list))]
        if not level:
            return
    raise StateError(f"invalid: the header is nested more than {_DEEPEST} deep")


def _cut(listing: Any, blob: memoryview) -> Arrays:
    """The arrays that the listing describes, cut from their joined bytes."""
    arrays: Arrays = {}
    start = 0
    for entry in listing if isinstance(listing, list) else [None]:
        name, dtype, shape = _described(entry)
        size = math.prod(shape)
        stop = start + size * np.dtype(dtype).itemsize
        if name in arrays or stop > len(blob):
            raise StateError("invalid: the header lists other arrays than the file contains")
        values = np.frombuffer(blob, dtype, size, start).reshape(shape)
        arrays[name] = values.astype(values.dtype.newbyteorder("="))
        start = stop
    if start != len(blob):
        raise StateError("invalid: the header lists other arrays than the file contains")
    return arrays


def _described(entry: Any) -> tuple[str, str, tuple[int, ...]]:
    """Name, dtype and shape of one array, checked."""
    match entry:
        case {"name": str(name), "dtype": str(dtype), "shape": [*shape]} if (
            dtype in _DTYPES
            and len(shape) <= 8
            and all(type(n) is int and n >= 0 for n in shape)
            and math.prod(max(n, 1) for n in shape) < 2**48
        ):
            return name, dtype, tuple(shape)
    raise StateError("invalid: an array is not described by name, dtype and shape")
