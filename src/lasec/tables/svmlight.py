"""Lines such as ``+1 3:0.5 17:1 # remark``: a label, and the features that are not zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lasec.errors import TableError
from lasec.tables.objects import LONGEST

PAIRS = pa.map_(pa.int64(), pa.float64())
DIGITS = 18  # of an index: it fits into 64 bits
_FIELDS = pa.schema([("label", pa.string()), ("features", PAIRS)])


def parse(lines: list[bytes]) -> pa.RecordBatch:
    """The lines as a table of ``label`` and ``features``; empty lines and remarks are left out.

    >>> parse([b"+1 3:0.5 17:1 # remark", b"-1"]).to_pylist()
    [{'label': '+1', 'features': [(3, 0.5), (17, 1.0)]}, {'label': '-1', 'features': []}]
    """
    labels: list[str] = []
    ends, keys, values = [0], list[int](), list[float]()
    for line in lines:
        words = line.split(b"#", 1)[0].split()
        if not words:
            continue
        labels.append(words[0].decode("utf-8", "replace"))
        for word in words[1:]:
            key, _, value = word.partition(b":")
            if key == b"qid":
                continue
            try:
                if not key.isdigit() or len(key) > DIGITS or b"_" in value:
                    raise ValueError
                keys.append(int(key))
                values.append(float(value))
            except ValueError:
                shown = word[:80].decode("utf-8", "replace")
                raise TableError(f"svmlight: expected index:value, got {shown!r}") from None
        ends.append(len(keys))
    pairs = pa.MapArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(keys, pa.int64()), pa.array(values, pa.float64())
    )
    return pa.RecordBatch.from_arrays([pa.array(labels, pa.string()), pairs], schema=_FIELDS)


def batches(file: Any, block: int) -> Iterator[pa.RecordBatch]:
    """The file's lines, about ``block`` bytes at a time."""
    rest = b""
    while piece := file.read(block):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST:
            raise TableError(f"svmlight: a line is longer than {LONGEST >> 20} MB")
        yield parse(lines)
    if rest.strip():
        yield parse([rest])
