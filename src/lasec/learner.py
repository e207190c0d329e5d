"""The learner: a rule that predicts and learns, a query that asks, and the state between them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lasec import guards, snapshot
from lasec.errors import StateError
from lasec.kernel.philox import SEEDS, draw, uniforms
from lasec.kernel.rows import LARGEST_VARIANCE, ask_row, run_rows, sane, tell_row
from lasec.parameters import Range, number
from lasec.pending import Pending
from lasec.queries import Always
from lasec.records import Records
from lasec.state import pack, unpack
from lasec.types import Decision, Outcome, Query, Rule, State, Update, Vector

ALWAYS = Always()
_COUNTERS = ("rounds", "asked", "told", "updates", "dropped")
_COUNTS = Range(0, 2**62)


class Learner:
    """An online classifier that asks for labels: :meth:`ask`, then :meth:`tell` what was asked.

    ``ask`` predicts and decides; it never changes the model. ``tell`` is the only writer. Labels
    may come late, out of order, or never: up to ``max_pending`` asked rows are remembered, and past
    that the oldest question is dropped. A round's coin depends only on ``seed`` and its ticket.

    ``rounds``, ``asked``, ``told``, ``updates`` and ``dropped`` count what has happened so far;
    ``state`` holds the model's arrays.

    >>> import lasec
    >>> rule, query = lasec.rules.SecondOrder(drift=0.01), lasec.queries.Uniform(rate=0.2)
    >>> learner = Learner(rule, query, dimension=5)
    >>> X, y = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    >>> for x, label in zip(X, y):
    ...     decision = learner.ask(x)
    ...     if decision.asked:
    ...         outcome = learner.tell(decision.ticket, label)
    >>> learner
    Learner('SecondOrder + Uniform', dimension=5, rounds=1000, asked=187, updates=23)
    """

    def __init__(
        self,
        rule: Rule[Any],
        query: Query = ALWAYS,
        *,
        dimension: int,
        update: Update | str = Update.MISTAKES,
        seed: int = 0,
        max_pending: int = 10_000,
        name: str = "",
        state: State | None = None,
    ) -> None:
        self.rule = rule
        self.query = query
        self.dimension: int = number("dimension", dimension, int, Range(1, 2**31))
        self.update = Update(update)
        self.seed: int = number("seed", seed, int, SEEDS)
        self.name = name or f"{type(rule).__name__} + {type(query).__name__}"
        self.state = rule.init(self.dimension) if state is None else state
        self.rounds = self.asked = self.told = self.updates = self.dropped = 0
        self._pending = Pending(number("max_pending", max_pending, int, Range(1, 2**31)))
        self._key = np.uint64(self.seed)
        self._mistakes_only = self.update is Update.MISTAKES

    @property
    def max_pending(self) -> int:
        """How many questions may be open at a time."""
        return self._pending.limit

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
        return tuple(self._pending)

    def ask(self, x: ArrayLike, *, coin: float | None = None) -> Decision:
        """Predict the label of ``x``, and decide whether to ask for the true one.

        ``coin`` is a uniform number in [0, 1) to use instead of the learner's own.

        >>> import lasec
        >>> learner = lasec.LASEC_SS(dimension=2, caution=1.0)
        >>> learner.ask([0.5, -1.0])
        Decision(label=1, margin=0.0, variance=1.25, propensity=1.0, asked=True, ticket=0)
        """
        row = guards.row(x, self.dimension)
        tossed = None if coin is None else float(guards.coins([coin], 1)[0])
        ticket = self.rounds
        label, margin, variance, propensity = self._look(row, ticket)
        if tossed is None:
            tossed = draw(self._key, np.uint64(ticket))[0]
        decision = Decision(label, margin, variance, propensity, tossed < propensity, ticket)
        self.rounds += 1
        if decision.asked:
            self.asked += 1
            self.dropped += self._pending.add(decision, row)
        return decision

    def tell(self, ticket: int, y: int) -> Outcome:
        """Learn the label of an instance that was asked about.

        A ticket that is not open (never given out, not asked, told already, dropped) is refused
        with a :class:`~lasec.errors.TicketError`.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> decision = learner.ask([0.5, -1.0])
        >>> outcome = learner.tell(decision.ticket, -1)
        >>> outcome.correct, outcome.updated
        (False, True)
        """
        decision, x = self._pending.find(ticket, self.rounds)
        outcome = self._learn(decision, x, guards.label(y))
        self._pending.close(decision.ticket)
        return outcome

    def tell_row(self, x: ArrayLike, y: int) -> Outcome:
        """Learn a labelled instance that came for free, without having been asked about.

        It takes a ticket of its own; its decision has propensity 0, since no coin was thrown.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=2)
        >>> learner.tell_row([0.5, -1.0], -1).updated
        True
        """
        row, label = guards.row(x, self.dimension), guards.label(y)
        predicted, margin, variance, _ = self._look(row, self.rounds)
        decision = Decision(predicted, margin, variance, 0.0, asked=False, ticket=self.rounds)
        outcome = self._learn(decision, row, label)
        self.rounds += 1
        return outcome

    def run(self, X: ArrayLike, y: ArrayLike, *, coins: ArrayLike | None = None) -> Records:
        """Ask and, where asked, tell at once, for each row: a whole chunk in compiled code.

        The decisions are those of the loop over :meth:`ask` and :meth:`tell`, however the stream is
        cut into chunks. ``coins`` are uniform numbers to use instead of the learner's own.

        >>> import lasec
        >>> X, y = lasec.streams.switching(seed=1)
        >>> lasec.LASEC_SS(dimension=50, drift=0.01, ridge=0.5, caution=0.02).run(X, y)
        Records(rounds=10000, accuracy=0.700, labels=3496, rate=0.350)
        """
        rows = guards.rows(X, self.dimension)
        n = len(rows)
        signs = guards.labels(y, n)
        draws = uniforms(self.seed, self.rounds, n)
        if coins is not None:
            draws[:, 0] = guards.coins(coins, n)
        numbers, flags = np.empty((n, 4)), np.empty((n, 3), dtype=np.bool_)
        before = [array.copy() for array in self.state]
        bad = run_rows(
            self.rule, self.query, self.state, rows, signs, draws,
            self.rounds, self._mistakes_only, numbers, flags,
        )  # fmt: skip
        if bad >= 0:
            for array, old in zip(self.state, before, strict=True):
                array[...] = old
            raise _too_large(f"X: row {bad}")
        records = Records(
            self.rounds,
            np.where(numbers[:, 0] >= 0.0, 1, -1).astype(np.int8),
            *numbers[:, 1:].T[[1, 0, 2]],
            *flags.T.copy(),
        )
        self.rounds += n
        self.asked += records.labels
        self.told += records.labels
        self.updates += int(records.updated.sum())
        return records

    def to_bytes(self) -> bytes:
        """The whole learner, open questions included, as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> learner = lasec.LASEC(dimension=3)
        >>> lasec.Learner.from_bytes(learner.to_bytes())
        Learner('LASEC', dimension=3, rounds=0, asked=0, updates=0)
        """
        header = {
            "name": self.name,
            "rule": snapshot.describe(self.rule),
            "query": snapshot.describe(self.query),
            "dimension": self.dimension,
            "update": self.update.value,
            "seed": self.seed,
            "max_pending": self.max_pending,
            "counters": {name: getattr(self, name) for name in _COUNTERS},
        }
        state = {f"state.{n}": a for n, a in zip(self.state._fields, self.state, strict=True)}
        pending = {f"pending.{n}": a for n, a in self._pending.arrays(self.dimension).items()}
        return pack(header, state | pending)

    @classmethod
    def from_bytes(cls, data: bytes) -> Learner:
        """The learner that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`."""
        header, arrays = unpack(bytes(data))
        try:
            return cls._restore(header, arrays)
        except StateError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"invalid: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, all of it or nothing.

        >>> import lasec, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lasec.LASEC(dimension=3).save(f"{folder}/model.lasec")
        ...     lasec.Learner.load(f"{folder}/model.lasec")
        Learner('LASEC', dimension=3, rounds=0, asked=0, updates=0)
        """
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Learner:
        """The learner of a file, or a :class:`~lasec.errors.StateError` that says what is wrong."""
        return cls.from_bytes(Path(path).read_bytes())

    def __repr__(self) -> str:
        return (
            f"Learner({self.name!r}, dimension={self.dimension}, rounds={self.rounds}, "
            f"asked={self.asked}, updates={self.updates})"
        )

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Learner:
        """A learner from what :meth:`to_bytes` put into the file."""
        rule = snapshot.rebuild(header["rule"], snapshot.RULES)
        dimension = number("dimension", header["dimension"], int, Range(1, 2**31))
        tickets = {name: arrays.pop(f"pending.{name}") for name in ("ticket", "x", "decision")}
        state = {name.removeprefix("state."): array for name, array in arrays.items()}
        learner = cls(
            rule,
            snapshot.rebuild(header["query"], snapshot.QUERIES),
            dimension=dimension,
            update=header["update"],
            seed=header["seed"],
            max_pending=header["max_pending"],
            name=str(header["name"]),
            state=snapshot.restore(rule, dimension, state),
        )
        for name in _COUNTERS:
            setattr(learner, name, number(name, header["counters"][name], int, _COUNTS))
        learner._pending.restore(tickets, dimension, learner.rounds)
        lost = learner.dropped + len(learner._pending)
        if learner.rounds < learner.asked or learner.asked < lost or learner.told < learner.updates:
            raise StateError("invalid: the counters contradict each other")
        return learner

    def _look(self, x: Vector, ticket: int) -> tuple[int, float, float, float]:
        """Predicted label, margin, variance and probability of asking, or an error about ``x``."""
        raw, variance, margin, propensity = ask_row(
            self.rule, self.query, self.state, x, ticket + 1
        )
        if not sane(raw, variance):
            raise _too_large("x")
        return 1 if raw >= 0.0 else -1, margin, variance, propensity

    def _learn(self, decision: Decision, x: Vector, y: float) -> Outcome:
        """Let the label in, under the model of this moment."""
        spare = draw(self._key, np.uint64(decision.ticket))[1]
        raw, variance, mistake, updated = tell_row(
            self.rule, self.state, x, y, spare, self._mistakes_only
        )
        if not sane(raw, variance):
            raise _too_large("x")
        self.told += 1
        self.updates += updated
        return Outcome(decision, int(y), mistake, updated)


def _too_large(where: str) -> ValueError:
    return ValueError(
        f"{where}: too large for this model, its variance is beyond {LARGEST_VARIANCE:g}: "
        "scale the input, or raise ridge"
    )
