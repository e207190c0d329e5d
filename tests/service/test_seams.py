"""Where two parts of the service meet: ids and tickets, clocks and replay, tenants, leases."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import httpx
import numpy as np
import pytest

import lasec
from lasec.service import Service
from lasec.service.bodies import AskBody
from lasec.service.desks import Desk
from lasec.service.limits import Limits
from lasec.service.operations import Rows
from lasec.service.requests import remember
from lasec.service.writer import MORE, SLICE, Job, Room
from service.conftest import Server
from service.running import running

ROW = [1.0, 2.0, 3.0]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with running(str(tmp_path_factory.mktemp("seams") / "store.db")) as found:
        yield found


@contextmanager
def served(folder):
    """A server in a process of its own."""
    made = Server(folder)
    made.start()
    try:
        yield made
    finally:
        made.stop(signal.SIGKILL)
        made.http.close()


def wait_for(happens, seconds=20.0):
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.05)


def table(api, name, **settings):
    sample = [{"price": float(at)} for at in range(4)]
    return api.made(name=name, features=None, sample=sample, rate=1.0, **settings)


def learned(api, path):
    """The label that was learned for each ticket."""
    lines = api("GET", f"{path}/journal").text.splitlines()
    found = map(json.loads, lines)
    return {line["ticket"]: line["label"] for line in found if "label" in line}


# Ids and tickets


@pytest.mark.parametrize("kind", ["numbers", "cells"])
def test_a_whole_number_as_an_id_is_never_a_ticket(api, kind):
    if kind == "numbers":
        path, rows = api.made(name="ids", rate=1.0), [ROW] * 6
    else:
        path, rows = table(api, "ids-cells"), [{"price": 1.0}] * 6
    ids = [1, 2, 3, 4, 5, 6]  # their tickets are 0 to 5
    said = api("POST", f"{path}/ask", {"rows": rows, "ids": ids}).json()["decisions"]
    assert [d["ticket"] for d in said] == [0, 1, 2, 3, 4, 5]
    answers = [{"ticket": 2, "label": "spam"}, {"id": 2, "label": "ham"}]
    outcomes = api("POST", f"{path}/tell", {"answers": answers}).json()["outcomes"]
    assert [o["ticket"] for o in outcomes] == [2, 1]
    assert learned(api, path) == {2: "spam", 1: "ham"}
    gone = api("POST", f"{path}/cancel", {"questions": [{"id": 6}, {"ticket": 3}, {"id": 6}]})
    assert [o.get("canceled", False) for o in gone.json()["outcomes"]] == [True, True, False]
    left = api("GET", f"{path}/questions").json()["questions"]
    assert {q["ticket"]: q["id"] for q in left} == {0: "1", 4: "5"}


def test_an_annotator_answers_the_question_that_was_shown(api):
    path = api.made(name="shown", rate=1.0, asking={"grace": 0.0})
    ids = [1, 2, 3, 4, 5, 6]
    api("POST", f"{path}/ask", {"rows": [ROW] * 6, "ids": ids})
    ann = api.of("acme", "ann", "annotator")
    leased = ann("POST", f"{path}/lease", {"count": 6}).json()["questions"]
    shown = {q["ticket"]: q["item"]["id"] for q in leased}
    assert shown == {0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6}
    assert ann("POST", f"{path}/answers", {"ticket": 3, "label": "spam"}).status_code == 200
    wait_for(lambda: learned(api, path))
    assert learned(api, path) == {3: "spam"}
    assert 3 not in {q["ticket"] for q in api("GET", f"{path}/questions").json()["questions"]}


def test_erasing_a_number_erases_that_id_and_no_ticket(api):
    path = api.made(name="erased", rate=1.0)
    api("POST", f"{path}/ask", {"rows": [ROW] * 4, "ids": [1, 2, 3, 4]})
    assert api("DELETE", f"{path}/events/2").status_code == 204
    left = api("GET", f"{path}/questions").json()["questions"]
    assert [(q["ticket"], q["id"]) for q in left] == [(0, "1"), (2, "3"), (3, "4")]


def test_names_of_replies_do_not_meet(api):
    """The label of id 1 does not stand for that of ticket 1, nor of who is called None."""
    path = api.made(name="replies", rate=1.0, asking={"annotators": 3})
    api("POST", f"{path}/ask", {"rows": [ROW] * 2, "ids": [1, 2]})
    for answer in (
        {"id": 1, "label": "ham", "by": None}, {"ticket": 1, "label": "spam", "by": None},
        {"id": 1, "label": "spam", "by": "None"},
    ):  # fmt: skip
        (outcome,) = api("POST", f"{path}/tell", {"answers": [answer]}).json()["outcomes"]
        assert "error" not in outcome, outcome


def test_a_question_has_one_name_at_a_time(api):
    path = api.made(name="both", rate=1.0)
    api("POST", f"{path}/ask", {"rows": [ROW] * 2, "ids": [1, 2]})
    both = {"answers": [{"ticket": 0, "id": 2, "label": "ham"}]}
    (outcome,) = api("POST", f"{path}/tell", both).json()["outcomes"]
    assert "error" in outcome
    assert api("POST", f"{path}/cancel", {"questions": [{}]}).status_code == 422


# A request that fails


@pytest.mark.parametrize("rows", [[[1e308, 1e308, 1.0]], [[1e61, 0.0, 0.0], ROW]])
def test_a_viewer_cannot_end_the_server(tmp_path, rows):
    with served(tmp_path) as server:
        server.call("POST", "/v1/models", {
            "name": "m", "classes": ["a", "b"], "features": 3, "algorithm": "perceptron",
        })  # fmt: skip
        viewer = server.call("POST", "/v1/keys", {"name": "eve", "role": "viewer"})["key"]
        found = server.call("POST", "/v1/models/m/predict", {"rows": rows}, key=viewer)
        assert "beyond 1e+60" in found["predictions"][0]["error"]
        assert len(found["predictions"]) == len(rows)
        assert server.call("GET", "/v1/models/m")["rows"] == 0


def test_a_request_that_fails_is_undone_and_its_model_is_read_again(tmp_path, monkeypatch):
    with running(str(tmp_path / "store.db")) as api:
        path, other = api.made(rate=1.0), api.made(name="other")
        first = api("POST", f"{path}/ask", {"rows": [ROW], "ids": ["one"]}).json()
        model = api.service.models["acme", "m"]
        monkeypatch.setattr(model.desk.session.meter, "ask", lambda decision: 1 / 0)
        failed = api("POST", f"{path}/ask", {"rows": [ROW], "ids": ["two"]})
        assert failed.status_code == 500
        assert api("POST", f"{other}/ask", {"rows": [ROW]}).status_code == 200
        wait_for(lambda: api("GET", path).status_code == 200)
        assert api("POST", f"{path}/ask", {"rows": [ROW], "ids": ["one"]}).json() == first
        said = api("POST", f"{path}/ask", {"rows": [ROW], "ids": ["two"]}).json()
        assert [d["ticket"] for d in said["decisions"]] == [1]
        assert api("GET", f"{path}/budget").json()["open"] == 2
    with running(str(tmp_path / "store.db")) as again:
        assert again("GET", path).json()["rows"] == 2


def held(api, name, seed, grace=2.0, count=2):
    """A model whose questions a person has just answered."""
    path = api.made(name=name, algorithm="perceptron", seed=seed, asking={"grace": grace})
    api("POST", f"{path}/ask", {"rows": [ROW] * count})
    for ticket in range(count):
        answer = {"ticket": ticket, "label": "spam", "by": "ann"}
        assert api("POST", f"{path}/answers", answer).status_code == 200
    return path


def test_an_answer_that_a_model_cannot_learn_holds_no_other_model(tmp_path, monkeypatch):
    told = Desk.tell

    def fails(desk, answer):
        return 1 / 0 if desk.session.learner.seed == 1 else told(desk, answer)

    with running(str(tmp_path / "store.db")) as api:
        sound, failing = held(api, "sound", seed=2), held(api, "failing", seed=1)
        monkeypatch.setattr(Desk, "tell", fails)
        model, both = api.service.models["acme", "sound"], threading.Event()
        api.service.writer.submit(Job("other", lambda *_: both.wait(20)))
        time.sleep(2.5)  # both models have answers that are due
        both.set()
        wait_for(lambda: learned(api, sound) == {0: "spam", 1: "spam"})
        assert api.service.models["acme", "sound"] is model  # it was not read again
        assert not learned(api, failing)
        monkeypatch.undo()
        wait_for(lambda: learned(api, failing) == {0: "spam", 1: "spam"})


def test_answers_that_are_due_are_learned_a_slice_at_a_time(tmp_path, monkeypatch):
    tell, parts = Desk.tell, []

    def slow(desk, answer):
        until = time.thread_time() + SLICE / 2
        while time.thread_time() < until:
            pass
        return tell(desk, answer)

    with running(str(tmp_path / "store.db")) as api:
        path = held(api, "m", seed=1, grace=100.0, count=20)
        monkeypatch.setattr(Desk, "tell", slow)
        due = api.service._telling_due(api.service.models["acme", "m"])
        api.service.do_now(
            lambda tx, now, known: parts.append(due(tx, now + 100.0, known)) or parts[-1]
        )
        assert len(parts) == 6
        assert len(learned(api, path)) == 20


def test_a_thousand_models_that_are_set_aside_end_no_server(tmp_path):
    with served(tmp_path) as server:
        server.call("POST", "/v1/models", {
            "name": "m", "classes": ["a", "b"], "features": 3, "algorithm": "perceptron",
            "asking": {"grace": 1.0},
        })  # fmt: skip
        server.call("POST", "/v1/models/m/ask", {"rows": [ROW]})
        answer = {"ticket": 0, "label": "a", "by": "ann"}
        server.call("POST", "/v1/models/m/answers", answer)
        server.stop(signal.SIGKILL)
        with sqlite3.connect(server.store) as database:
            database.executemany(
                "INSERT INTO models VALUES ('default', ?, '{}', 'active', 0.0)",
                [(f"broken-{number}",) for number in range(1_100)],
            )
        database.close()
        server.start()
        wait_for(lambda: server.call("GET", "/v1/models/m/budget")["answered"] == 1)
        listed = server.call("GET", "/v1/models")["models"]
        assert sum(model["status"] == "set aside" for model in listed) == 1_100


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_a_model_that_is_deleted_while_it_is_read_again_stays_so(tmp_path, damaged, again):
    reading, go = threading.Event(), threading.Event()

    def at(point):
        if point == "replay" and reading.is_set() is False and api is not None:
            reading.set()
            assert go.wait(20)
            if damaged:
                raise ValueError("damaged")

    api = None
    with running(str(tmp_path / "store.db"), at=at) as found:
        path = found.made(algorithm="perceptron", rate=None)
        model, api = found.service.models["acme", "m"], found
        api.service.do_now(lambda tx, now, known: api.service._in_doubt([model]))
        assert reading.wait(20)
        assert api("DELETE", path).status_code == 204
        if again:
            api.made(algorithm="perceptron", features=2)
        go.set()
        wait_for(lambda: not api.service._doubtful)
        assert not api.service.aside
        if again:
            assert api("GET", path).json()["features"] == 2
        else:
            assert api("GET", path).status_code == 404


# Clocks and replay


def test_a_row_from_the_future_and_a_crash(tmp_path):
    """What counts as the future depends on the journal, not on when the journal is replayed."""
    with served(tmp_path) as server:
        server.call("POST", "/v1/models", {
            "name": "t", "classes": ["a", "b"], "features": 2, "labels_per_day": 20, "seed": 1,
        })  # fmt: skip
        path, rng = "/v1/models/t", np.random.default_rng(0)
        for ahead in (-5.0, -4.0, 3_601.5, -2.0, 3_599.0, 1e9, -1.0):
            rows = rng.normal(size=(3, 2)).tolist()
            server.call("POST", f"{path}/ask", {"rows": rows, "times": [time.time() + ahead] * 3})
        said = server.call("GET", f"{path}/budget")
        server.stop(signal.SIGKILL)
        time.sleep(3.0)  # by then the row 3,601.5 s ahead is within the hour
        server.start()
        again = server.call("GET", f"{path}/budget")
        assert {k: again[k] for k in ("rows", "asked")} == {k: said[k] for k in ("rows", "asked")}
        server.call("POST", f"{path}/ask", {"rows": rows})


def test_a_clock_that_goes_back_gives_no_labels_away_and_loses_no_question(tmp_path, monkeypatch):
    """An hour back and forth again: the journal keeps each reading."""
    shift, read = [0.0], time.time
    monkeypatch.setattr("time.time", lambda: read() + shift[0])
    store, rng = str(tmp_path / "store.db"), np.random.default_rng(0)

    def asked(api):
        rows = rng.normal(size=(50, 3)).tolist()
        return api("POST", "/v1/models/m/ask", {"rows": rows}).json()["decisions"]

    with running(store) as api:
        path = api.made(labels_per_day=30, asking={"grace": 0.0})
        for _ in range(6):
            asked(api)
        before = api("GET", f"{path}/budget").json()
        ann = api.of("acme", "ann", "annotator")
        (held,) = ann("POST", f"{path}/lease", {"count": 1}).json()["questions"]
        shift[0] = -3_600.0
        for _ in range(6):
            asked(api)
        spent = api("GET", f"{path}/budget").json()
        assert spent["asked"] - before["asked"] <= 4  # 1.25 an hour, and none of them twice
        (other,) = api.of("acme", "bob", "annotator")("POST", f"{path}/lease", {"count": 1}).json()[
            "questions"
        ]
        assert other["ticket"] != held["ticket"]
        given = {"ticket": held["ticket"], "label": "spam"}
        assert ann("POST", f"{path}/answers", given).status_code == 200
        wait_for(lambda: learned(api, path) == {held["ticket"]: "spam"})
        known = {
            name: api("GET", f"{path}/budget").json()[name] for name in ("rows", "asked", "open")
        }
        bytes_before = api.service.models["acme", "m"].desk.session.to_bytes()
    with sqlite3.connect(store) as database:  # so that the journal is replayed
        database.execute("DELETE FROM snapshots WHERE seq = (SELECT max(seq) FROM snapshots)")
    database.close()
    shift[0] = 0.0
    with running(store) as api:
        again = api("GET", f"{path}/budget").json()
        assert {name: again[name] for name in known} == known
        assert api.service.models["acme", "m"].desk.session.to_bytes() == bytes_before
        asked(api)


def test_a_row_dated_ahead_makes_no_question_older(api):
    path = api.made(name="ahead", labels_per_day=1_000_000, max_age=600.0)
    for _ in range(3):
        api("POST", f"{path}/ask", {"rows": [ROW] * 5})
    waiting = api("GET", f"{path}/budget").json()["open"]
    assert waiting
    api("POST", f"{path}/ask", {"rows": [ROW], "times": [time.time() + 3_590.0]})
    assert api("GET", f"{path}/budget").json()["open"] >= waiting


def test_a_file_brings_its_budget_by_time(api):
    budget = lasec.queries.Budgeted.every("1d", labels=50)
    session = lasec.Session(lasec.Tracker(3, budget=budget, seed=0), classes=["ham", "spam"])
    made = api("PUT", "/v1/models/brought/file", session.to_bytes())
    assert made.status_code == 200, made.text
    asked = {"rows": [ROW, ROW], "times": [time.time(), None]}
    said = api("POST", "/v1/models/brought/ask", asked).json()["decisions"]
    assert [d["ticket"] for d in said] == [0, 1]


def test_a_file_brings_no_rows_that_nobody_was_asked_about(api):
    """No limit would count them, and nothing would erase them."""
    learner = lasec.Tracker(3, rate=0.01, seed=0)
    session = lasec.Session(learner, classes=["ham", "spam"], remember=2**31)
    for at in range(50):
        session.ask(ROW, id=f"private {at}")
    assert session.rows
    made = api("PUT", "/v1/models/remembers/file", session.to_bytes())
    assert made.status_code == 200, made.text
    ids = [f"later {at}" for at in range(50)]
    api("POST", "/v1/models/remembers/ask", {"rows": [ROW] * 50, "ids": ids})
    kept = lasec.Session.from_bytes(api("GET", "/v1/models/remembers/file").content)
    assert (kept.remember, dict(kept.rows)) == (0, {})


def test_a_server_that_is_told_to_stop_keeps_snapshots(tmp_path):
    with served(tmp_path) as server:
        server.call("POST", "/v1/models", {"name": "m", "classes": ["a", "b"], "features": 3})
        for _ in range(3):
            server.call("POST", "/v1/models/m/ask", {"rows": [ROW]})
        process = server.process
        server.stop(signal.SIGTERM)
        assert process.returncode == 0
        with sqlite3.connect(server.store) as database:
            assert database.execute("SELECT max(seq) FROM snapshots").fetchone() == (3,)
        database.close()


def test_a_snapshot_is_written_in_pieces_and_read_when_it_has_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("lasec.service.model.PIECE", 1_000)
    store = str(tmp_path / "store.db")
    with running(store) as api:
        api.made()
    with running(store) as api:
        said = api("POST", "/v1/models/m/ask", {"rows": [ROW] * 20}).json()["decisions"]
    with sqlite3.connect(store) as database:
        last = "SELECT max(seq) FROM snapshots"
        (pieces,) = database.execute(
            f"SELECT pieces FROM snapshots WHERE seq = ({last})"
        ).fetchone()
        assert pieces > 5
        database.execute(f"DELETE FROM snapshots WHERE piece = pieces - 1 AND seq = ({last})")
    database.close()
    with running(store) as api:
        again = api("POST", "/v1/models/m/ask", {"rows": [ROW]}).json()["decisions"]
    assert again[0]["ticket"] == said[-1]["ticket"] + 1


# What cannot be made


def test_a_budget_that_the_algorithm_would_not_hold_is_refused(api):
    given = {"name": "w", "classes": ["ham", "spam"], "features": 3, "algorithm": "lasec"}
    for budget in ({"labels_per_day": 20}, {"rate": 0.1}, {"audit": 0.5}, {"max_open": 5}):
        found = api("POST", "/v1/models", given | budget)
        assert found.status_code == 422
        assert "has no label budget" in found.json()["detail"]


def test_a_learner_without_classes_is_refused(api):
    found = api("PUT", "/v1/models/bare/file", lasec.Tracker(3, seed=0).to_bytes())
    assert found.status_code == 422
    assert "classes" in found.json()["detail"]


# Tenants and limits


def test_no_question_is_opened_past_the_limits(tmp_path):
    limits = Limits(models=2, open=20, bytes=10**9)
    with running(str(tmp_path / "store.db"), limits=limits) as api:
        path = api.made(rate=1.0)
        for _ in range(40):
            found = api("POST", f"{path}/ask", {"rows": [ROW]})
        assert found.status_code == 409
        assert "20 questions are open" in found.json()["detail"]
        assert api("GET", f"{path}/budget").json()["open"] == 20
        api("POST", f"{path}/cancel", {"questions": [{"ticket": 3}]})
        assert api("POST", f"{path}/ask", {"rows": [ROW]}).status_code == 200
        api.made(name="second")
        third = {"name": "third", "classes": ["a", "b"], "features": 3}
        assert api("POST", "/v1/models", third).status_code == 409
        assert api("DELETE", "/v1/models/second").status_code == 204
        assert api("POST", "/v1/models", third).status_code == 200
        other = api.of("other", "owner", "owner")
        assert other("POST", "/v1/models", third).status_code == 200


def test_rows_that_wait_for_labels_have_a_limit_of_bytes(tmp_path):
    wide = 1_000
    with running(str(tmp_path / "store.db"), limits=Limits(model=400_000)) as api:
        path = api.made(features=wide, algorithm="perceptron")
        rows = np.ones((10, wide)).tolist()
        for _ in range(10):  # 80 kB each
            found = api("POST", f"{path}/ask", {"rows": rows})
        assert found.status_code == 409
        assert "memory" in found.json()["detail"]
        assert api("DELETE", f"{path}/events/none").status_code == 204  # makes a snapshot


def test_a_model_is_deleted_with_all_that_is_kept_of_it(tmp_path):
    with running(str(tmp_path / "store.db")) as api:
        path = api.made(rate=1.0)
        kept = api.made(name="kept", rate=1.0)
        for each in (path, kept):
            api("POST", f"{each}/ask", {"rows": [ROW] * 700, "ids": list(range(700))})
            api("POST", f"{each}/lease", {"count": 3, "by": "ann"})
            api("POST", f"{each}/answers", {"ticket": 0, "label": "ham", "by": "ann"})
        assert api("DELETE", path).status_code == 204
        assert api("GET", path).status_code == 404
        assert api("DELETE", path).status_code == 404
        for table in ("journal", "snapshots", "replies", "questions", "leases", "answers"):
            found = api.service.store.read(f"SELECT DISTINCT model FROM {table}")
            assert found == [("kept",)], table
        assert api("GET", f"{kept}/budget").json()["open"] == 700
        api.made(rate=1.0)


def test_a_deletion_that_was_cut_short_goes_on_at_the_next_start(tmp_path):
    url = str(tmp_path / "store.db")
    with running(url) as api:
        path = api.made(rate=1.0)
        api("POST", f"{path}/ask", {"rows": [ROW] * 5})
    with sqlite3.connect(url) as database:
        database.execute("UPDATE models SET status = 'deleted'")
    database.close()
    with running(url) as api:
        wait_for(lambda: not api.service.store.read("SELECT 1 FROM models"))
        assert not api.service.store.read("SELECT 1 FROM questions")


def test_a_large_request_lets_others_have_their_turn(tmp_path):
    """And what it is sent again for after a crash is what it was."""
    with running(str(tmp_path / "store.db")) as api:
        wide = 200
        path = api.made(features=wide)
        other = api.of("other", "owner", "owner")
        small = other.made(name="small", algorithm="perceptron")
        rng = np.random.default_rng(0)
        rows = np.round(rng.normal(size=(600, wide)), 2).tolist()
        body = {"rows": rows, "labels": ["ham", "spam"] * 300}
        said = []
        with ExitStack() as stack:
            large = threading.Thread(
                target=lambda: said.append(api("POST", f"{path}/learn", body, idempotency_key="K"))
            )
            large.start()
            stack.callback(large.join)
            waits = []
            while large.is_alive():
                began = time.monotonic()
                assert other("POST", f"{small}/ask", {"rows": [ROW]}).status_code == 200
                waits.append(time.monotonic() - began)
        assert said[0].status_code == 200
        assert len(waits) > 10
        assert np.median(waits) < 0.2
        again = api("POST", f"{path}/learn", body, idempotency_key="K")
        assert again.json() == said[0].json()
        assert api("GET", path).json()["rows"] == 0
        session = lasec.Session.from_bytes(api("GET", f"{path}/file").content)
        assert session.learner.told == 600


def test_bodies_that_wait_have_a_limit_of_bytes(tmp_path):
    held, body = threading.Event(), {"rows": [ROW] * 4_000}  # 68 kB
    with running(str(tmp_path / "store.db"), room=Room(bytes=100_000)) as api, ExitStack() as stack:
        path, other = api.made(algorithm="perceptron"), api.of("other", "owner", "owner")
        small = other.made(algorithm="perceptron")
        bodies, ask, said = [], api.service.ask, []
        api.service.ask = lambda model, rows, body, key: (
            bodies.append(body) or ask(model, rows, body, key)
        )
        api.service.writer.submit(Job("nobody", lambda *_: held.wait(20)))
        for each, where in ((api, path), (other, small)):
            thread = threading.Thread(
                target=lambda e=each, w=where: said.append(e("POST", f"{w}/ask", body).status_code)
            )
            thread.start()
            stack.callback(thread.join)
        wait_for(lambda: api.service.writer.waiting >= 2)
        refused = api("POST", f"{path}/ask", body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert [len(each.rows) for each in bodies] == [0, 0, 0]  # packed rows are enough
        held.set()
        wait_for(lambda: said == [200, 200])
        assert api("POST", f"{path}/ask", body).status_code == 200


def test_requests_that_wait_cost_another_tenant_no_more_than_one_does(tmp_path):
    """Replies from before are looked up for those that are carried out."""
    with running(str(tmp_path / "store.db")) as api:
        api.made(algorithm="perceptron")
        api.of("other", "owner", "owner").made(name="small", algorithm="perceptron")
        waited(api.service, 1)
        both = [(waited(api.service, 1), waited(api.service, 80)) for _ in range(5)]
        few, many = zip(*both, strict=True)
        assert np.median(many) < 3 * np.median(few), (few, many)


def waited(service, count):
    """Seconds that an ask waits for, where another tenant has so many of 256 ids each."""
    rows, held = Rows.of_numbers(np.ones((256, 3))), threading.Event()
    ids = [[f"{count}-{time.monotonic_ns()}-{at}" for at in range(256)] for _ in range(count)]
    service.writer.submit(Job("nobody", lambda *_: held.wait()))
    model = service.models["acme", "m"]
    large = [Job("acme", service.ask(model, rows, AskBody([], ids=some))) for some in ids]
    row = Rows.of_numbers(np.ones((1, 3)))
    one = Job("other", service.ask(service.models["other", "small"], row, AskBody([])))
    for work in (*large, one):
        service.writer.submit(work)
    began = time.perf_counter()
    held.set()
    assert one.event.wait(60)
    seconds = time.perf_counter() - began
    model.status = "paused"  # the others are refused
    assert large[-1].event.wait(60)
    model.status = "active"
    return seconds


def test_nobody_waits_for_two_slices_of_others(tmp_path):
    """What comes while one slice of two large requests is carried out is the next thing done."""
    service = Service(str(tmp_path / "store.db"))
    service.start()
    ran, small = [], Small("small", lambda *_: ran.append("small"))

    def slices(name):
        def run(tx, now, known):
            ran.append(name)
            if ran.count(name) == 3 and name == "one":
                small.ran = ran
                service.writer.submit(small)
            return MORE if ran.count(name) < 6 else None

        return Job(name, run)

    large, held = [slices("one"), slices("two")], threading.Event()
    for work in (Job("nobody", lambda *_: held.wait()), *large):
        service.writer.submit(work)
    held.set()  # both wait by now
    assert all(work.event.wait(60) for work in (*large, small))
    service.stop()
    at = ran.index("small")
    assert (ran[:at].count("one"), small.done_at) == (3, at + 1), (ran, small.done_at)


class Small(Job):
    """A job that notes how many slices had been carried out when it had its reply."""

    def done(self, reply):
        self.done_at = len(self.ran)
        super().done(reply)


def test_replies_are_found_by_their_names(tmp_path):
    """What SQLite does for two of them is the same, however many there are."""
    service = Service(str(tmp_path / "store.db"))
    service.start()
    few, many = looked_up(service, 10), looked_up(service, 5_000)
    service.stop()
    assert few[0] == many[0] == 2
    assert many[1] < 3 * few[1], (few, many)


def looked_up(service, count):
    """How many of two replies are found, of so many, and the steps of SQLite's machine for that."""
    steps, names = [], [("acme", "m", f"key:{count}:{at}") for at in range(count)]

    def put(tx, now, known):
        for name in names:
            remember(tx, now, known, name, "", {})

    service.do_now(put)
    service.store.writer.set_progress_handler(lambda: steps.append(0), 10)
    known = service.do_now(Named(names[1:3]))
    service.store.writer.set_progress_handler(None, 10)
    return known, len(steps)


