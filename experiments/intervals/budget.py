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
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from lasec.queries.budgeted import settled

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
    """How well the Tracker keeps to a rate on one draw."""
    X, y = draw(name, seed)
    tracker = lasec.Tracker(rate=rate, horizon=len(y), seed=seed)
    query: Any = tracker.query
    records = tracker.run(X, y)
    spent = np.concatenate([[0], np.cumsum(records.asked)])
    sliding, following = (
        np.abs((spent[WINDOW:] - spent[:-WINDOW])[WINDOW::step] / (rate * WINDOW) - 1.0)
        for step in (1, WINDOW)
    )
    over = spent - rate * np.arange(spent.size)
    return {
        "rounds": len(y),
        "labels": records.labels,
        "off_labels": records.labels - rate * len(y),
        "off": records.labels / (rate * len(y)) - 1.0,
        "window": float(following.max(initial=0.0)),
        "sliding": float(sliding.max(initial=0.0)),
        "sliding_beyond": float((sliding > 0.1 + 1e-9).mean()) if sliding.size else 0.0,
        "cap": float((over - np.minimum.accumulate(over)).max() / settled(query)[2]),
        "least": float(records.propensity.min() / (query.audit_share * rate)),
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
        {"stream": n, "rate": r, "seed": s} | {k: round(v, 6) for k, v in result.items()}
        for (n, r, s), result in zip(cells, journal.run("budget", tasks), strict=True)
    ]
    write_csv(out / "budget.csv", rows)
    write_json(out / "budget.json", streams=names, rates=list(RATES), seeds=seeds)
    (out / "budget.md").write_text(table(rows))
    picture(out, rows)
    whole = [row for row in rows if row["rounds"] >= 2 * WINDOW]
    ends = sum(abs(row["off"]) <= 0.01 or abs(row["off_labels"]) <= 1.0 for row in rows)
    held = sum(row["window"] <= 0.1 + 1e-9 for row in whole)
    return (
        f"at the end within 1 % or one label in {ends} of {len(rows)} runs; every window within "
        f"10 % in {held} of {len(whole)}; the cap was never used beyond "
        f"{max(row['cap'] for row in rows):.0%}; propensity over the minimum at least "
        f"{min(row['least'] for row in rows):.3f}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The worst of the draws for each stream and rate."""
    head = (
        "| stream | rate | rounds | labels off at the end | in % | worst window | worst sliding | "
        "sliding beyond 10 % | cap used |"
    )
    lines = [head, "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for stream, rate in dict.fromkeys((row["stream"], row["rate"]) for row in rows):
        mine = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
        worst = max(mine, key=lambda row: abs(row["off"]))
        none = mine[0]["rounds"] < 2 * WINDOW
        window, sliding = (max(row[name] for row in mine) for name in ("window", "sliding"))
        beyond = np.mean([row["sliding_beyond"] for row in mine])
        lines.append(
            f"| {stream} | {rate:g} | {mine[0]['rounds']:,} | {worst['off_labels']:+.1f} | "
            f"{100 * worst['off']:+.2f} | "
            + ("- | - | - | " if none else f"{window:.1%} | {sliding:.1%} | {beyond:.2%} | ")
            + f"{max(row['cap'] for row in mine):.0%} |"
        )
    return "\n".join(lines) + "\n"


def picture(out: Path, rows: list[dict[str, Any]]) -> None:
    """The worst window of each stream and rate, against the tenth that is aimed at."""
    names = list(dict.fromkeys(r["stream"] for r in rows if r["rounds"] >= 2 * WINDOW))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(7.6, 3.6), layout="constrained")
        axes = figure.subplots()
        for number, rate in enumerate(RATES):
            worst = [
                100 * max(r["window"] for r in rows if (r["stream"], r["rate"]) == (name, rate))
                for name in names
            ]
            places = np.arange(len(names)) + 0.15 * (number - 2)
            shade = mpl.colormaps["viridis"](0.1 + 0.2 * number)
            axes.bar(places, worst, width=0.13, color=shade, label=f"rate {rate:g}")
        axes.axhline(10.0, color="#c0392b", linewidth=1.2, linestyle="--")
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("worst window of 1,000 rounds,\n% away from the budget")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, fontsize=8)
        save(figure, out / "budget")
