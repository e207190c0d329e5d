"""The default learner: no drift, no scale, no caution to set; only the share of labels to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards, snapshot
from lasec.errors import StateError
from lasec.learner import Learner
from lasec.model import Options
from lasec.parameters import SMALLEST, Range, number
from lasec.queries import Budgeted, MarginCoin
from lasec.records import Records
from lasec.rules import Tracking
from lasec.rules.hypotheses import HAZARDS, LAPSES, SPEEDS
from lasec.types import Decision, Outcome, Query, Rule, Vector

_SIZED = nullcontext()  # every row but the first costs nothing more


def steady(rate: float, horizon: float = 10_000) -> Budgeted:
    """The query of a Tracker: sharper, the more labels there are.

    >>> steady(0.2).rate, steady(0.2).inner.power
    (0.2, 1.75)
    """
    share: float = number("rate", rate, float, Range(SMALLEST, 1.0))
    coin = MarginCoin(0.5, power=1.5 + min(0.5, 1.25 * share))
    return Budgeted(share, coin, horizon=horizon)


class Belief(NamedTuple):
    """What a Tracker believes about its stream, each as an expectation over its hypotheses.

    ``since`` is the round after which the present concept began (the median of what is believed),
    ``certainty`` the probability of just that round among the few that are considered, and ``age``
    how many rounds ago the last change is expected to have been.
    ``drift`` is the share of the concept that is replaced in a round, ``hazard`` the probability of
    a sudden change in a round, ``noise`` that of a wrong label.

    >>> import lasec
    >>> tracker = lasec.Tracker(rate=0.4, seed=0)
    >>> records = tracker.run(*lasec.streams.switching(2_750, every=1_000, noise=0.05, seed=1))
    >>> belief = tracker.belief
    >>> belief.since, round(belief.certainty, 2), round(belief.noise, 2)
    (2010, 0.97, 0.06)
    """

    since: int
    certainty: float
    age: float
    drift: float
    hazard: float
    noise: float


class Tracker(Learner):
    """Follows a stream whatever its drift, and asks for a share ``rate`` of the labels.

    It is a Bayesian mixture over when the present concept began, how fast it drifts, and how often
    labels are wrong (:mod:`lasec.rules.tracking`), and asks where it is in doubt, with a controller
    that holds the rate (:mod:`lasec.queries.budgeted`). Rows need no scaling and no intercept. The
    margin of a decision is P(y = +1) - P(y = -1). ``dimension`` is that of the first row, if not
    given. ``horizon`` is the number of rounds in which the labels lent at the start are paid back.
    Other budgets (labels a day, a total, backpressure): ``budget``. Other settings of the mixture:
    ``rule``. The other options are those of :class:`~lasec.Learner`.

    >>> import lasec
    >>> X, y = lasec.streams.switching(seed=1)
    >>> lasec.Tracker(rate=0.4, seed=0).run(X, y)
    Records(rounds=10000, accuracy=0.816, labels=3991, rate=0.399)
    """

    def __init__(
        self,
        dimension: int | None = None,
        *,
        rate: float = 0.1,
        horizon: int = 10_000,
        budget: Budgeted | None = None,
        rule: Tracking | None = None,
        **options: Unpack[Options],
    ) -> None:
        if budget is not None and (rate, horizon) != (0.1, 10_000):
            raise ValueError("budget: it has a rate and a horizon of its own, so give one or other")
        self._unsized = dimension is None
        super().__init__(
            rule or Tracking(), budget or steady(rate, horizon),
            dimension=1 if dimension is None else dimension, update="labels", name="Tracker",
            **options,
        )  # fmt: skip

    def ask(
        self, x: ArrayLike, *, time: float | None = None, coin: float | None = None
    ) -> Decision:
        """Predict the label of ``x``, and decide whether to ask for the true one.

        >>> import lasec
        >>> lasec.Tracker(rate=0.1, seed=0).ask([0.5, -1.0]).asked
        True
        """
        with self._sized(lambda: guards.real("x", x, 1).size):
            return super().ask(x, time=time, coin=coin)

    def tell_row(self, x: ArrayLike, y: int) -> Outcome:
        """Learn a labelled instance that came for free: labels from before the stream, for example.

        >>> import lasec
        >>> tracker = lasec.Tracker(rate=0.1, seed=0)
        >>> for x, label in zip(*lasec.streams.stationary(200, dimension=2, seed=1)):
        ...     outcome = tracker.tell_row(x, label)
        >>> tracker.told, tracker.asked
        (200, 0)
        """
        with self._sized(lambda: guards.real("x", x, 1).size):
            return super().tell_row(x, y)

    def run(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        times: ArrayLike | None = None,
        coins: ArrayLike | None = None,
        lazy: bool = False,
    ) -> Records:
        """Ask and, where asked, tell at once, for each row: a whole chunk in compiled code.

        ``lazy`` makes no difference here: the mixture needs every variance.

        >>> import lasec
        >>> X, y = lasec.streams.walking(speed=0.03, seed=1)
        >>> lasec.Tracker(rate=0.1, seed=0).run(1000.0 * X, y)
        Records(rounds=10000, accuracy=0.776, labels=1002, rate=0.100)
        """
        with self._sized(lambda: guards.real("X", X, 2).shape[1]):
            return super().run(X, y, times=times, coins=coins, lazy=lazy)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probabilities of -1 and +1 for each row, as of the next round; nothing is asked.

        >>> import lasec
        >>> X, y = lasec.streams.stationary(1_000, dimension=5, seed=1)
        >>> tracker = lasec.Tracker(dimension=5, rate=0.2, seed=0)
        >>> records = tracker.run(X, y)
        >>> tracker.predict_proba(X[:2]).round(3).tolist()
        [[0.997, 0.003], [0.997, 0.003]]
        """
        margin = self.margins(X)
        return np.column_stack([(1.0 - margin) / 2.0, (1.0 + margin) / 2.0])

    def margins(self, X: ArrayLike) -> Vector:
        """P(+1) - P(-1) for each row, as of the next round; nothing is counted or queried.

        >>> import lasec
        >>> lasec.Tracker(seed=0).margins([[1.0, 2.0]]).tolist()
        [0.0]
        """
        with self._sized(lambda: guards.real("X", X, 2).shape[1]):
            return super().margins(X)

    @property
    def rate(self) -> float:
        """The share of labels that is aimed at, or the labels per unit of time.

        >>> import lasec
        >>> lasec.Tracker(rate=0.2, seed=0).rate
        0.2
        """
        return self._aim.rate

    @property
    def belief(self) -> Belief:
        """What it believes about changes, drift and label noise, in short.

        >>> import lasec
        >>> tracker = lasec.Tracker(rate=1.0, seed=0)
        >>> records = tracker.run(*lasec.streams.stationary(seed=1))
        >>> tracker.belief.since, round(tracker.belief.drift, 5), round(tracker.belief.noise, 3)
        (0, 3e-05, 0.001)
        """
        marginal = self.posterior
        age = self.rounds - self.state.born
        order = np.argsort(self.state.born, kind="stable")
        middle = int(np.searchsorted(np.cumsum(marginal["since"][order]), 0.5))
        slot = int(order[min(middle, order.size - 1)])
        rule: Any = self.rule
        return Belief(
            since=int(self.state.born[slot]),
            certainty=float(marginal["since"][slot]),
            age=float(marginal["since"] @ age),
            drift=float(marginal["drift"] @ np.multiply(rule.drift, SPEEDS)),
            hazard=float(marginal["hazard"] @ np.multiply(rule.hazard, HAZARDS)),
            noise=float(marginal["noise"] @ np.multiply(rule.lapse, LAPSES)),
        )

    @property
    def posterior(self) -> dict[str, NDArray[np.float64]]:
        """The probability of each hypothesis: of ``since``, ``drift``, ``hazard`` and ``noise``.

        ``since`` belongs to the rounds in ``state.born``, the others to the grids of the rule.

        >>> import lasec
        >>> lasec.Tracker(dimension=2, seed=0).posterior["hazard"].tolist()
        [0.25, 0.25, 0.25, 0.25]
        """
        whole = self.state.posterior
        states = whole.sum(axis=(0, 1)).reshape(-1, len(SPEEDS))
        return {
            "since": states.sum(axis=1),
            "drift": states.sum(axis=0),
            "hazard": whole.sum(axis=(1, 2)),
            "noise": whole.sum(axis=(0, 2)),
        }

    @property
    def _aim(self) -> Budgeted:
        query = self.query
        assert isinstance(query, Budgeted)
        return query

    def _sized(self, features: Callable[[], int]) -> AbstractContextManager[None]:
        """Take the dimension of the first row, if none was given; not if that row is refused."""
        return self._sizing(features) if self._unsized else _SIZED

    @contextmanager
    def _sizing(self, features: Callable[[], int]) -> Iterator[None]:
        """The first row: whatever goes wrong inside, the next one may be of another size."""
        with self._busy:
            before, fresh = (self.dimension, self.state), self._unsized
            if fresh:
                self._begin(features())
        try:
            yield
        except BaseException:
            if fresh:
                (self.dimension, self.state), self._unsized = before, True
            raise

    def _begin(self, features: int) -> None:
        """Begin with rows of so many features."""
        if features < 1:
            raise ValueError("x: expected at least one feature, got none")
        self.state = snapshot.begin(self.rule, features, self.precision)
        self.dimension, self._unsized = features, False

    def to_bytes(self) -> bytes:
        """The whole Tracker, open questions included, as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> lasec.Tracker.from_bytes(lasec.Tracker(dimension=3, rate=0.2).to_bytes())
        Tracker('Tracker', dimension=3, rounds=0, asked=0, updates=0)
        """
        if self._unsized:
            raise ValueError("dimension: this Tracker has seen no row yet, so it has no state")
        return super().to_bytes()

    @classmethod
    def _assemble(cls, rule: Rule[Any], query: Query, **options: Any) -> Self:
        if not isinstance(rule, Tracking) or not isinstance(query, Budgeted):
            raise StateError("foreign: this is no Tracker, load it with lasec.Learner")
        made = cls.__new__(cls)
        made._unsized = False
        Learner.__init__(made, rule, query, **options)
        return made
