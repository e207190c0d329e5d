"""``lasec datasets``: list, describe and write the known streams."""

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
from lasec.cli.output import honest, plain, put, put_facts, screen
from lasec.errors import TableError
from lasec.streams import Dataset
from lasec.streams.known import FILE
from lasec.tables.kinds import nearest


@honest
def datasets(
    name: Annotated[str | None, typer.Argument(help="Describe this stream.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the stream to this file: .csv, .parquet or .jsonl.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    data: o.Data = None,
    as_json: o.AsJson = False,
) -> None:
    """List the known streams; with a name, describe one or write it to a file.

    Synthetic streams are generated, the same each time. Real ones are read from the directory
    --data or LASEC_DATA, or fetched from their public source, if they have one. "lasec run NAME"
    uses one of them.
    """
    known = [entry | {"available": entry["here"]} for entry in entries(data)]
    for entry in known:
        del entry["here"]
    if name is None:
        put(known) if as_json else _list(known)
        return
    chosen = [entry for entry in known if entry["name"] == name]
    if not chosen:
        raise nearest(name, [entry["name"] for entry in known], "stream")
    facts = chosen[0]
    if out is not None:
        write(open_known(name, data), out)
        facts["wrote"] = str(out)
    put(facts) if as_json else _describe(facts)


def write(data: Dataset, out: Path) -> None:
    """Write the rows of a known stream to a file, in the format of its name."""
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
        raise TableError(f"--out {out}: expected a name that ends in .csv, .parquet or .jsonl")


def _list(entries: list[dict[str, Any]]) -> None:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("name", no_wrap=True)
    grid.add_column("rows", justify="right", no_wrap=True)
    grid.add_column("description")
    grid.add_column("available", no_wrap=True)
    for entry in entries:
        grid.add_row(entry["name"], f"{entry['rows']:,}", entry["title"], _available(entry))
    screen().print(grid)


def _available(entry: dict[str, Any]) -> str:
    """Whether a stream is on this machine, or where it is fetched from."""
    if entry["available"]:
        return "yes"
    return "needs --data" if entry["origin"] == FILE else str(entry["origin"])


def _describe(facts: dict[str, Any]) -> None:
    fetched = f"no (fetched from {facts.get('origin')})"
    available = _available(facts)
    known = facts | {"available": fetched if available == facts.get("origin") else available}
    shown = {
        name: f"{value:,}" if isinstance(value, int) else str(value)
        for name, value in known.items()
        if value not in (None, "")
    }
    put_facts(shown.items(), width=12)
