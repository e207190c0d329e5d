"""What a user faces: each peer with one setting for all streams and all label budgets.

The benchmark tunes a peer for every cell. Here a setting is a point of the peer's grid, and whether
rows of real streams are standardized; it is chosen once, by the mean accuracy over all streams. In
its units it still knows each stream: steps and ridges are given by the mean squared norm of a row.
How eagerly a peer asks is set by the budget, in every cell: peers are those that ask uniformly or
on the label budget of the Tracker. ``delta``, the form of the papers' probability, is a part of the
setting. Every point is tried at two budgets on one draw; the best of them at all budgets on two.
The Tracker meets them on these two draws, which favours those that were chosen by them.

River and Vowpal Wabbit also have settings of their own: River's with standardized rows, as its
documentation recommends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmark import learners as who
from experiments.benchmark.contest import STANDARDISE, benchmark_run
from experiments.benchmark.learners import LEARNERS
from experiments.benchmark.streams import STREAMS, prepared
from experiments.benchmark.tables import MARGIN, OURS, Cells, Row, cells, ranks
from experiments.contestants import Parameters
from experiments.datasets import TUNING
from experiments.forms.tables import markdown
from experiments.journal import Journal, Task
from experiments.output import write_csv, write_json
from experiments.tuning import mean_square

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
FIRST = (0.02, 0.2)  # the budgets at which every point is tried
CHOICE = (TUNING, 20)  # the draws by which a setting is chosen
BEST = 3  # of so many points at all budgets
CHOSEN, OWN = "chosen", "own"

PEERS = (
    "river-lr", "river-pa", "vw", "second-order-paced", "soal-paced", "paa-paced",
    "river-lr-paced", "vw-paced",
)  # fmt: skip
_SGD: Parameters = {"lr": 0.01, "l2": 0.0, STANDARDISE: True}
DEFAULTS: dict[str, Parameters] = {
    "river-lr-paced": _SGD,
    "vw-paced": {},
}

Setting = tuple[int, bool]  # the place in the grid, and whether rows are standardized


def setting_run(
    stream: str, learner: str, rate: float, setting: Setting, seed: int, size: float
) -> tuple[float, float]:
    """One run: accuracy and share of labels. Synthetic rows have one scale, and are kept."""
    place, standardize = setting
    standardize = standardize and STREAMS[stream].real
    scale = mean_square(prepared(stream, TUNING, size, standardize))
    parameters = point(learner, place, scale) | {STANDARDISE: standardize}
    return benchmark_run(stream, learner, rate, parameters, seed, size)


def default_run(
    stream: str, learner: str, rate: float, parameters: Parameters, seed: int, size: float
) -> tuple[float, float]:
    """One run with a library's own setting."""
    standardize = parameters.get(STANDARDISE, False) and STREAMS[stream].real
    given = parameters | {STANDARDISE: standardize}
    return benchmark_run(stream, learner, rate, given, seed, size)


def point(learner: str, place: int, scale: float) -> Parameters:
    """A point of a grid, for rows of this mean squared norm."""
    grid = LEARNERS[learner].grid
    assert grid is not None
    return list(grid(scale))[place]


def measure(journal: Journal, out: Path, size: float) -> str:
    """Choose, run what is missing, write all files, give the outcome in a line."""
    peers = [name for name in PEERS if who.missing(name) is None]
    found = {name: chosen(journal, name, size) for name in peers}
    rows = run_all(journal, benchmark_run, OURS, "", {}, size)
    for name, (setting, _) in found.items():
        rows += run_all(journal, setting_run, name, CHOSEN, setting, size)
    for name, parameters in DEFAULTS.items():
        if who.missing(name) is None:
            rows += run_all(journal, default_run, name, OWN, parameters, size)
    write_csv(out / "one_setting.csv", rows)
    write_json(
        out / "one_setting.json",
        draws=CHOICE,
        chosen={
            name: point(name, setting[0], 1.0) | {STANDARDISE: setting[1], "accuracy": accuracy}
            for name, (setting, accuracy) in found.items()
        },
        own=DEFAULTS,
    )
    (out / "one_setting.md").write_text(document(rows))
    return summary(rows)


def chosen(journal: Journal, learner: str, size: float) -> tuple[Setting, float]:
    """The setting with the best mean accuracy over all streams, and that accuracy."""
    grid = LEARNERS[learner].grid
    assert grid is not None
    places = range(len(list(grid(1.0))))
    every = [(place, standardize) for standardize in (False, True) for place in places]
    first = _means(journal, learner, every, FIRST, CHOICE[:1], size)
    best = sorted(every, key=lambda setting: -first[setting])[:BEST]
    last = _means(journal, learner, best, RATES, CHOICE, size)
    winner = max(best, key=lambda setting: last[setting])
    return winner, round(last[winner], 6)


