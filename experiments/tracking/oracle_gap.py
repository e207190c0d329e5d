"""The ceiling: the same learner, told of every switch.

At each switch the oracle begins anew, but keeps in mind what it has spent, the scale of rows and
the label noise. Between switches it is the Tracker with one slot, which never suspects a change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lasec
from experiments.benchmark.streams import draw
from experiments.figures import interval
from experiments.journal import Journal, Task

STREAMS = ("switch", "switch-noise", "recurring", "usps")
RATES = (0.05, 0.1, 0.2, 0.4, 1.0)


def oracle(stream: str, rate: float, seed: int, size: float) -> tuple[float, float]:
    """Accuracy of the oracle and of the Tracker on the same draw."""
    X, y = rows = draw(stream, seed, size)
    told = lasec.Tracker(
        X.shape[1], rate=rate, horizon=len(y), seed=seed, rule=lasec.rules.Tracking(slots=1)
    )
    switches = np.flatnonzero(np.diff(rows.concept)) + 1
    parts = []
    for begin, end in zip([0, *switches], [*switches, len(y)], strict=True):
        told.state = _anew(told)
        parts.append(told.run(X[begin:end], y[begin:end]))
    plain = lasec.Tracker(rate=rate, horizon=len(y), seed=seed).run(X, y)
    return lasec.Records.join(parts).accuracy, plain.accuracy


def _anew(tracker: lasec.Tracker) -> Any:
    """A first state that knows nothing of the concept, but the scale of the rows and the noise."""
    old, fresh = tracker.state, tracker.rule.init(tracker.dimension)
    noise = old.posterior.sum(axis=(0, 2))
    fresh.posterior[:] *= (noise.size * noise)[:, None]
    mixture = fresh.core.mixture._replace(clock=old.core.mixture.clock)
    core = fresh.core._replace(mixture=mixture, means=old.core.means, units=old.core.units)
    counted = fresh.counted._replace(squares=old.counted.squares, tally=old.counted.tally)
    return fresh._replace(core=core, counted=counted)


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each stream, rate and draw."""
    cells = [(s, r, n) for s in STREAMS for r in RATES for n in range(1, seeds + 1)]
    tasks: list[Task] = [(oracle, (*cell, size)) for cell in cells]
    return [
        {"stream": s, "rate": r, "seed": n, "oracle": round(top, 6), "tracker": round(ours, 6)}
        for (s, r, n), (top, ours) in zip(cells, journal.run("oracle_gap", tasks), strict=True)
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """Means by stream and rate: the Tracker, the oracle, and what lies between."""
    lines = ["| stream | rate | tracker | oracle | oracle gap |", "|---|---:|---:|---:|---:|"]
    for cell in dict.fromkeys((row["stream"], row["rate"]) for row in rows):
        group = [row for row in rows if (row["stream"], row["rate"]) == cell]
        ours, top = (interval([row[k] for row in group]) for k in ("tracker", "oracle"))
        gap = interval([row["oracle"] - row["tracker"] for row in group])
        shown = [f"{mean:.3f} ± {half:.3f}" for mean, half in (ours, top, gap)]
        lines.append(f"| {cell[0]} | {cell[1]:g} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"
