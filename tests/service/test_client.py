"""The client speaks the library's words, and a request that is sent again is carried out once."""

from __future__ import annotations

import asyncio
import threading
import time

import httpx
import pytest
import uvicorn
from experiments.serving.databases import free_port
from typer.testing import CliRunner

import lasec
from lasec.cli.app import app
from lasec.client import AsyncClient, AwayError, Client, RefusedError
from lasec.service import Service, application
from service.running import running


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with running(str(tmp_path_factory.mktemp("service") / "store.db")) as found:
        yield found


def test_the_words_of_the_library(api):
    X, y = lasec.streams.switching(60, dimension=3, seed=1)
    with Client(api.url, api.key) as client:
        model = client.create("words", ["ham", "spam"], features=3, rate=0.5, seed=2, alarms=False)
        alone = lasec.Session(
            lasec.registry.make(
                "tracker", 3, rate=0.5, seed=2, classes=["ham", "spam"], max_age=100_000.0
            )
        )
        scored = []
        for i, (x, sign) in enumerate(zip(X, y, strict=True)):
            label = "spam" if sign > 0 else "ham"
            said, mine = model.ask(x, id=f"row-{i}"), alone.ask(x, id=f"row-{i}")
            assert said._replace(variance=0.0) == mine._replace(variance=0.0)
            if said.asked:
                told = model.tell(f"row-{i}", label)
                assert told.correct == alone.tell(f"row-{i}", label).correct
                scored.append(told.correct is not None)
        assert model.accuracy().value == pytest.approx(alone.accuracy().value, abs=1e-12)
        assert not scored[0]  # it came before the first label, and had no prediction
        assert all(scored[1:])
        assert model.budget()["answered"] == len(scored)
        assert model.accuracy(over="window").labels == sum(scored)
        assert model.predict(X[:3]) == alone.predict(X[:3])
        model.learn(X[0], "ham")
        assert "words" in client.models()
        assert client.new_key("ann").startswith("lasec_")
        with pytest.raises(RefusedError, match="there is no model 'nothing'") as found:
            client.model("nothing").ask(X[0])
        assert found.value.status == 404
        with pytest.raises(RefusedError, match="never given out"):
            model.tell(5_000, "ham")


def test_awaited(api):
    async def work():
        async with AsyncClient(api.url, api.key) as client:
            model = await client.create("awaited", ["ham", "spam"], features=3, rate=1.0)
            decision = await model.ask([1.0, 2.0, 3.0], id="a")
            told = await model.tell("a", "spam")
            await model.learn([1.0, 1.0, 1.0], "ham")
            assert (await client.models())[-1] == "awaited"
            return decision.asked, told.learned, (await model.budget())["answered"]

    assert asyncio.run(work()) == (True, True, 1)


def test_a_lost_reply_is_asked_for_again_and_nothing_happens_twice(api):
    class Flaky(httpx.HTTPTransport):
        """Every second reply is lost on its way."""

        count = 0

        def handle_request(self, request):
            reply = super().handle_request(request)
            type(self).count += 1
            if self.count % 2:
                reply.close()
                raise httpx.ReadError("lost")
            return reply

    with Client(api.url, api.key) as client:
        client.create("flaky", ["ham", "spam"], features=3, rate=1.0)
        client._http._transport.close()
        client._http._transport = Flaky()
        model = client.model("flaky")
        tickets = [model.ask([float(i), 1.0, 0.0]).ticket for i in range(5)]
        assert tickets == [0, 1, 2, 3, 4]
        assert model.tell(2, "ham").settled
        client._http._transport.close()
    assert api("GET", "/v1/models/flaky").json()["rows"] == 5


def took(call):
    """The seconds until a call says that nobody is there, and its words."""
    began = time.monotonic()
    with pytest.raises(AwayError) as said:
        call()
    return time.monotonic() - began, str(said.value)


def test_a_dead_server_costs_one_second_and_a_message_with_its_address():
    url = f"http://127.0.0.1:{free_port()}"
    expected = f"{url} cannot be reached (Connection refused): is lasec serve running there?"
    with Client(url, "lasec_x") as client:
        model = client.model("mails")
        for call in (client.models, lambda: model.ask([1.0]), lambda: client.new_key("ann")):
            seconds, words = took(call)
            assert 0.8 < seconds < 2.5
            assert words == expected

    async def awaited():
        async with AsyncClient(url, "lasec_x") as client:
            await client.models()

    seconds, words = took(lambda: asyncio.run(awaited()))
    assert 0.8 < seconds < 2.5
    assert words.startswith(f"{url} cannot be reached (")
    with Client("127.0.0.1:8077", "lasec_x") as client:  # no protocol
        seconds, words = took(client.models)
        assert seconds < 0.5
        assert "127.0.0.1:8077 cannot be reached" in words


def test_a_command_says_the_address_of_a_dead_server():
    url = f"http://127.0.0.1:{free_port()}"
    given, began = {"LASEC_URL": url, "LASEC_KEY": "lasec_x"}, time.monotonic()
    done = CliRunner().invoke(app, ["labels", "export", "mails"], env=given)
    assert time.monotonic() - began < 2.5
    assert done.exit_code == 2
    assert done.stderr.startswith(f"lasec: {url} cannot be reached")


def test_patience_outlives_a_restart(tmp_path):
    port = free_port()

    def serve():
        time.sleep(1.5)
        service = Service(str(tmp_path / "store.db"))
        server = uvicorn.Server(
            uvicorn.Config(application(service), port=port, log_level="error", access_log=False)
        )
        servers.append(server)
        server.run()

    servers: list[uvicorn.Server] = []
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    patient = Client(f"http://127.0.0.1:{port}", "lasec_x", patience=60.0)
    with patient as client, pytest.raises(RefusedError, match="this key is nobody's"):
        client.models()
    servers[0].should_exit = True
    thread.join()
