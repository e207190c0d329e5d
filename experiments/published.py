"""A CSV that can be checked: every row of it comes from a task that can be run again.

Next to the CSV files of a folder, ``digests.json`` has a digest of the code, parameters and data
(:mod:`experiments.digests`) behind each cell of each of them; a cell is all that differs in nothing
but the number of the run.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments import digests
from experiments.journal import Task
from experiments.output import write_csv

DIGESTS = "digests.json"

Row = dict[str, Any]
Digests = dict[str, dict[str, str]]  # by CSV file and cell


class Published(NamedTuple):
    """A CSV: the first columns and the task of each run, and what its result adds to them."""

    file: Path
    heads: list[Row]
    tasks: list[Task]
    columns: Callable[[Any], list[Row]]

    def rows(self, place: int, result: Any) -> list[Row]:
        """The rows of the task at a place of the list."""
        return [self.heads[place] | more for more in self.columns(result)]

    def cells(self) -> dict[str, list[int]]:
        """Each cell with the places of its runs in the list."""
        found: dict[str, list[int]] = {}
        for place, head in enumerate(self.heads):
            name = "/".join(str(value) for key, value in head.items() if key != "run")
            found.setdefault(name or "all", []).append(place)
        return found

    def digests(self) -> dict[str, str]:
        """The digest of today's code, parameters and data for each cell."""
        return {cell: digests.digest(*self.tasks[at[0]]) for cell, at in self.cells().items()}

    def write(self, results: Sequence[Any]) -> list[Row]:
        """Write the CSV and its digests; gives the rows."""
        made = [row for place, one in enumerate(results) for row in self.rows(place, one)]
        write_csv(self.file, made)
        stamp(self.file, self.digests())
        return made

    def read(self) -> list[list[dict[str, str]]]:
        """The rows of each task as they stand in the CSV, as text."""
        by: dict[tuple[str, ...], list[dict[str, str]]] = {}
        with open(self.file, newline="") as file:
            for row in csv.DictReader(file):
                by.setdefault(tuple(row[key] for key in self.heads[0]), []).append(row)
        return [by.get(tuple(map(str, head.values())), []) for head in self.heads]


def stamped(folder: Path) -> Digests:
    """The digests of a folder."""
    file = folder / DIGESTS
    return json.loads(file.read_text()) if file.exists() else {}


def stamp(file: Path, cells: dict[str, str]) -> None:
    """Note the digests of a CSV."""
    known = stamped(file.parent) | {file.name: cells}
    (file.parent / DIGESTS).write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
