"""What can ask, in scikit-learn: a budget, open questions, a meter and detectors in one session."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from lasec.alarms import Alarm, Detector
from lasec.learner import Learner
from lasec.metrics import Estimate, Meter
from lasec.queries import VarianceThreshold
from lasec.selector import Selector
from lasec.session import AnyModel, OwnModel, Session
from lasec.session.adapters import budget
from lasec.sparse import csr
from lasec.tracker import AUDIT
from lasec.types import Decision, Query


@contextmanager
def drafted(estimator: Any) -> Iterator[Any]:
    """A copy to work on, whose attributes become the estimator's if nothing goes wrong.

    It shares what it does not replace, so nothing that hangs on it may be changed in place. Readers
    in other threads see the estimator as it was until then.
    """
    draft = object.__new__(type(estimator))
    vars(draft).update(vars(estimator))
    yield draft
    gone = vars(estimator).keys() - vars(draft).keys()
    vars(estimator).update(vars(draft))  # one step, so that no signal can come in between
    for name in gone:
        vars(estimator).pop(name, None)


class AskingMixin:
    """The part of a classifier that asks; it needs the parameters named here."""

    rate: float
    query: Query | None
    seed: int | None
    max_pending: int
    max_age: int | None
    detectors: Sequence[Detector]
    _session: Session
    _queries: type | None = None

    @property
    def selector_(self) -> Selector:
        """The budget, and what was spent of it."""
        model: Any = self._session.model
        return (model.learner if isinstance(model, OwnModel) else model).selector

    @property
    def meter_(self) -> Meter:
        """The meter that has heard every decision and every label that was asked for.

        Only whether predictions were right is told to it, so it measures accuracy and log loss.
        """
        return self._session.meter

    @property
    def alarms_(self) -> list[Alarm]:
        """What the ``detectors`` have raised so far."""
        return self._session.alarms

    @property
    def open_questions_(self) -> int:
        """How many rows that ``should_ask`` has asked about wait for their labels."""
        return len(self._session.model.questions) if hasattr(self, "_session") else 0

    def accuracy(self, **options: Any) -> Estimate:
        """An unbiased estimate, with an interval, of the accuracy over all rows of ``should_ask``.

        Queried rows are harder than average; the estimate weights them by their probabilities of
        being queried. ``options`` are those of :meth:`lasec.Meter.estimate`.

        >>> import lasec
        >>> from lasec.sklearn import TrackerClassifier
        >>> X, y = lasec.streams.stationary(2_000, dimension=5, seed=1)
        >>> model = TrackerClassifier(rate=0.1, seed=0)
        >>> for begin in range(0, 2_000, 100):
        ...     rows, labels = X[begin : begin + 100], y[begin : begin + 100]
        ...     asked, _ = model.should_ask(rows)
        ...     model = model.partial_fit(rows[asked], labels[asked], classes=[-1, 1])
        >>> estimate = model.accuracy()
        >>> f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
        '0.99 (0.98 to 1.00)'
        """
        return self._session.accuracy(**options)

    def cancel(self, X: Any) -> int:
        """Give up the questions about these rows: their labels will not come; gives how many.

        >>> import numpy as np
        >>> from lasec.sklearn import TrackerClassifier
        >>> model, X = TrackerClassifier(rate=1.0), np.eye(3)
        >>> asked, _ = model.should_ask(X)
        >>> model.cancel(X[:2]), model.open_questions_, model.meter_.lost
        (2, 1, 2)
        """
        tickets = [ticket for ticket in self._tickets(X) if ticket >= 0]
        for ticket in tickets:
            self._session.cancel(ticket)
        return len(tickets)

    @property
    def _audit(self) -> float:
        """The part of the labels that is spread evenly, where there is no query of one's own."""
        return AUDIT

    @property
    def _query(self) -> Query:
        """The query of these parameters."""
        return chosen(self.rate, self.query, self._queries, self._audit)

    def _stand(self, model: Learner | AnyModel) -> None:
        """Stand on a session in which nothing was asked yet."""
        patience = self.max_pending if self.max_age is None else None
        meter, detectors = Meter(patience=patience), deepcopy(tuple(self.detectors))
        self._session = Session(model, meter=meter, detectors=detectors)

    def _keys(self) -> Iterator[tuple[int, bytes]]:
        """The open tickets, oldest first, with the digests of their rows."""
        notes = self._session.notes
        return ((ticket, note.columns["key"]) for ticket, note in notes.items())

    def _heard(
        self, X: Any, decisions: Sequence[Decision]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Keep the digests of the rows that are asked about, and let the session hear of all.

        Gives which are asked about, and the probability with which each was going to be.
        """
        asked = np.array([decision.asked for decision in decisions], dtype=np.bool_)
        at = np.flatnonzero(asked).tolist()
        for place, key in zip(at, keys(_safe_indexing(X, at)), strict=True):
            self._session.keep(decisions[place].ticket, {"key": key})
        self._session.hear_asked(decisions, row_of(X))
        chances = [decision.propensity for decision in decisions]
        return asked, np.array(chances, dtype=np.float64)

    def _tickets(self, X: Any) -> list[int]:
        """The open ticket of each row, oldest first among equal rows; -1 where there is none."""
        waiting = dict[bytes, deque[int]]()
        for ticket, key in self._keys():
            waiting.setdefault(key, deque()).append(ticket)
        if not waiting:
            return [-1] * _num_samples(X)
        same = (waiting.get(key) for key in keys(X))
        return [tickets.popleft() if tickets else -1 for tickets in same]


def chosen(
    rate: float, query: Query | None, kind: type | None = None, audit: float = AUDIT
) -> Query:
    """The query of a Tracker of this ``rate``, or a ``query`` of one's own.

    ``kind`` is the only kind of query that will do.

    >>> chosen(0.2, None).rate
    0.2
    >>> from lasec.queries import Uniform
    >>> chosen(0.1, Uniform(0.5))
    Uniform(rate=0.5)
    """
    made = budget(rate, query, audit)
    if query is None:
        return made
    if kind is not None and not isinstance(query, kind):
        raise TypeError(f"query must be a lasec.queries.{kind.__name__}, got {query!r}")
    if getattr(query, "max_open", 0) > 0:
        raise ValueError("query: max_open is not for batches, in which no label can come back")
    if isinstance(getattr(query, "inner", query), VarianceThreshold):
        raise ValueError("query: VarianceThreshold needs variances, and here are margins alone")
    return query


def keys(X: Any) -> list[bytes]:
    """A digest of each row, by which its label finds its question.

    Numbers count in single precision, so that a row may be told in another precision than it was
    asked in, and zeros do not count, so that it may be dense or sparse.

    >>> from scipy.sparse import csr_array
    >>> rows = np.array([[0.0, 2.0], [3.0, 0.0]])
    >>> keys(rows) == keys(csr_array(rows.astype(np.float32))) != keys(rows[::-1])
    True
    """
    if issparse(X):
        rows = csr("X", X)
        rows.sort_indices()
        ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
        return [_key(rows.indices[a:b], rows.data[a:b]) for a, b in ends]
    table = np.asarray(X) if hasattr(X, "__array__") else np.array([*X, None], object)[:-1]
    if table.dtype.kind in "fiub":
        places = np.arange(table[:1].size)
        return [_key(places, row.ravel()) for row in table]
    return [_digest(repr(list(row) if np.ndim(row) else row).encode()) for row in table]


def row_of(X: Any) -> Callable[[int], Any]:
    """The rows of a table as detectors take them: sparse ones as they are.

    >>> from scipy.sparse import csr_array
    >>> row_of(csr_array([[0.0, 2.0]]))(0).shape
    (1, 2)
    """
    if issparse(X):
        rows = csr("X", X)
        return lambda at: rows[[at]]
    return lambda at: _safe_indexing(X, [at])[0] if isinstance(X, list) else np.asarray(X)[at]


def _key(places: NDArray[Any], values: NDArray[Any]) -> bytes:
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
    there = single != 0.0
    return _digest(places[there].astype(np.int64).tobytes() + single[there].tobytes())


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
