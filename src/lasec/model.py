"""A learner at rest: what it is made of, what it has counted, and how it is saved and loaded."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any, Self, TypedDict

from lasec import notebook, snapshot
from lasec.book import Book, GivenUp
from lasec.busy import Busy
from lasec.clock import LEAD, Clock
from lasec.draws import SEEDS, seed_or_random
from lasec.errors import StateError
from lasec.files import write
from lasec.parameters import Range, choice, number
from lasec.queries import Always
from lasec.state import pack, read, restored
from lasec.types import Decision, Policy, Precision, Query, Rule, Update, Vector

ALWAYS = Always()
_COUNTERS = ("rounds", "asked", "told", "updates", "dropped", "expired", "contradicted")
_LATER = {"expired", "contradicted"}  # not in the first files
_COUNTS = Range(0, 2**62)
_AGES = Range(0.0, 1e30)


class Options(TypedDict, total=False):
    """What every learner can be given, whatever its rule and query."""

    seed: int | None
    max_pending: int
    max_age: float | None
    lead: float | None
    policy: Policy | str
    opinions: int


class Model:
    """Rule, query, state, counters and open questions; a learner sets them in motion."""

    def __init__(
        self,
        rule: Rule[Any],
        query: Query = ALWAYS,
        *,
        dimension: int,
        update: Update | str = Update.MISTAKES,
        seed: int | None = None,
        max_pending: int = 10_000,
        max_age: float | None = None,
        lead: float | None = LEAD,
        policy: Policy | str = Policy.FIRST,
        opinions: int = 3,
        precision: Precision | str = Precision.DOUBLE,
        name: str = "",
    ) -> None:
        self.rule = rule
        self.query = query
        self.dimension: int = number("dimension", dimension, int, Range(1, 2**31))
        self.update = choice(Update, update)
        self.seed = seed_or_random(seed)
        self.name = name or f"{type(rule).__name__} + {type(query).__name__}"
        self.precision = choice(Precision, precision)
        self._kind = self.precision.kind
        self.state: Any = snapshot.begin(rule, self.dimension, self.precision)
        self.memory: Vector = snapshot.memory(query)
        self.max_age: float | None = (
            None if max_age is None else number("max_age", max_age, float, _AGES)
        )
        self.clock = Clock(lead)
        self.policy = choice(Policy, policy)
        self.opinions: int = number("opinions", opinions, int, Range(1, 999))
        if self.opinions % 2 == 0:
            raise ValueError(f"opinions must be an odd number, got {opinions}")
        self.rounds = self.asked = self.told = self.updates = 0
        self.dropped = self.expired = self.contradicted = 0
        self._asker: Callable[..., Any] | None = None
        self._teller: Callable[..., Any] | None = None
        self._ceiling: Any = None
        self._book = Book(number("max_pending", max_pending, int, Range(1, 2**31)))
        self._busy = Busy("learner")

    @property
    def max_pending(self) -> int:
        """How many questions may be open at a time.

        >>> import lasec
        >>> lasec.LASEC(dimension=3, max_pending=100).max_pending
        100
        """
        return self._book.limit

    @property
    def pending(self) -> tuple[int, ...]:
        """The open tickets, oldest first.

        >>> import lasec
        >>> learner = lasec.Perceptron(dimension=2, max_pending=2)
        >>> [learner.ask([1.0, t]).ticket for t in range(3)]
        [0, 1, 2]
        >>> learner.pending, learner.dropped
        ((1, 2), 1)
        """
        return tuple(self._book)

    @property
    def unanswered(self) -> tuple[int, ...]:
        """The open tickets without an answer, oldest first.

        Under the policy "last" an answered question stays open, so that it can be corrected.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2, policy="last")
        >>> tickets = [learner.ask([1.0, t]).ticket for t in range(2)]
        >>> outcome = learner.tell(tickets[0], 1)
        >>> learner.pending, learner.unanswered
        ((0, 1), (1,))
        """
        return self._book.unanswered

    @property
    def questions(self) -> tuple[Decision, ...]:
        """What was decided about the rows whose labels are still wanted, oldest first.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> decision = learner.ask([0.5, -1.0])
        >>> learner.questions == (decision,)
        True
        """
        return tuple(self._book.find(t, self.rounds).decision for t in self.unanswered)

    def is_open(self, ticket: int) -> bool:
        """Whether a ticket can still be told: it was asked, and is not settled, expired or dropped.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2, max_age=1)
        >>> tickets = [learner.ask([1.0, t]).ticket for t in range(3)]
        >>> [learner.is_open(ticket) for ticket in tickets]
        [False, True, True]
        """
        return ticket in self._book

    def given_up(self) -> tuple[GivenUp, ...]:
        """The questions that were given up without an answer since the last call, and why.

        They have expired, were dropped because too many were open, or were canceled. A
        :class:`~lasec.Session` tells its meter of them.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2, max_age=1)
        >>> tickets = [learner.ask([1.0, t]).ticket for t in range(4)]
        >>> [(gone.ticket, gone.why.value) for gone in learner.given_up()], learner.given_up()
        ([(0, 'expired'), (1, 'expired')], ())
        """
        return self._book.given_up()

    def to_bytes(self) -> bytes:
        """The whole learner, open questions included, as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=3)
        >>> lasec.Learner.from_bytes(learner.to_bytes())
        Learner('LASEC', dimension=3, rounds=0, asked=0, updates=0)
        """
        with self._busy:
            return self._packed()

    def _packed(self) -> bytes:
        """As bytes; a state that could not be loaded again is refused."""
        header = {
            "name": self.name,
            "rule": snapshot.describe(self.rule),
            "query": snapshot.describe(self.query),
            "dimension": self.dimension,
            "update": Update(self.update).value,
            "seed": self.seed,
            "max_pending": self.max_pending,
            "max_age": self.max_age,
            "clock": self.clock.header(),
            "policy": self.policy.value,
            "opinions": self.opinions,
            "precision": self.precision.value,
            "counters": {name: getattr(self, name) for name in _COUNTERS},
        }
        arrays = dict(zip(self.state._fields, self.state, strict=True))
        snapshot.restore(self.rule, self.dimension, arrays, self.precision)
        state = {f"state.{name}": array for name, array in arrays.items()}
        pending = {f"pending.{n}": a for n, a in self._book.arrays(self.dimension).items()}
        remembered = {"query.memory": self.memory} if self.memory.size else {}
        return pack(header, state | pending | remembered)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The learner that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`.

        >>> import lasec
        >>> lasec.Learner.from_bytes(lasec.SOP(dimension=3).to_bytes()).rule
        SecondOrder(drift=0.0, ridge=1.0)
        """
        return restored(data, cls._restore)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, all of it or nothing.

        A new file is readable by its owner alone, because a model may hold rows; one that exists
        keeps its mode. Through a symbolic link, the file that it points to is written.

        >>> import lasec, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lasec.LASEC(dimension=3).save(f"{folder}/model.lasec")
        ...     lasec.Learner.load(f"{folder}/model.lasec")
        Learner('LASEC', dimension=3, rounds=0, asked=0, updates=0)
        """
        write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The learner of a file, or a :class:`~lasec.errors.StateError` that says what is wrong.

        >>> import lasec, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     lasec.Learner.load(file.name)
        Traceback (most recent call last):
        lasec.errors.StateError: not a lasec model: the file does not begin with lasec's signature
        """
        return cls.from_bytes(read(path))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_asker": None, "_teller": None}  # compiled code is found again

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, dimension={self.dimension}, "
            f"rounds={self.rounds}, asked={self.asked}, updates={self.updates})"
        )

    def _repr_html_(self) -> str:
        """A card in a notebook."""
        spent = f"{self.asked:,} of {self.rounds:,}"
        unsized = getattr(self, "_unsized", False)
        facts = {
            "rule": repr(self.rule),
            "asks": repr(self.query),
            "learns from": f"asked {self.update.value}",
            "features": "as in the first row" if unsized else f"{self.dimension:,}",
            "labels asked": f"{spent} ({notebook.percent(self.asked / max(self.rounds, 1))})",
            "open questions": f"{self._book.waiting:,}",
        }
        return notebook.card(self.name, facts)

    @classmethod
    def _assemble(cls, rule: Rule[Any], query: Query, **options: Any) -> Self:
        """A learner of this class from its parts."""
        return cls(rule, query, **options)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """A learner from what :meth:`to_bytes` put into the file."""
        rule = snapshot.rebuild(header["rule"], snapshot.RULES)
        dimension = number("dimension", header["dimension"], int, Range(1, 2**31))
        tickets = {
            name.removeprefix("pending."): arrays.pop(name)
            for name in list(arrays)
            if name.startswith("pending.")
        }
        query = snapshot.rebuild(header["query"], snapshot.QUERIES)
        memory = snapshot.memory(query, arrays.pop("query.memory", None))
        if not all(name.startswith("state.") for name in arrays):
            raise StateError("invalid: there are arrays of no known use")
        state = {name.removeprefix("state."): array for name, array in arrays.items()}
        precision = Precision(header.get("precision", Precision.DOUBLE))
        checked = snapshot.restore(rule, dimension, state, precision)
        learner = cls._assemble(
            rule,
            query,
            dimension=dimension,
            update=header["update"],
            seed=number("seed", header["seed"], int, SEEDS),
            max_pending=header["max_pending"],
            max_age=header.get("max_age"),
            policy=header.get("policy", Policy.FIRST),
            opinions=header.get("opinions", 3),
            precision=precision,
            name=_text(header["name"]),
        )
        learner.state, learner.memory = checked, memory
        learner.clock = Clock.restore(header.get("clock"))
        for name in _COUNTERS:
            count = header["counters"].get(name, 0) if name in _LATER else header["counters"][name]
            setattr(learner, name, number(name, count, int, _COUNTS))
        learner._book.restore(tickets, dimension, learner.rounds, precision.kind)
        unanswered = learner.dropped + learner.expired + learner._book.waiting
        if not (
            unanswered <= learner.asked <= learner.rounds
            and learner.updates <= learner.told + learner.contradicted
            and learner.told <= learner.rounds - unanswered
        ):
            raise StateError("invalid: the counters contradict each other")
        return learner


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"name must be text, got {value!r}")
    return value
