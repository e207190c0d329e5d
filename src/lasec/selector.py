"""Which rows to query: a margin turned into a probability, a random draw and a ticket."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import validation
from lasec.busy import Busy
from lasec.clock import LEAD, Clock
from lasec.contract import whole_query
from lasec.kernel import engine
from lasec.kernel.given import GivenMargin
from lasec.parameters import Range, number
from lasec.persistence import codec, record
from lasec.persistence.container import checking
from lasec.persistence.record import Count, Shape
from lasec.queries import Always, MarginSampling, Uniform
from lasec.random import SEEDS, seed_or_random, uniforms
from lasec.sparse import plain
from lasec.types import Matrix, Query, Vector
from lasec.validation import LARGEST_ENTRY

_COUNTS = Range(0, 2**62)
_NO_DRAWS: Vector = np.empty(0)


# What these say of a row does not depend on the rows before it.
_STEADY: tuple[type, ...] = (Always, Uniform, MarginSampling)
_RULE = GivenMargin()
_MODEL = _RULE.init(2)


class Selector:
    """Decides which labels to query, by the margins of any model, under a ``query``.

    Every learner has one; on its own, a selector holds the label budget of a model that is not
    lasec's. A row's random draw depends only on ``seed`` and its ticket, so the decisions are
    those of a learner with this query, seed and margins. Without a ``seed``, a random one is drawn
    and saved. ``rows`` and ``asked`` count rows and queries, ``query_state`` is the state of
    the query. A call that is refused or interrupted changes nothing. The nearer a margin is to 0,
    the more uncertain is the model; its sign is not used. For more than two classes, see
    :func:`bvsb_margin`.

    >>> from lasec.queries import Budgeted
    >>> selector = Selector(Budgeted(rate=0.1), seed=0)
    >>> propensity, asked, ticket = selector.decide(0.3)
    >>> round(propensity, 3), asked, ticket
    (0.816, True, 0)
    >>> propensity, asked, tickets = selector.decide_all(np.linspace(-1.0, 1.0, 2_000))
    >>> selector
    Selector(Budgeted, rows=2001, asked=228)
    """

    def __init__(self, query: Query, *, seed: int | None = None, lead: float | None = LEAD) -> None:
        self.seed = seed_or_random(seed)
        self.clock = Clock(lead)
        self.rows = self.asked = 0
        self._busy = Busy("selector")
        self.use(query)

    def decide(
        self, margin: float, *, time: float | None = None, waiting: int = 0, variance: float = 0.0
    ) -> tuple[float, bool, int]:
        """The probability of a query for the next row, whether it is queried, and its ticket.

        ``time`` is when the row came, for budgets by time; ``waiting`` the number of open
        questions, for budgets that depend on it; ``variance`` that of the margin, for queries that
        depend on it.

        >>> from lasec.queries import MarginSampling
        >>> selector = Selector(MarginSampling(aggressiveness=1.0), seed=0)
        >>> [selector.decide(margin)[0] for margin in (0.0, 1.0, -3.0)]
        [1.0, 0.5, 0.25]
        """
        x = np.array([_size("margin", margin, -math.inf), _size("variance", variance, 0.0)])
        with self._busy:
            when, ticket = self.moment(time), self.rows
            (_, _, _, _, propensity, asked), state = self.look(
                _RULE, _MODEL, x, -1.0, when, _open(waiting)
            )
            self.note(state, 1, asked, when if time is not None else None)
            return propensity, asked, ticket

    def decide_all(
        self,
        margins: ArrayLike,
        times: ArrayLike | None = None,
        *,
        waiting: int = 0,
        variances: ArrayLike | None = None,
    ) -> tuple[Vector, NDArray[np.bool_], NDArray[np.int64]]:
        """:meth:`decide` for many rows in compiled code: an array each, and the same decisions.

        ``waiting`` counts the questions that were open before and stay so.

        >>> from lasec.queries import MarginSampling
        >>> selector = Selector(MarginSampling(1.0), seed=1)
        >>> propensity, asked, tickets = selector.decide_all([0.0, 1.0, -3.0])
        >>> propensity.tolist(), asked.tolist(), tickets.tolist()
        ([1.0, 0.5, 0.25], [True, True, False], [0, 1, 2])
        """
        pairs = _pairs(margins, variances)
        with self._busy:
            count, first, when = len(pairs), self.rows, self.times(times, len(pairs))
            _, columns, _, state = self.run(
                _RULE, _MODEL, pairs, np.ones(count), _NO_DRAWS, when, _open(waiting),
                mistakes_only=True,
            )  # fmt: skip
            self.note(state, count, int(columns.asked.sum()), _latest(when))
            tickets = np.arange(first, first + count, dtype=np.int64)
            return columns.propensity, columns.asked, tickets

    def preview(
        self, margins: Vector, variances: Vector, *, draws: Vector = _NO_DRAWS, waiting: int = 0
    ) -> tuple[Vector, NDArray[np.bool_]]:
        """What :meth:`decide` would say of each row if it were the next; nothing is counted.

        ``draws`` replace the selector's own, which is that of the next ticket for all of them. A
        budget by time has no preview.

        >>> from lasec.queries import Budgeted
        >>> selector = Selector(Budgeted(rate=0.1), seed=0)
        >>> propensity, asked = selector.preview(np.array([0.3, 0.3]), np.zeros(2))
        >>> propensity.round(3).tolist(), asked.tolist()
        ([0.816, 0.816], [True, True])
        """
        pairs, when = _pairs(margins, variances), self.moment(None)
        own = uniforms(self.seed, self.rows, 1)[0, 0]
        given = draws if draws.size else np.full(len(pairs), own)
        if type(self.query) in _STEADY:
            _, columns, _ = self.look_at_all(_RULE, _MODEL, pairs, given, _NO_DRAWS, waiting)
            return columns.propensity, columns.asked
        twin = copy(self)
        decided = [
            twin.look(_RULE, _MODEL, x, draw, when, waiting)[0][4:]
            for x, draw in zip(pairs, given.tolist(), strict=True)
        ]
        propensity, asked = np.array(decided, dtype=np.float64).reshape(-1, 2).T
        return propensity, asked > 0.0

    def skip(self, rows: int) -> None:
        """Count rows about which nothing had to be decided: labels that nobody asked for.

        >>> from lasec.queries import Always
        >>> selector = Selector(Always(), seed=0)
        >>> selector.skip(10)
        >>> selector.decide(0.0)
        (1.0, True, 10)
        """
        self.rows += number("rows", rows, int, _COUNTS)

    def use(self, query: Query) -> None:
        """Decide by another query from now on, which begins with a state of its own.

        >>> from lasec.queries import Always, Budgeted
        >>> selector = Selector(Always(), seed=0)
        >>> selector.use(Budgeted(rate=0.1))
        >>> selector.query.rate
        0.1
        """
        self.query_state: Vector = codec.query_state(query)
        self.query = whole_query(query)
        self.machine = engine.Machine()

    def moment(self, time: float | None) -> float:
        """When a row came: the time that was given, or the number of its step."""
        if time is not None:
            return self.clock.one(float(validation.times([time], 1)[0]))
        if self.query.timed:
            validation.clock(self.query.timed, None, 0)  # says what is missing
        return self.rows + 1.0

    def times(self, times: ArrayLike | None, count: int) -> Vector:
        """When rows came; empty where steps are counted."""
        return self.clock.trusted(validation.clock(self.query.timed, times, count))

    def look(
        self, rule: Any, model: Any, x: Vector, draw: float, time: float, waiting: int
    ) -> tuple[tuple[bool, float, float, float, float, bool], Vector]:
        """What a model says about a row and what is decided, and the query's state after it.

        Nothing of the selector is written: :meth:`note` makes it count. The decision is that of
        ``ask_row`` in :mod:`lasec.kernel.loops`; ``draw`` replaces the selector's own, unless it is
        negative.
        """
        return self.machine.ask(
            rule, self.query, model, self.query_state, x, self.seed, self.rows, draw, time, waiting
        )

    def look_at_all(
        self, rule: Any, model: Any, X: Any, draws: Vector, times: Vector, waiting: int
    ) -> tuple[int, Any, Vector]:
        """:meth:`look` for many rows: a row to refuse or -1, the columns, the query's state."""
        seed = np.uint64(self.seed)
        chunk = engine.Chunk(plain(X), _NO_DRAWS, seed, self.rows, draws, times, waiting)
        return self.machine.ask_all(rule, self.query, model, self.query_state, chunk)

    def run(
        self,
        rule: Any,
        model: Any,
        X: Any,
        y: Vector,
        draws: Vector,
        times: Vector,
        waiting: int,
        **options: Any,
    ) -> tuple[int, Any, Any, Vector]:
        """The same for rows with their labels; the model after them comes before the state."""
        seed = np.uint64(self.seed)
        chunk = engine.Chunk(plain(X), y, seed, self.rows, draws, times, waiting)
        return self.machine.run(rule, self.query, model, self.query_state, chunk, **options)

    def note(self, state: Vector, rows: int, asked: int, latest: float | None) -> None:
        """Count rows in which so many labels were queried, up to the ``latest`` time if any."""
        clock = self.clock
        until = clock.latest if latest is None else max(clock.latest, latest)
        # One statement without calls, so that no signal can come in between.
        self.query_state, self.rows, self.asked, clock.latest = (
            state, self.rows + rows, self.asked + asked, until,
        )  # fmt: skip

    def to_bytes(self) -> bytes:
        """The whole selector, as bytes that :meth:`from_bytes` reads.

        >>> from lasec.queries import Budgeted
        >>> Selector.from_bytes(Selector(Budgeted(), seed=3).to_bytes()).seed
        3
        """
        return record.dump(SelectorFile.of(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> Selector:
        """The selector that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`.

        >>> Selector.from_bytes(b"something else")
        Traceback (most recent call last):
        lasec.errors.StateError: not a lasec model: the file does not begin with lasec's signature
        """
        kept = record.load(SelectorFile, data)
        with checking():
            return kept.selector(codec.QUERIES)

    def __getstate__(self) -> dict[str, Any]:
        own = {
            "query_state": self.query_state.copy(),
            "clock": copy(self.clock),
            "_busy": Busy("selector"),
            "machine": engine.Machine(),
        }
        return vars(self) | own

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        return twin

    def __repr__(self) -> str:
        name = type(self.query).__name__
        return f"{type(self).__name__}({name}, rows={self.rows}, asked={self.asked})"


def _latest(times: Vector) -> float | None:
    return float(times.max()) if times.size else None


def _open(waiting: int) -> int:
    counted: int = number("waiting", waiting, int, _COUNTS)
    return counted


@dataclass(frozen=True)
class SelectorFile:
    """What a file holds of a selector, whose query is described (:mod:`lasec.persistence.codec`).

    >>> SelectorFile.of(Selector(Uniform(0.25), seed=3)).query["parameters"]
    {'rate': 0.25}
    """

    KIND: ClassVar[str] = "selector"

    query: Any
    seed: Annotated[int, SEEDS]
    clock: Clock
    rows: Count
    asked: Count
    memory: Annotated[Vector, Shape("memory")]

    @classmethod
    def of(cls, one: Selector) -> Self:
        """What is saved of a selector."""
        query = codec.describe(one.query)
        return cls(query, one.seed, one.clock, one.rows, one.asked, one.query_state)

    def validate(self) -> str:
        """Why these cannot be those of a selector; empty if they can."""
        return "" if self.asked <= self.rows else "the counters contradict each other"

    def selector(self, queries: Mapping[str, Any]) -> Selector:
        """The selector that was saved; its query is one of these."""
        made = Selector(codec.rebuild(self.query, queries), seed=self.seed)
        made.query_state = codec.query_state(made.query, self.memory)
        made.clock, made.rows, made.asked = self.clock, self.rows, self.asked
        return made


def _size(name: str, value: float, least: float) -> float:
    """One number as :func:`_pairs` has it."""
    known: float = value if type(value) is float else number(name, value, float, None)
    if not known >= least:
        raise ValueError(f"{name}: {known} is not possible")
    return min(max(known, -LARGEST_ENTRY), LARGEST_ENTRY)


def _pairs(margins: ArrayLike, variances: ArrayLike | None) -> Matrix:
    """Margins and variances as the rows of the rule, clipped to the largest usable size.

    A margin may be infinite; NaN is refused.
    """
    given = validation.real("margin", margins, 1)
    pairs = np.zeros((given.size, 2))
    pairs[:, 0] = given
    if variances is not None:
        spread = validation.real("variance", variances, 1)
        if spread.size != given.size or not (spread >= 0.0).all():
            raise ValueError("variance: expected a number of 0 or more for each margin")
        pairs[:, 1] = spread
    if np.isnan(given).any():
        raise ValueError("margin: contains NaN")
    return np.clip(pairs, -LARGEST_ENTRY, LARGEST_ENTRY, out=pairs)


@overload
def bvsb_margin(scores: Matrix) -> Vector: ...
@overload
def bvsb_margin(scores: Sequence[float]) -> float: ...
def bvsb_margin(scores: Matrix | Sequence[float]) -> Vector | float:
    """The best-versus-second-best margin: the score of the best class minus that of the second.

    ``scores`` are those of one row, or of many in the rows of a matrix. With fewer than two classes
    it is 0, as uncertain as can be. The margin that a :class:`Selector` gets, in all of lasec:
    where there are probabilities (one-versus-rest ones are normalized), their difference; where
    there are one-versus-rest margins, half their difference. So two classes with margins m and -m,
    or probabilities (1 + m) / 2 and (1 - m) / 2, have ``|m|``, as with one model for both.

    >>> round(bvsb_margin([0.5, 0.2, 0.3]), 2), bvsb_margin([0.25, -0.25]) / 2.0, bvsb_margin([1.0])
    (0.2, 0.25, 0.0)
    >>> bvsb_margin(np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])).round(2).tolist()
    [0.2, 0.7]
    """
    if not isinstance(scores, np.ndarray):
        first, second = sorted(scores)[-1:-3:-1] if len(scores) > 1 else (0.0, 0.0)
        return 0.0 if first == second == math.inf else float(first - second)
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    best = np.partition(scores, -2, axis=1)[:, -2:]
    with np.errstate(invalid="ignore"):  # inf - inf: both are certain, so which one is not
        ahead: Vector = np.where(best[:, 0] == best[:, 1], 0.0, best[:, 1] - best[:, 0])
    return ahead
