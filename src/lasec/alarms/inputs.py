"""Detect a change of the input distribution: no label is needed.

Each row is turned into scores: every feature z_i, standardized by the first ``reference`` rows, and
of the row as a whole the mean of z_i (a common shift), the mean of z_i^2 (a change of scale) and
the largest abs(z_i) (a few odd features). Each score is sorted into bins, whose edges are quantiles
of the reference; and all rows after the reference are counted in them. So the rank of a score
among all before it is known in O(1)::

    u_t = (below + U (same + 1)) / (rows + 1),      U uniform, below and same: rows in lower bins
                                                    and in this one

As long as the rows are exchangeable, u_1, u_2, ... of one score are independent and uniform: that
is exact (Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005). Hence with
v = 2u - 1, each bet ``1 + k v`` and ``1 + k (2 abs(v) - 1)``, for abs(k) <= 1, has mean 1, and the
evidence is the mean of the sums M <- (M + 1) bet (Volkhonskiy et al., *Inductive Conformal
Martingales for Change-Point Detection*, COPA 2017, with the Shiryaev-Roberts form). For each score
by itself::

    E[rows until a false alarm] >= every

holds exactly. The mean over several scores gives half of its weight to the row as a whole and half
to the features. For it the bound is nearly exact: the ranks of one score could tell a little about
coming ranks of another. What no single score shows, such as a change of correlation alone, is not
seen; and as later rows are counted too, a change is the clearer, the more rows came before it.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import validation
from lasec.alarms import saved
from lasec.alarms.alarm import Alarm
from lasec.parameters import Range, number
from lasec.persistence.container import Arrays
from lasec.sparse import is_sparse
from lasec.types import Decision, Outcome

Array = NDArray[np.float64]

LINEAR = np.array([-0.8, -0.3, 0.3, 0.8])
SPREAD = np.array([-0.8, 0.8])
BINS = 20
MOST_SPARSE = 10_000  # columns of sparse rows
WHOLE = ("shift", "scale", "largest")
_ARRAYS = ("mean", "spread", "edges", "below", "total", "sums")


def bets(u: Array) -> Array:
    """The factors for ranks ``u`` in (0, 1), a row a rank: each has mean 1 if u is uniform.

    >>> bets(np.array([0.9])).round(2).tolist()
    [[0.36, 0.76, 1.24, 1.64, 0.52, 1.48]]
    """
    v = 2.0 * u[:, None] - 1.0
    return np.hstack([1.0 + LINEAR * v, 1.0 + SPREAD * (2.0 * np.abs(v) - 1.0)])


class InputAlarm:
    """Raises an alarm when the input distribution has changed; it needs no labels.

    It cannot detect concept drift that leaves the input distribution unchanged. On average at least
    ``every`` rows pass until a false alarm; :mod:`lasec.alarms.inputs` says what is exact about
    that. The first ``reference`` rows, and as many after each alarm, only set the scale. With
    ``confidence``, abs(margin) of each decision is one more score: it then also detects changes of
    the model's confidence, and takes its learning for one. The ``kind`` of an alarm names the score
    that moved most clearly.

    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((3_000, 50))
    >>> X[2_000:, 7] += 1.0
    >>> for alarm in InputAlarm().extend(X):
    ...     print(alarm.kind, alarm.ticket, alarm.since, round(alarm.after - alarm.before, 1))
    input: feature 7 2041 1983 0.9
    """

    KIND = "input-alarm"
    PARAMETERS = ("every", "reference", "confidence")

    def __init__(
        self,
        every: float = 100_000,
        reference: int = 200,
        confidence: bool = False,
        seed: int = 0,
    ) -> None:
        self.every = float(number("every", every, float, Range(1.0, 1e15)))
        self.reference = int(number("reference", reference, int, Range(2 * BINS, 1_000_000)))
        self.confidence = bool(number("confidence", confidence, bool, None))
        self.raised = False
        self.rows = 0
        self._rng = np.random.default_rng(number("seed", seed, int, Range(0, 2**64 - 1)))
        self._start: list[Array] | None = []  # rows of the reference, until there are enough
        self._dimension = 0

    def ask(self, decision: Decision, x: ArrayLike | None = None) -> Alarm | None:
        """The same as :meth:`see`, with the arguments in the order of the other alarms.

        >>> InputAlarm().ask(Decision(1, 0.8, 0.0, 0.5, asked=False, ticket=0), x=[1.0, 2.0])
        """
        if x is None:
            raise TypeError("x: an alarm about the input needs the row")
        return self.see(x, decision)

    def tell(self, outcome: Outcome) -> Alarm | None:
        """Labels are not used.

        >>> asked = Decision(1, 0.8, 0.0, propensity=0.5, asked=True, ticket=0)
        >>> InputAlarm().tell(Outcome(asked, y=1, mistake=False, updated=True))
        """
        self.raised = False
        return None

    def cancel(self, ticket: int) -> Alarm | None:
        """Canceled questions are not used.

        >>> InputAlarm().cancel(0)
        """
        self.raised = False
        return None

    def see(self, x: ArrayLike, decision: Decision | None = None) -> Alarm | None:
        """Record a row; without a decision, rows have tickets 0, 1, 2 and so on.

        >>> InputAlarm().see([0.5, -1.0])
        """
        row = self._row(x, decision)
        ticket = self.rows if decision is None else decision.ticket
        self.rows += 1
        self.raised = False
        if self._start is not None:
            self._start.append(row)
            if len(self._start) == self.reference:
                self._begin(np.array(self._start))
            return None
        self._bet(_scores((row - self._mean) / self._spread, self._dimension))
        if self.evidence < self.every:
            return None
        self.raised = True
        return self._restart(ticket)

    def extend(self, X: ArrayLike) -> list[Alarm]:
        """All alarms of a chunk of rows.

        >>> InputAlarm().extend(np.random.default_rng(1).standard_normal((1_000, 3)))
        []
        """
        raised = [alarm for x in validation.real("X", X, 2) if (alarm := self.see(x))]
        self.raised = bool(raised)
        return raised

    @property
    def evidence(self) -> float:
        """The evidence for a change; an alarm is raised at ``every``.

        >>> InputAlarm().evidence
        0.0
        """
        if self._start is not None:
            return 0.0
        return float(self._weight @ self._sums[0].mean(axis=1))

    @property
    def _columns(self) -> int:
        """How many numbers a row has, with the confidence; at least one."""
        return max(self._dimension + self.confidence, 1)

    def to_bytes(self) -> bytes:
        """The alarm as bytes that :meth:`from_bytes` reads.

        >>> InputAlarm.from_bytes(InputAlarm(reference=50).to_bytes()).reference
        50
        """
        return saved.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The alarm that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`."""
        return saved.from_bytes(data, cls.KIND, cls)

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        random = self._rng.bit_generator.state["state"]
        header = {
            "rows": self.rows,
            "dimension": self._dimension,
            "random": [random["state"], random["inc"]],
        }
        if self._start is not None:
            return header, {"start": np.array(self._start).reshape(-1, self._columns)}
        return header, {name: getattr(self, f"_{name}") for name in _ARRAYS}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        self.rows = number("rows", header["rows"], int, Range(0, 2**53))
        self._dimension = number("dimension", header["dimension"], int, Range(0, 2**31))
        state = dict(self._rng.bit_generator.state)
        most = Range(0, 2**128 - 1)
        chosen = [number("random", part, int, most) for part in header["random"]]
        state["state"] = dict(zip(("state", "inc"), chosen, strict=True))
        self._rng.bit_generator.state = state
        if "start" in arrays:
            start = arrays["start"]
            if start.shape[1:] != (self._columns,) or not 0 <= len(start) < self.reference:
                raise ValueError("start: not rows of the reference")
            self._start = [row.copy() for row in _finite(start)]
            return
        self._start = None
        made = _checked(arrays, self._columns)
        for name, array in made.items():
            setattr(self, f"_{name}", array.copy())
        self._counted, self._weight = int(made["below"][0, BINS]), _weights(self._columns)

    def _row(self, x: ArrayLike, decision: Decision | None) -> Array:
        """The row, and the confidence if that is wanted."""
        if is_sparse(x):
            x = _every_column(x)
        row = validation.row(x, self._dimension or max(1, validation.real("x", x, 1).size))
        self._dimension = row.size
        if not self.confidence:
            return row.copy()
        if decision is None:
            raise TypeError("decision: with confidence, each row needs its decision")
        return np.append(row, abs(decision.margin))

    def _begin(self, rows: Array) -> None:
        """Set the scale and the bins, and begin to count."""
        self._start = None
        self._mean, spread = rows.mean(axis=0), rows.std(axis=0)
        steady = spread <= 1e-9 * (1.0 + np.abs(self._mean))  # constant, but for rounding
        self._spread = np.where(steady, 1.0, spread)
        scores = _scores((rows - self._mean) / self._spread, self._dimension)
        self._edges = np.quantile(scores, np.arange(1, BINS) / BINS, axis=0).T.copy()
        count = scores.shape[1]
        self._weight = _weights(rows.shape[1])
        self._below = np.zeros((count, BINS + 1))
        self._total = np.zeros(count)
        self._counted = 0
        # Weights of the rows at which the change may have begun; rows and scores since.
        self._sums = np.zeros((3, count, len(LINEAR) + len(SPREAD)))

    def _bet(self, scores: Array) -> None:
        """The rank of each score, the factors, and one more row in the bins."""
        above = self._edges >= scores[:, None]
        place = (BINS - 1) - above.sum(axis=1)
        at = np.arange(len(place))
        low, high = self._below[at, place], self._below[at, place + 1]
        u = (low + self._rng.random(len(place)) * (high - low + 1.0)) / (self._counted + 1.0)
        self._below[:, 1:BINS] += above
        self._below[:, BINS] += 1.0
        begun = self._sums[0] + 1.0
        self._sums[0] = begun
        self._sums[1] += begun
        self._sums[2] += begun * scores[:, None]
        self._sums *= bets(u)
        self._total += scores
        self._counted += 1

    def _restart(self, ticket: int) -> Alarm:
        """The alarm, and a new beginning."""
        evidence = self.evidence
        best = np.argmax(self._weight[:, None] * self._sums[0])
        score, bet = divmod(int(best), self._sums.shape[2])
        m, n, s = self._sums[:, score, bet]
        earlier = max(self._counted - n / m, 1.0)
        before = (self._total[score] - s / m) / earlier
        self._start = []
        return Alarm(
            f"input: {self._name(score)}", ticket, evidence, float(before), float(s / n),
            max(0, ticket + 1 - round(n / m)),
        )  # fmt: skip

    def _name(self, score: int) -> str:
        """What a score is about."""
        columns = self._mean.size
        if score >= columns:
            return WHOLE[score - columns]
        return f"feature {score}" if score < self._dimension else "confidence"


