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
the header means is not known here: see :mod:`lasec.snapshot`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError

Arrays = dict[str, NDArray[Any]]

SIGNATURE = b"\x89LASEC\r\n"
FORMAT = 1
_PROLOGUE = struct.Struct("<8sIIQ")
_DIGEST = 32
_DTYPES = ("<f8", "<f4", "<i8")


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file that holds ``header`` and ``arrays`` (float64, float32 and int64 only).

    >>> header, arrays = unpack(pack({"dimension": 2}, {"weights": np.zeros(2)}))
    >>> header["dimension"], arrays["weights"].tolist()
    (2, [0.0, 0.0])
    """
    blobs, listing = [], []
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        listing.append({"name": name, "dtype": plain.dtype.str, "shape": list(array.shape)})
        blobs.append(plain.tobytes())
    text = json.dumps({**header, "arrays": listing}, allow_nan=False).encode()
    total = _PROLOGUE.size + len(text) + sum(map(len, blobs)) + _DIGEST
    body = b"".join([_PROLOGUE.pack(SIGNATURE, FORMAT, len(text), total), text, *blobs])
    return body + _digest(body)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, all of it or nothing.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "model.lasec")
    >>> write(file, b"all of it")
    >>> file.read_bytes()
    b'all of it'
    """
    target = Path(path).resolve()
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file, or a :class:`StateError` that says what is wrong with it.

    >>> unpack(pack({}, {})[:-5])
    Traceback (most recent call last):
    lasec.errors.StateError: truncated: 65 of 70 bytes are here
    """
    header_length = _check_frame(data)
    start = _PROLOGUE.size + header_length
    if start + _DIGEST > len(data):
        raise StateError("corrupted: the header is longer than the file")
    header = _parse(data[_PROLOGUE.size : start])
    return header, _cut(header.pop("arrays", None), data[start:-_DIGEST])


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _check_frame(data: bytes) -> int:
    """Signature, version, length and digest; gives the length of the header."""
    if data[: len(SIGNATURE)] != SIGNATURE[: len(data)] or not data:
        raise StateError("not a lasec model: the file does not begin with lasec's signature")
    if len(data) < _PROLOGUE.size + _DIGEST:
        raise StateError(f"truncated: {len(data)} bytes are too few for any model")
    _, version, header_length, total = _PROLOGUE.unpack_from(data)
    if version > FORMAT:
        raise StateError(f"newer: written in format {version}, this lasec reads up to {FORMAT}")
    if len(data) < total:
        raise StateError(f"truncated: {len(data)} of {total} bytes are here")
    if version < 1 or len(data) > total or _digest(data[:-_DIGEST]) != data[-_DIGEST:]:
        raise StateError("corrupted: the contents do not match their digest")
    return int(header_length)


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
    return header


def _cut(listing: Any, blob: bytes) -> Arrays:
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
