"""The service over HTTP: against the library, and against those whose models they are not."""

from __future__ import annotations

import re
import threading
import time

import numpy as np
import pytest

import lasec
from lasec.service import NewModel, Service
from lasec.service.app import ROUTES
from lasec.service.settings import OPEN
from lasec.service.store import TakenError
from lasec.service.writer import Room
from service.running import running

KEYS = ("ticket", "prediction", "margin", "query_probability", "asked")


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with running(str(tmp_path_factory.mktemp("service") / "store.db")) as found:
        yield found


def alone(rate=0.3, seed=5, width=3):
    made = lasec.registry.make(
        "tracker", width, rate=rate, seed=seed, classes=["ham", "spam"], max_age=100_000.0,
        max_pending=OPEN,
    )  # fmt: skip
    return lasec.Session(made)


def decided(session, x):
    d = session.ask(x)
    return dict(zip(KEYS, (d.ticket, d.label, d.margin, d.propensity, d.asked), strict=True))


def test_every_decision_is_the_librarys_in_singles_batches_and_packed_rows(api):
    path = api.made(name="same", rate=0.3, seed=5, alarms=False)
    X, y = lasec.streams.switching(1_500, dimension=3, every=300, seed=2)
    session, at, sizes = alone(), 0, [1, 1, 7, 50, 1, 100]
    labels = np.where(y > 0, "spam", "ham")
    while at < len(X):
        n = sizes[at % len(sizes)]
        rows = X[at : at + n]
        packed = at % 2 == 1
        body = rows.astype("<f8").tobytes() if packed else {"rows": rows.tolist()}
        kind = {"content_type": "application/octet-stream"} if packed else {}
        said = api("POST", f"{path}/ask", body, **kind).json()["decisions"]
        assert said == [decided(session, x) for x in rows]
        answers = [d["ticket"] for d in said if d["asked"]]
        if answers:
            body = {"answers": [{"ticket": t, "label": labels[t]} for t in answers]}
            outcomes = api("POST", f"{path}/tell", body).json()["outcomes"]
            mine = [session.tell(t, labels[t]) for t in answers]
            assert [o["correct"] for o in outcomes] == [o.correct for o in mine]
        at += n
    exported = lasec.Session.from_bytes(api("GET", f"{path}/file").content)
    assert exported.learner.to_bytes() == session.learner.to_bytes()
    found = api("GET", f"{path}/accuracy").json()["all"]
    assert found["value"] == pytest.approx(session.accuracy().value, abs=1e-12)
    probe = X[:5].tolist()
    said = api("POST", f"{path}/predict", {"rows": probe}).json()["predictions"]
    assert [p["prediction"] for p in said] == session.predict(X[:5])


def test_a_retried_request_gets_the_same_reply_and_another_under_its_name_is_refused(api):
    path = api.made(name="retry", rate=1.0)
    body = {"rows": [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], "ids": ["a", "b"]}
    first = api("POST", f"{path}/ask", body)
    again = api("POST", f"{path}/ask", body)
    assert again.json() == first.json()
    other = api("POST", f"{path}/ask", {"rows": [[9.0, 9.0, 9.0]], "ids": ["a"]}).json()
    assert "another row" in other["decisions"][0]["error"]
    keyed = api("POST", f"{path}/ask", {"rows": [[1.0, 1.0, 1.0]]}, idempotency_key="k").json()
    same = api("POST", f"{path}/ask", {"rows": [[1.0, 1.0, 1.0]]}, idempotency_key="k").json()
    assert same == keyed
    changed = api("POST", f"{path}/ask", {"rows": [[2.0, 1.0, 1.0]]}, idempotency_key="k")
    assert changed.status_code == 409
    told = {"answers": [{"id": "a", "label": "spam"}]}
    assert api("POST", f"{path}/tell", told).json() == api("POST", f"{path}/tell", told).json()
    ham = {"answers": [{"id": "a", "label": "ham"}]}
    assert "learned" in api("POST", f"{path}/tell", ham).json()["outcomes"][0]["error"]
    assert api("GET", path).json()["rows"] == 3


