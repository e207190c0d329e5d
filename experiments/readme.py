"""The README's figure: accuracy against the label budget on three real streams.

The rows of ``python -m experiments streams`` are read as they were published. River's adaptive
random forest, which is not linear, is added here: its defaults, labels queried at random.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.benchmark.baselines import uniformly_asked
from experiments.benchmark.command import versions_of
from experiments.figures import SETTINGS, save
from experiments.journal import Journal, Task
from experiments.output import read_csv, write_csv, write_json
from experiments.whole.sources import whole

Row = dict[str, Any]

STREAMS = {
    "elec2": "Electricity prices (Elec2)",
    "noaa": "Rain at Bellevue (NOAA)",
    "spam_katakis": "Spam (Katakis)",
}
RATES = (0.05, 0.1, 0.3, 1.0)
# Colors that the color-blind can tell apart (after Okabe and Ito), markers for print.
LINES: dict[str, dict[str, Any]] = {
    "tracker": {"label": "lasec Tracker", "color": "#D55E00", "marker": "o", "linewidth": 2.6},
    "uniform": {"label": "the same, random queries", "color": "#D55E00", "marker": "o", "ls": ":"},
    "lasec-ss": {"label": "LASEC-SS, tuned", "color": "#0072B2", "marker": "s"},
    "river-tuned": {"label": "River logistic reg., tuned", "color": "#9A4F7D", "marker": "P"},
    "forest": {"label": "River random forest (ARF)", "color": "#00805E", "marker": "^"},
    "previous": {"label": "no-change (all labels)", "color": "#777777", "ls": "--"},
}


def forest_run(stream: str, rate: float, seed: int, size: float) -> dict[str, float]:
    """Accuracy of an adaptive random forest over all rows, and the share of labels it was given."""
    from river import forest  # noqa: PLC0415

    rows = whole(stream, size)
    model: Any = forest.ARFClassifier(seed=seed)
    asked = uniformly_asked(rows, rate, seed)
    right = 0
    for row, label, ask in zip(rows.X, (rows.y > 0).tolist(), asked.tolist(), strict=True):
        x: dict[Hashable, float] = dict(enumerate(row.tolist()))
        right += bool(model.predict_one(x)) == label
        if ask:
            model.learn_one(x, label)
    return {"accuracy": round(right / len(asked), 6), "asked": round(float(asked.mean()), 6)}


def measure(journal: Journal, published: Path, out: Path, seeds: int, size: float) -> str:
    """Run what is missing of the forests, write their rows, and draw them with the published."""
    cells = [
        (stream, rate, seed)
        for stream in STREAMS
        for rate in RATES
        for seed in range(1, (seeds if rate < 1.0 else 1) + 1)
    ]
    tasks: list[Task] = [(forest_run, (*cell, size)) for cell in cells]
    forests = [
        {"stream": stream, "learner": "forest", "rate": rate, "seed": seed} | result
        for (stream, rate, seed), result in zip(cells, journal.run("forests", tasks), strict=True)
    ]
    write_csv(out / "forest.csv", forests)
    write_json(out / "forest.json", seeds=seeds, size=size, libraries=versions_of("river"))
    rows = read_csv(published) + forests
    (out / "forest.md").write_text(table(rows))
    draw(out, rows)
    return f"wrote {out / 'accuracy.svg'} from {len(forests)} runs and {published}"


def table(rows: Sequence[Row]) -> str:
    """Every learner of the figure by stream and label budget, as Markdown."""
    heads = [style["label"] for style in LINES.values()]
    lines = [["stream", "budget", *heads], ["---", "---:", *["---:"] * len(heads)]]
    for stream, title in STREAMS.items():
        for rate in RATES:
            cell = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
            lines.append([title, f"{rate:.0%}", *(f"{mean(cell, name):.3f}" for name in LINES)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def mean(rows: Sequence[Row], learner: str) -> float:
    """The mean accuracy of a learner over these rows."""
    return float(np.mean([row["accuracy"] for row in rows if row["learner"] == learner]))


def draw(out: Path, rows: Sequence[Row]) -> None:
    """A panel a stream and the legend in the fourth, as ``accuracy.svg`` and ``accuracy.png``."""
    with mpl.rc_context(SETTINGS | {"font.size": 11, "savefig.dpi": 200}):
        figure = Figure(figsize=(5.6, 5.5), layout="constrained", facecolor="white")
        panels = list(figure.subplots(2, 2).flat)
        for axes, (stream, title) in zip(panels, STREAMS.items(), strict=False):
            _panel(axes, [row for row in rows if row["stream"] == stream])
            axes.set_title(title, fontsize=11, loc="left")
        panels[-1].set_axis_off()
        panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="center", fontsize=10)
        figure.supxlabel("label budget (share of rows)", fontsize=11)
        figure.supylabel("accuracy over the whole stream (%)", fontsize=11)
        save(figure, out / "accuracy")


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    """One stream: a line for each learner, through its mean over seeds."""
    for name, style in LINES.items():
        at = [[row for row in rows if row["rate"] == rate] for rate in RATES]
        values = [100.0 * mean(cell, name) for cell in at]
        axes.plot(RATES, values, **({"linewidth": 1.5, "markersize": 5} | style))
    axes.set_xscale("log")
    axes.set_xticks(RATES, [f"{rate:.0%}" for rate in RATES])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
