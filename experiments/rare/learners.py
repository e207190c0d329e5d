"""The learners of the study: what each says of every row before its label, and what it asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lasec
from lasec.queries import Uniform
from lasec.rules import Tracking

STEP = 0.003  # River's learning rate, by the command with --settings


class Said(NamedTuple):
    """A score that rises with P(positive), whether a row is called positive, and was asked."""

    score: NDArray[np.float64]
    positive: NDArray[np.bool_]
    asked: NDArray[np.bool_]


def tracker(
    X: Any, y: Any, rate: float, seed: int, weight: Any = None, tilt: float | None = None,
    audit: float | None = None,
) -> Said:  # fmt: skip
    """The Tracker, as it is or with class weights; other settings for their study."""
    rule = None if tilt is None else Tracking(tilt=tilt)
    spread: dict[str, Any] = {} if audit is None else {"audit": audit}
    made = lasec.Tracker(
        rate=rate, class_weight=weight, rule=rule, horizon=len(y), seed=seed, **spread
    )
    return _said(made.run(X, np.where(y, 1, -1)))


def uniform(X: Any, y: Any, rate: float, seed: int) -> Said:
    """The Tracker with balanced weights, whose labels are asked uniformly."""
    made = lasec.Tracker(class_weight="balanced", seed=seed)
    made.query = Uniform(rate)
    return _said(made.run(X, np.where(y, 1, -1)))


def _said(records: lasec.Records) -> Said:
    return Said(records.margin, records.label > 0, records.asked)


def river(X: Any, y: Any, rate: float, seed: int, step: float = STEP) -> Said:
    """River's logistic regression on standardized rows, asked uniformly.

    A label counts by one over twice the share of its class among the labels so far.
    """
    from river import linear_model, optim, preprocessing  # noqa: PLC0415

    asked = lasec.uniforms(seed, 0, len(y))[:, 0] < rate
    scaler = preprocessing.StandardScaler()
    model = linear_model.LogisticRegression(optim.SGD(step))
    score, counts = np.empty(len(y)), [1, 1]
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(x))
        scaler.learn_one(row)
        row = scaler.transform_one(row)
        score[t] = model.predict_proba_one(row)[True]
        if asked[t]:
            counts[label] += 1
            model.learn_one(row, label, w=sum(counts) / (2.0 * counts[label]))
    return Said(score, score >= 0.5, asked)


def majority(X: Any, y: Any, rate: float, seed: int) -> Said:
    """Every row is negative."""
    none = np.zeros(len(y), dtype=bool)
    return Said(np.zeros(len(y)), none, none)


def balanced(X: Any, y: Any, rate: float, seed: int) -> Said:
    """The Tracker with balanced class weights."""
    return tracker(X, y, rate, seed, weight="balanced")


LEARNERS: dict[str, Callable[..., Said]] = {
    "Tracker, balanced": balanced,
    "Tracker": tracker,
    "Tracker, uniform asking": uniform,
    "River, class weights": river,
    "majority": majority,
}

TILTS, AUDITS, STEPS = (0.0, 0.25, 0.5, 1.0), (0.1, 0.2, 0.5), (0.001, 0.003, 0.01, 0.1)
SETTINGS = {f"tilt {tilt:g}, audit {audit:g}": (tilt, audit) for tilt in TILTS for audit in AUDITS}
OTHERS = {f"River, learning rate {step:g}": step for step in STEPS}


def by_setting(setting: str, X: Any, y: Any, rate: float, seed: int) -> Said:
    """The balanced Tracker or River with other settings."""
    if setting in OTHERS:
        return river(X, y, rate, seed, OTHERS[setting])
    tilt, audit = SETTINGS[setting]
    return tracker(X, y, rate, seed, "balanced", tilt, audit)
