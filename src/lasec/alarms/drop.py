"""Detect a drop of the accuracy from labels that were queried where rows are hard.

The raw error of the queried rows also changes when only the queries change. But the probability of
each query is known, Z ~ Bernoulli(q), and with any guess e of the probability of a mistake::

    X_t = e_t + Z_t (err_t - e_t) / q_t,      E[X_t | past, x_t] = P(err_t | past, x_t)

is unbiased, whatever the query does. e is min(p, 1 - p) with p = (1 + margin)/2, by the model:
better calibration makes the variance smaller, miscalibration biases nothing; and rows that were not
queried count too. With a guess cut to e_t <= k q_t / (1 - q_t), X_t >= -k, so that for lam in
[0, 1]::

    E_t = 1 + lam (X_t - theta_t) / (theta_t + k)  >=  0
    E[E_t | past] <= 1   while   P(err_t | past) <= theta_t = baseline_t + drop

The baseline is made of rows long past (:class:`Baseline`). The evidence is the mean of
the Shiryaev-Roberts sums M <- (M + 1) E_t for lam = 0.05 and 0.2, with k = 0.05: an e-detector
(Shin, Ramdas and Rinaldo, *E-detectors: a nonparametric framework for sequential change detection*,
New England Journal of Statistics in Data Science, 2024). As M_t - t is a supermartingale::

    E[rows until a false alarm] >= every

for any stream, any learner and any query, as long as no row's probability of a mistake exceeds
theta_t. That is exact. What is approximate: the baseline is itself an estimate, raised for safety;
where it is still more than ``drop`` too low, the theorem allows a false alarm. In practice false
alarms are about ten times rarer than guaranteed, as the error is seldom at theta_t. A learner that
recovers by itself within a hundred rows leaves little evidence, so an ``every`` of 1,000 detects
about twice the drops that 100,000 detects.

M is also a weight on the rows at which the change may have begun. Sums of X, of the number of rows
and of labels under the same weight estimate the error since the change, and when it was. They are
taken at the worst moment, so that error is too high; it is drawn towards the past by 8 labels. With
``confirm`` the evidence is only a suspicion, which labels that come after it must confirm
(:mod:`lasec.alarms.confirm`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Self

from numpy.typing import ArrayLike

from lasec.alarms.alarm import Alarm
from lasec.alarms.confirm import PRIOR, Confirmed, Labels, Past, look
from lasec.alarms.quiet import Quiet
from lasec.alarms.waiting import Settled, Waiting, raised_by
from lasec.metrics.sums import aipw
from lasec.parameters import Range, number
from lasec.persistence import record
from lasec.persistence.record import Count, NotNegative
from lasec.types import Decision, Outcome

STAKES = (0.05, 0.2)
CUT = 0.05
SPANS = (1.0, 1 / 4, 1 / 16, 1 / 64)  # of the memory of a baseline
CAREFUL = 1.0
LEAST = 2  # blocks, before anything is said

_Sum = Annotated[float, Range(-1e60, 1e60)]
_Least = Annotated[float, Range(0.0, 1e60)]
_Evidence = tuple[_Least, _Least, _Sum, _Least]  # weights, rows, estimates, labels
_Decayed = tuple[NotNegative, NotNegative, float, NotNegative, NotNegative]
_Block = tuple[Count, float, NotNegative, NotNegative]  # rows, estimates, their squares, weights
_EMPTY: _Block = (0, 0.0, 0.0, 0.0)


def doubt(decision: Decision) -> float:
    """The model's own probability of a mistake, in [0, 1/2].

    >>> round(doubt(Decision(1, 0.8, 0.0, propensity=0.5, asked=True, ticket=0)), 6)
    0.1
    """
    return 0.5 * (1.0 - min(abs(decision.margin), 1.0))


def bounded(decision: Decision) -> float:
    """The same, cut so that no estimate made with it is below -CUT.

    >>> seldom = Decision(1, 0.0, 0.0, propensity=0.1, asked=True, ticket=0)
    >>> round(aipw(bounded(seldom), value=0.0, q=0.1), 6)
    -0.05
    """
    q = decision.propensity
    guess = doubt(decision)
    return guess if guess * (1.0 - q) <= CUT * q else CUT * q / (1.0 - q)


class DropAlarm:
    """Raises an alarm when the error rate has risen by more than ``drop``.

    On average at least ``every`` rows pass until a false alarm; :mod:`lasec.alarms.drop` says what
    is exact about that. A smaller ``every`` detects more. ``memory`` is the number of past rows to
    compare with. For the first 3/64 of it, and after each alarm again, no alarm can be raised. A
    slow decline, over more than the memory, is not detected.

    Labels may come late: rows are judged in order, once no question before them is open. A question
    that was canceled, or is still open ``patience`` rows later, counts as not asked; where answers
    are lost, the estimate moves towards the model's own probability by the share that is lost.
    ``raised`` says whether the last call raised an alarm; ``evidence`` raises one at ``every``.

    With ``confirm``, an alarm is raised only if the next 32 to 192 labels confirm it: for people,
    who want few alarms and true numbers. It then has an interval, and after it there is a quiet
    time (:mod:`lasec.alarms.quiet`). Without, it is raised at once, for a reaction such as
    ``learner.boost``: its ``after`` is then an estimate at the worst moment.

    >>> import lasec
    >>> X, y = lasec.streams.switching(6_000, every=3_000, seed=1)
    >>> tracker, alarm = lasec.Tracker(rate=0.4, seed=0), DropAlarm()
    >>> for x, label in zip(X, y):
    ...     decision = tracker.ask(x)
    ...     alarm.ask(decision)
    ...     if decision.asked and (raised := alarm.tell(tracker.tell(decision.ticket, label))):
    ...         print(raised.ticket, raised.since, round(raised.before, 2), round(raised.after, 2))
    3041 2996 0.06 0.29
    """

    KIND = "drop-alarm"

    def __init__(
        self,
        drop: float = 0.05,
        every: float = 10_000,
        memory: int = 16_000,
        patience: int = 1_000,
        confirm: bool = False,
    ) -> None:
        self.drop = float(number("drop", drop, float, Range(0.0, 1.0)))
        self.every = float(number("every", every, float, Range(1.0, 1e15)))
        self.memory = int(number("memory", memory, int, Range(64, 2**40)))
        self.patience = int(number("patience", patience, int, Range(1, 2**40)))
        self.confirm = bool(number("confirm", confirm, bool, None))
        self.raised = False
        self.quiet = Quiet()
        self._waiting = Waiting(self.patience)
        self._baseline = Baseline(self.memory)
        self._past = Past()
        self._fresh = Labels()
        self._suspicion: Alarm | None = None
        self._sums = [(0.0, 0.0, 0.0, 0.0) for _ in STAKES]

    def ask(self, decision: Decision, x: ArrayLike | None = None) -> Alarm | None:
        """Record the decision about a row, and judge the rows that no open question holds back."""
        self._waiting.ask(decision)
        return self._advance()

    def tell(self, outcome: Outcome) -> Alarm | None:
        """Record a label; one that was not queried, or whose question is gone, changes nothing.

        If it frees many rows at once, judging stops at an alarm and continues in the next call.
        """
        self._waiting.tell(outcome)
        return self._advance()

    def cancel(self, ticket: int) -> Alarm | None:
        """Record that a question will not be answered: it holds back no rows any longer."""
        self._waiting.cancel(ticket)
        return self._advance()

    def extend(self, records: Any, y: ArrayLike) -> list[Alarm]:
        """All alarms of a chunk of rows, as if each label had come at once.

        >>> import lasec
        >>> X, y = lasec.streams.switching(6_000, every=3_000, seed=1)
        >>> alarms = DropAlarm().extend(lasec.Tracker(rate=0.4, seed=0).run(X, y), y)
        >>> [alarm.kind for alarm in alarms]
        ['drop']
        """
        found = raised_by([self], records, y)
        self.raised = bool(found)
        return found

    @property
    def evidence(self) -> float:
        """The evidence for a drop; an alarm is raised at ``every``."""
        return sum(m for m, *_ in self._sums) / len(STAKES)

    @property
    def before(self) -> float:
        """The estimated error rate of the past; NaN while too little is known."""
        return self._baseline.mean

    def to_bytes(self) -> bytes:
        """The alarm, with the rows that wait, as bytes that :meth:`from_bytes` reads."""
        return record.dump(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The alarm that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`."""
        return record.load(cls, data)

    @property
    def _state(self) -> _State:
        return _State(
            self._waiting, self._baseline, self.quiet, self._past, self._fresh, self._suspicion,
            self._sums,
        )  # fmt: skip

    @_state.setter
    def _state(self, found: _State) -> None:
        self._waiting, self._baseline, self.quiet = found[:3]
        self._past, self._fresh, self._suspicion, self._sums = found[3:]

    def validate(self) -> str:
        """Why this is not an alarm; empty if it can be one."""
        sound = (
            self._waiting.patience == self.patience
            and self._baseline.memory == self.memory
            and len(self._sums) == len(STAKES)
            and all(n >= m for m, n, *_ in self._sums)
        )
        return "" if sound else "the sums are not those of this alarm"

    def _advance(self) -> Alarm | None:
        """Judge what can be judged, up to an alarm."""
        self.raised = False
        while (settled := self._waiting.next()) is not None:
            alarm = self._suspected(settled) if self._suspicion is None else self._looked(settled)
            if alarm is not None:
                self.raised = True
                return alarm
        return None

    def _suspected(self, settled: Settled) -> Alarm | None:
        """Bet on a row; what passes the threshold is an alarm, or a suspicion."""
        decision, wrong = settled
        q, threshold = decision.propensity, self._baseline.value + self.drop
        if threshold < 1.0 and (not self.confirm or decision.ticket >= self.quiet.until):
            self._bet(aipw(bounded(decision), wrong, q), threshold, wrong is not None)
        self._remember(settled)
        if self.evidence < self.every:
            return None
        alarm = self._found(decision.ticket)
        self._sums = [(0.0, 0.0, 0.0, 0.0) for _ in STAKES]
        if self.confirm:
            self._suspicion, self._fresh = alarm, Labels()
            return None
        self._baseline = Baseline(self.memory)
        return alarm

    def _looked(self, settled: Settled) -> Alarm | None:
        """Add a row to those after the suspicion, and look whether they confirm it."""
        suspicion = self._suspicion
        assert suspicion is not None
        decision, wrong = settled
        self._fresh.add(doubt(decision), wrong, decision.propensity)
        self._remember(settled)
        if wrong is None:
            return None
        found = look(self._fresh, self._past, suspicion.before, self.drop)
        if found is None:
            return None
        self._suspicion = None
        if not isinstance(found, Confirmed) or not self.quiet.change(decision.ticket):
            return None
        self._baseline = Baseline(self.memory)
        return suspicion._replace(
            ticket=decision.ticket, **found._asdict(),
            quiet=self.quiet.until if self.quiet.often else 0,
        )  # fmt: skip

    def _remember(self, settled: Settled) -> None:
        """Let a row be part of the past."""
        decision, wrong = settled
        q, guess = decision.propensity, doubt(decision)
        self._baseline.add(aipw(guess, wrong, q), 1.0 / q)
        if self.confirm and self._suspicion is None:
            self._past.add(guess, wrong, q)

    def _bet(self, x: float, threshold: float, labeled: bool) -> None:
        """One factor on each sum: of weights, of rows, estimates and labels since the change."""
        for i, (stake, (m, n, s, k)) in enumerate(zip(STAKES, self._sums, strict=True)):
            factor = 1.0 + stake * (x - threshold) / (threshold + CUT)
            begun = m + 1.0
            told = begun if labeled else 0.0
            self._sums[i] = (
                begun * factor, (n + begun) * factor, (s + begun * x) * factor, (k + told) * factor
            )  # fmt: skip

    def _found(self, ticket: int) -> Alarm:
        """The alarm that the evidence is."""
        m, n, s, k = (sum(part) for part in zip(*self._sums, strict=True))
        before, labels, since = self.before, k / m, min(max(s / n, 0.0), 1.0)
        after = (labels * since + PRIOR * min(max(before, 0.0), 0.95)) / (labels + PRIOR)
        return Alarm(
            "drop", ticket, m / len(STAKES), before, after, max(0, ticket + 1 - round(n / m)),
            labels=round(labels),
        )  # fmt: skip


