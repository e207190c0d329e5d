"""Labels that came before their event: held for a while, all of a shard in one value of state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator
from typing import NamedTuple

from lasec.spark.index import Head
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
