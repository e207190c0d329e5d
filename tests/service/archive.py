"""Everything that a store was given, kept where no snapshot deletes it, and what follows from it.

What clients heard is compared with the archive, and the archive with the library alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

import lasec
from lasec.service import NewModel, Service
from lasec.service.operations import Ask, Learn, Ref, Tell, unpacked
from lasec.service.settings import desk_of
from lasec.service.store import Store
from service.clients import CLASSES, WIDTH, Book, Sender, label_of
from service.hostile import Attacker

Sent = list[tuple[str, dict[str, Any], Any]]
GRACE = 0.3  # seconds in which a person can take an answer back
_PLAIN: dict[str, Any] = {"classes": CLASSES, "features": WIDTH, "alarms": False, "seed": 7}
MODELS: dict[tuple[str, str], dict[str, Any]] = {
    ("friends", "m"): {"rate": 0.5, "asking": {"grace": GRACE}},
    ("hostile", "timed"): {"labels_per_day": 20_000.0},
    ("hostile", "large"): {"rate": 0.1},
}
KEYS = {  # by the names of keys: tenant and role
    "all": ("friends", "owner"), "ann": ("friends", "annotator"), "bob": ("friends", "annotator"),
    "thief": ("friends", "annotator"), "eye": ("friends", "viewer"),
    "mallory": ("hostile", "owner"),
}  # fmt: skip


def new_model(tenant: str, name: str) -> NewModel:
    """How a model is made."""
    return msgspec.convert({"name": name} | _PLAIN | MODELS[tenant, name], NewModel)


def prepared(url: str) -> dict[str, str]:
    """Put models, keys and an archive into a store; gives the keys by their names."""
    service = Service(url)
    service.start()
    keys = {name: service.new_key(tenant, name, role) for name, (tenant, role) in KEYS.items()}
    for tenant, name in MODELS:
        service.do_now(service.create(tenant, new_model(tenant, name)))
    with service.store.transaction() as tx:
        for statement in _archive(url.startswith("postgres")):
            tx.run(statement)
    service.stop()
    return keys


def _archive(postgres: bool) -> list[str]:
    """Statements that make a copy of every line of the journal."""
    table = "CREATE TABLE archive AS SELECT * FROM journal"
    copy = "INSERT INTO archive VALUES (NEW.tenant, NEW.model, NEW.seq, NEW.body, NEW.said)"
    trigger = "CREATE TRIGGER keep AFTER INSERT ON journal"
    if not postgres:
        return [table, f"{trigger} BEGIN {copy}; END"]
    function = "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS "
    function += f"$$ BEGIN {copy}; RETURN NEW; END $$"
    return [table, function, f"{trigger} FOR EACH ROW EXECUTE FUNCTION keep()"]


def read(url: str, model: str) -> list[tuple[Any, list[list[Any]]]]:
    """The operations of a model in their order, and what the service said to each."""
    store = Store(url)
    found = store.read("SELECT body, said FROM archive WHERE model = ? ORDER BY seq", model)
    store.close()
    return [(unpacked(bytes(body)), msgspec.msgpack.decode(bytes(said))) for body, said in found]


class Alone:
    """The library without a service, given the operations of an archive.

    It knows rows by their tickets only, so that it cannot take an id for one.
    """

    def __init__(self, book: Book) -> None:
        made = desk_of(new_model("friends", "m")).session.learner
        self.session, self.book = lasec.Session(made), book
        self.tickets: dict[Any, int] = {}  # by the ids of rows
        self.ids: dict[int, Any] = {}
        self.asked: dict[int, Any] = {}
        self.told: dict[int, Any] = {}
        self.canceled: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.learned = 0

    def carry_out(self, operation: Any, said: list[list[Any]]) -> None:
        """Call the library as the operation says, and compare with what the service said."""
        if isinstance(operation, Ask | Learn):
            rows = operation.rows.matrix(WIDTH)
            given = operation.ids if isinstance(operation, Ask) else operation.labels
            for x, name, kept in zip(rows, given, said, strict=True):
                (self._ask if isinstance(operation, Ask) else self._learn)(x, name, kept)
            return
        named = operation.answers if isinstance(operation, Tell) else operation.questions
        for one, kept in zip(named, said, strict=True):
            if kept:  # it was not refused
                (self._tell if isinstance(operation, Tell) else self._cancel)(one, kept)

    def _ask(self, x: Any, name: Any, kept: list[Any]) -> None:
        decision = self.session.ask(x)
        self.counts["twice"] += name in self.tickets
        self.counts["foreign"] += self.book.rows.get(name) != x.tolist()
        self.counts["differ"] += not kept or kept[0] != decision.ticket
        self.tickets[name], self.ids[decision.ticket] = decision.ticket, name
        self.asked[decision.ticket] = decision

    def _learn(self, x: Any, label: str, kept: list[Any]) -> None:
        self.session.learn(x, label)
        self.learned += 1

    def _tell(self, answer: Any, kept: list[Any]) -> None:
        ticket, label = kept[0], kept[4]
        number = self.ids[ticket]
        if answer.by == "thief":
            self.counts["without_lease"] += 1
        else:
            meant = (number, answer.by) in self.book.labels and label == label_of(number)
            self.counts["wrong_row"] += not meant
        self.counts["twice"] += ticket in self.told
        try:
            self.told[ticket] = self.session.tell(ticket, label, by=answer.by)
        except (LookupError, ValueError):
            self.counts["differ"] += 1

    def _cancel(self, question: Ref, kept: list[Any]) -> None:
        ticket = self.tickets[question.id] if question.ticket is None else question.ticket
        self.counts["wrong_row"] += self.ids[ticket] not in self.book.given_up
        try:
            self.session.cancel(ticket)
        except (LookupError, ValueError):
            self.counts["differ"] += 1
        self.canceled.add(ticket)

    def against(self, sent: Sent) -> int:
        """Compare with what was acknowledged; gives how many labels were only learned."""
        learned = 0
        for what, body, reply in sent:
            for decision in reply["decisions"] if what == "ask" else ():
                self._decided(decision)
            for outcome in reply["outcomes"] if what == "tell" else ():
                self._heard(body["row"], outcome)
            if what == "answer":
                self.counts["lost"] += not self._settled(body["row"])
            learned += len(reply["outcomes"]) if what == "learn" else 0
        return learned

    def _decided(self, decision: dict[str, Any]) -> None:
        mine = self.asked.get(self.tickets.get(decision["id"], -1))
        self.counts["lost"] += mine is None
        same = mine is None or _fields(mine) == [decision.get(name) for name in _FIELDS]
        self.counts["differ"] += not same

    def _heard(self, number: int, outcome: dict[str, Any]) -> None:
        if "error" in outcome:  # somebody else must have settled the question
            self.counts["refused"] += not self._settled(number)
            return
        ticket = outcome["ticket"]
        self.counts["wrong_row"] += self.ids.get(ticket) != number
        heard = self.told.get(ticket)
        self.counts["lost"] += heard is None
        self.counts["differ"] += heard is not None and heard.correct != outcome["correct"]

    def _settled(self, number: int) -> bool:
        ticket = self.tickets.get(number, -1)
        return ticket in self.told or ticket in self.canceled or number in self.book.given_up

    def queue(self, questions: list[dict[str, Any]]) -> None:
        """Compare with the questions that the service lists."""
        for one in questions:
            told = one["ticket"] in self.told
            right = told == (one["status"] in ("answered", "settled"))
            self.counts["queue"] += not right or one["id"] != str(self.ids[one["ticket"]])


_FIELDS = ("ticket", "prediction", "margin", "query_probability", "asked")
COUNTS = ("lost", "wrong_row", "without_lease", "refused", "twice", "differ", "foreign", "queue")


def _fields(decision: Any) -> list[Any]:
    return [decision.ticket, decision.label, decision.margin, decision.propensity, decision.asked]


def compared(
    url: str, book: Book, senders: list[Sender], questions: list[dict[str, Any]], exported: bytes
) -> dict[str, Any]:
    """What was acknowledged against the archive, and the archive against the library alone."""
    alone = Alone(book)
    for operation, said in read(url, "m"):
        alone.carry_out(operation, said)
    sent = [given for sender in senders for given in sender.acknowledged]
    alone.counts["twice"] += abs(alone.learned - alone.against(sent))
    alone.queue(questions)
    again = lasec.Session.from_bytes(exported)
    one, other = again.accuracy(), alone.session.accuracy()
    return {
        "operations": len(sent), "rows": len(alone.asked), "labels": len(alone.told),
        "retries": sum(sender.retries for sender in senders),
        "changed": sum(sender.changed for sender in senders),
        **{name: alone.counts[name] for name in COUNTS},
        "bit_for_bit": again.learner.to_bytes() == alone.session.learner.to_bytes(),
        "accuracy_differs_by": max(abs(one.low - other.low), abs(one.high - other.high)),
    }  # fmt: skip


def lost(url: str, attackers: list[Attacker]) -> int:
    """How many decisions and labels that the hostile tenant heard of are not in the archive."""
    missing = 0
    for _, model in [key for key in MODELS if key[0] == "hostile"]:
        said = [kept for operation, all_said in read(url, model) for kept in all_said
                if kept and isinstance(operation, Ask | Tell)]  # fmt: skip
        decided = {(kept[0], kept[2]) for kept in said if kept[3] is not None}
        told = {(kept[0], kept[4]) for kept in said if kept[3] is None}
        for attacker in attackers:
            missing += sum(
                (one["ticket"], one["query_probability"]) not in decided
                for name, one in attacker.decisions if name == model
            )  # fmt: skip
            missing += sum(
                (one["ticket"], one["label"]) not in told
                for name, one in attacker.labels if name == model
            )  # fmt: skip
    return missing
