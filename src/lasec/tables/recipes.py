"""Algorithms by the names that a command line has for them, each held to a rate of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lasec.errors import TableError
from lasec.learner import Learner
from lasec.queries import Always, Budgeted, MarginCoin, Uniform, VarianceThreshold
from lasec.rules import (
    AROW,
    BudgetPerceptron,
    ModifiedPerceptron,
    Perceptron,
    Ridge,
    SecondOrder,
    ShiftingPerceptron,
    Tracking,
)
from lasec.tables import sizes
from lasec.tables.kinds import nearest
from lasec.tracker import Tracker
from lasec.types import Query, Rule


class Recipe(NamedTuple):
    """An algorithm: title, a line of words, its rule, when it asks, which labels it learns from."""

    title: str
    words: str
    rule: Callable[..., Rule[Any]]
    asks: str
    update: str = "mistakes"
    caution: float = 0.1

    @property
    def selective(self) -> bool:
        """Whether it can be held to a rate of labels; the others ask for all."""
        return self.asks in ("doubt", "chance")

    @property
    def intercept(self) -> bool:
        """Whether its rule has an intercept of its own."""
        return self.rule is Tracking


def _lasec(drift: float = 0.01, ridge: float = 1.0) -> SecondOrder:
    return SecondOrder(drift, ridge)


def _sop(ridge: float = 1.0) -> SecondOrder:
    return SecondOrder(0.0, ridge)


RECIPES = {
    "tracker": Recipe(
        "Tracker", "follows any drift, nothing to tune", Tracking, "doubt", "labels", 0.5
    ),
    "uniform": Recipe(
        "Tracker, uniform", "the Tracker's rule, asked at random", Tracking, "chance", "labels"
    ),
    "lasec-ss": Recipe("LASEC-SS", "second order, with drift", _lasec, "doubt"),
    "sop-ss": Recipe("SOP-SS", "second order, no drift", _sop, "doubt"),
    "perceptron-ss": Recipe("Perceptron-SS", "first order", Perceptron, "doubt", caution=1.0),
    "arow-ss": Recipe("AROW-SS", "second order, by confidence", AROW, "doubt", "labels"),
    "lasec": Recipe("LASEC", "second order, with drift", _lasec, "always"),
    "sop": Recipe("SOP", "second order, no drift", _sop, "always"),
    "perceptron": Recipe("Perceptron", "first order", Perceptron, "always"),
    "shifting": Recipe("Shifting", "a perceptron that fades", ShiftingPerceptron, "always"),
    "modified": Recipe("Modified", "a perceptron that reflects", ModifiedPerceptron, "always"),
    "rbp": Recipe("RBP", "a perceptron on a budget of examples", BudgetPerceptron, "always"),
    "bbq": Recipe("BBQ", "ridge regression, by variance", Ridge, "variance", "labels"),
}


def recipe(name: str) -> Recipe:
    """The recipe of this name.

    >>> recipe("lasec-ss").title
    'LASEC-SS'
    >>> recipe("lasecss")
    Traceback (most recent call last):
    lasec.errors.TableError: there is no algorithm 'lasecss': did you mean 'lasec-ss'? There are ...
    """
    key = name.lower().replace("_", "-")
    if key not in RECIPES:
        raise nearest(name, RECIPES, "algorithm")
    return RECIPES[key]


def brew(
    name: str,
    dimension: int,
    *,
    rate: float = 0.1,
    budget: Budgeted | None = None,
    settings: Mapping[str, float] | None = None,
    **options: Any,
) -> Learner:
    """A learner by name, held to a ``rate`` of labels, or to a ``budget``.

    ``settings`` are the parameters of its rule and query: ``drift``, ``ridge``, ``caution``, ...
    Algorithms that ask for every label, and BBQ, take no notice of the rate.

    >>> brew("lasec-ss", 5, rate=0.2, settings={"drift": 0.001}).rule
    SecondOrder(drift=0.001, ridge=1.0)
    """
    chosen, given = recipe(name), dict(settings or {})
    query = _query(chosen, rate, budget, given)
    try:
        rule = chosen.rule(**given)
    except TypeError as error:
        raise TableError(f"{name}: {error}") from None
    sizes.check(name, rule, dimension)
    if chosen.asks == "doubt" and isinstance(rule, Tracking) and isinstance(query, Budgeted):
        return Tracker(dimension, budget=query, rule=rule, **options)
    return Learner(
        rule, query, dimension=dimension, learn_from=chosen.update, name=chosen.title, **options
    )


def _query(chosen: Recipe, rate: float, budget: Budgeted | None, given: dict[str, float]) -> Query:
    """When it asks; what the query takes of the settings is taken from them."""
    if chosen.asks == "always":
        return Always()
    if chosen.asks == "variance":
        return VarianceThreshold(given.pop("exponent", 0.5))
    if chosen.asks == "chance":
        return budget._replace(inner=Uniform(0.5)) if budget else Uniform(min(rate, 1.0))
    coin = MarginCoin(given.pop("caution", chosen.caution))
    if chosen.rule is Tracking:
        own: Any = Tracker(1, rate=min(rate, 1.0)).query  # sharper, the more labels there are
        coin = MarginCoin(coin.caution, own.inner.power)
    return (budget or Budgeted(rate))._replace(inner=coin)
