"""The words every other room speaks: arrays, decisions, and what a rule and a query rule are.

This module imports nothing of lasec; everything else may import it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Counter = NDArray[np.int64]

UNASKED = -2  # in the place of a ticket: a label that nobody asked for


class Margin(NamedTuple):
    """What a rule says about one instance, before any label is known.

    ``raw`` is x'w, whose sign is the prediction; ``variance`` is x'Cx (0 for first-order rules);
    ``margin`` is the paper's p_t, on which a query decides (``raw / (1 + variance)`` for LASEC).

    >>> Margin(raw=0.6, variance=2.0, margin=0.2).label
    1
    """

    raw: float
    variance: float
    margin: float

    @property
    def label(self) -> int:
        """The prediction: the sign of ``raw``, where zero counts as +1."""
        return 1 if self.raw >= 0.0 else -1


class ClassMargin(NamedTuple):
    """What a rule for any number of classes says about one instance.

    ``label`` is -1 or +1, or the number of the class, from 1, where there are more than two.
    ``raw`` is P(label) - P(any other class); of two classes, P(+1) - P(-1). ``margin``, on which a
    query decides, is the same with two classes; with more, the lead of the label over the second.

    >>> ClassMargin(raw=-0.2, variance=0.0, margin=0.1, label=3.0).label
    3.0
    """

    raw: float
    variance: float
    margin: float
    label: float


class Context(NamedTuple):
    """When a question would be asked: the row (from 1), the event time, and the open questions.

    Where no time is given, it is the row.

    >>> Context(round=1, time=1.0, open=0).open
    0
    """

    round: int
    time: float
    open: int


class Decision(NamedTuple):
    """What ``ask`` answers: a prediction, and whether its label is wanted.

    ``label`` is -1 or +1 from a learner, and a class by its name from a session: None where there
    is no prediction, as before the first label (a :class:`~lasec.Meter` takes 0). ``propensity`` is
    the probability with which the label was going to be queried; ``asked`` is the result of that
    random draw. ``ticket`` numbers the rows from 0 and is what ``tell`` wants back. ``source`` is
    whom to ask, where a session has several sources of labels.

    >>> decision = Decision(label=1, margin=0.2, variance=2.0, propensity=0.5, asked=True, ticket=7)
    >>> decision.ticket if decision.asked else None
    7
    """

    label: Any
    margin: float
    variance: float
    propensity: float
    asked: bool
    ticket: int
    source: str | None = None

    def __repr__(self) -> str:
        return _without_source(self)


class Outcome(NamedTuple):
    """What ``tell`` answers: the decision that the label belongs to, and what the label did.

    ``mistake`` is judged under the model of the moment in which the label arrives, as the analysis
    demands; ``correct`` is judged under the prediction that was given out when the label was asked.
    ``updated`` says that the label was handed to the rule (which may find nothing to change).
    ``settled`` is False while further answers are waited for; nothing is learned until then, and
    ``mistake`` is judged under the prediction that was given out. ``source`` is then whom to ask
    next, where a session has several sources of labels.

    >>> asked = Decision(label=1, margin=0.2, variance=2.0, propensity=0.5, asked=True, ticket=7)
    >>> Outcome(decision=asked, y=-1, mistake=True, updated=True).correct
    False
    """

    decision: Decision
    y: Any
    mistake: bool
    updated: bool
    settled: bool = True
    source: str | None = None

    def __repr__(self) -> str:
        return _without_source(self)

    @property
    def correct(self) -> bool | None:
        """Whether the prediction that was given out agrees with the label; None without one.

        >>> asked = Decision(None, 0.0, 2.0, propensity=0.5, asked=True, ticket=7)
        >>> Outcome(decision=asked, y="ham", mistake=True, updated=True).correct is None
        True
        """
        label = self.decision.label
        return None if label is None else bool(label == self.y)


def _without_source(part: Decision | Outcome) -> str:
    """A tuple as it is shown: its last field only where there are several sources."""
    kept = part._fields if part.source is not None else part._fields[:-1]
    return f"{type(part).__name__}({', '.join(f'{n}={getattr(part, n)!r}' for n in kept)})"


class LearnFrom(StrEnum):
    """Which labels a learner learns from: those it would have missed, or all that it is told.

    >>> LearnFrom("mistakes") is LearnFrom.MISTAKES
    True
    """

    MISTAKES = "mistakes"
    LABELS = "labels"


class Aggregate(StrEnum):
    """What counts when a question gets several answers that may contradict each other.

    The first answer, and later ones are refused; or that of the majority, once it is certain.

    >>> Aggregate("majority") is Aggregate.MAJORITY
    True
    """

    FIRST = "first"
    MAJORITY = "majority"


class State(Protocol):
    """A NamedTuple of arrays, or of such tuples: all that the next row needs, and nothing else."""

    def validate(self) -> str:
        """What makes these arrays no valid state, as a phrase; empty if nothing does."""

    def __iter__(self) -> Any: ...

    @property
    def _fields(self) -> tuple[str, ...]: ...


S = TypeVar("S", bound=State)


class Rule(Protocol[S]):
    """How a model predicts and learns: one paper, as a NamedTuple of parameters.

    ``margin`` reads the state, ``update`` writes it in place. Both are plain Python over NumPy that
    numba compiles as it stands; ``t`` is the row, from 1, and ``draw`` a uniform number for rules
    that are themselves random. :func:`lasec.rule` above the class fills in what a rule may have
    beyond this (:class:`lasec.contract.WholeRule`).
    """

    def init(self, dimension: int) -> S:
        """The state before the first row."""

    def margin(self, state: S, x: Vector, t: int) -> Margin | ClassMargin:
        """What the model says about ``x``."""

    def update(self, state: S, x: Vector, y: float, draw: float, t: int) -> None:
        """Learn the label ``y`` (+1 or -1) of ``x``."""


class Mercer(Protocol):
    """A Mercer kernel: an inner product of rows in a feature space, as a NamedTuple."""

    def product(self, x: Vector, z: Vector) -> float:
        """The inner product of two rows; symmetric and positive semidefinite."""


class Query(Protocol):
    """When to ask: a margin turned into a probability, as a NamedTuple of parameters.

    :func:`lasec.query` above the class fills in what a query may have beyond this
    (:class:`lasec.contract.WholeQuery`).
    """

    def probability(self, margin: Margin, t: int) -> float:
        """The probability of asking in row ``t`` (the first row is 1)."""


class RandomQuery(Query, Protocol):
    """A query rule whose probabilities are positive everywhere: what unbiased estimates require.

    A type checker refuses a deterministic query where a ``RandomQuery`` is wanted.
    """

    @property
    def has_propensity(self) -> Literal[True]:
        """Always true."""
