"""What all classifiers of this face share: dicts in, a session with a learner of lasec inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from lasec.contract import whole
from lasec.learner import Learner, leads
from lasec.parameters import Range, number
from lasec.river.asking import Asking, Row, named
from lasec.river.rows import HashedRows, Rows, numbers
from lasec.session.adapters import budget
from lasec.tracker import AUDIT
from lasec.types import Decision, LearnFrom, Matrix, Rule

if TYPE_CHECKING:
    import pandas as pd

NO_WEIGHTS: Mapping[Any, float] = {}


class StreamClassifier(Asking, base.MiniBatchClassifier):
    """A session with a learner of lasec, over dicts of features, for any number of classes.

    Classes become known as they are told; see :class:`lasec.Learner`. A feature gets its place with
    the first label that has it: an open question with others keeps its dict as a note.
    """

    def _begin(
        self, rule: Rule[Any], *, learn_from: LearnFrom, intercept: bool, most: int, dimension: int,
        labels: Sequence[Hashable] = (), weights: Mapping[Any, float] = NO_WEIGHTS,
        columns: int | None = None, audit: float = AUDIT,
    ) -> None:  # fmt: skip
        """Nothing learned yet; ``labels`` are classes that are known, some with ``weights``.

        With ``columns``, rows are sparse, and the names of features are hashed into so many.
        """
        number("max_features", most, int, Range(1, 1_000_000))
        self._rows = Rows(most, intercept) if columns is None else HashedRows(columns)
        self._spare, self._dimension = int(columns is None and whole(rule).facts.spare), dimension
        learner = Learner(
            rule, budget(self.rate, self.query, audit), dimension=columns, learn_from=learn_from,
            seed=self.seed, classes=tuple(map(named, labels)) or None,
            max_pending=self.max_pending, max_age=self.max_age,
        )  # fmt: skip
        if weights:
            learner.weigh_classes({named(label): weight for label, weight in weights.items()})
        self._learner = learner
        self._stand(learner)

    @abstractmethod
    def _likely(self, rows: Matrix) -> Matrix:
        """The probability of each class, of two or more."""

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _is_cold(self) -> bool:
        """Whether nothing was learned yet."""
        return not self._learner.told

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes known so far; of True and False, both as soon as one has come."""
        return self._learner.known_classes

    def ask_one(self, x: Row, *, time: float | None = None) -> Decision:
        """Predict the class of ``x``, and decide whether to query the true one.

        See :meth:`Asking.ask_one`.
        """
        values, names = numbers(x), tuple(x)
        if not isinstance(self._rows, Rows):
            return self._asked(self._rows.fill(x), time)
        if self._is_cold:  # places of these features alone, and of no others
            with self._tried():
                self._meet(names)
                decision = self._asked(self._rows.fill(x), time)
        elif self._rows.has(names):
            return self._asked(self._rows.put(values), time)
        else:
            self._rows.new(names)  # a label that could not be learned is not asked for
            self._rows.arrange(names)
            with self._unknown(self._rows.put(values), self._rows.strange(values)) as row:
                decision = self._asked(row, time)
        if decision.asked:
            self._session.keep(decision.ticket, x)
        return decision

    def _asked(self, row: Any, time: float | None) -> Decision:
        """The decision about a row, with the lead of the best class for a margin."""
        lead = self._lead(row)
        decision = self._session.ask(row, time=time)
        label = decision.label
        if label is None and not self._is_cold:  # the other class, which has no name yet
            label = self.classes[0]
        margin = abs(decision.margin) if lead is None else lead
        return decision._replace(label=label, margin=margin)

    @contextmanager
    def _unknown(self, row: Any, strange: float) -> Iterator[Any]:
        """Let a row say that it has features without a place, of this length together.

        All that is known of a new feature is its variance, that of the spare place: so this is
        exactly what the learner would say if it had a place. The Tracker has no spare and leaves it
        out.
        """
        last, row[-1] = row[-1], strange if self._spare else row[-1]
        try:
            yield row
        finally:
            row[-1] = last

    def _lead(self, row: Any) -> float | None:
        """How far the best class leads, where that is not the size of the margin."""
        learner = self._learner
        if len(self.classes) < 3 and not getattr(learner.rule, "weighted", False):
            return None
        rows = row if isinstance(self._rows, HashedRows) else row[None]
        return float(leads(learner, rows)[0])

    def tell_one(self, ticket: int, y: Hashable) -> bool | None:
        """Learn the label that was asked for; whether the prediction given out then was right.

        See :meth:`Asking.tell_one`.
        """
        note = self._session.notes.get(ticket)
        if note is None and self.classes:
            return super().tell_one(ticket, y)
        with self._tried():
            self._name(named(y))
            if note is not None:
                self._learner.restate(ticket, self._placed(note.columns))
            return super().tell_one(ticket, y)

    def learn_one(self, x: Row, y: Any) -> None:
        """Learn a label that came for free; every one of them counts as a row."""
        y, values, names = named(y), numbers(x), tuple(x)
        if not self._is_cold and self._rows.has(names):  # what is refused leaves no trace
            self._rows.arrange(names)
            self._session.learn(self._rows.put(values), y)
            return
        with self._tried():
            self._name(y)
            self._session.learn(self._placed(x), y)

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """The class of ``x``; None before any label is known."""
        return None if self._is_cold else self._best(self._rows.chunk(x))[0]

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """The probability of each class known so far. Features never learned are left out."""
        if self._is_cold:
            return {}
        return dict(zip(self.classes, self._shares(self._rows.chunk(x))[0], strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table one after the other, as ``learn_one`` would: all or none."""
        labels = [named(label) for label in y]
        if len(labels) != len(X):
            raise ValueError(f"y: expected {len(X)} labels, got {len(labels)}")
        if not labels:
            return
        with self._tried(many=True):
            self._name(labels[0])
            self._meet(tuple(X.columns))
            for row, label in zip(self._rows.each(X), labels, strict=True):
                self._session.learn(row, label)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The class of each row."""
        import pandas as pd  # noqa: PLC0415

        if self._is_cold:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        return pd.Series(self._best(self._rows.table(X)), index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probability of each class for each row."""
        import pandas as pd  # noqa: PLC0415

        if self._is_cold:
            return pd.DataFrame(index=X.index)
        likely = self._shares(self._rows.table(X))
        return pd.DataFrame(likely, index=X.index, columns=list(self.classes), dtype=float)

    def _best(self, rows: Any) -> list[Any]:
        """The class of each row; the only one, if one is known."""
        best: list[Any] = self._learner.predict(rows).tolist()
        return [self.classes[0]] * len(best) if None in best else best

    def _shares(self, rows: Any) -> list[list[float]]:
        """The probability of each class that is known."""
        if len(self.classes) < 2:
            return [[1.0]] * rows.shape[0]
        shares: list[list[float]] = self._likely(rows).tolist()
        return shares

    @contextmanager
    def _tried(self, *, many: bool = False) -> Iterator[None]:
        """Learn something of which nothing is left if it is refused."""
        rows, used = self._rows, self._rows.mark()
        try:
            with self._learner.attempt(many=many):
                yield
        except BaseException:
            self._rows = rows
            rows.back(*used)
            raise

    def _name(self, y: Any) -> None:
        """Know both truth values as soon as one has come."""
        if isinstance(y, (bool, np.bool_)) and not self.classes:
            self._learner.name_classes([False, True])

    def _placed(self, x: Mapping[Any, Any]) -> Any:
        """The row of a dict, all of whose features have a place from now on."""
        self._meet(tuple(x))
        return self._rows.fill(x)

    def _meet(self, names: tuple[Hashable, ...]) -> None:
        """Make room for features that have not come before; without a label, for these alone."""
        if isinstance(self._rows, HashedRows) or self._rows.has(names):
            return
        if self._is_cold and self._rows.index.keys() != set(names):
            self._rows = Rows(self._rows.most, bool(self._rows.first))
            self._learner.restart()
        rows, known = self._rows, self._rows.used
        needed, size = rows.meet(names) + self._spare, rows.row.size
        if size == 0:
            rows.widen(max(needed, self._dimension, 1))
            self._learner.widen(rows.row.size)
        elif needed > size:
            wide = max(needed, min(size + size // 2, rows.most + rows.first + self._spare))
            rows.widen(wide)
            self._learner.widen(wide, known=known)
