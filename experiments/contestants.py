"""The algorithms that are compared: how to build them, their grids, and the knob of their rate.

Grids of ``ridge`` (b) and of 1/``drift`` (c) are in units of the mean squared norm of a row, so
that one grid serves every dataset.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import lasec

RIDGES = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
STABILITIES = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1e3, 1e4, 1e6)

Parameters = dict[str, Any]


class Knob(NamedTuple):
    """The parameter that sets the share of labels asked, which rises with it."""

    name: str
    ask_always: float = math.inf
    low: float = 1e-7
    high: float = 1e7


class Contestant(NamedTuple):
    """How to build it, its grid by the scale of the rows, and its knob; None asks always."""

    build: Callable[..., lasec.Learner]
    grid: Callable[[float], Iterator[Parameters]]
    knob: Knob | None = None


def _second_order(scale: float) -> Iterator[Parameters]:
    """LASEC: b and c with b < c."""
    for b, c in product(RIDGES, STABILITIES):
        if b < c:
            yield {"ridge": b * scale, "drift": 1.0 / (c * scale)}


def _ridge(scale: float) -> Iterator[Parameters]:
    """Everything with b alone."""
    for b in RIDGES:
        yield {"ridge": b * scale}


def _nothing(scale: float) -> Iterator[Parameters]:
    yield {}


def _identity(scale: float) -> Iterator[Parameters]:
    """BBQ as published: A_0 is the identity."""
    yield {"ridge": 1.0}


def _decay(scale: float) -> Iterator[Parameters]:
    for decay in (0.0, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0):
        yield {"decay": decay}


def _budget(scale: float) -> Iterator[Parameters]:
    for budget in (50, 100, 200, 500, 1000, 2000, 5000):
        yield {"budget": budget}


SUPERVISED = {
    "LASEC": Contestant(lasec.LASEC, _second_order),
    "SOP": Contestant(lasec.SOP, _ridge),
    "Perceptron": Contestant(lasec.Perceptron, _nothing),
    "Shifting": Contestant(lasec.Shifting, _decay),
    "Modified": Contestant(lasec.Modified, _nothing),
    "RBP": Contestant(lasec.RBP, _budget),
}

_CAUTION = Knob("caution")
_EXPONENT = Knob("exponent", ask_always=1e3, low=1e-5, high=20.0)

SELECTIVE = {
    "LASEC-SS": Contestant(lasec.LASEC_SS, _second_order, _CAUTION),
    "SOP-SS": Contestant(lasec.SOP_SS, _ridge, _CAUTION),
    "Perceptron-SS": Contestant(lasec.Perceptron_SS, _nothing, _CAUTION),
    "BBQ": Contestant(lasec.BBQ, _ridge, _EXPONENT),
    "BBQ-I": Contestant(lasec.BBQ_I, _ridge, _EXPONENT),
    "BBQ b=1": Contestant(lasec.BBQ, _identity, _EXPONENT),
    "BBQ-I b=1": Contestant(lasec.BBQ_I, _identity, _EXPONENT),
}

ALL = SUPERVISED | SELECTIVE

# What the paper set instead of tuning, because tuned they are the perceptron.
PAPER = {
    ("synthetic", "Shifting"): {"decay": 0.01},
    ("synthetic", "RBP"): {"budget": 500},
    ("usps", "Shifting"): {"decay": 0.0001},
    ("usps", "RBP"): {"budget": 1000},
}
