"""Detect a change of the input distribution: no label is needed.

Means of blocks of 64 to 16,384 rows are compared with how much such means differ anyway
(:mod:`lasec.alarms.blocks`), so cycles, slow trends and autocorrelation are no alarms. All columns
that change together are one alarm, a way back is none, and after an alarm there is a quiet time
(:mod:`lasec.alarms.quiet`).

The threshold is that of one false alarm in 5 ``every`` rows if all channels and blocks were
independent normal variables. That is a calibration, no theorem: docs/alarms.md has the false alarms
that were measured, by kind of stream.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import validation
from lasec.alarms.alarm import Alarm
from lasec.alarms.blocks import BASE, LEVEL, MISSING, WHOLE, Blocks, Change
from lasec.alarms.quiet import Quiet
from lasec.parameters import Range, number
from lasec.persistence import record
from lasec.persistence.record import Count, Shape
from lasec.sparse import checked, is_sparse
from lasec.types import Decision, Outcome

Array = NDArray[np.float64]

_CELLS = Range(-validation.LARGEST_ENTRY, validation.LARGEST_ENTRY, also=(math.nan,))
MOST_SPARSE = 10_000  # columns of sparse rows
SIDES = 2
MARGIN = 5.0  # the threshold is for so many times fewer alarms: scores are not quite normal
BLOCKS = 4 / 3 / BASE  # blocks of all lengths in a row


class InputAlarm:
    """Raises an alarm when the distribution of a column has changed; it needs no labels.

    It cannot detect concept drift that leaves the input distribution unchanged, nor a change of
    correlations alone. The first ``reference`` rows only set the scale. A change must last 200 rows
    or more, and is found the sooner, the larger it is.

    Parameters
    ----------
    every
        Rows in which there should be at most one false alarm; see :mod:`lasec.alarms.inputs`.
    reference
        First rows that set the scale; a multiple of 64 is used.
    confidence
        Make abs(margin) of each decision one more column. It then also detects changes of the
        model's confidence, and takes its learning for one.
    names
        The names of the columns, for the ``kind`` of an alarm: "input: price".

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = 20.0 + 3.0 * rng.standard_normal((6_000, 2))
    >>> X[4_000:, 1] += 3.0
    >>> for alarm in InputAlarm(names=["age", "price"]).extend(X):
    ...     print(alarm.kind, alarm.what, round(alarm.before), round(alarm.after), alarm.ticket)
    input: price mean 20 23 4287
    """

    KIND = "input-alarm"

    def __init__(
        self,
        every: float = 100_000,
        reference: int = 2_048,
        confidence: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        self.every = float(number("every", every, float, Range(1.0, 1e15)))
        self.reference = int(number("reference", reference, int, Range(16 * BASE, 1_000_000)))
        self.confidence = bool(number("confidence", confidence, bool, None))
        self.names = [*names]
        if not all(isinstance(name, str) for name in self.names):
            raise TypeError("names: expected the names of columns as text")
        self.raised = False
        self.rows = 0
        self.quiet = Quiet()
        self._blocks: Blocks | None = None  # from the end of the reference on
        self._buffer = np.empty((0, 0))
        self._filled = self._dimension = 0

    def ask(self, decision: Decision, x: ArrayLike | None = None) -> Alarm | None:
        """The same as :meth:`see`, with the arguments in the order of the other alarms."""
        if x is None:
            raise TypeError("x: an alarm about the input needs the row")
        return self.see(x, decision)

    def tell(self, outcome: Outcome) -> Alarm | None:
        """Labels are not used."""
        self.raised = False
        return None

    def cancel(self, ticket: int) -> Alarm | None:
        """Canceled questions are not used."""
        self.raised = False
        return None

    def see(self, x: ArrayLike, decision: Decision | None = None) -> Alarm | None:
        """Record a row, NaN where a cell is missing.

        Without a decision, rows have tickets 0, 1, 2 and so on.
        """
        row = self._row(x)
        if self.confidence and decision is None:
            raise TypeError("decision: with confidence, each row needs its decision")
        ticket = self.rows if decision is None else decision.ticket
        if not self._filled:
            self._clear(row.size)
        if self.confidence and decision is not None:
            row = np.append(row, abs(decision.margin))
        self.raised = False
        return self._take(row[None], ticket)

    def extend(self, X: ArrayLike) -> list[Alarm]:
        """All alarms of a chunk of rows.

        >>> InputAlarm().extend(np.random.default_rng(1).standard_normal((5_000, 3)))
        []
        """
        rows = self._usable(validation.real("X", X, 2))
        if self.confidence:
            raise TypeError("extend: with confidence, each row needs its decision; use see")
        found: list[Alarm] = []
        at = 0
        while at < len(rows):
            if not self._filled:
                self._clear(rows.shape[1])
            part = rows[at : at + len(self._buffer) - self._filled]
            at += len(part)
            alarm = self._take(part, self.rows + len(part) - 1)
            found += [alarm] if alarm else []
        self.raised = bool(found)
        return found

    def to_bytes(self) -> bytes:
        """The alarm as bytes that :meth:`from_bytes` reads."""
        return record.dump(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The alarm that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`."""
        return record.load(cls, data)

    @property
    def _state(self) -> _State:
        rows = self._buffer[: self._filled]
        return _State(self.rows, self._dimension, self.quiet, self._blocks, rows)

    @_state.setter
    def _state(self, found: _State) -> None:
        self.rows, self._dimension, self.quiet, self._blocks, rows = found
        if self._blocks is not None:
            self._blocks.threshold = self._threshold
        widths = [] if self._blocks is None else [self._blocks.width.size - len(WHOLE)]
        widths += [rows.shape[1]] if len(rows) else []
        if {*widths} - {self._columns}:  # before room is made for them
            raise ValueError(f"the rows have not {self._columns} columns")
        if widths:
            self._clear(self._dimension)
            self._buffer[: len(rows)], self._filled = rows, len(rows)

    def validate(self) -> str:
        """Why this is not an alarm; empty if it can be one."""
        full = self._filled and self._filled == len(self._buffer)
        return "a block of rows is complete, and not judged" if full else ""

    @property
    def _columns(self) -> int:
        return self._dimension + self.confidence

    @property
    def _threshold(self) -> float:
        """The score of a change: that of one false alarm in 5 ``every`` rows."""
        channels = 3 * self._columns + len(WHOLE)
        tests = MARGIN * channels * self.every * BLOCKS
        return NormalDist().inv_cdf(1.0 - 1.0 / max(tests, 10.0) / SIDES)

    def _clear(self, dimension: int) -> None:
        """Make room for the rows of the reference, or of a block."""
        self._dimension = dimension
        size = BASE if self._blocks else self.reference
        if self._buffer.shape != (size, self._columns):
            self._buffer = np.empty((size, self._columns))

    def _row(self, x: ArrayLike) -> Array:
        """A row that :meth:`_usable` has seen."""
        row = _every_column(x) if is_sparse(x) else validation.real("x", x, 1)
        return self._usable(row)

    def _usable(self, rows: Array) -> Array:
        """The rows; what is no number of a usable size is missing."""
        width = rows.shape[-1]
        if width != (self._dimension or width) or not width:
            raise ValueError(f"x: expected {self._dimension or 'some'} features, got {width}")
        if rows.size and not np.abs(rows).max() <= validation.LARGEST_ENTRY:
            return np.where(np.abs(rows) <= validation.LARGEST_ENTRY, rows, np.nan)
        return rows

    def _take(self, rows: Array, ticket: int) -> Alarm | None:
        """Add rows for which the buffer has room, the last of them with this ticket."""
        end = self._filled + len(rows)
        self._buffer[self._filled : end] = rows
        self.rows += len(rows)
        self._filled = end
        return self._judged(ticket) if end == len(self._buffer) else None

    def _judged(self, ticket: int) -> Alarm | None:
        """Begin with the reference, or add a block."""
        self._filled = 0
        if self._blocks is None:
            self._blocks = Blocks.begin(self._buffer, self._threshold)
            return None
        changes = self._blocks.add(self._buffer)
        if not changes or not self.quiet.change(self.rows):
            return None
        self.raised = True
        return self._alarm(ticket, changes)

    def _alarm(self, ticket: int, changes: list[Change]) -> Alarm:
        """What is said of the changes: the clearest, and how many others there are."""
        first = changes[0]
        return Alarm(
            f"input: {self._name(first.column)}", ticket, first.score, first.before, first.after,
            max(0, ticket + 1 - first.rows), what=self._what(first), others=len(changes) - 1,
            effect=first.effect,
            quiet=ticket + 1 + self.quiet.length if self.quiet.often else 0,
        )  # fmt: skip

    def _what(self, change: Change) -> str:
        """What of a column has changed."""
        if change.channel == LEVEL:
            assert self._blocks is not None
            return "share" if self._blocks.is_share(change) else "mean"
        return "missing" if change.channel == MISSING else "spread"

    def _name(self, column: int) -> str:
        """The column by its name, or its number."""
        if column >= self._columns:
            return WHOLE[column - self._columns]
        if column >= self._dimension:
            return "confidence"
        named = len(self.names) == self._dimension
        return self.names[column] if named else f"feature {column}"


class _State(NamedTuple):
    """What an alarm remembers, but for its parameters; ``waiting`` rows are no whole block yet."""

    rows: Count
    dimension: Annotated[int, Range(0, 2**31)]
    quiet: Quiet
    blocks: Blocks | None
    waiting: Annotated[Array, Shape("waiting", "columns"), _CELLS]


def _every_column(x: Any) -> Array:
    """A sparse row as numbers for all columns, since each has blocks of its own."""
    columns = x.shape[-1]
    if columns > MOST_SPARSE:
        raise ValueError(
            f"x: an alarm about the input keeps means of each column, and {columns:,} are too "
            f"many (at most {MOST_SPARSE:,} of sparse rows)"
        )
    dense: Array = checked("x", x).toarray().ravel()
    return dense
