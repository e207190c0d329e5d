"""Questions to people elsewhere and their answers back: each is told once, whatever is repeated."""

from __future__ import annotations

import csv
import json
import signal
import time

import httpx
import numpy as np
import pytest
import typer.testing

from lasec.cli.app import app
from lasec.client import Client
from lasec.errors import TableError
from lasec.handover.exchange import Answer, Done, Shown, Unreadable, exchange, repeat
from lasec.handover.files import Files
from lasec.handover.hints import Hints


@pytest.fixture(scope="module")
def client(server):
    with Client(server.url, server.owner) as made:
        yield made


def filled(client, name, rows=6, **asking):
    model = client.create(
        name, ["ham", "spam"], features=3, rate=1.0, seed=1, asking={"grace": 0.2} | asking
    )
    X = np.random.default_rng(0).normal(size=(rows, 3))
    items = [{"text": f"mail {i}", "label": "ours"} for i in range(rows)]
    asked = model.ask_many(X, ids=[f"m-{i}" for i in range(rows)], items=items)
    return model, [decision.ticket for decision in asked]


def told(server, name):
    """The labels that the journal has, by ticket: each must be there once."""
    reply = httpx.get(
        f"{server.url}/v1/models/{name}/journal",
        headers={"Authorization": f"Bearer {server.owner}"},
    )
    lines = [json.loads(line) for line in reply.text.splitlines()]
    found = [(line["ticket"], line["label"]) for line in lines if line.get("label")]
    assert len(dict(found)) == len(found)
    return dict(found)


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


class Wall:
    """A place in memory."""

    people = "wall/"

    def __init__(self):
        self.answers, self.shown = [], []

    def look(self, questions):
        return list(self.answers)

    def show(self, questions):
        self.shown = [question.ticket for question in questions]
        return Shown(len(self.shown))


def test_questions_are_listed_in_pages_to_those_who_may_see_them(client, server):
    model, tickets = filled(client, "pages")
    path = f"{server.url}/v1/models/pages/questions"

    def page(key=server.owner, **query):
        return httpx.get(path, params=query, headers={"Authorization": f"Bearer {key}"})

    first = page(limit=4).json()["questions"]
    rest = page(limit=4, after=first[-1]["ticket"]).json()["questions"]
    assert [question["ticket"] for question in first + rest] == tickets
    assert first[0] == {
        "ticket": tickets[0], "id": "m-0", "item": {"text": "mail 0", "label": "ours"},
        "status": "open", "wanted": 1, "answers": [],
    }  # fmt: skip
    for wrong in ({"limit": 0}, {"limit": 1_001}, {"after": 2**70}, {"after": "x"}, {"closed": -1}):
        assert page(**wrong).status_code == 422, wrong
    assert page(client.new_key("someone")).status_code == 403
    model.tell(tickets[0], "ham")
    assert [question.ticket for question in model.questions()] == tickets[1:]
    assert model.questions(closed=60.0)[0].status == "answered"


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_file_is_read_again_and_again_and_told_once(client, server, tmp_path, suffix):
    name = f"file-{suffix}"
    model, tickets = filled(client, name, skips=1)
    asked, answered = tmp_path / f"q.{suffix}", tmp_path / f"a.{suffix}"
    assert exchange(model, Files(asked)).shown == 6
    rows = _read(asked)
    assert [int(row["ticket"]) for row in rows] == tickets
    assert [row["text"] for row in rows] == [f"mail {i}" for i in range(6)]
    assert not any(row.get("label") for row in rows)  # a column of ours does not answer for people
    answers = [
        {"ticket": tickets[0], "label": "ham", "by": "ann"}, {"id": "m-1", "label": "spam"},
        {"id": "m-2", "label": "?"}, {"id": "m-3", "label": "eggs"}, {"id": "none", "label": "ham"},
        {"id": "m-4", "label": ""}, {"id": "m-0", "label": "spam", "by": "ann"},
    ]  # fmt: skip
    _write(answered, answers)
    done = exchange(model, Files(asked, answered))
    assert done == Done(answered=2, dont_know=1, refused=2, shown=3)
    until(lambda: model.budget()["answered"] == 2)
    for _ in range(3):
        assert exchange(model, Files(asked, answered)) == Done(refused=2, shown=3)
    server.stop(signal.SIGKILL)
    server.start()
    assert exchange(model, Files(asked, answered)) == Done(refused=2, shown=3)
    _write(answered, [{"ticket": tickets[0], "label": "ham", "by": "ann"}])
    assert exchange(model, Files(asked, answered)) == Done(late=1, shown=3)
    assert told(server, name) == {tickets[0]: "spam", tickets[1]: "spam"}
    assert model.budget()["lost"] == 1


