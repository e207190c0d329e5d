"""Alarms as people read them: what changed, since when, by how much, and what to look at."""

from __future__ import annotations

import math
from collections.abc import Callable

from lasec.alarms.alarm import Alarm
from lasec.notebook import percent

LARGE = 10.0  # standard deviations; beyond it a size says nothing: the column was constant
LOOK = {
    "drop": "look at the latest labels, and for a change of the input",
    "missing": "look at what fills the column",
    "share": "look at the rows that have the value",
    "mean": "look at where the column comes from, and its unit",
    "spread": "look at where the column comes from, and its unit",
}


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
