"""How long a detector is quiet after an alarm: longer, the more often changes follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lasec.parameters import Range
from lasec.persistence.record import Count

FIRST = 2_048  # rows
AGAIN = 8  # a change within so many quiet times of the last one doubles the quiet time


@dataclass
class Quiet:
    """Lets at most 1 + log2(rows / 2,048) alarms through where changes never stop.

    After an alarm there is none for 2,048 rows. If the next change comes within eight times that,
    the quiet time doubles; once changes stop for that long, it is 2,048 rows again.

    >>> quiet = Quiet()
    >>> [at for at in range(0, 100_000, 1_000) if quiet.change(at)]
    [0, 3000, 8000, 17000, 34000, 67000]
    """

    length: Annotated[int, Range(FIRST, 2**53)] = FIRST
    last: Annotated[int, Range(-1, 2**53)] = -1  # the row of the last change; -1 before the first
    until: Count = 0  # no alarm before this row

    def change(self, row: int) -> bool:
        """Record a change; whether it is to be an alarm."""
        often = self.last >= 0 and row - self.last < AGAIN * self.length
        self.last = row
        if row < self.until:
            return False
        self.length = min(2 * self.length, 2**40) if often else FIRST
        self.until = row + self.length
        return True

    @property
    def often(self) -> bool:
        """Whether the quiet time is longer than at first."""
        return self.length > FIRST
