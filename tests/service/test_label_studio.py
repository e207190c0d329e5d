"""People answer in Label Studio, change, skip and delete, while everything is killed in between.

Rows come in four groups. Each of them is answered in one of the ways of ``WAYS``, chosen at random;
Label Studio, the adapter and the service are killed at random moments, and the webhook is dead half
of the time. At the end the journal of the service says what was told.
"""

from __future__ import annotations

import collections
import json
import random
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from experiments.serving.databases import free_port
from experiments.serving.process import Process, lasec, owner_key, serve

from lasec.client import Client, Model
from lasec.service.operations import Tell, unpacked
from service.studio import FIRST, Hook, Person, environment, started

HOLD, GRACE, EVERY = 6.0, 1.0, 4.0  # seconds
GROUPS = 4
LABELS = ("ham", "spam")
WAYS = {  # what people do with a question, and how often
    "answer": 60, "change": 10, "skip": 8, "skip, then answer": 5, "answer, then delete": 4,
    "delete, then answer otherwise": 5, "delete the task": 8,
}  # fmt: skip
FAULTS = (
    "told twice", "not told", "another label told", "another status", "questions without a task",
    "questions with two tasks",
)  # fmt: skip
LATE = 20  # answers that are changed, and given by another person, after they were told


class Wish(NamedTuple):
    """What a person did in the end: the label (None if the question has none), and how surely.

    It is not sure where Label Studio was down between an answer and its change, for so long that
    the answer could be told.
    """

    way: str
    label: str | None
    first: str | None
    sure: bool


class Crowd:
    """Two people who answer every question once, each in a way that is drawn."""

    def __init__(self, people: tuple[Person, Person], project: int, seed: int) -> None:
        self._people, self._project = people, project
        self._draw = random.Random(seed)
        self.done: dict[int, Wish] = {}
        self._again: set[int] = set()

    def work(self, wanted: int) -> None:
        """Answer until so many questions are done."""
        while len(self.done) < wanted:
            for task in self._people[0].tasks(self._project):
                ticket = int(task["data"]["lasec"].partition("/")[2])
                if ticket not in self.done:
                    self._handle(ticket, task["id"])
            time.sleep(0.2)

    def _handle(self, ticket: int, task: int) -> None:
        """Do something with a question; a task that is gone comes back, and is handled then."""
        person, draw = self._people[ticket % 2], self._draw
        label, other = draw.sample(LABELS, 2)
        (way,) = draw.choices(list(WAYS), list(WAYS.values()))
        if ticket in self._again:
            way = "answer"
        if way == "delete the task":
            person.delete("tasks", task)
            self._again.add(ticket)
            return
        annotation = person.answer(task, None if way.startswith("skip") else label)
        began = time.monotonic()
        if annotation is None:
            return
        last = self._second(person, way, task, annotation, other, label)
        sure = time.monotonic() - began < HOLD - 1.0
        way = "delete the task" if ticket in self._again else way
        self.done[ticket] = Wish(way, last, None if way.startswith("skip") else label, sure)

    def _second(
        self, person: Person, way: str, task: int, annotation: int, other: str, label: str
    ) -> str | None:
        """What follows the first answer, shortly after it; gives the label in the end."""
        if way == "skip":
            return None
        if way == "answer":
            return label
        time.sleep(self._draw.uniform(0.1, 2.0))
        if way in ("change", "skip, then answer"):
            person.change(annotation, other)
            return other
        person.delete("annotations", annotation)
        if way == "answer, then delete":
            return None
        person.answer(task, other)
        return other

    def late(self, closed: list[int]) -> int:
        """Change the answers of closed questions, and answer as another person; gives how many."""
        count = 0
        for task in self._people[0].tasks(self._project):
            ticket = int(task["data"]["lasec"].partition("/")[2])
            if ticket in closed[:LATE] and task["annotations"]:
                wrong = LABELS[self.done[ticket].label == LABELS[0]]
                self._people[ticket % 2].change(task["annotations"][-1]["id"], wrong)
                self._people[1 - ticket % 2].answer(task["id"], wrong)
                count += 2
        return count


