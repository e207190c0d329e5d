"""Questions in the hands of people: leases, answers that can be taken back, and who agrees.

The queue is ordered by time alone. If it were ordered by how sure the model is, the questions that
are never answered would be chosen by difficulty, and estimates would not be honest. The model's
guess is not shown: it would anchor the answer.
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from typing import Any

from lasec.service.bodies import (
    Agreement,
    Given,
    Item,
    Leased,
    Pair,
    PersonBody,
    Question,
    Questions,
    QuestionsQuery,
    Said,
)
from lasec.service.errors import Problem
from lasec.service.model import ServedModel
from lasec.service.operations import Answer
from lasec.service.settings import DAY
from lasec.service.store import Store, Transaction

LATER = 600.0  # seconds after which a question comes back to who said "later"


def wanted(model: ServedModel, ticket: int) -> int:
    """The number of people that a question goes to."""
    asking = model.asking
    if asking.annotators > 1:
        return asking.annotators
    drawn = int.from_bytes(blake2b(ticket.to_bytes(8, "little"), digest_size=4).digest(), "little")
    return 2 if drawn < asking.overlap * 2**32 else 1


def listed(store: Store, now: float, model: ServedModel, query: QuestionsQuery) -> Questions:
    """Questions and their answers, for those who hand them to people elsewhere."""
    key = model.tenant, model.name
    found = store.read(_LISTED, *key, query.after, now - query.closed, query.limit)
    said: dict[int, list[Given]] = {row[0]: [] for row in found}
    if found:
        for ticket, person, label, status in store.read(_GIVEN, *key, found[0][0], found[-1][0]):
            if ticket in said:
                said[ticket].append(Given(person, json.loads(label), status))
    return Questions([
        Question(ticket, event, json.loads(item), status, wanted, said[ticket])
        for ticket, event, item, status, wanted in found
    ])  # fmt: skip


def lease(tx: Transaction, now: float, model: ServedModel, person: str, count: int) -> Leased:
    """The oldest questions that this person may answer: their own ones first, then free ones."""
    key, until = (model.tenant, model.name), now + model.asking.lease
    found = tx.read(_FREE, *key, person, now, person, now, person, count)
    for ticket, _ in found:
        tx.put(_LEASE, *key, ticket, person, until)
    ((waiting,),) = tx.read(_WAITING, *key, person, now)
    ((today,),) = tx.read(_TODAY, *key, person, now - now % DAY)
    return Leased(
        [Item(ticket, json.loads(item), until) for ticket, item in found],
        list(model.desk.session.classes), waiting, today, model.asking.grace,
    )  # fmt: skip


def hear(
    tx: Transaction, now: float, model: ServedModel, person: str, said: PersonBody
) -> tuple[Said, bool]:
    """What a person says to a question; also whether the question is to be given up."""
    key = model.tenant, model.name, said.ticket
    found = tx.read(_STATUS, *key)
    if not found:
        raise Problem(404, f"there is no question {said.ticket}")
    before = tx.read(_MINE, *key, person)
    if before and before[0][0] in ("told", "recorded"):
        return _again(said, before[0]), False
    if found[0][0] not in ("open", "settled"):
        raise Problem(410, f"question {said.ticket} is closed")
    if said.say == "undo":
        return _undone(tx, now, model, person, said.ticket, before), False
    if said.say == "label" and said.label not in model.desk.session.classes:
        raise Problem(422, f"there is no class {said.label!r}")
    status, due = {
        "label": ("held", now + model.asking.grace),
        "later": ("later", now + LATER),
        "dont_know": ("dont_know", now),
    }[said.say]
    tx.run(_ANSWER, *key, person, json.dumps(said.label), status, now, due)
    tx.run(_RELEASE, *key, person)
    ((unknown,),) = tx.read(_UNKNOWN, *key)
    return Said(said.ticket, status, due), unknown >= model.asking.skips


def _again(said: PersonBody, before: tuple[Any, ...]) -> Said:
    """The reply to an answer that was learned already."""
    if said.say == "undo":
        raise Problem(409, f"the answer to question {said.ticket} cannot be taken back any more")
    if said.say != "label" or json.dumps(said.label) != before[1]:
        raise Problem(409, f"question {said.ticket} was answered, and learned")
    return Said(said.ticket, before[0])


def _undone(
    tx: Transaction, now: float, model: ServedModel, person: str, ticket: int, before: list[Any]
) -> Said:
    """Take an answer back, while it is held: the question is this person's again.

    If there is none, it was taken back before, and the request is a retried one.
    """
    key = model.tenant, model.name, ticket
    if not before:
        return Said(ticket, "open")
    tx.run(_FORGET, *key, person)
    tx.run(_LEASE, *key, person, now + model.asking.lease)
    return Said(ticket, "open", now + model.asking.lease)


def due(tx: Transaction, now: float) -> dict[tuple[str, str], list[Answer]]:
    """The answers that can no longer be taken back, the oldest first, by tenant and model."""
    made: dict[tuple[str, str], list[Answer]] = {}
    for tenant, model, ticket, label, person in tx.read(_DUE, now):
        made.setdefault((tenant, model), []).append(Answer(ticket, json.loads(label), person))
    return made


def learned(
    tx: Transaction, now: float, model: ServedModel, answer: Answer, outcome: dict[str, Any]
) -> None:
    """Note that an answer was told to the model, or only recorded, where it has one already.

    A question that is settled stays for a second person, if one is wanted.
    """
    key = model.tenant, model.name, answer.question
    tx.run(_TOLD, "recorded" if "error" in outcome else "told", *key, answer.by)
    ((missing,),) = tx.read(_MISSING, *key)
    if missing <= 0 or (outcome.get("settled") and model.asking.annotators > 1):
        close(tx, now, model, int(answer.question))
    elif outcome.get("settled"):
        tx.run(_CLOSE, "settled", now, *key)


def close(tx: Transaction, now: float, model: ServedModel, ticket: int) -> None:
    """Take a question whose label has come from the queue."""
    tx.put(_CLOSE, "closed", now, model.tenant, model.name, ticket)


def agreement(rows: list[tuple[Any, ...]]) -> Agreement:
    """Who answered how much, and how often two people agree.

    >>> found = agreement([(1, "ann", '"ham"', "told"), (1, "bob", '"ham"', "recorded")])
    >>> found.pairs
    [Pair(people=['ann', 'bob'], questions=1, same=1)]
    """
    answers: dict[int, dict[str, str]] = {}
    given, unknown = Counter[str](), Counter[str]()
    for ticket, person, label, status in rows:
        if status == "dont_know":
            unknown[person] += 1
        elif status != "later":
            given[person] += 1
            answers.setdefault(ticket, {})[person] = label
    both, same = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for said in answers.values():
        people = sorted(said)
        for at, one in enumerate(people):
            for other in people[at + 1 :]:
                both[one, other] += 1
                same[one, other] += said[one] == said[other]
    pairs = [Pair(list(pair), both[pair], same[pair]) for pair in sorted(both)]
    return Agreement(dict(given), dict(unknown), pairs)


_WHERE = "tenant = ? AND model = ?"
_ONE = "tenant = ? AND model = ? AND ticket = ?"
_OF = "o.tenant = q.tenant AND o.model = q.model AND o.ticket = q.ticket"
_LISTED = (
    f"SELECT ticket, event, item, status, wanted FROM questions WHERE {_WHERE} AND ticket > ? "
    "AND (status IN ('open', 'settled') OR closed_at > ?) ORDER BY ticket LIMIT ?"
)
_GIVEN = (
    f"SELECT ticket, person, label, status FROM answers WHERE {_WHERE} AND ticket BETWEEN ? AND ?"
)
_UNSAID = (  # questions to which a person has said nothing yet, or "later" long ago
    "FROM questions q WHERE q.tenant = ? AND q.model = ? AND q.status IN ('open', 'settled') "
    f"AND NOT EXISTS (SELECT 1 FROM answers o WHERE {_OF} AND o.person = ? "
    "AND (o.status <> 'later' OR o.due > ?))"
)
_FREE = (
    f"SELECT q.ticket, q.item {_UNSAID} "
    f"AND (SELECT count(*) FROM leases o WHERE {_OF} AND o.person <> ? AND o.until > ?) "
    f"+ (SELECT count(*) FROM answers o WHERE {_OF} AND o.person <> ? "
    "AND o.status IN ('held', 'told', 'recorded')) < q.wanted ORDER BY q.ticket LIMIT ?"
)
_LEASE = (
    "INSERT INTO leases VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant, model, ticket, person) DO UPDATE SET until = excluded.until"
)
_WAITING = f"SELECT count(*) {_UNSAID}"
_TODAY = (
    f"SELECT count(*) FROM answers WHERE {_WHERE} AND person = ? AND at >= ? AND status <> 'later'"
)
_STATUS = f"SELECT status FROM questions WHERE {_ONE}"
_MINE = f"SELECT status, label FROM answers WHERE {_ONE} AND person = ?"
_ANSWER = (
    "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant, model, ticket, person) DO UPDATE SET label = excluded.label, "
    "status = excluded.status, at = excluded.at, due = excluded.due"
)
_RELEASE = f"DELETE FROM leases WHERE {_ONE} AND person = ?"
_FORGET = f"DELETE FROM answers WHERE {_ONE} AND person = ?"
_UNKNOWN = f"SELECT count(*) FROM answers WHERE {_ONE} AND status = 'dont_know'"
_MISSING = (
    "SELECT q.wanted - (SELECT count(*) FROM answers o "
    f"WHERE {_OF} AND o.status IN ('told', 'recorded')) "
    "FROM questions q WHERE q.tenant = ? AND q.model = ? AND q.ticket = ?"
)
_CLOSE = f"UPDATE questions SET status = ?, closed_at = ? WHERE {_ONE}"
_DUE = (
    "SELECT tenant, model, ticket, label, person FROM answers "
    "WHERE status = 'held' AND due <= ? ORDER BY due LIMIT 1000"
)
_TOLD = f"UPDATE answers SET status = ? WHERE {_ONE} AND person = ?"
