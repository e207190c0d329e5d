"""What all classifiers of this face share: dicts in, states of lasec inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from lasec.kernel import engine
from lasec.parameters import Range, number
from lasec.queries import Always
from lasec.river.asking import Asking, ClassDecision, Row
from lasec.river.growth import mirrored, needs_spare, widened
from lasec.river.rows import Rows, numbers
from lasec.snapshot import memory
from lasec.types import Margin, Matrix, Moment, Query, Rule, Vector

if TYPE_CHECKING:
    import pandas as pd

_ALWAYS, _NOTHING = Always(), np.empty(0)
_CODE: dict[tuple[type, ...], Callable[..., Any]] = {}


def _asker(rule: Rule[Any], query: Query) -> Callable[..., Any]:
    """The compiled question for these types: here, because no model can pickle it."""
    key = (type(rule), type(query), type(getattr(query, "inner", None)))
    if key not in _CODE:
        _CODE[key] = engine.asker(rule, query, rule.init(1), memory(query), np.zeros(1))
    return _CODE[key]


def _teller(rule: Rule[Any]) -> Callable[..., Any]:
    """The compiled answer for a rule of this type."""
    key = (type(rule),)
    if key not in _CODE:
        _CODE[key] = engine.teller(rule, rule.init(1), np.zeros(1))
    return _CODE[key]


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

    def learn_one(self, x: Row, y: Any) -> None:
        """Learn a label that came for free; every one of them counts as a round."""
        self._learn(x, y, self._rounds)
        self._rounds += 1

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """The class of ``x``; None before any label is known."""
        return self._winner(self._seen(self._rows.fill(x)))[0] if self._classes else None

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """The probability of each class known so far. Features never learned are left out."""
        if not self._classes:
            return {}
        return dict(zip(self._classes, self._likely(self._seen(self._rows.fill(x))), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table one after the other, as ``learn_one`` would."""
        table = _table(X)
        self._meet(tuple(X.columns))
        self._rows.arrange(tuple(X.columns))
        for values, label in zip(table, y, strict=True):
            self._teach(self._rows.put(values), label, self._rounds)
            self._rounds += 1

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
        table = _table(X)
        self._rows.arrange(tuple(X.columns))
        for values in table:
            yield self._rows.put(values)

    def _seen(self, row: Vector) -> list[Margin]:
        """What each state says about a row."""
        look, rule, found = _asker(self._rule, _ALWAYS), self._rule, []
        for state in self._states:
            fine, raw, margin, variance, _, _ = look(
                rule, _ALWAYS, state, _NOTHING, row, 0, self._rounds, 0.0, 0.0, 0
            )
            if not fine:
                raise _too_large()
            found.append(Margin(raw, variance, margin))
        return found

    def _winner(self, seen: list[Margin]) -> tuple[Any, float, float]:
        """The class that is predicted, its lead, and its variance."""
        names = self.classes
        if len(seen) > 1:
            order = sorted(range(len(seen)), key=lambda k: -seen[k].margin)
            first, second = seen[order[0]], seen[order[1]]
            return names[order[0]], (first.margin - second.margin) / 2.0, first.variance
        (one,) = seen
        if len(names) < 2:
            return (names[0] if names else None), abs(one.margin), one.variance
        return (
            names[self._plus if one.raw >= 0.0 else 1 - self._plus],
            abs(one.margin),
            one.variance,
        )

    def _likely(self, seen: list[Margin]) -> list[float]:
        """The probability of each class."""
        if len(self._classes) < 2:
            return [1.0] * len(self._classes)
        chances = [(1.0 + self._leaning(one.margin)) / 2.0 for one in seen]
        if len(seen) > 1:
            total = sum(chances)
            return [p / total if total > 0.0 else 1.0 / len(seen) for p in chances]
        likely = [1.0 - chances[0], 1.0 - chances[0]]
        likely[self._plus] = chances[0]
        return likely

    def _judged(self, x: Row, now: Moment) -> tuple[ClassDecision, float]:
        self._meet(tuple(x))
        row, ticket = self._rows.fill(x), now.round - 1
        if len(self._states) > 1:
            seen = self._seen(row)
            _, lead, variance = self._winner(seen)
            chance, asked = self._toss(Margin(lead, variance, lead), now)
        else:
            fine, raw, margin, variance, chance, asked = _asker(self._rule, self._asks)(
                self._rule, self._asks, self._states[0], self._memory, row, self.seed, ticket,
                -1.0, float(now.time), now.open,
            )  # fmt: skip
            if not fine:
                raise _too_large()
            seen = [Margin(raw, variance, margin)]
        label, lead, variance = self._winner(seen)
        sure = 2.0 * max(self._likely(seen), default=0.0) - 1.0
        return ClassDecision(label, lead, variance, chance, asked, ticket), sure

    def _learn(self, x: Row, y: Any, ticket: int) -> None:
        values, names = numbers(x), tuple(x)
        self._meet(names)
        self._rows.arrange(names)
        self._teach(self._rows.put(values), y, ticket)

    def _teach(self, row: Vector, y: Any, ticket: int) -> None:
        """Let the label of a row in."""
        chosen = self._register(y)
        if len(self._states) > 1:
            self._seen(row)  # none of them learns what one of them must refuse
        tell = _teller(self._rule)
        for k, state in enumerate(self._states):
            mine = chosen == (k if len(self._states) > 1 else self._plus)
            _, wanted, usable = tell(
                self._rule, state, row, 1.0 if mine else -1.0, self.seed, ticket,
                self._mistakes_only,
            )  # fmt: skip
            if wanted and not usable:
                raise _too_large()

    def _register(self, y: Any) -> int:
        """The number of a class, which may be a new one."""
        known = self._classes
        if y in known:
            return known[y]
        if y is None:
            raise ValueError("y: None is no label")
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
        """Make room for features that have not come before."""
        if self._rows.has(names):
            return
        rows, known = self._rows, self._rows.used
        needed, size = rows.meet(names) + self._spare, rows.row.size
        if size == 0:
            rows.widen(max(needed, self._dimension, 1))
            self._states = [self._rule.init(rows.row.size)]
        elif needed > size:
            wide = max(needed, min(size + size // 2, rows.most + rows.first + self._spare))
            rows.widen(wide)
            self._states = [widened(self._rule, state, wide, known) for state in self._states]


def _table(X: pd.DataFrame) -> Matrix:
    """The numbers of a table, or an error that names a column."""
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "biuf":
            for value in X[name]:
                numbers({name: value})
    table: Matrix = X.to_numpy(dtype=np.float64)
    return table


def _too_large() -> ValueError:
    return ValueError(
        "x: too large for this model, a label there could shrink its covariance too much: "
        "put a river.preprocessing.StandardScaler before it"
    )
