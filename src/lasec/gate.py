"""A budget over somebody else's margins: which rows of any model to ask about."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards, kernel, snapshot
from lasec.busy import Busy
from lasec.clock import LEAD, Clock
from lasec.draws import SEEDS, seed_or_random
from lasec.errors import StateError
from lasec.guards import LARGEST_ENTRY
from lasec.parameters import Range, number
from lasec.rules.given import Given
from lasec.state import Arrays, pack, restored
from lasec.types import Matrix, Query, Vector

_RULE = Given()
_STATE = _RULE.init(2)
_COUNTS = Range(0, 2**62)


class Gate:
    """Decides which rows to ask about, by margins that somebody else has found, under a ``query``.

    A round's random draw depends only on ``seed`` and its ticket, so these are the decisions of a
    learner with this query, seed and margins; without a ``seed``, a random one is drawn and saved
    with the gate. ``rounds`` and ``asked`` count, ``memory`` is what the query remembers. A call
    that is refused or interrupted changes nothing. What a margin is, is the caller's matter (see
    :func:`lead`): nearer to 0 is more in doubt, and the sign is not looked at.

    >>> from lasec.queries import Budgeted
    >>> gate = Gate(Budgeted(rate=0.1), seed=0)
    >>> propensity, asked, ticket = gate.decide(0.3)
    >>> round(propensity, 3), asked, ticket
    (1.0, True, 0)
    >>> propensity, asked, tickets = gate.decide_all(np.linspace(-1.0, 1.0, 2_000))
    >>> gate
    Gate(Budgeted, rounds=2001, asked=239)
    """

    def __init__(self, query: Query, *, seed: int | None = None, lead: float | None = LEAD) -> None:
        if not hasattr(query, "probability"):
            raise TypeError(f"query must be one of lasec.queries, got {query!r}")
        self.query = query
        self.seed = seed_or_random(seed)
        self.clock = Clock(lead)
        self.memory: Vector = snapshot.memory(query)
        self.rounds = self.asked = 0
        self._asker: Callable[..., Any] | None = None
        self._busy = Busy("gate")

    def decide(
        self, margin: float, *, time: float | None = None, waiting: int = 0, variance: float = 0.0
    ) -> tuple[float, bool, int]:
        """The probability of asking about the next row, how the coin falls, and the row's ticket.

        ``time`` is when the row came, for budgets by time; ``waiting`` how many questions are open,
        for budgets that heed it; ``variance`` that of the margin, for queries that look at it.

        >>> from lasec.queries import MarginCoin
        >>> gate = Gate(MarginCoin(caution=1.0), seed=0)
        >>> [gate.decide(margin)[0] for margin in (0.0, 1.0, -3.0)]
        [1.0, 0.5, 0.25]
        """
        x = np.array([_size("margin", margin, -math.inf), _size("variance", variance, 0.0)])
        with self._busy:
            when = self._times(None if time is None else [time], 1)
            memory = self.memory.copy()
            if self._asker is None:
                self._asker = kernel.engine.asker(_RULE, self.query, _STATE, memory, x)
            _, _, _, _, propensity, asked = self._asker(
                _RULE, self.query, _STATE, memory, x, self.seed, self.rounds, -1.0,
                float(when[0]) if when.size else self.rounds + 1.0, _open(waiting),
            )  # fmt: skip
            ticket = self.rounds
            self._advance(memory, 1, int(asked), when)
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

        >>> from lasec.queries import MarginCoin
        >>> propensity, asked, tickets = Gate(MarginCoin(1.0), seed=1).decide_all([0.0, 1.0, -3.0])
        >>> propensity.tolist(), asked.tolist(), tickets.tolist()
        ([1.0, 0.5, 0.25], [True, True, False], [0, 1, 2])
        """
        pairs = _pairs(margins, variances)
        with self._busy:
            count, first = len(pairs), self.rounds
            when, memory = self._times(times, count), self.memory.copy()
            chunk = kernel.engine.Chunk(
                pairs, np.ones(count), np.uint64(self.seed), first, times=when,
                waiting=_open(waiting),
            )  # fmt: skip
            _, columns, _, _ = kernel.engine.run(
                _RULE, self.query, _STATE, memory, chunk, mistakes_only=True
            )
            tickets = np.arange(first, first + count, dtype=np.int64)
            self._advance(memory, count, int(columns.asked.sum()), when)
            return columns.propensity, columns.asked, tickets

    def skip(self, rounds: int) -> None:
        """Count rounds in which nothing was to be decided: labels that came for free.

        >>> from lasec.queries import Always
        >>> gate = Gate(Always(), seed=0)
        >>> gate.skip(10)
        >>> gate.decide(0.0)
        (1.0, True, 10)
        """
        self.rounds += number("rounds", rounds, int, _COUNTS)

    def to_bytes(self) -> bytes:
        """The whole gate, as bytes that :meth:`from_bytes` reads.

        >>> from lasec.queries import Budgeted
        >>> Gate.from_bytes(Gate(Budgeted(), seed=3).to_bytes()).seed
        3
        """
        header = {
            "gate": snapshot.describe(self.query),
            "seed": self.seed,
            "clock": self.clock.header(),
            "counters": {"rounds": self.rounds, "asked": self.asked},
        }
        return pack(header, {"memory": self.memory})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The gate that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`.

        >>> Gate.from_bytes(b"something else")
        Traceback (most recent call last):
        lasec.errors.StateError: not a lasec model: the file does not begin with lasec's signature
        """
        return restored(data, cls._restore)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """A gate from what :meth:`to_bytes` put into the file."""
        made = cls(
            snapshot.rebuild(header["gate"], snapshot.QUERIES),
            seed=number("seed", header["seed"], int, SEEDS),
        )
        made.clock = Clock.restore(header.get("clock"))
        kept = arrays.pop("memory")
        made.memory = snapshot.memory(made.query, kept) if kept.size else made.memory
        made.rounds, made.asked = (
            number(name, header["counters"][name], int, _COUNTS) for name in ("rounds", "asked")
        )
        if arrays or made.asked > made.rounds or made.memory.size != kept.size:
            raise StateError("invalid: counters or arrays contradict each other")
        return made

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_asker": None}  # compiled code is found again

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        mine = {"memory": self.memory.copy(), "clock": copy(self.clock), "_busy": Busy("gate")}
        vars(twin).update(vars(self) | mine)
        return twin

    def __repr__(self) -> str:
        return f"Gate({type(self.query).__name__}, rounds={self.rounds}, asked={self.asked})"

    def _advance(self, memory: Vector, rounds: int, asked: int, times: Vector) -> None:
        vars(self).update(  # one step, so that no signal can come in between
            memory=memory, rounds=self.rounds + rounds, asked=self.asked + asked
        )
        self.clock.advance(times)

    def _times(self, times: ArrayLike | None, count: int) -> Vector:
        """When rows came; empty where rounds are counted."""
        return self.clock.trusted(guards.clock(self.query, times, count))


def _open(waiting: int) -> int:
    counted: int = number("waiting", waiting, int, _COUNTS)
    return counted


def _size(name: str, value: float, least: float) -> float:
    """One number as :func:`_pairs` has it."""
    known: float = value if type(value) is float else number(name, value, float, None)
    if not known >= least:
        raise ValueError(f"{name}: {known} is not possible")
    return min(max(known, -LARGEST_ENTRY), LARGEST_ENTRY)


def _pairs(margins: ArrayLike, variances: ArrayLike | None) -> Matrix:
    """Margins and variances as the rows of the rule; what is beyond all size is as large as can be.

    A margin may be infinite; NaN is refused.
    """
    given = guards.real("margin", margins, 1)
    pairs = np.zeros((given.size, 2))
    pairs[:, 0] = given
    if variances is not None:
        spread = guards.real("variance", variances, 1)
        if spread.size != given.size or not (spread >= 0.0).all():
            raise ValueError("variance: expected a number of 0 or more for each margin")
        pairs[:, 1] = spread
    if np.isnan(given).any():
        raise ValueError("margin: contains NaN")
    return np.clip(pairs, -LARGEST_ENTRY, LARGEST_ENTRY, out=pairs)


@overload
def lead(scores: Matrix) -> Vector: ...
@overload
def lead(scores: Sequence[float]) -> float: ...
def lead(scores: Matrix | Sequence[float]) -> Vector | float:
    """By how much the best class is ahead of the second best: the margin where classes are many.

    ``scores`` are those of one row, or of many in the rows of a matrix. With fewer than two classes
    it is 0: nothing is known. What a margin is for a :class:`Gate`, in all of lasec: where there
    are probabilities (the Tracker's of one against the rest, divided by their sum), their lead;
    where there are margins of one against the rest, half their lead. So two classes with margins
    m and -m, or probabilities (1 + m) / 2 and (1 - m) / 2, have ``|m|``, as they have with one
    model for both.

    >>> round(lead([0.5, 0.2, 0.3]), 2), lead([0.25, -0.25]) / 2.0, lead([1.0])
    (0.2, 0.25, 0.0)
    >>> lead(np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])).round(2).tolist()
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
