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
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lasec.spark.index import ShardIndex
from lasec.spark.rows import Columns

SCHEMA = (
    "kind string, key string, id string, time double, label int, margin double, variance double, "
    "propensity double, round bigint, ticket string, y int, outcome string, updated boolean, "
    "detail string"
)
Z = 1.959963984540054  # of a normal interval at 95 %
_KINDS: dict[str, tuple[Any, Any]] = {
    "string": (object, None),
    "int": (np.int32, 0),
    "bigint": (np.int64, 0),
    "double": (np.float64, np.nan),
    "boolean": (np.bool_, False),
}
_COLUMNS = {name: _KINDS[kind] for name, kind in (text.split() for text in SCHEMA.split(", "))}
_RECEIPT = ("key", "id", "time", "y", "outcome", "ticket", "label", "propensity", "updated")


class Pieces:
    """Rows of output, gathered while a batch is served: what a row has not is 0, null or false."""

    def __init__(self) -> None:
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
            "time": events.time, "label": served.label[at], "margin": served.margin[at],
            "variance": served.variance[at], "propensity": served.propensity[at],
            "round": served.ticket[at], "ticket": tickets,
        }  # fmt: skip
        self._pieces.append((len(events), columns))

    def receipt(
        self, key: str, name: str, time: float, y: int, outcome: str, ticket: str,
        label: int = 0, chance: float = math.nan, updated: bool = False,
    ) -> None:  # fmt: skip
        """What became of a label or a question."""
        self._receipts.append((key, name, time, y, outcome, ticket, label, chance, updated))

    def dead(self, rows: dict[str, NDArray[Any]]) -> None:
        """What could not be used."""
        self._pieces.append((len(rows["key"]), rows | {"kind": "dead"}))

    def frame(self, index: ShardIndex) -> pd.DataFrame:
        """All rows, with the shard's metrics as the last."""
        lists = zip(*self._receipts, strict=True)
        receipts = dict(zip(_RECEIPT, lists, strict=False)) | {"kind": "receipt"}
        totals = {"kind": "metrics", "detail": json.dumps(metrics(index))}
        pieces = [*self._pieces, (len(self._receipts), receipts), (1, totals)]
        total = sum(count for count, _ in pieces)
        columns = {name: np.full(total, blank, kind) for name, (kind, blank) in _COLUMNS.items()}
        begin = 0
        for count, piece in pieces:
            for name, values in piece.items() if count else ():
                columns[name][begin : begin + count] = values
            begin += count
        return pd.DataFrame(columns, copy=False)


def metrics(index: ShardIndex) -> dict[str, float | None]:
    """A shard's totals and sizes, and its accuracy over all events, from the labels it asked for.

    Each answer counts 1/propensity times, which makes up for the easy events that were not asked.
    The interval is Wilson's, at 95 %, for as many answers as weights of this spread are worth.

    >>> from lasec.spark.index import Head
    >>> metrics(ShardIndex(Head(job="", weight=40.0, right=30.0, weight2=400.0)))["accuracy"]
    0.75
    """
    head = index.head
    numbers: dict[str, float | None] = {
        name: getattr(head, name)
        for name in ("predicted", "asked", "learned", "expired", "other", "dead", "held", "clock")
    }
    numbers |= {"keys": len(index.keys), "models": index.models, "ledger_bytes": index.size}
    value, low, high = accuracy(head.weight, head.right, head.weight2)
    known = None if math.isnan(value) else value
    return numbers | {"accuracy": known, "accuracy_low": low, "accuracy_high": high}


def accuracy(weight: float, right: float, weight2: float) -> tuple[float, float, float]:
    """The weighted share of right predictions with its interval, from three sums.

    ``weight`` is the sum of 1/propensity over the answers, ``right`` that over the right ones, and
    ``weight2`` the sum of squares. Sums of several shards, or differences of two batches, do too.

    >>> [round(number, 2) for number in accuracy(40.0, 30.0, 400.0)]
    [0.75, 0.3, 0.95]
    """
    if weight <= 0.0:
        return math.nan, 0.0, 1.0
    share, count = right / weight, weight**2 / weight2
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    return share, max(0.0, middle - half), min(1.0, middle + half)
