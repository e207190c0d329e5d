"""What is deleted: outdated rows of the store, a whole model, and what is kept of one event.

Deleting goes in slices too: some hundred rows, and then others have their turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lasec.service.model import ServedModel
from lasec.service.operations import Id, Ref
from lasec.service.requests import asked_prefix, told_prefix
from lasec.service.store import Store, Transaction

AT_ONCE = 500  # rows that are deleted before others have their turn
_FEW = {"journal": 50, "snapshots": 2}  # the same, of tables whose rows are large
_KEYS = {  # every table with rows of a model, and what names a row within the model
    "journal": "seq", "snapshots": "seq, piece", "replies": "name", "questions": "ticket",
    "leases": "ticket, person", "answers": "ticket, person", "alarms": "ticket, kind",
    "points": "at",
}  # fmt: skip
_MINE = "tenant = ? AND model = ?"
_CLOSED = (
    "(tenant, model, ticket) IN "
    f"(SELECT tenant, model, ticket FROM questions WHERE {_MINE} AND closed_at < ?)"
)
_OUTDATED = {  # in this order: answers and leases go with their question, before it
    "answers": _CLOSED, "leases": _CLOSED, "questions": f"{_MINE} AND closed_at < ?",
    "replies": f"{_MINE} AND at < ?", "points": f"{_MINE} AND at < ?",
}  # fmt: skip


def delete_outdated(tx: Transaction, model: ServedModel, before: float) -> bool:
    """Delete some of what was closed before; whether that was all."""
    values = *model.key, before
    return all(_deleted(tx, table, where, values) for table, where in _OUTDATED.items())


def delete_replayed(tx: Transaction, model: ServedModel, keep: int = 2) -> bool:
    """Delete some of what is older than the last snapshots that are kept; whether that was all."""
    found = tx.read(
        f"SELECT seq FROM snapshots WHERE {_MINE} AND piece = pieces - 1 "
        f"ORDER BY seq DESC LIMIT {keep}", *model.key,
    )  # fmt: skip
    older = *model.key, found[-1][0]
    done = _deleted(tx, "journal", f"{_MINE} AND seq <= ?", older)
    return _deleted(tx, "snapshots", f"{_MINE} AND seq < ?", older) and done


def delete_unfinished(tx: Transaction) -> None:
    """Delete the snapshots that a server was about to write when it ended."""
    tx.run(
        "DELETE FROM snapshots WHERE (tenant, model, seq) IN (SELECT tenant, model, seq "
        "FROM snapshots GROUP BY tenant, model, seq, pieces HAVING count(*) < pieces)"
    )


def delete_model(tx: Transaction, tenant: str, name: str) -> bool:
    """Delete some of what is kept of a model; whether that was all."""
    key = tenant, name
    if not all(_deleted(tx, table, _MINE, key) for table in _KEYS):
        return False
    tx.run(f"DELETE FROM models WHERE {_MINE}", *key)
    tx.erased = True
    return True


def _deleted(tx: Transaction, table: str, where: str, values: tuple[Any, ...]) -> bool:
    """Delete some rows; whether those were all."""
    named = f"tenant, model, {_KEYS[table]}"
    most = _FEW.get(table, AT_ONCE)
    found = f"SELECT {named} FROM {table} WHERE {where} LIMIT {most}"
    return tx.run(f"DELETE FROM {table} WHERE ({named}) IN ({found})", *values) < most


def erase_question(tx: Transaction, model: ServedModel, ticket: int) -> None:
    """Delete a question, and what people have said to it."""
    model.queue.close(ticket)
    for table in ("answers", "leases", "questions"):
        tx.run(f"DELETE FROM {table} WHERE {_MINE} AND ticket = ?", *model.key, ticket)


def tickets_of(tx: Transaction, model: ServedModel, event: str) -> list[int]:
    """The questions about the rows of an id, be it text or a whole number."""
    found = tx.read(f"SELECT ticket FROM questions WHERE {_MINE} AND event = ?", *model.key, event)
    return [ticket for (ticket,) in found]


def replies_of(
    store: Store, model: ServedModel, event: str, tickets: list[int]
) -> tuple[list[str], dict[str, bytes]]:
    """The names of replies that are only about an event, and others with it taken out."""
    ids: tuple[Id, ...] = (event, int(event)) if _is_number(event) else (event,)
    refs = [Ref(id=name) for name in ids] + [Ref(ticket=ticket) for ticket in tickets]
    whole, begins = {asked_prefix(name) for name in ids}, tuple(map(told_prefix, refs))
    gone: list[str] = []
    changed: dict[str, bytes] = {}
    for name, reply in _replies(store, model):
        if name in whole or name.startswith(begins):
            gone.append(name)
        elif name.startswith("key:") and (rest := _without(json.loads(reply), ids, event)):
            changed[name] = rest
    return gone, changed


def _replies(store: Store, model: ServedModel) -> Iterator[tuple[str, bytes]]:
    """All replies of a model, a page at a time."""
    last = ""
    while found := store.read(
        f"SELECT name, reply FROM replies WHERE {_MINE} AND name > ? ORDER BY name LIMIT 1000",
        *model.key, last,
    ):  # fmt: skip
        yield from ((name, bytes(reply)) for name, reply in found)
        last = found[-1][0]


def _without(said: list[dict[str, Any]], ids: tuple[Id, ...], event: str) -> bytes:
    """The replies of a request without what they say of an event; empty if they say nothing."""

    def is_about(reply: dict[str, Any]) -> bool:
        return reply.get("id") in ids or event in reply.get("error", "")

    if not any(map(is_about, said)):
        return b""
    return json.dumps([{"error": "erased"} if is_about(each) else each for each in said]).encode()


def _is_number(event: str) -> bool:
    return event.lstrip("-").isdecimal() and event.isascii() and str(int(event)) == event
