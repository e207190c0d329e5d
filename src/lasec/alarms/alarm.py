"""What an alarm says, and what can raise one."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from numpy.typing import ArrayLike

from lasec.types import Decision, Outcome


class Alarm(NamedTuple):
    """Something has changed: what, seen in which round, and how sure that is.

    ``kind`` is what was watched ("drop", "input: feature 7" or the name of a detector), ``ticket``
    the round in which the evidence sufficed, ``evidence`` how large it was when it passed its
    threshold.
    ``before`` and ``after`` are the error rate (for an input: the mean of the score that moved most
    clearly, in standard deviations) before the change and since, and ``since`` is the ticket at
    which the change is thought to have come. What a detector does not know is NaN.

    >>> alarm = Alarm("drop", ticket=5_210, evidence=1.3e5, before=0.06, after=0.41, since=5_030)
    >>> f"the error rose from {alarm.before:.0%} to {alarm.after:.0%} after round {alarm.since}"
    'the error rose from 6% to 41% after round 5030'
    """

    kind: str
    ticket: int
    evidence: float
    before: float
    after: float
    since: int


class Detector(Protocol):
    """What all alarms have in common, so that a loop can hold a list of them.

    Each call gives the alarm that it raised, or None. An alarm that needs no labels does nothing in
    ``tell``, and one that needs no rows ignores ``x``.
    """

    def ask(self, decision: Decision, x: ArrayLike | None = None) -> Alarm | None:
        """Take note of a round."""

    def tell(self, outcome: Outcome) -> Alarm | None:
        """Take note of a label."""

    @property
    def raised(self) -> bool:
        """Whether the last call raised an alarm."""
