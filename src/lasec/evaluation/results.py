"""What an evaluation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lasec import notebook
from lasec.alarms import Alarm
from lasec.evaluation.pictures import draw, drawable, png
from lasec.evaluation.tally import Columns, Margins, Part, part, rows_of
from lasec.metrics import Estimate, Meter
from lasec.records import Records
from lasec.tracker import Belief


class Answer(NamedTuple):
    """An answer as it arrived: to which ticket, what it said, after how many rounds of the run.

    ``verdict`` is the label that the question then had, by the learner's policy; 0 for none yet.
    """

    ticket: int
    y: int
    round: int
    verdict: int


class Point(NamedTuple):
    """How things stood after ``round`` rounds of the run.

    ``estimate`` is the accuracy of the last window as the asked labels tell it, with its interval
    for this moment; ``always`` has the interval that holds at all moments at once. ``truth`` is the
    accuracy of the very same rounds, which only a simulation can know. ``labels`` were asked since
    the run began, and ``planned`` is what the budget allows by now, less what had been asked before
    (NaN without a budget). ``open`` counts the questions without an answer,
    ``age`` is that of the oldest, in rounds or in the time that was given. ``belief`` is what a
    Tracker believes then about its stream; other learners believe nothing.
    """

    round: int
    estimate: Estimate
    always: Estimate
    truth: float
    labels: int
    planned: float
    open: int
    age: float
    belief: Belief | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The rounds of a run, how things stood along it, which answers came when, and the alarms.

    ``refused`` counts the answers that came too late, or to a question that was settled. ``meter``
    is the one that has listened. ``bounded`` says whether margins lie within -1 and 1.

    >>> import lasec
    >>> X, y = lasec.streams.switching(3_000, dimension=5, every=1_000, seed=1)
    >>> evaluation = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y, delay=50)
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
    meter: Meter
    bounded: bool = False

    @property
    def first(self) -> int:
        """The ticket of the first round."""
        return self.records.first

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return len(self.records)

    @property
    def labels(self) -> int:
        """How many labels were asked for."""
        return self.records.labels

    @property
    def accuracy(self) -> float:
        """The true accuracy over all rounds."""
        return self.records.accuracy

    @property
    def estimate(self) -> Estimate:
        """The accuracy over all settled rounds, as the meter tells it from the answers."""
        return self.meter.accuracy

    @property
    def groups(self) -> list[Part]:
        """None: the rows of an evaluation have no names. See :class:`lasec.Trace`."""
        return []

    @property
    def margins(self) -> Margins:
        """How margins lie, where it asked, and where it was wrong."""
        return Margins.none(bounded=self.bounded).add(self._columns(0, self.rounds))

    def parts(self, count: int = 10) -> list[Part]:
        """The run in ``count`` equal stretches of time.

        Estimates are from the answers; one speaks of the settled rounds of its part.

        >>> import lasec
        >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
        >>> evaluation = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
        >>> [(part.name, part.labels) for part in evaluation.parts(2)]
        [('1-1000', 242), ('1001-2000', 198)]
        """
        ends = sorted({round(end) for end in np.linspace(0.0, self.rounds, count + 1)} - {0})
        parts = []
        for begin, end in zip([0, *ends], ends, strict=False):
            settled = max(begin, min(end, self.estimate.until - self.first))
            known = part("", rows_of(self._columns(begin, settled)).sum(axis=1), settled)
            whole = rows_of(self._columns(begin, end)).sum(axis=1)
            name = f"{begin + 1}-{end}"
            parts.append(part(name, whole, end)._replace(estimate=known.estimate))
        return parts

    def _columns(self, begin: int, end: int) -> Columns:
        """Some of the rounds; questions that stay without an answer are lost at random."""
        asked, q = self.records.asked, self.records.propensity
        verdict = np.zeros(self.rounds)
        for answer in self.answers:
            if answer.verdict and answer.ticket >= self.first:
                verdict[answer.ticket - self.first] = answer.verdict
        settled = np.arange(self.rounds) < self.estimate.until - self.first
        answered = asked & (verdict != 0.0)
        weights = [float((1.0 / q[chosen & settled]).sum()) for chosen in (answered, asked)]
        share = weights[0] / weights[1] if weights[0] > 0.0 else 1.0
        wrong = verdict != self.records.label
        columns = Columns(
            self.records.label, self.records.margin, q * share, asked, self.records.mistake,
            answered, wrong,
        )  # fmt: skip
        return columns.cut(begin, end)

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
        >>> figure = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y).draw()
        >>> [axes.get_ylabel() for axes in figure.axes][:2]
        ['accuracy', 'labels']
        """
        return draw(self.points, self.alarms, self.records.first)

    def _repr_png_(self) -> bytes | None:
        """The picture in a notebook, where matplotlib is installed."""
        return png(self.draw) if drawable() else None

    def _repr_html_(self) -> str:
        """A card in a notebook."""
        return told(self, type(self).__name__)


def told(source: Any, title: str) -> str:
    """A trace or an evaluation as a card."""
    here: Estimate = source.estimate
    span = f"{notebook.percent(here.low)} to {notebook.percent(here.high)}"
    rate = source.labels / source.rounds if source.rounds else float("nan")
    facts = {
        "rounds": f"{source.rounds:,}",
        "right, as estimated": f"{notebook.percent(here.value)} ({span})",
        "right, in truth": notebook.percent(source.accuracy),
        "labels asked": f"{source.labels:,} ({notebook.percent(rate)})",
    }
    if source.alarms:
        facts["alarms"] = f"{len(source.alarms):,}"
    points = [point for point in source.points if point.estimate.value == point.estimate.value]
    lines = {
        "as estimated": np.array([point.estimate.value for point in points]),
        "in truth": np.array([point.truth for point in points]),
    }
    return notebook.card(title, facts, notebook.sparkline(lines) if points else "")
