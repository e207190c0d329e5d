"""Free parameters, chosen on one draw that is never measured on, as in the paper.

For each point of an algorithm's grid, the knob that sets its share of asked labels (``caution`` or
``exponent``) is calibrated until the share on the tuning draw is the aimed one; the point with the
best accuracy on that draw wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.contestants import ALL, PAPER, Contestant, Knob, Parameters
from experiments.datasets import TUNING, draw
from lasec import Records
from lasec.streams import Stream

TRIES = 10
SHORT = 0.1  # below this size, a trial run of the code, every ninth point of a grid is enough


def close(rate: float, aim: float) -> bool:
    """Whether a share is near enough to the aimed one, given how coarse a run is."""
    return abs(rate - aim) <= 0.02 * aim + 0.0005


class Trial(NamedTuple):
    """One point of the grid: its parameters, and what they gave on the tuning draw."""

    parameters: Parameters
    accuracy: float
    rate: float


Measure = Callable[[Parameters], tuple[float, float]]  # accuracy and share of labels asked


def tune(dataset: str, algorithm: str, rate: float, size: float = 1.0) -> dict[str, Any]:
    """The winner and all trials, for one algorithm at one aimed share of labels."""
    stream = draw(dataset, TUNING, size)
    contestant = ALL[algorithm]
    scale = mean_square(stream)

    def measure(parameters: Parameters) -> tuple[float, float]:
        records = run(contestant, stream, parameters, TUNING)
        return records.accuracy, records.rate

    points = list(contestant.grid(scale))
    trials = search(points if size >= SHORT else points[::9], measure, rate, contestant.knob)
    tuned = winner(trials, rate).parameters
    fixed = PAPER.get((dataset, algorithm))
    return {
        "parameters": fixed if fixed is not None else tuned,
        "tuned": tuned,
        "scale": scale,
        "trials": [trial._asdict() for trial in trials],
    }


def run(contestant: Contestant, stream: Stream, parameters: Parameters, seed: int) -> Records:
    """One run; the coins depend on ``seed`` alone."""
    learner = contestant.build(stream.X.shape[1], **parameters, seed=seed)
    return learner.run(*stream)


def mean_square(stream: Stream) -> float:
    """The mean squared norm of a row: the unit of the grids."""
    return float(np.mean(np.sum(stream.X**2, axis=1)))


def search(
    points: Sequence[Parameters],
    measure: Measure,
    rate: float,
    knob: Knob | None = None,
    tries: int = TRIES,
) -> list[Trial]:
    """One trial for each point of a grid, with the knob calibrated to the aimed share."""
    trials: list[Trial] = []
    for point in points:
        trials.append(_calibrated(point, measure, rate, knob, tries, trials[-1:]))
    return trials


def winner(trials: Sequence[Trial], rate: float) -> Trial:
    """The most accurate trial of those that asked for about the aimed share.

    Where no knob setting came near it, accuracy would be bought with other labels.
    """
    near = [trial for trial in trials if abs(trial.rate - rate) <= 0.1 * rate] or trials
    return max(near, key=lambda trial: trial.accuracy)


def _calibrated(
    point: Parameters,
    measure: Measure,
    rate: float,
    knob: Knob | None,
    tries: int,
    neighbour: Sequence[Trial],
) -> Trial:
    """The grid's point with its knob set so that the share asked is ``rate``.

    The logit of the share is nearly linear in the logarithm of the knob: steps go along that line,
    from where the neighbouring point of the grid ended, and halve the bracket where that fails.
    """
    if knob is None or rate >= 1.0:
        fixed = {} if knob is None else {knob.name: knob.ask_always}
        return _trial(measure, {**point, **fixed})
    low, high = math.log(knob.low), math.log(knob.high)
    at = math.log(neighbour[0].parameters[knob.name]) if neighbour else (low + high) / 2
    slope, seen, best = 1.0, None, None
    for _ in range(tries):
        trial = _trial(measure, {**point, knob.name: math.exp(at)})
        if best is None or abs(trial.rate - rate) < abs(best.rate - rate):
            best = trial
        if close(trial.rate, rate):
            break
        low, high = (at, high) if trial.rate < rate else (low, at)
        miss = _logit(rate) - _logit(trial.rate)
        if seen is not None and at != seen[0] and miss != seen[1]:
            slope = min(10.0, max(0.1, (seen[1] - miss) / (at - seen[0])))
        seen = (at, miss)
        step = at + miss / slope
        at = step if low < step < high else (low + high) / 2
    assert best is not None
    return best


def _logit(share: float) -> float:
    inside = min(max(share, 1e-6), 1.0 - 1e-6)
    return math.log(inside / (1.0 - inside))


def _trial(measure: Measure, parameters: Parameters) -> Trial:
    return Trial(parameters, *measure(parameters))
