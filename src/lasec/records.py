"""What happened in a chunk of rounds, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from lasec import notebook


@dataclass(frozen=True, eq=False, repr=False)
class Rounds:
    """One entry per round: what was predicted, with which propensity it was asked, what came of it.

    ``mistake`` needs the label of every row, asked or not: it is there because ``run`` is a
    simulation in which all labels are known. The model saw nothing of those that were not asked.
    """

    label: NDArray[np.int8]
    margin: NDArray[np.float64]
    variance: NDArray[np.float64]
    propensity: NDArray[np.float64]
    asked: NDArray[np.bool_]
    mistake: NDArray[np.bool_]
    updated: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.label.size)

    @property
    def accuracy(self) -> float:
        """The share of right predictions over all rounds, asked or not (NaN without rounds)."""
        return 1.0 - float(self.mistake.mean()) if len(self) else float("nan")

    @property
    def labels(self) -> int:
        """How many labels were asked for: what the chunk has cost."""
        return int(self.asked.sum())

    @property
    def rate(self) -> float:
        """The share of rounds that were asked (NaN without rounds)."""
        return self.labels / len(self) if len(self) else float("nan")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(rounds={len(self)}, accuracy={self.accuracy:.3f}, "
            f"labels={self.labels}, rate={self.rate:.3f})"
        )

    def _repr_html_(self) -> str:
        """A card in a notebook, with accuracy and share asked over time."""
        facts = {
            "rounds": f"{len(self):,}",
            "right": notebook.percent(self.accuracy),
            "labels asked": f"{self.labels:,} ({notebook.percent(self.rate)})",
        }
        lines = {"right": notebook.windowed(~self.mistake), "asked": notebook.windowed(self.asked)}
        return notebook.card(
            type(self).__name__, facts, notebook.sparkline(lines) if len(self) else ""
        )


@dataclass(frozen=True, eq=False, repr=False)
class Records(Rounds):
    """The consecutive rounds of one learner, the first of which has the ticket ``first``.

    >>> import lasec
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> lasec.Perceptron(dimension=5).run(X, y)
    Records(rounds=1000, accuracy=0.899, labels=1000, rate=1.000)
    """

    first: int = field(kw_only=True)

    @property
    def ticket(self) -> NDArray[np.int64]:
        """The ticket of each round."""
        return self.first + np.arange(len(self))

    @classmethod
    def join(cls, parts: Sequence[Records]) -> Records:
        """The records of consecutive chunks as one.

        >>> import lasec
        >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
        >>> learner = lasec.Perceptron(dimension=5)
        >>> Records.join([learner.run(X[:300], y[:300]), learner.run(X[300:], y[300:])])
        Records(rounds=1000, accuracy=0.899, labels=1000, rate=1.000)
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
        names = [column.name for column in fields(Rounds)]
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(first=parts[0].first, **columns)


@dataclass(frozen=True, eq=False, repr=False)
class FleetRecords(Rounds):
    """The rounds of a fleet, in the order of its batch: each has the key and ticket of its model.

    ``refused`` counts the rows that were too large for their model.

    >>> import lasec
    >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=2, dimension=1)
    >>> records = fleet.run(keys=[1, 0, 1], X=[[1.0], [2.0], [-3.0]], y=[-1, 1, -1])
    >>> records.key.tolist(), records.ticket.tolist(), records.mistake.tolist()
    ([1, 0, 1], [0, 0, 1], [True, False, True])
    """

    key: NDArray[np.int64] = field(kw_only=True)
    ticket: NDArray[np.int64] = field(kw_only=True)
    refused: int = field(kw_only=True)


@dataclass(frozen=True, eq=False, repr=False)
class Served:
    """What came of the rows of :meth:`lasec.Fleet.serve`, in their order.

    Of a question: the predicted label, margin, variance, propensity, whether it is asked, and its
    ticket. Of a label: the ticket that it answers; whether it was ``learned`` (it is skipped where
    its question was not asked after all); ``label`` is what the model said in that moment (0 where
    skipped), and whether that was a ``mistake``; whether the model was ``updated``. What does not
    apply is NaN or False. ``refused`` are rows that are too large for their model.

    >>> import lasec
    >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=2, dimension=1)
    >>> served = fleet.serve([1, 0, 1], [[1.0], [2.0], [1.0]], [0, 0, -1], after=[-1, -1, 0])
    >>> served
    Served(rows=3, asked=2, learned=1, refused=0)
    >>> served.ticket.tolist(), served.asked.tolist(), served.learned.tolist()
    ([0, 0, 0], [True, True, False], [False, False, True])
    """

    label: NDArray[np.int8]
    margin: NDArray[np.float64]
    variance: NDArray[np.float64]
    propensity: NDArray[np.float64]
    ticket: NDArray[np.int64]
    asked: NDArray[np.bool_]
    mistake: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    learned: NDArray[np.bool_]
    refused: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.label.size)

    def __repr__(self) -> str:
        return (
            f"Served(rows={len(self)}, asked={int(self.asked.sum())}, "
            f"learned={int(self.learned.sum())}, refused={int(self.refused.sum())})"
        )
