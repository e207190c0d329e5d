"""Tables of any size, a batch of rows at a time: CSV, Parquet, JSON lines, svmlight.

The first block of a file decides how each column is read for good: numbers as 64-bit floats, times
as times, everything else as text. Gzip and the like are unpacked on the way, and "-" is standard
input.
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
from lasec.tables import svmlight
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
_PACKED = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}


class Table:
    """An opened table: its first rows (``head``) and all its ``batches``, those again included.

    ``progress`` is the share of the file that has been read so far, NaN where it has no end;
    ``bad`` are the cells that could not be read so far. A table is read once; use it in a ``with``,
    or read it to its end, and its file is closed.
    """

    def __init__(
        self,
        head: pa.RecordBatch,
        batches: Iterator[pa.RecordBatch],
        file: Any,
        size: float,
        bad: BadCells | None = None,
    ) -> None:
        self.head, self._batches, self._file, self._size = head, batches, file, size
        self.rows, self.bad = 0, bad or BadCells()

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

    def batches(self, skip: int = 0, most: int = ROWS) -> Iterator[pa.RecordBatch]:
        """The rows after the first ``skip``, at most 8,192 at a time, or ``most``."""
        with self:
            for batch in self._batches:
                self.rows += batch.num_rows
                rest = batch.slice(max(0, batch.num_rows - max(0, self.rows - skip)))
                for start in range(0, rest.num_rows, most):
                    yield rest.slice(start, most)

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
    mark = None if separator is None else separator.encode().decode("unicode_escape")
    if mark is not None and len(mark) != 1:
        raise TableError(f"separator: expected one character, got {separator!r}")
    try:
        if kind == "parquet":
            return _open_parquet(str(path), texts)
        return _open_text(str(path), kind, packing, mark, texts)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise TableError(f"{path}: not readable as {kind}: {_plainly(error)}") from error


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
    if path != "-" and not Path(path).is_file():
        raise TableError(
            f"{path}: {'a folder' if Path(path).is_dir() else 'there is no such file'}"
        )
    suffixes = [part.lower() for part in Path(path).name.split(".")[1:]]
    packing = _PACKED.get(suffixes[-1]) if suffixes else None
    ending = suffixes[-2] if packing and len(suffixes) > 1 else (suffixes or [""])[-1]
    kind = told or FORMATS.get(ending) or ("jsonl" if path == "-" else None)
    if kind is None or kind not in FORMATS.values():
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise TableError(f"{path}: {told or 'its ending'} is no known format: say which of {known}")
    return kind, packing


def _open_parquet(path: str, texts: frozenset[str]) -> Table:
    if path == "-":
        raise TableError("-: Parquet cannot be read from standard input")
    with pa.parquet.ParquetFile(path) as file:
        _distinct(file.schema_arrow.names)
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
    path: str, kind: str, packing: str | None, mark: str | None, texts: frozenset[str]
) -> Table:
    size = math.nan if path == "-" else max(os.path.getsize(path), 1)
    raw, file = _unpacked(path, kind, packing)
    bad = BadCells()
    batches: Iterable[pa.RecordBatch]
    try:
        if not file.peeked.strip():
            raise TableError(f"{path}: there are no rows")
        if kind == "csv":
            again = None if path == "-" else partial(_unpacked, path, kind, packing)
            delimited = Delimited(file, mark, texts, bad)
            head, batches = _filled(delimited.head), delimited.batches(again)
        else:
            head, batches = _READERS[kind](file, texts)
    except BaseException:
        raw.close()
        raise

    def read() -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                yield typed(batch, head.schema, texts)
        except pa.ArrowInvalid as error:
            raise TableError(f"{path}: {_plainly(error)}") from error

    return Table(head, read(), raw, size, bad)


def _unpacked(path: str, kind: str, packing: str | None) -> tuple[IO[bytes], Replay]:
    """A file, and what is in it as plain text."""
    raw: IO[bytes] = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
    try:
        stream: Any = raw
        if packing is not None:
            stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), packing)
        if kind == "jsonl":
            stream = Objects(stream, path)
        file = Replay(stream, PEEK)
        while not file.holds_rows:
            if len(file.peeked) >= LONGEST:
                raise TableError(f"{path}: a row is longer than {LONGEST >> 21} MB")
            file.look(2 * len(file.peeked))
        return raw, file
    except BaseException:
        raw.close()
        raise


def _plainly(error: Exception) -> str:
    """What Arrow found, and what can be done about it, where that is known."""
    text = str(error).splitlines()[0]
    for found, advice in _ADVICE.items():
        if found in text:
            return f"{text}; {advice}"
    return text


def _filled(head: pa.RecordBatch) -> pa.RecordBatch:
    """The first rows, if there are any, under names that differ."""
    _distinct(head.schema.names)
    if not head.num_rows:
        raise TableError("there are no rows below the names of the columns")
    return head


def _distinct(names: list[str]) -> None:
    """Refuse too many names, and those that come twice."""
    if len(names) > MOST:
        raise TableError(f"there are {len(names):,} columns, and at most {MOST:,} can be read")
    repeated = [n for n, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(f"several columns are called {repeated[0][:80]!r}: names must differ")


def _json(file: Replay, texts: frozenset[str]) -> tuple[pa.RecordBatch, Iterable[pa.RecordBatch]]:
    look = pa.json.ReadOptions(block_size=file.share, use_threads=False)
    with pa.json.open_json(pa.BufferReader(file.peeked), look) as reader:
        raw = _filled(next(iter(reader)))
    head = typed(raw, None, texts)
    told = pa.schema(
        [_json_field(field) for field in raw.schema if not pa.types.is_null(field.type)]
    )
    parse = pa.json.ParseOptions(explicit_schema=told, unexpected_field_behavior="ignore")
    read = pa.json.ReadOptions(block_size=file.block(BLOCK))
    return head, pa.json.open_json(pa.PythonFile(file, "r"), read, parse)


def _json_field(field: Any) -> Any:
    """Whole numbers may turn out to be none later on."""
    return field.with_type(pa.float64()) if pa.types.is_integer(field.type) else field


def _svmlight(
    file: Replay, texts: frozenset[str]
) -> tuple[pa.RecordBatch, Iterable[pa.RecordBatch]]:
    lines = file.peeked.split(b"\n")
    head = _filled(svmlight.parse(lines if file.ended else lines[:-1]))
    return head, svmlight.batches(file, BLOCK)


_READERS = {"jsonl": _json, "svmlight": _svmlight}
_ADVICE = {
    "invalid UTF8": "write the file in UTF-8",
    "straddl": "a row is longer than all rows before it let expect",
    "changed from": "a field must hold the same kind of value throughout",
}


def rows_at_a_time(dimension: int, most: int) -> int:
    """How many rows are encoded at a time: ``most``, or fewer where rows are long.

    >>> rows_at_a_time(100, 8_192), rows_at_a_time(1_000_000, 8_192)
    (8192, 33)
    """
    return max(1, min(most, BATCH // (8 * dimension)))
