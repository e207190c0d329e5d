"""A server listens at once, and is ready when its models are read."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import httpx
import pytest

from lasec.errors import StateError
from lasec.kernel.library import shipped
from lasec.service import NewModel, Service
from lasec.service.listen import Server
from service.running import running

MODELS = (
    {"name": "numbers", "features": 3, "rate": 0.5},
    {"name": "texts", "sample": [{"body": "win"}], "text": ["body"], "rate": 1.0},
)
# What is given to every model after a restart, and whether numba is needed for it.
AFTER = """
import sys
import numpy as np
from lasec.service import Service
from lasec.service.bodies import AnswerBody, AskBody, LearnBody, TellBody
from lasec.service.figures import accuracy
from lasec.service.operations import Rows

service = Service(sys.argv[1])
service.start()
for model in service.models.values():
    rows = Rows.of_numbers(np.ones((1, 3))) if model.name == "numbers" else None
    rows = rows or Rows(cells=[{"body": "a prize"}])
    for number in range(100):
        (said,) = service.do_now(service.ask(model, rows, AskBody([])))
        if said["asked"]:
            answers = TellBody([AnswerBody(label="spam", ticket=said["ticket"])])
            assert service.do_now(service.tell(model, answers))[0]["learned"]
            break
    service.do_now(service.learn(model, rows, LearnBody([], ["ham"])))
    service.do_now(lambda tx, now, known: model.desk.predict(rows))
    service.do_now(lambda tx, now, known: accuracy(model))
service.stop()
print("numba" in sys.modules)
"""


@pytest.mark.skipif(bool(shipped().flaw), reason="there is no library: `make build`")
def test_no_request_waits_for_code(tmp_path):
    url = str(tmp_path / "store.db")
    with running(url) as api:
        for settings in MODELS:
            api.made(**({"features": None} | settings))
    found = subprocess.run(
        [sys.executable, "-c", AFTER, url], check=True, capture_output=True, text=True
    )
    assert found.stdout == "False\n"


@pytest.fixture
def listening(tmp_path):
    """A server whose models are read when the test says so; ``run`` waits for its end."""
    service, go = Service(str(tmp_path / "store.db")), threading.Event()
    service.open()
    key = service.new_key("acme", "owner", "owner")
    load = service.load

    def when_told():
        go.wait(30)
        load()

    service.load = when_told
    server = Server(service, host="127.0.0.1", port=0)
    failed = []

    def run():
        try:
            server.run()
        except StateError as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as http:
        yield http, go, service, failed
    go.set()
    server.should_exit = True
    thread.join()
    service.stop()


def wait_for(happens):
    end = time.monotonic() + 30
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.02)


def status(http, path):
    return http.get(path).status_code


def test_it_is_alive_before_it_is_ready(listening):
    http, go, _, _ = listening
    assert (status(http, "/healthz"), status(http, "/readyz")) == (200, 503)
    refused = http.get("/v1/models")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    go.set()
    wait_for(lambda: status(http, "/readyz") == 200)
    assert status(http, "/v1/models") == 200


def test_a_model_that_cannot_be_read_is_set_aside_and_the_others_are_served(listening):
    http, go, service, failed = listening
    for name in ("broken", "sound"):
        service.do_now(service.create("acme", NewModel(name=name, classes=["a", "b"], features=3)))
    with service.store.transaction() as tx:
        tx.run("UPDATE snapshots SET data = ? WHERE model = 'broken'", b"broken")
    service.models.clear()
    go.set()
    wait_for(lambda: status(http, "/readyz") == 200)
    assert not failed
    refused = http.get("/v1/models/broken")
    assert refused.status_code == 503
    assert "not a lasec model" in refused.json()["detail"]
    listed = {one["name"]: one for one in http.get("/v1/models").json()["models"]}
    assert listed["sound"]["status"] == "active"
    assert not listed["sound"]["problem"]
    assert listed["broken"]["status"] == "set aside"
    assert "not a lasec model" in listed["broken"]["problem"]
    assert "lasec_models_set_aside 1" in http.get("/metrics").text
    asked = http.post("/v1/models/sound/ask", json={"rows": [[1.0, 2.0, 3.0]]})
    assert asked.status_code == 200
    again = {"name": "broken", "classes": ["a", "b"], "features": 3}
    assert http.post("/v1/models", json=again).status_code == 409
    assert http.delete("/v1/models/broken").status_code == 204
    assert http.post("/v1/models", json=again, timeout=60).status_code == 200
