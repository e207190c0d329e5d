"""Alarms, and the protocol of the detectors that raise them, and detectors as bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.typing import ArrayLike

from lasec.errors import StateError
from lasec.persistence.container import Arrays, pack, restored
from lasec.types import Decision, Outcome

T = TypeVar("T")


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
    evidence: float
    before: float
    after: float
    since: int
    low: float = math.nan
    high: float = math.nan
    labels: int = 0
    what: str = ""
    others: int = 0
    effect: float = math.nan
    quiet: int = 0


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


def written(part: Any) -> bytes:
    """A whole detector as bytes: its ``KIND``, ``PARAMETERS``, and what its ``_saved`` gives."""
    header, arrays = part._saved()
    parameters = {name: getattr(part, name) for name in part.PARAMETERS}
    return pack({"kind": part.KIND, "parameters": parameters, **header}, arrays)


def read_as(data: bytes, kind: str, make: Callable[..., T]) -> T:
    """What :func:`written` gave; ``make`` is called with the parameters, then its ``_restore``."""

    def build(header: dict[str, Any], arrays: Arrays) -> T:
        if header.get("kind") != kind:
            raise StateError(f"foreign: this is not a {kind}")
        made: Any = make(**header["parameters"])
        made._restore(header, arrays)
        return made  # type: ignore[no-any-return]

    return restored(data, build)
