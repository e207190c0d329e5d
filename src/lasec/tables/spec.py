"""All that a new model is given, by the options of a command or by a request of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from lasec.alarms import Detector, DropAlarm, InputAlarm
from lasec.clock import LEAD
from lasec.errors import TableError
from lasec.learner import Learner
from lasec.queries import Budgeted, TwoPrices
from lasec.registry import find, make
from lasec.session import Session
from lasec.sources import Money, Source
from lasec.tables.cells import as_label
from lasec.tables.encoder import Encoder
from lasec.tables.kinds import Kind
from lasec.tables.learner import TableLearner
from lasec.tables.watched import names
from lasec.tracker import AUDIT_WEIGHTED

ROWS, DAY = 100_000, 86_400.0  # how long a question stays open: so many rows, or 30 days
DAYS = 30
NONE: Mapping[str, Any] = {}


class LabelBudget(NamedTuple):
    """How many labels are queried: a ``rate``, so many ``per_day``, or a ``total`` over ``rows``.

    ``rows`` are those of the whole file, where they are known: a warm-up is repaid by its end.
    Where labels have two prices, it is the ``money`` that both may cost a row, or ``daily``.
    """

    rate: float = 0.1
    per_day: float | None = None
    total: int | None = None
    audit: float | None = None
    max_open: int = 0
    warm_up: float | None = None
    rows: int | None = None
    money: float | None = None
    daily: bool = False

    def query(self, *, weighted: bool = False) -> Budgeted | None:
        """The query that holds it, if it is more than a rate; ``weighted`` are classes.

        >>> LabelBudget(0.2).query() is None, LabelBudget(0.2, audit=0.8).query().audit
        (True, 0.8)
        >>> LabelBudget(total=500, rows=10_000).query().total
        500.0
        >>> LabelBudget(0.02, rows=1_500).query().cap(1_500)
        51.0
        """
        options: dict[str, Any] = {} if self.warm_up is None else {"warm_up": self.warm_up}
        if self.max_open:
            options["max_open"] = self.max_open
        if self.audit is not None or weighted:
            options["audit"] = AUDIT_WEIGHTED if self.audit is None else self.audit
        if self.per_day is not None:
            return Budgeted.every("1d", labels=self.per_day, **options)
        if self.total is not None:
            return Budgeted(1.0, total=float(self.total), horizon=float(self.rows or 1), **options)
        options |= self._shorter(Budgeted().horizon)
        return Budgeted(self.rate, **options) if options else None

    def spending(self, sources: Sequence[Source]) -> Money | None:
        """What these sources may cost; None where labels have one price.

        >>> LabelBudget().spending([]) is None
        True
        >>> LabelBudget(money=2.0).spending([Source("gpt"), Source("people", 50.0)]).amount
        2.0
        """
        if not sources and self.money is None:
            return None
        if len(sources) != 2 or self.money is None:
            raise TableError(
                "sources, money: give two sources, such as gpt at a price of 1 and people at 50, "
                "and what they may cost, such as 1 a row"
            )
        if self.max_open:
            raise TableError("max_open: each source has its own, such as gpt:price=1,max_open=9")
        if self.daily:
            return Money.every("1d", self.money)
        return Money(self.money, options=self._shorter(TwoPrices().horizon))

    def _shorter(self, horizon: float) -> dict[str, float]:
        """The horizon of a query for a file of fewer rows than the usual one."""
        if self.rows is None or self.rows >= horizon:
            return {}
        return {"horizon": float(max(self.rows, 1))}


class TableSpec(NamedTuple):
    """A new model: its classes, algorithm and budget, and how columns are read.

    The columns ``label``, ``time`` and those that are ``apart`` are no features. ``max_age`` is how
    long a question stays open, in rows, or in seconds where the rows have times.

    >>> head = pa.RecordBatch.from_pylist([{"price": 1.0, "sold": "no"}, {"price": 3.0}])
    >>> spec = TableSpec(["no", "yes"], label="sold", budget=LabelBudget(0.2), seed=0)
    >>> spec.table(head).learner
    Tracker('Tracker', dimension=1, rows=0, asked=0, updates=0)
    """

    classes: Sequence[Any] = ()
    algorithm: str = "tracker"
    budget: LabelBudget = LabelBudget()
    class_weight: Any = None
    settings: Mapping[str, float] = NONE
    seed: int | None = None
    max_age: float | None = None
    max_pending: int | None = None
    lead: float = LEAD
    annotators: int = 1
    alarms: bool = False
    remember: int = 0
    label: str = "label"
    positive: Any = None
    time: str | None = None
    id: str | None = "id"
    apart: Sequence[str] = ()
    kinds: Mapping[str, Kind] = NONE
    standardize: bool = True
    ngrams: tuple[int, int] | None = None
    sources: Sequence[Source] = ()

    def learner(self, dimension: int, *, sparse: bool = False, dense: int = 0) -> Learner:
        """A learner; of sparse rows, the first ``dense`` columns are no words."""
        timed = self.time is not None or self.budget.per_day is not None
        several, more = self.annotators > 1, {}
        if self.max_pending is not None:
            more["max_pending"] = self.max_pending
        return make(
            self.algorithm, dimension, rate=self.budget.rate,
            budget=self.budget.query(weighted=self.class_weight is not None),
            settings=self.settings, seed=self.seed,
            max_age=(DAYS * DAY if timed else ROWS) if self.max_age is None else self.max_age,
            lead=self.lead, aggregate="majority" if several else "first",
            annotators=self.annotators if several else 3, classes=self.classes or None,
            class_weight=self.class_weight, sparse=sparse, dense=dense, **more,
        )  # fmt: skip

    def learner_of(self, encoder: Encoder) -> Learner:
        """A learner for the rows of an encoder."""
        check_algorithm(encoder, self.algorithm)
        return self.learner(encoder.dimension, sparse=encoder.words > 0, dense=encoder.dense)

    def encoder(self, head: pa.RecordBatch, *, constant: bool | None = None) -> Encoder:
        """The encoder of a table, in which label, time and what is ``apart`` are not features.

        ``constant`` is whether it adds one to rows; by default where the algorithm needs it.
        """
        left_out = {self.label, *self.apart} | ({self.time} if self.time is not None else set())
        plain = not find(self.algorithm).has_intercept if constant is None else constant
        made = Encoder.fit(
            head, kinds=self.kinds, left_out=frozenset(left_out & set(head.schema.names)),
            standardize=self.standardize, constant=plain, ngrams=self.ngrams,
        )  # fmt: skip
        if self.ngrams is not None and made.ngrams is None:
            raise TableError("--ngrams is for tables with texts")
        return made

    def table(self, head: pa.RecordBatch, **origin: Any) -> TableLearner:
        """A model that has seen nothing, of tables whose first rows are these."""
        encoder = self.encoder(head)
        session = self._session(self.learner_of(encoder), as_label(self.positive), encoder)
        return TableLearner(
            session, encoder, label=self.label, time=self.time, id=self.id, origin=origin
        )

    def session(self, features: int) -> Session:
        """A model that has seen nothing, of rows of so many numbers.

        >>> TableSpec(["down", "up"], alarms=True).session(3)
        Session('Tracker', rows=0, queried=0, open=0)
        """
        return self._session(self.learner(features), self.positive)

    def _session(self, learner: Learner, positive: Any, encoder: Encoder | None = None) -> Session:
        return Session(
            learner, positive=positive, detectors=detectors(self.alarms, encoder),
            remember=self.remember, sources=self.sources,
            money=self.budget.spending(self.sources),
        )  # fmt: skip


def detectors(wanted: bool, encoder: Encoder | None = None) -> list[Detector]:
    """The detectors of a model with alarms; of texts and pairs, none looks at the features.

    >>> [type(one).__name__ for one in detectors(True)], detectors(False)
    (['DropAlarm', 'InputAlarm'], [])
    """
    if not wanted:
        return []
    columns = () if encoder is None else names(encoder)
    looks = encoder is None or bool(columns)
    drop = DropAlarm(confirm=True)
    return [drop, InputAlarm(names=columns)] if looks else [drop]


def check_algorithm(encoder: Encoder, name: str) -> None:
    """Refuse an algorithm that takes no sparse rows, for a table that needs them.

    >>> import pyarrow as pa
    >>> mails = pa.RecordBatch.from_pydict({"body": ["win a free prize", "see you at lunch"]})
    >>> check_algorithm(Encoder.fit(mails), "tracker")
    >>> check_algorithm(Encoder.fit(mails), "lasec-ss")
    Traceback (most recent call last):
    lasec.errors.TableError: lasec-ss takes no sparse rows, and column 'body' is text: use ...
    """
    if encoder.words and find(name).sparse is None:
        raise TableError(
            f"{name} takes no sparse rows, and {encoder.sparse}: use the tracker, or ignore the "
            "column (--ignore COLUMN)"
        )
