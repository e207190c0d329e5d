"""The clock of a stream: the latest time at which a row came, as far as it can be trusted.

A budget by time and the age of questions follow the times that rows carry. One row dated 2100 would
end both: the budget would wait for the calendar to catch up, and every open question would be too
old at once. So a row that is dated more than ``lead`` seconds ahead of the machine's clock is
served like any other, but counts as having come at the latest time that is known. And questions
age by the machine's clock at most: a row that is dated ahead makes none of them older.

What the machine's clock reads is an input like any other: who replays a journal gives the reading
that is written there (:func:`reading`), and gets the same decisions at any later time.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, overload

import numpy as np

from lasec.parameters import Range, number
from lasec.types import Vector

LEAD = 3_600.0
_LEADS = Range(0.0, 1e15)
_reading: ContextVar[float | None] = ContextVar("lasec_reading", default=None)


def now() -> float:
    """What the machine's clock reads, in seconds since 1970, or what :func:`reading` was given.

    >>> with reading(1_000.0):
    ...     now()
    1000.0
    """
    given = _reading.get()
    return time.time() if given is None else given


@contextmanager
def reading(at: float) -> Iterator[None]:
    """Within this context the machine's clock reads ``at``."""
    before = _reading.set(at)
    try:
        yield
    finally:
        _reading.reset(before)


@dataclass(eq=False)
class Clock:
    """The latest time known; ``lead`` is in seconds, and times are in seconds since 1970.

    Times in another unit, or of a simulation that runs ahead of the calendar, need ``lead=None``:
    then every time is taken as it is. The first row that is too far ahead is warned about.

    >>> with warnings.catch_warnings(action="ignore"):
    ...     Clock(lead=60.0).trusted(np.array([1_000.0, 1e12, 1_002.0])).tolist()
    [1000.0, 1000.0, 1002.0]
    """

    lead: float | None = LEAD
    latest: Annotated[float, Range(-1e60, 1e60, also=(-math.inf,))] = -math.inf

    def __post_init__(self) -> None:
        if self.lead is not None:
            self.lead = number("lead", self.lead, float, _LEADS)
        self._warned = False

    def trusted(self, times: Vector) -> Vector:
        """The times; in the place of each that is too far ahead, the latest one before it."""
        if self.lead is None or not times.size:
            return times
        read = now()
        wrong = times > read + self.lead
        if not wrong.any():
            return times
        self._warn(float(times[wrong][0]), read)
        known = np.maximum.accumulate(np.where(wrong, self.latest, np.maximum(times, self.latest)))
        known[np.isinf(known)] = read  # nothing has come before
        return np.where(wrong, known, times)

    def one(self, moment: float) -> float:
        """The same for a single time."""
        if self.lead is None or moment <= now() + self.lead:
            return moment
        return float(self.trusted(np.array([moment]))[0])

    @overload
    def aging(self, moment: float) -> float: ...
    @overload
    def aging(self, moment: Vector) -> Vector: ...
    def aging(self, moment: float | Vector) -> float | Vector:
        """The moment by which questions age: that of a row, never ahead of the machine's clock.

        >>> with reading(1_000.0):
        ...     Clock().aging(3_000.0), Clock(lead=None).aging(3_000.0)
        (1000.0, 3000.0)
        """
        if self.lead is None:
            return moment
        return min(moment, now()) if isinstance(moment, float) else np.minimum(moment, now())

    def advance(self, times: Vector) -> None:
        """Remember the latest of some times that can be trusted."""
        if times.size:
            self.latest = max(self.latest, float(times.max()))

    def _warn(self, moment: float, read: float) -> None:
        if self._warned:
            return
        self._warned = True
        years = (moment - read) / 31_557_600.0
        ahead = f"{years:.3g} years" if years >= 1.0 else f"{moment - read:,.0f} seconds"
        warnings.warn(
            f"time {moment:.12g} is {ahead} ahead of this machine's clock: rows dated more than "
            f"{self.lead:g} seconds ahead are served, but move no clock. Times are seconds since "
            "1970; for another unit, set lead=None",
            stacklevel=2,
        )
