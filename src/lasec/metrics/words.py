"""Estimates in words: each a fact with a name, a value, and how sure it is."""

from __future__ import annotations

import math
from typing import NamedTuple

from lasec.metrics.estimate import Estimate
from lasec.notebook import counted, percent

UNKNOWN, NOT_YET = "unknown", "not known yet"  # in place of an estimate
NARROW = 0.002  # an interval that needs another digit
EXACT = 5e-4  # an interval that is no more than a point


class Fact(NamedTuple):
    """A name, a value in words, and a note: its interval, its labels, what it covers.

    >>> Fact("labels queried", "1,017", "10.2 % of rows").line
    '1,017 (10.2 % of rows)'
    """

    name: str
    value: str
    note: str = ""
    truth: str = ""  # the same from all labels

    @property
    def line(self) -> str:
        """The value with its note, and the truth."""
        said = f"{self.value} ({self.note})" if self.note else self.value
        return f"{said}, true {self.truth}" if self.truth else said

    @property
    def is_known(self) -> bool:
        """Whether there are labels enough to say it."""
        return self.value not in (UNKNOWN, NOT_YET)

    @property
    def card(self) -> tuple[str, str, str]:
        """The same with a capital letter, for a card."""
        return (self.name[:1].upper() + self.name[1:], self.value, self.note)


def ends(estimate: Estimate, *, share: bool = True) -> str:
    """The ends of an interval: percentages of a share, with two digits where one says too little.

    >>> ends(Estimate(0.942, 0.931, 0.95, 100, 10, 100))
    '93.1-95.0 %'
    >>> ends(Estimate(0.243, 0.221, 0.267, 100, 10, 100), share=False)
    '0.221-0.267'
    """
    scale, digits, unit = _form(estimate, share)
    return f"{scale * estimate.low:.{digits}f}-{scale * estimate.high:.{digits}f}{unit}"


def between(estimate: Estimate, *, share: bool = True) -> str:
    """An estimate with its interval, for a cell of a table.

    >>> between(Estimate(0.942, 0.931, 0.95, 100, 10, 100))
    '94.2 % (93.1-95.0 %)'
    >>> between(Estimate(0.243, 0.221, 0.267, 100, 10, 100), share=False)
    '0.243 (0.221-0.267)'
    """
    if math.isnan(estimate.value):
        return UNKNOWN
    exact = share and estimate.width < EXACT
    return _value(estimate, share) + ("" if exact else f" ({ends(estimate, share=share)})")


def estimated(name: str, found: Estimate, *, share: bool = True, truth: float = math.nan) -> Fact:
    """An estimate, its 95 % confidence interval, the labels behind it, and the truth if known.

    >>> estimated("accuracy", Estimate(0.9, 0.88, 0.92, rows=1_000, labels=100, until=1_000)).line
    '90.0 % (95 % CI 88.0-92.0 %, 100 labels)'
    >>> exact = Estimate(0.9982, 0.9978, 0.9986, rows=100_000, labels=50_000, until=100_000)
    >>> estimated("accuracy", exact).line
    '99.82 % (95 % CI 99.78-99.86 %, 50,000 labels)'
    >>> estimated("accuracy", Estimate(0.9, 0.3, 1.0, rows=10, labels=3, until=10)).line
    'not known yet (3 labels; about 34 more for an interval of 20 points)'
    >>> loss = Estimate(0.243, 0.221, 0.267, rows=1_000, labels=100, until=0)
    >>> estimated("log-loss", loss, share=False, truth=0.25).line
    '0.243 (95 % CI 0.221-0.267, 100 labels), true 0.250'
    """
    labels = counted(found.labels, "label")
    known = "" if math.isnan(truth) else percent(truth) if share else f"{truth:.3f}"
    if math.isnan(found.value):
        return Fact(name, UNKNOWN, labels if found.labels else "no labels yet", known)
    if found.missing:
        width = "20 points" if share else "0.2"
        more = f"{labels}; about {found.missing:,} more for an interval of {width}"
        return Fact(name, NOT_YET, more, known)
    sure = f"95 % CI {ends(found, share=share)}, {labels}"
    return Fact(name, _value(found, share), sure, known)


def _value(estimate: Estimate, share: bool) -> str:
    scale, digits, unit = _form(estimate, share)
    return f"{scale * max(estimate.value, 0.0):.{digits}f}{unit}"


def _form(estimate: Estimate, share: bool) -> tuple[float, int, str]:
    """The scale, the digits and the unit in which an estimate is said."""
    if not share:
        return 1.0, 3, ""
    return 100.0, 1 if not EXACT <= estimate.width <= NARROW else 2, " %"
