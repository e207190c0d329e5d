"""Small promises of the service, each in a few requests: what a reader of the API would rely on."""

from __future__ import annotations

import asyncio
import gzip
import resource
import sqlite3
import subprocess
import sys
import threading
import time

import httpx
import msgspec
import numpy as np
import pytest

import lasec
from lasec.client import Client
from lasec.handover.exchange import Answer as Given
from lasec.handover.exchange import Shown, exchange
from lasec.service import Service, writer
from lasec.service.bodies import AskBody
from lasec.service.desks import Desk
from lasec.service.operations import Answer, Ask, Ref, Rows
from lasec.service.writer import Job
from service.running import running

ROW = [1.0, 2.0, 3.0]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with running(str(tmp_path_factory.mktemp("small") / "store.db")) as found:
        yield found


def fast(api, name, **settings):
    """A model that asks about every row, and needs no code of its own to be compiled."""
    return api.made(name=name, algorithm="perceptron", **settings)


# Rows


@pytest.mark.parametrize("count", [1, 3])
def test_ids_and_times_of_number_rows_reach_the_session(count):
    """One row, or many at once: questions have the ids and age by the times that were given."""
    budget = lasec.queries.Budgeted.every("1d", labels=1e6)
    learner = lasec.Tracker(3, budget=budget, max_age=100.0, lead=None, seed=0)
    desk = Desk(lasec.Session(learner, classes=["ham", "spam"]))
    rows, ids = Rows.of_numbers(np.ones((count, 3))), [f"mail-{i}" for i in range(count)]
    said = desk.ask(Ask(5_000.0, rows, ids=ids, times=[1_000.0] * count))
    assert [one["asked"] for one in said] == [True] * count
    assert desk.tell(Answer(Ref(id="mail-0"), "ham"))["ticket"] == 0
    desk.ask(Ask(5_000.0, rows, times=[1_050.0] * count))  # in time for those that wait
    assert len(learner.pending) == 2 * count - 1
    desk.ask(Ask(5_000.0, rows))  # without times, the clock of the operation counts
    assert len(learner.pending) == count


@pytest.mark.parametrize(("more", "status"), [(0, 422), (1, 413)])
@pytest.mark.parametrize("chunked", [False, True])
def test_packed_rows_take_at_most_eight_megabytes(api, chunked, more, status):
    """Whether the size is said before, or found as the bytes come; 2^23 are no rows of three."""
    path = fast(api, f"packed-{chunked}-{more}")
    body, kind = b"x" * (8 * 2**20 + more), {"Content-Type": "application/octet-stream"}
    content = iter([body[:1_000], body[1_000:]]) if chunked else body
    found = api.http.post(f"{path}/ask", content=content, headers=kind)
    assert found.status_code == status, found.text


def test_long_bodies_are_read_in_a_thread(api, monkeypatch):
    """While one is read, others are served; a short one costs less than the way to a thread."""
    path, read, decode = fast(api, "long"), [], msgspec.json.decode

    def seen(data, **kind):
        read.append(asyncio.events._get_running_loop() is None)
        return decode(data, **kind)

    monkeypatch.setattr(msgspec.json, "decode", seen)
    for count in (1, 1, 5_000):
        assert api("POST", f"{path}/predict", {"rows": [ROW] * count}).status_code == 200
    assert read == [False, False, True]


# Keys


def test_a_key_opens_as_soon_as_it_is_handed_out():
    """Also where the writer has something else to do first."""
    service = Service(":memory:")
    service.start()
    try:
        service.writer.submit(_slow())
        key = service.new_key("acme", "ann", "viewer")
        assert service.who(key) is not None
    finally:
        service.stop()


def _slow():
    return Job("other", lambda tx, now, known: time.sleep(0.3))


def test_wrong_keys_are_counted_for_a_minute(tmp_path, monkeypatch):
    """Those of the last minute: who waits so long may try again, and not before."""
    with running(str(tmp_path / "s.db")) as api:

        def tried():
            return api("GET", "/v1/models", authorization="Bearer lasec_wrong").status_code

        assert [tried() for _ in range(21)] == [401] * 20 + [429]
        began, monotonic = time.monotonic(), time.monotonic
        monkeypatch.setattr("lasec.service.app.time", _Clock(lambda: monotonic() + 50.0))
        assert tried() == 429
        monkeypatch.setattr("lasec.service.app.time", _Clock(lambda: monotonic() + 60.5))
        assert time.monotonic() - began < 30.0
        assert tried() == 401


