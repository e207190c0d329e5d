"""Drift detectors on labels that were asked for where rows are hard: found, and fooled.

On streams whose concept switches, a detector should raise the alarm soon after each switch and
never else. On streams whose concept stays, it should be silent, whatever the learner and its asking
do: learn from nothing (cold), have learned (settled), ask for an eighth of the labels from the
middle on (less), or ask uniformly and from the middle on with the paper's coin (other coin).

River's detectors have their default settings. DDM is made for values of 0 and 1, so weighted errors
are scaled to [0, 1] for it by the least propensity. Where the concept stays, a learner can still be
led astray by noise: an alarm counts as justified, not as false, where the learner disagrees with
the true concept on 5 % more of the last 100 rows than before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lasec
from experiments.intervals.alarm_picture import draw, mean
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json

ROUNDS, EVERY = 20_000, 2_500
RATES = (0.05, 0.1, 0.2, 0.4)
DIMENSIONS = (10, 50)
NOISES = (0.02, 0.1)
QUIET = ("cold", "settled", "less", "other coin")
SOON = 1_000
FLOOR = lasec.queries.Budgeted().audit


class Scaled:
    """A detector for values in [0, 1], in front of which errors are divided by the largest."""

    def __init__(self, detector: Any, least: float) -> None:
        self.detector = detector
        self.least = least

    def update(self, x: float) -> None:
        """Pass it on."""
        self.detector.update(min(1.0, self.least * x))

    @property
    def drift_detected(self) -> bool:
        """What the detector says."""
        return bool(self.detector.drift_detected)


def detectors(least: float) -> dict[str, Any]:
    """All that are compared, each new; ``least`` is the least propensity."""
    from river import drift  # noqa: PLC0415

    watch = lasec.alarms.Watch
    ours = {
        f"DropAlarm, every {every:,}": lasec.alarms.DropAlarm(every=every)
        for every in (1_000, 10_000, 100_000)
    }
    return ours | {
        "ADWIN, asked": watch(drift.ADWIN(), feed="asked"),
        "DDM, asked": watch(drift.binary.DDM(), feed="asked"),
        "Page-Hinkley, asked": watch(drift.PageHinkley(), feed="asked"),
        "ADWIN, weighted": watch(drift.ADWIN()),
        "DDM, weighted": watch(Scaled(drift.binary.DDM(), least)),
        "Page-Hinkley, weighted": watch(drift.PageHinkley()),
    }


def switching(dimension: int, rate: float, seed: int) -> dict[str, list[int]]:
    """The rows in which each detector raised the alarm, on a stream with switches."""
    stream = lasec.streams.switching(ROUNDS, dimension=dimension, every=EVERY, seed=seed)
    records = lasec.Tracker(rate=rate, horizon=ROUNDS, seed=seed).run(*stream)
    return _alarms(records, stream.y, 0, FLOOR * rate)


def quiet(case: str, noise: float, dimension: int, rate: float, seed: int) -> dict[str, list[int]]:
    """The same where the concept stays; but for ``cold``, from when the learner has learned.

    Alarms that are justified count as negative rows.
    """
    stream = lasec.streams.stationary(2 * ROUNDS, dimension=dimension, noise=noise, seed=seed)
    warm = 0 if case == "cold" else ROUNDS // 2
    end, middle = warm + ROUNDS, warm + ROUNDS // 2
    learner = _learner(case, dimension, rate, seed)
    first = learner.run(stream.X[:middle], stream.y[:middle])
    if case == "less":
        learner.query = lasec.queries.Budgeted(rate=rate / 8, warm_up=0.0)
    elif case == "other coin":
        learner.query = lasec.queries.MarginSampling(aggressiveness=rate / 20)
    rest = learner.run(stream.X[middle:end], stream.y[middle:end])
    records = lasec.Records.join([first, rest])
    found = _alarms(records, stream.y[:end], warm, FLOOR * rate / (8 if case == "less" else 1))
    truth = np.where(stream.X[:end] @ stream.target[0] >= 0.0, 1, -1)
    astray = np.concatenate([[0], np.cumsum(records.label != truth)])
    return {
        name: [-t if _worse(astray, warm + t) else t for t in tickets]
        for name, tickets in found.items()
    }


def _worse(astray: Any, ticket: int) -> bool:
    """Whether the learner has gone astray lately more than before; ``astray`` counts from 0."""
    now, recent, past = ticket + 1, max(ticket - 99, 0), max(ticket - 1_099, 0)
    if past == recent:
        return False
    lately = (astray[now] - astray[recent]) / (now - recent)
    return bool(lately > (astray[recent] - astray[past]) / (recent - past) + 0.05)


def _learner(case: str, dimension: int, rate: float, seed: int) -> Any:
    """The Tracker; or the paper's learner, whose margins are no probabilities."""
    if case != "other coin":
        return lasec.Tracker(dimension, rate=rate, horizon=ROUNDS, seed=seed)
    rule, query = lasec.rules.SecondOrder(), lasec.queries.Uniform(rate=rate)
    return lasec.Learner(rule, query, dimension=dimension, learn_from="labels", seed=seed)


