"""Labels out: pages, lines of JSON and a table of what was answered; and what the owner corrects.

Pages are read by a key of the store, so that no page costs more than another, and outside of the
writer. What is erased, or older than a model's ``retain``, is in none of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from lasec.service.bodies import Corrected, CorrectionBody, GivenLabel, Labels, LabelsQuery
from lasec.service.errors import Problem
from lasec.service.model import ServedModel
from lasec.service.store import Store, Transaction
from lasec.spreadsheet import Table

PAGE = 500  # labels that are read and written together
KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class Place(NamedTuple):
    """Where a label is in the order of time, ticket and person.

    >>> Place.read(str(Place(1.5, 7, "ann: b")))
    Place(at=1.5, ticket=7, person='ann: b')
    >>> Place.read("yesterday")
    Traceback (most recent call last):
    lasec.service.errors.Problem: "after": give the "next" of another page
    """

    at: float
    ticket: int
    person: str

    def __str__(self) -> str:
        return f"{self.at!r}:{self.ticket}:{self.person}"

    @classmethod
    def read(cls, text: str) -> Place:
        """The place that was written as text."""
        try:
            at, ticket, person = text.split(":", 2)
            found = cls(float(at), int(ticket), person)
        except ValueError:
            found = FIRST
        if not (math.isfinite(found.at) and 0 <= found.ticket < 2**63):
            raise Problem(422, '"after": give the "next" of another page')
        return found


FIRST, LAST = Place(-1.0, -1, ""), Place(1e300, -1, "")


def listed(store: Store, model: ServedModel, query: LabelsQuery) -> Labels:
    """A page of labels."""
    return _page(store, model, query, query.limit)


def exported(store: Store, model: ServedModel, query: LabelsQuery) -> Iterator[bytes]:
    """All labels as a table or as lines of JSON, some hundred at a time."""
    write = _csv() if query.format == "csv" else _json_lines
    while True:
        page = _page(store, model, query, PAGE)
        if text := write(page.labels):
            yield text
        if not page.labels:
            return
        query = msgspec.structs.replace(query, after=page.next)


def _page(store: Store, model: ServedModel, query: LabelsQuery, limit: int) -> Labels:
    after = Place.read(query.after) if query.after else LAST if query.newest else FIRST
    way = "DESC" if query.newest else "ASC"
    order = ", ".join(f"a.{name} {way}" for name in ("at", "ticket", "person"))
    who, whose = ("AND a.person = ? ", [query.by]) if query.by is not None else ("", [])
    statement = (
        f"{_LABELS} AND (a.at, a.ticket, a.person) {'<' if query.newest else '>'} (?, ?, ?) {who}"
        f"ORDER BY {order} LIMIT ?"
    )
    found = store.read(statement, *model.key, *after, *whose, limit)
    last = Place(*found[-1][:3]) if found else after
    return Labels([_label(*row) for row in found], str(last) if found or query.after else "")


def _label(
    at: float, ticket: int, person: str, event: str | None, item: str, prediction: str,
    chance: float, asked_at: float, given: str, status: str, learned: str | None,
    corrected: str | None, corrected_by: str | None, corrected_at: float | None,
) -> GivenLabel:  # fmt: skip
    """A label of the store."""
    return GivenLabel(
        ticket, event, json.loads(given if corrected is None else corrected), person or None, at,
        status, None if learned is None else json.loads(learned), json.loads(given), corrected_by,
        corrected_at, json.loads(prediction), chance, asked_at, json.loads(item),
    )  # fmt: skip


def _csv() -> Callable[[list[GivenLabel]], bytes]:
    table = Table(GivenLabel.__struct_fields__)
    return lambda labels: table.lines(map(msgspec.structs.asdict, labels)).encode()


def _json_lines(labels: list[GivenLabel]) -> bytes:
    return b"".join(msgspec.json.encode(label) + b"\n" for label in labels)


def correct(
    tx: Transaction, now: float, model: ServedModel, owner: str, body: CorrectionBody
) -> Corrected:
    """Put another label in the place of a given one.

    As long as the answer can be taken back, the model learns the corrected label. After that it
    cannot: what it has learned stays, and the correction is kept next to it.
    """
    key = *model.key, body.ticket, body.by or ""
    if body.label not in model.desk.session.classes:
        raise Problem(422, f"there is no class {body.label!r}")
    found = tx.read(_GIVEN, *key)
    if not found:
        raise Problem(404, f"question {body.ticket} has no label by {body.by or 'an application'}")
    status, given, learned = found[0]
    again = json.dumps(body.label) == given  # a correction that is taken back
    values = (None, None, None) if again else (json.dumps(body.label), owner, now)
    tx.run(_CORRECT, *values, *key)
    told = None if learned is None else json.loads(learned)
    return Corrected(body.ticket, body.label, told, _follows(status, told, body.label))


def _follows(status: str, learned: Any, label: Any) -> str:
    """What a correction does, in words.

    >>> _follows("held", None, "spam")
    "The model has not learned this answer yet: it learns 'spam'."
    """
    if status == "held":
        return f"The model has not learned this answer yet: it learns {label!r}."
    if status == "recorded":
        return "The model does not learn this answer: its question had a label already."
    if learned == label:
        return f"The model has learned {label!r}."
    return (
        f"The model has learned {learned!r} and cannot unlearn it: the model and the accuracy "
        "estimate stay as they are. Exports have the corrected label, and what was learned."
    )


_LABELED = "status IN ('held', 'told', 'recorded', 'sent')"
_LABELS = (
    "SELECT a.at, a.ticket, a.person, q.event, q.item, q.prediction, q.propensity, q.asked_at, "
    "a.label, a.status, a.learned, a.corrected, a.corrected_by, a.corrected_at "
    "FROM answers a JOIN questions q "
    "ON q.tenant = a.tenant AND q.model = a.model AND q.ticket = a.ticket "
    f"WHERE a.tenant = ? AND a.model = ? AND a.{_LABELED}"
)
_ONE = "tenant = ? AND model = ? AND ticket = ? AND person = ?"
_GIVEN = f"SELECT status, label, learned FROM answers WHERE {_ONE} AND {_LABELED}"
_CORRECT = f"UPDATE answers SET corrected = ?, corrected_by = ?, corrected_at = ? WHERE {_ONE}"
