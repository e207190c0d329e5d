"""What all classifiers of this face share: dicts in, a learner of lasec inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from river import base

from lasec.learner import Learner
from lasec.parameters import Range, number
from lasec.river.asking import Asking, Row, named
from lasec.river.rows import HashedRows, Rows, numbers
from lasec.rules.growth import needs_spare
from lasec.session import Judged
from lasec.sparse import is_sparse
from lasec.types import Decision, LearnFrom, Matrix, Rule, Views

if TYPE_CHECKING:
    import pandas as pd

NO_WEIGHTS: Mapping[Any, float] = {}


class _Mark(NamedTuple):
    """Where a model was before a row that it may have to refuse."""

    rows: Rows | HashedRows
    used: tuple[int, int]
    learner: Learner


def one(row: Any) -> Any:
    """A row as a chunk of one row: a sparse one is that already.

    >>> one(np.zeros(3)).shape
    (1, 3)
    """
    return row if is_sparse(row) else row[None]


class StreamClassifier(Asking, base.MiniBatchClassifier):
    """A learner of lasec over dicts of features, for any number of classes.

    Classes become known as they are told; see :class:`lasec.Learner`.
    """

    def _begin(
        self, rule: Rule[Any], *, learn_from: LearnFrom, intercept: bool, most: int, dimension: int,
        labels: Sequence[Hashable] = (), weights: Mapping[Any, float] = NO_WEIGHTS,
        columns: int | None = None,
    ) -> None:  # fmt: skip
        """Nothing learned yet; ``labels`` are classes that are known, some with ``weights``.

        With ``columns``, rows are sparse, and the names of features are hashed into so many.
        """
        number("max_features", most, int, Range(1, 1_000_000))
        self._rule, self._learn_from, self._columns = rule, learn_from, columns
        self._rows = Rows(most, intercept) if columns is None else HashedRows(columns)
        self._spare, self._dimension = int(columns is None and needs_spare(rule)), dimension
        self._labels = tuple(map(named, labels))
        self._weights = {named(label): weight for label, weight in weights.items()}
        self._learner = self._new_learner()

    def _new_learner(self) -> Learner:
        """A learner without a label, in the present step; it has no features yet."""
        made = Learner(
            self._rule, self._selector.query, dimension=self._columns, learn_from=self._learn_from,
            seed=self._selector.seed, classes=self._labels or None,
        )  # fmt: skip
        if self._weights:
            made.weigh_classes(self._weights)
        return made.counted(rows=self._selector.rows)

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
        decision = super().ask_one(x, time=time)
        self._learner.note(one(self._rows.row))  # where it still is
        return decision

    def learn_one(self, x: Row, y: Any) -> None:
        """Learn a label that came for free; every one of them counts as a row."""
        self._learn(x, named(y))
        self._selector.skip(1)

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """The class of ``x``; None before any label is known."""
        return None if self._is_cold else self._best(one(self._rows.fill(x)))[0]

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """The probability of each class known so far. Features never learned are left out."""
        if self._is_cold:
            return {}
        return dict(zip(self.classes, self._shares(one(self._rows.fill(x)))[0], strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table one after the other, as ``learn_one`` would: all or none."""
        labels = [named(label) for label in y]
        if len(labels) != len(X):
            raise ValueError(f"y: expected {len(X)} labels, got {len(labels)}")
        if not labels:
            return
        mark = self._mark()._replace(learner=copy(self._learner))
        try:
            self._meet(tuple(X.columns))
            for row, label in zip(self._rows.each(X), labels, strict=True):
                self._teach(row, label)
        except BaseException:
            self._undo(mark)
            raise
        self._selector.skip(len(labels))

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
        known = self.classes
        if len(known) < 2:
            return [known[0]] * rows.shape[0]
        best: list[Any] = self._learner.predict(rows).tolist()
        return best

    def _shares(self, rows: Any) -> list[list[float]]:
        """The probability of each class that is known."""
        if len(self.classes) < 2:
            return [[1.0]] * rows.shape[0]
        shares: list[list[float]] = self._likely(rows).tolist()
        return shares

    def _judged(self, x: Row) -> Judged:
        values, names, rows = numbers(x), tuple(x), self._rows
        if self._is_cold:
            self._meet(names)
        elif isinstance(rows, Rows) and not rows.has(names):
            rows.new(names)  # a label that could not be learned is not asked for
        self._rows.arrange(names)
        seen = self._seen(self._rows.put(values), self._rows.strange(values))
        label, margin, sure, variance = (column.tolist()[0] for column in seen)
        if self._is_cold:
            label, sure = None, -1.0
        elif len(self.classes) < 2:
            label, sure = self.classes[0], 1.0
        return Judged(label, abs(margin), sure, variance)

    def _seen(self, row: Any, strange: float) -> Views:
        """What the learner says about a row with new features of this length.

        All that is known of a new feature is its variance, that of the spare place: so this is
        exactly what it would say if it had a place. The Tracker has no spare and leaves it out.
        """
        if not self._spare:
            return self._learner.views(one(row))
        row[-1] = strange
        try:
            return self._learner.views(row[None])
        finally:
            row[-1] = 0.0

    def _learn(self, x: Row, y: Any, ticket: int | None = None) -> None:
        values, names = numbers(x), tuple(x)
        if not self._is_cold and self._rows.has(names):  # what is refused leaves no trace
            self._rows.arrange(names)
            self._teach(self._rows.put(values), y, ticket)
            return
        mark = self._mark()
        try:
            self._meet(names)
            self._rows.arrange(names)
            self._teach(self._rows.put(values), y, ticket)
        except (TypeError, ValueError):
            self._undo(mark)
            raise

    def _mark(self) -> _Mark:
        return _Mark(self._rows, self._rows.mark(), self._learner.counted())

    def _undo(self, mark: _Mark) -> None:
        """Be as before a row that was refused, which the learner has not learned."""
        self._rows, self._learner = mark.rows, mark.learner
        self._rows.back(*mark.used)

    def _teach(self, row: Any, y: Any, ticket: int | None = None) -> None:
        """Let the label of a row in, which is a new one unless it has a ticket."""
        if isinstance(y, (bool, np.bool_)) and not self.classes:
            self._learner.name_classes([False, True])
        if ticket is None:
            self._learner.learn(row, y)
        else:
            self._learner.answer(one(row), [y], [ticket])

    def _meet(self, names: tuple[Hashable, ...]) -> None:
        """Make room for features that have not come before; without a label, for these alone."""
        if isinstance(self._rows, HashedRows) or self._rows.has(names):
            return
        if self._is_cold and self._rows.index.keys() != set(names):
            self._rows = Rows(self._rows.most, bool(self._rows.first))
            self._learner = self._new_learner()
        rows, known = self._rows, self._rows.used
        needed, size = rows.meet(names) + self._spare, rows.row.size
        if size == 0:
            rows.widen(max(needed, self._dimension, 1))
            self._learner.widen(rows.row.size)
        elif needed > size:
            wide = max(needed, min(size + size // 2, rows.most + rows.first + self._spare))
            rows.widen(wide)
            self._learner.widen(wide, known=known)
