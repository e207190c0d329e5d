"""What the rows of all streams come to: bias, coverage and width, as records and as Markdown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.intervals.coverage import Row
from experiments.intervals.scenarios import SCENARIOS

NAMES = {
    "plain": "plain mean",
    "ipw": "ipw",
    "snipw": "snipw",
    "aipw": "aipw",
    "window": "aipw, last 1,000",
    "decay": "aipw, decay",
    "anytime": "aipw, anytime",
}
KEYS = ("scenario", "rate", "estimator")
SMALL, LEAST, MOST = 0.002, 0.93, 0.97  # what is hoped for: of the bias, and of the coverage


def summary(rows: list[Row]) -> list[Row]:
    """A row for each scenario, rate and estimator."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in KEYS), []).append(row)
    made = [dict(zip(KEYS, cell, strict=True)) | _cell(group) for cell, group in groups.items()]
    widths = {
        (row["scenario"], row["rate"]): row["width"] for row in made if row["estimator"] == "plain"
    }
    for row in made:
        usual = widths[row["scenario"], row["rate"]]
        row["relative_width"] = round(row["width"] / usual, 3) if usual > 0.0 else ""
    order = list(SCENARIOS)
    return sorted(made, key=lambda row: (order.index(row["scenario"]), row["rate"]))


def _cell(group: list[Row]) -> Row:
    """The streams of one cell. Those without an estimate count as covered, by all that can be."""
    columns = ("estimate", "low", "high", "truth", "labels")
    table = np.array([[row[name] for name in columns] for row in group], dtype=float)
    estimate, low, high, truth, labels = table[~np.isnan(table[:, 3])].T
    error = (estimate - truth)[~np.isnan(estimate)]
    spread = float(error.std(ddof=1)) if error.size > 1 else math.nan
    over, under = truth > high, truth < low
    always = [row["always"] for row in group if row["always"] != ""]
    return {
        "streams": len(group),
        "without": len(group) - error.size,
        "labels": _mean(labels, 1),
        "truth": _mean(truth, 4),
        "bias": _mean(error, 5),
        "bias_error": round(spread / math.sqrt(max(1, error.size)), 5),
        "spread": round(spread, 5),
        "coverage": _mean(~(over | under), 4),
        "truth_above": _mean(over, 4),
        "truth_below": _mean(under, 4),
        "width": _mean(high - low, 4),
        "always": _mean(np.array(always), 4) if always else "",
    }


def _mean(values: Any, digits: int) -> float:
    """NaN where no stream has anything settled yet."""
    return round(float(values.mean()), digits) if values.size else math.nan


def document(cells: list[Row], rounds: int) -> str:
    """Everything as Markdown: what was hoped for and reached, in short, then a table a scenario."""
    parts = [
        f"Streams of {rounds:,} rows, 95 % intervals. Bias: the mean of estimate less truth over "
        "the streams, ± its standard error. Above, below: how often the truth lay above or below "
        "the interval. Always: the share of streams in which the anytime interval never missed.\n",
        *reached(cells),
        "\n**The accuracy over all rows: aipw, and the plain mean**\n",
        *brief(cells),
    ]
    for name in dict.fromkeys(row["scenario"] for row in cells):
        group = [row for row in cells if row["scenario"] == name]
        parts += [f"\n**All estimators: {SCENARIOS[name].title}**\n", *table(group)]
    return "\n".join(parts) + "\n"


def brief(cells: list[Row]) -> list[str]:
    """A line a scenario and rate."""
    lines = [
        "| scenario | rate | labels | bias | coverage | width | anytime always | its width "
        "| plain mean: bias | coverage | width |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    names = ("plain", "aipw", "anytime")
    for plain, ours, always in zip(*(_accuracies(cells, name) for name in names), strict=True):
        shown = (
            SCENARIOS[ours["scenario"]].title, f"{ours['rate']:g}", f"{ours['labels']:.0f}",
            f"{ours['bias']:+.4f} ± {ours['bias_error']:.4f}", f"{ours['coverage']:.1%}",
            f"{ours['width']:.3f}", f"{always['always']:.1%}", f"{always['width']:.3f}",
            f"{plain['bias']:+.4f}", f"{plain['coverage']:.1%}", f"{plain['width']:.3f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def reached(cells: list[Row]) -> list[str]:
    """In how many scenarios and rates the aipw estimate of the accuracy is as hoped for."""
    ours = _accuracies(cells, "aipw")
    lines = [
        f"- |bias| < {SMALL}: {_share([abs(row['bias']) < SMALL for row in ours])}; within two "
        f"standard errors of 0: {_share([abs(r['bias']) <= 2 * r['bias_error'] for r in ours])}.",
        f"- The interval at the end covers in {LEAST:.0%} to {MOST:.0%} of the streams: "
        f"{_share([LEAST <= row['coverage'] <= MOST for row in ours])}.",
        "- The anytime interval never misses in at least 95 % of the streams: "
        f"{_share([row['always'] >= 0.95 for row in _accuracies(cells, 'anytime')])}.",
        "- The plain mean's interval covers in as many: "
        f"{_share([row['coverage'] >= LEAST for row in _accuracies(cells, 'plain')])}.",
    ]
    return [f"Of {len(ours)} pairs of a scenario and a label rate:\n", *lines]


def table(cells: list[Row]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [
        "| rate | estimator | truth | bias | coverage | above | below | width "
        "| of the plain mean's | always |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in cells:
        shown = (
            f"{row['rate']:g}", NAMES[row["estimator"]], f"{row['truth']:.3f}",
            f"{row['bias']:+.4f} ± {row['bias_error']:.4f}",
            f"{row['coverage']:.1%}", f"{row['truth_above']:.1%}", f"{row['truth_below']:.1%}",
            f"{row['width']:.3f}", _or_dash(row["relative_width"], ".2f"),
            _or_dash(row["always"], ".1%"),
        )  # fmt: skip
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def _accuracies(cells: list[Row], estimator: str) -> list[Row]:
    return [row for row in cells if row["estimator"] == estimator]


def _share(held: list[bool]) -> str:
    return f"{sum(held)} of {len(held)}"


def _or_dash(value: Any, form: str) -> str:
    return "-" if value == "" else format(value, form)
