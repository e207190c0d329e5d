"""The pictures and tables of the docs' page on speed, from what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

# The columns of the tables on Spark, by their names in the docs.
SPARK: dict[str, tuple[str, dict[str, str]]] = {
    "ratio": ("ratio", {
        "model": "model", "keys": "keys", "cache, MB": "cache", "rows/s": "rows_per_second",
        "bare, rows/s": "bare_rows_per_second",
        "ratio": "ratio_to_bare", "lowest": "lowest_to_bare", "highest": "highest_to_bare",
        "without reads, rows/s": "unread_rows_per_second", "ratio to that": "ratio_to_unread",
    }),
    "time": ("ratio", {
        "model": "model", "keys": "keys", "cache, MB": "cache", "all, us": "us_per_row",
        "kernel": "us_kernel",
        "reads of state": "us_state_get", "writes of state": "us_state_put",
        "other Python": "us_other_python", "bytes read": "bytes_read_per_row",
        "bytes written": "bytes_written_per_row", "us for a read": "us_per_get",
        "us for a write": "us_per_put",
    }),
    "keys": ("keys", {
        "keys": "keys", "d": "dimension", "shards": "shards", "rows/s": "rows_per_second",
        "state, bytes": "state_bytes", "batch, ms": "batch_ms", "commit, ms": "commit_ms",
    }),
    "hot": ("hot", {
        "keys": "keys", "even, rows/s": "rows_per_second", "half of one key": "hot_rows_per_second",
        "ratio": "ratio_to_hot", "lowest": "lowest_to_hot", "highest": "highest_to_hot",
    }),
    "executors": ("executors", {
        "master": "master", "rows/s": "rows_per_second", "batch, ms": "batch_ms",
    }),
}  # fmt: skip
TARGETS = {50: 1.5, 256: 1.3, 1_000: 1.3}


def draw(folder: Path) -> None:
    """Everything for which there is a JSON file in ``folder``."""
    for path in sorted(folder.glob("*.json")):
        name, rows = path.stem, json.loads(path.read_text(encoding="utf-8"))["rows"]
        for part, some in _parts(name, rows).items():
            (folder / f"{part}.md").write_text(_markdown(some), encoding="utf-8")
        if name in PICTURES:
            figure = Figure(figsize=PICTURES[name][1], layout="constrained")
            PICTURES[name][0](figure, rows)
            figure.savefig(folder / f"{name}.png", dpi=110)


def _parts(name: str, rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The tables of a file: one, or of the job on Spark, one for each of its questions."""
    if name != "spark":
        return {name: rows}
    return {
        f"{name}_{part}": [{new: row.get(old) for new, old in columns.items()} for row in some]
        for part, (what, columns) in SPARK.items()
        if (some := [row for row in rows if row["what"] == what])
    }


def _kernel(figure: Figure, rows: list[dict[str, Any]]) -> None:
    """Bars of the ratio to the bare product, with quartiles, and the aim of each."""
    axes = figure.add_subplot()
    shown = [row for row in rows if row["mode"] == "all labels"]
    for at, row in enumerate(shown):
        axes.bar(at, row["ratio"], 0.5, color="#4269d0")
        axes.vlines(at, row["quarter"], row["three_quarters"], color="black", lw=1)
        axes.text(at, 0.03, f"{row['ratio']:.2f}", ha="center", color="white", fontsize=9)
        aim = TARGETS[row["d"]]
        axes.hlines(aim, at - 0.25, at + 0.25, color="black", ls=":", lw=1.4)
    axes.axhline(1.0, color="grey", lw=0.8)
    axes.set_xticks(range(len(shown)), [f"d = {row['d']:,}" for row in shown])
    axes.set_ylabel("time of run / time of X @ C")
    axes.spines[["top", "right"]].set_visible(False)


def _growth(figure: Figure, rows: list[dict[str, Any]]) -> None:
    """The curves that were measured: against d, T, and the number of models."""
    titles = {"d": "dimension", "T": "rounds so far, d = 50", "models": "models, d = 16"}
    drawn = [against for against in titles if any(row["against"] == against for row in rows)]
    for k, against in enumerate(drawn, start=1):
        title, axes = titles[against], figure.add_subplot(1, len(drawn), k)
        modes = dict.fromkeys(row["mode"] for row in rows if row["against"] == against)
        for mode, colour in zip(modes, ("#4269d0", "#3ca951"), strict=False):
            points = [
                (row["size"], row["us_per_round"])
                for row in rows
                if row["against"] == against
                and row["mode"] == mode
                and isinstance(row["size"], int)
            ]
            axes.plot(*zip(*points, strict=True), "o-", ms=4, color=colour, label=mode)
        axes.set_xscale("log")
        axes.set_yscale("log" if against == "d" else "linear")
        if against != "d":
            axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
        axes.set_xlabel(title)
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        if k == 1:
            axes.set_ylabel("microseconds per round")


def _peers(figure: Figure, rows: list[dict[str, Any]]) -> None:
    """Bars of rows per second, on a logarithmic axis."""
    axes = figure.add_subplot()
    shown = sorted(
        (row for row in rows if row["rows_per_second"]), key=lambda row: row["rows_per_second"]
    )
    colours = ["#4269d0" if row["learner"].startswith("lasec") else "#9498a0" for row in shown]
    rates = [row["rows_per_second"] for row in shown]
    axes.barh([row["learner"] for row in shown], rates, color=colours)
    for k, rate in enumerate(rates):
        axes.text(rate * 1.1, k, f"{rate:,}", va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(None, max(rates) * 8)
    axes.set_xlabel("rounds per second, d = 50, one thread")
    axes.spines[["top", "right"]].set_visible(False)


PICTURES: dict[str, tuple[Any, tuple[float, float]]] = {
    "kernel": (_kernel, (6.4, 3.8)),
    "growth": (_growth, (10.5, 3.4)),
    "peers": (_peers, (7.6, 4.0)),
}


def _markdown(rows: list[dict[str, Any]]) -> str:
    """Rows as a table in Markdown."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines.append("|" + "---|" * len(names))
    lines += ["| " + " | ".join(_text(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
