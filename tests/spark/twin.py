"""The job as a plain loop over plain learners: the truth that all else is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import lasec
from lasec.spark.index import seed_of


class Event(NamedTuple):
    key: str
    id: str
    time: float
    x: Any
    number: int  # the hash of the id


class Label(NamedTuple):
    key: str
    id: str
    time: float
    y: int
    number: int


@dataclass
class Asked:
    ticket: int
    time: float
    decision: lasec.Decision
    state: str = "open"
    since: float = 0.0


@dataclass
class Twin:
    """All keys of one shard, a learner each, and dictionaries of all that waits."""

    model: lasec.Learner
    seed: int
    max_age: float
    patience: float
    learners: dict[str, lasec.Learner] = field(default_factory=dict)
    asked: dict[tuple[str, str], Asked] = field(default_factory=dict)
    held: list[tuple[Label, float]] = field(default_factory=list)
    clock: float = -1e300
    before: float = -1e300  # the clock when things expired last
    predictions: list[tuple[Any, ...]] = field(default_factory=list)
    receipts: list[tuple[str, str, int, str]] = field(default_factory=list)

    def learner(self, key: str) -> lasec.Learner:
        if key not in self.learners:
            m = self.model
            self.learners[key] = lasec.Learner(
                m.rule, m.query, dimension=m.dimension, learn_from=m.learn_from,
                seed=seed_of(self.seed, key), max_pending=10**9,
            )  # fmt: skip
        return self.learners[key]

    def batch(self, events: list[Event], labels: list[Label]) -> None:
        times = [row.time for row in (*events, *labels)]
        self.clock = max([self.clock, *times])
        labels = sorted(labels, key=lambda label: (label.time, label.number, label.y))
        here = {}
        for event in sorted(events, key=lambda event: (event.time, event.number)):
            here.setdefault((event.key, event.id), event)
        rows: list[tuple[float, bool, int, Any, Any]] = [
            (event.time, False, event.number, event, None) for event in events
        ]
        taken, again, still = set(), [], []
        for label, since in [*self.held, *((label, self.clock) for label in labels)]:
            name = (label.key, label.id)
            if name in taken:
                again.append(label)
            elif name in self.asked or name in here:
                event = None if name in self.asked else here[name]
                if self.answerable(label, event):
                    taken.add(name)
                    time = max(label.time, event.time) if event else label.time
                    rows.append((time, True, label.number, label, event))
            elif since == self.clock and label.time + self.patience < self.clock:
                self.say(label, "unknown")
            else:
                still.append((label, since))
        for label in again:
            self.say(label, "again")
        self.held = still
        fresh = []
        for _, told, _, row, event in sorted(rows, key=lambda row: row[:3]):
            (self.tell(row, event) if told else self.ask(row, fresh))
        self.expire()
        for name in fresh:
            self.asked[name].since = self.clock

    def answerable(self, label: Label, event: Event | None) -> bool:
        asked = event or self.asked[label.key, label.id]
        state = asked.state if isinstance(asked, Asked) else "open"
        fine = state == "open" and label.time <= asked.time + self.max_age
        if not fine:
            self.say(label, "again" if state == "told" else "late")
        return fine

    def ask(self, event: Event, fresh: list[tuple[str, str]]) -> None:
        learner, name = self.learner(event.key), (event.key, event.id)
        coin = coin_of(learner.seed, event.number)
        timed = getattr(learner.query, "timed", False)
        decision = learner.ask(event.x, draw=coin, time=event.time if timed else None)
        asked = decision.asked and name not in self.asked
        if asked:
            self.asked[name] = Asked(decision.ticket, event.time, decision, since=self.clock)
        elif decision.asked:
            learner._now.book.settle(decision.ticket)
            learner._now.selector.asked -= 1
        self.predictions.append((event.key, event.id, *decision[:4], asked, decision.ticket))

    def tell(self, label: Label, event: Event | None) -> None:
        name = (label.key, label.id)
        if name not in self.asked:
            self.say(label, "unasked")
            return
        self.learner(label.key).tell(self.asked[name].ticket, label.y)
        self.asked[name].state = "told"
        self.say(label, "learned")

    def expire(self) -> None:
        keep = [(label, since) for label, since in self.held if since + self.patience > self.clock]
        for label, since in self.held:
            if since + self.patience <= self.clock:
                self.say(label, "unknown")
        self.held = keep
        for (key, name), asked in list(self.asked.items()):
            if asked.state == "open" and asked.since + self.max_age < self.clock:
                asked.state = "expired"
                self.receipts.append((key, name, 0, "expired"))
            settled = asked.since + self.max_age < self.before
            if settled and asked.since + 2 * self.max_age < self.clock:
                del self.asked[key, name]
        self.before = self.clock

    def say(self, label: Label, outcome: str) -> None:
        self.receipts.append((label.key, label.id, label.y, outcome))


def coin_of(seed: int, number: int) -> float:
    """The first draw of Philox under this seed, at this counter."""
    philox = np.random.Philox(key=seed, counter=(number - 1) % 2**256)
    return float(int(philox.random_raw()) >> 11) * 2.0**-53
