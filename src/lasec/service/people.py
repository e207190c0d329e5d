"""Questions in the hands of people: leases, answers that can be taken back, and who agrees.

The queue is ordered by time alone. If it were ordered by how sure the model is, the questions that
are never answered would be chosen by difficulty, and estimates would not be honest. The model's
guess is not shown: it would anchor the answer.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

from lasec.service import bodies as b
from lasec.service.errors import Problem
from lasec.service.model import ServedModel
from lasec.service.operations import Answer, Id, Ref
from lasec.service.settings import DAY
from lasec.service.store import Store, Transaction

FINAL = ("told", "recorded", "sent")  # of an answer that cannot be taken back
LATER = 600.0  # seconds after which a question comes back to who said "later"


def wanted(model: ServedModel, ticket: int) -> int:
    """The number of people that a question goes to.

    Which ones go to a second person is drawn by the model's seed, which annotators do not know.
    """
    asking = model.asking
    if asking.annotators > 1:
        return asking.annotators
    seed = model.desk.session.learner.seed.to_bytes(16, "little")
    digest = blake2b(ticket.to_bytes(8, "little"), digest_size=4, key=seed).digest()
    return 2 if int.from_bytes(digest, "little") < asking.overlap * 2**32 else 1


def open_question(
    tx: Transaction, now: float, model: ServedModel, name: Id | None, item: Any,
    decided: dict[str, Any], *, judging: bool = False,
) -> None:  # fmt: skip
    """Put a question into the queue of people; not as long as a judge is asked about it."""
    ticket, status = decided["ticket"], "judging" if judging else "open"
    tx.put(
        f"INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{status}', NULL, ?)",
        *model.key, ticket, None if name is None else str(name), json.dumps(item),
        decided["query_probability"], wanted(model, ticket), now,
        json.dumps(decided["prediction"]),
    )  # fmt: skip
    if not judging:
        model.queue.add(ticket, now, wanted(model, ticket))


def judged(tx: Transaction, now: float, model: ServedModel, outcome: dict[str, Any]) -> None:
    """A judge has answered: the question goes to people, who do not see the answer, or ends."""
    ticket = outcome["ticket"]
    if outcome.get("settled"):
        tx.put(_JUDGED, "answered", now, *model.key, ticket)
    else:
        tx.put(_JUDGED, "open", None, *model.key, ticket)
        model.queue.add(ticket, now, wanted(model, ticket))


def given_up(
    tx: Transaction, now: float, model: ServedModel, of: Ref, reply: dict[str, Any]
) -> None:
    """A judge will not answer: the question goes to people, or ends."""
    where, name = ("ticket", of.ticket) if of.id is None else ("event", str(of.id))
    tickets = tx.read(_JUDGING.format(where), *model.key, name)
    for (ticket,) in tickets:
        judged(tx, now, model, {"ticket": ticket, "settled": bool(reply["canceled"])})


def listed(store: Store, now: float, model: ServedModel, query: b.QuestionsQuery) -> b.Questions:
    """Questions and their answers, for those who hand them to people elsewhere."""
    key = model.tenant, model.name
    which = (_OPEN, now - query.closed) if query.status is None else (_OF_STATUS, query.status)
    found = store.read(_LISTED.format(which[0]), *key, query.after, which[1], query.limit)
    said: dict[int, list[b.Given]] = {row[0]: [] for row in found}
    if found:
        for ticket, person, label, status in store.read(_GIVEN, *key, found[0][0], found[-1][0]):
            if ticket in said:
                said[ticket].append(b.Given(person or None, json.loads(label), status))
    return b.Questions([
        b.Question(ticket, event, json.loads(item), status, wanted, said[ticket])
        for ticket, event, item, status, wanted in found
    ])  # fmt: skip


def lease(tx: Transaction, now: float, model: ServedModel, person: str, count: int) -> b.Leased:
    """The oldest questions that this person may answer: their own ones first, then free ones."""
    key, until = (model.tenant, model.name), now + model.asking.lease
    waiting = model.queue.waiting(person, now)
    tickets = model.queue.lease(person, now, count, until)
    for ticket in tickets:
        tx.put(_LEASE, *key, ticket, person, until)
    found = tx.read(_ITEMS.format(", ".join("?" * len(tickets))), *key, *tickets) if tickets else []
    ((today,),) = tx.read(_TODAY, *key, person, now - now % DAY)
    return b.Leased(
        [b.Item(ticket, json.loads(item), until) for ticket, item in found],
        list(model.desk.session.classes), waiting, today, model.asking.grace,
        model.asking.instructions,
    )  # fmt: skip


def hear(
    tx: Transaction, now: float, model: ServedModel, person: str, said: b.PersonBody, *,
    leased: bool = False,
) -> tuple[b.Said, bool]:  # fmt: skip
    """What a person says to a question; also whether the question is to be given up.

    With ``leased``, only to one that was handed out to them; the lease may have run out since.
    """
    key = model.tenant, model.name, said.ticket
    found = tx.read(_STATUS, *key)
    if not found:
        raise Problem(404, f"there is no question {said.ticket}")
    before = tx.read(_MINE, *key, person)
    if leased and not before and not tx.read(_LEASED, *key, person):
        raise Problem(409, f"question {said.ticket} was not handed out to you: take a lease first")
    if before and before[0][0] in FINAL:
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
    model.queue.release(said.ticket, person)
    if status == "held":
        model.queue.hold(said.ticket, person, due)
    else:
        model.queue.said(said.ticket, person, due if status == "later" else None)
    ((unknown,),) = tx.read(_UNKNOWN, *key)
    return b.Said(said.ticket, status, due), unknown >= model.asking.skips


def _again(said: b.PersonBody, before: tuple[Any, ...]) -> b.Said:
    """The reply to an answer that was learned already."""
    if said.say == "undo":
        raise Problem(409, f"the answer to question {said.ticket} cannot be taken back any more")
    if said.say != "label" or json.dumps(said.label) != before[1]:
        raise Problem(409, f"question {said.ticket} was answered, and learned")
    return b.Said(said.ticket, before[0])


def _undone(
    tx: Transaction, now: float, model: ServedModel, person: str, ticket: int, before: list[Any]
) -> b.Said:
    """Take an answer back, while it is held: the question is this person's again.

    If there is none, it was taken back before, and the request is a retried one.
    """
    key = model.tenant, model.name, ticket
    if not before:
        return b.Said(ticket, "open")
    tx.run(_FORGET, *key, person)
    tx.run(_LEASE, *key, person, now + model.asking.lease)
    model.queue.unsaid(ticket, person)
    model.queue.grant(ticket, person, now + model.asking.lease)
    return b.Said(ticket, "open", now + model.asking.lease)


def due(tx: Transaction, now: float, model: ServedModel, count: int) -> list[Answer]:
    """Some answers that can no longer be taken back, the oldest first; each is given once."""
    made: list[Answer] = []
    while len(made) < count and (found := model.queue.held.take(now)) is not None:
        ticket, person = found
        made += [
            Answer(Ref(ticket=ticket), json.loads(label), person)
            for (label,) in tx.read(_DUE, *model.key, ticket, person)
        ]
    return made


def learned(
    tx: Transaction, now: float, model: ServedModel, answer: Answer, outcome: dict[str, Any]
) -> None:
    """Note that an answer was told to the model, or only recorded, where it has one already.

    A question that is settled stays for a second person, if one is wanted.
    """
    assert answer.of.ticket is not None  # people answer questions by their tickets
    key = model.tenant, model.name, answer.of.ticket
    refused = "error" in outcome
    told = None if refused else json.dumps(answer.label)
    tx.run(_TOLD, "recorded" if refused else "told", told, *key, answer.by)
    ((missing,),) = tx.read(_MISSING, *key)
    if missing <= 0 or (outcome.get("settled") and model.asking.annotators > 1):
        close(tx, now, model, answer.of.ticket)
    elif outcome.get("settled"):
        tx.run(_CLOSE, "settled", now, *key)


def sent(
    tx: Transaction, now: float, model: ServedModel, answer: Answer, outcome: dict[str, Any]
) -> None:
    """Keep a label that an application told the model, with the question that it answers."""
    ticket, label, person = outcome["ticket"], json.dumps(answer.label), answer.by or ""
    tx.put(_SENT, person, label, now, now, label, *model.key, ticket)
    model.queue.said(ticket, person)
    if outcome.get("settled"):
        close(tx, now, model, ticket)


def close(tx: Transaction, now: float, model: ServedModel, ticket: int) -> None:
    """Take a question whose label has come from the queue."""
    model.queue.close(ticket)
    tx.put(_CLOSE, "answered", now, model.tenant, model.name, ticket)


def agreement(store: Store, model: ServedModel) -> b.Agreement:
    """Who answered how much, and how often two people agree: counted by the database."""
    key = model.tenant, model.name
    given, unknown, corrected = dict[str, int](), dict[str, int](), dict[str, int]()
    for person, *found in store.read(_GAVE, *key):
        for count, number in zip((given, unknown, corrected), found, strict=True):
            if number:
                count[person] = int(number)
    pairs = [
        b.Pair(sorted([one, other]), int(both), int(same))
        for one, other, both, same in store.read(_AGREE, *key)
    ]
    return b.Agreement(given, unknown, corrected, sorted(pairs, key=lambda pair: pair.people))


_WHERE = "tenant = ? AND model = ?"
_ONE = "tenant = ? AND model = ? AND ticket = ?"
_OF = "o.tenant = q.tenant AND o.model = q.model AND o.ticket = q.ticket"
_LISTED = (
    f"SELECT ticket, event, item, status, wanted FROM questions WHERE {_WHERE} AND ticket > ? "
    "AND {} ORDER BY ticket LIMIT ?"
)
_JUDGED = f"UPDATE questions SET status = ?, closed_at = ? WHERE {_ONE} AND status = 'judging'"
_JUDGING = f"SELECT ticket FROM questions WHERE {_WHERE} AND {{}} = ? AND status = 'judging'"
_OPEN, _OF_STATUS = "(status IN ('open', 'settled') OR closed_at > ?)", "status = ?"
_GIVEN = (
    f"SELECT ticket, person, label, status FROM answers WHERE {_WHERE} AND ticket BETWEEN ? AND ?"
)
_ITEMS = f"SELECT ticket, item FROM questions WHERE {_WHERE} AND ticket IN ({{}}) ORDER BY ticket"
_LEASE = (
    "INSERT INTO leases VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant, model, ticket, person) DO UPDATE SET until = excluded.until"
)
_TODAY = (
    f"SELECT count(*) FROM answers WHERE {_WHERE} AND person = ? AND at >= ? "
    "AND status NOT IN ('later', 'sent')"
)
_LEASED = f"SELECT 1 FROM leases WHERE {_ONE} AND person = ?"
_ANSWERED = "status IN ('held', 'told', 'recorded')"
_GAVE = (
    f"SELECT person, sum(CASE WHEN {_ANSWERED} THEN 1 ELSE 0 END), "
    "sum(CASE WHEN status = 'dont_know' THEN 1 ELSE 0 END), "
    f"sum(CASE WHEN {_ANSWERED} AND corrected IS NOT NULL THEN 1 ELSE 0 END) "
    f"FROM answers WHERE {_WHERE} GROUP BY person"
)
_AGREE = (
    "SELECT q.person, o.person, count(*), sum(CASE WHEN q.label = o.label THEN 1 ELSE 0 END) "
    f"FROM answers q JOIN answers o ON {_OF} AND q.person < o.person "
    f"WHERE q.tenant = ? AND q.model = ? AND q.{_ANSWERED} AND o.{_ANSWERED} "
    "GROUP BY q.person, o.person"
)
_STATUS = f"SELECT status FROM questions WHERE {_ONE}"
_MINE = f"SELECT status, label FROM answers WHERE {_ONE} AND person = ?"
_ANSWER = (
    "INSERT INTO answers (tenant, model, ticket, person, label, status, at, due) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant, model, ticket, person) DO UPDATE SET label = excluded.label, "
    "status = excluded.status, at = excluded.at, due = excluded.due"
)
_SENT = (  # nothing where the question is not known: the model came as a file with open ones
    "INSERT INTO answers (tenant, model, ticket, person, label, status, at, due, learned) "
    "SELECT tenant, model, ticket, CAST(? AS TEXT), CAST(? AS TEXT), 'sent', "
    "CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION), CAST(? AS TEXT) FROM questions "
    f"WHERE {_ONE} ON CONFLICT (tenant, model, ticket, person) DO UPDATE SET "
    "label = excluded.label, status = excluded.status, at = excluded.at, due = excluded.due, "
    "learned = excluded.learned"
)
_RELEASE = f"DELETE FROM leases WHERE {_ONE} AND person = ?"
_FORGET = f"DELETE FROM answers WHERE {_ONE} AND person = ?"
_UNKNOWN = f"SELECT count(*) FROM answers WHERE {_ONE} AND status = 'dont_know'"
_MISSING = (
    "SELECT q.wanted - (SELECT count(*) FROM answers o "
    f"WHERE {_OF} AND o.status IN ('told', 'recorded')) "
    "FROM questions q WHERE q.tenant = ? AND q.model = ? AND q.ticket = ?"
)
_CLOSE = (  # one that was given up stays so
    f"UPDATE questions SET status = ?, closed_at = ? WHERE {_ONE} AND status IN ('open', 'settled')"
)
_DUE = (
    f"SELECT COALESCE(corrected, label) FROM answers WHERE {_ONE} AND person = ? "
    "AND status = 'held'"
)
_TOLD = f"UPDATE answers SET status = ?, learned = ? WHERE {_ONE} AND person = ?"
