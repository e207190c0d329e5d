"""Judges behind an address: what they answer is told, and all else is no answer."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
import ssl
import subprocess
import threading

import numpy as np
import pytest

from lasec.service import outgoing
from lasec.service.hooks import Hooks
from lasec.service.outgoing import Outgoing, UnansweredError
from service.judges import (
    dies,
    drips,
    hangs,
    in_chunks,
    judging,
    reply,
    says,
    twice,
    until,
    without_length,
)
from service.running import running

ROWS = np.random.default_rng(3).normal(size=(40, 3)).tolist()
QUICK = (0.01, 0.01)  # pauses


def sources(judge, **more):
    return [{"name": "gpt", "price": 1.0, "hook": judge.url} | more,
            {"name": "people", "price": 20.0}]  # fmt: skip


@pytest.fixture
def judge():
    with judging(says("spam", confidence=0.9)) as made:
        yield made


@pytest.fixture
def api(judge, tmp_path):
    allowed = Outgoing(frozenset([judge.place]), private=True, pauses=QUICK)
    with running(str(tmp_path / "store.db"), outgoing=allowed) as found:
        yield found


def hooked(api, judge, **more):
    given = {"rate": None, "money": 5.0, "sources": sources(judge)}
    return api.made(**given | more)


def asked(api, path, count, **more):
    said = api("POST", f"{path}/ask", {"rows": ROWS[:count], **more}).json()["decisions"]
    return [one["ticket"] for one in said if one.get("source") == "gpt"]


def of_status(api, path, status):
    found = api("GET", f"{path}/questions?status={status}").json()["questions"]
    return [question["ticket"] for question in found]


def test_an_answer_is_told_and_people_do_not_see_it(api, judge):
    path = hooked(api, judge)
    tickets = asked(api, path, 5, ids=[f"mail-{n}" for n in range(5)], items=["win"] * 5)
    until(lambda: of_status(api, path, "open") == tickets)  # people see the first ten at least
    headers, body = min(judge.posts, key=lambda post: post[1]["ticket"])
    assert body == {
        "model": "m", "ticket": tickets[0], "id": f"mail-{tickets[0]}",
        "classes": ["ham", "spam"], "item": "win",
    }  # fmt: skip
    assert headers["Idempotency-Key"].startswith("m-0-")
    assert "Authorization" not in headers
    leased = api("POST", f"{path}/lease", {"by": "ann"}).text
    assert "spam" not in leased.replace('"classes":["ham","spam"]', "")
    heard = api.service.models["acme", "m"].desk.session.buying.asked
    assert {(one.answer, one.confidence) for one in heard.values()} == {(1, 0.9)}
    assert set(judge.keys.values()) == {1}
    assert f"lasec_hook_posts_total {len(tickets)}\n" in api("GET", "/metrics").text


@pytest.mark.parametrize(
    ("behave", "reason", "posts"),
    [
        (says("eggs"), "class", 1),
        (says(["spam"]), "reply", 1),
        (says("spam", confidence=7.0), "reply", 1),
        (lambda handler, body: reply(handler, b"spam"), "reply", 1),
        (lambda handler, body: reply(handler, b"[" * 30_000), "reply", 1),
        (lambda handler, body: reply(handler, b"\xff\xfe"), "reply", 1),
        (lambda handler, body: reply(handler, b" " * outgoing.LARGEST), "size", 1),
        (lambda handler, body: reply(handler, {}, 500), "status", 3),
        (lambda handler, body: reply(handler, {}, 429), "status", 3),
        (lambda handler, body: reply(handler, {}, 404), "status", 1),
        (lambda handler, body: reply(handler, {"label": "spam"}, 302, Location="/label"),
         "redirect", 1),
        (lambda handler, body: handler.wfile.write(b"SPAM!\r\n\r\n"), "protocol", 1),
        (lambda handler, body: handler.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
        ), "protocol", 1),
        (dies, "connection", 3),
        (hangs, "timeout", 3),
        (drips, "timeout", 3),
    ],
)  # fmt: skip
def test_all_else_is_no_answer_and_goes_to_people(api, judge, behave, reason, posts, caplog):
    judge.behave = behave
    seconds = 0.3 if reason == "timeout" else 20.0
    path = hooked(api, judge, sources=sources(judge, timeout=seconds))
    (ticket,) = asked(api, path, 1)
    with caplog.at_level(logging.WARNING, logger="lasec.service"):
        until(lambda: of_status(api, path, "open") == [ticket])
    assert api.service.models["acme", "m"].desk.session.buying.asked[ticket].answer == -1
    assert f'lasec_hook_unanswered_total{{reason="{reason}"}} 1\n' in api("GET", "/metrics").text
    assert f"no answer of 'gpt' to question {ticket}: " in caplog.text
    assert list(judge.keys.values()) == [posts]


@pytest.mark.parametrize("form", [{"features": 3}, {"features": None, "columns": {"a": "number"}}])
@pytest.mark.parametrize(
    "label", ["I'm sorry, I cannot help", "ham", "SPAM", 1, "not spam", "spam"]
)
def test_where_one_class_is_apart_a_judge_names_it_or_the_others(api, judge, form, label):
    judge.behave = says(label)
    path = hooked(api, judge, positive="spam", **form)
    rows = ROWS[:1] if form["features"] else [{"a": 1.0}]
    api("POST", f"{path}/ask", {"rows": rows})
    until(lambda: of_status(api, path, "open") == [0])
    ((_, posted),) = judge.posts
    assert posted["classes"] == ["not spam", "spam"]
    heard = api.service.models["acme", "m"].desk.session.buying.asked[0].answer
    assert heard == (["not spam", "spam"].index(label) if label in posted["classes"] else -1)
    assert api.service.hooks.unanswered == ({} if label in posted["classes"] else {"class": 1})


@pytest.mark.parametrize("behave", [twice, without_length, in_chunks])
def test_an_answer_is_heard_once(api, judge, behave):
    judge.behave = behave
    path = hooked(api, judge)
    (ticket,) = asked(api, path, 1)
    until(lambda: of_status(api, path, "open") == [ticket])
    assert api.service.models["acme", "m"].desk.session.buying.asked[ticket].answer == 1
    late = {"answers": [{"ticket": ticket, "label": "ham", "by": "gpt"}]}
    said = api("POST", f"{path}/tell", late).json()["outcomes"][0]
    assert "was answered" in said["error"]
    assert not api.service.hooks.unanswered


def test_a_judge_that_fails_once_is_asked_again_with_the_same_key(api, judge):
    judge.behave = lambda handler, body: reply(
        handler, {"label": "spam"}, 503 if len(judge.posts) == 1 else 200
    )
    path = hooked(api, judge)
    (ticket,) = asked(api, path, 1)
    until(lambda: of_status(api, path, "open") == [ticket])
    assert list(judge.keys.values()) == [2]
    assert not api.service.hooks.unanswered


def test_a_judge_that_hangs_holds_up_nobody_elses(api, judge):
    judge.behave = lambda handler, body: (
        hangs(handler, body) if body["model"] == "m" else reply(handler, {"label": "spam"})
    )
    asked(api, hooked(api, judge), 40)
    other = api.of("other", "boss", "owner")
    path = hooked(other, judge, name="quick")
    tickets = asked(other, path, 5)
    until(lambda: of_status(other, path, "open") == tickets)


def test_what_is_pushed_or_canceled_meanwhile_stays_so(api, judge):
    release = threading.Event()
    judge.behave = lambda handler, body: (release.wait(20.0), reply(handler, {"label": "spam"}))
    path = hooked(api, judge)
    told, gone = asked(api, path, 2)
    until(lambda: len(judge.posts) == 2)
    answer = {"answers": [{"ticket": told, "label": "ham", "by": "gpt"}]}
    api("POST", f"{path}/tell", answer)
    for _ in range(2):  # the judge, and then people
        api("POST", f"{path}/cancel", {"questions": [{"ticket": gone}]})
    release.set()
    until(lambda: len(judge.posts) == 2)
    assert of_status(api, path, "open") == [told]
    assert of_status(api, path, "gone") == [gone]
    assert api.service.models["acme", "m"].desk.session.buying.asked[told].answer == 0


def test_what_fails_in_the_service_fails_for_one_question(api, judge, monkeypatch, caplog):
    tell = api.service.hooks._tell

    async def broken(model, answer):
        if answer.ticket == 1:
            raise RuntimeError("a fault")
        return await tell(model, answer)

    monkeypatch.setattr(api.service.hooks, "_tell", broken)
    path = hooked(api, judge)
    tickets = asked(api, path, 5)
    rest = [ticket for ticket in tickets if ticket != 1]
    assert len(rest) == len(tickets) - 1
    until(lambda: of_status(api, path, "open") == rest)
    until(lambda: "a question waits until the next start for its judge" in caplog.text)
    assert of_status(api, path, "judging") == [1]


def test_a_paused_model_posts_nothing_and_goes_on(api, judge):
    release = threading.Event()
    judge.behave = lambda handler, body: (release.wait(20.0), reply(handler, {"label": "spam"}))
    path = hooked(api, judge)
    tickets = asked(api, path, 20)
    until(lambda: len(judge.posts) == 16)
    api("PATCH", path, {"status": "paused"})
    release.set()
    assert of_status(api, path, "judging") == tickets
    api("PATCH", path, {"status": "active"})
    until(lambda: not of_status(api, path, "judging"))
    assert len(judge.posts) == len(tickets)
    assert set(judge.keys.values()) == {1}


def test_what_was_open_is_posted_again_with_the_same_key(judge, tmp_path):
    judge.behave = hangs
    store = str(tmp_path / "store.db")
    allowed = Outgoing(frozenset([judge.place]), private=True)
    with running(store, outgoing=allowed) as api:
        tickets = asked(api, hooked(api, judge), 3)
        until(lambda: len(judge.posts) == len(tickets))
    judge.behave = says("spam")
    with running(store, outgoing=allowed) as api:
        until(lambda: of_status(api, "/v1/models/m", "open") == tickets)
    assert list(judge.keys.values()) == [2] * len(tickets)


def test_news_that_come_while_it_stops_are_left_for_the_next_start(api, judge, monkeypatch):
    hooked(api, judge)
    model, hooks = api.service.models["acme", "m"], api.service.hooks
    reads = iter([hooks._loop])  # then there is none
    with monkeypatch.context() as stopping:
        stopping.setattr(Hooks, "_loop", property(lambda _: next(reads, None)), raising=False)
        hooks.look(model)
    assert next(reads, None) is None


def test_a_deleted_model_is_not_asked_about(api, judge):
    judge.behave = hangs
    path = hooked(api, judge, sources=sources(judge, timeout=0.5))
    asked(api, path, 40)
    until(lambda: len(judge.posts) >= 16)
    api("DELETE", path)
    judge.behave = says("spam")
    path = hooked(api, judge)
    tickets = asked(api, path, 3)
    until(lambda: of_status(api, path, "open") == tickets)
    assert len(judge.keys) <= 16 + 3
    assert len({key.rpartition("-")[2] for key in judge.keys}) == 2


def test_a_secret_is_posted_and_written_nowhere(api, judge, tmp_path, monkeypatch):
    given = sources(judge, secret="LASEC_SECRET_GPT")
    body = {"name": "m", "classes": ["ham", "spam"], "features": 3, "money": 5.0}
    found = api("POST", "/v1/models", body | {"sources": given})
    assert found.status_code == 422
    assert "no LASEC_SECRET_GPT in its environment" in found.json()["detail"]
    monkeypatch.setenv("LASEC_SECRET_GPT", "very-secret-4077")
    path = hooked(api, judge, sources=given)
    tickets = asked(api, path, 3)
    until(lambda: of_status(api, path, "open") == tickets)
    assert {headers["Authorization"] for headers, _ in judge.posts} == {"Bearer very-secret-4077"}
    monkeypatch.delenv("LASEC_SECRET_GPT")
    (ticket,) = asked(api, path, 1)
    until(lambda: of_status(api, path, "open") == [*tickets, ticket])
    assert api.service.hooks.unanswered == {"secret": 1}
    assert len(judge.posts) == len(tickets)
    file = api("GET", f"{path}/file").content
    shown = [api("GET", where).content for where in (path, f"{path}/journal", "/metrics")]
    files = [each.read_bytes() for each in tmp_path.iterdir()]
    assert len(files) > 1
    assert not any(b"very-secret" in data for data in (file, *shown, *files))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hook": "https://evil.example/"}, "'evil.example' is not among the hosts"),
        ({"hook": "http://127.0.0.1:1/"}, "'127.0.0.1:1' is not among the hosts"),
        ({"hook": "file:///etc/passwd"}, "an address is https://"),
        ({"hook": "http://{place}@evil.example/"}, "an address is https://"),
        ({"hook": "http://{place}#@evil.example/"}, "an address is https://"),
        ({"hook": "http://{place}/\r\nX: y"}, "an address is https://"),
        ({"hook": "http://127.0.0.1:99999/"}, "Port out of range"),
        ({"secret": "LASEC_STORE"}, "matching regex"),
        ({"secret": "HOME"}, "matching regex"),
        ({"timeout": 1e9}, "<= 600"),
    ],
)
def test_a_judge_who_may_not_be_posted_to_is_refused(api, judge, change, said):
    change = {name: value.replace("{place}", judge.place) if isinstance(value, str) else value
              for name, value in change.items()}  # fmt: skip
    body = {"name": "m", "classes": ["ham", "spam"], "features": 3, "money": 5.0}
    found = api("POST", "/v1/models", body | {"sources": sources(judge, **change)})
    assert found.status_code == 422
    assert said in found.json()["detail"]
    assert not judge.posts


def test_people_have_no_hook(api, judge):
    given = [{"name": "gpt", "price": 1.0}, {"name": "people", "price": 9.0, "hook": judge.url}]
    body = {"name": "m", "classes": ["ham", "spam"], "features": 3, "money": 5.0}
    found = api("POST", "/v1/models", body | {"sources": given})
    assert found.status_code == 422
    assert "only the judge is" in found.json()["detail"]


@pytest.mark.parametrize("allowed", [Outgoing(), Outgoing(frozenset(["127.0.0.1"]), private=True)])
def test_a_host_that_is_no_longer_allowed_is_not_posted_to(judge, allowed, tmp_path):
    store = str(tmp_path / "store.db")
    before = Outgoing(frozenset([judge.place]), private=True)
    with running(store, outgoing=before) as api:
        path = hooked(api, judge)
    with running(store, outgoing=allowed) as api:
        tickets = asked(api, path, 3)
        until(lambda: of_status(api, path, "open") == tickets)
        assert api.service.hooks.unanswered["refused"] == len(tickets)
    assert not judge.posts


# Addresses


def post(allowed, url, **more):
    return asyncio.run(allowed.post(url, b"{}", {}, **{"within": 5.0} | more))


@pytest.mark.parametrize(
    "number", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1", "fd00::1",
               "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "0.0.0.0", "224.0.0.1",
               "fec0::1", "::7f00:1", "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "5f00::1", "3fff::1"]
)  # fmt: skip
def test_a_name_that_leads_inside_is_refused(number, monkeypatch):
    resolved(monkeypatch, [number])
    with pytest.raises(UnansweredError, match="not allowed here") as error:
        post(Outgoing(frozenset(["judge.example"])), "https://judge.example/")
    assert error.value.kind == "refused"


def resolved(monkeypatch, numbers):
    """Let every name lead to these addresses; gives the names that were looked up."""
    looked = []

    async def found(self, host, port, **more):
        looked.append(host)
        return [(2, 1, 6, "", (number, port)) for number in numbers]

    monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", found)
    return looked


def test_a_name_is_resolved_once_and_connected_where_it_was_looked_at(judge, monkeypatch):
    port = judge.place.partition(":")[2]
    looked = resolved(monkeypatch, ["127.0.0.1"])
    allowed = Outgoing(frozenset([f"judge.example:{port}"]), private=True)
    assert b"spam" in post(allowed, f"http://judge.example:{port}/label")
    assert set(looked[:1]) == {"judge.example"}
    assert "judge.example" not in looked[1:]


@pytest.mark.parametrize("number", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_an_address_of_the_internet_is_allowed(number):
    assert Outgoing()._allows("https", number)


@pytest.mark.parametrize("first", ["unreachable", "black hole"])
def test_an_address_that_leads_nowhere_leaves_time_for_the_next(judge, monkeypatch, first):
    port, connect = judge.place.partition(":")[2], asyncio.open_connection
    resolved(monkeypatch, ["10.0.0.1", "127.0.0.1"])
    tried = []

    async def connected(number, *given, **more):
        tried.append(number)
        if number == "127.0.0.1":
            return await connect(number, *given, **more)
        if first == "unreachable":
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        return await asyncio.sleep(60.0)

    monkeypatch.setattr(asyncio, "open_connection", connected)
    allowed = Outgoing(frozenset([f"judge.example:{port}"]), private=True)
    assert b"spam" in post(allowed, f"http://judge.example:{port}/label", within=2.0)
    assert tried == ["10.0.0.1", "127.0.0.1"]


@pytest.mark.parametrize("url", ["https://judge.example/", "https://judge.example:443/"])
@pytest.mark.parametrize("named", ["judge.example", "Judge.Example:443"])
def test_the_usual_port_can_be_named(url, named):
    assert Outgoing(frozenset([named])).address(url).port == 443


def test_the_usual_port_of_tls_is_not_that_of_plain_text():
    allowed = Outgoing(frozenset(["judge.example:443"]), private=True)
    with pytest.raises(UnansweredError, match="is not among the hosts"):
        allowed.address("http://judge.example/")


def test_the_name_of_a_host_has_no_case():
    allowed = Outgoing(frozenset(["Judge.Example:8443"]))
    assert allowed.address("https://JUDGE.example:8443/Label").path == "/Label"
    with pytest.raises(UnansweredError, match="is not among the hosts"):
        allowed.address("https://judge.example/")  # another port


def test_plain_text_goes_to_private_addresses_alone(monkeypatch):
    resolved(monkeypatch, ["8.8.8.8"])
    with pytest.raises(UnansweredError, match="not allowed here"):
        post(Outgoing(frozenset(["judge.example"]), private=True), "http://judge.example/")
    with pytest.raises(UnansweredError, match="begins with https"):
        post(Outgoing(frozenset(["judge.example"])), "http://judge.example/")


@pytest.mark.skipif(not shutil.which("openssl"), reason="certificates are made by openssl")
def test_certificates_are_verified(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
         "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    with judging(says("spam")) as judge:
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        served.load_cert_chain(certificate, key)
        judge.server.socket = served.wrap_socket(judge.server.socket, server_side=True)
        port = judge.place.partition(":")[2]
        allowed = Outgoing(frozenset([f"localhost:{port}", judge.place]), private=True)
        outgoing._tls.cache_clear()
        with pytest.raises(UnansweredError, match="certificate"):
            post(allowed, f"https://localhost:{port}/")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        outgoing._tls.cache_clear()
        assert b"spam" in post(allowed, f"https://localhost:{port}/")
        with pytest.raises(UnansweredError, match="certificate"):
            post(allowed, f"https://{judge.place}/")  # it is another host's
        outgoing._tls.cache_clear()
    assert len(judge.posts) == 1