def test_rows_of_text_go_in_as_they_are(api):
    path = api.made(name="mails", features=None, sample=[{"body": "win a prize"}], text=["body"])
    said = api("POST", f"{path}/ask", {"rows": [{"body": "free money", "id": "m1"}]}).json()
    assert said["decisions"][0]["id"] == "m1"
    if said["decisions"][0]["asked"]:
        found = api("POST", f"{path}/tell", {"answers": [{"id": "m1", "label": "spam"}]}).json()
        assert found["outcomes"][0]["label"] == "spam"
    learned = api("POST", f"{path}/learn", {"rows": [{"body": "lunch"}], "labels": ["ham"]}).json()
    assert learned["outcomes"] == [{"label": "ham", "learned": True}]
    said = api("POST", f"{path}/predict", {"rows": [{"body": "lunch"}]}).json()["predictions"]
    assert said[0]["prediction"] in ("ham", "spam")


def test_what_cannot_be_read_is_refused_in_words_and_changes_nothing(api):
    path = api.made(name="strict")
    for body, status in (
        (b"{", 400), ({"rows": []}, 422), ({"rows": [[1.0]]}, 422), ({"row": [[1.0]]}, 422),
        ({"rows": [{"a": 1}]}, 422), ({"rows": [[1, 2, 3]], "ids": ["a", "b"]}, 422),
    ):  # fmt: skip
        found = api("POST", f"{path}/ask", body)
        assert found.status_code == status, body
        assert found.headers["content-type"] == "application/problem+json"
        assert found.json()["detail"]
    huge = api("POST", f"{path}/ask", b"x" * (8 * 2**20 + 1))
    assert huge.status_code == 413
    nan = np.array([[np.nan, 0.0, 0.0], [1.0, 2.0, 3.0]]).tobytes()
    said = api("POST", f"{path}/ask", nan, content_type="application/octet-stream").json()
    assert "NaN" in said["decisions"][0]["error"]
    assert said["decisions"][1]["ticket"] == 0
    assert api("GET", path).json()["rows"] == 1


