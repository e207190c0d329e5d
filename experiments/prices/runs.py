"""One run of a stream: with both sources at one budget, with one of them, or with both as truth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import lasec
from experiments.prices.judges import Signs

PRICE = 50.0
Row = dict[str, Any]


class Stream(NamedTuple):
    """Rows, their labels -1 and +1, and the texts where rows are texts."""

    X: Any
    y: Signs
    texts: list[str]


class Told(NamedTuple):
    """What came of a run: the true accuracy, the estimate, and what was paid."""

    accuracy: float
    second_half: float
    estimate: lasec.Estimate | None
    judged: int
    experts: int
    spent: float

    def row(self) -> Row:
        """As a line of a table."""
        one = self.estimate
        found = {
            "accuracy": round(self.accuracy, 4), "second_half": round(self.second_half, 4),
            "estimate": "" if one is None else round(one.value, 4),
            "width": "" if one is None else round(one.width, 4),
            "covers": "" if one is None else int(self.accuracy in one),
        }  # fmt: skip
        paid = {"judged": self.judged, "experts": self.experts, "spent": round(self.spent, 1)}
        return found | paid


def tracker(stream: Stream, seed: int, **options: Any) -> lasec.Tracker:
    """The model of all runs."""
    return lasec.Tracker(None if stream.texts else stream.X.shape[1], seed=seed, **options)


def nested(stream: Stream, said: Signs, money: float, seed: int, **options: Any) -> Told:
    """Both sources, the experts by a draw after the judge."""
    names = ("learn", "total")
    given = {name: options.pop(name) for name in names if name in options}
    price = options.pop("price", PRICE)
    session = lasec.Session(
        tracker(stream, seed), classes=[-1, 1],
        sources=[lasec.Source("judge", 1.0), lasec.Source("experts", price)],
        money=lasec.Money(money, options=options, **given),
    )  # fmt: skip
    right = np.zeros(len(stream.y), dtype=bool)
    for t, (true, answer) in enumerate(zip(stream.y.tolist(), said.tolist(), strict=True)):
        decision = session.ask(stream.X[t])
        right[t] = decision.label == true
        if decision.source is not None:
            step = session.tell(decision.ticket, answer, by="judge")
            if step.source is not None:
                session.tell(decision.ticket, true, by="experts")
    paid = session.spent
    judged, experts = round(paid["judge"]), round(paid["experts"] / price)
    return _told(right, session.accuracy(), judged, experts, sum(paid.values()))


def alone(stream: Stream, said: Signs, money: float, price: float, seed: int) -> Told:
    """One source for all the money, told as truth: the experts, or the judge at the price 1."""
    session = lasec.Session(tracker(stream, seed, rate=min(1.0, money / price)), classes=[-1, 1])
    right = np.zeros(len(stream.y), dtype=bool)
    for t, (true, answer) in enumerate(zip(stream.y.tolist(), said.tolist(), strict=True)):
        decision = session.ask(stream.X[t])
        right[t] = decision.label == true
        if decision.asked:
            session.tell(decision.ticket, answer)
    labels = session.meter.labels
    honest = session.accuracy() if np.array_equal(said, stream.y) else None
    mine = (0, labels) if honest else (labels, 0)
    return _told(right, honest, *mine, labels * price)


def _told(
    right: Any, estimate: lasec.Estimate | None, judged: int, experts: int, spent: float
) -> Told:
    half = len(right) // 2
    return Told(float(right.mean()), float(right[half:].mean()), estimate, judged, experts, spent)
