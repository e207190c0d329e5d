"""Rows and labels by the hour, the day or the week, in memory that does not grow with the run."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import LARGEST, Range
from lasec.persistence.record import FINITE, RISING, Shape

Array = NDArray[np.float64]

MINUTE, HOUR, DAY, WEEK = 60.0, 3_600.0, 86_400.0, 604_800.0
SPANS = (MINUTE, HOUR, DAY, WEEK, 4.0 * WEEK, 52.0 * WEEK)  # each a multiple of the one before
MONDAY = 4.0 * DAY  # 1970-01-05, from which all are counted, so that weeks begin on a Monday
MOST = 400


class Calendar(NamedTuple):
    """How many rows came, and how many labels were queried, in each span of time.

    ``starts`` are in seconds since 1970, UTC, as are the times; spans without rows are left out.
    Where there are more than 400, the next longer span is taken.

    >>> calendar = NO_TIMES.add(np.array([0.0, 30.0, 3_700.0]), np.array([True, False, True]))
    >>> calendar.span, calendar.starts.tolist(), calendar.rows.tolist(), calendar.labels.tolist()
    (60.0, [0.0, 3660.0], [2.0, 1.0], [1.0, 1.0])
    >>> calendar.over(3_600.0).rows.tolist()
    [2.0, 1.0]
    """

    span: Annotated[float, Range(MINUTE, LARGEST)]
    starts: Annotated[Array, Shape("spans"), FINITE, RISING]
    rows: Annotated[Array, Shape("spans"), Range(0.0, 2.0**53)]
    labels: Annotated[Array, Shape("spans"), Range(0.0, 2.0**53)]

    def validate(self) -> str:
        """Why this is not a calendar; empty if it can be one."""
        return "" if (self.rows >= self.labels).all() else "calendar: more labels than rows"

    def add(self, times: Array, queried: NDArray[np.bool_]) -> Calendar:
        """These and some more rows."""
        more = (times, np.ones(times.size), queried.astype(np.float64))
        columns = map(np.concatenate, zip(self[1:], more, strict=True))
        made = Calendar(self.span, *columns).over(self.span)
        while made.starts.size > MOST:
            made = made.over(made.longer)
        return made

    def over(self, span: float) -> Calendar:
        """The same by a span that is a multiple of this one."""
        starts = np.floor((self.starts - MONDAY) / span) * span + MONDAY
        kept, place = np.unique(starts, return_inverse=True)
        counts: list[Any] = [np.bincount(place, of, kept.size) for of in self[2:]]
        return Calendar(span, kept, *counts)

    @property
    def longer(self) -> float:
        """The next longer span."""
        return next((span for span in SPANS if span > self.span), 10.0 * self.span)

    def at_most(self, count: int) -> Calendar:
        """The same by the shortest span of which at most ``count`` lie between first and last.

        >>> hours = np.arange(96) * 3_600.0
        >>> NO_TIMES.add(hours, hours > 0.0).at_most(24).span / DAY
        1.0
        """
        made = self
        while made.starts.size and np.ptp(made.starts) >= count * made.span:
            made = made.over(made.longer)
        return made


NO_TIMES = Calendar(MINUTE, np.empty(0), np.empty(0), np.empty(0))
