"""Judges: what each says of a stream, by the truth, by a few labels, or by the words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int64]
Shares = NDArray[np.float64]

LABELED = 100
# Written for short messages of any kind; not tuned on those that it is measured on.
SPAM = re.compile(
    r"free|win|prize|claim|urgent|cash|txt|call now|guarante|check out|subscribe|www\.|http"
    r"|\b\d{5}\b",
    re.IGNORECASE,
)


def errors(judge: str, y: Signs, hard: Shares) -> Shares:
    """The probability that a judge errs, row by row; ``hard`` is the model's own doubt."""
    n = len(y)
    part = np.arange(n) / n
    kinds: dict[str, Any] = {
        "95 %": np.full(n, 0.05), "90 %": np.full(n, 0.1), "80 %": np.full(n, 0.2),
        "hard rows": 0.8 * hard, "by class": np.where(y > 0, 0.25, 0.02),
        "drifting": 0.03 + 0.37 * part, "turncoat": np.where(part < 0.5, 0.03, 0.97),
        "coin": np.full(n, 0.5), "always wrong": np.ones(n),
    }  # fmt: skip
    return np.asarray(kinds[judge], dtype=np.float64)


DRAWN = ("95 %", "90 %", "80 %", "hard rows", "by class", "drifting", "turncoat", "coin",
         "always wrong")  # fmt: skip


def drawn(judge: str, y: Signs, hard: Shares, seed: int) -> Signs:
    """What a judge with these errors says."""
    rng = np.random.default_rng([seed, DRAWN.index(judge), 11])
    return np.where(rng.random(len(y)) < errors(judge, y, hard), -y, y)


def fitted(X: Any, y: Signs, seed: int) -> Signs:
    """A logistic regression that somebody fitted on a hundred rows: it errs systematically."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    rows = np.random.default_rng([seed, 5]).choice(len(y), LABELED, replace=False)
    for sign in (-1, 1):  # at least one label of each class
        rows[sign] = rows[sign] if (y[rows] == sign).any() else np.flatnonzero(y == sign)[0]
    scaler = StandardScaler(with_mean=not hasattr(X, "tocsr"))
    model = make_pipeline(scaler, LogisticRegression(max_iter=1_000))
    return np.asarray(model.fit(X[rows], y[rows]).predict(X), dtype=np.int64)


def worded(texts: list[str]) -> Signs:
    """A regular expression of words that spam has."""
    return np.array([1 if SPAM.search(text) else -1 for text in texts])
