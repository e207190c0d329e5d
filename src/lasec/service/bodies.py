"""The bodies of requests and replies: what a caller sends, and what comes back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

MOST_ROWS = 10_000
MOST_LEASED = 50  # questions that a person can hold
NO_NUL = r"^[^\x00]*$"  # PostgreSQL has no text with a zero in it
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]  # what stores and journals can hold
Ticket = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, Meta(min_length=1, max_length=128, pattern=NO_NUL)]  # fits into an index
Id = Text | Whole
Label = str | Whole
Rows = Annotated[list[list[float] | dict[str, Any]], Meta(min_length=1, max_length=MOST_ROWS)]
KeyName = Annotated[  # it is a part of a path when the key is taken back
    str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x20\x7f./][^\x00-\x1f\x7f/]*$")
]
InstructionsText = Annotated[str, Meta(max_length=4_000, pattern=NO_NUL)]
ModelName = Annotated[
    str, Meta(max_length=100, pattern="^[A-Za-z0-9._-]*[A-Za-z0-9][A-Za-z0-9._-]*$")
]


class AskBody(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to decide about: lists of numbers, or objects of columns.

    ``ids`` are the caller's names for them, ``times`` when they came (seconds since 1970), and
    ``items`` what people are to see of each.
    """

    rows: Rows
    ids: list[Id | None] = []
    times: list[float | None] = []
    items: list[Any] = []


