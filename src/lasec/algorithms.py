"""The paper's eleven algorithms, ready to run: each is a rule, a query and ``learn_from``.

LASEC and LASEC-SS also come with a Mercer kernel, of which the paper's section 3 speaks.

Every function takes the dimension, the algorithm's own parameters, and the options of the learner:
``seed``, ``max_pending``, ``max_age``, ``aggregate`` and ``annotators``. What is not here is
composed by hand in the same way, with :class:`~lasec.Learner`.
"""

from __future__ import annotations

from typing import Unpack

from lasec.learner import Learner, Options
from lasec.mercer import RBF
from lasec.queries import MarginSampling, VarianceThreshold
from lasec.rules import (
    BudgetPerceptron,
    KernelSecondOrder,
    ModifiedPerceptron,
    Ridge,
    SecondOrder,
    ShiftingPerceptron,
)
from lasec.rules import Perceptron as PerceptronRule
from lasec.types import Mercer

_RBF = RBF()


def LASEC(
    dimension: int, *, drift: float = 0.01, ridge: float = 1.0, **options: Unpack[Options]
) -> Learner:
    """Last-step adaptive classifier: second order, made for drift, every label asked.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.LASEC(dimension=50, drift=0.01, ridge=0.5).run(X, y)
    Records(rows=10000, accuracy=0.808, labels=10000, rate=1.000)
    """
    return Learner(SecondOrder(drift, ridge), dimension=dimension, name="LASEC", **options)


def LASEC_SS(
    dimension: int,
    *,
    drift: float = 0.01,
    ridge: float = 1.0,
    aggressiveness: float = 0.1,
    **options: Unpack[Options],
) -> Learner:
    """LASEC with selective sampling: queries with probability ``a / (a + |margin|)``.

    ``aggressiveness`` is a.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.LASEC_SS(dimension=50, drift=0.01, ridge=0.5, aggressiveness=0.02, seed=0).run(X, y)
    Records(rows=10000, accuracy=0.700, labels=3496, rate=0.350)
    """
    rule, query = SecondOrder(drift, ridge), MarginSampling(aggressiveness)
    return Learner(rule, query, dimension=dimension, name="LASEC-SS", **options)


def KernelLASEC(
    dimension: int,
    *,
    kernel: Mercer = _RBF,
    drift: float = 0.01,
    ridge: float = 1.0,
    budget: int = 200,
    **options: Unpack[Options],
) -> Learner:
    """LASEC with a Mercer kernel: for classes that no hyperplane separates, every label asked.

    ``kernel`` is one of :mod:`lasec.mercer` or your own. ``budget`` bounds the support set: the
    learner is exact up to so many rows, and each row costs O(budget^2). ``drift=0`` is the kernel
    second-order perceptron. Here +1 is inside of the circle:

    >>> import lasec, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((2_000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, 1, -1)
    >>> lasec.KernelLASEC(dimension=2, kernel=lasec.mercer.RBF(bandwidth=0.5)).run(X, y)
    Records(rows=2000, accuracy=0.966, labels=2000, rate=1.000)
    >>> lasec.LASEC(dimension=2).run(X, y)
    Records(rows=2000, accuracy=0.506, labels=2000, rate=1.000)
    """
    rule = KernelSecondOrder(kernel, drift, ridge, budget)
    return Learner(rule, dimension=dimension, name="KernelLASEC", **options)


def KernelLASEC_SS(
    dimension: int,
    *,
    kernel: Mercer = _RBF,
    drift: float = 0.01,
    ridge: float = 1.0,
    budget: int = 200,
    aggressiveness: float = 0.1,
    **options: Unpack[Options],
) -> Learner:
    """LASEC-SS with a Mercer kernel: queries with probability ``a / (a + |margin|)``.

    ``aggressiveness`` is a.

    >>> import lasec, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((2_000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, 1, -1)
    >>> kernel = lasec.mercer.Polynomial(degree=2)
    >>> lasec.KernelLASEC_SS(dimension=2, kernel=kernel, aggressiveness=0.1, seed=0).run(X, y)
    Records(rows=2000, accuracy=0.949, labels=540, rate=0.270)
    """
    rule, query = KernelSecondOrder(kernel, drift, ridge, budget), MarginSampling(aggressiveness)
    return Learner(rule, query, dimension=dimension, name="KernelLASEC-SS", **options)


