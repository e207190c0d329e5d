"""Streams whose truth is known, a Tracker that asks along them, and a meter that listens.

Every stream has a number, which seeds the rows, the coins and the delays, each with a generator of
its own. The coins differ from rate to rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lasec
from lasec.metrics import Estimate
from lasec.metrics.confidence_sequence import BETS, asked, unasked
from lasec.metrics.sums import likely
from lasec.streams import Stream, stationary, switching, walking

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

DIMENSION, NOISE = 10, 0.05
WINDOW, FADE = 1_000, 1_000.0
MEAN_DELAY, LOST, PATIENCE = 200.0, 0.1, 2_000
LOOK = 25  # rows between two looks where answers are late
ALPHA = 0.05


class Scenario(NamedTuple):
    """What it is called in tables, its stream by rows and seed, and whether answers are late."""

    title: str
    draw: Callable[[int, int], Stream]
    late: bool = False


def _switch(rounds: int, seed: int) -> Stream:
    return switching(rounds, dimension=DIMENSION, every=1_000, noise=NOISE, seed=seed)


def _slow(rounds: int, seed: int) -> Stream:
    return walking(rounds, dimension=DIMENSION, speed=0.03, noise=NOISE, seed=seed)


def _stationary(rounds: int, seed: int) -> Stream:
    return stationary(rounds, dimension=DIMENSION, noise=NOISE, seed=seed)


SCENARIOS = {
    "switch": Scenario("switch", _switch),
    "slow": Scenario("slow drift", _slow),
    "stationary": Scenario("stationary", _stationary),
    "late": Scenario("late and lost", _switch, late=True),
}


class Run(NamedTuple):
    """A stream that has been run: its labels, the rows, the meter, and which rows it heard of.

    ``always`` is whether the sequence never missed the truth, as often as it was looked at.
    """

    y: NDArray[Any]
    records: lasec.Records
    meter: lasec.Meter
    heard: Bools
    always: bool


def play(scenario: str, rate: float, number: int, rounds: int) -> Run:
    """The Tracker along a stream of a scenario."""
    X, y = _drawn(scenario, rounds, number)
    tracker = lasec.Tracker(rate=rate, horizon=rounds, seed=round(1e4 * rate) * 10**6 + number)
    if SCENARIOS[scenario].late:
        return _late(tracker, X, y, _delays(rounds, number))
    meter = lasec.Meter(window=WINDOW)
    records = tracker.run(X, y)
    meter.extend(records, y)
    worst = float(evidence(records, y).max(initial=0.0))
    return Run(y, records, meter, records.asked, worst < -math.log(ALPHA))


@lru_cache(maxsize=2)
def _drawn(scenario: str, rounds: int, number: int) -> tuple[Floats, NDArray[Any]]:
    """The same rows for every rate."""
    stream = SCENARIOS[scenario].draw(rounds, number)
    return stream.X, stream.y


def _delays(rounds: int, number: int) -> Floats:
    """Geometric, with some that never come."""
    rng = np.random.default_rng([number, rounds])
    delays = rng.geometric(1.0 / MEAN_DELAY, rounds).astype(np.float64)
    delays[rng.random(rounds) < LOST] = math.inf
    return delays


def evidence(records: lasec.Records, y: NDArray[Any]) -> Floats:
    """What the sequence holds against the true number of errors, after each row.

    The truth lies in the interval at the level alpha as long as this is less than -log alpha; that
    is how :mod:`lasec.metrics.confidence_sequence` defines it, and far quicker than an interval for
    each row.
    """
    p, q = likely(records.margin), records.propensity
    log_k = unasked(-p, 1.0 - p, q)
    d = (y > 0) - p
    on = records.asked
    log_k[on] += asked(-p[on], 1.0 - p[on], d[on], q[on])
    plus = records.label > 0  # where the error is 1 - v: the bets change their sign
    log_k[plus] = log_k[plus, ::-1]
    missing = np.cumsum(np.where(plus, -d, d))
    terms = np.cumsum(log_k, axis=0) - np.multiply.outer(missing, BETS)
    most = terms.max(axis=1)
    return np.asarray(most + np.log(np.exp(terms - most[:, None]).mean(axis=1)))


class _Looks:
    """Looks at the sequence now and then, along a loop that lets it listen.

    As long as the oldest open question is the same, nothing new is settled: no need to look.
    """

    raised = False

    def __init__(self, meter: lasec.Meter) -> None:
        self.meter, self.seen = meter, list[Estimate]()
        self._open: dict[int, bool] = {}
        self._oldest = -1

    def ask(self, decision: lasec.Decision, x: ArrayLike | None = None) -> None:
        """Look, if it is time to."""
        now = decision.ticket
        if decision.asked:
            self._open[now] = True
        if (now + 1) % LOOK:
            return
        while self._open and (oldest := next(iter(self._open))) < now - PATIENCE:
            del self._open[oldest]
        oldest = next(iter(self._open), now)
        if oldest != self._oldest:
            self.seen.append(self.meter.estimate(interval="anytime"))
            self._oldest = oldest

    def tell(self, outcome: lasec.Outcome) -> None:
        """Take note that a question is no longer open."""
        self.cancel(outcome.decision.ticket)

    def cancel(self, ticket: int) -> None:
        """The same for one that will not be answered."""
        self._open.pop(ticket, None)


def _late(tracker: lasec.Tracker, X: Floats, y: NDArray[Any], delays: Floats) -> Run:
    """Answers that come late, or never."""
    meter = lasec.Meter(window=WINDOW, patience=PATIENCE)
    looks = _Looks(meter)
    run = lasec.evaluate(tracker, X, y, delay=delays, meter=meter, alarms=[looks], every=len(y))
    heard = np.zeros(len(y), dtype=bool)
    heard[[answer.ticket for answer in run.answers]] = True
    wrong = np.concatenate([[0], np.cumsum(run.records.mistake)])
    always = all(
        float(1.0 - wrong[look.until] / look.until) in look for look in looks.seen if look.until
    )
    return Run(y, run.records, meter, heard, always)
