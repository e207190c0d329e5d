"""Many models of one kind: batches of rows of any keys, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lasec import sparse, validation
from lasec.busy import Busy
from lasec.classes import SIGNS
from lasec.clock import LEAD
from lasec.files import write
from lasec.fleet import batch, saved
from lasec.fleet.stacked import tiled
from lasec.kernel import engine
from lasec.learner import ALWAYS, Learner, reading, standing
from lasec.learner.adaptive import adapts
from lasec.learner.state import Counts, LearnerState
from lasec.learner.terms import Terms
from lasec.nested import copied
from lasec.parameters import Range, choice, number, shown
from lasec.persistence import record
from lasec.persistence.container import checking, read
from lasec.random import seed_or_random
from lasec.records import Records
from lasec.types import UNASKED, LearnFrom, Query, Rule

# Fewer rows are not worth threads, which take longer to begin.
_FEW = 64
_COUNTERS = ("rows", "asked", "told", "updates")
# Models as bytes: rows of one length, or of any.
Packed = NDArray[np.uint8] | list[NDArray[np.uint8]]
_SAME = ("rule", "query", "dimension", "learn_from", "classes")


class Fleet:
    """One learner for each of ``models`` keys: tenants, users, sensors; of any rule and any query.

    Model k is a :class:`~lasec.Learner` of its own, with its own rows and its own seed (derived
    from ``seed``, which is random if not given, or given in ``seeds``), and does to its rows what
    that learner would do. A batch of questions and labels, in any order of keys, is one call of
    :meth:`serve`, in ``threads`` (all cores unless told). A call that is refused leaves every model
    as it was.

    ``classes`` are those of all models: any labels, any number. They are -1 and +1 if not given.
    No model takes others.

    ``state`` holds the models' arrays and ``memory`` what their queries remember, both with one
    more axis in front. Models of sparse rows, such as texts, grow with the columns that occur:
    then ``state`` is a list of the states of all, a model takes memory from its first row on, and
    it is copied for each call with labels for it (a call with questions alone that is interrupted
    may leave them counted there). ``rows``, ``asked``, ``told``, ``updates`` and ``waiting``
    (questions that are open) count, model by model.

    >>> import numpy as np, lasec
    >>> fleet = Fleet(lasec.rules.SecondOrder(drift=0.01), models=1_000, dimension=16, seed=0)
    >>> X, y = lasec.streams.switching(50_000, dimension=16, every=50_000, seed=1)
    >>> keys = np.random.default_rng(0).integers(1_000, size=50_000)
    >>> asked = fleet.serve(keys, X, np.zeros(50_000))
    >>> fleet.serve(keys, X, y, tickets=asked.ticket)
    Records(rows=50000, asked=0, learned=50000, refused=0)
    >>> fleet.learner(7)
    Learner('SecondOrder + Always', dimension=16, rows=37, asked=37, updates=14)
    >>> fleet = Fleet(lasec.rules.Tracking(), models=9, dimension=2, classes=["ash", "oak", "yew"])
    >>> fleet.serve([0, 8, 0], [[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]], [None, None, "oak"],
    ...             after=[-1, -1, 0]).learned
    array([False, False,  True])
    >>> hasher = lasec.TextHasher()
    >>> texts = Fleet(lasec.rules.SparseTracking(), models=9, dimension=hasher.columns)
    >>> texts.serve([0, 8], hasher.rows(["a prize", "lunch?"]), [None, None]).ticket
    array([0, 0])
    """

    UNASKED = UNASKED

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
        threads: int | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> None:
        self.models: int = number("models", models, int, Range(1, 2**31))
        self.dimension: int = number("dimension", dimension, int, saved.dimensions(rule))
        self.seed, self.learn_from = seed_or_random(seed), choice(LearnFrom, learn_from)
        terms = Terms.of(self.learn_from)
        self._one = one = LearnerState.first(
            rule, query, self.dimension, terms, classes=classes, seed=self.seed, lead=lead
        )
        if adapts(one):
            raise ValueError("query: the budgets of a fleet are not adaptive, so adapt must be 0")
        self._names = one.classes.complete
        self.rule, self.query, self.clock = one.rule, one.selector.query, one.selector.clock
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.threads: int = number(
            "threads", cores if threads is None else threads, int, Range(1, 1024)
        )
        kept = saved.models_of(self.rule)
        self._models = kept(self.rule, one.model, self.models, self.dimension)
        self.memory = tiled(one.selector.query_state, self.models)
        self.seeds = batch.seeds(seeds, self.seed, self.models)
        self.rows, self.asked, self.told, self.updates, self.waiting = np.zeros(
            (5, self.models), dtype=np.int64
        )
        self._busy = Busy("fleet")

    @classmethod
    def of(
        cls,
        learner: Learner,
        *,
        models: int,
        seed: int | None = None,
        seeds: ArrayLike | None = None,
        lead: float | None = LEAD,
        threads: int | None = None,
    ) -> Self:
        """So many models that all begin as this learner is, but for seeds and open questions.

        >>> import lasec
        >>> tracker = lasec.Tracker(2, classes=["ham", "spam", "eggs"], class_weight={"spam": 9})
        >>> Fleet.of(tracker, models=100), Fleet.of(tracker, models=100).classes
        (Fleet(Tracking + Budgeted, models=100, dimension=2, rows=0), ('ham', 'spam', 'eggs'))
        """
        signs = learner.classes == SIGNS
        fleet = cls(
            learner.rule, learner.query, models=models, dimension=learner.dimension,
            learn_from=learner.learn_from, seed=seed, seeds=seeds,
            lead=lead, threads=threads, classes=None if signs else learner.known_classes,
        )  # fmt: skip
        fleet._models.put(slice(None), learner.state)
        fleet.memory[:] = learner.selector.query_state
        for name in _COUNTERS:
            getattr(fleet, name)[:] = getattr(learner, name)
        return fleet

    @property
    def state(self) -> Any:
        """The arrays of all models, stacked; where models grow, the state of each."""
        return self._models.state

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order in which they were given."""
        return self._names.names

    def serve(
        self,
        keys: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        *,
        tickets: ArrayLike | None = None,
        after: ArrayLike | None = None,
        times: ArrayLike | None = None,
        draws: ArrayLike | None = None,
    ) -> Records:
        """Questions and labels, as they come: rows of one key in the order in which they stand.

        Where ``y`` is None or NaN (or 0, unless that is a class), the row is predicted, and it is
        decided whether to ask about it; else that is the label of the row. Which question it
        answers is said by ``after``, if that is a row of this very call (then the label is only
        learned if the row was asked about), and else by ``tickets``: the ticket that an earlier
        call gave. The fleet remembers no rows, so that of a label must come again, and it does not
        know which tickets are open: hand it each label once. A label that is too large for its
        model by now is refused, and its question stays counted as waiting. With the ticket
        ``Fleet.UNASKED`` it is a label that nobody asked for: learned as a step of its own, unless
        ``after`` names a row that was asked about.
        ``draws`` are uniform numbers in [0, 1) to decide by, instead of the models' own.

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
        with np.errstate(over="ignore"):  # of squares, which are told by their sum
            rows = reading.usable(self._one, X)
        n = len(rows)
        labels, numbers = np.nan_to_num(self._codes(y, n)), self._keys(keys, n)
        given, clock = validation.given(draws, n), self._times(times, n)
        answered = batch.answered(after, numbers, labels)
        claimed = batch.claimed(tickets, numbers, (labels != 0.0) & (answered < 0), self.rows)
        with self._busy:
            order, begins = engine.group(numbers, self.models)
            requests = engine.Requests(labels, claimed, answered, clock, given, order, begins)
            return self._named(self._served(numbers, sparse.plain(rows), requests))

    def draws(self, keys: ArrayLike, numbers: ArrayLike) -> NDArray[np.float64]:
        """Random draws that depend on the seed of a key and on a number from 0 to 2^64 - 1.

        For :meth:`serve`, where a row's draw should depend on the row itself and not on its place
        in the stream: with a hash of the row's id as its number, a repeated row gets the same.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=2, dimension=1, seed=0)
        >>> fleet.draws([0, 1, 0], [7, 7, 7]).round(3).tolist()
        [0.429, 0.569, 0.429]
        """
        given = validation.counters("numbers", numbers)
        return engine.draws(self.seeds, self._keys(keys, given.size), given)

    @property
    def size(self) -> int:
        """How many bytes a model takes in :meth:`pack`; one that grows, at its beginning."""
        return self._models.size

    def pack(self, keys: ArrayLike) -> Packed:
        """The arrays of these models as bytes, a row each; of a covariance, the lower triangle.

        These are the arrays of the rule's state alone: counters, seeds and what the query remembers
        are plain arrays of the fleet already. Models that grow are a list, as rows of any length.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> fleet.pack([3, 7]).shape
        (2, 40)
        """
        return self._models.pack(self._keys(keys))

    def unpack(self, keys: ArrayLike, packed: Packed) -> None:
        """Take these models from what :meth:`pack` gave, of this fleet or of one of its kind.

        Bytes of the wrong number, and models with NaN or infinity in them, are refused; nothing
        else is looked at unless models grow, so keep them where nobody else writes.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> told = fleet.serve([3], [[1.0, 2.0]], [-1], tickets=[Fleet.UNASKED])
        >>> fleet.unpack([7], fleet.pack([3]))
        >>> bool((fleet.state.weights[7] == fleet.state.weights[3]).all())
        True
        """
        self._models.unpack(self._keys(keys), packed)

    def learner(self, key: int) -> Learner:
        """Model ``key`` as a learner of its own; what happens to it there does not come back.

        It takes the counters and what the query remembers with it, but no open question: the fleet
        does not know their rows.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> fleet.learner(3).dimension
        2
        """
        k: int = number("key", key, int, Range(0, self.models - 1))
        asking, counts = copy(self._one.selector), Counts(int(self.told[k]), int(self.updates[k]))
        asking.seed, asking.clock = int(self.seeds[k]), copy(self.clock)
        asking.rows, asking.asked = int(self.rows[k]), int(self.asked[k])
        asking.query_state[:] = self.memory[k]
        model, book = copied(self._models[k]), copy(self._one.book)
        names = self._one.classes if self._names.are_signs else self._names
        now = replace(
            self._one, model=model, selector=asking, book=book, counts=counts, classes=names
        )
        return standing(now.title, now)

    def put(self, key: int, learner: Learner) -> None:
        """Let model ``key`` be as this learner is: its arrays, its seed, its counters, its budget.

        Its open questions stay behind: the fleet counts none as waiting.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=10, dimension=2)
        >>> learner = fleet.learner(3)
        >>> outcome = learner.learn([0.5, -1.0], -1)
        >>> fleet.put(3, learner)
        >>> fleet.rows[2:5].tolist(), fleet.updates[2:5].tolist()
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
        self._models.put(k, learner.state)
        self.memory[k], self.seeds[k], self.waiting[k] = (
            learner.selector.query_state,
            learner.seed,
            0,
        )
        for name in _COUNTERS:
            getattr(self, name)[k] = getattr(learner, name)

    def to_bytes(self) -> bytes:
        """The whole fleet as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> fleet = Fleet(lasec.rules.SecondOrder(), models=10, dimension=2, seed=0)
        >>> Fleet.from_bytes(fleet.to_bytes())
        Fleet(SecondOrder + Always, models=10, dimension=2, rows=0)
        """
        with self._busy:
            return saved.packed(vars(self) | {"classes": self.classes}, self._models.arrays())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The fleet that :meth:`to_bytes` wrote, or a :class:`~lasec.errors.StateError`.

        The number of threads is not saved: it is that of the machine's cores.

        >>> import lasec
        >>> Fleet.from_bytes(lasec.LASEC(dimension=2).to_bytes())
        Traceback (most recent call last):
        lasec.errors.StateError: foreign: this is not a fleet, its kind is 'learner'
        """
        file = record.load(saved.FleetFile, data)
        with checking():
            options, values = file.attributes()
            fleet = cls(**options)
            fleet._models.take(values.pop("state"))
            vars(fleet).update(values)
        return fleet

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to a file, all of it or nothing, readable by its owner alone.

        >>> import lasec, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Fleet(lasec.rules.Perceptron(), models=3, dimension=2).save(f"{folder}/fleet.lasec")
        ...     Fleet.load(f"{folder}/fleet.lasec")
        Fleet(Perceptron + Always, models=3, dimension=2, rows=0)
        """
        write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The fleet of a file, or a :class:`~lasec.errors.StateError` that says what is wrong.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     Fleet.load(file.name)
        Traceback (most recent call last):
        lasec.errors.StateError: not a lasec model: the file does not begin with lasec's signature
        """
        return cls.from_bytes(read(path))

    def __repr__(self) -> str:
        return (
            f"Fleet({self._one.title}, models={self.models}, dimension={self.dimension}, "
            f"rows={int(self.rows.sum())})"
        )

    def _stack(self) -> engine.ModelStack:
        """The models as compiled code takes them."""
        counts = engine.Counts(
            self.seeds, self.rows, self.asked, self.told, self.updates, self.waiting
        )
        return engine.ModelStack(self.state, self.memory, counts)

    def _served(self, keys: NDArray[np.int64], X: Any, requests: engine.Requests) -> Records:
        """The batch, its models dealt out to threads."""
        y, out, stack = requests.y, engine.Answers.empty(requests.y.size), self._stack()
        touched = np.flatnonzero(np.diff(requests.begins))

        def server(stack: Any, models: NDArray[np.int64], requests: Any) -> Any:
            given = (stack, models, X, requests, self._one.mistakes_only, out)
            return engine.serve_models(self.rule, self.query, *given)

        def share(models: NDArray[np.int64]) -> None:
            self._models.serve(server, stack, models, X, requests)

        with self._all_or_nothing(touched, np.unique(keys[y != 0.0])):
            self._deal_out(share, requests.begins, y.size)
            self.clock.advance(requests.times)
        return Records(**out._asdict(), key=keys, all_labels=False)

    def _deal_out(
        self, share: Callable[[NDArray[np.int64]], None], begins: NDArray[np.int64], rows: int
    ) -> None:
        """Serve the models that have rows, in threads where that pays."""
        shares = self._shares(begins)
        if len(shares) == 1 or rows < _FEW:
            share(np.concatenate(shares))
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(share, shares))

    def _codes(self, y: ArrayLike, count: int) -> NDArray[np.float64]:
        """The codes of labels; NaN where there is none, and where it is 0, unless that is one."""
        names, plain = self._names, validation.signs(y, count)
        if plain is not None and names.are_signs:
            return plain
        kinds, which = validation.classes(y, count)
        codes = names.codes(kinds)
        for kind, code in zip(kinds, codes, strict=True):
            if code == 0.0 and kind != 0:
                raise ValueError(f"y: expected one of {shown(self.classes)}, got {shown(kind)}")
        return np.append(np.where(codes == 0.0, np.nan, codes), np.nan)[which]

    def _named(self, records: Records) -> Records:
        """Records with the names of classes; None where a label was skipped."""
        codes = records.label
        if self._names.are_signs:
            return records
        label = self._names.named(codes)
        if not codes.all():
            label = label.astype(object)
            label[codes == 0] = None
        return replace(records, label=label)

    @contextmanager
    def _all_or_nothing(
        self, touched: NDArray[np.int64], learning: NDArray[np.int64]
    ) -> Iterator[None]:
        """If anything fails inside, the models are as they were; only ``learning`` may learn.

        The arrays are written in place, and put back after an error.
        """
        counted = (self.memory, self.waiting, *(getattr(self, name) for name in _COUNTERS))
        kept = [(array, array[touched]) for array in counted]
        undo = self._models.undo(touched, learning)
        try:
            yield
        except BaseException:
            undo()
            for array, before in kept:
                array[touched] = before
            raise

    def _shares(self, begins: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The models with rows, in shares of about equally many rows, one for each thread."""
        touched = np.flatnonzero(np.diff(begins))
        done = begins[touched + 1]
        wanted = np.linspace(0, begins[-1], self.threads + 1)[1:-1]
        return np.split(touched, np.searchsorted(done, wanted))

    def _keys(self, keys: ArrayLike, count: int | None = None) -> NDArray[np.int64]:
        """The keys of a batch, or an error that says what is wrong with them."""
        numbers = validation.whole("keys", keys, count)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.models):
            raise ValueError(f"keys: must lie in [0, {self.models - 1}]")
        return numbers

    def _times(self, times: ArrayLike | None, count: int) -> NDArray[np.float64]:
        """When the rows of a batch came, as far as it can be trusted; empty for steps."""
        return self.clock.trusted(validation.clock(self.query.timed, times, count))