def _alarms(records: lasec.Records, y: Any, warm: int, least: float) -> dict[str, list[int]]:
    """The rows of alarms after the first ``warm``, from there; detectors see all rows."""
    found = {}
    for name, detector in detectors(least).items():
        tickets = [alarm.ticket - warm for alarm in detector.extend(records, y)]
        found[name] = [ticket for ticket in tickets if ticket >= 0]
    return found


def delays(tickets: Sequence[int]) -> tuple[list[float], int]:
    """For each switch the rows until the first alarm before the next; and how many are false.

    False are those before the first switch, and all after the first one of a switch.
    """
    at = np.asarray(tickets, dtype=float)
    waits = []
    for begin in range(EVERY, ROUNDS, EVERY):
        within = at[(at >= begin) & (at < begin + EVERY)]
        waits.append(float(within[0]) - begin if within.size else np.inf)
    return waits, len(at) - int(np.isfinite(waits).sum())


def measure(journal: Journal, streams: int) -> list[dict[str, Any]]:
    """A row for each case, noise, dimension, rate and detector."""
    kinds = [("switching", 0.0), *((case, noise) for case in QUIET for noise in NOISES)]
    cells = [(*kind, d, rate) for kind in kinds for d in DIMENSIONS for rate in RATES]
    tasks: list[Task] = [
        (switching, (*cell[2:], seed)) if cell[0] == "switching" else (quiet, (*cell, seed))
        for cell in cells
        for seed in range(1, streams + 1)
    ]
    results = journal.run("alarms", tasks)
    rows = []
    for i, cell in enumerate(cells):
        draws = results[i * streams : (i + 1) * streams]
        about = dict(zip(("case", "noise", "dimension", "rate"), cell, strict=True))
        count = _switches if cell[0] == "switching" else _quiet
        rows += [
            about | {"detector": name} | count([found[name] for found in draws])
            for name in draws[0]
        ]
    return rows


def _switches(draws: list[list[int]]) -> dict[str, Any]:
    """What one detector did where the concept switches."""
    waits = np.array([wait for tickets in draws for wait in delays(tickets)[0]])
    false = sum(delays(tickets)[1] for tickets in draws)
    middle = float(np.median(waits))
    return {
        "median_delay": middle if np.isfinite(middle) else "",
        "soon": round(float(np.mean(waits < SOON)), 4),
        "found": round(float(np.mean(np.isfinite(waits))), 4),
        "false": round(false * 1e5 / (ROUNDS * len(draws)), 3),
        "justified": "",
        "fooled": "",
    }


def _quiet(draws: list[list[int]]) -> dict[str, Any]:
    """What it did where nothing changes; fooled: a false alarm in the second half."""
    per = 1e5 / (ROUNDS * len(draws))
    false = sum(ticket >= 0 for tickets in draws for ticket in tickets)
    justified = sum(ticket < 0 for tickets in draws for ticket in tickets)
    fooled = [any(ticket >= ROUNDS // 2 for ticket in tickets) for tickets in draws]
    return {"median_delay": "", "soon": "", "found": ""} | {
        "false": round(false * per, 3),
        "justified": round(justified * per, 3),
        "fooled": round(float(np.mean(fooled)), 4),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Means over dimensions, rates and noises, a line a detector."""
    lines = [
        f"| detector | found within {SOON:,} | found | false: switching | "
        + " | ".join(QUIET)
        + " | fooled: less | other coin |",
        "|---|" + "---:|" * (5 + len(QUIET)),
    ]
    for name in dict.fromkeys(row["detector"] for row in rows):
        parts = [f"{mean(rows, name, 'switching', key):.0%}" for key in ("soon", "found")]
        parts += [f"{mean(rows, name, case, 'false'):.1f}" for case in ("switching", *QUIET)]
        parts += [f"{mean(rows, name, case, 'fooled'):.0%}" for case in QUIET[2:]]
        lines.append(f"| {name} | {' | '.join(parts)} |")
    return "\n".join(lines) + "\n"


def study(journal: Journal, out: Path, streams: int) -> str:
    """CSV, JSON, Markdown and the picture."""
    rows = measure(journal, streams)
    write_csv(out / "alarms.csv", rows)
    about = {"rounds": ROUNDS, "every": EVERY, "soon": SOON, "streams": streams}
    write_json(out / "alarms.json", **about)
    (out / "alarms.md").write_text(table(rows))
    draw(out, rows)
    return table(rows)
