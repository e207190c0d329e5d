"""Streams that are drawn, with a model that is too sure of itself: coverage and width by judge."""

from __future__ import annotations

from typing import Any

import numpy as np

import lasec
from experiments.prices.judges import DRAWN, drawn
from lasec.queries import Budgeted
from lasec.selector import Selector
from lasec.session import AnyModel, Judged

ROWS, SPREAD, OVER = 5_000, 1.9, 1.3
Row = dict[str, Any]


def one(judge: str, money: float, price: float, classes: int, seed: int) -> Row:
    """A stream; the judge "none" is experts alone, for all the money."""
    p, said, true, answers = stream(judge, classes, seed)
    names = list(range(classes))
    at = iter(range(ROWS))
    query = Budgeted(rate=money / price)
    model = AnyModel(
        lambda t: Judged(int(said[t]), margin=2 * p[t] - 1, certainty=2 * p[t] - 1),
        lambda row, label, ticket: None,
        Selector(query, seed=seed),
    )
    more: dict[str, Any] = {}
    if judge != "none":
        sources = [lasec.Source("judge", 1.0), lasec.Source("experts", price)]
        more = {"sources": sources, "money": lasec.Money(money, learn=1.0), "classes": names}
    session = lasec.Session(model, **more)
    for t in at:
        decision = session.ask(t)
        if decision.source is not None:
            step = session.tell(decision.ticket, int(answers[t]), by="judge")
            if step.source is None:
                continue
        if decision.asked:
            session.tell(decision.ticket, int(true[t]), by="experts")
    return _found(session, said, true, answers, price)


def stream(judge: str, classes: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """P(right) as the model has it, its predictions, the true classes, the judge's answers."""
    rng = np.random.default_rng([seed, 3])
    odds = np.abs(rng.normal(0.0, SPREAD, ROWS))
    right = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-odds))
    p = 1.0 / (1.0 + np.exp(-OVER * odds))
    said = rng.integers(0, classes, ROWS)
    true = np.where(right, said, (said + rng.integers(1, classes, ROWS)) % classes)
    if judge == "none":
        return p, said, true, true
    errs = drawn(judge, np.where(true == 1, 1, -1), 1.0 - p, seed) != np.where(true == 1, 1, -1)
    answers = np.where(errs, (true + rng.integers(1, classes, ROWS)) % classes, true)
    return p, said, true, answers


def _found(session: lasec.Session, said: Any, true: Any, answers: Any, price: float) -> Row:
    """Each estimate against the truth."""
    accuracy = float((said == true).mean())
    row = _against("accuracy", session.accuracy(), accuracy)
    row["experts"] = session.meter.labels
    row["spent"] = session.meter.labels * price
    if session.buying is not None:
        row["judged"] = session.buying.questions
        row["spent"] = sum(session.spent.values())
        table, own = session.buying.predicted, (said == 1) & (true == 1)
        truth = {
            "recall": own.sum() / (true == 1).sum(),
            "precision": own.sum() / (said == 1).sum(),
        }
        for name, value in truth.items():
            row |= _against(name, table.estimate(name, positive=1), float(value))
    return row


def _against(name: str, found: lasec.Estimate, truth: float) -> Row:
    return {
        f"{name}_off": found.value - truth,
        f"{name}_width": found.width,
        f"{name}_covers": int(truth in found),
    }


JUDGES = ("none", *DRAWN)
