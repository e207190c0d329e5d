"""What a stranger, a guesser or a hostile caller can do to the service: nothing.

Tenants, sizes of JSON bodies and hostile items on the annotators' page: test_api.py, test_pages.py.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import re
import shutil
import socket
from pathlib import Path
from urllib.parse import quote

import httpx
import numpy as np
import pyarrow
import pytest
from experiments.serving.databases import Postgres

import lasec
from lasec.alarms import Alarm, InputAlarm
from lasec.service import NewModel, Service, application
from lasec.service.app import PAGES, ROUTES, Api
from lasec.service.errors import Problem
from lasec.service.limits import Limits
from lasec.tables import Encoder, TableLearner
from service.conftest import Server
from service.running import running

HAS_POSTGRES = shutil.which("initdb") or list(Path("/").glob("usr/lib/postgresql/*/bin/initdb"))
EVIL = "https://evil.example"
INJECTED = (
    "'; DROP TABLE keys; --",
    '" OR "1"="1',
    "\\'; DELETE FROM models; --",
    "%s %(x)s ? $1 :x {0} {model}",
    "1); UPDATE keys SET role = 'owner'; --",
    "robert\t\u202e\U0001f4a5",
)
PACKED = {"Content-Type": "application/octet-stream"}
names = (f"m{number}" for number in itertools.count())


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def stored(request, tmp_path_factory):
    """A server on each kind of store."""
    if request.param == "postgres" and not HAS_POSTGRES:
        pytest.skip("PostgreSQL is not installed")
    folder = tmp_path_factory.mktemp("stored")
    database = Postgres(folder) if request.param == "postgres" else None
    made = Server(folder, database and database.url)
    made.start()
    yield made
    made.stop()
    made.http.close()
    if database:
        database.close()


def send(server, method, path, body=None, *, key=None, content=None, **headers):
    """A reply, also where the request is refused; ``key=""`` is none."""
    key = server.owner if key is None else key
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named |= {"Authorization": f"Bearer {key}"} if key else {}
    return server.http.request(method, path, json=body, content=content, headers=named)


def made(server):
    """The path of a model that queries every label, with two questions."""
    name = next(names)
    settings = {"name": name, "classes": ["ham", "spam"], "features": 2, "seed": 0}
    settings |= {"algorithm": "perceptron", "asking": {"grace": 0.0}}
    server.call("POST", "/v1/models", settings)
    path = f"/v1/models/{name}"
    server.call("POST", f"{path}/ask", {"rows": [[1.0, 0.0], [0.0, 1.0]], "ids": ["a", "b"]})
    return path


def new_key(server, role, name=None):
    body = {"name": name or f"{role} {next(names)}", "role": role}
    return server.call("POST", "/v1/keys", body)["key"]


# Injection


def test_names_and_labels_are_never_statements(stored):
    path = made(stored)
    before = stored.call("GET", "/v1/keys")
    for text in INJECTED:
        row = {"rows": [[1.0, 1.0]], "ids": [text], "items": [text]}
        said = stored.call("POST", f"{path}/ask", row)["decisions"][0]
        assert said["id"] == text
        leased = stored.call("POST", f"{path}/lease", {"by": text, "count": 50})["questions"]
        assert text in [question["item"] for question in leased]
        stored.call("POST", f"{path}/tell", {"answers": [{"id": text, "label": text, "by": text}]})
        answer = {"ticket": said["ticket"], "label": text, "by": text}
        assert send(stored, "POST", f"{path}/answers", answer).status_code == 422
        answer |= {"say": "later", "label": None}
        assert send(stored, "POST", f"{path}/answers", answer).json()["status"] == "later"
        keyed = {"idempotency_key": text.encode("ascii", "replace").decode().replace("\t", " ")}
        found = send(stored, "POST", f"{path}/cancel", {"questions": [{"id": text}]}, **keyed)
        assert found.json()["outcomes"][0]["canceled"]
        assert send(stored, "DELETE", f"{path}/events/{quote(text, safe='')}").status_code == 204
        for where in ("/v1/models/{}", "/v1/keys/{}", "/v1/models/{}/journal"):
            method = "DELETE" if "keys" in where else "GET"
            assert send(stored, method, where.format(quote(text, safe=""))).status_code == 404
        assert send(stored, "GET", f"{path}?{quote(text)}={quote(text)}").status_code == 200
        assert stored.call("GET", f"{path}/budget")["open"] == 2
    assert stored.call("GET", "/v1/keys") == before


def test_what_a_store_cannot_hold_is_refused_and_the_server_lives(stored):
    path = made(stored)
    huge, long, nul = 2**63, "x" * 129, "a\0b"
    texts = next(names)
    sample = {"sample": [{"n": 1.0}, {"n": 2.0}], "algorithm": "perceptron"}
    stored.call("POST", "/v1/models", {"name": texts, "classes": ["a", "b"]} | sample)
    for where, body in (
        ("answers", {"ticket": huge}), ("answers", {"ticket": 0, "by": nul}),
        ("answers", {"ticket": 0, "by": long}), ("lease", {"by": nul}), ("lease", {"count": huge}),
        ("tell", {"answers": [{"ticket": huge, "label": "ham"}]}),
        ("tell", {"answers": [{"ticket": 0, "label": huge}]}),
        ("tell", {"answers": [{"ticket": 0, "label": "ham", "by": nul}]}),
        ("cancel", {"questions": [{"id": huge}]}), ("cancel", {"questions": [{"id": nul}]}),
        ("ask", {"rows": [[1.0, 1.0]], "ids": [nul]}),
        ("ask", {"rows": [[1.0, 1.0]], "ids": [long]}),
        ("ask", {"rows": [[1.0, 1.0]], "items": [nested(500)]}),
        (f"../{texts}/ask", {"rows": [{"n": 2**64}]}),
        (f"../{texts}/ask", {"rows": [{"n": 1.0, "id": {"a": []}}]}),
        (f"../{texts}/ask", {"rows": [{"n": nested(500)}]}),
        ("../../keys", {"name": nul, "role": "app"}),
        ("../../keys", {"name": "a/b", "role": "app"}),
    ):  # fmt: skip
        found = send(stored, "POST", f"{path}/{where}", body)
        assert found.status_code == 422, (where, body, found.text)
    for event in ("%00", "x" * 129):
        assert send(stored, "DELETE", f"{path}/events/{event}").status_code == 422
    wide = {"name": next(names), "classes": ["a", "b"], "features": 2}
    found = send(stored, "POST", "/v1/models", wide | {"asking": {"annotators": 2**31}})
    assert found.status_code == 422
    assert stored.call("GET", f"{path}/budget")["open"] == 2


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "x" * 129, ""])
def test_columns_that_a_store_cannot_hold_are_refused(stored, name):
    """An alarm about a column is kept under a key that has the name of the column."""
    given = {"name": next(names), "classes": ["a", "b"], "algorithm": "perceptron"}
    for columns in ({"sample": [{"n": 1.0}, {name: 2.0}]}, {"columns": {name: "number"}}):
        found = send(stored, "POST", "/v1/models", given | columns)
        assert found.status_code == 422, columns
        assert "column" in found.json()["detail"]
    path = f"/v1/models/{given['name']}/file"
    for data in (table_of(name), session_of(name)):
        found = send(stored, "PUT", path, content=data)
        assert found.status_code == 422
        assert "column" in found.json()["detail"]


def table_of(column):
    """The file of a model with this column."""
    encoder = Encoder.fit(pyarrow.RecordBatch.from_pylist([{column: 1.0}, {column: 2.0}]))
    return TableLearner(lasec.Tracker(1, seed=0), encoder, classes=["a", "b"]).to_bytes()


def session_of(column):
    """The file of a model whose alarms have this column."""
    alarm = InputAlarm(names=[column])
    return lasec.Session(lasec.Tracker(1), classes=["a", "b"], detectors=[alarm]).to_bytes()


def test_the_kind_of_an_alarm_is_a_key_that_every_store_holds(tmp_path):
    with running(str(tmp_path / "store.db")) as api:
        path = api.made(algorithm="perceptron")
        session, kind = api.service.models["acme", "m"].desk.session, "input: a\0" + "b" * 5_000
        session.alarms.append(Alarm(kind, 0, 6.0, 1.0, 2.0, 0))
        api("POST", f"{path}/ask", {"rows": [[1.0, 2.0, 3.0]]})
        ((kept,),) = api.service.store.read("SELECT kind FROM alarms")
        assert kept.startswith("input: a")
        assert kept.isprintable()
        assert len(kept) < 200
        assert api("GET", f"{path}/alarms").json()["alarms"][0]["kind"] == kind


def test_a_model_that_no_store_holds_is_refused():
    new = NewModel(name="m", classes=["a", "b"], features=2, algorithm="perceptron")
    with pytest.raises(Problem, match="MB"):
        Service(":memory:", limits=Limits(model=1_000)).create("acme", new)


def nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


# Bodies, headers, paths


def test_bodies_that_are_no_json_too_deep_or_too_large(server):
    path = made(server)
    for content, status in (
        (b'{"rows": [{"a": ' + b"[" * 100_000, 400), (b"[" * 100_000, 422),
        (b'{"rows": [[NaN, 1.0]]}', 400), (b'{"rows": [[Infinity, 1.0]]}', 400),
        (b'{"rows": [[1e999, 1.0]]}', 422), (b"\xff\xfe", 400), (b"", 400),
        (b'{"rows": [[1.0, "2"]]}', 422), (json.dumps({"rows": [[1.0, 1.0]] * 10_001}), 422),
        ((b" " * 2**16 for _ in range(129)), 413),  # without a length
    ):  # fmt: skip
        found = send(server, "POST", f"{path}/ask", content=content)
        assert found.status_code == status, found.text
    assert send(server, "PUT", "/v1/models/big/file", content=b"x" * (2**23 + 1)).status_code == 413
    rows = np.array([[np.inf, 0.0], [0.0, -np.inf]]).tobytes()
    said = send(server, "POST", f"{path}/ask", content=rows, **PACKED).json()["decisions"]
    assert all(set(one) == {"error"} for one in said)
    assert server.call("GET", path)["rows"] == 2


def test_headers_without_an_end_are_cut_off(server):
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        sent = 0
        try:
            while sent < 16 * 2**20:
                sent += raw.send(b"x" * 2**16)
        except OSError:
            pass
    assert sent < 4 * 2**20
    assert send(server, "GET", "/healthz").status_code == 200


def test_paths_lead_nowhere_else(server):
    host = server.url.removeprefix("http://")
    for path in (
        "/../service.db", "/..%2fservice.db", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/page.css/../../app.py", "/pages/owner.html", "/v1/models/..%2f..%2fkeys",
        "/v1/models/../keys", "/v1/models/%2e%2e/file", "/.env", "/docs",
    ):  # fmt: skip
        raw = http.client.HTTPConnection(host, timeout=10)  # it sends a path as it is
        raw.request("GET", path, headers={"Authorization": f"Bearer {server.owner}"})
        assert raw.getresponse().status == 404, path
        raw.close()
    for name in ("..", ".", "../x", "a/b", "a\\b", "a\n", "a b", "", "x" * 101, "a\0"):
        body = {"name": name, "classes": ["a", "b"], "features": 2}
        assert send(server, "POST", "/v1/models", body).status_code == 422, name


# Keys and roles


def test_keys_are_nowhere_in_the_store(server):
    key = new_key(server, "app")
    assert send(server, "GET", "/v1/models", key=key).status_code == 200
    files = [file for file in server.folder.iterdir() if file.name.startswith("service.db")]
    kept = b"".join(file.read_bytes() for file in files)
    assert b"CREATE TABLE keys" in kept
    for secret in (key, server.owner):
        assert secret.encode() not in kept
        assert secret.removeprefix("lasec_").encode() not in kept


def test_guessing_keys_is_refused_and_locks_nobody_out(server):
    guesser, other = {"x_forwarded_for": "203.0.113.7"}, {"x_forwarded_for": "203.0.113.8"}
    tried = [send(server, "GET", "/v1/keys", key=f"lasec_{n}", **guesser) for n in range(25)]
    assert [reply.status_code for reply in tried] == [401] * 20 + [429] * 5
    assert tried[-1].headers["retry-after"] == "60"
    assert send(server, "GET", "/v1/keys", **guesser).status_code == 200
    assert send(server, "GET", "/v1/keys", key="lasec_x", **other).status_code == 401


def test_no_key_takes_itself_back(server):
    assert send(server, "DELETE", "/v1/keys/owner").status_code == 409
    second = new_key(server, "owner", "second")
    assert send(server, "DELETE", "/v1/keys/second", key=second).status_code == 409
    assert send(server, "DELETE", "/v1/keys/second").status_code == 204
    assert send(server, "GET", "/v1/keys", key=second).status_code == 401


ALLOWED = {  # o: owner, p: app, n: annotator, v: viewer
    "GET /v1/keys": "o", "POST /v1/keys": "o", "DELETE /v1/keys/{name}": "o",
    "GET /v1/models": "opnv", "POST /v1/models": "o",
    "GET /v1/models/{model}": "opnv", "PATCH /v1/models/{model}": "o",
    "DELETE /v1/models/{model}": "o",
    "GET /v1/models/{model}/file": "o", "PUT /v1/models/{model}/file": "o",
    "POST /v1/models/{model}/ask": "op", "POST /v1/models/{model}/predict": "opv",
    "POST /v1/models/{model}/tell": "op", "POST /v1/models/{model}/learn": "op",
    "GET /v1/models/{model}/questions": "op",
    "POST /v1/models/{model}/cancel": "op", "POST /v1/models/{model}/lease": "opn",
    "GET /v1/models/{model}/labels": "op", "POST /v1/models/{model}/corrections": "o",
    "GET /v1/models/{model}/instructions": "opnv", "PUT /v1/models/{model}/instructions": "o",
    "POST /v1/models/{model}/answers": "opn", "GET /v1/models/{model}/accuracy": "opv",
    "GET /v1/models/{model}/budget": "opv", "GET /v1/models/{model}/alarms": "opv",
    "GET /v1/models/{model}/sources": "opv", "GET /v1/models/{model}/agreement": "opv",
    "GET /v1/models/{model}/points": "opv",
    "GET /v1/models/{model}/journal": "o", "DELETE /v1/models/{model}/events/{event}": "o",
}  # fmt: skip
OPEN = {"GET /healthz", "GET /readyz", "GET /metrics"}
ROLES = {"o": "owner", "p": "app", "n": "annotator", "v": "viewer"}


def test_who_may_do_what(server):
    assert {f"{r.method} {r.path}" for r in ROUTES} == ALLOWED.keys() | OPEN
    model = made(server).rpartition("/")[2]
    keys = {letter: new_key(server, role) for letter, role in ROLES.items()}
    for route, allowed in ALLOWED.items():
        method, _, path = route.partition(" ")
        path = path.format(model=model, name="nobody", event="nothing")
        content = None if method in ("GET", "DELETE") else b"{"
        nobody = {"key": "", "content": content, "x_forwarded_for": "203.0.113.9"}
        assert send(server, method, path, **nobody).status_code == 401, route
        for letter, key in keys.items():
            found = send(server, method, path, key=key, content=content).status_code
            assert found != 401
            assert (found != 403) == (letter in allowed), (route, ROLES[letter], found)
    for route in OPEN:
        assert send(server, "GET", route.partition(" ")[2], key="").status_code == 200


# Browsers


def test_another_site_can_do_nothing_in_a_visitors_name(server):
    path = made(server)
    body = json.dumps({"rows": [[1.0, 1.0]]})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json"):
        found = send(
            server, "POST", f"{path}/ask", key="", content=body, content_type=kind, origin=EVIL,
            cookie=f"key={server.owner}; authorization=Bearer {server.owner}",
            x_forwarded_for="203.0.113.10",
        )  # fmt: skip
        assert found.status_code == 401
    asking = {"access_control_request_method": "POST", "origin": EVIL}
    asking |= {"access_control_request_headers": "authorization"}
    replies = [
        send(server, "OPTIONS", f"{path}/ask", key="", **asking),
        send(server, "GET", path, origin=EVIL),
        send(server, "GET", "/owner", origin=EVIL),
    ]
    assert replies[0].status_code == 405
    for reply in replies:
        assert not [name for name in reply.headers if name.startswith("access-control")]
        assert "set-cookie" not in reply.headers
    assert server.call("GET", path)["rows"] == 2


def test_every_reply_has_its_safety_headers(server):
    path = made(server)
    replies = [send(server, "GET", where) for where in (*PAGES, "/openapi.json", "/metrics", path)]
    replies += [send(server, "GET", f"{path}/{what}") for what in ("file", "journal", "budget")]
    replies += [
        send(server, "GET", "/nothing"), send(server, "PUT", path),
        send(server, "GET", path, key="", x_forwarded_for="203.0.113.11"),
        send(server, "POST", f"{path}/ask", content=b"{"),
        send(server, "DELETE", f"{path}/events/a"),
    ]  # fmt: skip
    assert {reply.status_code for reply in replies} == {200, 204, 400, 401, 404, 405}
    for reply in replies:
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "server" not in reply.headers


# Errors


INSIDE = re.compile(r"Traceback|\.py\b|lasec/|SELECT|INSERT|sqlite|psycopg|0x[0-9a-f]{6}|/tmp/")


def test_errors_show_nothing_of_the_inside(server):
    path = made(server)
    exported = send(server, "GET", f"{path}/file").content
    for found in (
        send(server, "PUT", "/v1/models/broken/file", content=exported[:-9]),
        send(server, "PUT", "/v1/models/broken/file", content=b"PK" + exported[2:]),
        send(server, "POST", f"{path}/ask", content=b"{"),
        send(server, "POST", f"{path}/ask", {"rows": [["x"]]}),
        send(server, "POST", "/v1/models", {"name": "x", "classes": ["a", "b"], "features": 0}),
        send(server, "POST", "/v1/models", {"name": "x", "classes": ["a", "b"], "sample": [{}]}),
        send(server, "GET", "/v1/models/none"), send(server, "PATCH", "/healthz"),
    ):  # fmt: skip
        assert 400 <= found.status_code < 500
        assert not INSIDE.search(found.text), found.text
        assert set(found.json()) == {"type", "title", "status", "detail"}


def test_a_failure_of_the_server_shows_nothing_either(monkeypatch):
    def failing(api):
        raise RuntimeError("SELECT secret FROM /tmp/store.py")

    monkeypatch.setattr(Api, "need_ready", failing)
    app = application(Service(":memory:"), manage=False)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def get():
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get("/readyz")

    found = asyncio.run(get())
    assert found.status_code == 500
    assert found.headers["x-content-type-options"] == "nosniff"
    assert not INSIDE.search(found.text)
