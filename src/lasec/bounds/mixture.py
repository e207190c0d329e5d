"""A bound on the mistakes of the mixture that a Tracker learns with, by its logarithmic loss.

The Tracker (:mod:`lasec.rules.tracker.tracking`) gives the next label the probability
P_t(y) = sum over hypotheses j of pi_t(j) p_{j,t}(y), and then weighs, gives up slots, shares weight
between the speeds and may let a concept begin. Each of these steps leaves a hypothesis k at least
tau_t(j, k) of the posterior weight of j, where tau is

- 1 - share for the same speed, share/4 for another state of the slot;
- at a birth, with H = 1 - (1 - hazard)^(rows since the last one): 1 - H for staying, and H/5 for
  each state of the new slot;
- giving up a slot only adds to the weight of the others; paths through it end.

So pi_{T+1}(j_T) >= pi_1(j_1) prod over t of tau_t p_{j_t,t}(y_t) / P_t(y_t) for any path of
hypotheses, and since no weight exceeds 1::

    sum of -ln P_t(y_t)  <=  sum of -ln p_{j_t,t}(y_t)  -  ln pi_1(j_1)  -  sum of ln tau_t

A prediction by the larger of P_t(+1) and P_t(-1) is a mistake only where P_t(y_t) <= 1/2, so that
mistakes <= sum of -ln P_t(y_t) / ln 2, and for every path the right side over ln 2 bounds them too.
The best path is found by dynamic programming.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec.rules.probit import chance
from lasec.rules.tracker.dense import quadratic, sight
from lasec.rules.tracker.hypotheses import HAZARDS, LAPSES, SCALES, SPEEDS
from lasec.rules.tracker.seen import BIRTH, LATEST
from lasec.rules.tracker.tracking import Beliefs, Tracking

Array = NDArray[np.float64]


class Mixture(NamedTuple):
    """The mixture's mistakes and logarithmic loss, and those of the best path of hypotheses.

    ``path_loss`` is the loss of the best path, ``cost`` what its prior and its switches cost, both
    in nats, and ``changes`` how many sudden changes it follows.

    >>> round(Mixture(mistakes=10, log_loss=20.0, path_loss=15.0, cost=10.0, changes=1).value, 2)
    36.07
    """

    mistakes: int
    log_loss: float
    path_loss: float
    cost: float
    changes: int

    @property
    def value(self) -> float:
        """The bound on the mistakes: (path_loss + cost) / ln 2."""
        return (self.path_loss + self.cost) / math.log(2.0)


class _Tracker(Protocol):
    """What is used of a Tracker."""

    rule: Any
    state: Any
    rows: int

    def run(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Rows with their labels."""


def mixture(tracker: _Tracker, X: ArrayLike, y: ArrayLike) -> Mixture:
    """Run a new Tracker with every label told at once, and bound the mistakes of its mixture.

    The mixture is the one that the Tracker learns with. Its predictions leave out hypotheses with
    little weight and share variances among the speeds of a slot, so they are not always the
    mixture's, and the Tracker's own mistakes are not bounded by this.

    >>> import lasec
    >>> X, y = lasec.streams.switching(600, dimension=5, every=300, seed=1)
    >>> found = mixture(lasec.Tracker(dimension=5, rate=1.0, seed=0), X, y)
    >>> found.mistakes, round(found.log_loss / math.log(2)), round(found.value)
    (24, 102, 105)
    """
    if not isinstance(tracker.rule, Tracking) or tracker.rows:
        raise ValueError("tracker: expected a Tracker that has seen nothing yet")
    rows, labels = np.atleast_2d(np.asarray(X, dtype=np.float64)), np.asarray(y)
    path, mistakes, loss = _Path(tracker.rule, tracker.state.posterior), 0, 0.0
    lapse = tracker.rule.lapse * np.array(LAPSES)[:, None]
    for row, label in zip(rows, labels, strict=True):
        before = tracker.state
        right = _right(tracker.rule, before, row, float(label), tracker.rows + 1)
        chances = np.broadcast_to(lapse + (1.0 - 2.0 * lapse) * right, before.posterior.shape)
        lean = float((before.posterior * (1.0 - 2.0 * lapse) * (right - 0.5)).sum())
        mistakes += int(lean < 0.0 or (lean == 0.0 and label < 0))  # zero predicts +1
        loss -= math.log(float((before.posterior * chances).sum()))
        births, clock = before.born.copy(), int(before.core.mixture.clock[BIRTH])
        if not tracker.run(row[None], [label]).asked[0]:
            raise ValueError("tracker: every label must be queried, so give it rate=1.0")
        path.learn(chances)
        path.move(tracker.state, births, clock)
    return Mixture(mistakes, loss, *path.best())


