"""Whether a budget is held: at the end, and in every window of 1,000 rows after the first.

The windows are those that follow one upon the other, and, for a harder look, all that can be laid
over the stream ("sliding"). ``cap`` is the largest share of the bucket that was ever used up: at 1,
the hard cap would be touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lasec
from experiments.benchmark import streams as benchmark
from experiments.data import data_folder
from experiments.figures import SETTINGS, save
from experiments.intervals.widths import Row, measured
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from lasec.queries import Budgeted
from lasec.queries.account import settled

STREAMS = ("switch", "slow", "stationary", "usps", "elec2", "spam", "usenet1", "usenet2")
RATES = (0.02, 0.05, 0.1, 0.2, 0.4)
WINDOW = 1_000
HASHED = 200  # the words of the spam stream, hashed to so many features


def draw(name: str, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and labels of a stream; ``elec2`` and ``spam`` are the whole files."""
    folder = data_folder()
    if name in ("elec2", "spam") and folder is None:
        raise FileNotFoundError(f"{name} needs the folder of data: give --data")
    if name == "spam":
        return _spam(Path(str(folder)) / "spam_katakis.npz")
    if name == "elec2":
        with np.load(Path(str(folder)) / "elec2.npz") as data:
            return data["X"], np.where(data["y"] == 1, 1, -1)
    X, y = benchmark.draw(name, seed)
    return X, y


def _spam(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mails as counts of hashed words, each of length 1."""
    with np.load(path) as data:
        indices, indptr, y = data["indices"], data["indptr"], data["y"]
    rows = np.repeat(np.arange(len(y)), np.diff(indptr))
    X = np.zeros((len(y), HASHED))
    np.add.at(X, (rows, (indices.astype(np.int64) * 2_654_435_761) % 2**32 % HASHED), 1.0)
    return X / np.linalg.norm(X, axis=1, keepdims=True).clip(1.0), np.where(y == 1, 1, -1)


def one(name: str, rate: float, seed: int) -> dict[str, float]:
    """How well the Tracker keeps to a rate on one draw, and how wide its intervals are."""
    X, y = draw(name, seed)
    query = Budgeted(rate, horizon=len(y))
    records = lasec.Tracker(budget=query, seed=seed).run(X, y)
    spent = np.concatenate([[0], np.cumsum(records.asked)])
    windows = np.abs((spent[WINDOW:] - spent[:-WINDOW])[WINDOW::WINDOW] / (rate * WINDOW) - 1.0)
    over = spent - rate * np.arange(spent.size)
    return {
        "rounds": len(y),
        "labels": records.labels,
        "off_labels": records.labels - rate * len(y),
        "off": records.labels / (rate * len(y)) - 1.0,
        "window": float(windows.max(initial=0.0)),
        "cap": float((over - np.minimum.accumulate(over)).max() / settled(query)[2]),
        "least": float(records.propensity.min() / rate),
        "width": measured(records).width,
        "accuracy": records.accuracy,
    }


def measure(journal: Journal, out: Path, seeds: int) -> str:
    """CSV, JSON, Markdown and picture; gives the outcome in a sentence."""
    names = [name for name in STREAMS if name in ("elec2", "spam") or not benchmark.missing(name)]
    if data_folder() is None:
        names = [name for name in names if name not in ("elec2", "spam")]
    cells = [(n, r, s) for n in names for r in RATES for s in range(1, seeds + 1)]
    tasks: list[Task] = [(one, cell) for cell in cells]
    rows = [
        {"stream": n, "rate": r, "seed": s}
        | {name: round(value, 6) for name, value in result.items()}
        for (n, r, s), result in zip(cells, journal.run("budget", tasks), strict=True)
    ]
    write_csv(out / "budget.csv", rows)
    write_json(out / "budget.json", streams=names, rates=list(RATES), seeds=seeds)
    (out / "budget.md").write_text(table(rows))
    picture(out, rows)
    return outcome(rows)


def outcome(rows: list[Row]) -> str:
    """How often the budget was kept, in a sentence."""
    whole = [row for row in rows if row["rounds"] >= 2 * WINDOW]
    ends = sum(abs(row["off"]) <= 0.01 or abs(row["off_labels"]) <= 3.0 for row in rows)
    held = sum(row["window"] <= 0.1 + 1e-9 for row in whole)
    width = np.mean([row["width"] for row in rows])
    return (
        f"At the end within 1 % or three labels in {ends} of {len(rows)} runs, at most "
        f"{max(abs(row['off_labels']) for row in rows):.0f} off; every window within 10 % in "
        f"{held} of {len(whole)}; the cap was never used beyond "
        f"{max(row['cap'] for row in rows):.0%}; intervals {width:.3f} wide"
    )


def table(rows: list[Row]) -> str:
    """The worst of the draws for each stream and rate, and the mean width of the intervals."""
    head = "| stream | rate | rows | labels off at the end | worst window | width of intervals |"
    lines = [head, "|---|---:|---:|---:|---:|---:|"]
    for stream, rate in dict.fromkeys((row["stream"], row["rate"]) for row in rows):
        cells = [f"{stream} | {rate:g}"]
        mine = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
        cells.append(f"{mine[0]['rounds']:,}")
        cells.append(f"{max((row['off_labels'] for row in mine), key=abs):+.0f}")
        few = mine[0]["rounds"] < 2 * WINDOW
        cells.append("-" if few else f"{max(row['window'] for row in mine):.0%}")
        cells.append(f"{np.mean([row['width'] for row in mine]):.3f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def picture(out: Path, rows: list[Row]) -> None:
    """The worst window of each stream and rate, and how chance alone varies."""
    names = list(dict.fromkeys(r["stream"] for r in rows if r["rounds"] >= 2 * WINDOW))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.subplots()
        for number, name in enumerate(names):
            worst = [_worst(rows, name, rate) for rate in RATES]
            shade = mpl.colormaps["viridis"](0.1 + 0.8 * number / max(1, len(names) - 1))
            axes.plot(RATES, worst, marker="o", markersize=3, color=shade, label=name)
        chance = [200.0 * np.sqrt((1.0 - r) / (r * WINDOW)) for r in RATES]
        axes.plot(RATES, chance, color="#888888", linestyle="--", label="two deviations of draws")
        axes.set_xscale("log")
        axes.set_xticks(RATES, [f"{rate:g}" for rate in RATES])
        axes.minorticks_off()
        axes.set_xlabel("label budget")
        axes.set_ylabel("worst window of 1,000 rows,\n% away from the budget")
        axes.set_ylim(0.0)
        axes.legend(fontsize=8)
        save(figure, out / "budget")


def _worst(rows: list[Row], stream: str, rate: float) -> float:
    windows = [row["window"] for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
    return 100.0 * float(max(windows))
