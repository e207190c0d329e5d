"""How good the model is right now, from the few labels that were asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

from lasec import guards
from lasec.metrics import anytime, planner, totals
from lasec.metrics.estimate import Costs, Estimate, Interval, Method, Metric, Over, Scope
from lasec.metrics.intake import Intake
from lasec.metrics.planner import RATES, Plan, Spread
from lasec.metrics.sums import LOSS, MINUS, PLUS, Column
from lasec.parameters import Range, choice, number

NOTHING = Costs()


class Meter(Intake):
    """Estimates accuracy and its relatives over all rounds, from the labels that were asked.

    Labels that a learner asks for are mostly the hard ones: their plain mean says little about
    the stream. With the propensities that every decision carries it can be put right, see
    :mod:`lasec.metrics.totals`. Tell a meter every decision, in order, and every outcome, whenever
    it comes. Estimates are about the rounds before the oldest question that is still open.

    ``window`` is the number of last rounds for ``over="window"`` (up to a 16th more are taken), and
    ``fade`` the number of rounds in which weights fall to 1/e for ``over="fading"``. A question not
    answered within ``patience`` rounds is taken for lost, and losses are taken to be at random.
    ``probability`` turns an array of margins into P(y = +1), if that is not (1 + margin)/2; it is
    kept within .001 and .999. A wrong one widens intervals and biases nothing. ``costs`` are for
    ``estimate("cost")``. Rounds with propensity 0 could not be asked: "assisted" takes the model's
    word for them and widens the interval by all that they can be; the others leave them out.

    >>> import lasec
    >>> X, y = lasec.streams.walking(5_000, speed=0.01, seed=1)
    >>> tracker, meter = lasec.Tracker(rate=0.2, seed=0), lasec.metrics.Meter()
    >>> for x, label in zip(X, y):
    ...     decision = tracker.ask(x)
    ...     meter.ask(decision)
    ...     if decision.asked:
    ...         meter.tell(tracker.tell(decision.ticket, label))
    >>> meter
    Meter(window=1000, rounds=5000, asked=1024, labels=1024)
    >>> estimate = meter.estimate("accuracy", over="window")
    >>> print(f"{estimate.value:.2f}, between {estimate.low:.2f} and {estimate.high:.2f}")
    0.91, between 0.88 and 0.94
    """

    def estimate(
        self,
        metric: Metric | str = Metric.ACCURACY,
        *,
        over: Over | str = Over.ALL,
        method: Method | str = Method.ASSISTED,
        interval: Interval | str = Interval.NORMAL,
        level: float = 0.95,
    ) -> Estimate:
        """A metric over the settled rounds: all of them, the window, or with fading weights.

        ``interval="normal"`` is for one look at a time; ``"sequence"`` holds at all times at once,
        and is wider. It is exact as long as no answer is lost; with losses, propensities are
        multiplied by the share answered so far, and it holds about. NaN, with all that is
        possible as the interval, where there are no labels or the metric is 0/0.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter(costs=lasec.metrics.Costs(false_negative=20.0))
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> for metric in ("recall", "log_loss", "cost"):
        ...     print(metric, round(meter.estimate(metric).value, 2))
        recall 0.65
        log_loss 0.6
        cost 3.23
        >>> meter.estimate("accuracy", interval="sequence").width > meter.accuracy.width
        True
        """
        metric, over = choice(Metric, metric), choice(Over, over)
        method, interval = choice(Method, method), choice(Interval, interval)
        number("level", level, float, Range(0.01, 0.999999))
        if metric is Metric.COST and self.costs is None:
            raise ValueError('costs: estimate("cost") needs a meter with costs')
        if interval is Interval.SEQUENCE and over is Over.FADING:
            raise ValueError(
                'interval="sequence" holds for all rounds or a window: with fading weights '
                "the target itself changes each round, and no sequence is known"
            )
        costs = self.costs or NOTHING
        return estimate_of(self.scope(over), metric, method, interval, costs, level)

    @property
    def accuracy(self) -> Estimate:
        """The accuracy over all settled rounds.

        >>> import lasec
        >>> lasec.metrics.Meter().accuracy
        Estimate(value=nan, low=0.0, high=1.0, rounds=0, labels=0, until=0)
        """
        return self.estimate()

    def plan(
        self,
        *,
        width: float | None = None,
        labels: float | None = None,
        window: int | str = 10_000,
        rows_per_day: float | None = None,
        level: float = 0.95,
    ) -> Plan:
        """The labels in a window for an accuracy's interval of a width, or the width for labels.

        See :mod:`lasec.metrics.planner`; without labels so far it is a plan for asking at random.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> meter.plan(width=0.04, window="1d", rows_per_day=50_000).labels
        5245
        """
        rounds = planner.rounds_in(window, rows_per_day)
        return self._spread().plan(width, labels, rounds, level)

    def curve(
        self, window: int | str = 10_000, rates: Sequence[float] = RATES,
        *, rows_per_day: float | None = None, level: float = 0.95,
    ) -> list[Plan]:  # fmt: skip
        """The widths that a range of budgets buys.

        >>> import lasec
        >>> X, y = lasec.streams.switching(5_000, seed=1)
        >>> meter = lasec.metrics.Meter()
        >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
        >>> [round(plan.width, 3) for plan in meter.curve(rates=(0.05, 0.1, 0.2))]
        [0.131, 0.092, 0.064]
        """
        rounds, spread = planner.rounds_in(window, rows_per_day), self._spread()
        shares = guards.finite("rates", guards.real("rates", rates, 1)).tolist()
        return [spread.of_labels(max(1.0, rate * rounds), rounds, level) for rate in shares]

    @property
    def rounds(self) -> int:
        """How many rounds have been asked about it, settled or not."""
        return self._admitted + len(self._asks)

    @property
    def asked(self) -> int:
        """How many labels were asked for."""
        return self._count("_asked")

    @property
    def labels(self) -> int:
        """How many answers came in time."""
        return self._count("_labels")

    @property
    def open(self) -> int:
        """How many questions wait for an answer."""
        self._flush()
        return len(self._questions)

    @property
    def oldest(self) -> int | None:
        """The ticket of the oldest question that waits for an answer, if there is one.

        >>> import lasec
        >>> meter = lasec.metrics.Meter()
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=7))
        >>> meter.oldest
        7
        """
        self._flush()
        return min(self._questions, default=None)

    def reaching(self, tolerated: float = 0.05) -> Meter:
        """A copy whose estimates reach further, where only a few open questions hold them back.

        Estimates end before the oldest open question. Here questions count as lost, at random, up
        to the last row at which they are at most the share ``tolerated`` of all that wait to be
        settled. What comes after that row stays open, and this meter stays as it is.

        >>> import lasec
        >>> meter = lasec.Meter()
        >>> X, y = lasec.streams.stationary(2_000, dimension=5, seed=1)
        >>> tracker = lasec.Tracker(rate=0.2, seed=0)
        >>> for x, label in zip(X, y):
        ...     decision = tracker.ask(x)
        ...     meter.ask(decision)
        ...     if decision.asked and decision.ticket > 10:
        ...         meter.tell(tracker.tell(decision.ticket, label))
        >>> meter.accuracy.rounds, meter.reaching().accuracy.rounds, meter.reaching().lost
        (0, 2000, 11)
        """
        share: float = number("tolerated", tolerated, float, Range(0.0, 1.0))
        self._flush()
        twin = deepcopy(self)
        end = twin._panes.reach(share) * twin._panes.size
        for ticket in [t for t, question in twin._questions.items() if question.round < end]:
            twin.lose(ticket)
        return twin

    @property
    def lost(self) -> int:
        """How many questions were given up."""
        return self._count("_lost")

    @property
    def ignored(self) -> int:
        """How many answers came twice, too late, or without a question."""
        return self._count("_ignored")

    @property
    def blind(self) -> int:
        """How many rounds could not be asked, having propensity 0."""
        return self._count("_blind")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(window={self.window}, rounds={self.rounds}, "
            f"asked={self.asked}, labels={self.labels})"
        )

    def _count(self, name: str) -> int:
        self._flush()
        return int(getattr(self, name))

    def scope(self, over: Over = Over.ALL) -> Scope:
        """The sums that an estimate is made of, as they are now: see :func:`estimate_of`.

        >>> import lasec
        >>> lasec.Meter().scope().block.shape[0]
        3
        """
        if over is Over.WINDOW and self.window is None:
            raise ValueError('over="window" needs a meter with a window')
        if over is Over.FADING and self.fade is None:
            raise ValueError('over="fading" needs a meter with a fade')
        self._flush()
        return self._panes.scope(over)

    def _spread(self) -> Spread:
        scope = self.scope()
        rows, share = scope.block[[PLUS, MINUS]].sum(axis=0), scope.share
        if math.isnan(share):
            return Spread(0.25, 0.25, 1.0)
        rounds = float(rows[Column.ROUNDS])
        a, b = rows[Column.DD2] / share**2, rows[Column.DD1] / share
        return Spread(float(a) / rounds, float(b) / rounds, float(rows[Column.CHANCE]) / rounds)


def estimate_of(
    scope: Scope, metric: Metric = Metric.ACCURACY, method: Method = Method.ASSISTED,
    interval: Interval = Interval.NORMAL, costs: Costs = NOTHING, level: float = 0.95,
) -> Estimate:  # fmt: skip
    """The estimate that these sums make, now or later.

    >>> import lasec
    >>> X, y = lasec.streams.switching(5_000, seed=1)
    >>> meter = lasec.Meter()
    >>> meter.extend(lasec.Tracker(rate=0.1, seed=0).run(X, y), y)
    >>> estimate_of(meter.scope()) == meter.accuracy
    True
    """
    found = totals.value(scope, metric, method, costs)
    if interval is Interval.SEQUENCE:
        ends = anytime.bounds(scope, metric, costs, 1.0 - level)
    else:
        ends = found.interval(level)
    known = Column.ROUNDS if method is Method.ASSISTED else Column.SEEN
    rounds, labels = (round(float(scope.block[LOSS, c])) for c in (known, Column.LABELS))
    low, high = _within(ends, _possible(metric, costs))
    return Estimate(found.value, low, high, rounds, labels, scope.until)


def _possible(metric: Metric, costs: Costs) -> tuple[float, float]:
    if metric is Metric.COST:
        return min(costs), max(costs)
    return 0.0, math.inf if metric is Metric.LOG_LOSS else 1.0


def _within(ends: tuple[float, float], possible: tuple[float, float]) -> tuple[float, float]:
    """The interval kept to what is possible; all that is, where there is none."""
    least, most = possible
    low, high = (
        (least if math.isnan(ends[0]) else ends[0]),
        (most if math.isnan(ends[1]) else ends[1]),
    )
    return min(max(low, least), most), max(min(high, most), least)
