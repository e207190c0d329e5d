"""Two rotating rings at 30 % of the labels, as a picture: where each learner draws the border.

The linear Tracker, the Tracker with lenses, kernel LASEC-SS with the parameters that were tuned for
this stream (``python -m experiments kernels``), and an adaptive random forest of 30 trees on the
budget of a Tracker, where CapyMOA is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lasec
from experiments.figures import SETTINGS, interval, save
from experiments.forms import forests
from experiments.forms.driven import driven
from experiments.journal import Journal, Task
from experiments.lenses.learners import OURS, TRACKER, TREES, tracker
from experiments.rings import rings
from lasec.mercer import RBF

ROWS, TURN, RATE, WINDOWS, FINE = 5_000, 4_000, 0.3, 20, 60
KERNEL, FOREST = "kernel LASEC-SS, tuned", "forest"
EDGE = 2.2
LOOKS = {
    TRACKER: ("#999999", "v"),
    OURS: ("#D55E00", "o"),
    KERNEL: ("#0072B2", "s"),
    FOREST: ("#009E73", "^"),
}
Array = NDArray[Any]


def learners() -> list[str]:
    """Those that can be run here."""
    return [name for name in LOOKS if name != FOREST or "moa" in forests.installed()]


def grid() -> Array:
    """Points of the plane, row by row."""
    ticks = np.linspace(-EDGE, EDGE, FINE)
    return np.array([(a, b) for b in ticks for a in ticks])


def one(learner: str, seed: int, rows: int) -> dict[str, Any]:
    """Accuracy in each window, the share of labels, and the class of each point at the end."""
    X, y = rings(rows, TURN, seed)
    if learner == FOREST:
        return _forest(X, y.astype(np.int64), seed)
    model: Any = tracker(learner, 2, RATE, seed)
    if learner == KERNEL:
        model = lasec.KernelLASEC_SS(
            2, kernel=RBF(0.35), ridge=1.0, drift=0.01, aggressiveness=0.07, budget=100, seed=seed
        )
    records = model.run(X, y)
    return _told(records.label == y, records.rate, model.predict(grid()))


def _forest(X: Array, y: Array, seed: int) -> dict[str, Any]:
    """The forest, whose rows are those of the stream and then the points."""
    whole = np.vstack([X, grid()])
    codes = np.append(y > 0, np.arange(len(whole) - len(y)) % 2).astype(np.int64)
    model, rows = forests.moa(whole, codes, seed, TREES)
    predicted, asked = driven(model, rows[: len(y)], codes[: len(y)], RATE, seed)
    region = []
    for point in rows[len(y) :]:
        model.predict_proba_one(point)
        region.append(1 if model.predict_one(point) == 1 else -1)
    return _told(predicted == codes[: len(y)], float(asked.mean()), np.array(region))


def _told(right: Array, labels: float, region: Array) -> dict[str, Any]:
    windows = [round(float(part.mean()), 4) for part in np.array_split(right, WINDOWS)]
    return {
        "accuracy": round(float(right.mean()), 4),
        "labels": round(labels, 4),
        "windows": windows,
        "region": [int(label) for label in region],
    }


def measure(journal: Journal, out: Path, seeds: int, size: float) -> list[dict[str, Any]]:
    """Every learner on every draw, and the picture; gives a row for each run."""
    rows = max(400, round(ROWS * size))
    asked = [(name, seed, rows) for name in learners() for seed in range(1, seeds + 1)]
    tasks: list[Task] = [(one, cell) for cell in asked]
    found = [
        {"learner": name, "seed": seed} | result
        for (name, seed, _), result in zip(asked, journal.run("rings", tasks), strict=True)
    ]
    picture(out, found, rows)
    kept = ("learner", "seed", "accuracy", "labels")
    return [{key: run[key] for key in kept} for run in found]


def picture(out: Path, found: list[dict[str, Any]], rows: int) -> None:
    """The border of each learner at the end of the first draw, and accuracy over time."""
    names = list(dict.fromkeys(run["learner"] for run in found))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10.4, 4.6), layout="constrained")
        parts: Any = figure.subfigures(1, 2, width_ratios=[1.0, 1.15])
        left, right = parts
        places = left.subplots(2, 2).ravel()
        for axes in places[len(names) :]:
            axes.set_visible(False)
        for axes, name in zip(places, names, strict=False):
            _border(axes, next(run for run in found if run["learner"] == name), rows)
        _over_time(right.subplots(), found, names, rows)
        save(figure, out / "rings")


def _border(axes: Axes, run: dict[str, Any], rows: int) -> None:
    """The last rows, over the class that is predicted at each point."""
    X, y = rings(rows, TURN, run["seed"])
    region = np.reshape(run["region"], (FINE, FINE))
    shades = mpl.colors.ListedColormap(["#F6E3BC", "#BFD9EC"])
    axes.imshow(region, origin="lower", extent=(-EDGE, EDGE, -EDGE, EDGE), cmap=shades)
    for label, color, marker in ((1, "#0072B2", "o"), (-1, "#B37400", "x")):
        one_, two = X[-250:][y[-250:] == label].T
        axes.scatter(one_, two, s=7, lw=0.8, color=color, marker=marker)
    axes.set_title(run["learner"], fontsize=9, loc="left")
    axes.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xticks=[], yticks=[], aspect="equal")
    axes.grid(False)


def _over_time(axes: Axes, found: list[dict[str, Any]], names: list[str], rows: int) -> None:
    """The mean accuracy of each window, with 95 % intervals."""
    ends = np.linspace(0, rows, WINDOWS + 1)[1:]
    for name in names:
        color, marker = LOOKS[name]
        runs = [run["windows"] for run in found if run["learner"] == name]
        mean, half = np.array([interval(window) for window in np.array(runs).T]).T
        axes.plot(ends, mean, color=color, marker=marker, ms=4, lw=1.3, label=name)
        axes.fill_between(ends, mean - half, mean + half, color=color, alpha=0.2, lw=0)
    axes.set_title(f"{RATE:.0%} of the labels, {TURN:,} rows per turn", fontsize=10, loc="left")
    axes.set(xlabel="row", ylabel="accuracy in a window", ylim=(0.5, 1.0))
    axes.legend(loc="lower right")
