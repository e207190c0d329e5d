"""Many small models of one kind, in stacked arrays, run by one call on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards, kernel, snapshot
from lasec.draws import SEEDS, words
from lasec.learner import Learner
from lasec.model import ALWAYS
from lasec.parameters import Range, number
from lasec.records import FleetRecords
from lasec.types import Precision, Query, Rule, Update


class Fleet:
    """One second-order learner for each of ``models`` keys: tenants, users, sensors.

    Model k is a :class:`~lasec.Learner` of its own, with its own rounds and its own seed, and does
    to its rows what that learner would do; :meth:`learner` takes it out. A batch of rows in any
    order of keys is one call, and ``threads`` of it are run at once (all cores unless told).

    >>> import numpy as np, lasec
    >>> fleet = Fleet(lasec.rules.SecondOrder(drift=0.01), models=1_000, dimension=16)
    >>> X, y = lasec.streams.switching(50_000, dimension=16, every=50_000, seed=1)
    >>> keys = np.random.default_rng(0).integers(1_000, size=50_000)
    >>> fleet.run(keys, X, y)
    FleetRecords(rounds=50000, accuracy=0.717, labels=50000, rate=1.000)
    >>> fleet.learner(7)
    Learner('SecondOrder + Always', dimension=16, rounds=37, asked=37, updates=14)
    """

    def __init__(
        self,
        rule: Rule[Any],
        query: Query = ALWAYS,
        *,
        models: int,
        dimension: int,
        update: Update | str = Update.MISTAKES,
        seed: int = 0,
        precision: Precision | str = Precision.DOUBLE,
        threads: int | None = None,
    ) -> None:
        self.rule, self.query = rule, query
        self.models: int = number("models", models, int, Range(1, 2**31))
        self.dimension: int = number("dimension", dimension, int, Range(1, 2**15))
        self.update, self.precision = Update(update), Precision(precision)
        self.seed: int = number("seed", seed, int, SEEDS)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.threads: int = number("threads", threads or cores, int, Range(1, 1024))
        one = snapshot.begin(rule, self.dimension, self.precision)
        if not kernel.engine.blocked(rule, one):
            raise TypeError(f"rule: a fleet needs a second-order rule, got {type(rule).__name__}")
        if hasattr(query, "spend"):
            raise TypeError(f"query: a fleet has no room for what {type(query).__name__} remembers")
        self.weights = np.tile(one.weights, (self.models, 1))
        self.cov = np.tile(one.cov, (self.models, 1, 1))
        self.seeds = words(self.seed, 2**128, self.models)[:, 0]
        self.rounds, self.asked, self.updates = np.zeros((3, self.models), dtype=np.int64)

    def run(
        self, keys: ArrayLike, X: ArrayLike, y: ArrayLike, *, coins: ArrayLike | None = None
    ) -> FleetRecords:
        """Ask and, where asked, tell at once, for each row, by the model of its key.

        Rows of one key are taken in the order in which they stand. A row that a single learner
        would refuse because it is too large for its model is predicted and counted in
        ``records.refused``, but not asked about: one tenant's bad row stops nobody else's.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=2, dimension=1)
        >>> fleet.run([1, 0, 1], [[1.0], [2.0], [3.0]], [-1, 1, -1]).ticket.tolist()
        [0, 0, 1]
        """
        kind = self.precision.kind
        rows = guards.rows(X, self.dimension, kind)
        n = len(rows)
        signs, numbers = guards.labels(y, n), self._keys(keys, n)
        given = guards.given(coins, n)
        with ThreadPoolExecutor(self.threads) as pool:
            return self._run(pool, numbers, rows, signs, given)

    def _run(
        self, pool: ThreadPoolExecutor, keys: NDArray[np.int64], X: NDArray[Any],
        y: NDArray[np.float64], given: NDArray[np.float64],
    ) -> FleetRecords:  # fmt: skip
        """The batch, its rows and models dealt out to the threads of ``pool``."""
        engine, n = kernel.engine, len(X)
        cuts = np.linspace(0, n, self.threads + 1).astype(int).tolist()
        spans = list(pairwise(cuts))
        for (begin, _), bad in zip(
            spans, pool.map(lambda span: engine.first_unsound(X[slice(*span)]), spans), strict=True
        ):
            if bad >= 0:
                guards.finite("X", X[begin + bad])
        order, begins, tickets = engine.group(keys, self.rounds)
        stack = engine.Stack(
            self.weights, self.cov, self.seeds, self.rounds, self.asked, self.updates
        )
        packed, columns = np.empty((n, 4)), engine.Columns.empty(n)

        def run(share: NDArray[np.int64]) -> int:
            return engine.run_share(
                self.rule, self.query, stack, share, X, y, given, order, begins,
                self.update == Update.MISTAKES, packed,
            )  # fmt: skip

        refused = sum(pool.map(run, self._shares(begins)))
        list(pool.map(lambda span: engine.unpack(packed, span[0], span[1], columns), spans))
        return FleetRecords(*columns, key=keys, ticket=tickets, refused=refused)

    def learner(self, key: int) -> Learner:
        """Model ``key`` as a learner of its own; what happens to it there does not come back.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> fleet.learner(3).dimension
        2
        """
        k: int = number("key", key, int, Range(0, self.models - 1))
        learner = Learner(
            self.rule, self.query, dimension=self.dimension, update=self.update,
            seed=int(self.seeds[k]), precision=self.precision,
        )  # fmt: skip
        learner.state.weights[:], learner.state.cov[:] = self.weights[k], self.cov[k]
        learner.rounds, learner.updates = int(self.rounds[k]), int(self.updates[k])
        learner.asked = learner.told = int(self.asked[k])
        return learner

    def _keys(self, keys: ArrayLike, count: int) -> NDArray[np.int64]:
        """The keys of a batch, or an error that says which one is wrong."""
        numbers = np.asarray(keys)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise TypeError(f"keys: expected whole numbers, got dtype {numbers.dtype}")
        if numbers.shape != (count,):
            raise ValueError(f"keys: expected {count}, one for each row, got {numbers.shape}")
        if count and not (numbers.min() >= 0 and numbers.max() < self.models):
            raise ValueError(f"keys: must lie in [0, {self.models - 1}]")
        return np.ascontiguousarray(numbers, dtype=np.int64)

    def _shares(self, begins: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The models with rows, in shares of about equally many rows, one for each thread."""
        touched = np.flatnonzero(np.diff(begins))
        done = begins[touched + 1]
        wanted = np.linspace(0, begins[-1], self.threads + 1)[1:-1]
        return np.split(touched, np.searchsorted(done, wanted))

    def __repr__(self) -> str:
        return (
            f"Fleet({type(self.rule).__name__} + {type(self.query).__name__}, "
            f"models={self.models}, dimension={self.dimension}, rounds={int(self.rounds.sum())})"
        )