def _means(
    journal: Journal, learner: str, settings: Sequence[Setting], rates: Sequence[float],
    draws: Sequence[int], size: float,
) -> dict[Setting, float]:  # fmt: skip
    """The mean accuracy of each setting over all streams, at these budgets on these draws."""
    plan = [
        (stream, learner, rate, setting, seed, size)
        for stream in STREAMS
        for seed in draws
        for setting in settings
        for rate in rates
    ]
    same = {_task(*case): case for case in plan}  # a synthetic stream has one form
    made = journal.run(f"choosing {learner}", [(setting_run, task) for task in same])
    accuracy = dict(zip(same, (accuracy for accuracy, _ in made), strict=True))
    return {
        setting: float(np.mean([accuracy[_task(*case)] for case in plan if case[3] == setting]))
        for setting in settings
    }


def _task(
    stream: str, learner: str, rate: float, given: Any, seed: int, size: float
) -> tuple[str, str, float, Any, int, float]:
    """The arguments of a run; a synthetic stream has one form."""
    if isinstance(given, tuple):
        place, standardize = given
        given = (place, standardize and STREAMS[stream].real)
    return stream, learner, rate, given, seed, size


def run_all(
    journal: Journal, run: Callable[..., Any], learner: str, way: str, given: Any, size: float
) -> list[Row]:
    """A row for each stream, budget and draw."""
    plan = [(stream, rate, seed) for stream in STREAMS for seed in CHOICE for rate in RATES]
    tasks: list[Task] = [
        (run, _task(stream, learner, rate, given, seed, size)) for stream, rate, seed in plan
    ]
    return [
        {
            "stream": stream, "learner": learner, "setting": way, "rate": rate,
            "achieved_rate": round(share, 6), "seed": seed, "accuracy": round(accuracy, 6),
        }
        for (stream, rate, seed), (accuracy, share) in zip(
            plan, journal.run(f"{way} {learner}", tasks), strict=True
        )
    ]  # fmt: skip


def met(rows: Sequence[Row]) -> Cells:
    """The Tracker and every peer with one setting, by stream and budget."""
    found = cells([row for row in rows if row["learner"] == OURS])
    for way in (CHOSEN, OWN):
        for cell, learners in cells([row for row in rows if row["setting"] == way]).items():
            found[cell] |= {f"{name}, {way}": result for name, result in learners.items()}
    return found


def gaps(found: Cells, name: str) -> dict[tuple[str, float], float]:
    """By how much ours is more accurate than a peer, in all cells in which it kept the budget."""
    return {
        cell: float(learners[OURS].less(learners[name]).mean())
        for cell, learners in found.items()
        if name in learners and not learners[name].overspent
    }


def names(found: Cells) -> list[str]:
    """All whom ours meets, in the order of the rows."""
    every = dict.fromkeys(name for learners in found.values() for name in learners)
    return [name for name in every if name != OURS]


def document(rows: Sequence[Row]) -> str:
    """A line a peer: the mean difference by budget, cells ahead, the worst cell, ranks."""
    found = met(rows)
    rank = ranks(found)
    head = ["peer, setting", *(f"{100 * rate:g} %" for rate in RATES)]
    head += ["ahead", f"behind by > {MARGIN}", "worst cell", "mean rank"]
    lines = [[OURS, *[""] * (len(RATES) + 3), f"{rank[OURS]:.1f}"]]
    lines += [_line(gaps(found, name), name, rank[name]) for name in names(found)]
    return f"**{summary(rows)}**\n\n{markdown(head, lines)}"


def _line(gap: dict[tuple[str, float], float], name: str, rank: float) -> list[str]:
    """What the table says of a peer."""
    by_rate = [[d for (_, rate), d in gap.items() if rate == at] for at in RATES]
    (stream, rate), worst = min(gap.items(), key=lambda item: item[1])
    return [
        name,
        *(f"{np.mean(at):+.3f}" if at else "" for at in by_rate),
        f"{sum(d > 0.0 for d in gap.values())} of {len(gap)}",
        f"{sum(d < -MARGIN for d in gap.values())}",
        f"{stream} at {100 * rate:g} % ({worst:+.3f})",
        f"{rank:.1f}",
    ]


def summary(rows: Sequence[Row]) -> str:
    """Against how many peers ours is ahead on average at every budget, and where least."""
    found = met(rows)
    every = [(name, gaps(found, name)) for name in names(found)]
    least = min(
        (np.mean([d for (_, rate), d in gap.items() if rate == at]), name, at)
        for name, gap in every
        for at in {rate for _, rate in gap}
    )
    share, hardest = min((np.mean([d > 0.0 for d in gap.values()]), name) for name, gap in every)
    ahead = sum(_always(gap) for _, gap in every)
    return (
        f"Of {len(every)} peers with one setting for all streams, {OURS} is more accurate on "
        f"average at every budget than {ahead}; least by {least[0]:+.4f} ({least[1]}, at "
        f"{100 * least[2]:g} %). It is ahead in at least {share:.0%} of the cells ({hardest})."
    )


def _always(gap: dict[tuple[str, float], float]) -> bool:
    """Whether ours is ahead on average at every budget."""
    rates = {rate for _, rate in gap}
    return all(np.mean([d for (_, at), d in gap.items() if at == rate]) > 0.0 for rate in rates)
