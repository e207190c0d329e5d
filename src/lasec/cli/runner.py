"""A run of a learner on a table with labels, batch by batch, which can be stopped and resumed."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lasec.cli.answers import Answers
from lasec.cli.judge import Judge
from lasec.cli.output import as_facts
from lasec.errors import TableError
from lasec.evaluation import RunSummary, evaluate
from lasec.persistence.container import read
from lasec.queries import Budgeted
from lasec.records import Records
from lasec.tables import TableLearner
from lasec.tables.learner import Rows
from lasec.tables.lines import judged

SAVE_EVERY = 10.0  # seconds
MODEL, PREDICTIONS = "model.lasec", "predictions.jsonl"
_OPTIONS = {"per_day": "labels-per-day", "settings": "set", "answers": "delay", "total": "labels"}
_WORD = {True: "true", False: "false"}
WRITTEN = (MODEL, PREDICTIONS, "report.html", "summary.json")


class Stop:
    """Whether a stop was requested; a second Ctrl-C ends the process at once."""

    wanted = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM as a request to stop, for the time of a ``with``."""

        def wish(number: int, frame: object) -> None:
            if self.wanted:
                raise KeyboardInterrupt
            self.wanted = True

        before = {s: signal.signal(s, wish) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Lines:
    """Predictions as a file of lines of JSON, cut to ``size`` bytes before more are written."""

    def __init__(self, path: Path, size: int = 0) -> None:
        there = path.stat().st_size if path.exists() else 0
        if there < size:
            raise TableError(
                f"{path} is {size - there:,} bytes shorter than at the last checkpoint: start "
                "again with --force"
            )
        self._file = open(path, "r+b" if size else "wb")  # noqa: SIM115
        self._file.truncate(size)
        self._file.seek(size)

    def records(self, records: Records, first: int) -> None:
        """One line for each step; ``first`` is the number of the first row in its table.

        The prediction is null where there is none, before the first label.
        """
        labels = [
            label if sign else None
            for label, sign in zip(records.label.tolist(), records.sign.tolist(), strict=True)
        ]
        names = {label: json.dumps(label) for label in set(labels)}
        columns = (
            records.ticket.tolist(), labels, records.margin.tolist(),
            records.propensity.tolist(), records.asked.tolist(),
        )  # fmt: skip
        self._file.writelines(
            (
                f'{{"row": {first + at}, "ticket": {ticket}, "prediction": {names[label]}, '
                f'"margin": {margin:.6g}, "query_probability": {chance:.6g}, '
                f'"asked": {_WORD[asked]}}}\n'
            ).encode()
            for at, (ticket, label, margin, chance, asked) in enumerate(zip(*columns, strict=True))
        )

    def flush(self) -> int:
        """Write what is buffered, and return the size of the file."""
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Run:
    """A run: the learner, its summary, and the directory of its checkpoints."""

    def __init__(
        self, desk: TableLearner, run: RunSummary, folder: Path | None, lines: Lines | None,
        choice: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.desk, self.run, self.group = desk, run, choice["group"]
        self.answers = Answers(*choice["answers"])
        self.judge: str | None = choice["judge"]
        self.command: Judge | None = None
        self.folder, self.lines = folder, lines
        self.consumed: int = desk.origin.get("consumed", 0)
        self.seconds: float = desk.origin.get("seconds", 0.0)
        self._saved = self._began = time.monotonic()
        self._first = self.consumed

    @classmethod
    def resume(cls, folder: Path, choice: dict[str, Any]) -> Run:
        """The run that was saved in a directory, if its options were the same."""
        file = folder / MODEL
        if not file.is_file():
            raise TableError(f"nothing to resume: {file} does not exist")
        desk, parts = TableLearner.from_bytes(read(file))
        begun = desk.origin.get("choice")
        if not isinstance(begun, dict) or "run" not in parts:
            raise TableError(f"{file} was not written by lasec run: it cannot be resumed")
        for name, value in choice.items():
            if begun.get(name) != value and (name, value) != ("seed", None):
                was, wanted = begun.get(name), value
                option = _OPTIONS.get(name, name.replace("_", "-"))
                told = f"--{option} {was}, not {wanted}: resume it with the same options"
                if name == "table":
                    told = "another table: resume it with the same file"
                raise TableError(f"the run in {folder} was started with {told}")
        run = RunSummary.from_bytes(parts["run"])
        if desk.learner.rows != run.rows:
            raise TableError(f"{file} was used by lasec ask since: it cannot be resumed")
        lines = None
        if choice["predictions"]:
            lines = Lines(folder / PREDICTIONS, desk.origin.get("written", 0))
        return cls(desk, run, folder, lines, choice)

    def feed(self, batch: pa.RecordBatch) -> None:
        """Learn a batch."""
        rows: Rows = self.desk.rows(batch)
        groups = None
        if self.group is not None:
            groups = [str(value) for value in batch[self.group].to_pylist()]
        late = self.answers.options(
            batch, rows.y, rows.times, self.desk.classes, self.desk.learner.seed, self.consumed
        )
        evaluate(
            self.desk.session, rows.X, rows.y, groups=groups, times=rows.times, cells=rows.cells,
            into=self.run, judged=self._judged(batch), **late,
        )  # fmt: skip
        if self.lines is not None:
            self.lines.records(self.run.records, self.consumed)
        self.consumed += batch.num_rows

    def _judged(self, batch: pa.RecordBatch) -> list[Any] | Callable[[int], Any] | None:
        """What the judge says of each row, or of the row that it is asked about."""
        if (command := self.command) is not None:
            return lambda place: judged(self.desk, command, batch.slice(place, 1).to_pylist()[0])
        if self.judge is None:
            return None
        return [self.desk.heard(cell) for cell in batch[self.judge].to_pylist()]

    def go(
        self, batches: Iterator[pa.RecordBatch], limit: int | None, stop: Stop
    ) -> Iterator[None]:
        """Learn batch after batch, up to ``limit`` rows or until stopped; yields after each."""
        for batch in batches:
            room = batch.num_rows if limit is None else min(batch.num_rows, limit - self.consumed)
            if room <= 0:
                break
            self.feed(batch.slice(0, room))
            if stop.wanted:
                break
            if time.monotonic() - self._saved > SAVE_EVERY:
                self.save()
            yield

    @property
    def elapsed(self) -> float:
        """Seconds so far, including those before it was resumed."""
        return self.seconds + time.monotonic() - self._began

    @property
    def speed(self) -> float:
        """Rows per second of this process; NaN without any."""
        rows = self.consumed - self._first
        return rows / (time.monotonic() - self._began) if rows else math.nan

    def save(self) -> None:
        """Write a checkpoint, if there is a directory for it."""
        self._saved = time.monotonic()
        if self.folder is None:
            return
        self.desk.origin |= {
            "consumed": self.consumed,
            "seconds": round(self.elapsed, 3),
            "written": self.lines.flush() if self.lines is not None else 0,
        }
        self.desk.save(self.folder / MODEL, run=self.run.to_bytes())

    def _sources(self) -> dict[str, Any]:
        """The judge and the money, where labels have two prices."""
        record = self.desk.session.record
        if record is None:
            return {}
        buying = record.buying
        right = as_facts(record.accuracy()) | {"explained": record.explained}
        counts = {"judged": buying.questions, "experts": buying.escalated}
        return {"sources": counts | {"spent": buying.spent, "judge": right}}

    def summary(self) -> dict[str, Any]:
        """The run in numbers; see docs/output.md for what each is."""
        learner, run, recent = self.desk.learner, self.run, self.run.recent()
        baselines = run.baselines
        return {
            "version": 1,
            "algorithm": learner.name,
            "rows": run.rows,
            "labeled": run.known,
            "unpredicted": run.unpredicted,
            "labels": run.labels,
            "rate": run.labels / max(run.rows, 1),
            "cap": cap(learner.query, run.rows),
            **self._sources(),
            "accuracy": run.accuracy,
            "estimate": as_facts(run.estimate),
            "recent": as_facts(recent) | {"rows": recent.rows, "labels": recent.labels},
            "metrics": metrics(run),
            "classes": self.desk.classes,
            "by_class": by_class(run),
            "confusion": {
                "classes": run.classes,
                "estimated": run.confusion.cells.round(1).tolist(),
                "true": run.true_confusion.labels.tolist(),
            },
            "persistence": baselines.get("no-change", math.nan),
            "majority": baselines.get("majority class", math.nan),
            "alarms": [alarm._asdict() for alarm in run.alarms],
            "features": learner.dimension,
            "seed": learner.seed,
            "rows_per_second": self.speed,
            "seconds": round(self.elapsed, 3),
        }


def cap(query: Any, rows: int) -> float:
    """The most labels that a budget by rows asks for; NaN where there is none.

    >>> from lasec.queries import Always, Budgeted
    >>> cap(Budgeted(0.1), 5_000), cap(Always(), 5_000)
    (576.0, nan)
    """
    held = isinstance(query, Budgeted) and not query.timed
    return query.cap(rows) if held else math.nan


def metrics(run: RunSummary) -> dict[str, Any]:
    """Metrics of all classes together, estimated and true; those of probabilities where there are.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(1_000, dimension=5, seed=1)
    >>> found = metrics(lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y))
    >>> list(found)
    ['balanced_accuracy', 'macro_precision', 'macro_f1', 'log_loss', 'brier', 'calibration_error']
    >>> sorted(found["log_loss"])
    ['high', 'low', 'true', 'value']
    """
    names = ("balanced_accuracy", "macro_precision", "macro_f1")
    scores = (name for name in run.score_metrics if name != "average_precision")
    return {name: _both(run, name) for name in (*names, *scores)} if run.known else {}


def by_class(run: RunSummary) -> dict[str, Any]:
    """Precision, recall, F1 and, where it can be told, average precision of each class.

    Each is estimated and true. ``share`` is that of the class among the labels.
    """
    ranked = (name for name in run.score_metrics if name == "average_precision")
    names = ("precision", "recall", "f1", *ranked)
    return {
        str(name): {"share": share} | {metric: _both(run, metric, place) for metric in names}
        for place, (name, share) in enumerate(run.shares.items())
    }


def _both(run: RunSummary, metric: str, place: int = 0) -> dict[str, float]:
    """A metric from the queried labels with its interval, and from all labels."""
    found, truth = run.rated(metric, place)
    return as_facts(found) | {"true": truth}
