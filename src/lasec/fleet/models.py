"""A fleet at rest: the models' stacked arrays, and how one or many are taken out and put in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import guards, kernel, snapshot
from lasec.busy import Busy
from lasec.clock import LEAD, Clock
from lasec.draws import SEEDS, seed_or_random, words
from lasec.fleet import layout
from lasec.learner import ALWAYS, Learner
from lasec.parameters import Range, choice, number, shown
from lasec.types import LearnFrom, Precision, Query, Rule

_COUNTERS = ("rounds", "asked", "told", "updates")
_SAME = ("rule", "query", "dimension", "learn_from", "precision")


class Models:
    """Rule, query, and a row of each array for each model; a fleet sets them in motion."""

    def __init__(
        self,
        rule: Rule[Any],
        query: Query = ALWAYS,
        *,
        models: int,
        dimension: int,
        learn_from: LearnFrom | str = LearnFrom.MISTAKES,
        seed: int | None = None,
        seeds: ArrayLike | None = None,
        lead: float | None = LEAD,
        precision: Precision | str = Precision.DOUBLE,
        threads: int | None = None,
    ) -> None:
        self.rule, self.query = rule, query
        self.models: int = number("models", models, int, Range(1, 2**31))
        self.dimension: int = number("dimension", dimension, int, Range(1, 2**15))
        self.learn_from, self.precision = (
            choice(LearnFrom, learn_from),
            choice(Precision, precision),
        )
        self.seed = seed_or_random(seed)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.threads: int = number("threads", threads or cores, int, Range(1, 1024))
        one = snapshot.begin(rule, self.dimension, self.precision)
        self._places = layout.places(one)
        self.state: Any = type(one)(*(_stack(array, self.models) for array in one))
        self.memory = _stack(snapshot.query_state(query), self.models)
        self.seeds = self._seeds(seeds)
        self.rounds, self.asked, self.told, self.updates, self.waiting = np.zeros(
            (5, self.models), dtype=np.int64
        )

        self.clock, self._busy = Clock(lead), Busy("fleet")
        self._servers: dict[bool, Callable[..., None]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_servers": {}}  # compiled code is found again

    @property
    def size(self) -> int:
        """How many bytes a model takes in :meth:`pack`.

        >>> import lasec
        >>> lasec.Fleet(lasec.rules.SecondOrder(), models=10, dimension=64).size
        17152
        """
        return layout.size(self._places)

    def pack(self, keys: ArrayLike) -> NDArray[np.uint8]:
        """The arrays of these models as bytes, a row each; of a covariance, the lower triangle.

        These are the arrays of the rule's state alone: counters, seeds and what the query remembers
        are plain arrays of the fleet already.

        >>> import lasec
        >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> fleet.pack([3, 7]).shape
        (2, 40)
        """
        numbers = self._keys(keys)
        packed = np.zeros((numbers.size, self.size), dtype=np.uint8)
        for place, array in zip(self._places, self.state, strict=True):
            kernel.engine.store(
                place.spread(array), place.lower, numbers, packed.view(place.kind), place.columns[0]
            )
        return packed

    def unpack(self, keys: ArrayLike, packed: NDArray[np.uint8]) -> None:
        """Take these models from what :meth:`pack` gave, of this fleet or of one of its kind.

        Bytes of the wrong number, and models with NaN or infinity in them, are refused; nothing
        else is looked at, so keep them where nobody else writes.

        >>> import lasec
        >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> records = fleet.run([3, 3], [[1.0, 2.0], [0.5, 1.0]], [-1, 1])
        >>> fleet.unpack([7], fleet.pack([3]))
        >>> bool((fleet.state.weights[7] == fleet.state.weights[3]).all())
        True
        """
        numbers, expected = self._keys(keys), self.size
        rows = guards.array("packed", packed)
        if rows.dtype != np.uint8 or rows.shape != (numbers.size, expected):
            raise ValueError(
                f"packed: expected {numbers.size} rows of {expected} bytes, "
                f"got {rows.dtype} of shape {rows.shape}"
            )
        if not rows.flags.c_contiguous or rows.ctypes.data % 8:
            rows = rows.copy()
        for place in self._places:
            if place.kind.kind == "f":
                bad = kernel.engine.first_infinite(rows.view(place.kind), *place.columns)
                if bad >= 0:
                    raise ValueError(f"packed: row {bad} holds NaN or infinity in {place.name}")
        for place, array in zip(self._places, self.state, strict=True):
            kernel.engine.load(
                place.spread(array), place.lower, numbers, rows.view(place.kind), place.columns[0]
            )

    def learner(self, key: int) -> Learner:
        """Model ``key`` as a learner of its own; what happens to it there does not come back.

        It takes the counters and what the query remembers with it, but no open question: the fleet
        does not know their rows.

        >>> import lasec
        >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> fleet.learner(3).dimension
        2
        """
        k: int = number("key", key, int, Range(0, self.models - 1))
        learner = Learner(
            self.rule, self.query, dimension=self.dimension, learn_from=self.learn_from,
            seed=int(self.seeds[k]), precision=self.precision,
        )  # fmt: skip
        for mine, stacked in zip(learner.state, self.state, strict=True):
            mine[...] = stacked[k]
        learner.query_state[:] = self.memory[k]
        return learner.counted(**{name: int(getattr(self, name)[k]) for name in _COUNTERS})

    def put(self, key: int, learner: Learner) -> None:
        """Let model ``key`` be as this learner is: its arrays, its seed, its counters, its budget.

        Its open questions stay behind: the fleet counts none as waiting.

        >>> import lasec
        >>> fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> learner = fleet.learner(3)
        >>> outcome = learner.learn([0.5, -1.0], -1)
        >>> fleet.put(3, learner)
        >>> fleet.rounds[2:5].tolist(), fleet.updates[2:5].tolist()
        ([0, 1, 0], [0, 1, 0])
        >>> fleet.put(4, lasec.LASEC(dimension=2, drift=0.1))
        Traceback (most recent call last):
        ValueError: rule: this fleet's is SecondOrder(drift=0.0, ridge=1.0), the learner's ...
        """
        k: int = number("key", key, int, Range(0, self.models - 1))
        if not isinstance(learner, Learner):
            raise TypeError(f"learner: expected one, got {shown(learner)}")
        for name in _SAME:
            mine, its = getattr(self, name), getattr(learner, name)
            if type(mine) is not type(its) or repr(mine) != repr(its):  # with the types inside
                raise ValueError(f"{name}: this fleet's is {mine!r}, the learner's {its!r}")
        for stacked, its in zip(self.state, learner.state, strict=True):
            stacked[k] = its
        self.memory[k], self.seeds[k], self.waiting[k] = learner.query_state, learner.seed, 0
        for name in _COUNTERS:
            getattr(self, name)[k] = getattr(learner, name)

    @contextmanager
    def _all_or_nothing(
        self, touched: NDArray[np.int64], learning: NDArray[np.int64]
    ) -> Iterator[None]:
        """Whatever goes wrong inside, the models are as they were; ``learning`` may change."""
        counted = (self.memory, self.waiting, *(getattr(self, name) for name in _COUNTERS))
        kept = [(array, touched, array[touched]) for array in counted]
        kept += [(array, learning, array[learning]) for array in self.state]
        try:
            yield
        except BaseException:
            for array, which, before in kept:
                array[which] = before
            raise

    def _keys(self, keys: ArrayLike, count: int | None = None) -> NDArray[np.int64]:
        """The keys of a batch, or an error that says what is wrong with them."""
        numbers = guards.whole("keys", keys, count)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.models):
            raise ValueError(f"keys: must lie in [0, {self.models - 1}]")
        return numbers

    def _times(self, times: ArrayLike | None, count: int) -> NDArray[np.float64]:
        """When the rows of a batch came, as far as it can be trusted; empty for rounds."""
        return self.clock.trusted(guards.clock(self.query, times, count))

    def _seeds(self, seeds: Any) -> NDArray[np.uint64]:
        """A seed for each model: those that were given, or else drawn from the fleet's."""
        if seeds is None:
            return words(self.seed, 2**128, self.models)[:, 0].copy()
        if not isinstance(seeds, np.ndarray):
            with guards.foreign("seeds"):
                given = [number("seeds", seed, int, SEEDS) for seed in seeds]
            seeds = np.array(given, dtype=np.uint64)
        if seeds.shape != (self.models,):
            raise ValueError(f"seeds: expected {self.models}, one a model, got {seeds.shape}")
        if seeds.dtype.kind not in "iu" or (seeds.size and seeds.min() < 0):
            raise TypeError("seeds must be whole numbers from 0 to 2^64 - 1")
        return np.array(seeds, dtype=np.uint64)

    def __repr__(self) -> str:
        return (
            f"Fleet({type(self.rule).__name__} + {type(self.query).__name__}, "
            f"models={self.models}, dimension={self.dimension}, rounds={int(self.rounds.sum())})"
        )


def _stack(array: NDArray[Any], models: int) -> NDArray[Any]:
    return np.tile(array, (models,) + (1,) * array.ndim)
