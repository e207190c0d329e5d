"""How much memory a learner takes, before it is made."""

from __future__ import annotations

import os
from typing import Any

from lasec.errors import TableError
from lasec.types import Rule

UNKNOWN = 1 << 33  # bytes of a machine that does not say how many it has
SHARE = 4  # a learner may take this part of them: to save it, it is copied
BATCH = 1 << 28  # bytes of the rows that are encoded at a time


def needed(rule: Rule[Any], dimension: int) -> int:
    """The bytes of a rule's state, which grow with the square of the number of features at most.

    >>> import lasec
    >>> needed(lasec.rules.SecondOrder(), 1_000)
    8008000
    """
    one, two, three = (sum(array.nbytes for array in rule.init(d)) for d in (1, 2, 3))
    step, bend, d = two - one, three - 2 * two + one, dimension - 1
    return int(one + step * d + bend * d * (d - 1) // 2)


def limit() -> int:
    """The bytes that a learner may take here: a quarter of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // SHARE
    except (AttributeError, OSError, ValueError):  # not every system tells
        return UNKNOWN // SHARE


def check(name: str, rule: Rule[Any], dimension: int) -> None:
    """Refuse a learner that does not fit into memory.

    >>> import lasec
    >>> check("tracker", lasec.rules.Tracking(), 1_000_000)
    Traceback (most recent call last):
    lasec.errors.TableError: tracker needs ... GB for 1,000,000 features, and may take ... here: ...
    """
    size, most = needed(rule, dimension), limit()
    if size > most:
        raise TableError(
            f"{name} needs {size / 1e9:,.1f} GB for {dimension:,} features, and may take "
            f"{most / 1e9:,.1f} GB here: use fewer columns (--ignore), fewer hash buckets "
            "(--width), or an algorithm without a matrix, such as perceptron-ss"
        )


def rows_at_a_time(dimension: int, most: int) -> int:
    """How many rows are encoded at a time: ``most``, or fewer where rows are long.

    >>> rows_at_a_time(100, 8_192), rows_at_a_time(1_000_000, 8_192)
    (8192, 33)
    """
    return max(1, min(most, BATCH // (8 * dimension)))
