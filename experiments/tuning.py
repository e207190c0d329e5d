"""Free parameters, chosen on one draw of the data that is never measured on.

For each point of an algorithm's grid, the knob that sets its query rate (``aggressiveness`` or
``exponent``) is calibrated until the rate on the tuning draw is the target; the point with the best
accuracy on that draw wins. A grid grows where its best point lies at an end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments import digests
from experiments.contestants import Axis, Contestant, Knob, Parameters, points
from experiments.datasets import TUNING, behind, draw
from experiments.own import Method, find
from lasec import Records
from lasec.streams import Stream

TRIES = 10
EXTENSIONS = 4  # by a factor of ten each
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


def _behind(dataset: str, method: Method, *rest: Any) -> Any:
    """The grid, the learner at its first point, the data, and the code of this module."""
    contestant = find(method)
    first = next(contestant.grid(1.0))
    knob = {contestant.knob.name: 1.0} if contestant.knob else {}
    made = digests.learner(contestant.build(2, **first, **knob, seed=0))
    grid = [axis._asdict() for axis in contestant.axes], contestant.knob, contestant.unit_rows
    return made, grid, behind(dataset), digests.code(__name__, digests.OURS)


@digests.depends_on(_behind)
def tune(dataset: str, method: Method, rate: float, size: float = 1.0) -> dict[str, Any]:
    """The winner and all trials, for one algorithm at one query rate.

    ``edges`` names the axes at whose end the winner lies even after ``EXTENSIONS`` extensions.
    """
    contestant = find(method)
    measure, scale = _on_tuning_draw(dataset, contestant, size)
    axes, trials = contestant.axes, list[Trial]()
    for _ in range(EXTENSIONS + 1 if size >= SHORT else 1):
        seen = {_point(trial.parameters, axes) for trial in trials}
        fresh = [p for p in points(axes, scale) if _point(p, axes) not in seen]
        fresh = fresh if size >= SHORT else fresh[::9]
        trials += search(fresh, measure, rate, contestant.knob, start=trials[-1:])
        best = winner(trials, rate)
        edges = _edges(axes, best, scale)
        if not any(axis.open for axis in axes if axis.name in edges):
            break
        axes = tuple(_extended(axis, edges) for axis in axes)
    return {
        "parameters": best.parameters,
        "scale": scale,
        "edges": [f"{name} at its {end} end" for name, end in edges.items()],
        "trials": [trial._asdict() for trial in trials],
    }


@digests.depends_on(_behind)
def calibrate(
    dataset: str, method: Method, rate: float, fixed: Parameters, size: float = 1.0
) -> dict[str, Any]:
    """The parameters ``fixed``, with the knob alone set to the query rate."""
    contestant = find(method)
    measure, _ = _on_tuning_draw(dataset, contestant, size)
    (trial,) = search([fixed], measure, rate, contestant.knob, 2 * TRIES)
    return trial._asdict()


def _on_tuning_draw(dataset: str, contestant: Contestant, size: float) -> tuple[Measure, float]:
    """Accuracy and query rate by parameters on the tuning draw, and the scale of its rows."""
    stream = prepared(contestant, draw(dataset, TUNING, size))

    def measure(parameters: Parameters) -> tuple[float, float]:
        records = run(contestant, stream, parameters, TUNING)
        return records.accuracy, records.rate

    return measure, mean_square(stream)


def _point(parameters: Parameters, axes: Sequence[Axis]) -> tuple[float, ...]:
    return tuple(parameters[axis.name] for axis in axes)


def _edges(axes: Sequence[Axis], best: Trial, scale: float) -> dict[str, str]:
    """The axes at whose end the best trial lies, with that end."""
    found = {}
    for axis in axes:
        value = best.parameters[axis.name]
        for end, at in (("lower", axis.values[0]), ("upper", axis.values[-1])):
            if not axis.whole and value == axis.at(at, scale):
                found[axis.name] = end
    return found


def _extended(axis: Axis, edges: dict[str, str]) -> Axis:
    end = edges.get(axis.name)
    if end is None or not axis.open:
        return axis
    if end == "upper":
        return axis._replace(values=(*axis.values, axis.beyond(upper=True)))
    return axis._replace(values=(axis.beyond(upper=False), *axis.values))


def run(contestant: Contestant, stream: Stream, parameters: Parameters, seed: int) -> Records:
    """One run on a prepared stream; the random draws depend on ``seed`` alone."""
    learner = contestant.build(stream.X.shape[1], **parameters, seed=seed)
    return learner.run(*stream)


def prepared(contestant: Contestant, stream: Stream) -> Stream:
    """The stream as an algorithm takes it: with rows of norm 1 where its paper assumes that."""
    if not contestant.unit_rows:
        return stream
    norms = np.linalg.norm(stream.X, axis=1, keepdims=True)
    return Stream(stream.X / np.where(norms > 0.0, norms, 1.0), stream.y, stream.concept)


def mean_square(stream: Stream) -> float:
    """The mean squared norm of a row: the unit of the grids."""
    return float(np.mean(np.sum(stream.X**2, axis=1)))


def search(
    grid: Sequence[Parameters],
    measure: Measure,
    rate: float,
    knob: Knob | None = None,
    tries: int = TRIES,
    start: Sequence[Trial] = (),
) -> list[Trial]:
    """One trial for each point of a grid, with the knob calibrated to the query rate.

    The first calibration begins at the knob of the trial in ``start``, if there is one.
    """
    trials: list[Trial] = []
    for point in grid:
        trials.append(_calibrated(point, measure, rate, knob, tries, trials[-1:] or start))
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