def _right(rule: Tracking, state: Beliefs, x: Array, y: float, t: int) -> Array:
    """The probability of the label under each state where no label is wrong."""
    core, at = state.core, sight(state.core, state.classes, x, t)
    q = np.array([quadratic(core.dense, i, at) for i in range(len(core.mixture.weight))])
    gap = max(0, t - int(core.mixture.clock[LATEST]))
    fade = (1.0 - rule.drift * np.tile(SPEEDS, rule.slots)) ** gap
    m = np.sqrt(fade) * (core.dense.weights[:, 0] @ at.u)
    v = fade * q + (1.0 - fade) * rule.prior * np.tile(SCALES, rule.slots) * at.size
    z = y * m / np.sqrt(1.0 + np.maximum(v, 0.0))
    return np.array([chance(float(one)) for one in z])


class _Path:
    """The best path to each hypothesis: its score, its loss, and the changes that it follows.

    Arrays are over (hazard, lapse, slot, speed); a score is the logarithm of the path's prior, its
    switches and its probabilities.
    """

    def __init__(self, rule: Tracking, prior: Array) -> None:
        self.rule = rule
        self.shape = (len(HAZARDS), len(LAPSES), rule.slots, len(SPEEDS))
        with np.errstate(divide="ignore"):
            self.score = np.log(prior.reshape(self.shape))
        self.loss, self.changes = np.zeros(self.shape), np.zeros(self.shape)
        same, others = np.eye(len(SPEEDS), dtype=bool), len(SPEEDS) - 1
        stay = math.log1p(-rule.share) if rule.share < 1.0 else -math.inf
        self.share = np.where(same, stay, math.log(rule.share / others))

    def learn(self, chances: Array) -> None:
        """Weigh by the probability of the label."""
        said = np.log(chances.reshape(self.shape))
        self.score, self.loss = self.score + said, self.loss - said

    def move(self, state: Beliefs, births: NDArray[np.int64], clock: int) -> None:
        """Give up what the Tracker gave up, share between speeds, and begin where it began."""
        alive = state.posterior.reshape(self.shape).sum(axis=(0, 1, 3)) > 0.0
        new = np.flatnonzero(state.born != births)
        alive[new] = False
        self.score[:, :, ~alive] = -np.inf
        scores = self.score[..., None, :] + self.share  # (..., to, from)
        best = scores.argmax(axis=-1)
        self.score = scores.max(axis=-1)
        self.loss = np.take_along_axis(self.loss, best, -1)
        self.changes = np.take_along_axis(self.changes, best, -1)
        if new.size:
            self._begin(int(new[0]), int(state.core.mixture.clock[BIRTH]) - clock)

    def _begin(self, slot: int, gap: int) -> None:
        """A concept that begins now: stay with 1 - H, or move to one of its states with H/5."""
        hazard = self.rule.hazard * np.array(HAZARDS)
        stay = (gap * np.log1p(-hazard))[:, None]
        move = np.log(-np.expm1(stay) / len(SPEEDS))
        flat = (*self.shape[:2], -1)
        best = self.score.reshape(flat).argmax(axis=-1)[..., None]
        score, loss, changes = (
            np.take_along_axis(a.reshape(flat), best, -1)
            for a in (self.score, self.loss, self.changes)
        )
        self.score += stay[..., None, None]
        self.score[:, :, slot] = score + move[..., None]
        self.loss[:, :, slot], self.changes[:, :, slot] = loss, changes + 1.0

    def best(self) -> tuple[float, float, int]:
        """Loss, cost and changes of the best path of all."""
        place = np.unravel_index(int(self.score.argmax()), self.shape)
        loss = float(self.loss[place])
        return loss, -float(self.score[place]) - loss, int(self.changes[place])
