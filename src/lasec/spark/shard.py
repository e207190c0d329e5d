"""One shard and one batch: its rows in order, its models served, its questions kept or closed.

Rows are taken in the order of their times; at equal times events come before labels, and rows of
one kind in an order that their ids fix. Models of different keys share nothing, so that this order
matters within a key alone. What becomes of a label is one of

- ``learned``: its question was open; the model has heard it;
- ``again``: its question has had its label; the first one counts;
- ``late``: its question has expired, or its time is more than ``max_age`` after its event's;
- ``unasked``: its event came in its batch, or while it was held, and was not asked about;
- ``offered``: nobody asked for it, but it brought its row: the model has learned it, and it is part
  of no estimate;
- ``unknown``: nothing is known of its event, and none came within ``patience``;
- ``refused``: its row is too large for what its model has become, or its question does not fit
  its model.

An event of an earlier batch that was not asked about has left no trace: its label is held like one
that is early, and ends as ``unknown``. A question that no label answers within ``max_age`` is
``expired``.

Whatever a row holds, it comes to one of these ends or to a dead letter: what is wrong with a row is
found before any model is touched, and costs no other row anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lasec import Fleet, Records
from lasec.metrics import sums
from lasec.spark.config import ALARMS, Config
from lasec.spark.index import Head
from lasec.spark.label_matching import Answer, LabelMatcher
from lasec.spark.questions import TOLD, Asked, ticket_of
from lasec.spark.rows import Batch, joined
from lasec.spark.shard_state import ShardState
from lasec.spark.store import Store

FLEET_BYTES = 2**28  # of models that are served at once

Indices = NDArray[np.int64]


class Shard:
    """A shard for the length of one batch: read when it is made, written when it was served.

    >>> import lasec
    >>> from lasec.spark import Job, PlainStore, rows
    >>> job, store = Job(lasec.LASEC(dimension=2), seed=1), PlainStore()
    >>> event = {"kind": 0, "key": "north", "id": "7", "number": 5, "time": 1.0, "y": np.nan,
    ...     "features": [0.5, -1.0], "raw": None}
    >>> batch = rows.read(pd.DataFrame([event]), dimension=2, kind=np.dtype(float))
    >>> told = Shard(job.config, store).batch(batch, now=2_000)
    >>> told["kind"].tolist(), told["ticket"][0]
    (['question', 'metrics'], 'north/7')
    """

    def __init__(self, config: Config, store: Store, number: int = 0) -> None:
        self.config, self.state = config, ShardState(config, store, number)
        self.index, self.head = self.state.index, self.state.head
        self.matcher = LabelMatcher(config, store, self.index)

    def batch(self, batch: Batch, now: int) -> pd.DataFrame:
        """Serve the rows of one batch; ``now`` is the machine's clock, in milliseconds."""
        if len(batch.events) or len(batch.labels):
            self._advance(batch, now)
        batch = self._admit(batch)
        for part, answers in self._parts(batch, self.matcher.match(batch)):
            self._serve(part, answers)
        self.index.touch({*batch.events.key, *batch.labels.key})
        self.matcher.out.dead(batch.dead)
        self.head.dead += len(batch.dead["key"])
        return self._close(now)

    def wake(self, now: int) -> pd.DataFrame:
        """Let a shard without rows age at the pace of the machine's clock, by one step at most.

        ``wall`` goes on in whole steps, so that an alarm that comes a little late costs no time;
        where the clock has jumped, or the job stood still, it restarts.
        """
        head, step = self.head, self.config.pace(self.head.held) / 1_000.0
        idle = now / 1_000.0 - head.wall
        head.alarm = 0
        self._grow(head.clock + step if idle >= step else head.clock)
        head.wall += step if step <= idle < 3 * step else 0.0
        head.wall = head.wall if 0.0 <= idle < 3 * step else now / 1_000.0
        return self._close(now, steps=1)

    def _close(self, now: int, steps: int = 2) -> pd.DataFrame:
        """Expire what is too old, write the index, and give the output of the batch."""
        self.matcher.settle()
        self.state.forget(self.head.age - self.config.forget_after)
        self._arm(now, steps)
        self.state.write()
        return self.matcher.out.frame(self.index, self.state.reads)

    def _admit(self, batch: Batch) -> Batch:
        """The batch without events of new keys for which the shard has no room."""
        most, known = self.config.max_keys, self.index.row_of
        new = list(dict.fromkeys(key for key in batch.events.key if key not in known))
        refused = set(new[max(0, most - len(known)) :])
        if not refused:
            return batch
        which = np.array([key in refused for key in batch.events.key])
        return batch.refuse(which, f"key: the shard has {most:,} keys and takes no new one")

    def _arm(self, now: int, steps: int) -> None:
        """Set the alarm if something waits, also if the machine's clock went back behind it."""
        head, step = self.head, self.config.pace(self.head.held)
        waits = head.first < head.next or head.held
        if waits and not 0 < head.alarm <= now + 2 * step:
            head.alarm = (now // step + steps) * step

    def _advance(self, batch: Batch, now: int) -> None:
        """The shard's clock never goes back, and no row from the future moves it.

        If no row can be trusted, it goes on at the pace of the machine's, by one step at most; and
        if a shard begins with such rows, it begins with the machine's.
        """
        head, wall = self.head, now / 1_000.0
        times = np.concatenate([batch.events.time, batch.labels.time])
        trusted = times[times <= wall + self.config.lead_in_use]
        if trusted.size:
            self._grow(float(trusted.max()))
        elif head.clock == Head.clock:
            self._grow(wall)
        else:
            step = self.config.pace(head.held) / 1_000.0
            self._grow(head.clock + min(max(wall - head.wall, 0.0), step))
        head.wall = wall
        head.alarm = head.alarm if head.alarm > now else 0  # no need to be woken now

    def _grow(self, clock: float) -> None:
        """Move the clock on to a time that is not before it; of a jump the age takes one step.

        Otherwise one row from the present, in a stream of the past, would have all keys forgotten.
        """
        head = self.head
        passed = max(0.0, clock - head.clock) if head.clock > Head.clock else 0.0
        head.clock = max(head.clock, clock)
        head.age += min(passed, self.config.forget_after / ALARMS)

    def _parts(self, batch: Batch, answers: list[Answer]) -> Iterator[tuple[Batch, list[Answer]]]:
        """The batch as it is, or by keys in parts whose models fit into memory together."""
        keys = [*batch.events.key, *(answer.held.key for answer in answers)]
        codes, names = coded(keys)
        sizes = self.state.sizes(names)
        numbers = (np.cumsum(sizes) - sizes) // FLEET_BYTES  # with gaps after a very large model
        part = np.unique(numbers, return_inverse=True)[1][codes]
        if len(names) and not part.any():
            yield batch, answers
            return
        for number in range(int(part.max(initial=-1)) + 1):
            rows = np.flatnonzero(part[: len(batch.events)] == number)
            place = {row: i for i, row in enumerate(rows.tolist())}
            some = [
                replace(answer, row=place.get(answer.row, -1))
                for answer, its in zip(answers, part[len(batch.events) :].tolist(), strict=True)
                if its == number
            ]
            yield batch.take(rows), some

    def _serve(self, batch: Batch, answers: list[Answer]) -> None:
        """Predict, ask and learn, in order."""
        events, E = batch.events, len(batch.events)
        held = [answer.held for answer in answers]
        times = np.concatenate([events.time, [answer.time(batch) for answer in answers]])
        hashes = np.array([label.number for label in held], np.uint64)
        numbers = np.concatenate([events.number, hashes])
        y = np.array([0] * E + [label.y for label in held], np.int8)
        order = np.lexsort((numbers, y != 0, times))
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        keys = np.concatenate([events.key, np.array([label.key for label in held], object)])
        codes, names = coded(keys[order])
        rows = self.state.rows(names)
        fleet = self.state.load(rows)
        before = fleet.updates.copy(), fleet.rows.copy()
        known = np.minimum(times, self.head.clock)  # a budget must not live in the future
        X = joined(batch.X, [answer.x(batch) for answer in answers])
        tickets = np.array([-1] * E + [answer.ticket for answer in answers])
        after = np.array([-1] * E + [place[a.row] if a.row >= 0 else -1 for a in answers])
        given = self.config.labels.of_fleet(y[order])
        served = fleet.serve(
            codes, X[order], given, tickets=tickets[order], after=after[order],
            times=known[order] if fleet.query.timed else None,
            draws=fleet.draws(codes, numbers[order]),
        )  # fmt: skip
        self._told(batch, answers, served, place, fleet, codes)
        self._asked(batch, answers, served, place[:E], fleet, codes)
        changed = fleet.updates > before[0]
        if fleet.rule.facts.notes:  # a question is counted in the model, too
            changed |= fleet.rows > before[1]
        self.state.save(fleet, rows, changed)

    def _told(
        self, batch: Batch, answers: list[Answer], served: Records, place: Indices, fleet: Fleet,
        codes: Indices,
    ) -> None:  # fmt: skip
        """A receipt for each label that was served."""
        matcher, learned = self.matcher, list[tuple[int, Asked, int]]()
        at = place[place.size - len(answers) :].tolist()
        for answer, i in zip(answers, at, strict=True):
            held, asked = answer.held, answer.asked
            if asked is None:
                row = place[answer.row] if answer.row >= 0 else -1
                if row < 0 or not served.asked[row]:
                    offered = "offered" if served.learned[i] else "refused"
                    unasked = "unasked" if answer.brought is None else offered
                    matcher.receipt(held, unasked, updated=bool(served.updated[i]))
                    continue
                asked = self._question(served, row, batch.events.time[answer.row], answer.x(batch))
            else:
                matcher.questions.close(ticket_of(held.key, held.id), TOLD)
            if served.refused[i]:
                fleet.waiting[codes[i]] -= 1
                matcher.receipt(held, "refused", asked.label, asked.propensity)
            else:
                updated = bool(served.updated[i])
                matcher.receipt(held, "learned", asked.label, asked.propensity, updated)
                learned.append((i, asked, held.y))
        self._measure(learned)

    def _measure(self, learned: list[tuple[int, Asked, int]]) -> None:
        """Add answers to the sums of the accuracy, in the order in which they were served."""
        rows = [
            (asked.label, asked.margin, asked.propensity, y)
            for _, asked, y in sorted(learned, key=itemgetter(0))
        ]
        label, margin, q, y = np.array(rows, np.float64).reshape(-1, 4).T
        answers = sums.of_answers(sums.doubt(label, margin), q, label != y)
        self.state.head.add(answers - sums.of_losses(q))  # they were lost until now

    def _asked(
        self, batch: Batch, answers: list[Answer], served: Records, at: Indices, fleet: Fleet,
        codes: Indices,
    ) -> None:  # fmt: skip
        """Keep the new questions, and tell every prediction; ``at`` is where each was served.

        An event that came twice counts twice, the second time as a question without an answer.
        """
        events, questions = batch.events, self.matcher.questions
        some = np.sort(at)
        guess, q = sums.doubt(served.sign[some], served.margin[some]), served.propensity[some]
        self.state.head.add(sums.of_rows(guess, q))
        self.state.head.add(sums.of_losses(q[served.asked[some]]))
        told = {answer.row for answer in answers if answer.row >= 0}
        asked = served.asked[at]
        tickets, opened = np.full(len(events), None, object), list[str]()
        for row in np.flatnonzero(asked).tolist():
            ticket, i = ticket_of(events.key[row], events.id[row]), at[row]
            if questions.find(ticket) is not None:  # an event that came a second time
                asked[row] = False
                fleet.asked[codes[i]] -= 1
                fleet.waiting[codes[i]] -= 1
                continue
            tickets[row] = ticket
            opened.append(ticket)
            if row in told:
                questions.close(ticket, TOLD)
            else:
                questions.open(ticket, self._question(served, i, events.time[row], batch.X[row]))
        questions.queue(opened, self.head.clock)
        self.head.predicted += len(events)
        self.head.asked += len(opened)
        self.matcher.out.predictions(events, served, at, asked, tickets)

    def _question(self, served: Records, i: int, time: float, x: NDArray[np.float64]) -> Asked:
        """What is to be remembered of a row that was asked about."""
        return Asked(
            int(served.ticket[i]), self.config.labels.names.code(served.label[i]),
            float(served.margin[i]), float(served.variance[i]), float(served.propensity[i]),
            float(time), x,
        )  # fmt: skip


def coded(keys: Iterable[str]) -> tuple[Indices, list[str]]:
    r"""Numbers for texts, in the order in which they come first, and the texts.

    Texts are compared whole. pandas and NumPy have tables of their own for this, but those end a
    text at its first NUL, and would take two keys for one.

    >>> codes, names = coded(np.array(["a", "a\0b", "a"], object))
    >>> codes.tolist(), names
    ([0, 1, 0], ['a', 'a\x00b'])
    """
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(key, len(numbers)) for key in keys]
    return np.array(codes, np.int64), list(numbers)