def test_another_tenant_finds_nothing_on_any_route(api):
    path = api.made(name="secret", rate=1.0)
    api("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]], "ids": ["a"]})
    stranger = api.of("other", "stranger", "owner")
    bodies = {
        "ask": {"rows": [[1.0, 2.0, 3.0]]}, "predict": {"rows": [[1.0, 2.0, 3.0]]},
        "tell": {"answers": [{"id": "a", "label": "ham"}]}, "lease": {},
        "cancel": {"questions": [{"ticket": 0}]},
        "learn": {"rows": [[1.0, 2.0, 3.0]], "labels": ["ham"]},
        "answers": {"ticket": 0, "label": "ham"}, "{model}": {"status": "paused"},
    }  # fmt: skip
    tried = 0
    for route in ROUTES:
        if "{model}" in route.path and route.method != "PUT":
            where = route.path.replace("{model}", "secret").replace("{event}", "a")
            body = bodies.get(route.path.rpartition("/")[2])
            found = stranger(route.method, where, body)
            assert found.status_code == 404, route
            tried += 1
    assert tried >= 16
    assert stranger("GET", "/v1/models").json() == {"models": []}
    assert stranger("DELETE", "/v1/keys/first").status_code == 404
    assert api("GET", path).json()["asked"] == 1


def test_a_key_opens_what_its_role_says_and_guessing_is_slowed_down(api):
    path = api.made(name="roles")
    person = api.of("acme", "ann", "annotator")
    assert person("POST", f"{path}/lease", {}).status_code == 200
    assert person("POST", f"{path}/lease", {"by": "bob"}).status_code == 403
    assert person("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]]}).status_code == 403
    assert person("GET", f"{path}/file").status_code == 403
    assert api("DELETE", "/v1/keys/ann").status_code == 204
    assert person("POST", f"{path}/lease", {}).status_code == 401
    stored = api.service.store.read("SELECT digest FROM keys")
    assert all(api.key not in digest for (digest,) in stored)


def test_wrong_keys_are_counted(tmp_path):
    with running(str(tmp_path / "s.db")) as api:
        wrong = [
            api("GET", "/v1/models", authorization=f"Bearer lasec_{n}").status_code
            for n in range(22)
        ]
        assert wrong[0] == 401
        assert wrong[-1] == 429


def test_the_openapi_document_names_every_route_and_its_bodies(api):
    found = api("GET", "/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    named = {(m.upper(), p) for p, methods in found["paths"].items() for m in methods}
    assert named == {(route.method, route.path) for route in ROUTES}
    refs = set(re.findall(r"#/components/schemas/(\w+)", str(found)))
    assert refs <= set(found["components"]["schemas"])


def test_the_second_writer_is_refused(tmp_path):
    url = str(tmp_path / "store.db")
    with running(url):
        for _ in range(20):
            second = Service(url)
            with pytest.raises(TakenError):
                second.start()


def test_a_budget_holds_over_restarts_and_retries(tmp_path):
    url, session = str(tmp_path / "store.db"), alone(rate=0.1, seed=3)
    rng = np.random.default_rng(0)
    for restart in range(6):
        with running(url, every=40) as api:
            path = "/v1/models/m"
            if restart == 0:
                api.made(rate=0.1, seed=3)
            for n in range(10):
                body = {"rows": rng.normal(size=(10, 3)).tolist(),
                        "ids": [f"{restart}-{n}-{i}" for i in range(10)]}  # fmt: skip
                said = api("POST", f"{path}/ask", body).json()
                for x in body["rows"]:
                    session.ask(x)
                if n % 5 == 0:
                    assert api("POST", f"{path}/ask", body).json() == said
            found = api("GET", f"{path}/budget").json()
            assert found["rows"] == session.learner.rows == 100 * (restart + 1)
            assert found["asked"] == session.learner.asked


def test_a_model_is_paused_retired_and_brought_as_a_file(api):
    path = api.made(name="pause")
    assert api("PATCH", path, {"status": "paused"}).json()["status"] == "paused"
    assert api("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]]}).status_code == 409
    assert api("PATCH", path, {"status": "active"}).status_code == 200
    assert api("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]]}).status_code == 200
    data = api("GET", f"{path}/file").content
    assert api("PUT", "/v1/models/again/file", data).json()["rows"] == 1
    assert api("PUT", "/v1/models/broken/file", data[:-1]).status_code == 422
    api("PATCH", path, {"status": "retired"})
    assert api("PATCH", path, {"status": "active"}).status_code == 409


def test_erasing_leaves_nothing_of_a_row(api):
    path = api.made(name="erase", features=None, sample=[{"body": "win"}], text=["body"], rate=1.0)
    rows = [{"body": "a very private text", "id": "p1"}, {"body": "another", "id": "p2"}]
    api("POST", f"{path}/ask", {"rows": rows})
    assert api("DELETE", f"{path}/events/p1").status_code == 204
    store = api.service.store
    for table, column in (("questions", "item"), ("replies", "reply"), ("journal", "body")):
        for (value,) in store.read(f"SELECT {column} FROM {table} WHERE model = 'erase'"):
            assert "private" not in str(value)
            assert "p1" not in str(value)
    assert api("GET", f"{path}/budget").json()["open"] == 1


def test_labels_come_late_get_lost_and_the_estimate_says_what_that_can_cost(api):
    path = api.made(name="late", rate=0.5)
    api("POST", f"{path}/learn", {"rows": [[1.0, 0.0, 0.0]], "labels": ["spam"]})
    X, y = lasec.streams.switching(400, dimension=3, seed=4)
    said = api("POST", f"{path}/ask", {"rows": X.tolist()}).json()["decisions"]
    asked = [d["ticket"] for d in said if d["asked"]]
    lost, kept = asked[::10], [t for t in asked if t not in asked[::10]]
    api("POST", f"{path}/cancel", {"questions": [{"ticket": t} for t in lost]})
    answers = [{"ticket": t, "label": "spam" if y[t - 1] > 0 else "ham"} for t in reversed(kept)]
    api("POST", f"{path}/tell", {"answers": answers})
    found = api("GET", f"{path}/accuracy").json()["all"]
    assert found["lost"] == len(lost)
    assert found["worst_low"] < found["low"] < found["value"] < found["high"] < found["worst_high"]
    labels = np.where(y > 0, "spam", "ham")
    correct = np.mean([d["prediction"] == name for d, name in zip(said, labels, strict=True)])
    assert found["worst_low"] <= correct <= found["worst_high"]


def test_rows_before_the_first_label_are_in_no_estimate(api):
    path = api.made(name="silent", algorithm="perceptron")
    X, y = lasec.streams.switching(100, dimension=3, seed=4)
    names = np.where(y > 0, "spam", "ham").tolist()
    said = api("POST", f"{path}/ask", {"rows": X[:30].tolist()}).json()["decisions"]
    assert [d["prediction"] for d in said] == [None] * 30
    answers = [{"ticket": d["ticket"], "label": names[d["ticket"]]} for d in said]
    told = api("POST", f"{path}/tell", {"answers": answers}).json()["outcomes"]
    assert [o["correct"] for o in told] == [None] * 30
    found = api("GET", f"{path}/accuracy").json()
    assert (found["unpredicted"], found["all"]["rows"], found["all"]["value"]) == (30, 0, None)
    right = []
    for x, name in zip(X[30:].tolist(), names[30:], strict=True):
        (d,) = api("POST", f"{path}/ask", {"rows": [x]}).json()["decisions"]
        right.append(d["prediction"] == name)
        api("POST", f"{path}/tell", {"answers": [{"ticket": d["ticket"], "label": name}]})
    found = api("GET", f"{path}/accuracy").json()
    assert (found["unpredicted"], found["all"]["rows"]) == (30, 70)
    assert found["all"]["value"] == pytest.approx(np.mean(right))


def test_new_settings_that_make_no_sense_are_refused(api):
    for wrong in (
        {"classes": ["one"]}, {"features": 0}, {"features": None}, {"algorithm": "forest"},
        {"rate": 2.0}, {"name": "a/b"}, {"sample": [{"a": 1.0}]}, {"unknown": 1},
    ):  # fmt: skip
        given = {"name": "w", "classes": ["ham", "spam"], "features": 3} | wrong
        found = api("POST", "/v1/models", given)
        assert found.status_code == 422, wrong
        assert found.json()["detail"]
    assert NewModel(name="x", classes=["a", "b"], features=1).timed is False


def test_metrics_speak_prometheus(api):
    api.made(name="counted")
    text = api("GET", "/metrics").text
    assert 'lasec_model_rows_total{model="counted"} 0' in text
    assert "counted" not in api("GET", "/metrics", authorization="").text
    assert "counted" not in api.of("other", "viewer", "viewer")("GET", "/metrics").text
    for line in text.splitlines():
        assert re.fullmatch(r"# TYPE \w+ (counter|gauge)|\w+({.*})? [0-9.e+-]+", line), line


def test_requests_beyond_the_room_are_told_to_come_back(api, monkeypatch):
    path = api.made(name="full")
    monkeypatch.setattr(api.service.writer, "room", Room(tenant=0))
    found = api("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]]})
    assert found.status_code == 503
    assert found.headers["retry-after"] == "1"


def test_only_the_writer_touches_a_model(tmp_path, monkeypatch):
    with running(str(tmp_path / "store.db")) as api:
        path, threads, flush = api.made(rate=1.0), set(), lasec.Meter._flush

        def seen(meter):
            threads.add(threading.current_thread().name)
            return flush(meter)

        monkeypatch.setattr(lasec.Meter, "_flush", seen)  # it changes the meter, also when read
        api("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]]})
        for where in ("/v1/models", "/metrics", path, f"{path}/accuracy", f"{path}/budget"):
            assert api("GET", where).status_code == 200
        assert api("PATCH", path, {"status": "paused"}).status_code == 200
        assert threads == {"lasec writer"}


def test_thirty_two_clients_at_once_share_commits(tmp_path):
    with running(str(tmp_path / "store.db")) as api:
        path = api.made(rate=0.2)
        before = api.service.writer.groups

        def work(n):
            for i in range(20):
                body = {"rows": [[float(n), float(i), 1.0]], "ids": [f"{n}-{i}"]}
                assert api("POST", f"{path}/ask", body).status_code == 200

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert api("GET", path).json()["rows"] == 160
        assert api.service.writer.groups - before < 200
        time.sleep(0)
