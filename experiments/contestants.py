"""The algorithms of the panels: how to build them, their grids, and the knob of their query rate.

Grids of ``ridge`` (b) and of 1/``drift`` (c) are in units of the mean squared norm of a row, so
that one grid serves every dataset.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import lasec

RIDGES = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
STABILITIES = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1e3, 1e4, 1e6)

Parameters = dict[str, Any]


class Axis(NamedTuple):
    """The values of one parameter, in ascending order.

    ``unit`` is the power of the rows' mean squared norm that a value is multiplied with; an
    ``inverted`` axis lists one over the parameter. An axis that is ``open`` is extended beyond its
    ends when the best value lies there; the ends of a ``whole`` axis are those of the parameter.
    """

    name: str
    values: tuple[float, ...]
    unit: int = 0
    inverted: bool = False
    open: bool = True
    whole: bool = False

    def at(self, value: float, scale: float) -> float:
        """The parameter at a value of the axis."""
        scaled = value * scale**self.unit if self.unit else value  # a count stays one
        return 1.0 / scaled if self.inverted else scaled

    def beyond(self, upper: bool, factor: float = 10.0) -> float:
        """The next value past the upper or the lower end."""
        return self.values[-1] * factor if upper else self.values[0] / factor


class Knob(NamedTuple):
    """The parameter that sets the query rate, which rises with it."""

    name: str
    ask_always: float = math.inf
    low: float = 1e-7
    high: float = 1e7


class Contestant(NamedTuple):
    """How to build it, the axes of its grid, and its knob; without one it asks always.

    ``unit_rows`` divides every row by its norm first, where the algorithm's paper assumes that.
    """

    build: Callable[..., lasec.Learner]
    axes: tuple[Axis, ...] = ()
    knob: Knob | None = None
    unit_rows: bool = False

    def grid(self, scale: float) -> Iterator[Parameters]:
        """All points of the grid, for rows of this mean squared norm."""
        return points(self.axes, scale)


def points(axes: Sequence[Axis], scale: float) -> Iterator[Parameters]:
    """The product of the axes, without the points that the paper's b < c excludes."""
    for values in product(*(axis.values for axis in axes)):
        point = {a.name: a.at(v, scale) for a, v in zip(axes, values, strict=True)}
        if point.get("ridge", 0.0) * point.get("drift", 0.0) < 1.0:
            yield point


_RIDGE = Axis("ridge", RIDGES, unit=1)
_STABILITY = Axis("drift", STABILITIES, unit=1, inverted=True)
_DECAY = Axis("decay", (0.0, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0), open=False, whole=True)
_BUDGET = Axis("budget", (50, 100, 200, 500, 1000, 2000, 5000), open=False, whole=True)
_AGGRESSIVENESS = Knob("aggressiveness")
_EXPONENT = Knob("exponent", ask_always=1e3, low=1e-5, high=20.0)


def _projected(dimension: int, **options: Any) -> lasec.Learner:
    """The modified perceptron by projection, factor 1 in place of 2."""
    return lasec.Modified(dimension, reflect=False, **options)


SUPERVISED = {
    "LASEC": Contestant(lasec.LASEC, (_RIDGE, _STABILITY)),
    "SOP": Contestant(lasec.SOP, (_RIDGE,)),
    "Perceptron": Contestant(lasec.Perceptron),
    "Shifting": Contestant(lasec.Shifting, (_DECAY,)),
    "Modified": Contestant(lasec.Modified),
    "Modified (projection)": Contestant(_projected),
    "RBP": Contestant(lasec.RBP, (_BUDGET,)),
}

SELECTIVE = {
    "LASEC-SS": Contestant(lasec.LASEC_SS, (_RIDGE, _STABILITY), _AGGRESSIVENESS),
    "SOP-SS": Contestant(lasec.SOP_SS, (_RIDGE,), _AGGRESSIVENESS),
    "Perceptron-SS": Contestant(lasec.Perceptron_SS, (), _AGGRESSIVENESS),
    "BBQ": Contestant(lasec.BBQ, (_RIDGE,), _EXPONENT, unit_rows=True),
    "BBQ-I": Contestant(lasec.BBQ_I, (_RIDGE,), _EXPONENT, unit_rows=True),
}

_DATASETS = ("synthetic", "usps", "stationary")

# What stands in a paper in place of tuning. Shifting and RBP: set by Moroshko and Crammer, because
# tuned they are the perceptron. BBQ: A_0 = I in its own paper, where rows have norm 1.
PUBLISHED = {
    ("synthetic", "Shifting"): {"decay": 0.01},
    ("synthetic", "RBP"): {"budget": 500},
    ("usps", "Shifting"): {"decay": 0.0001},
    ("usps", "RBP"): {"budget": 1000},
    **{(d, a): {"ridge": 1.0} for d in _DATASETS for a in ("BBQ", "BBQ-I")},
}
