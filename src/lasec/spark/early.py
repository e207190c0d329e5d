"""Labels that came before their event: held for a while, all of a shard in one value of state."""

from __future__ import annotations

import json
from typing import NamedTuple

from lasec.spark.ledger import Head
from lasec.spark.store import Store

LIMIT = 10_000  # held labels in a shard; past that the oldest are given up


class Held(NamedTuple):
    """A label: whose, of which event (with a hash of its id), what, when, and since when held."""

    key: str
    id: str
    number: int
    y: int
    time: float
    since: float


class Early:
    """The labels of a shard that wait for their event.

    >>> from lasec.spark.store import PlainStore
    >>> head = Head(job="", clock=100.0)
    >>> early = Early(PlainStore(), head, patience=10.0)
    >>> early.hold(Held("north", "7", 5, 1, 99.0, 100.0))
    >>> head.clock = 111.0
    >>> [held.id for held in early.give_up()]
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

    def give_up(self) -> list[Held]:
        """The labels that have been held for too long, or are too many; they are held no more."""
        held, clock = self._read(), self._head.clock
        many = max(0, len(held) - LIMIT)
        kept, gone = list[Held](), list[Held]()
        for i, label in enumerate(held):
            lost = i < many or label.since + self._patience <= clock
            (gone if lost else kept).append(label)
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
