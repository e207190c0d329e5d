"""Where labels find their questions, and where each gets a receipt; some wait for their event."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import Fleet
from lasec.spark.config import Config
from lasec.spark.index import COUNTS, Head, ShardIndex
from lasec.spark.output import Pieces
from lasec.spark.questions import OPEN, TOLD, Asked, Questions, parts_of, ticket_of
from lasec.spark.rows import Batch, fits
from lasec.spark.store import Store

LIMIT = 10_000  # held labels in a shard
KEY_LIMIT = 1_000  # held labels of one key


class Held(NamedTuple):
    """A label: whose, of which event (with a hash of its id), what, when, and since when held."""

    key: str
    id: str
    number: int
    y: int
    time: float
    since: float


class EarlyLabels:
    """The labels of a shard that wait for their event.

    At most ``KEY_LIMIT`` labels of a key are held, and at most ``LIMIT`` in all; of a key, the
    oldest go first. Past ``LIMIT``, labels of keys that have no model yet go before those of keys
    that have one, and among either kind the key that holds most gives up its oldest label first.
    So a flood of labels for one key, or for keys that nobody knows, costs no other key its labels.

    >>> from lasec.spark.store import PlainStore
    >>> head = Head(job="", clock=100.0)
    >>> early = EarlyLabels(PlainStore(), head, patience=10.0)
    >>> early.hold(Held("north", "7", 5, 1, 99.0, 100.0))
    >>> head.clock = 111.0
    >>> [held.id for held in early.give_up(known={"north"})]
    ['7']
    """

    def __init__(self, store: Store, head: Head, patience: float) -> None:
        self._store, self._head, self._patience = store, head, patience
        self._held: list[Held] | None = None

    def take(self) -> list[Held]:
        """All that were held; those that still have no event are to be held again."""
        held, self._held = self._read(), []
        return held

    def hold(self, label: Held) -> None:
        """Hold a label until its event comes."""
        self._read().append(label)

    def give_up(self, known: Container[str]) -> list[Held]:
        """The labels that have been held for too long, or are too many; they are held no more.

        ``known`` are the keys that have a model.
        """
        held, clock = self._read(), self._head.clock
        fresh = [label.since + self._patience > clock for label in held]
        stay = _chosen([label for label, stays in zip(held, fresh, strict=True) if stays], known)
        kept, gone = list[Held](), list[Held]()
        for label, stays in zip(held, fresh, strict=True):
            (kept if stays and next(stay) else gone).append(label)
        self._held = kept
        return gone

    def write(self) -> None:
        """Keep what is held."""
        held = self._read()
        if held or self._head.held:
            self._store.put("early", "", json.dumps(held).encode())
        self._head.held = len(held)

    def _read(self) -> list[Held]:
        if self._held is None:
            kept = self._store.get("early") if self._head.held else None
            self._held = [Held(*label) for label in json.loads(kept)] if kept else []
        return self._held


@dataclass(frozen=True, eq=False)
class Answer:
    """A label whose question is known: in this batch (``row``), or from an earlier one.

    Or it ``brought`` its row, and may be learned though nobody asked for it.
    """

    held: Held
    row: int = -1
    asked: Asked | None = None
    brought: NDArray[np.float64] | None = None

    def x(self, batch: Batch) -> NDArray[np.float64]:
        """The row that the label is about."""
        if self.asked is not None:
            return self.asked.x
        row: Any = batch.X[self.row] if self.row >= 0 else self.brought
        return np.asarray(row)

    @property
    def ticket(self) -> int:
        """The step of its question, where that is an earlier batch's; or that nobody asked."""
        if self.asked is not None:
            return self.asked.round
        return Fleet.UNASKED if self.brought is not None else -1

    def time(self, batch: Batch) -> float:
        """When the label counts as having come: not before its event."""
        event = float(batch.events.time[self.row]) if self.row >= 0 else -np.inf
        return max(self.held.time, event)


