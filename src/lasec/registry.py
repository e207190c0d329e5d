"""Algorithms by name: the one registry from which the command line and tables make learners."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

from lasec import algorithms
from lasec.learner import Learner, Options
from lasec.parameters import unknown
from lasec.persistence import codec
from lasec.queries import Budgeted, MarginSampling, Uniform
from lasec.rules import AROW, SparseTracking, Tracking
from lasec.tracker import Tracker
from lasec.types import Query, Rule

UNKNOWN = 1 << 33  # bytes of a machine that does not say how many it has
AUDIT = Budgeted().audit
SHARE = 4  # a learner may take this part of them: to save it, it is copied


class Algorithm(NamedTuple):
    """How a learner is built from a dimension and its parameters, and what it is in a few words.

    ``budgeted`` algorithms can be held to a label budget; the others query by their own rule.
    ``has_intercept`` says that the rule has one of its own, and ``has_class_weights`` that it takes
    a ``class_weight``. ``sparse`` builds the form for sparse rows, where there is one.

    >>> find("lasec-ss").summary
    'second order, with drift'
    """

    summary: str
    build: Callable[..., Learner]
    budgeted: bool = False
    has_intercept: bool = False
    has_class_weights: bool = False
    sparse: Callable[..., Learner] | None = None


def _tracker(
    rule: Callable[..., Any], dimension: int, /, *, audit: float = AUDIT, **settings: float
) -> Learner:
    return Tracker(dimension, audit=audit, rule=rule(**settings))


def _small(dimension: int, /, **settings: float) -> Learner:
    return _tracker(Tracking, dimension, **{"block": 0, "slots": 5, **settings})


def _uniform(rule: Callable[..., Any], dimension: int, /, **settings: float) -> Learner:
    parts = rule(**settings), Uniform(0.1)
    return Learner(*parts, dimension=dimension, learn_from="labels", name="Tracker, uniform")


def _arow_ss(dimension: int, *, noise: float = 1.0, aggressiveness: float = 0.1) -> Learner:
    parts = AROW(noise), MarginSampling(aggressiveness)
    return Learner(*parts, dimension=dimension, learn_from="labels", name="AROW-SS")


ALGORITHMS = {
    "tracker": Algorithm(
        "follows any drift, nothing to tune", partial(_tracker, Tracking), budgeted=True,
        has_intercept=True, has_class_weights=True, sparse=partial(_tracker, SparseTracking),
    ),
    "tracker-small": Algorithm(
        "the Tracker for many small models", _small, budgeted=True,
        has_intercept=True, has_class_weights=True,
    ),
    "uniform": Algorithm(
        "the Tracker's rule, queried at random", partial(_uniform, Tracking), budgeted=True,
        has_intercept=True, sparse=partial(_uniform, SparseTracking),
    ),
    "lasec-ss": Algorithm("second order, with drift", algorithms.LASEC_SS, budgeted=True),
    "sop-ss": Algorithm("second order, no drift", algorithms.SOP_SS, budgeted=True),
    "perceptron-ss": Algorithm("first order", algorithms.Perceptron_SS, budgeted=True),
    "arow-ss": Algorithm("second order, by confidence", _arow_ss, budgeted=True),
    "kernel-lasec-ss": Algorithm(
        "LASEC-SS with a Mercer kernel", algorithms.KernelLASEC_SS, budgeted=True
    ),
    "lasec": Algorithm("second order, with drift", algorithms.LASEC),
    "kernel-lasec": Algorithm("LASEC with a Mercer kernel", algorithms.KernelLASEC),
    "sop": Algorithm("second order, no drift", algorithms.SOP),
    "perceptron": Algorithm("first order", algorithms.Perceptron),
    "shifting": Algorithm("a perceptron whose weights decay", algorithms.Shifting),
    "modified": Algorithm("a perceptron that reflects", algorithms.Modified),
    "rbp": Algorithm("a perceptron on a budget of examples", algorithms.RBP),
    "bbq": Algorithm("ridge regression, queried by variance", algorithms.BBQ),
    "bbq-i": Algorithm("BBQ that learns from mistakes", algorithms.BBQ_I),
}  # fmt: skip


def find(name: str) -> Algorithm:
    """The algorithm of this name.

    >>> find("LASEC_SS") is ALGORITHMS["lasec-ss"]
    True
    >>> find("lasecss")
    Traceback (most recent call last):
    ValueError: there is no algorithm 'lasecss': did you mean 'lasec-ss'? There are ...
    """
    key = name.lower().replace("_", "-")
    if key not in ALGORITHMS:
        raise ValueError(unknown(name, ALGORITHMS, "algorithm"))
    return ALGORITHMS[key]


def make(
    name: str,
    dimension: int,
    *,
    rate: float | None = None,
    budget: Budgeted | None = None,
    settings: Mapping[str, float] | None = None,
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
    sparse: bool = False,
    dense: int = 0,
    **options: Unpack[Options],
) -> Learner:
    """A learner by name, as its paper has it, or held to a label budget.

    Parameters
    ----------
    name
        One of ``lasec.registry.ALGORITHMS``.
    dimension
        Number of features.
    rate
        The label budget: the share of rows whose label is queried. Algorithms that query every
        label, and BBQ, ignore it.
    budget
        Another :class:`~lasec.queries.Budgeted` instead of ``rate``.
    settings
        Parameters of the algorithm: ``drift``, ``ridge``, ``aggressiveness`` and others.
    class_weight
        "balanced", or what it costs to miss each class: of the Tracker alone.
    sparse
        The form for sparse rows, of an algorithm that has one.
    dense
        How many of the first columns of sparse rows are no words but numbers.
    **options
        ``seed``, ``max_pending`` and the other options of :class:`~lasec.Learner`.

    Examples
    --------
    >>> make("lasec-ss", 5, settings={"aggressiveness": 0.02})
    Learner('LASEC-SS', dimension=5, rows=0, asked=0, updates=0)
    >>> make("lasec-ss", 5, rate=0.2, settings={"drift": 0.001})
    Learner('Budgeted LASEC-SS', dimension=5, rows=0, asked=0, updates=0)
    """
    chosen = find(name)
    if sparse and chosen.sparse is not None:
        chosen = chosen._replace(build=chosen.sparse)
        settings = {**(settings or {}), "dense": dense}
    small = _smallest(name, chosen, settings or {})
    check_size(name, small.rule, dimension)
    query, title = small.query, small.name
    if chosen.budgeted and not (rate is None and budget is None):
        query = _held(small, 0.1 if rate is None else rate, budget)
        title = title if isinstance(small.rule, Tracking | SparseTracking) else f"Budgeted {title}"
    if isinstance(small, Tracker):
        held: Any = query
        rule: Any = small.rule
        return Tracker(dimension, budget=held, rule=rule, class_weight=class_weight, **options)
    if class_weight is not None:
        raise ValueError(f"class_weight: {name} has no probabilities to weigh, the Tracker has")
    return Learner(
        small.rule, query, dimension=dimension, learn_from=small.learn_from, name=title, **options
    )


def _smallest(name: str, chosen: Algorithm, settings: Mapping[str, float]) -> Learner:
    """The algorithm with these settings, for rows of one feature."""
    wrong = (settings.keys() & (Options.__annotations__ | {"dimension": int})) or None
    try:
        if wrong:
            raise TypeError(f"{min(wrong)!r} is not a parameter of the algorithm")
        return chosen.build(1, **settings)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def _held(small: Learner, rate: float, budget: Budgeted | None) -> Query:
    """The query of a learner, held to a rate or a budget."""
    inner = small.query
    if isinstance(inner, Uniform):
        return budget._replace(inner=Uniform(0.5)) if budget else Uniform(min(rate, 1.0))
    held = budget or Budgeted(rate)
    if isinstance(inner, Budgeted):  # the Tracker's
        return held if inner.audit == AUDIT else held._replace(audit=inner.audit)
    return held._replace(inner=inner)


def memory_limit() -> int:
    """The bytes that a learner may take here: a quarter of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // SHARE
    except (AttributeError, OSError, ValueError):  # not every system tells
        return UNKNOWN // SHARE


def check_size(name: str, rule: Rule[Any], dimension: int) -> None:
    """Refuse a learner that does not fit into memory, before it is made.

    >>> import lasec
    >>> check_size("lasec-ss", lasec.rules.SecondOrder(), 1_000_000)
    Traceback (most recent call last):
    ValueError: lasec-ss needs ... GB for 1,000,000 features, and may take ... here: ...
    """
    size, most = codec.size(rule, dimension), memory_limit()
    if size > most:
        raise ValueError(
            f"{name} needs {size / 1e9:,.1f} GB for {dimension:,} features, and may take "
            f"{most / 1e9:,.1f} GB here: use fewer columns, or an algorithm "
            "without a matrix, such as perceptron-ss"
        )
