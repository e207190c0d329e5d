"""Mercer kernels: inner products of rows in a feature space that is never written out.

A kernel is a NamedTuple of parameters with one method, ``product(x, z)``, which numba compiles as
it stands. It must be symmetric and positive semidefinite: every matrix of products of rows has no
negative eigenvalue. A class of your own with that method works as the ones here do, except that
``save`` refuses it.

>>> from typing import NamedTuple
>>> class Intersection(NamedTuple):
...     "The overlap of two histograms."
...
...     def product(self, x, z):
...         return np.minimum(x, z).sum()
>>> import lasec
>>> learner = lasec.KernelLASEC(2, kernel=Intersection())
>>> learner.learn([0.2, 0.8], -1).updated
True
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from lasec.parameters import NonNegative, Positive, Range, checked
from lasec.types import Vector

__all__ = ["RBF", "Linear", "Polynomial"]


@checked
class Linear(NamedTuple):
    """x'z: the feature space is that of the rows themselves.

    >>> Linear().product(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """

    def product(self, x: Vector, z: Vector) -> float:
        """x'z."""
        return float(np.dot(x, z))


@checked
class RBF(NamedTuple):
    """The Gaussian kernel ``exp(-|x - z|^2 / (2 bandwidth^2))``: rows far apart share nothing.

    ``bandwidth`` is a distance between rows. The median distance between rows is a usual start.

    >>> kernel = RBF(bandwidth=2.0)
    >>> x, z = np.array([0.0, 0.0]), np.array([0.0, 4.0])
    >>> round(kernel.product(x, z), 4), kernel.product(x, x)
    (0.1353, 1.0)
    """

    bandwidth: Positive = 1.0

    def product(self, x: Vector, z: Vector) -> float:
        """``exp(-|x - z|^2 / (2 bandwidth^2))``."""
        distance = 0.0
        for i in range(x.size):
            distance += (x[i] - z[i]) * (x[i] - z[i])
        return math.exp(-0.5 * distance / (self.bandwidth * self.bandwidth))


@checked
class Polynomial(NamedTuple):
    """``(x'z + offset)^degree``: all products of up to ``degree`` features.

    With ``offset=0``, the products of exactly ``degree`` features.

    >>> Polynomial(degree=2, offset=1.0).product(np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    12.25
    """

    degree: Annotated[int, Range(1, 10)] = 2
    offset: NonNegative = 1.0

    def product(self, x: Vector, z: Vector) -> float:
        """(x'z + offset)^degree."""
        base, power = float(np.dot(x, z)) + self.offset, 1.0
        for _ in range(self.degree):
            power *= base
        return power
