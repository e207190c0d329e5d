"""Every constant of the Tracker halved and doubled: what that does to its accuracy."""

from __future__ import annotations

from typing import Any

import lasec
from experiments.benchmark.streams import draw
from experiments.figures import interval
from experiments.journal import Journal, Task
from lasec.queries import Budgeted
from lasec.rules import Tracking

STREAMS = ("switch", "slow", "stationary-noise", "elec2", "noaa")
RATES = (0.1, 0.4)
RULE = ("slots", "patience", "hazard", "drift", "prior", "lapse", "share", "negligible")
QUERY = ("audit", "window", "warm_up")
LARGEST = {"lapse": 0.49}


def changed(name: str, factor: float) -> tuple[Tracking, dict[str, float]]:
    """The rule and the query's constants with one of them multiplied."""
    rule, query = Tracking(), Budgeted()
    if name in QUERY:
        return rule, {name: getattr(query, name) * factor}
    if name in RULE:
        value = min(getattr(rule, name) * factor, LARGEST.get(name, 1e30))
        return rule._replace(**{name: round(value) if name in ("slots", "patience") else value}), {}
    return rule, {}


def one(name: str, factor: float, stream: str, rate: float, seed: int, size: float) -> float:
    """Accuracy with one constant changed, on one draw."""
    X, y = draw(stream, seed, size)
    rule, constants = changed(name, factor)
    usual: Any = lasec.Tracker(rate=rate, horizon=len(y)).query
    tracker = lasec.Tracker(rule=rule, budget=usual._replace(**constants), seed=seed)
    return tracker.run(X, y).accuracy


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each constant, factor, stream, rate and draw; the constant "none" as it is."""
    changes = [("none", 1.0), *((name, f) for name in (*RULE, *QUERY) for f in (0.5, 2.0))]
    cells = [
        (name, factor, stream, rate, seed)
        for name, factor in changes
        for stream in STREAMS
        for rate in RATES
        for seed in range(1, seeds + 1)
    ]
    tasks: list[Task] = [(one, (*cell, size)) for cell in cells]
    names = ("constant", "factor", "stream", "rate", "seed")
    return [
        dict(zip(names, cell, strict=True)) | {"accuracy": round(accuracy, 6)}
        for cell, accuracy in zip(cells, journal.run("sensitivity", tasks), strict=True)
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """The paired change of accuracy, in thousandths, for each constant, stream and rate."""
    base = {
        (r["stream"], r["rate"], r["seed"]): r["accuracy"] for r in rows if r["constant"] == "none"
    }
    columns = list(dict.fromkeys((r["stream"], r["rate"]) for r in rows))
    head = ["constant", "value", *(f"{stream} {rate:g}" for stream, rate in columns)]
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * len(columns)]
    for name, factor in dict.fromkeys((r["constant"], r["factor"]) for r in rows):
        if name == "none":
            continue
        entries = []
        for column in columns:
            gaps = [
                1e3 * (r["accuracy"] - base[(*column, r["seed"])])
                for r in rows
                if (r["constant"], r["factor"], r["stream"], r["rate"]) == (name, factor, *column)
            ]
            mean, half = interval(gaps)
            entries.append(f"{mean:+.1f} ± {half:.1f}")
        lines.append("| " + " | ".join([name, _value(name, factor), *entries]) + " |")
    return "\n".join(lines) + "\n"


def _value(name: str, factor: float) -> str:
    rule, constants = changed(name, factor)
    return f"{constants.get(name, getattr(rule, name, 0.0)):.4g}"