class PredictBody(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to predict."""

    rows: Rows


class AnswerBody(msgspec.Struct, forbid_unknown_fields=True):
    """A label, for the question of a ticket or of the row with an id.

    A cheap judge (``by`` its name) may have a ``confidence``, and no label: null is an answer, too.
    """

    label: Label | None
    ticket: Ticket | None = None
    id: Id | None = None
    by: Text | None = None
    confidence: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None


class TellBody(msgspec.Struct, forbid_unknown_fields=True):
    """Labels of questions."""

    answers: Annotated[list[AnswerBody], Meta(min_length=1, max_length=MOST_ROWS)]


class LearnBody(msgspec.Struct, forbid_unknown_fields=True):
    """Rows with labels that nobody asked for."""

    rows: Rows
    labels: Annotated[list[Label], Meta(min_length=1, max_length=MOST_ROWS)]


class QuestionBody(msgspec.Struct, forbid_unknown_fields=True):
    """A question by its ticket, or by the id of its row: a number as an id is never a ticket."""

    ticket: Ticket | None = None
    id: Id | None = None


class CancelBody(msgspec.Struct, forbid_unknown_fields=True):
    """Questions that will not be answered, by their tickets or the ids of their rows."""

    questions: Annotated[list[QuestionBody], Meta(min_length=1, max_length=MOST_ROWS)]


class CorrectionBody(msgspec.Struct, forbid_unknown_fields=True):
    """What the label should be that somebody gave to a question; ``by`` is who gave it."""

    ticket: Ticket
    label: Label
    by: Text | None = None


class Instructions(msgspec.Struct, forbid_unknown_fields=True):
    """What annotators are to know, shown above each question as plain text."""

    text: InstructionsText


class StatusBody(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a model takes rows: active, paused for a while, or retired for good."""

    status: Literal["active", "paused", "retired"]


class LeaseBody(msgspec.Struct, forbid_unknown_fields=True):
    """A wish for questions; ``by`` names the person, where the key is not an annotator's."""

    count: Annotated[int, Meta(ge=1, le=MOST_LEASED)] = 5
    by: Text | None = None


class PersonBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a person says to a question: a label, "don't know", "later", or that it was a slip."""

    ticket: Ticket
    say: Literal["label", "dont_know", "later", "undo"] = "label"
    label: Label | None = None
    by: Text | None = None


class QuestionsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which questions are listed: at most ``limit`` of those after a ticket.

    By default those that people can answer ("open", and "settled" ones that wait for a second
    person), and those that were closed in the last ``closed`` seconds; else all of a ``status``.
    """

    status: Literal["open", "settled", "answered", "gone", "judging"] | None = None
    """Those that a cheap judge is asked about are "judging": people do not see them yet."""
    after: Annotated[int, msgspec.Meta(ge=-1, le=2**62)] = -1
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1_000
    closed: Annotated[float, msgspec.Meta(ge=0.0, le=1e12)] = 0.0


class LabelsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which labels are listed, in the order in which they were given.

    "json" gives a page of at most ``limit``, "jsonl" and "csv" stream all of them. Each begins
    behind the label at which ``after`` points, the ``next`` of another page.
    """

    format: Literal["json", "jsonl", "csv"] = "json"
    after: Annotated[str, Meta(max_length=200, pattern=NO_NUL)] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 1_000
    newest: bool = False
    """The last ones first."""
    by: Text | None = None
    """Only those of one person."""


class KeyBody(msgspec.Struct, forbid_unknown_fields=True):
    """A key to be made: whose it is, and what it opens."""

    name: KeyName
    role: Literal["owner", "app", "annotator", "viewer"]


class Decision(msgspec.Struct, omit_defaults=True):
    """What was decided about a row, or why it was not."""

    ticket: int | None = None
    prediction: str | int | None = None
    probability: dict[str, float] = {}
    margin: float | None = None
    query_probability: float | None = None
    asked: bool = False
    source: str | None = None
    id: Id | None = None
    error: str = ""


class Decisions(msgspec.Struct):
    """The decisions about rows, in their order."""

    decisions: list[Decision]


class Prediction(msgspec.Struct, omit_defaults=True):
    """The class of a row, or why there is none."""

    prediction: str | int | None = None
    probability: dict[str, float] = {}
    margin: float | None = None
    error: str = ""


class Predictions(msgspec.Struct):
    """The classes of rows, in their order."""

    predictions: list[Prediction]


class Outcome(msgspec.Struct, omit_defaults=True):
    """What a label has done, or why it was refused."""

    ticket: int | None = None
    id: Id | None = None
    label: str | int | None = None
    correct: bool | None = None
    learned: bool = False
    settled: bool | None = None
    source: str | None = None
    """Who is asked next, where there are two sources of labels."""
    canceled: bool = False
    warning: str = ""
    """Why the answer of a judge counts as none."""
    error: str = ""


class Outcomes(msgspec.Struct):
    """What labels have done, in their order."""

    outcomes: list[Outcome]


class Item(msgspec.Struct):
    """A question for a person: what to look at, and until when it is theirs."""

    ticket: int
    item: Any
    until: float


class Leased(msgspec.Struct):
    """Questions for a person, the classes to choose from, and how far they are."""

    questions: list[Item]
    classes: list[str | int]
    waiting: int
    answered_today: int
    grace: float
    instructions: str


class Said(msgspec.Struct):
    """That an answer was heard, and until when it can be taken back."""

    ticket: int
    status: str
    until: float | None = None


class Given(msgspec.Struct):
    """What was said to a question: held, told, recorded, sent, dont_know or later.

    ``by`` is null for a label that an application sent without a name.
    """

    by: str | None
    label: str | int | None
    status: str


class Question(msgspec.Struct):
    """A question, how many people are wanted for it, and what they have said."""

    ticket: int
    id: str | None
    item: Any
    status: str
    wanted: int
    answers: list[Given]


class Questions(msgspec.Struct):
    """Questions in the order of their tickets."""

    questions: list[Question]


class GivenLabel(msgspec.Struct):
    """A label that was given to a question, and all that is known about it.

    ``label`` is what it is by now, ``given`` what was said; they differ if the owner has corrected
    it. ``learned`` is what the model was told: null as long as it can be taken back ("held"), and
    for an answer that came when the question had its label ("recorded"). "told" came from people,
    "sent" from an application, whose ``by`` may be null.
    """

    ticket: int
    id: str | None
    label: str | int
    by: str | None
    at: float
    status: str
    learned: str | int | None
    given: str | int
    corrected_by: str | None
    corrected_at: float | None
    prediction: str | int | None
    query_probability: float
    asked_at: float
    item: Any


class Labels(msgspec.Struct):
    """Labels, and where the next page begins; behind the last one it is empty."""

    labels: list[GivenLabel]
    next: str


class Corrected(msgspec.Struct):
    """A label that was corrected, what the model has learned, and what follows from that."""

    ticket: int
    label: str | int
    learned: str | int | None
    detail: str


class Accuracy(msgspec.Struct):
    """An estimate with its 95 % interval; ``worst`` is what lost answers can make of it."""

    value: float | None
    low: float
    high: float
    rows: int
    labels: int
    lost: int
    worst_low: float
    worst_high: float


class Figures(msgspec.Struct):
    """How good the model is: over all rows, and over the last ones.

    ``unpredicted`` rows came before the first label: they have no prediction, and are in neither.
    """

    all: Accuracy
    recent: Accuracy
    unpredicted: int
    judge: Accuracy | None = None
    """How often the cheap judge is right, where there is one."""


class Spent(msgspec.Struct):
    """A source of labels: the price of an answer, how often it was asked, and what that cost."""

    name: str
    price: float
    asked: int
    spent: float


class JudgedClass(msgspec.Struct):
    """How a cheap judge does with a class, over the rows that it answered."""

    label: str | int
    recall: Accuracy
    precision: Accuracy


class Sources(msgspec.Struct):
    """Labels of two prices: what each source cost, and what the cheap judge knows.

    Of ``judging`` questions its answer is awaited. Of ``classes`` there are the first 20.
    ``explained`` is the share of the model's uncertainty that its answers remove, null as long as
    that is not known; from ``worth`` on it is worth its price; ``verdict`` says so in words.
    ``planned`` is what the budget allows by now, and ``cap`` the most (null for a budget by days).
    Without two sources there are none.
    """

    sources: list[Spent] = []
    judging: int = 0
    judge: Accuracy | None = None
    classes: list[JudgedClass] = []
    explained: float | None = None
    worth: float = 0.0
    verdict: str = ""
    planned: float = 0.0
    cap: float | None = None


class Budget(msgspec.Struct):
    """What was spent, and what waits; an algorithm without a budget has no rate.

    ``warm_up`` labels were spent early and are still to be repaid, by the row ``repaid_by``;
    ``cap`` is the most labels that can be queried by now. Both are null for a budget by days.
    """

    rows: int
    asked: int
    answered: int
    lost: int
    open: int
    rate: float | None
    labels_per_day: float | None
    asked_today: int
    oldest: float | None
    warm_up: float
    repaid_by: float | None
    cap: float | None
    spent: dict[str, float] = {}
    """The money that each source was paid, where there are two."""


class Model(msgspec.Struct):
    """A model, as it is listed; ``problem`` says why it is set aside, and is empty otherwise.

    ``retain`` is how many seconds labels are kept after their question is closed.
    """

    name: str
    status: str
    algorithm: str
    classes: list[str | int]
    features: int
    columns: list[str]
    rows: int
    asked: int
    made: float
    retain: float
    problem: str = ""


class Models(msgspec.Struct):
    """The models of a tenant."""

    models: list[Model]


class Alarm(msgspec.Struct):
    """A change that was detected, and ``text`` that says it in a line.

    An accuracy drop has the number of labels behind ``after``, and its 95 % interval where there is
    one. A change of the input says in ``what`` which figure of the column has changed, and how many
    ``others`` changed with it.
    """

    kind: str
    ticket: int
    at: float
    before: float | None
    after: float | None
    since: int
    low: float | None
    high: float | None
    labels: int
    what: str
    others: int
    text: str


class Alarms(msgspec.Struct):
    """The newest 100 alarms of a model, the last first, and how many there are in all."""

    alarms: list[Alarm]
    total: int


class Pair(msgspec.Struct):
    """How often two people gave the same answer to the same question."""

    people: list[str]
    questions: int
    same: int


class Agreement(msgspec.Struct):
    """Who answered how much, and how often people agree."""

    answers: dict[str, int]
    dont_know: dict[str, int]
    corrected: dict[str, int]
    pairs: list[Pair]


class Key(msgspec.Struct, omit_defaults=True):
    """A key; its text is shown once, when it is made."""

    name: str
    role: str
    made: float
    key: str = ""


class Keys(msgspec.Struct):
    """The keys of a tenant."""

    keys: list[Key]


class Point(msgspec.Struct):
    """The accuracy of the last rows at a moment."""

    at: float
    rows: int
    asked: int
    value: float | None
    low: float
    high: float


class Points(msgspec.Struct):
    """The accuracy over time."""

    points: list[Point]
