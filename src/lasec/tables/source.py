"""Tables of any size, a batch of rows at a time: CSV, Parquet, JSON lines, svmlight.

A file is opened once. Its first block decides how each column is read for good: numbers as 64-bit
floats, times as times, everything else as text. Gzip and the like are unpacked on the way, and "-"
is standard input.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from lasec.errors import TableError
from lasec.tables import svmlight
from lasec.tables.replay import Replay, whole_lines
from lasec.tables.typed import typed

BLOCK = 1 << 22  # bytes that are looked at first, and read at a time
ROWS = 8_192  # rows in a batch at most
FORMATS = {
    "csv": "csv", "tsv": "csv", "txt": "csv",
    "parquet": "parquet", "pq": "parquet",
    "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl",
    "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
}  # fmt: skip
_PACKED = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}
_NULLS = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]


class Table:
    """An opened table: its first rows (``head``) and all its ``batches``, those again included.

    ``progress`` is the share of the file that has been read so far, NaN where it has no end. A
    table is read once; use it in a ``with``, or read it to its end, and its file is closed.
    """

    def __init__(
        self, head: pa.RecordBatch, batches: Iterator[pa.RecordBatch], file: Any, size: float
    ) -> None:
        self.head, self._batches, self._file, self._size = head, batches, file, size
        self.rows = 0

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.head.schema.names)

    @property
    def progress(self) -> float:
        """The share of the file that has been read."""
        if self._file is None or math.isnan(self._size):
            return self.rows / self._size
        return 1.0 if self._file.closed else self._file.tell() / self._size

    def batches(self, skip: int = 0) -> Iterator[pa.RecordBatch]:
        """The rows after the first ``skip``, at most 8,192 at a time."""
        with self:
            for batch in self._batches:
                self.rows += batch.num_rows
                rest = batch.slice(max(0, batch.num_rows - max(0, self.rows - skip)))
                for start in range(0, rest.num_rows, ROWS):
                    yield rest.slice(start, ROWS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def open_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    separator: str | None = None,
    texts: frozenset[str] = frozenset(),
) -> Table:
    r"""Open a file, whose ``format`` is told by its name if it is not given.

    ``separator`` is that of a CSV file, found if it is not given. The columns named in ``texts``
    are read as text, whatever they look like: numbers that are names, such as a postcode.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = file.write_text("price;shop\n1.5;north\n2;south\n")
    >>> with open_table(file) as table:
    ...     table.head.to_pylist()
    [{'price': 1.5, 'shop': 'north'}, {'price': 2.0, 'shop': 'south'}]
    """
    kind, packing = _format(str(path), format)
    if str(path) != "-" and not Path(path).is_file():
        raise TableError(f"{path}: there is no such file")
    try:
        if kind == "parquet":
            return _open_parquet(str(path), texts)
        return _open_text(str(path), kind, packing, separator, texts)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(f"{path}: not readable as {kind}: {error}") from error


def table_of(columns: Mapping[str, Any], texts: frozenset[str] = frozenset()) -> Table:
    """Columns in memory, read as a file would be.

    >>> table = table_of({"price": [1, 2, 4], "shop": ["north", "south", "north"]})
    >>> [batch.num_rows for batch in table.batches(skip=1)]
    [2]
    """
    whole = pa.table({name: pa.array(values) for name, values in columns.items()})
    if not whole.num_rows:
        raise TableError("there are no rows")
    batches = whole.combine_chunks().to_batches(max_chunksize=ROWS)
    head = typed(batches[0], None, texts)
    read = (typed(batch, head.schema, texts) for batch in batches)
    return Table(head, read, None, whole.num_rows)


def _format(path: str, told: str | None) -> tuple[str, str | None]:
    """The format of a file and how it is packed."""
    suffixes = [part.lower() for part in Path(path).name.split(".")[1:]]
    packing = _PACKED.get(suffixes[-1]) if suffixes else None
    ending = suffixes[-2] if packing and len(suffixes) > 1 else (suffixes or [""])[-1]
    kind = told or FORMATS.get(ending) or ("jsonl" if path == "-" else None)
    if kind is None or kind not in FORMATS.values():
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        if told is None and not Path(path).is_file() and path != "-":
            raise TableError(f"{path}: there is no such file")
        raise TableError(f"{path}: {told or 'its ending'} is no known format: say which of {known}")
    return kind, packing


def _open_parquet(path: str, texts: frozenset[str]) -> Table:
    if path == "-":
        raise TableError("-: Parquet cannot be read from standard input")
    with pa.parquet.ParquetFile(path) as file:
        first = next(file.iter_batches(batch_size=ROWS), None)
        rows = file.metadata.num_rows
    if first is None:
        raise TableError(f"{path}: there are no rows")
    head = typed(first, None, texts)

    def batches() -> Iterator[pa.RecordBatch]:
        with pa.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROWS):
                yield typed(batch, head.schema, texts)

    return Table(head, batches(), None, max(rows, 1))


def _open_text(
    path: str, kind: str, packing: str | None, separator: str | None, texts: frozenset[str]
) -> Table:
    raw: IO[bytes] = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
    size = math.nan if path == "-" else max(os.path.getsize(path), 1)
    try:
        stream: Any = raw
        if packing is not None:
            stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), packing)
        file = Replay(stream, BLOCK)
        first = whole_lines(file.peeked, file.ended)
        if not first.strip():
            raise TableError(f"{path}: there are no rows")
        head, batches = _READERS[kind](file, first, separator, texts)
    except BaseException:
        raw.close()
        raise

    def read() -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                yield typed(batch, head.schema, texts)
        except pa.ArrowInvalid as error:
            raise TableError(f"{path}: {_plainly(error)}") from error

    return Table(head, read(), raw, size)


def _plainly(error: pa.ArrowInvalid) -> str:
    """What Arrow found, and what can be done where a number turned out to be none."""
    text = str(error).splitlines()[0]
    hint = "; if that column holds names, read it with --category or --text"
    return text + (hint if "conversion error" in text else "")


def _csv(
    file: Replay, first: bytes, separator: str | None, texts: frozenset[str]
) -> tuple[pa.RecordBatch, Iterator[pa.RecordBatch]]:
    top = first.split(b"\n", 1)[0].decode("utf-8", "replace")
    mark = separator or max(",;\t|", key=top.count)
    broken = any(line.count(b'"') % 2 for line in first.split(b"\n"))  # a line end inside quotes
    parse = pa.csv.ParseOptions(delimiter=mark, newlines_in_values=broken)
    nulls = {"null_values": _NULLS, "strings_can_be_null": True}
    look = pa.csv.ReadOptions(block_size=len(first) + 1, use_threads=False)
    seen = pa.csv.read_csv(
        pa.BufferReader(first), look, parse, pa.csv.ConvertOptions(**nulls)
    ).combine_chunks()
    if not seen.num_rows:
        raise TableError("there are no rows below the names of the columns")
    head = typed(seen.to_batches()[0], None, texts)
    as_found = pa.csv.ConvertOptions(column_types=head.schema, **nulls)
    read = pa.csv.ReadOptions(block_size=BLOCK)
    return head, pa.csv.open_csv(pa.PythonFile(file, "r"), read, parse, as_found)


def _json(
    file: Replay, first: bytes, _: str | None, texts: frozenset[str]
) -> tuple[pa.RecordBatch, Iterator[pa.RecordBatch]]:
    look = pa.json.ReadOptions(block_size=len(first) + 1, use_threads=False)
    seen = pa.json.read_json(pa.BufferReader(first), look).combine_chunks()
    raw = seen.to_batches()[0]
    head = typed(raw, None, texts)
    numbers = {f.name for f in head.schema if pa.types.is_float64(f.type)}
    told = pa.schema([f.with_type(pa.float64()) if f.name in numbers else f for f in raw.schema])
    parse = pa.json.ParseOptions(explicit_schema=told, unexpected_field_behavior="ignore")
    read = pa.json.ReadOptions(block_size=BLOCK)
    return head, pa.json.open_json(pa.PythonFile(file, "r"), read, parse)


def _svmlight(
    file: Replay, first: bytes, _: str | None, texts: frozenset[str]
) -> tuple[pa.RecordBatch, Iterator[pa.RecordBatch]]:
    return svmlight.parse(first.splitlines()), svmlight.batches(file, BLOCK)


_READERS = {"csv": _csv, "jsonl": _json, "svmlight": _svmlight}