class Named(NamedTuple):
    """A task that says how many of its names have a reply."""

    given: list[tuple[str, str, str]]

    def names(self):
        return self.given

    def run(self, tx, now, known):
        return len(known)


# People


def test_an_annotator_answers_what_was_handed_out_to_them(api):
    path = api.made(name="leases", rate=1.0)
    api("POST", f"{path}/ask", {"rows": [ROW] * 4})
    ann, eve = (api.of("acme", name, "annotator") for name in ("ann2", "eve"))
    (mine,) = ann("POST", f"{path}/lease", {"count": 1}).json()["questions"]
    for ticket in range(4):
        stolen = eve("POST", f"{path}/answers", {"ticket": ticket, "label": "ham"})
        assert stolen.status_code == 409, ticket
    assert ann("POST", f"{path}/answers", {"ticket": mine["ticket"], "label": "ham"}).json()
    undone = ann("POST", f"{path}/answers", {"ticket": mine["ticket"], "say": "undo"})
    assert undone.json()["status"] == "open"
    assert ann("POST", f"{path}/answers", {"ticket": mine["ticket"], "say": "later"}).json()
    assert api("POST", f"{path}/answers", {"ticket": 3, "label": "ham", "by": "bob"}).json()


def test_who_gets_a_second_opinion_is_not_known_beforehand(tmp_path):
    wanted = []
    for seed in (1, 2):
        with running(str(tmp_path / f"{seed}.db")) as api:
            path = api.made(rate=1.0, seed=seed, asking={"overlap": 0.5})
            api("POST", f"{path}/ask", {"rows": [ROW] * 64})
            listed = api("GET", f"{path}/questions").json()["questions"]
            wanted.append([question["wanted"] for question in listed])
    assert wanted[0] != wanted[1]
    assert 10 < wanted[0].count(2) < 54


