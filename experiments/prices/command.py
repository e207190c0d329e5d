"""Two prices on drawn streams (coverage and width) and on real ones (accuracy, width, money)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from experiments.prices import simulated
from experiments.prices.runs import PRICE, alone, nested
from experiments.prices.streams import TEXTS, TUNED, UNSEEN, judges, said, stream

Row = dict[str, Any]
CELLS = ((1.0, PRICE, 2), (3.0, PRICE, 2), (1.0, 10.0, 2), (1.0, 200.0, 2), (1.0, PRICE, 5))
ARMS = ("experts", "judge", "both")
PRECISE, FEW = 2, 40  # cells whose coverage is known to a point; streams of each of the others
SLOWER = 10  # draws of the judge alone on numbers to one on texts, where it labels every row


def real(name: str, judge: str, arm: str, seed: int) -> Row:
    """One run of a real stream, with 1 a row for a judge at 1 and experts at 50."""
    one, answers = stream(name), said(name, judge, seed)
    if arm == "both":
        return nested(one, answers, 1.0, seed).row()
    price = PRICE if arm == "experts" else 1.0
    return alone(one, one.y if arm == "experts" else answers, 1.0, price, seed).row()


def study(journal: Journal, out: Path, streams: int, seeds: int) -> str:
    """Both tables; so many ``streams`` of the first cells, and ``seeds`` draws of real ones."""
    cells = [
        (judge, *cell, seed)
        for number, cell in enumerate(CELLS)
        for judge in simulated.JUDGES
        for seed in range(streams if number < PRECISE else min(streams, FEW))
    ]
    keys = ("judge", "money", "price", "classes", "seed")
    drawn = _run(journal, "drawn", simulated.one, keys, cells)
    text = table_drawn(drawn)
    write_csv(out / "drawn.csv", [_every(row) for row in drawn])
    (out / "drawn.md").write_text(text)
    if seeds:
        runs = [
            (name, judge, arm, seed)
            for name in (*TUNED, *UNSEEN)
            for judge in judges(name)
            for arm in ARMS
            for seed in range(max(1, seeds // SLOWER) if _is_slow(name, arm) else seeds)
        ]
        rows = _run(journal, "real", real, ("stream", "judge", "arm", "seed"), runs)
        write_csv(out / "real.csv", rows)
        (out / "real.md").write_text(table_real(rows))
        text += "\n" + table_real(rows)
    write_json(out / "two_prices.json", streams=streams, seeds=seeds)
    return text


def _is_slow(name: str, arm: str) -> bool:
    return name in TEXTS and arm == "judge"


def _run(
    journal: Journal, title: str, function: Any, keys: Sequence[str], asked: list[tuple[Any, ...]]
) -> list[Row]:
    tasks: list[Task] = [(function, _same(cell)) for cell in asked]
    found = journal.run(title, tasks)
    return [
        dict(zip(keys, cell, strict=True)) | row for cell, row in zip(asked, found, strict=True)
    ]


def _same(cell: tuple[Any, ...]) -> tuple[Any, ...]:
    """Experts alone do not hear the judge: one run stands for those beside each of them."""
    return (cell[0], judges(cell[0])[0], *cell[2:]) if "experts" in cell else cell


def _every(row: Row) -> Row:
    """A row with all columns, rounded."""
    names = [f"{m}_{n}" for m in ("accuracy", "recall", "precision")
             for n in ("off", "width", "covers")]  # fmt: skip
    keys = ["judge", "money", "price", "classes", "seed", "judged", "experts", "spent", *names]
    return {k: round(v, 5) if isinstance(v := row.get(k, ""), float) else v for k in keys}


def table_drawn(rows: list[Row]) -> str:
    """For each cell and judge: width against experts alone, coverage, error, recall, precision."""
    head = ("money", "price", "classes", "judge", "width", "to experts", "covers", "rmse",
            "recall covers", "precision covers", "spent a row")  # fmt: skip
    lines = [head, ("---:",) * len(head)]
    for cell in dict.fromkeys((r["money"], r["price"], r["classes"]) for r in rows):
        base = 0.0
        for judge in simulated.JUDGES:
            some = [r for r in rows if (r["money"], r["price"], r["classes"]) == cell
                    and r["judge"] == judge]  # fmt: skip
            mean = {k: float(np.mean([r[k] for r in some])) for k in some[0] if k != "judge"}
            rmse = float(np.sqrt(np.mean([r["accuracy_off"] ** 2 for r in some])))
            base = base or mean["accuracy_width"]
            own = [
                f"{mean[k]:.3f}" if k in mean else "" for k in ("recall_covers", "precision_covers")
            ]
            lines.append((*(f"{part:g}" for part in cell), judge, f"{mean['accuracy_width']:.3f}",
                          f"{mean['accuracy_width'] / base:.2f}", f"{mean['accuracy_covers']:.3f}",
                          f"{rmse:.3f}", *own,
                          f"{mean['spent'] / simulated.ROWS:.2f}"))  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def table_real(rows: list[Row]) -> str:
    """For each stream and judge: accuracy and width of each arm, and how many intervals cover."""
    head = ("stream", "judge", "experts", "judge alone", "both", "width, experts", "width, both",
            "covers, experts", "covers, both", "experts asked", "spent, both")  # fmt: skip
    lines = [head, ("---", "---", *("---:",) * (len(head) - 2))]
    for name, judge in dict.fromkeys((r["stream"], r["judge"]) for r in rows):
        arms = {arm: [r for r in rows if (r["stream"], r["judge"], r["arm"]) == (name, judge, arm)]
                for arm in ARMS}  # fmt: skip
        mean = {arm: {k: float(np.mean([r[k] for r in some if r[k] != ""] or [np.nan]))
                      for k in ("accuracy", "width", "covers", "experts", "spent")}
                for arm, some in arms.items()}  # fmt: skip
        mark = "" if name in TUNED else "*"
        lines.append((name + mark, judge, *(f"{mean[arm]['accuracy']:.3f}" for arm in ARMS),
                      *(f"{mean[arm]['width']:.3f}" for arm in ("experts", "both")),
                      *(f"{mean[arm]['covers']:.2f}" for arm in ("experts", "both")),
                      f"{mean['both']['experts']:.0f}",
                      f"{mean['both']['spent'] / len(stream(name).y):.2f}"))  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