def test_wrong_keys_are_counted_by_address(tmp_path):
    """What one address tries neither stops another nor lets it go on."""
    with running(str(tmp_path / "s.db")) as api:
        bad = {"Authorization": "Bearer lasec_wrong"}
        transports = [httpx.HTTPTransport(local_address=f"127.0.0.{n}") for n in (1, 2)]
        with (
            httpx.Client(base_url=api.url, headers=bad, transport=transports[0]) as one,
            httpx.Client(base_url=api.url, headers=bad, transport=transports[1]) as other,
        ):
            for _ in range(20):
                assert one.get("/v1/models").status_code == 401
            assert other.get("/v1/models").status_code == 401
            assert one.get("/v1/models").status_code == 429
            assert other.get("/v1/models").status_code == 401
            assert one.get("/v1/models").headers["retry-after"] == "60"
        assert api("GET", "/v1/models").status_code == 200


class _Clock:
    """The module ``time``, with another ``monotonic``."""

    def __init__(self, monotonic):
        self.monotonic, self.time = monotonic, time.time


# Figures


def test_the_budget_says_how_long_the_oldest_question_waits(api):
    path = fast(api, "oldest")
    assert api("GET", f"{path}/budget").json()["oldest"] is None
    began = time.time()
    api("POST", f"{path}/ask", {"rows": [ROW]})
    time.sleep(0.2)
    api("POST", f"{path}/ask", {"rows": [ROW]})
    found = api("GET", f"{path}/budget").json()
    assert 0.2 <= found["oldest"] <= time.time() - began
    assert found["asked_today"] == 2
    api("POST", f"{path}/tell", {"answers": [{"ticket": 0, "label": "ham"}]})
    assert api("GET", f"{path}/budget").json()["oldest"] < found["oldest"]
    api("POST", f"{path}/cancel", {"questions": [{"ticket": 1}]})
    assert api("GET", f"{path}/budget").json()["oldest"] is None


def test_a_model_that_is_set_aside_is_listed_with_what_is_known_of_it(tmp_path):
    url = str(tmp_path / "store.db")
    with running(url) as api:
        path = fast(api, "broken")
        api("POST", f"{path}/ask", {"rows": [ROW, ROW]})
    with sqlite3.connect(url) as database:
        database.execute("UPDATE snapshots SET data = x'00'")
    database.close()
    with running(url) as api:
        (found,) = api("GET", "/v1/models").json()["models"]
        assert api("GET", path).status_code == 503
        assert api("POST", f"{path}/ask", {"rows": [ROW]}).status_code == 503
        assert api("DELETE", path).status_code == 204
        assert api("GET", "/v1/models").json() == {"models": []}
    assert found.pop("problem")
    assert time.time() - found.pop("made") < 60.0
    assert found == {
        "name": "broken", "status": "set aside", "algorithm": "perceptron",
        "classes": ["ham", "spam"], "features": 0, "columns": [], "rows": 0, "asked": 0,
        "retain": 2_592_000.0,
    }  # fmt: skip


# Questions elsewhere


class Wall:
    """A place in memory, where one answer hangs for ever."""

    people = "wall/"

    def __init__(self, *answers):
        self.answers = answers

    def look(self, questions):
        return [one for one in self.answers if one.question in {q.ticket for q in questions}]

    def show(self, questions):
        return Shown(len(questions))


@pytest.mark.parametrize(("ago", "late"), [(86_390.0, 1), (86_400.7, 0)])
def test_answers_to_closed_questions_are_late_for_a_day(api, ago, late):
    path = fast(api, f"closed-{late}")
    api("POST", f"{path}/ask", {"rows": [ROW]})
    api("POST", f"{path}/tell", {"answers": [{"ticket": 0, "label": "ham"}]})
    name = path.rpartition("/")[2]
    api.service.do_now(
        lambda tx, now, known: tx.run(
            "UPDATE questions SET closed_at = ? WHERE model = ?", now - ago, name
        )
    )
    with Client(api.url, api.key) as client:
        done = exchange(client.model(name), Wall(Given(0, "ann", "spam")))
    assert (done.late, done.answered) == (late, 0)


class Papers(Wall):
    """A place that gives all that it has."""

    def look(self, questions):
        return list(self.answers)


