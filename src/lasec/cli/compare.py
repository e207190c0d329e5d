"""``lasec compare``: several algorithms along one file, side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.table import Table as Grid
from rich.text import Text

from lasec.cli import options as o
from lasec.cli import output
from lasec.cli.answers import PROMPT, Answers
from lasec.cli.inputs import Opened, open_file
from lasec.cli.peers import PEERS, Peer, make_peer
from lasec.cli.progress import Pace, bar, clock
from lasec.cli.runner import Stop, by_class, metrics
from lasec.cli.spread import Only, spread
from lasec.errors import TableError
from lasec.evaluation import (
    Difference,
    RunSummary,
    evaluate,
    paired_difference,
)
from lasec.files import write as write_file
from lasec.learner import Learner
from lasec.metrics.words import between
from lasec.notebook import counted, percent
from lasec.random import seed_or_random
from lasec.registry import find
from lasec.session import Session
from lasec.tables import Encoder, TableLearner
from lasec.tables.learner import Rows
from lasec.tables.source import ROWS, rows_at_a_time
from lasec.tables.spec import check_algorithm

PIECE, SOON = 250, 5.0  # rows of peers at a time; seconds that need no forecast
USUAL = "tracker,uniform,lasec-ss,sop-ss,perceptron-ss"


@output.honest
@spread
def compare(
    file: o.File,
    *,
    algorithms: Annotated[
        str, o.option("--algorithms -a", "NAMES", "Names of algorithms, separated by commas.")
    ] = USUAL,
    asking: Annotated[
        o.Asking, Only("rate", "audit", "class_weight", "per_day", "warm_up", "seed")
    ],
    reading: o.Reading,
    out: Annotated[
        Path | None, o.of_output("--out -o", None, "Directory for report and summary.")
    ] = None,
    peer: Annotated[
        list[str] | None,
        o.option(
            "--peer",
            None,
            f"A model of another library, with the same label budget: {', '.join(PEERS)}, or the "
            "import path of a function that makes one, as in my_module:make_model.",
        ),
    ] = None,
    answers: Answers,
    limit: o.Limit = None,
    as_json: o.AsJson = False,
) -> None:
    """Compare algorithms on a file with labels, each at the same label budget.

    Reports the difference of each to the most accurate one, with a 95 % confidence interval that is
    paired by row, and two baselines: no-change (the previous label) and the majority class.
    """
    names = list(dict.fromkeys(name.strip() for name in algorithms.split(",") if name.strip()))
    if not names:
        raise TableError("--algorithms: name at least one")
    asking = asking._replace(
        seed=seed_or_random(asking.seed), annotators=max(1, len(answers.errors))
    )
    if asking.class_weight is not None and not any(find(name).has_class_weights for name in names):
        raise TableError("--class-weight: none of these algorithms takes one, tracker does")
    if peer and len(answers.errors) > 1:
        raise TableError("--peer: a model of another library takes the first answer, no majority")
    opened = open_file(file, reading)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    with opened.table:
        asking = asking._replace(rows=opened.length(None))
        answers.check(reading.time, opened.table.names)
        budget, first = asking.budget(reading.time).query(), asking.seed or 0
        peers = [
            make_peer(name, asking.rate, budget, first, opened.separated)
            for name in dict.fromkeys(peer or ())
        ]
        made = asking.spec(names[0], opened.reading).encoder(opened.table.head, constant=True)
        if made.words and algorithms == USUAL:
            names = [name for name in names if find(name).sparse]
        race = Race(opened, made, names, asking, peers, answers)
        if not as_json:
            _announce(race, asking, opened.length(limit))
        stop = _go(race, opened.length(limit), limit, as_json)
    _finish(race, race.rows(), out, as_json, finished=not stop.wanted)
    output.warn_of_cells(opened.table)
    if stop.wanted:
        raise typer.Exit(output.STOPPED)


def _announce(race: Race, asking: o.Asking, rows: int | None) -> None:
    """Say what is about to be done."""
    budget = f"{percent(asking.rate)} of rows"
    if asking.per_day is not None:
        budget = f"{asking.per_day:g} a day"
    count = "all rows" if rows is None else f"about {rows:,} rows"
    output.say(
        f"lasec: comparing {counted(len(race.names), 'model')} on {count}, each with labels of its "
        f"own ({budget}): {'; '.join(race.names)}"
    )


def _go(race: Race, rows: int | None, limit: int | None, as_json: bool) -> Stop:
    """Run all models, with progress; what is returned says whether they were stopped."""
    stop, pace, said = Stop(), Pace(), as_json or rows is None
    with (
        stop.watching(),
        bar(race.opened.title, as_json, rows is None) as shown,
    ):
        for _ in race.go(limit, stop):
            share = math.nan if rows is None else min(race.done / max(rows, 1), 1.0)
            left = pace.at(time.monotonic(), race.done, share)[1]
            if not said and math.isfinite(left):
                said = True
                if left > SOON:
                    output.say(f"lasec: about {clock(left)} to go")
            if shown.due():
                last = min(race.runs, key=lambda run: run.rows)
                shown.show(share, last.rows, last.labels, last.estimate)
    return stop


def _learner(name: str, made: Encoder, asking: o.Asking, opened: Opened) -> Learner:
    """A learner for these rows, without class weights where it takes none."""
    one = find(name)
    bare = one.has_intercept and not made.words
    asked = asking if one.has_class_weights else asking._replace(class_weight=None)
    spec = asked.spec(name, opened.reading, opened.separated)
    return spec.learner(made.dimension - bare, sparse=made.words > 0, dense=made.dense)


class Entrant(NamedTuple):
    """One of those that are compared; a peer is a session with the model of another library.

    ``bare`` ones take rows without the column of ones at their end.
    """

    name: str
    model: Learner | Session
    described: Learner | str
    bare: bool
    run: RunSummary

    def go_on(self, rows: Rows, cut: slice, late: dict[str, Any]) -> None:
        """Evaluate on some of these rows."""
        X = np.ascontiguousarray(rows.X[cut, :-1]) if self.bare else rows.X[cut]
        some = {name: column[cut] for name, column in late.items()}
        times = None if rows.times is None else rows.times[cut]
        evaluate(self.model, X, rows.y[cut], times=times, into=self.run, **some)


class Race:
    """Several models on the same rows, in the same order."""

    def __init__(
        self, opened: Opened, made: Encoder, names: list[str], asking: o.Asking,
        peers: Sequence[Peer] = (), answers: Answers = PROMPT,
    ) -> None:  # fmt: skip
        self.opened, self.answers, rows = opened, answers, opened.length(None) or 0
        for name in names:
            check_algorithm(made, name)
        if peers and made.words:
            raise TableError(
                "--peer: models of other libraries take no sparse rows here, and "
                f"{made.sparse}: ignore the column (--ignore COLUMN)"
            )
        learners = [_learner(name, made, asking, opened) for name in names]
        self.learners = [
            Entrant(one.name, one, one, one.dimension < made.dimension, RunSummary(expected=rows))
            for one in learners
        ]
        self.peers = [
            Entrant(one.name, Session(one.model), one.description, True, RunSummary(expected=rows))
            for one in peers
        ]
        self.entrants = [*self.learners, *self.peers]
        self.seed = learners[0].seed
        self._desk = TableLearner(
            learners[0], made, label=opened.label, positive=opened.reading.positive,
            time=opened.reading.time,
        )  # fmt: skip

    @property
    def names(self) -> list[str]:
        """What each is called."""
        return [one.name for one in self.entrants]

    @property
    def runs(self) -> list[RunSummary]:
        """How each did."""
        return [one.run for one in self.entrants]

    def go(self, limit: int | None, stop: Stop) -> Iterator[None]:
        """Batch after batch, each model in turn."""
        left = math.inf if limit is None else limit
        most = rows_at_a_time(self._desk.encoder.dense_dimension, ROWS)
        for whole in self.opened.table.batches(most=most):
            batch = whole.slice(0, int(min(left, whole.num_rows)))
            rows = self._desk.rows(batch)
            late = self.answers.options(
                batch, rows.y, rows.times, self._desk.classes, self.seed, self.runs[0].rows
            )
            left -= whole.num_rows
            for learner in self.learners:
                learner.go_on(rows, slice(None), late)
            # Peers are slow: some rows at a time.
            for start in range(0, batch.num_rows, PIECE if self.peers else ROWS):
                for peer in self.peers:
                    peer.go_on(rows, slice(start, start + PIECE), late)
                yield
            if left <= 0 or stop.wanted:
                break

    @property
    def done(self) -> int:
        """The rows that all models have processed."""
        return min(run.rows for run in self.runs)

    def rows(self) -> list[dict[str, Any]]:
        """How each of them did; differences are to the most accurate."""
        best = max(self.runs, key=lambda run: run.accuracy)
        return [
            {
                "algorithm": name,
                "accuracy": run.accuracy,
                "difference": None if run is best else paired_difference(run, best)._asdict(),
                "estimate": output.as_facts(run.estimate),
                "labels": run.labels,
                "rate": run.labels / max(run.rows, 1),
                "metrics": metrics(run),
                "by_class": by_class(run),
            }
            for name, run in zip(self.names, self.runs, strict=True)
        ]

    @property
    def baselines(self) -> tuple[float, float]:
        """The accuracy of the previous label and of the majority class; NaN without rows."""
        found = self.runs[0].baselines
        return found.get("no-change", math.nan), found.get("majority class", math.nan)

    def named(self) -> dict[str, tuple[RunSummary, Learner | str]]:
        """The runs for the page, each with its learner or what a peer is."""
        return {one.name: (one.run, one.described) for one in self.entrants}


def _finish(
    race: Race, rows: list[dict[str, Any]], out: Path | None, as_json: bool, finished: bool
) -> None:
    """Say and write how they did."""
    no_change, majority = race.baselines
    summary = {
        "version": 1,
        "file": race.opened.title,
        "finished": finished,
        "rows": race.runs[0].rows,
        "labeled": race.runs[0].known,
        "classes": race.runs[0].classes,
        "seed": race.seed,
        "algorithms": rows,
        "persistence": no_change,
        "majority": majority,
    }
    if out is not None and race.runs[0].rows:
        write_file(out / "compare.json", output.as_text(summary))
        from lasec.reports import compare as draw  # noqa: PLC0415

        draw(out / "compare.html", race.named(), title=race.opened.title)
    if as_json:
        output.put(summary)
        return
    console = output.screen()
    console.print(_grid(race, rows))
    if out is not None:
        console.print(f"wrote {out}", markup=False)
    best = max(row["accuracy"] for row in rows)
    first = race.runs[0]
    output.warn_of_no_change(no_change, list(first.shares.values()), best, first.known)


def _grid(race: Race, rows: list[dict[str, Any]]) -> Grid:
    """The table that people read."""
    title = Text(f"{race.opened.title}: {race.runs[0].rows:,} rows")
    grid = Grid(title=title, title_justify="left")
    grid.add_column("algorithm")
    rare = race.runs[0].rare[-1:]
    first = [f"{metric} of {name}" for name in rare for metric in ("average precision", "recall")]
    for heading in (*first, "accuracy", "difference (95 % CI)", "estimated accuracy", "labels"):
        grid.add_column(heading, justify="right")
    order = sorted(range(len(rows)), key=lambda i: -rows[i]["accuracy"])
    for i in order:
        row, run = rows[i], race.runs[i]
        found = row["difference"]
        grid.add_row(
            row["algorithm"], *_of_rare(row, rare), percent(row["accuracy"]),
            "best" if found is None else Difference(**found).in_points,
            between(run.estimate), f"{row['labels']:,}",
        )  # fmt: skip
    grid.add_section()
    for name, value in zip(("no-change", "majority class"), race.baselines, strict=True):
        grid.add_row(name, *["-" for _ in first], percent(value), "", "", "all")
    return grid


def _of_rare(row: dict[str, Any], rare: list[Any]) -> list[str]:
    """True average precision and recall of a rare class; models without probabilities rank none."""
    return [
        percent(found[metric]["true"]) if metric in found else "-"
        for found in (row["by_class"][str(name)] for name in rare)
        for metric in ("average_precision", "recall")
    ]
