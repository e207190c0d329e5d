"""Runs of all learners on all streams, and the tables of what they find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from experiments.rare.learners import LEARNERS, OTHERS, SETTINGS, Said, by_setting
from experiments.rare.streams import cells, draw

RATES = (0.01, 0.02, 0.05, 0.1)
DRAWS = {"KDD": 1, "Katakis spam": 2, "Enron spam": 2}  # at most; rows of KDD are the same in all
FIRST, SETTING_RATES = 101, (0.01, 0.05)
OURS = "Tracker, balanced"
Row = dict[str, Any]


def scores(said: Said, y: Any) -> dict[str, float]:
    """Average precision, recall, precision, cost of a row and labels.

    A missed positive costs one over the share of positives, a false alarm 1: to call every row
    negative costs 1 a row.
    """
    from sklearn.metrics import average_precision_score  # noqa: PLC0415

    share, hit = float(np.mean(y)), int(np.sum(said.positive & y))
    alarms, positives = int(said.positive.sum()), int(y.sum())
    cost = ((positives - hit) / share + alarms - hit) / len(y)
    return {
        "average_precision": round(float(average_precision_score(y, said.score)), 4),
        "recall": round(hit / positives, 4),
        "precision": round(hit / max(1, alarms), 4),
        "cost": round(cost, 4),
        "positives": positives,
        "labels": int(said.asked.sum()),
        "labeled_positives": int(np.sum(said.asked & y)),
    }


def one(stream: str, share: float, learner: str, rate: float, seed: int, size: float) -> Row:
    """One run of a learner."""
    X, y = draw(stream, share, seed, size)
    return scores(LEARNERS[learner](X, y, rate, seed), y)


def one_setting(stream: str, share: float, name: str, rate: float, seed: int, size: float) -> Row:
    """One run with other settings."""
    X, y = draw(stream, share, seed, size)
    return scores(by_setting(name, X, y, rate, seed), y)


def study(journal: Journal, out: Path, seeds: int, size: float, quick: bool, settings: bool) -> str:
    """The comparison, or the one that the settings were chosen by."""
    if settings:
        return by_settings(journal, out, seeds, size)
    return measure(journal, out, seeds, size, quick=quick)


def measure(journal: Journal, out: Path, seeds: int, size: float, *, quick: bool) -> str:
    """CSV, JSON and tables; gives in how many cells the balanced Tracker is ahead."""
    asked = [
        (stream, share, learner, rate, seed, size)
        for stream, share in cells(real=not quick)
        for seed in range(1, min(seeds, DRAWS.get(stream, seeds)) + 1)
        for rate in RATES
        for learner in LEARNERS
    ]
    rows = _run(journal, "rare", one, asked)
    write_csv(out / "rare.csv", rows)
    write_json(out / "rare.json", seeds=seeds, size=size, means=means(rows))
    (out / "rare.md").write_text(document(rows))
    (out / "decisions.md").write_text(decisions(rows))
    (out / "summary.md").write_text(summary(rows) + "\n")
    return summary(rows)


def by_settings(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """The table that the settings were chosen by, on draws that nothing else is measured on."""
    asked = [
        (stream, share, name, rate, seed, size)
        for stream, share in cells(real=False)
        for seed in range(FIRST, FIRST + seeds)
        for rate in SETTING_RATES
        for name in (*SETTINGS, *OTHERS)
    ]
    rows = _run(journal, "settings", one_setting, asked)
    write_csv(out / "settings.csv", rows)
    (out / "settings.md").write_text(settings_table(rows))
    return settings_table(rows)


def _run(journal: Journal, title: str, function: Any, asked: list[tuple[Any, ...]]) -> list[Row]:
    tasks: list[Task] = [(function, cell) for cell in asked]
    keys = ("stream", "share", "learner", "rate", "seed")
    found = journal.run(title, tasks)
    return [
        dict(zip(keys, cell, strict=False)) | result
        for cell, result in zip(asked, found, strict=True)
    ]


def means(rows: list[Row]) -> list[Row]:
    """The mean over the draws of each stream, share, learner and rate."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("stream", "share", "learner", "rate"))
        groups.setdefault(key, []).append(row)
    numbers = ("average_precision", "recall", "precision", "cost", "labels", "labeled_positives")
    return [
        dict(zip(("stream", "share", "learner", "rate"), key, strict=True))
        | {name: round(float(np.mean([row[name] for row in some])), 4) for name in numbers}
        for key, some in groups.items()
    ]


def _table(rows: list[Row], cell: Any) -> str:
    """A line for each stream, share and learner, a column for each rate."""
    found = {(m["stream"], m["share"], m["learner"], m["rate"]): m for m in means(rows)}
    lines = [
        ["stream", "positives", "learner", *(f"{100 * rate:g} %" for rate in RATES)],
        ["---", "---:", "---", *["---:"] * len(RATES)],
    ]
    for stream, share in dict.fromkeys((row["stream"], row["share"]) for row in rows):
        about = [stream, f"{100 * share:g} %"]
        for learner in LEARNERS:
            each = [{n: found[stream, share, n, rate] for n in LEARNERS} for rate in RATES]
            lines.append([*about, learner, *(cell(group, learner) for group in each)])
            about = ["", ""]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def document(rows: list[Row]) -> str:
    """Average precision; the best of a stream and rate in bold."""

    def cell(group: dict[str, Row], learner: str) -> str:
        best = max(one["average_precision"] for one in group.values())
        value = group[learner]["average_precision"]
        return f"**{value:.3f}**" if value == best else f"{value:.3f}"

    return _table(rows, cell)


def decisions(rows: list[Row]) -> str:
    """Recall, precision and cost of the decisions."""

    def cell(group: dict[str, Row], learner: str) -> str:
        row = group[learner]
        return f"{row['recall']:.2f} / {row['precision']:.2f} / {row['cost']:.2f}"

    return _table(rows, cell)


def summary(rows: list[Row]) -> str:
    """In how many cells the balanced Tracker is ahead of each other learner, and of all."""
    found = {(m["stream"], m["share"], m["rate"], m["learner"]): m for m in means(rows)}
    places = list(dict.fromkeys(key[:3] for key in found))
    others = [name for name in LEARNERS if name != OURS]

    def ahead(name: str, sign: int, rivals: list[str]) -> int:
        return sum(
            all(sign * (found[*at, OURS][name] - found[*at, rival][name]) > 0 for rival in rivals)
            for at in places
        )

    parts = [f"{name} in {ahead('average_precision', 1, [name])}" for name in others]
    return (
        f"In average precision the Tracker with balanced class weights is ahead of all others in "
        f"{ahead('average_precision', 1, others)} of {len(places)} cells "
        f"(ahead of {'; '.join(parts)}). Its cost is the least in "
        f"{ahead('cost', -1, others)} of {len(places)}."
    )


def settings_table(rows: list[Row]) -> str:
    """Mean average precision and cost of each setting, by share and rate."""
    columns = [(share, rate) for share in dict.fromkeys(row["share"] for row in rows)
               for rate in SETTING_RATES]  # fmt: skip
    titles = [f"{100 * share:g} %, {100 * rate:g} %" for share, rate in columns]
    lines = [["setting", *titles], ["---", *["---:"] * len(titles)]]
    for name in (*SETTINGS, *OTHERS):
        line = [name]
        for column in columns:
            some = [r for r in rows if (r["learner"], r["share"], r["rate"]) == (name, *column)]
            ap, cost = (np.mean([r[key] for r in some]) for key in ("average_precision", "cost"))
            line.append(f"{ap:.3f} / {cost:.2f}")
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
