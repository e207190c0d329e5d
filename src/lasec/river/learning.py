"""What all classifiers of this face share: dicts in, states of lasec inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from river import base

from lasec.parameters import Range, number
from lasec.river.asking import Asking, Row, named
from lasec.river.growth import mirrored, needs_spare, widened
from lasec.river.rows import Rows, numbers, table_of
from lasec.river.states import copied, note, seen, teach
from lasec.selector import bvsb_margin
from lasec.session import Judged
from lasec.types import Decision, Margin, Rule, Vector

if TYPE_CHECKING:
    import pandas as pd


class _Mark(NamedTuple):
    """Where a model was before a row that it may have to refuse."""

    table: Rows
    features: int
    places: int
    classes: int
    plus: int
    states: list[Any]
    rows: int


class StreamClassifier(Asking, base.MiniBatchClassifier):
    """A lasec rule over dicts of features, for two classes or, one against the rest, for more.

    Two classes share one state. When a third comes, that state goes on as it is for one of them,
    its mirror image for the other, and the newcomer begins with a new one, as every later class
    does: it has to learn that the rows before were not its own.
    """

    def _begin(
        self, rule: Rule[Any], *, mistakes_only: bool, intercept: bool, most: int, dimension: int
    ) -> None:
        """Nothing learned yet."""
        number("max_features", most, int, Range(1, 1_000_000))
        self._rule, self._mistakes_only = rule, mistakes_only
        self._rows = Rows(most, intercept)
        self._spare, self._dimension = int(needs_spare(rule)), dimension
        self._states: list[Any] = []
        self._classes: dict[Any, int] = {}
        self._plus = 1

    @abstractmethod
    def _leaning(self, margin: float) -> float:
        """P(+1) - P(-1) for a margin."""

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes known so far; of True and False, both as soon as one has come."""
        return tuple(self._classes)

    def ask_one(self, x: Row, *, time: float | None = None) -> Decision:
        """Predict the class of ``x``, and decide whether to query the true one.

        See :meth:`Asking.ask_one`.
        """
        decision = super().ask_one(x, time=time)
        note(self._rule, self._states, self._rows.row)  # where it still is
        return decision

    def learn_one(self, x: Row, y: Any) -> None:
        """Learn a label that came for free; every one of them counts as a row."""
        self._learn(x, named(y), self._selector.rows, new=True)
        self._selector.skip(1)

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """The class of ``x``; None before any label is known."""
        return self._winner(self._seen(self._rows.fill(x)))[0] if self._classes else None

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """The probability of each class known so far. Features never learned are left out."""
        if not self._classes:
            return {}
        return dict(zip(self._classes, self._likely(self._seen(self._rows.fill(x))), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table one after the other, as ``learn_one`` would: all or none."""
        table, labels, names = table_of(X), [named(label) for label in y], tuple(X.columns)
        if len(labels) != len(table):
            raise ValueError(f"y: expected {len(table)} labels, got {len(labels)}")
        if not labels:
            return
        mark = self._mark()._replace(states=[copied(state) for state in self._states])
        try:
            self._meet(names)
            self._rows.arrange(names)
            for ticket, (values, label) in enumerate(zip(table, labels, strict=True), mark.rows):
                self._teach(self._rows.put(values), label, ticket, new=True)
        except BaseException:
            self._undo(mark)
            raise
        self._selector.skip(len(labels))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The class of each row."""
        import pandas as pd  # noqa: PLC0415

        if not self._classes:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        labels = [self._winner(self._seen(row))[0] for row in self._each(X)]
        return pd.Series(labels, index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probability of each class for each row."""
        import pandas as pd  # noqa: PLC0415

        if not self._classes:
            return pd.DataFrame(index=X.index)
        likely = [self._likely(self._seen(row)) for row in self._each(X)]
        return pd.DataFrame(likely, index=X.index, columns=list(self._classes), dtype=float)

    def _each(self, X: pd.DataFrame) -> Iterator[Vector]:
        table = table_of(X)
        self._rows.arrange(tuple(X.columns))
        for values in table:
            yield self._rows.put(values)

    def _seen(self, row: Vector) -> list[Margin]:
        """What each state says about a row."""
        return seen(self._rule, self._states, row, self._selector.rows)

    def _winner(self, views: list[Margin]) -> tuple[Any, float, float]:
        """The class that is predicted, its lead, and its variance."""
        names = self.classes
        if len(views) > 1:
            first = max(range(len(views)), key=lambda k: views[k].margin)
            return names[first], self._lead(views), views[first].variance
        (one,) = views
        if len(names) < 2:
            return (names[0] if names else None), abs(one.margin), one.variance
        return (
            names[self._plus if one.raw >= 0.0 else 1 - self._plus],
            abs(one.margin),
            one.variance,
        )

    def _likely(self, views: list[Margin]) -> list[float]:
        """The probability of each class."""
        if len(self._classes) < 2:
            return [1.0] * len(self._classes)
        chances = [(1.0 + self._leaning(one.margin)) / 2.0 for one in views]
        if len(views) > 1:
            total = sum(chances)
            return [p / total if total > 0.0 else 1.0 / len(views) for p in chances]
        likely = [1.0 - chances[0], 1.0 - chances[0]]
        likely[self._plus] = chances[0]
        return likely

    def _lead(self, views: list[Margin]) -> float:
        """How far the best of several classes is ahead."""
        return bvsb_margin([one.margin for one in views]) / 2.0

    def _judged(self, x: Row) -> Judged:
        values, names, rows = numbers(x), tuple(x), self._rows
        if not self._classes:
            self._meet(names)
        elif not rows.has(names):
            rows.new(names)  # a label that could not be learned is not asked for
        self._rows.arrange(names)
        views = self._seen_with(self._rows.put(values), self._rows.strange(values))
        label, margin, variance = self._winner(views)
        sure = 2.0 * max(self._likely(views), default=0.0) - 1.0
        return Judged(label, margin, sure, variance)

    def _seen_with(self, row: Vector, strange: float) -> list[Margin]:
        """What each state says about a row with new features of this length.

        All that is known of a new feature is its variance, that of the spare place: so this is
        exactly what they would say if it had a place. The Tracker has no spare and leaves it out.
        """
        if not self._spare:
            return self._seen(row)
        row[-1] = strange
        try:
            return self._seen(row)
        finally:
            row[-1] = 0.0

    def _learn(self, x: Row, y: Any, ticket: int, *, new: bool = False) -> None:
        values, names, mark = numbers(x), tuple(x), self._mark()
        try:
            self._meet(names)
            self._rows.arrange(names)
            self._teach(self._rows.put(values), y, ticket, new=new)
        except ValueError:
            self._undo(mark)
            raise

    def _mark(self) -> _Mark:
        rows = self._rows
        return _Mark(
            rows, len(rows.index), rows.row.size, len(self._classes), self._plus,
            [*self._states], self._selector.rows,
        )  # fmt: skip

    def _undo(self, mark: _Mark) -> None:
        """Be as before a row that was refused, which no state has learned."""
        self._rows, self._states, self._plus = mark.table, mark.states, mark.plus
        self._rows.back(mark.features, mark.places)
        while len(self._classes) > mark.classes:
            self._classes.popitem()

    def _teach(self, row: Vector, y: Any, ticket: int, *, new: bool) -> None:
        """Let the label of a row in, which is ``new`` unless it was asked about."""
        chosen = self._register(y)
        if len(self._states) > 1:
            self._seen(row)  # none of them learns what one of them must refuse
        if new:
            note(self._rule, self._states, row)
        for k, state in enumerate(self._states):
            mine = chosen == (k if len(self._states) > 1 else self._plus)
            teach(
                self._rule, state, row, 1.0 if mine else -1.0, seed=self._selector.seed,
                ticket=ticket, mistakes_only=self._mistakes_only,
            )  # fmt: skip

    def _register(self, y: Any) -> int:
        """The number of a class, which may be a new one."""
        known = self._classes
        if y in known:
            return known[y]
        if not known and isinstance(y, (bool, np.bool_)):
            known.update({False: 0, True: 1})
            return known[y]
        if not known and y == 1:
            self._plus = 0
        if len(known) == 2:
            (state,) = self._states
            self._states = [state if k == self._plus else mirrored(state) for k in (0, 1)]
        known[y] = len(known)
        if len(known) > 2:
            self._states.append(self._rule.init(self._rows.row.size))
        return known[y]

    def _meet(self, names: tuple[Hashable, ...]) -> None:
        """Make room for features that have not come before; without a label, for these alone."""
        if self._rows.has(names):
            return
        if not self._classes and self._rows.index.keys() != set(names):
            self._rows, self._states = Rows(self._rows.most, bool(self._rows.first)), []
        rows, known = self._rows, self._rows.used
        needed, size = rows.meet(names) + self._spare, rows.row.size
        if size == 0:
            rows.widen(max(needed, self._dimension, 1))
            self._states = [self._rule.init(rows.row.size)]
        elif needed > size:
            wide = max(needed, min(size + size // 2, rows.most + rows.first + self._spare))
            rows.widen(wide)
            self._states = [widened(self._rule, state, wide, known) for state in self._states]
