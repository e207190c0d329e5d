"""Compiled code is loaded, or compiled, before a model is served."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import numpy as np

from lasec.service.desks import Desk, opened
from lasec.service.operations import Answer, Ask, Learn, Ref, Rows
from lasec.service.settings import NewModel
from lasec.tables import Kind

TRIES = 100  # rows until one is queried; without one, only its tell is not warm


def warm(data: bytes) -> None:
    """Do all that the model of a file can do, once, and throw it away.

    The model that is served, its draws and its journal are not touched.

    >>> import lasec
    >>> from lasec.service.desks import NumberDesk
    >>> from lasec.session import Session
    >>> desk = NumberDesk(Session(lasec.LASEC(dimension=2), classes=["ham", "spam"]))
    >>> warm(desk.packing()())
    >>> desk.session
    Session('LASEC', rows=0, queried=0, open=0)
    """
    twin: Desk = opened(data)
    rows, now, label = _rows(twin), time.time(), twin.session.classes[0]
    twin.predict(rows)
    twin.ask(Ask(now, rows.some([0])))  # one row and several are compiled apart
    for _ in range(TRIES):
        asked = [d["ticket"] for d in twin.ask(Ask(now, rows)) if d.get("asked")]
        if asked:
            _answered(twin, asked[0], label)
            break
    twin.learn(Learn(now, rows, [label] * len(rows)))
    twin.predict(rows)
    for span in ("all", "window"):
        twin.session.meter.reaching().estimate("accuracy", over=span)


def kind_of(desk: Desk, new: NewModel) -> tuple[Any, ...]:
    """What the compiled code of a model depends on, and a little more.

    >>> from lasec.service.settings import desk_of
    >>> one, other = (NewModel(name=n, classes=["a", "b"], features=2) for n in ("one", "other"))
    >>> kind_of(desk_of(one), one) == kind_of(desk_of(other), other)
    True
    """
    learner = desk.session.learner
    columns = () if desk.table is None else tuple(c.kind for c in desk.table.encoder.columns)
    plain = msgspec.structs.replace(new, name="", seed=None, sample=[])
    settings = msgspec.json.encode(plain), len(desk.session.classes)
    return learner.name, learner.rule, learner.query, learner.dimension, columns, settings


def _answered(desk: Desk, ticket: int, label: Any) -> None:
    """Tell a label, by as many people as are needed."""
    for person in range(TRIES):
        said = desk.tell(Answer(Ref(ticket=ticket), label, f"person {person}"))
        if said.get("settled") or "error" in said:
            return


def _rows(desk: Desk) -> Rows:
    """Two rows such as the model takes."""
    if desk.table is None:
        return Rows.of_numbers(np.ones((2, desk.session.learner.dimension)))
    words = (Kind.TEXT, Kind.CATEGORY)
    row = {c.name: "word" for c in desk.table.encoder.columns if c.kind in words}
    return Rows(cells=[row, {}])
