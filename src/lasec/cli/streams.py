"""``lasec datasets``: the known streams, listed, described, and written as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer
from rich.table import Table as Grid

from lasec.cli import options as o
from lasec.cli.known import entries, open_known
from lasec.cli.output import honest, plain, put, screen
from lasec.errors import TableError
from lasec.streams import Dataset
from lasec.tables.kinds import nearest


@honest
def datasets(
    name: Annotated[str | None, typer.Argument(help="One of them: what it is.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it: .csv, .parquet or .jsonl.")
    ] = None,
    data: o.Data = None,
    as_json: o.AsJson = False,
) -> None:
    """List the known streams; with a name, describe one, and write it as a file.

    Some are drawn at random, the same each time. Real ones are read from the folder --data, or
    from that in the variable LASEC_DATA, or else fetched from their public source, where they have
    one. "lasec run NAME" runs along one of them.
    """
    all_of_them = entries(data)
    if name is None:
        put(all_of_them) if as_json else _list(all_of_them)
        return
    chosen = [entry for entry in all_of_them if entry["name"] == name]
    if not chosen:
        raise nearest(name, [entry["name"] for entry in all_of_them], "stream")
    facts = chosen[0]
    if out is not None:
        write(open_known(name, data), out)
        facts["wrote"] = str(out)
    put(facts) if as_json else _describe(facts)


def write(data: Dataset, out: Path) -> None:
    """The rows of a known stream, as a file of the format that its name says."""
    table = pa.table({name: pa.array(column) for name, column in data.columns.items()})
    ending = out.suffix.lower()
    if ending == ".csv":
        pa.csv.write_csv(table, out)
    elif ending == ".parquet":
        pa.parquet.write_table(table, out)
    elif ending == ".jsonl":
        with open(out, "w", encoding="utf-8") as file:
            for batch in table.to_batches(max_chunksize=10_000):
                file.writelines(json.dumps(plain(row)) + "\n" for row in batch.to_pylist())
    else:
        raise TableError(f"{out}: expected a name that ends in .csv, .parquet or .jsonl")


def _list(entries: list[dict[str, Any]]) -> None:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("name", no_wrap=True)
    grid.add_column("rows", justify="right", no_wrap=True)
    grid.add_column("what it is")
    grid.add_column("from", no_wrap=True)
    for entry in entries:
        origin = "here" if entry["here"] else entry["origin"]
        grid.add_row(entry["name"], f"{entry['rows']:,}", entry["title"], origin)
    screen().print(grid)


def _describe(facts: dict[str, Any]) -> None:
    console = screen()
    for name, value in facts.items():
        if value not in (None, ""):
            shown = (
                f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            )
            console.print(f"{name:<12}{shown}", markup=False)
