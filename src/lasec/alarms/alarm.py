"""Alarms, how people read them, and the detectors that raise them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from numpy.typing import ArrayLike

from lasec.notebook import percent
from lasec.persistence.record import Count, Free
from lasec.types import Decision, Outcome

LARGE = 10.0  # standard deviations; beyond it a size says nothing: the column was constant
LOOK = {
    "drop": "look at the latest labels, and for a change of the input",
    "missing": "look at what fills the column",
    "share": "look at the rows that have the value",
    "mean": "look at where the column comes from, and its unit",
    "spread": "look at where the column comes from, and its unit",
}


class Alarm(NamedTuple):
    """A detected change: of what, at which row, and with which evidence.

    ``kind`` is what was watched ("drop", "input: price" or the name of a detector), ``ticket`` the
    row at which the alarm was raised, ``evidence`` how clear it was. ``before`` and ``after`` are
    the estimated error rate, or what the column was, before and after the change, and ``since`` is
    the estimated ticket of the change. What a detector does not know is NaN, 0 or "".

    An accuracy drop has ``labels``, the number of labels behind ``after``, and where it was
    confirmed the 95 % interval ``low`` to ``high``. A change of the input says in ``what`` which
    figure of the column ``before`` and ``after`` are: its "mean", the "share" of ones, its "spread"
    (mean absolute deviation) or the share of "missing" cells. ``effect`` is the size of the change
    (standard deviations; a log ratio; Cohen's h), and ``others`` the number of other columns that
    changed with it. ``quiet`` is a ticket before which the detector is silent because changes
    follow each other, 0 otherwise.

    >>> alarm = Alarm("drop", ticket=5_210, evidence=1.3e5, before=0.06, after=0.41, since=5_030)
    >>> f"the error rose from {alarm.before:.0%} to {alarm.after:.0%} after row {alarm.since}"
    'the error rose from 6% to 41% after row 5030'
    """

    kind: str
    ticket: int
    evidence: Free
    before: Free
    after: Free
    since: int
    low: Free = math.nan
    high: Free = math.nan
    labels: Count = 0
    what: str = ""
    others: Count = 0
    effect: Free = math.nan
    quiet: Count = 0


def described(alarm: Alarm, row: Callable[[int], str] | None = None) -> str:
    """An alarm in a line; ``row`` says a row by its ticket, and without it rows count from 1.

    >>> drop = Alarm("drop", 5_210, 1.3e5, 0.17, 0.46, 5_030, low=0.36, high=0.56, labels=64)
    >>> described(drop)  # doctest: +NORMALIZE_WHITESPACE
    'accuracy drop in row 5,211: estimated error rate 17.0 % before, 46.0 % (95 % CI 36.0-56.0 %,
    64 labels) since row 5,031; look at the latest labels, and for a change of the input'
    >>> change = Alarm("input: price", 5_210, 6.1, 0.41, 0.57, 5_030, what="mean", others=2,
    ...     effect=1.2)
    >>> described(change)  # doctest: +NORMALIZE_WHITESPACE
    'input change (price, and 2 others) in row 5,211: mean 0.41 before, 0.57 since row 5,031
    (+1.2 sd); look at where the column comes from, and its unit'
    """
    said = row or (lambda ticket: f"{ticket + 1:,}")
    name, _, column = alarm.kind.partition(": ")
    others = f", and {alarm.others} other{'s' * (alarm.others > 1)}" if alarm.others else ""
    what = {"drop": "accuracy drop", "input": f"input change ({column}{others})"}
    text = f"{what.get(name, alarm.kind)} in row {said(alarm.ticket)}"
    if not math.isnan(alarm.after):
        text += f": {_figures(alarm, name)} since row {said(alarm.since)}{_size(alarm)}"
    look = LOOK.get(alarm.what or name)
    text += f"; {look}" if look else ""
    often = f" (changes often: no other alarm before row {said(alarm.quiet)})"
    return text + (often if alarm.quiet else "")


def _figures(alarm: Alarm, name: str) -> str:
    """Before and after, in the unit of what has changed."""
    if name == "drop":
        labels = f"{alarm.labels:,} labels"
        known = f"95 % CI {100 * alarm.low:.1f}-{100 * alarm.high:.1f} %, {labels}"
        found = known if not math.isnan(alarm.low) else labels
        more = f" ({found})" if alarm.labels else ""
        return f"estimated error rate {percent(alarm.before)} before, {percent(alarm.after)}{more}"
    words = {"missing": "missing cells", "spread": "mean absolute deviation"}
    shares = alarm.what in ("missing", "share")
    before, after = (
        percent(value) if shares else f"{value:.3g}" for value in (alarm.before, alarm.after)
    )
    return f"{words.get(alarm.what, alarm.what or 'value')} {before} before, {after}"


def _size(alarm: Alarm) -> str:
    """The size of a change of a mean, in standard deviations."""
    if alarm.what != "mean" or not abs(alarm.effect) < LARGE:
        return ""
    return f" ({alarm.effect:+.1f} sd)"


class Detector(Protocol):
    """What a session needs of a detector: it hears what the meter hears.

    Each call returns the alarm that it raised, or None. A detector that needs no labels does
    nothing in ``tell`` and ``cancel``, and one that needs no rows ignores ``x``.
    """

    def ask(self, decision: Decision, x: ArrayLike | None = None) -> Alarm | None:
        """Record the decision about a row."""

    def tell(self, outcome: Outcome) -> Alarm | None:
        """Record a label."""

    def cancel(self, ticket: int) -> Alarm | None:
        """Record that a question will not be answered."""

    @property
    def raised(self) -> bool:
        """Whether the last call raised an alarm."""
