"""``lasec compare``: several algorithms along one file, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as Grid
from rich.text import Text

from lasec.cli import options as o
from lasec.cli.inputs import Opened, encoder, learner, open_file
from lasec.cli.output import (
    STOPPED,
    as_facts,
    as_text,
    honest,
    interval,
    percent,
    put,
    screen,
    warn_of_cells,
    warn_of_no_change,
)
from lasec.cli.progress import bar
from lasec.cli.runner import Baselines, Stop
from lasec.errors import TableError
from lasec.evaluation import RunSummary, evaluate
from lasec.files import write as write_file
from lasec.learner import Learner
from lasec.random import seed_or_random
from lasec.registry import Algorithm, find
from lasec.tables import TableLearner
from lasec.tables.source import ROWS, rows_at_a_time

USUAL = "tracker,uniform,lasec-ss,sop-ss,perceptron-ss"


@honest
def compare(
    file: o.File,
    label: o.Label = None,
    algorithms: o.Algorithms = USUAL,
    rate: o.Rate = 0.1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Directory for report and summary.", rich_help_panel=o.OUTPUT
        ),
    ] = None,
    labels_per_day: o.PerDay = None,
    time: o.Time = None,
    positive: o.Positive = None,
    category: o.Category = None,
    text: o.Text = None,
    ignore: o.Ignore = None,
    hash_buckets: o.HashBuckets = None,
    standardize: o.Standardize = True,
    format: o.Format = None,  # noqa: A002
    separator: o.Separator = None,
    seed: o.Seed = None,
    limit: o.Limit = None,
    data: o.Data = None,
    as_json: o.AsJson = False,
) -> None:
    """Compare algorithms on a file with labels, each at the same label budget.

    Also reports two baselines: no-change (the previous label) and the majority class.
    """
    reading = o.Reading(
        label, positive, time, tuple(category or ()), tuple(text or ()), tuple(ignore or ()),
        hash_buckets, standardize, format, separator, data,
    )  # fmt: skip
    names = list(dict.fromkeys(name.strip() for name in algorithms.split(",") if name.strip()))
    if not names:
        raise TableError("--algorithms: name at least one")
    chosen = [find(name) for name in names]
    opened = open_file(file, reading)
    with opened.table:
        race = Race(opened, names, chosen, o.Asking(rate, labels_per_day, seed_or_random(seed)))
        stop = Stop()
        with (
            stop.watching(),
            bar(opened.title, as_json, math.isnan(opened.table.progress)) as shown,
        ):
            for _ in race.go(limit, stop):
                if shown.due():
                    first = race.runs[0]
                    progress = opened.table.progress
                    shown.show(progress, first.rows, first.labels, first.estimate)
    rows = [race.row(i) for i in range(len(names))]
    _finish(race, rows, out, as_json, finished=not stop.wanted)
    warn_of_cells(opened.table)
    if stop.wanted:
        raise typer.Exit(STOPPED)


class Race:
    """Several learners on the same rows, in the same order."""

    def __init__(
        self, opened: Opened, names: list[str], chosen: list[Algorithm], asking: o.Asking
    ) -> None:
        self.opened, self.baselines = opened, Baselines()
        made = encoder(opened, constant=True)
        self._bare = [each.has_intercept for each in chosen]  # without the column of ones
        self.learners: list[Learner] = [
            learner(name, made.dimension - bare, opened.reading, asking)
            for name, bare in zip(names, self._bare, strict=True)
        ]
        self._desk = TableLearner(
            self.learners[0], made, label=opened.label, classes=opened.classes,
            positive=opened.reading.positive, time=opened.reading.time,
        )  # fmt: skip
        self.runs = [RunSummary() for _ in names]

    def go(self, limit: int | None, stop: Stop) -> Iterator[None]:
        """Batch after batch, each learner in turn."""
        left = math.inf if limit is None else limit
        most = rows_at_a_time(self._desk.encoder.dimension, ROWS)
        for batch in self.opened.table.batches(most=most):
            rows = self._desk.rows(batch.slice(0, int(min(left, batch.num_rows))))
            left -= batch.num_rows
            inner = np.ascontiguousarray(rows.X[:, :-1])
            for run, one, bare in zip(self.runs, self.learners, self._bare, strict=True):
                evaluate(one, inner if bare else rows.X, rows.y, times=rows.times, into=run)
            self.baselines.extend(rows.y)
            if left <= 0 or stop.wanted:
                break
            yield

    def row(self, index: int) -> dict[str, Any]:
        """How one of them did."""
        run = self.runs[index]
        estimate = run.estimate
        return {
            "algorithm": self.learners[index].name,
            "accuracy": run.accuracy,
            "estimate": as_facts(estimate),
            "labels": run.labels,
            "rate": run.labels / max(run.rows, 1),
        }


def _finish(
    race: Race, rows: list[dict[str, Any]], out: Path | None, as_json: bool, finished: bool
) -> None:
    """Say and write how they did."""
    baselines = {"persistence": race.baselines.persistence, "majority": race.baselines.majority}
    summary = {
        "file": race.opened.title,
        "finished": finished,
        "rows": race.baselines.rows,
        "seed": race.learners[0].seed,
        "algorithms": rows,
        **baselines,
    }
    if out is not None and race.baselines.rows:
        out.mkdir(parents=True, exist_ok=True)
        write_file(out / "compare.json", as_text(summary))
        named = {
            row["algorithm"]: (run, one)
            for row, run, one in zip(rows, race.runs, race.learners, strict=True)
        }
        shown = {"no-change": baselines["persistence"], "majority class": baselines["majority"]}
        from lasec.reports import compare as draw  # noqa: PLC0415

        draw(out / "compare.html", named, title=race.opened.title, baselines=shown)
    if as_json:
        put(summary)
        return
    console = screen()
    console.print(_grid(race, rows))
    if out is not None:
        console.print(f"wrote {out}", markup=False)
    best = max(row["accuracy"] for row in rows)
    warn_of_no_change(race.baselines.persistence, race.baselines.majority, best)


def _grid(race: Race, rows: list[dict[str, Any]]) -> Grid:
    """The table that people read."""
    title = Text(f"{race.opened.title}: {race.baselines.rows:,} rows")
    grid = Grid(title=title, title_justify="left")
    grid.add_column("algorithm")
    for heading in ("accuracy", "estimated accuracy", "labels", "rate"):
        grid.add_column(heading, justify="right")
    order = sorted(range(len(rows)), key=lambda i: -rows[i]["accuracy"])
    for i in order:
        row, run = rows[i], race.runs[i]
        grid.add_row(
            row["algorithm"], percent(row["accuracy"]), interval(run.estimate),
            f"{row['labels']:,}", percent(row["rate"]),
        )  # fmt: skip
    grid.add_section()
    grid.add_row("no-change", percent(race.baselines.persistence), "", "all", "100.0 %")
    grid.add_row("majority class", percent(race.baselines.majority), "", "all", "100.0 %")
    return grid