def _read(path):
    if path.suffix == ".csv":
        return list(csv.DictReader(path.read_text().splitlines()))
    return [json.loads(line) for line in path.read_text().splitlines()]


def _write(path, rows):
    if path.suffix != ".csv":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    with path.open("w") as file:
        writer = csv.DictWriter(file, ["ticket", "id", "label", "by"])
        writer.writeheader()
        writer.writerows(rows)


def test_what_is_changed_or_gone_in_time_is_taken_back_and_later_only_counted(client, server):
    model, tickets = filled(client, "changed", rows=3, grace=1.0)
    wall = Wall()
    wall.answers = [Answer(t, "wall/1", "ham") for t in tickets]
    model.answer(tickets[2], "spam", by="elsewhere")  # not one of the wall's people
    assert exchange(model, wall).answered == 3
    wall.answers[0] = Answer(tickets[0], "wall/1", "spam")
    del wall.answers[1]
    done = exchange(model, wall)
    assert (done.answered, done.taken_back) == (1, 1)
    assert wall.shown == [tickets[1]]
    until(lambda: model.budget()["answered"] == 2)
    assert exchange(model, wall) == Done(shown=1)
    wall.answers[0] = Answer(tickets[0], "wall/1", "ham")
    wall.answers.append(Answer(tickets[0], "wall/2", "spam"))
    assert exchange(model, wall) == Done(late=2, shown=1)
    assert told(server, "changed") == {tickets[0]: "spam", tickets[2]: "spam"}


def test_the_loop_goes_on_with_what_can_be_read_and_says_what_it_left_out(client, server):
    model, tickets = filled(client, "unreadable", rows=2)
    wall, said = Wall(), []
    wall.answers = [Unreadable("ticket 7: no time"), Answer(tickets[0], "wall/1", "ham")]
    looks = iter([None, TableError("all of it is nonsense"), None, KeyboardInterrupt()])

    class Damaged(Wall):
        def look(self, questions):
            if (flaw := next(looks)) is not None:
                raise flaw
            return list(wall.answers)

    with pytest.raises(KeyboardInterrupt):
        repeat(model, Damaged(), wait=lambda: time.sleep(0.5), say=said.append)
    left_out = {"unreadable": 1, "why": "ticket 7: no time"}
    first, second, third = said
    assert first == Done(answered=1, shown=1, **left_out)
    assert second == "unreadable: all of it is nonsense"
    assert third == Done(shown=1, **left_out)
    assert told(server, "unreadable") == {tickets[0]: "ham"}


def test_files_that_make_no_sense_are_refused(tmp_path):
    broken = tmp_path / "a.jsonl"
    for text in ("{", '["a"]', '{"label": "ham"}', '{"ticket": "m-1", "label": "ham"}'):
        broken.write_text(text)
        with pytest.raises(TableError):
            Files(answers=broken).look([])
    with pytest.raises(TableError, match="two files"):
        Files(broken, broken)


def test_the_command(client, server, tmp_path):
    filled(client, "command", rows=2)
    words = ["handover", "file", "command", "--url", server.url, "--key", server.owner]
    asked = str(tmp_path / "q.json")
    done = typer.testing.CliRunner().invoke(app, [*words, "--questions", asked])
    assert (done.exit_code, json.loads(done.stdout)["shown"]) == (0, 2)
    for wrong in (words, [*words[:-1], "lasec_wrong", "--questions", asked]):
        refused = typer.testing.CliRunner().invoke(app, wrong)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


def test_a_hint_ends_the_waiting():
    hints = Hints(every=30.0, port=0)
    where = f"http://127.0.0.1:{hints.port}/"
    assert httpx.post(where, json={"action": "ANNOTATION_CREATED"}).status_code == 204
    began = time.monotonic()
    hints.wait()
    assert time.monotonic() - began < 5.0
    hints.close()
