"""What came out, as Markdown: a function of the rows of ``benchmark.csv`` and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.benchmark.learners import LEARNERS
from experiments.benchmark.streams import STREAMS
from experiments.figures import interval

Row = dict[str, Any]
Array = NDArray[np.float64]

OURS = "tracker"
MARGIN, FAR = 0.005, 0.01  # behind by more than this counts as behind; as far behind
SPARE = 1.05  # who asked for more than this times the aimed share is out of the running,
LUCK = 2.0  # but for so many standard deviations of a coin, of those who spend evenly

ABOUT = f"""\
Average accuracy over all rounds, with 95 % intervals over the draws; differences are paired by \
draw. The best peer of a cell is the most accurate in it, after the fact, of all published \
algorithms and libraries, each tuned for that cell (forests have their own settings); {OURS} has \
one setting for all. *Under one rule* are the peers that ask uniformly or on the label budget of \
{OURS}; *as published* are all others too, which spend their labels when they like. A learner that \
asked for more than {SPARE:g} times the aimed share of labels is marked * and is not in the \
running; for one that spends them evenly, {LUCK:g} standard deviations of a coin are added, over \
the rows of all draws."""


class Result(NamedTuple):
    """One learner in one cell: its accuracy in each draw, the mean share it asked, and the most."""

    accuracy: Array
    asked: float
    most: float

    def less(self, other: Result) -> Array:
        """The difference in the draws that both have: the first ones."""
        draws = min(len(self.accuracy), len(other.accuracy))
        return self.accuracy[:draws] - other.accuracy[:draws]

    @property
    def overspent(self) -> bool:
        """Whether its accuracy was bought with more labels than it had."""
        return self.asked > self.most


Cells = dict[tuple[str, float], dict[str, Result]]


class Comparison(NamedTuple):
    """Ours and the best peer in one cell."""

    stream: str
    rate: float
    peer: str
    difference: float
    half: float


def cells(rows: Sequence[Row]) -> Cells:
    """Results by stream and rate, then by learner, in the order of the rows."""
    groups: dict[tuple[str, float], dict[str, list[Row]]] = {}
    for row in rows:
        cell = groups.setdefault((row["stream"], float(row["rate"])), {})
        cell.setdefault(row["learner"], []).append(row)
    return {
        cell: {name: _result(group) for name, group in learners.items()}
        for cell, learners in groups.items()
    }


def _result(rows: list[Row]) -> Result:
    ordered = sorted(rows, key=lambda row: row["seed"])
    accuracy = np.array([row["accuracy"] for row in ordered], dtype=float)
    asked = float(np.mean([row["achieved_rate"] for row in ordered]))
    first, rate = ordered[0], float(ordered[0]["rate"])
    about = LEARNERS[first["learner"]]
    flips = STREAMS[first["stream"]].rows * len(ordered)
    evenly = about.steady or about.family in ("ours", "baseline")
    luck = LUCK * math.sqrt(rate * (1.0 - rate) / flips) if evenly else 0.0
    return Result(accuracy, asked, SPARE * rate + luck)


def best_peer(cell: dict[str, Result], one_rule: bool = False) -> str | None:
    """The most accurate of the published algorithms and libraries, of those within the budget."""
    peers = [
        name
        for name, result in cell.items()
        if LEARNERS[name].family in ("paper", "peer") and not result.overspent
        if LEARNERS[name].steady or not one_rule
    ]
    if OURS in cell:
        return min(peers, key=lambda name: float(cell[OURS].less(cell[name]).mean()), default=None)
    return max(peers, key=lambda name: float(cell[name].accuracy.mean()), default=None)


def comparisons(found: Cells, one_rule: bool = False) -> list[Comparison]:
    """Ours against the best peer, wherever both have run within the budget."""
    made = []
    for (stream, rate), cell in found.items():
        peer = best_peer(cell, one_rule)
        if OURS in cell and peer is not None and not cell[OURS].overspent:
            difference = interval(cell[OURS].less(cell[peer]))
            made.append(Comparison(stream, rate, peer, *difference))
    return made


def document(rows: Sequence[Row]) -> str:
    """The whole page."""
    found = cells(rows)
    compared = comparisons(found)
    parts = [ABOUT]
    if compared:
        parts += [f"**Under one rule.** {summary(found, one_rule=True)}"]
        parts += [_against(found, comparisons(found, one_rule=True))]
        parts += [f"**As published.** {summary(found)}", _against(found, compared)]
        parts += [
            "Against each of them alone, in all cells in which both kept the budget; the mean rank "
            "is among all that ran in a cell and kept it:"
        ]
        parts += [_one_by_one(found)]
    parts.append("Mean accuracy of every learner, by the aimed share of labels:")
    parts += [_wide(found, stream) for stream in dict.fromkeys(stream for stream, _ in found)]
    return "\n\n".join(parts) + "\n"


def by_budget(found: Cells) -> str:
    """A line a rate: how many cells went which way, real streams apart from synthetic ones."""
    heads = [
        f"{kind}, {rule}" for kind in ("real", "synthetic") for rule in ("one rule", "published")
    ]
    lines = [_line(["budget", *heads]), _line(["---", *["---:"] * len(heads)])]
    for rate in sorted({rate for _, rate in found}):
        cells_of = [
            [c for c in comparisons(found, one_rule) if STREAMS[c.stream].real == real]
            for real in (True, False)
            for one_rule in (True, False)
        ]
        at = [[c.difference for c in compared if c.rate == rate] for compared in cells_of]
        lines.append(_line([f"{100 * rate:g} %", *map(_ways, at)]))
    about = (
        f"Cells ahead of the best tuned baseline / behind by at most {FAR} / behind by more, and "
        "the mean difference in accuracy:"
    )
    return f"{about}\n\n" + "\n".join(lines) + "\n"


def _ways(differences: Sequence[float]) -> str:
    """Ahead, near, far behind, and the mean difference."""
    if not differences:
        return ""
    ahead, far = (sum(d > 0.0 for d in differences), sum(d < -FAR for d in differences))
    near = len(differences) - ahead - far
    return f"{ahead} / {near} / {far} ({np.mean(differences):+.3f})"


def summary(found: Cells, one_rule: bool = False) -> str:
    """How many cells went which way."""
    compared = comparisons(found, one_rule)
    ahead = [c for c in compared if c.difference > 0.0]
    clear = [c for c in ahead if c.difference - c.half > 0.0]
    behind = [c for c in compared if c.difference < -MARGIN]
    lost = [c for c in behind if c.difference + c.half < 0.0]
    near = len(compared) - len(ahead) - len(behind)
    where = ", ".join(f"{c.stream} at {c.rate:g} ({c.difference:+.3f}, {c.peer})" for c in behind)
    over = sum(OURS in cell and cell[OURS].overspent for (_, rate), cell in found.items())
    return (
        f"Of {len(compared)} cells, {OURS} is ahead of the best tuned peer in {len(ahead)} "
        f"({len(clear)} of them by more than the interval), equal or behind by at most {MARGIN} "
        f"in {near}, and behind by more than {MARGIN} in {len(behind)} ({len(lost)} of them by "
        f"more than the interval){': ' + where if where else ''}. "
        f"In {over} further cells it asked for too many labels to be compared."
    )


def _against(found: Cells, compared: Sequence[Comparison]) -> str:
    """Ours, the best peer, their difference, and the baselines: a line a cell."""
    head = ["stream", "rate", OURS, "asked", "best peer", "its accuracy", "asked", "difference"]
    lines = [_line([*head, "persistence", "majority"]), _line(["---"] * 2 + ["---:"] * 8)]
    for c in compared:
        cell = found[c.stream, c.rate]
        mean, half = interval(cell[OURS].accuracy)
        peer = cell[c.peer]
        lines.append(
            _line(
                [
                    c.stream, f"{c.rate:g}", f"{mean:.3f} ± {half:.3f}",
                    f"{cell[OURS].asked:.3f}", c.peer, f"{peer.accuracy.mean():.3f}",
                    f"{peer.asked:.3f}", f"{c.difference:+.3f} ± {c.half:.3f}",
                    _mean(cell, "persistence"), _mean(cell, "majority"),
                ]
            )
        )  # fmt: skip
    return "\n".join(lines)


def ranks(found: Cells) -> dict[str, float]:
    """The mean rank of each learner in its cells, 1 for the most accurate of all in the running."""
    given: dict[str, list[float]] = {}
    for cell in found.values():
        means = {
            name: float(one.accuracy.mean()) for name, one in cell.items() if not one.overspent
        }
        for name, mean in means.items():
            above = sum(other > mean for other in means.values())
            beside = sum(other == mean for other in means.values())
            given.setdefault(name, []).append(above + (beside + 1) / 2)
    return {name: float(np.mean(places)) for name, places in given.items()}


def _one_by_one(found: Cells) -> str:
    """Ours against each learner: cells ahead, equal, behind, mean difference; ranks of all."""
    rank = ranks(found)
    lines = [
        _line(["learner", "ahead", f"within {MARGIN}", "behind", "mean difference", "mean rank"]),
        _line(["---", *["---:"] * 5]),
        _line([OURS, "", "", "", "", f"{rank[OURS]:.1f}"]),
    ]
    for name in dict.fromkeys(name for cell in found.values() for name in cell if name != OURS):
        gaps = np.array(
            [
                cell[OURS].less(cell[name]).mean()
                for (_, rate), cell in found.items()
                if OURS in cell and name in cell
                if not cell[OURS].overspent and not cell[name].overspent
            ]
        )
        if gaps.size:
            counts = ((gaps > MARGIN).sum(), (np.abs(gaps) <= MARGIN).sum(), (gaps < -MARGIN).sum())
            end = f"{gaps.mean():+.3f}", f"{rank[name]:.1f}"
            lines.append(_line([name, *map(str, counts), *end]))
    return "\n".join(lines)


def _wide(found: Cells, stream: str) -> str:
    """Every learner of a stream by rate."""
    rates = sorted(rate for name, rate in found if name == stream)
    names = dict.fromkeys(name for rate in rates for name in found[stream, rate])
    lines = [
        _line([stream, *(f"{rate:g}" for rate in rates)]),
        _line(["---", *["---:"] * len(rates)]),
    ]
    lines += [
        _line([name, *(_mean(found[stream, rate], name) for rate in rates)]) for name in names
    ]
    return "\n".join(lines)


def _mean(cell: dict[str, Result], name: str) -> str:
    if name not in cell:
        return ""
    return f"{cell[name].accuracy.mean():.3f}{'*' if cell[name].overspent else ''}"


def _line(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"
