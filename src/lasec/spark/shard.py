"""One shard and one batch: its rows in order, its models served, its questions kept or closed.

Rows are taken in the order of their times; at equal times events come before labels, and rows of
one kind in an order that their ids fix. Models of different keys share nothing, so that this order
matters within a key alone. What becomes of a label is one of

- ``learned``: its question was open; the model has heard it;
- ``again``: its question has had its label; the first one counts;
- ``late``: its question is older than ``max_age``;
- ``unasked``: its event came, and was not asked about;
- ``unknown``: no event of that id was seen within ``patience``, before the label or after it;
- ``refused``: its row is too large for what its model has become.

A question that no label answers within ``max_age`` is ``expired``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lasec import Fleet, Learner
from lasec.spark import output
from lasec.spark.early import Early, Held
from lasec.spark.ledger import COUNTS, NOWHERE, SLOT, Head, Ledger
from lasec.spark.pages import Pages, per_page
from lasec.spark.questions import EXPIRED, OPEN, TOLD, Asked, Questions, parts_of, ticket_of
from lasec.spark.rows import Batch
from lasec.spark.store import Store

ALARMS = 64
_SERVED = COUNTS[:5]  # the counters that a fleet keeps


@dataclass(frozen=True, eq=False)
class Terms:
    """What all shards of a job agree on: the model that every key begins with, and the waiting.

    ``max_age`` and ``patience`` are in seconds; ``lead`` is how far ahead of the machine's clock a
    row's time may lie and still move the shard's clock.
    """

    model: Learner
    job: str
    max_age: float
    patience: float
    lead: float
    cache: int

    @property
    def step(self) -> int:
        """How often a shard that waits for something is woken, in milliseconds."""
        return max(1_000, int(1_000 * self.max_age / ALARMS))

    def fleet(self, seeds: NDArray[np.uint64]) -> Fleet:
        """As many models as there are seeds, all at their beginning."""
        model = self.model
        return Fleet(
            model.rule, model.query, models=seeds.size, dimension=model.dimension,
            update=model.update, precision=model.precision, seeds=seeds, threads=1,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answer:
    """A label whose question is known: in this batch (``row``), or from an earlier one."""

    held: Held
    row: int = -1
    asked: Asked | None = None


class Shard:
    """A shard for the length of one batch: read when it is made, written by :meth:`close`."""

    def __init__(self, terms: Terms, store: Store) -> None:
        self.terms, self.store = terms, store
        kept = store.get("ledger")
        self.ledger = Ledger.from_bytes(kept) if kept else Ledger(Head(job=terms.job))
        self.head = self.ledger.head
        if self.head.job != terms.job:
            raise ValueError(
                f"checkpoint: it belongs to another job, {self.head.job}; this is {terms.job}"
            )
        self.questions = Questions(store, self.head, terms.max_age)
        self.early = Early(store, self.head, terms.patience)
        self.out = output.Pieces()

    def batch(self, batch: Batch, now: int) -> pd.DataFrame:
        """Serve the rows of one batch; ``now`` is the machine's clock, in milliseconds."""
        self._advance(batch, now / 1_000.0)
        answers = self._match(batch)
        self._serve(batch, answers)
        self.out.dead(batch.dead)
        self.head.dead += len(batch.dead["key"])
        return self._close(now)

    def wake(self, now: int) -> pd.DataFrame:
        """Let a shard without rows age at the pace of the machine's clock, by one step at most.

        ``wall`` goes on in whole steps, so that an alarm that comes a little late costs no time;
        where the clock has jumped, or the job stood still, it begins anew.
        """
        head, step = self.head, self.terms.step / 1_000.0
        idle = now / 1_000.0 - head.wall
        head.alarm = 0
        head.clock += step if idle >= step else 0.0
        head.wall += step if step <= idle < 3 * step else 0.0
        head.wall = head.wall if 0.0 <= idle < 3 * step else now / 1_000.0
        return self._close(now, steps=1)

    def _close(self, now: int, steps: int = 2) -> pd.DataFrame:
        """Expire what is too old, write the ledger, and give what is to be told to the world."""
        head = self.head
        for held in self.early.give_up():
            self._receipt(held, "unknown")
        for ticket in self.questions.expire(head.clock):
            key, name = parts_of(ticket)
            self._uncount(key)
            head.expired += 1
            self.out.receipt(key, name, head.clock, 0, "expired", ticket)
        self.early.write()
        self._arm(now, steps)
        self.write()
        return self.out.frame(head)

    def _arm(self, now: int, steps: int) -> None:
        """Set the alarm if something waits, also if the machine's clock went back behind it."""
        head, step = self.head, self.terms.step
        waits = head.first < head.next or head.held
        if waits and not 0 < head.alarm <= now + 2 * step:
            head.alarm = (now // step + steps) * step

    def write(self) -> None:
        """Keep the ledger."""
        self.store.put("ledger", "", self.ledger.to_bytes())

    def put(self, learners: dict[str, Learner]) -> None:
        """Begin these keys with models that have learned elsewhere."""
        rows = self.rows(list(learners))
        fleet = self.terms.fleet(self.ledger.seeds[rows])
        everyone = np.arange(rows.size)
        blank = fleet.pack(everyone)
        for k, (key, learner) in enumerate(learners.items()):
            try:
                fleet.put(k, learner)
            except ValueError as error:
                raise ValueError(f"warm: the model of {key!r} does not fit: {error}") from error
        self.save(fleet, rows, (fleet.pack(everyone) != blank).any(axis=1))

    def take(self, keys: list[str]) -> list[Learner]:
        """The models of these keys as they are now, as learners of their own."""
        fleet = self.load(self.rows(keys))
        learners = [fleet.learner(k) for k in range(len(keys))]
        for learner in learners:
            learner.name = self.terms.model.name
        return learners

    def _advance(self, batch: Batch, now: float) -> None:
        """The shard's clock never goes back, and no row from the future moves it.

        If all the rows that a shard begins with are from the future, it begins with the machine's.
        """
        times = np.concatenate([batch.events.time, batch.labels.time])
        trusted = times[times <= now + self.terms.lead]
        if times.size and not trusted.size and self.head.clock == Head.clock:
            trusted = np.array([now])
        self.head.clock = max(self.head.clock, trusted.max(initial=-1e300))
        self.head.wall = now

    def _match(self, batch: Batch) -> list[Answer]:
        """The labels that have a question to answer; receipts for all others, or they are held."""
        labels, answers = batch.labels, list[Answer]()
        pool = self.early.take()
        fresh = len(pool)
        for i in np.lexsort((batch.y, labels.number, labels.time)).tolist():
            pool.append(
                Held(labels.key[i], labels.id[i], int(labels.number[i]), int(batch.y[i]),
                     float(labels.time[i]), self.head.clock)
            )  # fmt: skip
        rows, taken = _rows_of(batch, pool), set[tuple[str, str]]()
        for place, held in enumerate(pool):
            name = (held.key, held.id)
            answer = self._answer(held, rows.get(name, -1), name in taken, place >= fresh)
            if answer:
                taken.add(name)
                answers.append(answer)
        return answers

    def _answer(self, held: Held, row: int, taken: bool, fresh: bool) -> Answer | None:
        """The question of one label, if it has one."""
        if taken:
            self._receipt(held, "again")
            return None
        ticket = ticket_of(held.key, held.id)
        kept = self.questions.find(ticket) if fresh or row >= 0 else None
        if kept is None:
            if row >= 0:
                return Answer(held, row)
            self.early.hold(held)
            return None
        if kept[:1] != OPEN:
            self._receipt(held, "again" if kept[:1] == TOLD else "late")
            return None
        asked = Asked.from_bytes(kept, self.terms.model.precision.kind)
        if asked.time + self.terms.max_age < held.time:
            self.questions.close(ticket, EXPIRED)
            self._uncount(held.key)
            self.head.expired += 1
            self._receipt(held, "late")
            return None
        return Answer(held, asked=asked)

    def _serve(self, batch: Batch, answers: list[Answer]) -> None:
        """Predict, ask and learn, in order."""
        events, E = batch.events, len(batch.events)
        if not E and not answers:
            return
        times = np.concatenate([events.time, [_time(a, events.time) for a in answers]])
        numbers = np.concatenate(
            [events.number, np.array([a.held.number for a in answers], np.uint64)]
        )
        y = np.array([0] * E + [a.held.y for a in answers])
        order = np.lexsort((numbers, y != 0, times))
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        keys = np.concatenate([events.key, np.array([a.held.key for a in answers], object)])
        codes, names = pd.factorize(keys[order])
        rows = self.rows(names.tolist())
        fleet = self.load(rows)
        before = fleet.updates.copy()
        X = np.concatenate([batch.X, *(self._x(a, batch)[None] for a in answers)])
        tickets = np.array([-1] * E + [a.asked.round if a.asked else -1 for a in answers])
        after = np.array([-1] * E + [place[a.row] if a.row >= 0 else -1 for a in answers])
        served = fleet.serve(
            codes, X[order], y[order], tickets=tickets[order], after=after[order],
            times=times[order] if getattr(fleet.query, "timed", False) else None,
            coins=fleet.coins(codes, numbers[order]),
        )  # fmt: skip
        codes = codes[place]
        self._told(answers, served, place[E:], fleet, codes[E:], place)
        self._asked(batch, answers, served, order, place, fleet, codes)
        self.save(fleet, rows, fleet.updates > before)

    def _told(
        self, answers: list[Answer], served: Any, at: NDArray[np.int64], fleet: Fleet,
        codes: NDArray[np.int64], place: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """A receipt for each label that was served."""
        head = self.head
        for answer, i, code in zip(answers, at.tolist(), codes.tolist(), strict=True):
            held, asked = answer.held, answer.asked
            if answer.row >= 0 and not served.asked[place[answer.row]]:
                self._receipt(held, "unasked")
                continue
            if asked is not None:
                self.questions.close(ticket_of(held.key, held.id), TOLD)
                label, chance = asked.label, asked.propensity
            else:
                row = place[answer.row]
                label, chance = int(served.label[row]), float(served.propensity[row])
            if served.refused[i]:
                fleet.waiting[code] -= 1
                self._receipt(held, "refused", label, chance)
                continue
            head.learned += 1
            head.answers += 1
            head.weight += 1.0 / chance
            head.right += (label == held.y) / chance
            head.weight2 += 1.0 / chance**2
            self._receipt(held, "learned", label, chance, bool(served.updated[i]))

    def _asked(
        self, batch: Batch, answers: list[Answer], served: Any, order: NDArray[np.int64],
        place: NDArray[np.int64], fleet: Fleet, codes: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Keep the new questions, and tell every prediction."""
        events = batch.events
        told = {answer.row for answer in answers if answer.row >= 0}
        at = place[: len(events)]
        asked = served.asked[at]
        tickets, opened = np.full(len(events), None, object), list[str]()
        some = np.flatnonzero(asked)
        for row in some[np.argsort(at[some])].tolist():
            ticket = ticket_of(events.key[row], events.id[row])
            if self.questions.find(ticket) is not None:  # an event that came a second time
                asked[row] = False
                fleet.asked[codes[row]] -= 1
                fleet.waiting[codes[row]] -= row not in told
                continue
            tickets[row] = ticket
            opened.append(ticket)
            i = at[row]
            if row in told:
                self.questions.close(ticket, TOLD)
            else:
                question = Asked(
                    int(served.ticket[i]), int(served.label[i]), float(served.margin[i]),
                    float(served.variance[i]), float(served.propensity[i]),
                    float(events.time[row]), batch.X[row],
                )  # fmt: skip
                self.store.put("question", ticket, question.to_bytes())
        self.questions.queue(opened, self.head.clock)
        self.head.predicted += len(events)
        self.head.asked += len(opened)
        self.out.predictions(events, served, at, asked, tickets)

    def rows(self, keys: list[str]) -> NDArray[np.int64]:
        """Where these keys stand in the ledger."""
        model = self.terms.model
        return self.ledger.rows(keys, model.seed, model.memory)

    def load(self, rows: NDArray[np.int64]) -> Fleet:
        """The models of some keys, as they were after the last batch."""
        ledger = self.ledger
        fleet = self.terms.fleet(ledger.seeds[rows])
        counts = ledger.counts[rows]
        for column, name in enumerate(_SERVED):
            getattr(fleet, name)[:] = counts[:, column]
        fleet.memory[:] = ledger.memory[rows]
        somewhere = np.flatnonzero(counts[:, SLOT] != NOWHERE)
        if somewhere.size:
            fleet.unpack(somewhere, self._pages(fleet).load(counts[somewhere, SLOT]))
        return fleet

    def save(self, fleet: Fleet, rows: NDArray[np.int64], changed: NDArray[np.bool_]) -> None:
        """Counters and memory into the ledger, changed models into their pages."""
        ledger, some = self.ledger, np.flatnonzero(changed)
        for column, name in enumerate(_SERVED):
            ledger.counts[rows, column] = getattr(fleet, name)
        ledger.memory[rows] = fleet.memory
        slots = ledger.counts[rows[some], SLOT]
        fresh = slots == NOWHERE
        count = int(fresh.sum())
        slots[fresh] = np.arange(self.head.slots, self.head.slots + count)
        self.head.slots += count
        ledger.counts[rows[some], SLOT] = slots
        if some.size:
            self._pages(fleet).save(slots, fleet.pack(some))

    def _pages(self, fleet: Fleet) -> Pages:
        if not hasattr(self, "_open_pages"):
            self._open_pages = Pages(
                self.store, self.ledger.pages, fleet.size, per_page(fleet.size)
            )
        return self._open_pages

    def _x(self, answer: Answer, batch: Batch) -> NDArray[Any]:
        return answer.asked.x if answer.asked is not None else batch.X[answer.row]

    def _uncount(self, key: str) -> None:
        """One question of a key has expired."""
        row = self.ledger.index[key]
        self.ledger.counts[row, COUNTS.index("waiting")] -= 1
        self.ledger.counts[row, COUNTS.index("expired")] += 1

    def _receipt(
        self, held: Held, outcome: str, label: int = 0, chance: float = np.nan,
        updated: bool = False,
    ) -> None:  # fmt: skip
        self.head.other += outcome != "learned"
        self.out.receipt(
            held.key, held.id, held.time, held.y, outcome, ticket_of(held.key, held.id),
            label, chance, updated,
        )  # fmt: skip


def _rows_of(batch: Batch, pool: list[Held]) -> dict[tuple[str, str], int]:
    """The events of this batch that some label is about; of two with one id, the earlier."""
    events = batch.events
    wanted = np.array([held.number for held in pool], np.uint64)
    some = np.flatnonzero(np.isin(events.number, wanted)) if pool else np.empty(0, np.int64)
    some = some[np.argsort(events.time[some], kind="stable")[::-1]]
    return {(events.key[i], events.id[i]): i for i in some.tolist()}


def _time(answer: Answer, times: NDArray[np.float64]) -> float:
    """When a label counts as having come: not before its event."""
    return answer.held.time if answer.row < 0 else max(answer.held.time, float(times[answer.row]))
