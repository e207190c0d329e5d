"""The picture of the guide: one model, one year of mail, one label in ten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter, StrMethodFormatter
from numpy.typing import NDArray

import lasec
from experiments.figures import SETTINGS, save

ROUNDS, CHANGE, WINDOW, RATE = 16_000, 8_000, 1_500, 0.1
WRONG, OURS, TRUTH, ALARM = "#D55E00", "#0072B2", "#222222", "#c0392b"


def story() -> tuple[lasec.RunSummary, NDArray[Any]]:
    """A stream whose concept changes in the middle; answers take about a hundred rows."""
    X, y = lasec.streams.switching(ROUNDS, dimension=20, every=CHANGE, noise=0.03, seed=6)
    delay = np.random.default_rng(1).geometric(1 / 100, ROUNDS)
    run = lasec.evaluate(
        lasec.Tracker(rate=RATE, horizon=ROUNDS, seed=1), X, y, delay=delay,
        meter=lasec.Meter(window=WINDOW), alarms=[lasec.alarms.DropAlarm(every=1_000)],
    )  # fmt: skip
    return run, y


def picture(out: Path) -> str:
    """Draw it; gives what it shows in a sentence."""
    run, _ = story()
    points = [p for p in run.points if p.estimate.until >= WINDOW]
    rounds = np.array([p.estimate.until for p in points])
    plain = np.array([_plain(run, p.estimate.until) for p in points])
    truth = np.array([p.truth for p in points])
    with mpl.rc_context(SETTINGS | {"font.size": 10}):
        figure = Figure(figsize=(9.0, 4.6), layout="constrained")
        axes = figure.subplots()
        low, high = (np.array([getattr(p.estimate, e) for p in points]) for e in ("low", "high"))
        axes.fill_between(rounds, low, high, color=OURS, alpha=0.2, linewidth=0)
        axes.plot(rounds, truth, color=TRUTH, linewidth=1.2, linestyle="--")
        axes.plot(rounds, [p.estimate.value for p in points], color=OURS, linewidth=2.0)
        axes.plot(rounds, plain, color=WRONG, linewidth=1.6)
        _words(axes, [alarm.ticket for alarm in run.alarms], min(0.5, plain.min() - 0.03))
        save(figure, out / "guide")
    inside = np.mean([p.truth in p.estimate for p in points])
    return (
        f"{run.records.labels} labels for {ROUNDS} rounds; the truth is inside the band at "
        f"{inside:.0%} of the moments; the plain share is {np.mean(plain - truth):+.3f} off on "
        "average"
    )


def _plain(run: lasec.RunSummary, until: int) -> float:
    """The share of right predictions among the asked rows of the window."""
    rows = slice(until - WINDOW, until)
    asked = run.records.asked[rows]
    return float(1.0 - run.records.mistake[rows][asked].mean())


def _words(axes: Axes, alarms: list[int], bottom: float) -> None:
    """Everything that is said in the picture."""
    for row, (colour, words) in enumerate(
        (
            (
                OURS,
                "accuracy as lasec estimates it from the asked labels, with its margin of error",
            ),
            (TRUTH, "dashed: the true accuracy, which nobody knows in real life"),
            (WRONG, "the share of right answers among the asked: too low, the questions are hard"),
        )
    ):
        axes.text(0.02, 0.24 - 0.08 * row, words, color=colour, transform=axes.transAxes)
    axes.axvline(CHANGE, 0.3, color="#999999", linewidth=1.2, linestyle=":")
    axes.text(CHANGE - 120, 0.66, "here the world changes", ha="right", color="#666666")
    for ticket in alarms:
        axes.axvline(ticket, 0.3, color=ALARM, linewidth=1.4)
        later = f"the alarm, {ticket - CHANGE} messages later"
        axes.text(ticket + 120, 0.66, later, color=ALARM)
    axes.set_ylim(bottom, 1.01)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("messages")
    axes.set_ylabel(f"right answers, last {WINDOW:,} messages")
    axes.set_title("One label in ten tells how good the model is", loc="left", fontsize=12)