class _State(NamedTuple):
    """What an alarm remembers, but for its parameters."""

    waiting: Waiting
    baseline: Baseline
    quiet: Quiet
    past: Past
    fresh: Labels
    suspicion: Alarm | None
    sums: list[_Evidence]


@dataclass
class Baseline:
    """An upper estimate of the error rate of the past; infinite while too little is known.

    Each row gives an unbiased estimate of the error, X = e + Z (err - e) / q. Rows are gathered in
    blocks, and a block counts once the block after it is complete, so that a change does not at
    once enter what it is compared with. Over the blocks run four decaying means, with memories of
    ``memory`` and of 1/4, 1/16 and 1/64 of it. The baseline is::

        min over the four of (mean + standard error)

    each with one more row added to it that was queried and wrong, so that a few rows without a
    mistake prove nothing. The long memory is exact but slow; a short one takes over where a learner
    has quickly become better, and only there, since its standard error is larger. The ``mean`` is
    that of the long memory: the lowest of four would be too low.

    >>> baseline = Baseline(memory=1_600)
    >>> for t in range(400):
    ...     baseline.add(float(t % 10 == 0), weight=1.0)
    >>> round(baseline.value, 2), round(baseline.mean, 2)
    (0.12, 0.1)
    """

    memory: int
    sums: list[_Decayed] = field(default_factory=lambda: [(0.0,) * 5 for _ in SPANS])
    now: _Block = _EMPTY
    last: _Block | None = None
    blocks: Count = 0

    def __post_init__(self) -> None:
        self.block = max(1, self.memory // 64)
        self.keep = [math.exp(-self.block / (span * self.memory)) for span in SPANS]
        self.value, self.mean = math.inf, math.nan
        self._look()

    def validate(self) -> str:
        """Why this is not a baseline; empty if it can be one."""
        sound = (
            len(self.sums) == len(SPANS)
            and self.now[0] < self.block
            and (self.last[0] == self.block if self.last else not self.blocks)
            and (not self.blocks or all(weight > 0.0 for weight, *_ in self.sums))
        )
        return "" if sound else "impossible sums of a baseline"

    def add(self, x: float, weight: float) -> None:
        """Add the estimate of a row, and its weight 1/q."""
        n, total, square, weights = self.now
        self.now = (n + 1, total + x, square + x * x, weights + weight)
        if n + 1 < self.block:
            return
        if self.last is not None:
            self._fold(*self.last)
        self.last, self.now = self.now, _EMPTY

    def _fold(self, n: int, total: float, square: float, weights: float) -> None:
        """Let a block count, and take the lowest of the upper estimates."""
        for i, keep in enumerate(self.keep):
            w, ww, s, ss, h = (keep * part for part in self.sums[i])
            self.sums[i] = (w + n, keep * ww + n, s + total, ss + square, h + weights)
        self.blocks += 1
        self._look()

    def _look(self) -> None:
        if self.blocks >= LEAST:
            self.value = min(_upper(*sums) for sums in self.sums)
            self.mean = self.sums[0][2] / self.sums[0][0]


def _upper(w: float, ww: float, s: float, ss: float, h: float) -> float:
    """The upper estimate, with one more row that is wrong and of the mean weight."""
    hit = h / w
    mean = (s + hit) / (w + 1.0)
    variance = max((ss + hit * hit) / (w + 1.0) - mean * mean, 0.0)
    return max(mean, 0.0) + CAREFUL * math.sqrt(variance * ww) / w
