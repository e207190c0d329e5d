"""Tables of any size, a batch of rows at a time: CSV, Parquet, JSON lines, svmlight.

The first block of a file decides how each column is read for good: numbers as 64-bit floats, times
as times, everything else as text. Compression (gzip, bz2, zstd, lz4) is detected by the first
bytes, and so is the format where neither the caller nor the name of the file gives it. "-" is
standard input.
"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from lasec.errors import TableError
from lasec.tables import detect, svmlight
from lasec.tables.bad_cells import BadCells
from lasec.tables.delimited import BLOCK, MOST, Delimited
from lasec.tables.objects import LONGEST, Objects
from lasec.tables.replay import Replay
from lasec.tables.typed import typed

PEEK = 1 << 22  # bytes that are looked at first
ROWS = 8_192  # rows in a batch at most
BATCH = 1 << 28  # bytes of the rows that are encoded at a time
FORMATS = {
    "csv": "csv", "tsv": "csv", "txt": "csv",
    "parquet": "parquet", "pq": "parquet",
    "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl",
    "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
}  # fmt: skip
_COMPRESSED = ("gz", "bz2", "zst", "lz4")


class Table:
    """An opened table: its first rows (``head``) and all its ``batches``, those again included.

    ``expected`` is the number of rows, estimated by the first ones where the format does not store
    it, and NaN for a stream without end; ``rows`` have been read so far, and ``bad`` are the cells
    that could not be. A table is read once; use it in a ``with``, or read it to its end, and its
    file is closed.
    """

    def __init__(
        self,
        head: pa.RecordBatch,
        batches: Iterator[pa.RecordBatch],
        file: Any,
        expected: float,
        bad: BadCells | None = None,
    ) -> None:
        self.head, self._batches, self._file, self.expected = head, batches, file, expected
        self.rows, self.bad = 0, bad or BadCells()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.head.schema.names)

    def batches(self, skip: int = 0, most: int = ROWS) -> Iterator[pa.RecordBatch]:
        """The rows after the first ``skip``, at most 8,192 at a time, or ``most``."""
        with self:
            for batch in self._batches:
                rest = batch.slice(min(batch.num_rows, max(0, skip - self.rows)))
                self.rows += batch.num_rows - rest.num_rows
                for start in range(0, rest.num_rows, most):
                    piece = rest.slice(start, most)
                    self.rows += piece.num_rows
                    yield piece

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
    r"""Open a file for reading in batches.

    ``format`` is csv, parquet, jsonl or svmlight; without it, the name of the file decides, or its
    first bytes. ``separator`` is that of a CSV file, detected if it is not given. The columns named
    in ``texts`` are read as text even if they look like numbers: postcodes, for example.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = file.write_text("price;shop\n1.5;north\n2;south\n")
    >>> with open_table(file) as table:
    ...     table.head.to_pylist()
    [{'price': 1.5, 'shop': 'north'}, {'price': 2.0, 'shop': 'south'}]
    """
    kind = format_of(str(path), format)
    mark = None if separator is None else separator.encode().decode("unicode_escape")
    if mark is not None and len(mark) != 1:
        raise TableError(f"separator: expected one character, got {separator!r}")
    try:
        if kind == "parquet":
            return _open_parquet(str(path), texts)
        return _open_text(str(path), kind, mark, texts)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        read = f"cannot be read as {kind or 'text'}"
        raise TableError(f"{_named(str(path))} {read}: {_plainly(error)}") from error


def table_of(columns: Mapping[str, Any], texts: frozenset[str] = frozenset()) -> Table:
    """Columns in memory, read as a file would be.

    >>> table = table_of({"price": [1, 2, 4], "shop": ["north", "south", "north"]})
    >>> [batch.num_rows for batch in table.batches(skip=1)]
    [2]
    """
    whole = pa.table({name: pa.array(values) for name, values in columns.items()})
    if not whole.num_rows:
        raise TableError("the table has no rows")
    batches = whole.combine_chunks().to_batches(max_chunksize=ROWS)
    head = typed(batches[0], None, texts)
    read = (typed(batch, head.schema, texts) for batch in batches)
    return Table(head, read, None, whole.num_rows)


def _named(path: str) -> str:
    """A file, for messages."""
    return "standard input" if path == "-" else path


def format_of(path: str, told: str | None = None) -> str | None:
    """The format that was told or that the file's name or signature gives; None if none does.

    >>> format_of("-"), format_of("-", "csv")
    (None, 'csv')
    """
    known = list(dict.fromkeys(FORMATS.values()))
    if told is not None and told not in known:
        raise TableError(f"unknown format {told!r}: expected one of {', '.join(known)}")
    if path == "-":
        return told
    if Path(path).is_dir():
        raise TableError(f"{path} is a directory: give one file{_inside(Path(path))}")
    if not Path(path).exists():  # a pipe or a device will do
        raise TableError(f"{path}: no such file")
    suffixes = [part.lower() for part in Path(path).name.split(".")[1:]]
    if len(suffixes) > 1 and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = told or FORMATS.get((suffixes or [""])[-1])
    if kind is None:
        with open(path, "rb") as file:
            kind = "parquet" if file.read(len(detect.PARQUET)) == detect.PARQUET else None
    return kind


def _inside(folder: Path) -> str:
    """The first tables in a directory, for a message."""
    found = (f for f in sorted(folder.iterdir()) if f.suffix[1:].lower() in FORMATS)
    return f", such as {first}" if (first := next(found, None)) else ""


def _open_parquet(path: str, texts: frozenset[str]) -> Table:
    if path == "-":
        raise TableError("Parquet cannot be read from standard input: save it to a file first")
    with pa.parquet.ParquetFile(path) as file:
        _distinct(file.schema_arrow.names)
        first = next(file.iter_batches(batch_size=ROWS), None)
        rows = file.metadata.num_rows
    if first is None:
        raise TableError(f"{path} has no rows")
    head = typed(first, None, texts)

    def batches() -> Iterator[pa.RecordBatch]:
        with pa.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROWS):
                yield typed(batch, head.schema, texts)

    return Table(head, batches(), None, rows)


def _open_text(path: str, kind: str | None, mark: str | None, texts: frozenset[str]) -> Table:
    raw, file, kind = _unpacked(path, kind)
    bad = BadCells()
    batches: Iterable[pa.RecordBatch]
    try:
        if not file.peeked.strip():
            raise TableError(f"{_named(path)} is empty")
        if kind == "csv":
            again = None if path == "-" else partial(_unpacked, path, kind)
            delimited = Delimited(file, mark, texts, bad)
            head, batches = delimited.head, delimited.batches(again)
        else:
            head, batches = _READERS[kind](file, texts)
        _distinct(head.schema.names)
        if not head.num_rows:
            only = "only a header, no rows" if kind == "csv" else "no rows"
            raise TableError(f"{_named(path)} has {only}")
        expected = _expected(raw, file, head.num_rows, path)
    except BaseException:
        raw.close()
        raise

    def read() -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                yield typed(batch, head.schema, texts)
        except pa.ArrowInvalid as error:
            raise TableError(f"{_named(path)}: {_plainly(error)}") from error

    return Table(head, read(), raw, expected, bad)


def _expected(raw: IO[bytes], file: Replay, rows: int, path: str) -> float:
    """How many rows a file is likely to have, by those in the beginning that was peeked at."""
    if file.ended:
        return rows
    if path == "-":
        return math.nan
    return rows * len(file.peeked) / file.share * os.path.getsize(path) / max(raw.tell(), 1)


def _unpacked(path: str, kind: str | None) -> tuple[IO[bytes], Replay, str]:
    """A file, the text in it, and its format."""
    raw: IO[bytes] = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
    try:
        stream: Any = Replay(raw, detect.LOOK)
        first = stream.peeked
        detect.refuse_foreign(first, _named(path))
        if packing := detect.compression(first):
            stream = pa.CompressedInputStream(pa.PythonFile(stream, "r"), packing)
        if kind is None:
            stream = Replay(stream, detect.SAMPLE)
            kind = detect.text_format(stream.peeked)
        if kind is None:
            known = ", ".join(dict.fromkeys(FORMATS.values()))
            raise TableError(f"{_named(path)}: unknown format; lasec reads {known}")
        if kind == "jsonl":
            stream = Objects(stream, _named(path))
        return raw, _with_rows(Replay(stream, PEEK), path), kind
    except BaseException:
        raw.close()
        raise


def _with_rows(file: Replay, path: str) -> Replay:
    """The file, of which so much has been peeked at that a row is in it."""
    while not file.holds_rows:
        if len(file.peeked) >= LONGEST:
            raise TableError(f"{_named(path)}: a row is longer than {LONGEST >> 21} MB")
        file.look(2 * len(file.peeked))
    return file


def _plainly(error: Exception) -> str:
    """What Arrow found, and what can be done about it, where that is known."""
    text = str(error).splitlines()[0]
    for found, advice in _ADVICE.items():
        if found in text:
            return f"{text}; {advice}"
    return text


def _distinct(names: list[str]) -> None:
    """Refuse too many names, and those that come twice."""
    if len(names) > MOST:
        raise TableError(f"{len(names):,} columns; at most {MOST:,} can be read")
    repeated = [n for n, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(f"several columns are named {repeated[0][:80]!r}: rename all but one")


def _json(file: Replay, texts: frozenset[str]) -> tuple[pa.RecordBatch, Iterable[pa.RecordBatch]]:
    look = pa.json.ReadOptions(block_size=file.share, use_threads=False)
    with pa.json.open_json(pa.BufferReader(file.peeked), look) as reader:
        raw = next(iter(reader))
    _distinct(raw.schema.names)
    head = typed(raw, None, texts)
    told = pa.schema(
        [_json_field(field) for field in raw.schema if not pa.types.is_null(field.type)]
    )
    parse = pa.json.ParseOptions(explicit_schema=told, unexpected_field_behavior="ignore")
    read = pa.json.ReadOptions(block_size=file.block(BLOCK))
    return head, pa.json.open_json(pa.PythonFile(file, "r"), read, parse)


def _json_field(field: pa.Field) -> pa.Field:
    """Whole numbers may turn out to be none later on."""
    return field.with_type(pa.float64()) if pa.types.is_integer(field.type) else field


def _svmlight(
    file: Replay, texts: frozenset[str]
) -> tuple[pa.RecordBatch, Iterable[pa.RecordBatch]]:
    lines = file.peeked.split(b"\n")
    head = svmlight.parse(lines if file.ended else lines[:-1])
    return head, svmlight.batches(file, BLOCK)


_READERS = {"jsonl": _json, "svmlight": _svmlight}
_ADVICE = {
    "invalid UTF8": "convert the file to UTF-8",
    "straddl": "a row is much longer than the first rows",
    "changed from": "a field must hold the same type of value in all rows",
}


def rows_at_a_time(dimension: int, most: int) -> int:
    """How many rows are encoded at a time: ``most``, or fewer where rows are long.

    >>> rows_at_a_time(100, 8_192), rows_at_a_time(1_000_000, 8_192)
    (8192, 33)
    """
    return max(1, min(most, BATCH // (8 * max(dimension, 1))))
