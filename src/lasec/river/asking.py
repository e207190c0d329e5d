"""What can ask: a River model in a session, with a budget, open questions and a meter."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from lasec.alarms import Alarm, Detector
from lasec.learner import Learner
from lasec.metrics import Meter
from lasec.parameters import shown
from lasec.session import AnyModel, Session
from lasec.types import Decision, Query
from lasec.validation import is_missing

Row = dict[Hashable, Any]


@dataclass(frozen=True)
class _Boxed:
    """A query or a rule on its way through a clone: River cannot clone an empty tuple."""

    value: Any

    def __repr__(self) -> str:
        return repr(self.value)


def unboxed(value: Any) -> Any:
    """A parameter as it was given, whether it came through a clone or not.

    >>> unboxed(0.1)
    0.1
    """
    return value.value if isinstance(value, _Boxed) else value


class Asking:
    """The half of a classifier that asks, with a session; the other half predicts and learns.

    ``meter`` is a :class:`lasec.Meter` that hears everything: ``meter.accuracy`` is an unbiased
    estimate over all rows, queried or not, for any number of classes. It is told whether
    predictions were right, so it measures accuracy and log loss. It covers the rows before the
    oldest open question, so cancel a label that will never come with ``cancel_one``, or set
    ``max_age``. Without ``max_age`` a question stays open until more than ``max_pending`` are.
    """

    def _open(
        self, rate: float, query: Query | None, seed: int | None, max_pending: int,
        max_age: int | None,
    ) -> None:  # fmt: skip
        """Keep the parameters of all that can ask."""
        self.rate, self.query, self.seed = rate, unboxed(query), seed
        self.max_pending, self.max_age = max_pending, max_age

    def _stand(self, model: Learner | AnyModel) -> None:
        """Stand on a session in which nothing was asked yet."""
        patience = self.max_pending if self.max_age is None else None
        self._session = Session(model, meter=Meter(patience=patience))
        self.meter = self._session.meter

    @property
    def pending(self) -> tuple[int, ...]:
        """The open tickets, oldest first."""
        return tuple(question.ticket for question in self._session.model.questions)

    def ask_one(self, x: Row, *, time: float | None = None) -> Decision:
        """Predict the class of ``x``, and decide whether to query the true one.

        ``time`` is when ``x`` came, for budgets by time. The label of the decision is what
        ``predict_one`` would say, None before any label is known; its margin is how far that class
        leads (:func:`lasec.selector.bvsb_margin`). The true label is told with :meth:`tell_one`.

        >>> from lasec.river import TrackerClassifier
        >>> TrackerClassifier(seed=0).ask_one({"size": 2.0, "member": True}).asked
        True
        """
        return self._session.ask(x, time=time)

    def tell_one(self, ticket: int, y: Hashable) -> bool | None:
        """Learn the label that was asked for; whether the prediction given out then was right.

        None where nothing was predicted: before the first label, and where only one class is known
        and the row was predicted to be of another.

        >>> from lasec.river import TrackerClassifier
        >>> model = TrackerClassifier(seed=0)
        >>> decision = model.ask_one({"size": 2.0})
        >>> print(model.tell_one(decision.ticket, "spam"))
        None
        >>> model.ask_one({"size": 2.0}).label, model.pending
        ('spam', (1,))
        """
        return self._session.tell(ticket, named(y)).correct

    def cancel_one(self, ticket: int) -> None:
        """Give up a question whose answer will not come; the meter waits for it no longer.

        >>> from lasec.river import TrackerClassifier
        >>> model = TrackerClassifier(seed=0)
        >>> model.cancel_one(model.ask_one({"size": 2.0}).ticket)
        >>> model.pending, model.meter.lost
        ((), 1)
        """
        self._session.cancel(ticket)

    def watch(self, *detectors: Detector) -> None:
        """Let drift detectors hear of every row and label from now on; see :attr:`alarms`.

        >>> from lasec.alarms import DropAlarm
        >>> from lasec.river import TrackerClassifier
        >>> model = TrackerClassifier()
        >>> model.watch(DropAlarm())
        >>> model.alarms
        []
        """
        self._session.detectors += detectors

    @property
    def alarms(self) -> list[Alarm]:
        """What the detectors have raised so far."""
        return self._session.alarms

    def _get_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super()._get_params()  # type: ignore[misc]
        return {name: _Boxed(value) if value == () else value for name, value in params.items()}


def named(y: Any) -> Any:
    """The label itself, unless it is missing: None, NaN or the like.

    >>> named("spam")
    'spam'
    >>> named(float("nan"))
    Traceback (most recent call last):
    ValueError: y: nan is no label
    """
    try:
        hash(y)  # a list cannot be a class
        missing = is_missing(y)
    except TypeError:
        missing = True
    if missing:
        raise ValueError(f"y: {shown(y)} is no label")
    return y