@pytest.mark.parametrize("ids", [[7, "7"], ["7", 7]])
def test_an_id_that_two_questions_share_is_answered_for_neither(api, ids):
    path = fast(api, f"shared-{type(ids[0]).__name__}")
    api("POST", f"{path}/ask", {"rows": [ROW] * 3, "ids": [*ids, 8]})
    with Client(api.url, api.key) as client:
        model = client.model(path.rpartition("/")[2])
        done = exchange(model, Papers(Given("7", "ann", "ham"), Given("8", "ann", "ham")))
        assert (done.answered, done.refused) == (1, 1)
        done = exchange(model, Papers(Given(0, "ann", "ham"), Given(1, "ann", "spam")))
        assert (done.answered, done.refused) == (2, 0)


# People


def test_a_question_that_was_given_up_stays_so_when_a_held_answer_is_due(api):
    path = fast(api, "given-up", asking={"grace": 0.3})
    api("POST", f"{path}/ask", {"rows": [ROW] * 2})
    api("POST", f"{path}/lease", {"count": 2, "by": "ann"})
    for ticket in (0, 1):
        api("POST", f"{path}/answers", {"ticket": ticket, "label": "ham", "by": "ann"})
    api("POST", f"{path}/cancel", {"questions": [{"ticket": 0}]})
    until = time.monotonic() + 20
    while True:
        listed = api("GET", f"{path}/questions?closed=60").json()["questions"]
        if [q["answers"][0]["status"] for q in listed] == ["recorded", "told"]:
            break
        assert time.monotonic() < until
        time.sleep(0.05)
    assert [q["status"] for q in listed] == ["gone", "answered"]


# Names


@pytest.mark.parametrize("tenant", ["", "a\nb", "x" * 129])
def test_a_tenant_has_a_name(tmp_path, tenant):
    """The empty name is that of what happens by itself, whose jobs have turns of their own."""
    store = str(tmp_path / "store.db")
    for more in (["--new-key", "ann"], []):
        found = subprocess.run(
            [sys.executable, "-m", "lasec.cli", "serve", "--store", store, "--port", "0",
             "--tenant", tenant, *more], capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert found.returncode == 2
        assert "lasec: tenant " in found.stderr
        assert "Traceback" not in found.stderr


# The writer


def test_what_waits_when_the_service_stops_is_carried_out(tmp_path):
    service = Service(str(tmp_path / "store.db"))
    service.start()
    made, held = [], threading.Event()
    for work in (lambda *_: held.wait(), lambda *_: made.append(1)):
        service.writer.submit(Job("acme", work))
    threading.Timer(0.2, held.set).start()
    service.stop()
    assert made == [1]


def test_a_model_that_is_deleted_takes_no_rows_of_requests_that_wait(tmp_path):
    with running(str(tmp_path / "store.db")) as api:
        fast(api, "m")
        service, held = api.service, threading.Event()
        model = service.models["acme", "m"]
        rows = Rows.of_numbers(np.ones((1, 3)))
        service.writer.submit(Job("acme", lambda *_: held.wait()))
        later = [
            Job("acme", service.delete("acme", "m")),
            Job("acme", service.ask(model, rows, AskBody([]))),
        ]
        for work in later:
            service.writer.submit(work)
        held.set()
        for work in later:
            assert work.event.wait(20)
        assert later[1].reply.status == 404
        assert service.store.read("SELECT 1 FROM journal") == []


def test_what_was_erased_is_scrubbed_again_until_nobody_reads_it(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "SCRUB", 0.0)
    with running(str(tmp_path / "store.db")) as api:
        tries, scrub = [], api.service.store.scrub
        monkeypatch.setattr(
            api.service.store, "scrub", lambda: tries.append(1) or (len(tries) > 2 and scrub())
        )
        path = fast(api, "scrubbed")
        api("DELETE", f"{path}/events/none")
        for _ in range(5):
            api("POST", f"{path}/ask", {"rows": [ROW]})
        assert len(tries) == 3


def test_a_packed_bomb_is_not_unpacked(api):
    """Bodies are taken as they come: nothing that a caller sends grows on the way in."""
    path = fast(api, "bomb")
    bomb = gzip.compress(bytes(2**28), 9)  # 256 MB in 260 kB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind in ("application/json", "application/octet-stream"):
        said = api("POST", f"{path}/ask", bomb, content_type=kind, content_encoding="gzip")
        assert said.status_code in (400, 422)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
