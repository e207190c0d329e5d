"""How a model is made, and how its questions go to people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from lasec.classes import against_others
from lasec.errors import TableError
from lasec.registry import ALGORITHMS, find
from lasec.service.bodies import MOST_ROWS, InstructionsText, Label, ModelName, Text
from lasec.service.desks import Desk, opened
from lasec.sources import Source
from lasec.tables import Kind
from lasec.tables.cells import as_label, head_of
from lasec.tables.spec import LabelBudget, TableSpec

DAY = 86_400.0
OPEN = 200_000  # questions that can be open at the same time
LONGEST = 128  # characters of the name of a column or a tenant, a part of keys of the store
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters, halves of one
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(ge=0.0, le=3_660 * DAY)]
People = Annotated[int, Meta(ge=1, le=100)]
Positive = Annotated[float, Meta(gt=0.0)]


class Asking(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How questions go to people; of this, the instructions can be changed later."""

    annotators: People = 1
    """Number of people who answer each question; the model learns their majority."""
    overlap: Share = 0.0
    """Share of questions that a second person answers too, to see whether they agree."""
    skips: People = 2
    """Number of people who do not know before a question is given up."""
    lease: Seconds = 300.0
    """Seconds that a question is one person's."""
    grace: Seconds = 10.0
    """Seconds in which an answer can be taken back."""
    instructions: InstructionsText = ""
    """What annotators are to know, shown above each question as plain text."""
    show: list[str] = []
    """Columns that people see; by default all."""
    retain: Seconds = 30 * DAY
    """Seconds that items, labels and replies are kept after their question is closed."""


class SourceBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Somebody who gives labels, at a price."""

    name: Text
    price: Positive
    hook: Annotated[str, Meta(max_length=2_000)] = ""
    """Address to which the questions of a cheap judge are posted; without one they are listed."""
    secret: Annotated[str, Meta(max_length=100, pattern=r"^(LASEC_SECRET_[A-Z0-9_]+)?$")] = ""
    """Environment variable of the server whose value is posted as a bearer token."""
    timeout: Annotated[float, Meta(ge=0.1, le=600.0)] = 30.0
    """Seconds that each try may take."""
    max_open: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """It is asked less, the more questions wait for it: hardly ever where so many do."""


class NewModel(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A model that is to be made."""

    name: ModelName
    classes: list[Label]
    features: Annotated[int, Meta(ge=1, le=2**20)] | None = None
    """Number of features, for rows of numbers."""
    sample: Annotated[list[dict[str, Any]], Meta(max_length=MOST_ROWS)] = []
    """Some rows, for rows with named columns: they decide how columns are read."""
    columns: Annotated[
        dict[str, Literal["number", "category", "text"]], Meta(max_length=1_000)
    ] = {}
    """Names of columns and how each is read, where there are no rows yet."""
    algorithm: str = "tracker"
    rate: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None
    """Label budget: the share of rows whose label is queried; by default 0.1."""
    labels_per_day: Positive | None = None
    """Label budget by time, in place of the rate."""
    audit: Share | None = None
    sources: Annotated[list[SourceBody], Meta(max_length=2)] = []
    """A cheap judge and then people, where labels have two prices; then "money" is the budget."""
    money: Positive | None = None
    """What both may cost a row, in the unit of the prices; or with "money_per" a day."""
    money_per: Literal["row", "day"] = "row"
    max_open: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """Query less as the number of open questions nears this; 0 is no limit."""
    max_age: Positive | None = None
    """How long a question stays open: rows, or seconds with a budget by time."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    positive: Label | None = None
    class_weight: Literal["balanced"] | dict[str, Positive] | None = None
    text: list[str] = []
    category: list[str] = []
    ignore: list[str] = []
    alarms: bool = True
    asking: Asking = Asking()

    @property
    def timed(self) -> bool:
        """Whether the budget is by time."""
        return self.labels_per_day is not None or (bool(self.sources) and self.money_per == "day")

    @property
    def hooked(self) -> SourceBody | None:
        """The judge that is posted questions, where there is one."""
        return self.sources[0] if self.sources and self.sources[0].hook else None


def desk_of(new: NewModel) -> Desk:
    """A model that has seen nothing.

    >>> mails = {"sample": [{"body": "win a free prize"}], "text": ["body"]}
    >>> desk_of(NewModel(name="mails", classes=["ham", "spam"], **mails)).session.learner.dimension
    262144
    >>> shops = NewModel(
    ...     name="shops", classes=["a", "b"], columns={"price": "number", "shop": "category"}
    ... )
    >>> desk_of(shops).table.encoder
    Encoder(dimension=262145, numbers=1, categories=1, texts=0, ignored=0)
    >>> desk_of(NewModel(name="rates", classes=["down", "up"], features=3)).session
    Session('Tracker', rows=0, queried=0, open=0)
    """
    if sum((new.features is not None, bool(new.sample), bool(new.columns))) != 1:
        raise TableError('give one of "features", "columns", or a "sample" of rows')
    if len(set(new.classes)) < 2 and new.positive is None:
        raise TableError('"classes": give two or more')
    _check_budget(new)
    return _numbers(new) if new.features is not None else _table(new)


def brought(data: bytes) -> Desk:
    """The model of a ``.lasec`` file, whose names are as foreign as those of a request.

    Rows that nobody was asked about are kept in the journal alone, as with every other model here:
    in the model, no limit would count them, and nothing would erase them.
    """
    desk = opened(data)
    desk.session.remember = 0
    desk.session.rows.clear()
    if desk.table is not None:
        _check_columns(column.name for column in desk.table.encoder.columns)
    for detector in desk.session.detectors:
        _check_columns(getattr(detector, "names", ()))
    return desk


def _check_columns(names: Iterable[str]) -> None:
    r"""Refuse names of columns that no store can hold in a key.

    >>> _check_columns(["price", "a\0b"])
    Traceback (most recent call last):
    lasec.errors.TableError: column 'a\x00b': expected 1 to 128 characters without control ...
    """
    for name in names:
        if not 0 < len(name) <= LONGEST or UNPRINTABLE.search(name):
            raise TableError(
                f"column {name[:80]!r}: expected 1 to {LONGEST} characters without control "
                "characters such as line breaks"
            )


def _check_budget(new: NewModel) -> None:
    """Refuse a budget that the algorithm would not hold.

    >>> _check_budget(NewModel(name="m", classes=["a", "b"], algorithm="lasec", rate=0.1))
    Traceback (most recent call last):
    lasec.errors.TableError: "rate": lasec has no label budget: leave it out, or use one of ...
    """
    if any(one.hook for one in new.sources[1:]):
        raise TableError('"hook": people are not posted questions, only the judge is')
    given = {"rate": new.rate, "labels_per_day": new.labels_per_day, "audit": new.audit}
    given["max_open"] = new.max_open or None
    named = [name for name, value in given.items() if value is not None]
    if named and not find(new.algorithm).budgeted:
        others = ", ".join(name for name, each in ALGORITHMS.items() if each.budgeted)
        raise TableError(
            f'"{named[0]}": {new.algorithm} has no label budget: leave it out, or use one of '
            f"{others}"
        )


def _spec(new: NewModel, classes: list[Any]) -> TableSpec:
    """All of a new model, which separates one class from all others if it is to."""
    kinds = dict.fromkeys(new.text, Kind.TEXT) | dict.fromkeys(new.category, Kind.CATEGORY)
    kinds |= dict.fromkeys(new.ignore, Kind.IGNORED)
    kinds |= {name: Kind(kind) for name, kind in new.columns.items()}
    rate = 0.1 if new.rate is None else new.rate
    return TableSpec(
        classes, new.algorithm,
        LabelBudget(
            rate, new.labels_per_day, audit=new.audit, max_open=new.max_open, money=new.money,
            daily=new.money_per == "day",
        ),
        new.class_weight, seed=new.seed, max_age=new.max_age, max_pending=OPEN,
        annotators=new.asking.annotators, alarms=new.alarms, positive=new.positive,
        time="time" if new.timed else None, apart=("id", "time"), kinds=kinds,
        sources=[Source(one.name, one.price, max_open=one.max_open) for one in new.sources],
    )  # fmt: skip


def _numbers(new: NewModel) -> Desk:
    assert new.features is not None
    names: list[Any] = list(against_others(new.positive)) if new.positive else list(new.classes)
    return Desk(_spec(new, names).session(new.features))


def _table(new: NewModel) -> Desk:
    sample = new.sample or [
        {name: 0.0 if kind == "number" else "" for name, kind in new.columns.items()}
    ]
    _check_columns(dict.fromkeys(name for row in sample for name in row))
    names = [as_label(name) or "" for name in new.classes]
    if new.positive:
        names = [str(name) for name in against_others(str(new.positive))]
    positive = None if new.positive is None else str(new.positive)
    spec = _spec(new, names)._replace(positive=positive)
    return Desk(spec.table(head_of(sample, frozenset(new.text))))