class LabelMatcher:
    """The questions and the held labels of a shard, for the length of one batch."""

    def __init__(self, config: Config, store: Store, index: ShardIndex) -> None:
        self.config, self.index, self.head = config, index, index.head
        self.questions = Questions(store, self.head, config.max_age)
        self.early = EarlyLabels(store, self.head, config.patience)
        self.out = Pieces(config.labels)

    def match(self, batch: Batch) -> list[Answer]:
        """The labels that have a question to answer; receipts for all others, or they are held."""
        labels, y = batch.labels, batch.y.tolist()
        pool = self.early.take()
        old = len(pool)
        columns = (labels.key, labels.id, labels.number.tolist(), y, labels.time.tolist())
        pool.extend(Held(*label, self.head.clock) for label in zip(*columns, strict=True))
        rows, answers = _rows_of(batch, pool), dict[tuple[str, str], Answer]()
        for place, held in enumerate(pool):
            name = (held.key, held.id)
            if name in answers:
                self.receipt(held, "again")
                continue
            brought = batch.brought.get(place - old)
            answer = self._answer(held, batch, rows.get(name, -1), brought, fresh=place >= old)
            if answer:
                answers[name] = answer
        return list(answers.values())

    def _answer(
        self, held: Held, batch: Batch, row: int, brought: Any, fresh: bool
    ) -> Answer | None:
        """The question of one label, if it has one.

        A label that is too late leaves its question open, which expires by the shard's clock: the
        label's own time may be wrong, and a good one may follow. One whose question does not fit
        its model is refused, and closes it.
        """
        ticket = ticket_of(held.key, held.id)
        kept = self.questions.find(ticket) if fresh or row >= 0 else None
        if kept is None and row < 0:
            if brought is not None:
                return Answer(held, brought=brought)
            self._hold(held, fresh)
            return None
        if kept is None or kept[:1] == OPEN:
            asked = Asked.from_bytes(kept, self.config.kind) if kept else None
            if asked and not self._fits(held.key, asked):
                self.questions.close(ticket, TOLD)
                self._answered(held.key)
                self.receipt(held, "refused", asked.label, asked.propensity)
                return None
            time = asked.time if asked else float(batch.events.time[row])
            if held.time <= time + self.config.max_age:
                return Answer(held, -1 if asked else row, asked, brought)
        self.receipt(held, "again" if kept and kept[:1] == TOLD else "late")
        return None

    def _fits(self, key: str, asked: Asked) -> bool:
        """Whether the model of a key can have asked this: a step that it has had, a row it takes.

        It always can, unless the state is not what was written.
        """
        row = self.index.row_of.get(key)
        had = 0 if row is None else int(self.index.counts[row, COUNTS.index("rows")])
        return 0 <= asked.round < had and fits(asked.x, self.config.model.dimension)

    def _hold(self, held: Held, fresh: bool) -> None:
        """Hold a label that may be early; one that is older than ``patience`` cannot be."""
        if fresh and held.time + self.config.patience < self.head.clock:
            self.receipt(held, "unknown")
        else:
            self.early.hold(held)

    def settle(self) -> None:
        """Give up labels that were held for too long, and questions that are too old."""
        for held in self.early.give_up(self.index.row_of):
            self.receipt(held, "unknown")
        for ticket in self.questions.expire(self.head.clock):
            key, name = parts_of(ticket)
            self.head.expired += 1
            self._answered(key, "expired")
            self.out.receipt(key, name, self.head.clock, 0, "expired", ticket)
        self.early.write()

    def receipt(
        self, held: Held, outcome: str, label: int = 0, chance: float = np.nan,
        updated: bool = False,
    ) -> None:  # fmt: skip
        """Say what became of a label; ``label`` and ``chance`` are those of its question."""
        if outcome == "learned":
            self.head.learned += 1
        else:
            self.head.other += 1
        self.out.receipt(
            held.key, held.id, held.time, held.y, outcome, ticket_of(held.key, held.id),
            label, chance, updated,
        )  # fmt: skip

    def _answered(self, key: str, counter: str | None = None) -> None:
        """One question of a key waits no longer."""
        row = self.index.row_of.get(key)
        if row is not None:
            self.index.counts[row, COUNTS.index("waiting")] -= 1
            if counter:
                self.index.counts[row, COUNTS.index(counter)] += 1


def _rows_of(batch: Batch, pool: list[Held]) -> dict[tuple[str, str], int]:
    """The events of this batch that some label is about; of two with one id, the first."""
    events = batch.events
    wanted = np.array([held.number for held in pool], np.uint64)
    some = np.flatnonzero(np.isin(events.number, wanted)) if pool else np.empty(0, np.int64)
    return {(events.key[i], events.id[i]): i for i in some[::-1].tolist()}


def _chosen(held: list[Held], known: Container[str]) -> Iterator[bool]:
    """Which labels there is room for, oldest first.

    The n-th youngest label of a key has rank n: those of the highest rank go first.
    """
    ranks, counts = [0] * len(held), Counter[str]()
    for i in reversed(range(len(held))):
        ranks[i] = counts[held[i].key]
        counts[held[i].key] += 1
    places = [i for i in range(len(held)) if ranks[i] < KEY_LIMIT]
    places.sort(key=lambda i: (held[i].key not in known, ranks[i], -i))
    room = set(places[:LIMIT])
    return (i in room for i in range(len(held)))
