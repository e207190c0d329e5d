"""CSV: Arrow parses it, strictly as long as that works, and cell by cell where it does not.

A column whose cells are numbers, but for a few in the first rows, is read cell by cell from the
beginning. Where a bad cell comes later, the file is opened again, and all columns but those of text
are read so from there on; standard input, which cannot be opened again, is read so at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv

from lasec.errors import TableError
from lasec.tables.bad_cells import MISSING, BadCells, mostly_numbers
from lasec.tables.replay import Replay
from lasec.tables.typed import typed

BLOCK = 1 << 20  # bytes that are read at a time, at least
MOST = 200_000  # columns
Again = Callable[[], tuple[IO[bytes], Replay, str]]


class Delimited:
    """The cells of a CSV file; ``mark`` is what separates them, found if it is None."""

    def __init__(
        self, file: Replay, mark: str | None, texts: frozenset[str], bad: BadCells
    ) -> None:
        self._file, self._bad = file, bad
        lines = file.peeked.split(b"\n")
        top = lines[0].decode("utf-8", "replace")
        mark = mark or max(",;\t|", key=top.count)
        if top.count(mark) >= MOST:
            raise TableError(
                f"{top.count(mark) + 1:,} columns; at most {MOST:,} can be read: write sparse rows "
                "in svmlight format"
            )
        broken = any(line.count(b'"') % 2 for line in lines)  # perhaps a line end inside quotes
        self._parse = pa.csv.ParseOptions(delimiter=mark, newlines_in_values=broken)
        self.head = self._look(texts)

    def _look(self, texts: frozenset[str]) -> pa.RecordBatch:
        """The first rows; sets how each column is read, strictly and cell by cell."""
        # Arrow cuts at the end of a row: half of what was seen, or all of it if there is no more.
        look = pa.csv.ReadOptions(block_size=self._file.share, use_threads=False)
        told = _convert(dict.fromkeys(texts, pa.string()))
        with pa.csv.open_csv(pa.BufferReader(self._file.peeked), look, self._parse, told) as reader:
            raw = next(iter(reader), None) or pa.RecordBatch.from_pylist([], reader.schema)
        dirty = {
            name: pa.float64()
            for name, values in zip(raw.schema.names, raw.columns, strict=True)
            if name not in texts and _is_text(values.type) and mostly_numbers(values)
        }
        head = typed(BadCells().batch(raw, dirty, 0) if dirty else raw, None, texts)
        kept = zip(head.schema, raw.schema, strict=True)
        self._strict = {
            field.name: was.type if pa.types.is_boolean(was.type) else field.type
            for field, was in kept
        }
        self._dirty = dirty
        self._loose = {n: t for n, t in _types(head).items() if not _is_text(t)}
        return head

    def batches(self, again: Again | None) -> Iterator[pa.RecordBatch]:
        """All rows; ``again`` opens the file from its beginning, where that can be done."""
        done = 0
        try:
            for batch in self._read(self._file, self._dirty if again else self._loose):
                yield batch
                done += batch.num_rows
        except pa.ArrowInvalid:  # a bad cell; a line that cannot be parsed is refused again
            if again is None:
                raise
        else:
            return
        raw, file, _ = again()
        with raw:
            yield from self._read(file, self._loose, done)

    def _read(
        self, file: Replay, loose: Mapping[str, Any], skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """The rows after the first ``skip``, the columns of ``loose`` cell by cell."""
        convert = _convert(self._strict | dict.fromkeys(loose, pa.binary()))
        read = pa.csv.ReadOptions(block_size=file.block(BLOCK))
        rows = 0
        with pa.csv.open_csv(pa.PythonFile(file, "r"), read, self._parse, convert) as reader:
            for batch in reader:
                kept = batch.slice(min(batch.num_rows, max(0, skip - rows)))
                rows += batch.num_rows
                yield self._bad.batch(kept, loose, rows - kept.num_rows) if loose else kept


def _convert(types: Mapping[str, pa.DataType]) -> pa.csv.ConvertOptions:
    return pa.csv.ConvertOptions(column_types=types, null_values=list(MISSING))


def _types(batch: pa.RecordBatch) -> dict[str, Any]:
    return {field.name: field.type for field in batch.schema}


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))