class Killer(threading.Thread):
    """One that kills parts at random moments; Label Studio more seldom, as it starts slowly."""

    def __init__(self, parts: dict[str, Process], seed: int) -> None:
        super().__init__(daemon=True)
        self._parts, self._draw = parts, random.Random(seed)
        self._ended = threading.Event()

    def run(self) -> None:
        """Kill until told to stop."""
        while not self._ended.wait(self._draw.uniform(1.0, 6.0)):
            (name,) = self._draw.choices(list(self._parts), [2, 4, 4])
            self._parts[name].again()

    def stop(self) -> None:
        """Kill no more."""
        self._ended.set()
        self.join()


@pytest.mark.long
def test_every_answer_is_told_once_whatever_is_killed(option, tmp_path):
    rows, out = option("--rows"), option("--out") or tmp_path
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    found = {"rows": rows, **_tried(rows, tmp_path, option("--label-studio"), seed=0)}
    found |= {"seconds": round(time.monotonic() - began)}
    (out / "label_studio.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "label_studio.md").write_text(table(found))
    assert {name: found[name] for name in FAULTS if found[name]} == {}
    assert found["told"] > rows // 2


def _tried(rows: int, folder: Path, python: str | None, seed: int) -> dict[str, Any]:
    """Start all parts, let people work, and compare."""
    studio, url = started(environment(python, folder), folder / "studio")
    people = Person(url, FIRST), Person(url, "bo@example.org")
    port = free_port()
    hook = Hook(f"http://127.0.0.1:{port}/")
    project = people[0].project(hook.url)
    service, client = _served(folder)
    log = folder / "adapter.log"
    words = ("mails", "--project", project, "--hold", HOLD, "--every", EVERY, "--listen", port)
    adapter = Process(
        lasec("handover", "label-studio", *words), log, LASEC_URL=client.url,
        LASEC_KEY=client.key, LABEL_STUDIO_URL=url, LABEL_STUDIO_TOKEN=people[0].token,
    )  # fmt: skip
    parts = {"Label Studio": studio, "adapter": adapter, "lasec serve": service}
    crowd = Crowd(people, project, seed)
    try:
        late = _fire(rows, crowd, parts, client.model, seed)
        found = _compared(folder / "store.db", crowd, people[0].tasks(project), client.model)
    finally:
        for part in parts.values():
            part.end(signal.SIGKILL)
        hook.close()
    return found | {
        "late answers": late, "late answers, as the adapter counts": _counted(log),
        "kills": {name: part.kills for name, part in parts.items()},
        "hooks": {"passed": hook.passed, "dropped": hook.dropped},
    }  # fmt: skip


def table(made: dict[str, Any]) -> str:
    """The figures for a page.

    >>> print(table({"told": 3, "kills": {"adapter": 1, "lasec serve": 2}}), end="")
    | | |
    |---|---|
    | told | 3 |
    | kills | adapter: 1; lasec serve: 2 |
    """
    lines = ["| | |", "|---|---|"]
    for name, value in made.items():
        parts = value.items() if isinstance(value, dict) else ()
        shown = "; ".join(f"{part}: {count}" for part, count in parts) or value
        lines.append(f"| {name} | {shown} |")
    return "\n".join(lines) + "\n"


class Served(NamedTuple):
    """Where the service is, a key of its owner, and the model."""

    url: str
    key: str
    model: Model


def _served(out: Path) -> tuple[Process, Served]:
    """``lasec serve`` with a model; the journal is also kept where no snapshot deletes it."""
    store, port, log = out / "store.db", free_port(), out / "serve.log"
    process = serve(str(store), port, log)
    with sqlite3.connect(store) as database:
        database.execute("CREATE TABLE archive AS SELECT * FROM journal")
        copy = "INSERT INTO archive VALUES (NEW.tenant, NEW.model, NEW.seq, NEW.body, NEW.said)"
        database.execute(f"CREATE TRIGGER keep AFTER INSERT ON journal BEGIN {copy}; END")
    database.close()
    url, key = f"http://127.0.0.1:{port}", owner_key(log)
    model = Client(url, key, patience=60.0).create(  # it is killed
        "mails", LABELS, features=4, rate=1.0, seed=7, alarms=False,
        asking={"grace": GRACE, "skips": 1},
    )  # fmt: skip
    return process, Served(url, key, model)


def _fire(rows: int, crowd: Crowd, parts: dict[str, Process], model: Model, seed: int) -> int:
    """Ask about rows and let people answer under fire; then in peace; gives the late answers."""
    X = np.random.default_rng(seed).normal(size=(rows, 4))
    killer = Killer(parts, seed)
    killer.start()
    for group in np.array_split(np.arange(rows), GROUPS):
        items = [{"text": f"mail {at}"} for at in group]
        model.ask_many(list(X[group]), ids=[f"mail-{at}" for at in group], items=items)
        crowd.work(int(group[-1]) + 1)
    killer.stop()
    _settle(model, crowd)
    closed = [q.ticket for q in model.questions(closed=1e9) if q.status == "answered"]
    late = crowd.late(closed)
    time.sleep(HOLD + GRACE + 3 * EVERY)
    return late


def _settle(model: Model, crowd: Crowd) -> None:
    """Wait until no question is open that should not be, but not forever."""
    open_ = {t for t, wish in crowd.done.items() if wish.way == "answer, then delete"}
    for _ in range(120):
        if {question.ticket for question in model.questions()} <= open_:
            break
        time.sleep(0.5)
    time.sleep(HOLD + GRACE + EVERY)


def _compared(
    store: Path, crowd: Crowd, tasks: list[dict[str, Any]], model: Model
) -> dict[str, Any]:
    """What the journal says was told, against what people did."""
    told = _told(store)
    status = {question.ticket: question.status for question in model.questions(closed=1e9)}
    shown = collections.Counter(task["data"]["lasec"] for task in tasks)
    counts = collections.Counter[str]()
    for ticket, wish in crowd.done.items():
        heard = told.get(ticket, [])
        right = [wish.label] if wish.sure else [wish.label, wish.first]
        ended = "answered" if heard else "gone" if wish.way == "skip" else "open"
        counts["told twice"] += len(heard) > 1
        counts["not told"] += not heard and None not in right
        counts["another label told"] += any(label not in right for label in heard)
        counts["another status"] += status[ticket] != ended
        counts["not sure"] += not wish.sure
    tickets = {int(name.partition("/")[2]) for name in shown}
    return {
        "told": len(told), "told twice": counts["told twice"], "not told": counts["not told"],
        "another label told": counts["another label told"],
        "another status": counts["another status"],
        "questions without a task": len(crowd.done.keys() - tickets),
        "questions with two tasks": sum(count > 1 for count in shown.values()),
        "ways": dict(collections.Counter(wish.way for wish in crowd.done.values())),
        "changed too late to be sure": counts["not sure"],
        "answered, as the service counts": model.budget()["answered"],
    }  # fmt: skip


def _told(store: Path) -> dict[int, list[str]]:
    """The labels that the model has learned, by ticket, from the whole journal."""
    found: dict[int, list[str]] = {}
    database = sqlite3.connect(store)
    for body, said in database.execute("SELECT body, said FROM archive ORDER BY seq"):
        operation = unpacked(body)
        if isinstance(operation, Tell):
            for answer, kept in zip(operation.answers, msgspec.msgpack.decode(said), strict=True):
                if kept and answer.of.ticket is not None:
                    found.setdefault(answer.of.ticket, []).append(str(answer.label))
    database.close()
    return found


def _counted(log: Path) -> int:
    """The late answers that the adapter has counted at its last look."""
    lines = [line for line in log.read_text().splitlines() if line.startswith("{")]
    return int(json.loads(lines[-1])["late"])
