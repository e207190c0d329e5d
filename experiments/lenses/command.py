"""Everything that ``python -m experiments lenses`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.figures import interval
from experiments.forms import forests
from experiments.forms.tables import markdown
from experiments.journal import Journal, Task
from experiments.lenses import rings
from experiments.lenses.learners import FOREST, OURS, TRACKER, forest, one
from experiments.lenses.streams import GROUPS
from experiments.output import write_csv, write_json

RATES = (0.05, 0.1, 0.3)
FOREST_STREAMS = ("covertype", "covertype, rows 19,034-")
PRICE = 0.004  # what lenses may cost where the truth is linear
Row = dict[str, Any]


def measure(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """CSV, JSON, tables and the picture; gives what was found in a few lines."""
    rows = _trackers(journal, seeds, size) + _forests(journal, seeds, size)
    write_csv(out / "lenses.csv", rows)
    write_json(out / "lenses.json", seeds=seeds, size=size, rates=list(RATES))
    (out / "lenses.md").write_text(table(rows))
    (out / "costs.md").write_text(costs(rows))
    (out / "forest.md").write_text(beside_forest(rows))
    turned = rings.measure(journal, out, seeds, size)
    write_csv(out / "rings.csv", turned)
    (out / "rings.md").write_text(rings_table(turned))
    found = summary(rows)
    (out / "summary.md").write_text(found)
    return found


def _trackers(journal: Journal, seeds: int, size: float) -> list[Row]:
    asked = [
        (stream, learner, rate, seed, size)
        for seed in range(1, seeds + 1)
        for streams in GROUPS.values()
        for stream in streams
        for rate in RATES
        for learner in (TRACKER, OURS)
    ]
    tasks: list[Task] = [(one, cell) for cell in asked]
    return [
        dict(zip(("stream", "learner", "rate", "seed"), cell, strict=False)) | result
        for cell, result in zip(asked, journal.run("lenses", tasks), strict=True)
    ]


def _forests(journal: Journal, seeds: int, size: float) -> list[Row]:
    """The forest on one stream, where CapyMOA is installed."""
    if "moa" not in forests.installed():
        return []
    asked = [
        (stream, rate, seed, size, "moa")
        for stream in FOREST_STREAMS
        for seed in range(1, seeds + 1)
        for rate in RATES
    ]
    tasks: list[Task] = [(forest, cell) for cell in asked]
    return [
        {"stream": stream, "learner": FOREST, "rate": rate, "seed": seed} | result
        for (stream, rate, seed, *_), result in zip(
            asked, journal.run("forests", tasks), strict=True
        )
    ]


def values(rows: list[Row], stream: str, learner: str, rate: float, key: str) -> list[float]:
    """A column of the runs of a cell, by seed."""
    wanted = (stream, learner, rate)
    return [r[key] for r in rows if (r["stream"], r["learner"], r["rate"]) == wanted]


def difference(rows: list[Row], stream: str, rate: float) -> tuple[float, float]:
    """Lenses less the Tracker, paired by seed, with half the width of the 95 % interval."""
    ours, theirs = (values(rows, stream, name, rate, "accuracy") for name in (OURS, TRACKER))
    return interval(np.subtract(ours, theirs))


def table(rows: list[Row]) -> str:
    """Accuracy of both, and the difference in thousandths, by stream and rate."""
    head = ["streams", "stream", *(f"{100 * rate:g} %" for rate in RATES)]
    lines = []
    for group, streams in GROUPS.items():
        for stream in streams:
            cells = []
            for rate in RATES:
                ours, theirs = (
                    np.mean(values(rows, stream, name, rate, "accuracy"))
                    for name in (OURS, TRACKER)
                )
                mean, half = difference(rows, stream, rate)
                cells.append(f"{theirs:.3f} {ours:.3f} ({1e3 * mean:+.1f} ± {1e3 * half:.1f})")
            lines.append([group, stream, *cells])
    return markdown(head, lines, left=2)


def costs(rows: list[Row]) -> str:
    """CPU time of a row of both, what the raw rows weigh at the end, and lenses asleep."""
    head = ["stream", *(f"{100 * rate:g} %" for rate in RATES)]
    lines = []
    for stream in dict.fromkeys(row["stream"] for row in rows):
        cells = []
        for rate in RATES:
            theirs = np.mean(values(rows, stream, TRACKER, rate, "us"))
            ours, raw, asleep = (
                np.mean(values(rows, stream, OURS, rate, key)) for key in ("us", "raw", "asleep")
            )
            cells.append(f"{theirs:.1f} {ours:.1f} ({raw:.2f}, {asleep:.1f})")
        lines.append([stream, *cells])
    return markdown(head, lines)


def beside_forest(rows: list[Row]) -> str:
    """Accuracy and CPU time of a row on the streams of the forest; without one, a sentence."""
    if not any(row["learner"] == FOREST for row in rows):
        return "Not measured: CapyMOA is not installed.\n"
    head = ["stream", "learner", *(f"{100 * rate:g} %" for rate in RATES)]
    lines = []
    for stream in FOREST_STREAMS:
        for name in (TRACKER, OURS, FOREST):
            cells = []
            for rate in RATES:
                found = values(rows, stream, name, rate, "accuracy")
                mean, half = interval(found)
                spread = f" ± {half:.4f}" if len(found) > 1 else ""
                us = np.mean(values(rows, stream, name, rate, "us"))
                cells.append(f"{mean:.4f}{spread} ({us:.0f} us)")
            lines.append([stream, name, *cells])
    return markdown(head, lines, left=2)


def rings_table(rows: list[Row]) -> str:
    """Accuracy on the rings with its 95 % interval, and the share of labels."""
    lines = []
    for name in dict.fromkeys(row["learner"] for row in rows):
        mine = [row for row in rows if row["learner"] == name]
        mean, half = interval([row["accuracy"] for row in mine])
        labels = np.mean([row["labels"] for row in mine])
        lines.append([name, f"{labels:.1%}", f"{mean:.3f} ± {half:.3f}"])
    return markdown(["learner", "labels", "accuracy"], lines)


def summary(rows: list[Row]) -> str:
    """The worst linear cell, and where lenses are ahead."""
    found = {
        group: {(s, rate): difference(rows, s, rate)[0] for s in streams for rate in RATES}
        for group, streams in GROUPS.items()
    }
    worst, least = min(found["linear"].items(), key=lambda item: item[1])
    cell = f"{worst[0]}, {100 * worst[1]:g} %"
    lines = [f"Worst linear cell: {least:+.4f} ({cell}); the target is {-PRICE} or better."]
    for group in ("built on", "unseen"):
        for rate in RATES:
            ahead = [found[group][s, rate] > 0.0 for s in GROUPS[group]]
            lines.append(f"{group}, {100 * rate:g} %: ahead on {sum(ahead)} of {len(ahead)}.")
    return "\n".join(lines) + "\n"
