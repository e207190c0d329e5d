"""What a meter takes: single decisions, and the columns of consecutive rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lasec import validation
from lasec.metrics.accumulator import LAST, Array
from lasec.parameters import number, shown
from lasec.types import Decision

_PLAIN = ("label", "margin", "variance", "propensity")
_NAMES = ("label", "margin", "propensity", "asked", "ticket")


def checked(decision: Decision, last: int) -> Decision:
    """A decision in plain numbers, if it can be the next after the ticket ``last``.

    Its label is a sign; 0 is a row that has no prediction.

    >>> checked(Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=3), last=3)
    Traceback (most recent call last):
    ValueError: decision: ticket 3 came after 3, but must rise
    """
    if not isinstance(decision, tuple):
        raise TypeError(f"decision: expected what ask gives, got {shown(decision)}")
    label, margin, variance, q, asked, ticket, _ = decision
    if not (
        type(ticket) is type(label) is int and type(asked) is bool
        and type(margin) is type(variance) is type(q) is float
    ):  # fmt: skip
        label, margin, variance, q, asked, ticket, _ = decision = _plain(decision)
    if not (
        last < ticket <= LAST and 0.0 <= q <= 1.0
        and (label == 1 or label == -1 or label == 0)  # noqa: PLR1714
        and -math.inf < margin < math.inf and (q > 0.0 or not asked)
    ):  # fmt: skip
        raise _refusal(decision, last)
    return decision


def columns_of(records: Any, y: ArrayLike, last: int) -> tuple[Array, Array]:
    """The columns of rows that come after the ticket ``last``, and their labels, checked."""
    if not all(hasattr(records, name) for name in _NAMES):
        raise TypeError(f"records: expected what run gives, got {shown(records)}")
    sign = getattr(records, "sign", records.label)
    columns_given = (sign, *(getattr(records, name) for name in _NAMES[1:]))
    named = zip(_NAMES, columns_given, strict=True)
    given = [validation.real(f"records: {name}", column, 1) for name, column in named]
    if len({column.size for column in given}) > 1:
        raise ValueError("records: the columns are not of one length")
    columns = np.column_stack(given)
    labels = _heard(records, y, columns[:, 0])
    label, _, q, asked, ticket = columns.T
    if not np.isfinite(columns).all():
        raise ValueError("records: NaN among margins or propensities")
    if not (
        np.isin(label, (-1.0, 0.0, 1.0)) & (q >= 0.0) & (q <= 1.0) & ((q > 0.0) | (asked == 0.0))
    ).all():
        raise ValueError("records: impossible labels or propensities")
    rising = (np.diff(ticket) > 0.0).all() and (ticket == np.floor(ticket)).all()
    if len(columns) and not (rising and last < ticket[0] and ticket[-1] <= LAST):
        raise ValueError(f"records: tickets must rise, and the last one was {last}")
    return columns, labels


def _heard(records: Any, y: ArrayLike, sign: Array) -> Array:
    """The labels as a meter hears them: the sign if the prediction was right; NaN for none."""
    kinds, which = validation.classes(y, sign.size)
    right = np.asarray(records.label) == np.array([*kinds, None], dtype=object)[which]
    return np.where(which < 0, np.nan, np.where(right, sign, -sign))


def _plain(decision: Decision) -> Decision:
    """The decision in plain numbers, whatever it was made of."""
    label, margin, variance, q, asked, ticket, _ = decision
    label, margin, variance, q = (
        number(f"decision: {name}", value, float, None)
        for name, value in zip(_PLAIN, (label, margin, variance, q), strict=True)
    )
    asked = number("decision: asked", asked, bool, None)
    return Decision(label, margin, variance, q, asked, validation.ticket(ticket))


def _refusal(decision: Decision, last: int) -> ValueError:
    if not last < decision.ticket <= LAST:
        return ValueError(
            f"decision: ticket {shown(decision.ticket)} came after {last}, but must rise"
        )
    return ValueError(f"decision: impossible label, margin or propensity in {shown(decision)}")
