"""The picture: bias, coverage and width of each estimator, by label rate, a column a scenario."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator, PercentFormatter

from experiments.figures import SETTINGS, save
from experiments.intervals.coverage import Row
from experiments.intervals.scenarios import SCENARIOS
from experiments.intervals.tables import LEAST, MOST, NAMES

STYLE = {
    "plain": ("#222222", "^"),
    "ipw": ("#56B4E9", "v"),
    "snipw": ("#009E73", "D"),
    "aipw": ("#D55E00", "o"),
    "window": ("#CC79A7", "P"),
    "decay": ("#E69F00", "X"),
    "anytime": ("#0072B2", "s"),
}
TOP = 1.01  # where the axis of coverage ends
APART = 1.025  # factor between the rates at which neighbouring estimators are drawn


def picture(out: Path, cells: list[Row]) -> None:
    """Small multiples: bias, the same near zero, coverage and width."""
    names = list(dict.fromkeys(row["scenario"] for row in cells))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(max(4.4, 0.6 + 2.5 * len(names)), 9.6), layout="constrained")
        grid = figure.subplots(
            4, len(names), sharex=True, sharey="row", squeeze=False,
            gridspec_kw={"height_ratios": [1.0, 1.0, 1.25, 1.0]},
        )  # fmt: skip
        for column, name in zip(grid.T, names, strict=True):
            group = [row for row in cells if row["scenario"] == name]
            streams = group[0]["streams"]
            column[0].set_title(f"{SCENARIOS[name].title}, {streams:,} streams", fontsize=9)
            _biases(column[0], group, plain=True)
            _biases(column[1], group, plain=False)
            _coverages(column[2], group)
            _widths(column[3], group)
        _label(grid)
        lines = dict(zip(*grid[3, 0].get_legend_handles_labels()[::-1], strict=True))
        lines |= dict(zip(*grid[2, 0].get_legend_handles_labels()[::-1], strict=True))
        figure.legend(
            lines.values(), lines.keys(), loc="outside lower center",
            ncols=min(4, 1 + len(names)), fontsize=8.5,
        )  # fmt: skip
        save(figure, out / "intervals")


def _label(grid: np.ndarray) -> None:
    """What the axes are, once a row and once a column."""
    names = (
        "bias",
        "bias, without\nthe plain mean",
        "coverage of the 95 % interval\n(axis stretched upwards)",
        "width",
    )
    for axes, name in zip(grid[:, 0], names, strict=True):
        axes.set_ylabel(name)
    for axes in grid[-1]:
        axes.set_xlabel("share of labels asked")


def _line(
    axes: Axes, rows: list[Row], estimator: str, of: str, *, error: str = "", name: str = ""
) -> None:
    """A line of an estimator over the rates."""
    group = [row for row in rows if row["estimator"] == estimator and row[of] != ""]
    if not group:
        return
    colour, marker = STYLE[estimator]
    place = list(STYLE).index(estimator) - len(STYLE) // 2
    axes.errorbar(
        [row["rate"] * APART**place for row in group], [row[of] for row in group],
        yerr=[1.96 * row[error] for row in group] if error else None, color=colour, marker=marker,
        ms=4, lw=1.1, capsize=1.5, elinewidth=0.9, label=name or NAMES[estimator],
        ls="--" if of == "always" else "-", mfc="white" if of == "always" else colour,
    )  # fmt: skip


def _rates(axes: Axes, rows: list[Row]) -> None:
    """The rates on a logarithmic axis, each with its number."""
    axes.set_xscale("log")
    axes.set_xticks(sorted({row["rate"] for row in rows}))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))


def _biases(axes: Axes, rows: list[Row], *, plain: bool) -> None:
    """Bias with its own 95 % interval."""
    shown = ("plain", "aipw") if plain else ("ipw", "snipw", "aipw")
    for estimator in shown:
        _line(axes, rows, estimator, "bias", error="bias_error")
    axes.axhline(0.0, color="#777777", lw=0.8)
    if not plain:
        axes.axhspan(-0.002, 0.002, color="#009E73", alpha=0.12, lw=0)
    _rates(axes, rows)


def _coverages(axes: Axes, rows: list[Row]) -> None:
    """How often the interval holds the truth; of the anytime one, how often at all times."""
    for estimator in STYLE:
        if estimator != "anytime":
            _line(axes, rows, estimator, "coverage")
    _line(axes, rows, "anytime", "always", name="anytime, at all times")
    axes.axhspan(LEAST, MOST, color="#009E73", alpha=0.12, lw=0)
    axes.axhline(0.95, color="#777777", lw=0.8)
    axes.set_ylim(0.0, TOP - 0.002)
    axes.set_yscale("function", functions=(_stretch, _shrink))
    axes.set_yticks([0.0, 0.5, 0.8, 0.9, 0.95, 1.0])
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _rates(axes, rows)


def _stretch(share: np.ndarray) -> np.ndarray:
    """The upper end of the axis drawn larger: that is where 93 and 97 % lie."""
    return np.asarray(-np.sqrt(TOP - np.minimum(share, TOP)))


def _shrink(place: np.ndarray) -> np.ndarray:
    return np.asarray(TOP - np.asarray(place) ** 2)


def _widths(axes: Axes, rows: list[Row]) -> None:
    """Mean widths, on a logarithmic axis."""
    for estimator in STYLE:
        _line(axes, rows, estimator, "width")
    axes.set_yscale("log")
    axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda width, _: f"{width:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _rates(axes, rows)
