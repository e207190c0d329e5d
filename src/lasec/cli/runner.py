"""A run of a learner on a table with labels, batch by batch, which can be stopped and resumed."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lasec.cli.jsonl import Lines
from lasec.cli.output import as_facts
from lasec.errors import TableError
from lasec.evaluation import RunSummary, evaluate
from lasec.persistence.container import read
from lasec.tables import TableLearner
from lasec.tables.learner import Rows

SAVE_EVERY = 10.0  # seconds
MODEL, PREDICTIONS = "model.lasec", "predictions.jsonl"
_OPTIONS = {"width": "hash-buckets", "standardise": "standardize", "per_day": "labels-per-day",
            "settings": "set"}  # fmt: skip
WRITTEN = (MODEL, PREDICTIONS, "report.html", "summary.json")


class Baselines:
    """Baselines: no-change (the previous label, with every label known), and the majority class."""

    def __init__(self, rows: int = 0, plus: int = 0, same: int = 0, last: float = 0.0) -> None:
        self.rows, self.plus, self.same, self.last = rows, plus, same, last

    def extend(self, y: NDArray[np.float64]) -> None:
        """Some more labels.

        >>> baselines = Baselines()
        >>> baselines.extend(np.array([1.0, 1.0, -1.0]))
        >>> round(baselines.majority, 2), round(baselines.persistence, 2)
        (0.67, 0.33)
        """
        if y.size:
            self.same += int((y == np.r_[self.last, y[:-1]]).sum())
            self.rows, self.plus = self.rows + y.size, self.plus + int((y > 0.0).sum())
            self.last = float(y[-1])

    @property
    def majority(self) -> float:
        """The accuracy of the majority class, which is known only afterwards."""
        return max(self.plus, self.rows - self.plus) / self.rows if self.rows else math.nan

    @property
    def persistence(self) -> float:
        """The accuracy of the previous label; the first is a mistake."""
        return self.same / self.rows if self.rows else math.nan


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


class Run:
    """A run: the learner, its summary, the baselines, and the directory of its checkpoints."""

    def __init__(
        self, desk: TableLearner, run: RunSummary, folder: Path | None, lines: Lines | None,
        group: str | None = None,
    ) -> None:  # fmt: skip
        self.desk, self.run, self.group = desk, run, group
        self.folder, self.lines = folder, lines
        self.baselines = Baselines(*desk.origin.get("baselines", ()))
        self.consumed: int = desk.origin.get("consumed", 0)
        self.seconds: float = desk.origin.get("seconds", 0.0)
        self._saved = self._began = time.monotonic()
        self._warm: tuple[float, int] | None = None  # when compiled code was ready, and rows then

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
        return cls(desk, run, folder, lines, choice["group"])

    def feed(self, batch: pa.RecordBatch) -> None:
        """Learn a batch."""
        rows: Rows = self.desk.rows(batch)
        groups = None
        if self.group is not None:
            groups = [str(v) for v in batch[self.group].take(pa.array(rows.kept)).to_pylist()]
        evaluate(
            self.desk.learner, rows.X, rows.y, groups=groups, times=rows.times,
            alarms=self.desk.session.detectors, into=self.run,
        )  # fmt: skip
        self.baselines.extend(rows.y)
        if self.lines is not None:
            self.lines.records(self.run.records, self.desk, self.consumed + rows.kept)
        self.consumed += batch.num_rows
        self._warm = self._warm or (time.monotonic(), self.consumed)

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
        """Rows per second after the first batch, in which code may be compiled; or NaN."""
        began, rows = self._warm or (0.0, self.consumed)
        return (
            (self.consumed - rows) / (time.monotonic() - began)
            if rows < self.consumed
            else math.nan
        )

    def save(self) -> None:
        """Write a checkpoint, if there is a directory for it."""
        self._saved = time.monotonic()
        if self.folder is None:
            return
        b = self.baselines
        self.desk.origin |= {
            "consumed": self.consumed,
            "baselines": [b.rows, b.plus, b.same, b.last],
            "seconds": round(self.elapsed, 3),
            "written": self.lines.flush() if self.lines is not None else 0,
        }
        self.desk.save(self.folder / MODEL, run=self.run.to_bytes())

    def summary(self) -> dict[str, Any]:
        """The run in numbers."""
        learner, estimate, recent = self.desk.learner, self.run.estimate, self.run.recent()
        return {
            "algorithm": learner.name,
            "rows": self.run.rows,
            "unlabelled": self.consumed - self.run.rows,
            "labels": self.run.labels,
            "rate": self.run.labels / max(self.run.rows, 1),
            "accuracy": self.run.accuracy,
            "estimate": as_facts(estimate),
            "recent": as_facts(recent) | {"rows": recent.rows, "labels": recent.labels},
            "persistence": self.baselines.persistence,
            "majority": self.baselines.majority,
            "alarms": [alarm._asdict() for alarm in self.run.alarms],
            "classes": self.desk.classes,
            "features": learner.dimension,
            "seed": learner.seed,
            "rows_per_second": self.speed,
            "seconds": round(self.elapsed, 3),
        }
