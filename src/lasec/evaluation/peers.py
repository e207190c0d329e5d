"""The run of a model of another library, on the same rows and with the same kind of summary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import validation
from lasec.evaluation.account import Account
from lasec.evaluation.loop import heard, labels_of, pieces
from lasec.evaluation.points import Status
from lasec.evaluation.summary import RunSummary
from lasec.evaluation.tally import Margins
from lasec.records import Records
from lasec.session import AnyModel

Array = NDArray[np.float64]


def evaluate_peer(
    model: AnyModel,
    X: ArrayLike,
    y: ArrayLike,
    *,
    times: ArrayLike | None = None,
    into: RunSummary | None = None,
) -> RunSummary:
    """Ask and tell along a stream, as :func:`lasec.evaluate` does, with anybody's model.

    ``model`` comes from :func:`lasec.session.around`. Answers come at once.

    >>> import lasec
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = lasec.streams.stationary(1_000, dimension=5, seed=1)
    >>> sgd = SGDClassifier(loss="log_loss", random_state=0)
    >>> model = lasec.session.around(sgd, classes=[-1, 1], rate=0.2, seed=0)
    >>> run = evaluate_peer(model, X, y)
    >>> run.rows, run.labels, run.accuracy in run.estimate
    (1000, 213, True)
    """
    into = RunSummary() if into is None else into
    rows = validation.finite("X", validation.real("X", X, 2))
    labels = labels_of(y, len(rows))
    when = None if times is None else validation.times(times, len(rows))
    now = into.begin(len(rows))
    if now.rows == 0:
        now.first, now.before = model.selector.rows, model.selector.asked
        now.margins = Margins.none(bounded=True)
    now.ids(None, len(rows))
    true = now.places(labels, new=True)
    parts = [
        _piece(
            model,
            now,
            rows[cut],
            (labels[cut], true[cut]),
            None if when is None else when[cut],
        )
        for cut in pieces(now, len(rows))
        if cut.stop > cut.start
    ]
    if parts:
        into.commit(now, Records.join(parts), [])
    return into


def _piece(
    model: AnyModel, now: Account, X: Array, labels: tuple[NDArray[Any], NDArray[np.int64]],
    times: Array | None,
) -> Records:  # fmt: skip
    """Some rows, up to the next point."""
    y, true = labels
    first = model.selector.rows
    two = now.classes if len(now.classes) <= 2 else []
    told = [
        _step(model, x, label, None if times is None else float(times[t]), two)
        for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True))
    ]
    said, sign, margin, chance, asked = (list(column) for column in zip(*told, strict=True))
    label = labels_of(said, len(y))
    known = true >= 0
    records = Records(
        label, np.array(margin), np.zeros(len(y)), np.array(chance), np.array(asked),
        known & (label != y), np.array(asked) & known, first=first, labeled=known,
        sign=np.array(sign, dtype=np.int8),
    )  # fmt: skip
    clock: Array = np.asarray(records.ticket + 1.0 if times is None else times, np.float64)
    status = _status(model, now, None if times is None else float(times[-1]))
    now.add(heard(records, true, np.full(len(y), -1), clock, now), status)
    return records


def _step(
    model: AnyModel, row: Any, label: Any, time: float | None, two: list[Any]
) -> tuple[Any, int, float, float, bool]:
    """One row: prediction, sign, margin, query probability, and whether it is asked."""
    told = model.ask(row, time)
    decision = told.decision
    if decision.asked and validation.is_missing(label):
        model.cancel(decision.ticket)
    elif decision.asked:
        model.tell(decision.ticket, label)
    sign = 0 if told.label is None else -1 if two and told.label == two[0] else 1
    margin = sign * decision.margin
    return told.label, sign, margin, decision.propensity, decision.asked


def _status(model: AnyModel, now: Account, time: float | None) -> Status:
    selector = model.selector
    planned = selector.query.planned(selector.query_state)
    return Status(selector.asked - now.before, planned - now.before, time=time)
