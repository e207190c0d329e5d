"""What an evaluation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from lasec.alarms import Alarm
from lasec.evaluation.pictures import draw, drawable, png
from lasec.metrics import Estimate
from lasec.records import Records


class Answer(NamedTuple):
    """An answer as it arrived: to which ticket, what it said, after how many rounds of the run."""

    ticket: int
    y: int
    round: int


class Point(NamedTuple):
    """How things stood after ``round`` rounds of the run.

    ``estimate`` is the accuracy of the last window as the asked labels tell it, with its interval
    for this moment; ``always`` has the interval that holds at all moments at once. ``truth`` is the
    accuracy of the very same rounds, which only a simulation can know. ``planned`` is what the
    budget allows by now (NaN without a budget). ``open`` counts the questions without an answer,
    ``age`` is that of the oldest, in rounds or in the time that was given.
    """

    round: int
    estimate: Estimate
    always: Estimate
    truth: float
    labels: int
    planned: float
    open: int
    age: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The rounds of a run, how things stood along it, which answers came when, and the alarms.

    ``refused`` counts the answers that came too late, or to a question that was settled.

    >>> import lasec
    >>> X, y = lasec.streams.switching(3_000, dimension=5, every=1_000, seed=1)
    >>> evaluation = lasec.evaluate(lasec.Tracker(rate=0.2), X, y, delay=50)
    >>> evaluation
    Evaluation(rounds=3000, accuracy=0.947, labels=635, answers=625, alarms=0)
    >>> last = evaluation.points[-1]
    >>> last.truth in last.estimate, last.open
    (True, 10)
    """

    records: Records
    points: list[Point]
    answers: list[Answer]
    alarms: list[Alarm]
    refused: int

    def __repr__(self) -> str:
        return (
            f"Evaluation(rounds={len(self.records)}, accuracy={self.records.accuracy:.3f}, "
            f"labels={self.records.labels}, answers={len(self.answers)}, "
            f"alarms={len(self.alarms)})"
        )

    def draw(self) -> Any:
        """The run as a picture, a matplotlib ``Figure``: needs ``lasec[plot]``.

        Above, the accuracy of the last window as estimated, with the interval for each moment and
        the one for all moments at once, the true one, and the alarms; below, labels against the
        budget, and the open questions with the age of the oldest.

        >>> import lasec
        >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
        >>> figure = lasec.evaluate(lasec.Tracker(rate=0.2), X, y).draw()
        >>> [axes.get_ylabel() for axes in figure.axes][:2]
        ['accuracy', 'labels']
        """
        return draw(self.points, self.alarms, self.records.first)

    def _repr_png_(self) -> bytes | None:
        """The picture in a notebook, where matplotlib is installed."""
        return png(self.draw) if drawable() else None
