"""What a shard tells the world: one table, whose rows are of five kinds.

- ``prediction`` and ``question``: one row for each event; a question is a prediction whose label is
  wanted, and its ``ticket`` is what the label brings back;
- ``receipt``: one row for each label, and for each question that expired;
- ``metrics``: one row for each shard of a batch, with its totals since the beginning;
- ``dead``: one row for each row of the input that could not be used, and why.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lasec.metrics import Estimate, means
from lasec.spark.index import ShardIndex
from lasec.spark.labels import Labels
from lasec.spark.rows import Columns

_SCHEMA = (
    "kind string, key string, id string, time double, label {0}, margin double, variance double, "
    "propensity double, round bigint, ticket string, y {0}, outcome string, updated boolean, "
    "detail string"
)
_KINDS: dict[str, tuple[Any, Any]] = {
    "string": (object, None),
    "int": (np.int32, 0),
    "bigint": (np.int64, 0),
    "double": (np.float64, np.nan),
    "boolean": (np.bool_, False),
}
_RECEIPT = ("key", "id", "time", "y", "outcome", "ticket", "label", "propensity", "updated")


def schema(labels: str = "int") -> str:
    """The columns, with Spark's type of labels: "int" for -1 and +1, "string" for all others.

    >>> schema("string").split(", ")[4]
    'label string'
    """
    return _SCHEMA.format(labels)


class Pieces:
    """Rows of output, gathered while a batch is served: what a row has not is 0, null or false."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._pieces: list[tuple[int, dict[str, Any]]] = []
        self._receipts: list[tuple[Any, ...]] = []

    def predictions(
        self, events: Columns, served: Any, at: NDArray[np.int64], asked: NDArray[np.bool_],
        tickets: NDArray[Any],
    ) -> None:  # fmt: skip
        """One row for each event."""
        kinds = np.array(["prediction", "question"], object)
        columns = {
            "kind": kinds[asked.view(np.int8)], "key": events.key, "id": events.id,
            "time": events.time, "label": self.labels.cells(served.label[at]),
            "margin": served.margin[at], "variance": served.variance[at],
            "propensity": served.propensity[at], "round": served.ticket[at], "ticket": tickets,
        }  # fmt: skip
        self._pieces.append((len(events), columns))

    def receipt(
        self, key: str, name: str, time: float, y: int, outcome: str, ticket: str,
        label: int = 0, chance: float = math.nan, updated: bool = False,
    ) -> None:  # fmt: skip
        """What became of a label or a question; ``y`` and ``label`` are codes."""
        said, true = self.labels.cell(label), self.labels.cell(y)
        self._receipts.append((key, name, time, true, outcome, ticket, said, chance, updated))

    def dead(self, rows: dict[str, NDArray[Any]]) -> None:
        """What could not be used."""
        self._pieces.append((len(rows["key"]), rows | {"kind": "dead"}))

    def frame(self, index: ShardIndex, reads: dict[str, int]) -> pd.DataFrame:
        """All rows, with the shard's metrics and how it read its pages as the last."""
        lists = zip(*self._receipts, strict=True)
        receipts = dict(zip(_RECEIPT, lists, strict=False)) | {"kind": "receipt"}
        totals = {"kind": "metrics", "detail": json.dumps(metrics(index) | reads)}
        pieces = [*self._pieces, (len(self._receipts), receipts), (1, totals)]
        total = sum(count for count, _ in pieces)
        kinds = (text.split() for text in schema(self.labels.kind).split(", "))
        blanks = {name: _KINDS[kind] for name, kind in kinds}
        columns = {name: np.full(total, blank, kind) for name, (kind, blank) in blanks.items()}
        begin = 0
        for count, piece in pieces:
            for name, values in piece.items() if count else ():
                columns[name][begin : begin + count] = values
            begin += count
        return pd.DataFrame(columns, copy=False)


def metrics(index: ShardIndex) -> dict[str, Any]:
    """A shard's totals and sizes, and its estimated accuracy with a 95 % confidence interval.

    >>> from lasec.spark.index import Head
    >>> metrics(ShardIndex(Head(job="", predicted=3)))["predicted"]
    3
    """
    head = index.head
    names = ("predicted", "asked", "learned", "expired", "other", "dead", "held", "clock")
    numbers: dict[str, Any] = {name: getattr(head, name) for name in names}
    numbers |= {"keys": len(index.keys), "models": index.models, "ledger_bytes": index.size}
    value, low, high, *_ = accuracy([head.sums])
    known = None if math.isnan(value) else value
    found = {"accuracy": known, "accuracy_low": low, "accuracy_high": high}
    return numbers | found | {"accuracy_sums": head.sums}


def accuracy(sums: Iterable[Sequence[float]]) -> Estimate:
    """The estimated accuracy over the events of several shards, from their ``accuracy_sums``.

    It is the estimate of a :class:`lasec.Meter` ("aipw") over all events, with its interval;
    questions without an answer yet count as lost at random. Sums add, in any order; the difference
    of two reports of one shard gives the events between them.

    >>> from lasec.metrics.sums import of_answers, of_rows
    >>> guess, q = np.full(200, 0.1), np.full(200, 0.5)
    >>> events = of_rows(guess, q).sum(axis=0)
    >>> answers = of_answers(guess[::2], q[::2], np.arange(100) % 5 == 0).sum(axis=0)
    >>> f"{accuracy([events, answers]).value:.2f}"
    '0.80'
    """
    return means.accuracy(np.sum([np.asarray(row, np.float64) for row in sums], axis=0))
