"""Many models of one kind in motion: batches of rows of any keys, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards, kernel
from lasec.fleet.models import Models
from lasec.records import FleetRecords, Served
from lasec.types import LearnFrom

# Fewer rows are not worth threads, which take longer to begin.
_FEW = 64


class Fleet(Models):
    """One learner for each of ``models`` keys: tenants, users, sensors; of any rule and any query.

    Model k is a :class:`~lasec.Learner` of its own, with its own rounds and its own seed (derived
    from ``seed``, which is random if not given, or given in ``seeds``), and does to its rows what
    that learner would do. A batch of rows in any order of keys is one call, :meth:`run` where
    labels are known, :meth:`serve` where they come later, and ``threads`` of it are run at once
    (all cores unless told).

    ``state`` holds the models' arrays and ``memory`` what their queries remember, both with one
    more axis in front; ``rounds``, ``asked``, ``told``, ``updates`` and ``waiting`` (questions that
    are open) count, model by model.

    >>> import numpy as np, lasec
    >>> fleet = Fleet(lasec.rules.SecondOrder(drift=0.01), models=1_000, dimension=16, seed=0)
    >>> X, y = lasec.streams.switching(50_000, dimension=16, every=50_000, seed=1)
    >>> keys = np.random.default_rng(0).integers(1_000, size=50_000)
    >>> fleet.run(keys, X, y)
    FleetRecords(rounds=50000, accuracy=0.717, labels=50000, rate=1.000)
    >>> fleet.learner(7)
    Learner('SecondOrder + Always', dimension=16, rounds=37, asked=37, updates=14)
    """

    def run(
        self,
        keys: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        *,
        times: ArrayLike | None = None,
        coins: ArrayLike | None = None,
    ) -> FleetRecords:
        """Ask and, where asked, tell at once, for each row, by the model of its key.

        Rows of one key are taken in the order in which they stand. A row that a single learner
        would refuse because it is too large for its model is predicted and counted in
        ``records.refused``, but not asked about: one tenant's bad row stops nobody else's.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=2, dimension=1, seed=0)
        >>> fleet.run([1, 0, 1], [[1.0], [2.0], [3.0]], [-1, 1, -1]).ticket.tolist()
        [0, 0, 1]
        """
        rows = guards.rows(X, self.dimension, self.precision.kind)
        n = len(rows)
        signs, numbers = guards.labels(y, n), self._keys(keys, n)
        given, clock = guards.given(coins, n), self._times(times, n)
        first = type(self.state)(*(array[0] for array in self.state))
        if kernel.engine.blocked(self.rule, first) and not self.memory.shape[1]:
            with self._busy, ThreadPoolExecutor(self.threads) as pool:
                return self._run_blocks(pool, numbers, rows, signs, given)
        none = np.empty(0, dtype=np.int64)
        out = self._row_by_row(numbers, rows, signs, none, none, clock, given, at_once=True)
        return FleetRecords(
            out.label, out.margin, out.variance, out.propensity, out.asked, out.mistake,
            out.updated, key=numbers, ticket=out.ticket, refused=int(out.refused.sum()),
        )  # fmt: skip

    def serve(
        self,
        keys: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        *,
        tickets: ArrayLike | None = None,
        after: ArrayLike | None = None,
        times: ArrayLike | None = None,
        coins: ArrayLike | None = None,
    ) -> Served:
        """Questions and labels, as they come: rows of one key in the order in which they stand.

        Where ``y`` is 0, the row is predicted, and it is decided whether to ask about it; where it
        is -1 or +1, that is the label of the row. Which question it answers is said by ``after``,
        if that is a row of this very call (then the label is only learned if the row was asked
        about), and else by ``tickets``: the ticket that an earlier call gave. The fleet remembers
        no rows, so that of a label must come again, and it does not know which tickets are open:
        hand it each label once, and only those that were asked for. A label that is too large for
        its model by now is refused, and its question stays counted as waiting.

        Rows that are no numbers, and all else that is wrong with a call, refuse it as a whole.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=2, dimension=1, seed=0)
        >>> asked = fleet.serve([0, 1], [[1.0], [2.0]], [0, 0])
        >>> asked.asked.tolist(), asked.ticket.tolist(), fleet.waiting.tolist()
        ([True, True], [0, 0], [1, 1])
        >>> told = fleet.serve([1, 1], [[0.5], [2.0]], [0, -1], tickets=[-1, 0])
        >>> told.label.tolist(), told.learned.tolist(), fleet.waiting.tolist()
        ([1, 1], [False, True], [1, 1])
        """
        rows = guards.rows(X, self.dimension, self.precision.kind)
        n = len(rows)
        signs, numbers = guards.labels_or_none(y, n), self._keys(keys, n)
        given, clock = guards.given(coins, n), self._times(times, n)
        answered = self._answered(after, numbers, signs)
        claimed = self._claimed(tickets, numbers, (signs != 0.0) & (answered < 0))
        out = self._row_by_row(numbers, rows, signs, claimed, answered, clock, given)
        return Served(*out)

    def coins(self, keys: ArrayLike, numbers: ArrayLike) -> NDArray[np.float64]:
        """Coins that depend on the seed of a key and on a number from 0 to 2^64 - 1, one a row.

        For :meth:`serve`, where a row's coin is to depend on the row itself and not on its place in
        the stream: with a hash of the row's id as its number, a row that comes again gets the same.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=2, dimension=1, seed=0)
        >>> fleet.coins([0, 1, 0], [7, 7, 7]).round(3).tolist()
        [0.429, 0.569, 0.429]
        """
        given = guards.counters("numbers", numbers)
        return kernel.engine.coins(self.seeds, self._keys(keys, given.size), given)

    def _row_by_row(
        self, keys: NDArray[np.int64], X: NDArray[Any], y: NDArray[np.float64],
        tickets: NDArray[np.int64], after: NDArray[np.int64], times: NDArray[np.float64],
        coins: NDArray[np.float64], *, at_once: bool = False,
    ) -> Any:  # fmt: skip
        """The batch, its models dealt out to threads; all of it, or nothing."""
        engine = kernel.engine
        self._check(map, X, [(0, len(X))])
        order, begins, _ = engine.group(keys, self.rounds)
        post = engine.Post(X, y, tickets, after, times, coins, order, begins)
        crew = engine.Crew(
            self.state, self.memory, self.seeds, self.rounds, self.asked, self.told, self.updates,
            self.waiting,
        )  # fmt: skip
        out, shares = engine.Answers.empty(len(X)), self._shares(begins)
        touched = np.flatnonzero(np.diff(begins))
        learning = touched if at_once else np.unique(keys[y != 0.0])

        if at_once not in self._servers:
            self._servers[at_once] = engine.server(self.rule, self.query, crew, X, at_once=at_once)

        def share(models: NDArray[np.int64]) -> None:
            self._servers[at_once](crew, models, post, self.learn_from == LearnFrom.MISTAKES, out)

        with self._busy, self._all_or_nothing(touched, learning):
            self.clock.advance(times)
            if len(shares) == 1 or len(X) < _FEW:
                share(touched)
            else:
                with ThreadPoolExecutor(self.threads) as pool:
                    list(pool.map(share, shares))
        return out

    def _run_blocks(
        self, pool: ThreadPoolExecutor, keys: NDArray[np.int64], X: NDArray[Any],
        y: NDArray[np.float64], given: NDArray[np.float64],
    ) -> FleetRecords:  # fmt: skip
        """The batch, its rows and models dealt out to the threads of ``pool``, in blocks."""
        engine, n = kernel.engine, len(X)
        cuts = np.linspace(0, n, self.threads + 1).astype(int).tolist()
        spans = list(pairwise(cuts))
        self._check(pool.map, X, spans)
        order, begins, tickets = engine.group(keys, self.rounds)
        stack = engine.Stack(
            self.state.weights, self.state.cov, self.seeds, self.rounds, self.asked, self.told,
            self.updates,
        )  # fmt: skip
        packed, columns = np.empty((n, 4)), engine.Columns.empty(n)

        def run(share: NDArray[np.int64]) -> int:
            return engine.run_share(
                self.rule, self.query, stack, share, X, y, given, order, begins,
                self.learn_from == LearnFrom.MISTAKES, packed,
            )  # fmt: skip

        refused = sum(pool.map(run, self._shares(begins)))
        list(pool.map(lambda span: engine.unpack(packed, span[0], span[1], columns), spans))
        return FleetRecords(*columns, key=keys, ticket=tickets, refused=refused)

    @staticmethod
    def _check(
        mapped: Callable[..., Iterable[int]], X: NDArray[Any], spans: list[tuple[int, int]]
    ) -> None:
        """An error for the first row that is no row of numbers of a usable size."""
        found = mapped(lambda span: kernel.engine.first_unsound(X[slice(*span)]), spans)
        for (begin, _), bad in zip(spans, found, strict=True):
            if bad >= 0:
                guards.finite("X", X[begin + bad])

    @staticmethod
    def _answered(
        after: ArrayLike | None, keys: NDArray[np.int64], y: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The rows of this call that labels answer, -1 where they answer none."""
        n = keys.size
        rows = np.full(n, -1, dtype=np.int64) if after is None else guards.whole("after", after, n)
        labels = np.flatnonzero(rows >= 0)
        asks = rows[labels]
        if (asks >= labels).any() or not (
            (y[labels] != 0.0) & (y[asks] == 0.0) & (keys[labels] == keys[asks])
        ).all():
            raise ValueError(
                "after: only a label can come after a row above it that asks, of its key"
            )
        if np.unique(asks).size < asks.size:
            raise ValueError("after: a row has two labels")
        return rows

    def _claimed(
        self, tickets: ArrayLike | None, keys: NDArray[np.int64], needed: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The tickets of labels whose rows came earlier; of other rows, anything."""
        if tickets is None:
            if needed.any():
                raise ValueError("tickets: a label must say which question it answers")
            return np.full(keys.size, -1, dtype=np.int64)
        numbers = guards.whole("tickets", tickets, keys.size)
        wrong = needed & ((numbers < 0) | (numbers >= self.rounds[keys]))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"tickets: ticket {numbers[i]} of key {keys[i]} was never given out: "
                f"the next one is {self.rounds[keys[i]]}"
            )
        return numbers

    def _shares(self, begins: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The models with rows, in shares of about equally many rows, one for each thread."""
        touched = np.flatnonzero(np.diff(begins))
        done = begins[touched + 1]
        wanted = np.linspace(0, begins[-1], self.threads + 1)[1:-1]
        return np.split(touched, np.searchsorted(done, wanted))