# Erasing


def test_what_was_erased_is_nowhere_in_the_store(tmp_path):
    secret, text = "alice@example.org", "a very private text"
    with running(str(tmp_path / "store.db")) as api:
        path = table(api, "m", text=[])
        cells = {"price": 1.0, "id": secret}
        body = {"rows": [cells, {"price": 2.0, "id": "bob"}], "items": [{"t": text}, {"t": "x"}]}
        said = api("POST", f"{path}/ask", body, idempotency_key="K1").json()["decisions"]
        learn = {"rows": [{"price": 1.0}], "labels": ["ham"]}
        api("POST", f"{path}/learn", learn, idempotency_key="K2")
        answer = {"answers": [{"id": secret, "label": "spam", "by": "ann"}]}
        api("POST", f"{path}/tell", answer, idempotency_key="K3")
        wrong = {"answers": [{"id": secret, "label": "ham", "by": "ann"}]}
        api("POST", f"{path}/tell", wrong, idempotency_key="K4")
        assert api("DELETE", f"{path}/events/{secret}").status_code == 204
        files = [p for p in tmp_path.iterdir() if p.name.startswith("store.db")]
        for place in files:
            data = place.read_bytes()
            assert secret.encode() not in data, place
            assert text.encode() not in data, place
        again = api("POST", f"{path}/ask", body, idempotency_key="K1").json()["decisions"]
        assert again[1] == said[1]  # the others in the request are as they were
        told = api("GET", path).json()
        assert api("POST", f"{path}/learn", learn, idempotency_key="K2").status_code == 200
        assert api("GET", path).json() == told


# Connections


def test_headers_that_do_not_come_keep_nobody_out(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        context = served(tmp_path)
        server = context.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    try:
        address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        held = []
        for _ in range(400):
            held.append(socket.create_connection(address))
            held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        time.sleep(0.5)
        with httpx.Client(base_url=server.url, timeout=5) as client:
            assert client.get("/healthz").status_code == 200
        time.sleep(11.0)
        pid = server.process.pid
        assert len(os.listdir(f"/proc/{pid}/fd")) < 60
        for each in held:
            each.close()
    finally:
        context.__exit__(None, None, None)