def _every_column(x: Any) -> Array:
    """A sparse row as numbers for all columns, since each has scores of its own."""
    columns = x.shape[-1]
    if columns > MOST_SPARSE:
        raise ValueError(
            f"x: an alarm about the input keeps scores of each column, and {columns:,} are too "
            f"many (at most {MOST_SPARSE:,} of sparse rows)"
        )
    dense: Array = x.toarray().ravel()
    return dense


def _weights(columns: int) -> Array:
    """The weight of each score: half for the columns, half for the row as a whole."""
    return np.repeat([0.5 / columns, 0.5 / len(WHOLE)], [columns, len(WHOLE)])


def _finite(array: Array) -> Array:
    if array.dtype != np.float64 or not (np.abs(array) < 1e140).all():
        raise ValueError("an array of an alarm holds NaN or a number beyond all use")
    return array


def _checked(arrays: Arrays, columns: int) -> Arrays:
    """The arrays of an alarm that counts, if they can be that."""
    count = columns + len(WHOLE)
    shapes = ((columns,), (columns,), (count, BINS - 1), (count, BINS + 1), (count,),
              (3, count, len(LINEAR) + len(SPREAD)))  # fmt: skip
    made = {name: _finite(arrays[name]) for name in _ARRAYS}
    sound = all(array.shape == shape for array, shape in zip(made.values(), shapes, strict=True))
    if not (
        sound and (made["spread"] > 0.0).all() and (np.diff(made["edges"]) >= 0.0).all()
        and (made["below"][:, 0] == 0.0).all() and (np.diff(made["below"]) >= 0.0).all()
        and (made["below"][:, BINS] == made["below"][0, BINS]).all()
        and (made["below"] % 1.0 == 0.0).all() and (made["sums"][0] >= 0.0).all()
        and (made["sums"][1] >= made["sums"][0]).all()
    ):  # fmt: skip
        raise ValueError("the arrays are not those of an alarm")
    return made


def _scores(z: Array, dimension: int) -> Array:
    """The columns themselves, and what is said of the rows as a whole."""
    rows = z[..., :dimension]
    whole = (rows.mean(axis=-1), (rows**2).mean(axis=-1), np.abs(rows).max(axis=-1))
    return np.concatenate([z, np.stack(whole, axis=-1)], axis=-1)
