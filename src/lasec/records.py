"""What came of many rows, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import notebook

_FURTHER = ("labeled", "sign")
_FILLED: Any = None  # by __post_init__, where the columns of one learner's run determine it


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """One entry per row: the prediction, the propensity of asking, and what came of it.

    From :meth:`lasec.Learner.run` (``all_labels``), a row is a question and its label. ``mistake``
    then needs the label of every row, asked or not: it is there because ``run`` is a simulation in
    which labels are known. The model saw nothing of those that were not asked, and has ``learned``
    those that were. A row that is not ``labeled`` is no mistake, and its question, if it was asked,
    has gone unanswered.

    From :meth:`lasec.Fleet.serve`, a row is a question or a label. Of a label, ``ticket`` is the
    one that it answers, and ``learned`` says whether it was learned (it is skipped where its
    question was not asked after all); ``label`` is what the model predicted just before (0 where
    skipped), ``mistake`` whether that was wrong, ``updated`` whether the model changed. What does
    not apply is NaN or False.

    ``sign`` is what the margin speaks for: -1 is the first of two classes, +1 the second, or of
    more classes the one that was predicted. It is 0 up to the first label that is learned: a
    session shows no prediction for such rows, and they are part of no estimate (``label`` and
    ``mistake`` are there what the algorithm's paper says).

    ``first`` is the ticket of the first row, where they are consecutive steps of one learner;
    ``key`` is the model of each row in a fleet, and ``refused`` are rows too large for their model.

    >>> import lasec
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> lasec.Perceptron(dimension=5).run(X, y)
    Records(rows=1000, accuracy=0.899, labels=1000, rate=1.000)
    >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=2, dimension=1)
    >>> served = fleet.serve([1, 0, 1], [[1.0], [2.0], [1.0]], [0, 0, -1], after=[-1, -1, 0])
    >>> served
    Records(rows=3, asked=2, learned=1, refused=0)
    >>> served.ticket.tolist(), served.asked.tolist(), served.learned.tolist()
    ([0, 0, 0], [True, True, False], [False, False, True])
    """

    label: NDArray[np.int16]
    margin: NDArray[np.float64]
    variance: NDArray[np.float64]
    propensity: NDArray[np.float64]
    asked: NDArray[np.bool_]
    mistake: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    first: int = field(default=0, kw_only=True)
    ticket: NDArray[np.int64] = field(default=_FILLED, kw_only=True)
    learned: NDArray[np.bool_] = field(default=_FILLED, kw_only=True)
    refused: NDArray[np.bool_] = field(default=_FILLED, kw_only=True)
    labeled: NDArray[np.bool_] = field(default=_FILLED, kw_only=True)
    sign: NDArray[np.int8] = field(default=_FILLED, kw_only=True)
    key: NDArray[np.int64] | None = field(default=None, kw_only=True)
    all_labels: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.sign is _FILLED:  # before classes have names, labels are -1 and 1, or 1, 2, ...
            vars(self).update(sign=np.where(self.label < 0, -1, 1).astype(np.int8))
        if self.labeled is _FILLED:
            vars(self).update(labeled=np.full(len(self), self.all_labels))
        if self.ticket is _FILLED:
            ticket = np.arange(self.first, self.first + len(self))
            refused = np.zeros(len(self), dtype=np.bool_)
            vars(self).update(ticket=ticket, learned=self.asked & self.labeled, refused=refused)

    def __len__(self) -> int:
        return int(self.label.size)

    @property
    def accuracy(self) -> float:
        """The share of correct predictions over all labeled rows, asked or not.

        Rows before the first label are among them, as the papers count; a
        :class:`~lasec.RunSummary` leaves them out. NaN without such rows.
        """
        known = self.mistake[self.labeled]
        return 1.0 - float(known.mean()) if self.all_labels and known.size else float("nan")

    @property
    def labels(self) -> int:
        """How many labels were asked for: what the chunk has cost."""
        return int(self.asked.sum())

    @property
    def rate(self) -> float:
        """The share of rows that were asked (NaN without rows)."""
        return self.labels / len(self) if len(self) else float("nan")

    def __repr__(self) -> str:
        if self.all_labels:
            return (
                f"Records(rows={len(self)}, accuracy={self.accuracy:.3f}, labels={self.labels}, "
                f"rate={self.rate:.3f})"
            )
        return (
            f"Records(rows={len(self)}, asked={self.labels}, learned={int(self.learned.sum())}, "
            f"refused={int(self.refused.sum())})"
        )

    def _repr_html_(self) -> str:
        """A card in a notebook, with accuracy and share asked over time."""
        facts = {
            "rows": f"{len(self):,}",
            "right": notebook.percent(self.accuracy),
            "labels asked": f"{self.labels:,} ({notebook.percent(self.rate)})",
        }
        lines = {"right": notebook.windowed(~self.mistake), "asked": notebook.windowed(self.asked)}
        return notebook.card("Records", facts, notebook.sparkline(lines) if len(self) else "")

    @classmethod
    def questions(cls, columns: Sequence[Any], first: int, sign: Any = _FILLED) -> Records:
        """The records of rows whose labels are not known yet, from their first seven columns."""
        none = np.zeros(len(columns[0]), dtype=np.bool_)
        return cls(*columns, first=first, labeled=none, sign=sign, all_labels=False)

    @classmethod
    def join(cls, parts: Sequence[Records]) -> Records:
        """The records of consecutive chunks as one.

        >>> import lasec
        >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
        >>> learner = lasec.Perceptron(dimension=5)
        >>> Records.join([learner.run(X[:300], y[:300]), learner.run(X[300:], y[300:])])
        Records(rows=1000, accuracy=0.899, labels=1000, rate=1.000)
        """
        if not parts:
            raise ValueError("parts: there is nothing to join")
        expected = parts[0].first
        for part in parts:
            if part.first != expected:
                raise ValueError(
                    f"parts: expected one that begins at ticket {expected}, got {part.first}"
                )
            expected += len(part)
        names = [column.name for column in fields(cls)[:7]]
        columns = [_together([getattr(part, name) for part in parts]) for name in names]
        labeled, sign = (np.concatenate([getattr(p, n) for p in parts]) for n in _FURTHER)
        first, known = parts[0].first, parts[0].all_labels
        return cls(*columns, first=first, labeled=labeled, sign=sign, all_labels=known)


def _together(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Columns end to end; labels of different kinds stay what they are."""
    kinds = {column.dtype.kind for column in columns}
    return np.concatenate([c.astype(object) for c in columns] if len(kinds) > 1 else list(columns))
