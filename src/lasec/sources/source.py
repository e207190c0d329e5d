"""Where labels come from, and the money that they may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from lasec.parameters import Range, number, seconds, shown
from lasec.queries import TwoPrices

PRICES, _SUMS = Range(1e-9, 1e12), Range(1e-12, 1e12)


class Source(NamedTuple):
    """Somebody who gives labels, at a price in any unit: a cheap judge, or the experts.

    A judge with ``ask`` is called as soon as it is asked: with the row, for a label, a pair
    (label, confidence) of a label and the probability that it is right, or None for no answer.
    Without ``ask``, answers are told. With ``max_open`` it is asked less, the more questions wait
    for it: hardly ever where so many do.

    >>> judge = Source("rules", price=1.0, ask=lambda text: "spam" if "win" in text else "ham")
    >>> judge.ask("you win"), Source("people", price=50.0).ask
    ('spam', None)
    """

    name: str
    price: float = 1.0
    ask: Callable[[Any], Any] | None = None
    max_open: int = 0


class Money(NamedTuple):
    """A budget of money: so much a row (or a unit of time), in the unit of the prices.

    ``caps`` are the most that single sources get of it, by name, in the same unit. ``learn`` asks
    the judge more often than is best to measure (1), for the model to learn. ``options`` are those
    of :class:`~lasec.queries.TwoPrices`: ``audit``, ``window``, ``horizon``, ``warm_up``.

    >>> judge, people = Source("rules", price=1.0), Source("people", price=50.0)
    >>> query = Money(2.0, caps={"rules": 0.5}).query([judge, people])
    >>> query.rate, query.price, query.judges
    (0.04, 0.02, 0.25)
    """

    amount: float
    caps: Mapping[str, float] = MappingProxyType({})
    learn: float = 3.0
    total: float = 0.0
    options: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def every(cls, window: str | float, amount: float, **options: Any) -> Self:
        """So much money a window of time: "1d", "12h", or a number in any unit; rows have times.

        >>> judge, people = Source("rules", price=1.0), Source("people", price=50.0)
        >>> query = Money.every("1d", 500).query([judge, people])
        >>> round(query.rate * 86_400, 1), query.timed
        (10.0, True)
        """
        given: Any = seconds("window", window) if isinstance(window, str) else window
        ticks: float = number("window", given, float, _SUMS)
        whole: float = number("amount", amount, float, _SUMS)
        own = {"window": ticks, "horizon": 10.0 * ticks, "timed": True}
        fields = {name: options.pop(name) for name in cls._fields if name in options}
        if "caps" in fields:
            fields["caps"] = {name: cap / ticks for name, cap in fields["caps"].items()}
        return cls(whole / ticks, options=own | options, **fields)

    def query(self, sources: Sequence[Source]) -> TwoPrices:
        """When to ask whom, for sources with these prices."""
        judge, expert = checked(sources)
        amount: float = number("money", self.amount, float, _SUMS)
        strange = [name for name in self.caps if name not in (judge.name, expert.name)]
        if strange:
            raise ValueError(f"caps: {shown(strange[0])} is none of the sources")
        shares = [min(1.0, self.caps.get(one.name, amount) / amount) for one in (judge, expert)]
        return TwoPrices(
            rate=amount / expert.price, price=judge.price / expert.price, learn=self.learn,
            total=self.total / expert.price, judges=shares[0], experts=shares[1],
            max_judging=judge.max_open, max_open=expert.max_open, **self.options,
        )  # fmt: skip


def checked(sources: Sequence[Source]) -> tuple[Source, Source]:
    """The judge and the experts, if sources can be these.

    >>> checked([Source("people", price=50.0)])
    Traceback (most recent call last):
    ValueError: sources: expected two, a cheap judge and then the experts, got 1
    """
    given = list(sources)
    if len(given) != 2:
        raise ValueError(
            f"sources: expected two, a cheap judge and then the experts, got {len(given)}"
        )
    judge, expert = given
    for one in given:
        if not isinstance(one, Source) or not isinstance(one.name, str) or not one.name:
            raise TypeError(f"sources: expected lasec.Source with a name, got {shown(one)}")
        number(f"price of {one.name!r}", one.price, float, PRICES)
        number(f"max_open of {one.name!r}", one.max_open, int, Range(0, 2**31))
    if judge.name == expert.name:
        raise ValueError(f"sources: two are called {shown(judge.name)}")
    if judge.price > expert.price:
        raise ValueError(
            f"sources: the last one is the truth, so {shown(judge.name)} may not cost more than "
            f"{shown(expert.name)}"
        )
    if expert.ask is not None:
        raise ValueError(f"ask: {shown(expert.name)} is told, only the judge is called")
    return judge, expert
