"""``lasec datasets``: the streams that have a name, real ones of the catalogue and drawn ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer
from rich.table import Table as Grid

from lasec.cli import options as o
from lasec.cli.output import honest, plain, put, put_facts, screen
from lasec.errors import TableError
from lasec.streams import (
    Dataset,
    Stream,
    catalogue,
    open_dataset,
    stationary,
    switching,
    walking,
)
from lasec.streams.datasets import local_file
from lasec.tables.kinds import nearest

ROUNDS = 10_000
_SHAPE = {"dimension": 20, "seed": 1}
DRAWN: dict[str, tuple[str, Callable[[], Stream]]] = {
    "walking": (
        "Synthetic: a concept that drifts slowly",
        partial(walking, ROUNDS, speed=0.02, **_SHAPE),
    ),
    "switching": (
        "Synthetic: a new concept every 2,000 rows, 3 % wrong labels",
        partial(switching, ROUNDS, every=2_000, noise=0.03, **_SHAPE),
    ),
    "stationary": ("Synthetic: a concept that stays", partial(stationary, ROUNDS, **_SHAPE)),
}


def is_known(name: str) -> bool:
    """Whether a stream has this name.

    >>> is_known("elec2"), is_known("walking"), is_known("mails.csv")
    (True, True, False)
    """
    return name in DRAWN or any(known.name == name for known in catalogue())


def entries(folder: Path | None) -> list[dict[str, Any]]:
    """All that have a name: what is known about each, and whether it is here."""
    drawn = [
        {"name": name, "title": title, "rows": ROUNDS, "columns": 20, "label": "y", "here": True}
        for name, (title, _) in DRAWN.items()
    ]
    real = [
        known._asdict() | {"here": local_file(known, folder) is not None} for known in catalogue()
    ]
    return drawn + real


def open_known(name: str, folder: Path | None) -> Dataset:
    """The stream of this name.

    >>> open_known("walking", None)
    Dataset('walking', rows=10000, features=20, label='y')
    """
    if name in DRAWN:
        X, y = DRAWN[name][1]()
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        return Dataset(name, columns | {"y": y}, "y", 1, None)
    return open_dataset(name, folder)


@honest
def datasets(
    name: Annotated[str | None, typer.Argument(help="Describe this stream.")] = None,
    out: Annotated[
        Path | None,
        o.of_output("--out -o", None, "Write the stream to this file: .csv, .parquet or .jsonl."),
    ] = None,
    data: o.Data = None,
    as_json: o.AsJson = False,
) -> None:
    """List the known streams; with a name, describe one or write it to a file.

    Synthetic streams are generated, the same each time. Real ones are read from the directory
    --data or LASEC_DATA, or fetched from their public source. "lasec run NAME"
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
    return "yes" if entry["available"] else str(entry["origin"])


def _describe(facts: dict[str, Any]) -> None:
    available = "yes" if facts["available"] else f"no (fetched from {facts['origin']})"
    known = facts | {"available": available}
    shown = {
        name: f"{value:,}" if isinstance(value, int) else str(value)
        for name, value in known.items()
        if value not in (None, "")
    }
    put_facts(shown.items(), width=12)
