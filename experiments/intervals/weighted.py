"""The accuracy by other estimators than the meter's, from the rows of a run, for the tables.

Of T rows, with Z whether a row's answer came, q the probability of asking times the share of the
answers that came, and e the error::

    ipw      1 - (sum of Z e/q)/T                  unbiased; Horvitz and Thompson, 1952
    snipw    the mean of e is n (sum of Z e/q)/(sum of Z/q) of the n rows of each prediction;
             nearly unbiased; Hajek, 1971
    decay    the meter's estimate, with weights that fall to 1/e within ``FADE`` rows

Variances are sums over answers of (1 - q) r^2/q^2, with r the error, the error less its weighted
mean, or the error less the model's guess; intervals are made of them as the meter makes its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.intervals.scenarios import ALPHA, FADE, WINDOW, Run
from lasec.metrics import Estimate, means
from lasec.metrics.means import Total
from lasec.metrics.sums import SURE, doubt

Floats = NDArray[np.float64]

PANE = math.ceil(WINDOW / 32)  # the meter's rows share their weights in panes


class Rows(NamedTuple):
    """The rows that an estimate covers, a column each; ``q`` is that of asking alone."""

    predicted: Floats
    guess: Floats
    q: Floats
    wrong: Floats
    answered: NDArray[np.bool_]
    lost: NDArray[np.bool_]

    @property
    def terms(self) -> Floats:
        """The error less the model's guess of it, over q, where it was answered; else 0."""
        d = np.zeros(self.q.size)
        on = self.answered
        d[on] = (self.wrong[on] - self.guess[on]) / self.q[on]
        return d


def estimated(run: Run, name: str) -> Estimate:
    """One of "ipw", "snipw" and "decay", of the rows that the meter's estimate covers."""
    until = run.meter.accuracy.until
    records = run.records
    asked, heard = records.asked[:until], run.heard[:until]
    rows = Rows(
        records.label[:until].astype(np.float64),
        doubt(records.label[:until], records.margin[:until]).clip(*SURE),
        records.propensity[:until],
        records.mistake[:until].astype(np.float64),
        asked & heard,
        asked & ~heard,
    )
    weights = np.ones(until)
    if name == "decay":
        ends = np.minimum((np.arange(until) // PANE + 1) * PANE, until)
        weights = np.exp(-(until - ends) / FADE)
    answered = float((weights / rows.q.clip(1e-30))[rows.answered].sum())
    missing = float((weights / rows.q.clip(1e-30))[rows.lost].sum())
    if answered == 0.0:
        return Estimate(math.nan, 0.0, 1.0, until, 0, until)
    share = answered / (answered + missing)
    found = {"ipw": _ipw, "snipw": _snipw, "decay": _decayed}[name](rows, weights, share)
    return _interval(rows, weights, share, found, until, counted=name == "decay")


def _ipw(rows: Rows, weights: Floats, share: float) -> Total:
    """The weighted sum of the errors."""
    q = rows.q[rows.answered] * share
    wrong = rows.wrong[rows.answered]
    return Total(float((wrong / q).sum()), float((wrong * (1.0 - q) / q**2).sum()))


def _snipw(rows: Rows, weights: Floats, share: float) -> Total:
    """The same, normalized by the sum of the weights, of the rows of each prediction."""
    value = variance = 0.0
    for label in (1.0, -1.0):
        mine = rows.predicted == label
        count, on = float((mine & (rows.q > 0.0)).sum()), mine & rows.answered
        if count == 0.0:
            continue
        q = rows.q[on] * share
        if not q.size:
            return Total(math.nan, math.nan)
        mean = float((rows.wrong[on] / q).sum() / (1.0 / q).sum())
        scale = count / float((1.0 / q).sum())
        spread = float(((1.0 - q) / q**2 * (rows.wrong[on] - mean) ** 2).sum())
        value, variance = value + count * mean, variance + scale * scale * spread
    return Total(value, variance)


def _decayed(rows: Rows, weights: Floats, share: float) -> Total:
    """The sum of the guesses, corrected by the answers, all of them weighted."""
    on, blind = rows.answered, rows.q == 0.0
    d, q = rows.terms[on], rows.q[on]
    guess = weights * rows.guess
    chance = np.where(blind, 1.0, rows.q)
    expected = weights**2 * (1.0 - chance) / chance * rows.guess * (1.0 - rows.guess)
    return Total(
        float(guess.sum() + (weights[on] * d).sum() / share),
        float((weights[on] ** 2 * d * d * (1.0 / share**2 - q / share)).sum()),
        float(expected.sum()) / share,
        float(guess[blind].sum()),
        float((weights - guess)[blind].sum()),
    )


def _interval(
    rows: Rows, weights: Floats, share: float, found: Total, until: int, *, counted: bool
) -> Estimate:
    """The accuracy of a sum of errors; ``counted`` are the rows that could not be asked, too."""
    on = rows.answered
    w, q, wrong = weights[on], rows.q[on], rows.wrong[on] > 0.0
    u = w**2 * (1.0 - q) * rows.terms[on] ** 2
    count, labels = float(weights[(rows.q > 0.0) | counted].sum()), float(w.sum())
    once, twice = w / q, (w / q) ** 2
    seen = means.seen_by(
        labels, (float(once.sum()), float(twice.sum())),
        (float(once[wrong].sum()), float(twice[wrong].sum())),
        float((twice - share * w**2 / q).sum()),
    )  # fmt: skip
    free = means.degrees(float(u.sum()), float((u**2).sum()))
    made = means.over(found, count, free, labels, seen).complement
    low, high = means.within(made.interval(1.0 - ALPHA))
    return Estimate(made.value, low, high, round(count), round(labels), until)