def SOP(dimension: int, *, ridge: float = 1.0, **options: Unpack[Options]) -> Learner:
    """The second-order perceptron: LASEC without drift.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.SOP(dimension=50, ridge=16.0).run(X, y)
    Records(rows=10000, accuracy=0.788, labels=10000, rate=1.000)
    """
    return Learner(SecondOrder(0.0, ridge), dimension=dimension, name="SOP", **options)


def SOP_SS(
    dimension: int, *, ridge: float = 1.0, aggressiveness: float = 0.1, **options: Unpack[Options]
) -> Learner:
    """The second-order perceptron with selective sampling.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.SOP_SS(dimension=50, ridge=16.0, aggressiveness=0.02, seed=0).run(X, y)
    Records(rows=10000, accuracy=0.596, labels=1940, rate=0.194)
    """
    rule, query = SecondOrder(0.0, ridge), MarginSampling(aggressiveness)
    return Learner(rule, query, dimension=dimension, name="SOP-SS", **options)


def Perceptron(dimension: int, **options: Unpack[Options]) -> Learner:
    """The perceptron: first order, every label asked.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.Perceptron(dimension=50).run(X, y)
    Records(rows=10000, accuracy=0.780, labels=10000, rate=1.000)
    """
    return Learner(PerceptronRule(), dimension=dimension, name="Perceptron", **options)


def Perceptron_SS(
    dimension: int, *, aggressiveness: float = 1.0, **options: Unpack[Options]
) -> Learner:
    """The perceptron with selective sampling; its margin and ``aggressiveness`` are unnormalized.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.Perceptron_SS(dimension=50, aggressiveness=5.0, seed=0).run(X, y)
    Records(rows=10000, accuracy=0.594, labels=1747, rate=0.175)
    """
    rule, query = PerceptronRule(), MarginSampling(aggressiveness)
    return Learner(rule, query, dimension=dimension, name="Perceptron-SS", **options)


def Shifting(dimension: int, *, decay: float = 0.01, **options: Unpack[Options]) -> Learner:
    """The shifting perceptron: a perceptron whose old updates decay.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.Shifting(dimension=50, decay=0.01).run(X, y)
    Records(rows=10000, accuracy=0.792, labels=10000, rate=1.000)
    """
    return Learner(ShiftingPerceptron(decay), dimension=dimension, name="Shifting", **options)


def Modified(dimension: int, *, reflect: bool = True, **options: Unpack[Options]) -> Learner:
    """The modified perceptron: the weights are reflected (or projected) at a missed row.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.Modified(dimension=50).run(X, y)
    Records(rows=10000, accuracy=0.794, labels=10000, rate=1.000)
    """
    return Learner(ModifiedPerceptron(reflect), dimension=dimension, name="Modified", **options)


def RBP(dimension: int, *, budget: int = 500, **options: Unpack[Options]) -> Learner:
    """The randomized budget perceptron: it remembers at most ``budget`` examples.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.RBP(dimension=50, budget=500, seed=0).run(X, y)
    Records(rows=10000, accuracy=0.739, labels=10000, rate=1.000)
    """
    return Learner(BudgetPerceptron(budget), dimension=dimension, name="RBP", **options)


def BBQ(
    dimension: int, *, ridge: float = 1.0, exponent: float = 0.5, **options: Unpack[Options]
) -> Learner:
    """BBQ: ask where the variance is above t^-exponent, and use every label asked.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.BBQ(dimension=50, exponent=0.4, seed=0).run(X, y)
    Records(rows=10000, accuracy=0.528, labels=2104, rate=0.210)
    """
    rule, query = Ridge(ridge), VarianceThreshold(exponent)
    return Learner(rule, query, dimension=dimension, learn_from="labels", name="BBQ", **options)


def BBQ_I(
    dimension: int, *, ridge: float = 1.0, exponent: float = 0.5, **options: Unpack[Options]
) -> Learner:
    """BBQ-I: BBQ that uses only the asked labels which it would have missed.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.BBQ_I(dimension=50, exponent=0.25).run(X, y)
    Records(rows=10000, accuracy=0.592, labels=1915, rate=0.192)
    """
    rule, query = Ridge(ridge), VarianceThreshold(exponent)
    return Learner(rule, query, dimension=dimension, name="BBQ-I", **options)
