"""Labels of two prices in the service: the judge answers by push, and people see what goes on."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import lasec
from service.running import running

SOURCES = [{"name": "gpt", "price": 1.0}, {"name": "people", "price": 20.0}]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with running(str(tmp_path_factory.mktemp("service") / "store.db")) as found:
        yield found


def rows(count):
    X, y = lasec.streams.stationary(count, dimension=3, seed=1)
    right = np.random.default_rng(2).random(count) < 0.9
    truth = np.where(y > 0, "spam", "ham").tolist()
    said = np.where(right == (y > 0), "spam", "ham").tolist()
    return X, truth, said


def asked(api, path, X):
    said = api("POST", f"{path}/ask", {"rows": X.tolist()}).json()["decisions"]
    return [one["ticket"] for one in said if one.get("source") == "gpt"]


def tell(api, path, answers):
    return api("POST", f"{path}/tell", {"answers": answers}).json()["outcomes"]


def of_status(api, path, status):
    found = api("GET", f"{path}/questions?status={status}").json()["questions"]
    return [question["ticket"] for question in found]


def test_people_see_a_question_only_when_the_judge_has_sent_it_on(api):
    path = api.made(name="judged", rate=None, sources=SOURCES, money=5.0, asking={"grace": 0.0})
    X, truth, said = rows(40)
    tickets = asked(api, path, X)
    assert of_status(api, path, "judging") == tickets
    assert api("POST", f"{path}/lease", {"by": "ann"}).json()["questions"] == []
    early = tell(api, path, [{"ticket": tickets[0], "label": "ham", "by": "ann"}])[0]
    assert "'gpt' is asked about it, and 'ann' answered" in early["error"]
    answers = [{"ticket": t, "label": said[t], "by": "gpt", "confidence": 0.8} for t in tickets[1:]]
    done = tell(api, path, [{"ticket": tickets[0], "label": None, "by": "gpt"}, *answers])
    assert {one.get("source") for one in done} == {"people"}  # the first ten at least
    again = tell(api, path, answers[:1])
    assert again == done[1:2]  # a judge that sends an answer twice gets the same reply
    leased = api("POST", f"{path}/lease", {"by": "ann", "count": 50}).json()["questions"]
    assert [question["ticket"] for question in leased] == tickets
    assert "gpt" not in str(leased)
    for ticket in tickets:
        answer = {"ticket": ticket, "label": truth[ticket], "by": "bob"}
        assert tell(api, path, [answer])[0]["settled"]
    spent = api("GET", f"{path}/budget").json()["spent"]
    assert spent == {"gpt": len(tickets), "people": 20.0 * len(tickets)}
    judge = api("GET", f"{path}/accuracy").json()["judge"]
    assert judge["labels"] == len(tickets) - 1
    found = api("GET", f"{path}/sources").json()
    assert {one["name"]: one["spent"] for one in found["sources"]} == spent
    assert [one["asked"] for one in found["sources"]] == [len(tickets)] * 2
    assert (found["judging"], found["judge"]) == (0, judge)
    assert [one["label"] for one in found["classes"]] == ["ham", "spam"]
    assert found["planned"] == pytest.approx(5.0 * 40)
    assert sum(spent.values()) <= found["cap"]
    assert found["explained"] is None  # no row had a prediction, and nobody had answered
    assert found["verdict"] == "not known before 10 people have answered after it"
    labels = api("GET", f"{path}/labels").json()["labels"]
    assert {label["by"] for label in labels} == {"bob"}


def test_a_canceled_judgment_goes_to_people(api):
    path = api.made(name="gone", rate=None, sources=SOURCES, money=5.0)
    tickets = asked(api, path, rows(10)[0])
    body = {"questions": [{"ticket": tickets[0]}]}
    done = api("POST", f"{path}/cancel", body).json()["outcomes"][0]
    assert done["source"] == "people"
    assert of_status(api, path, "open") == tickets[:1]
    done = api("POST", f"{path}/cancel", body).json()["outcomes"][0]
    assert done["canceled"]
    assert of_status(api, path, "gone") == tickets[:1]


def test_a_model_of_one_source_has_no_sources(api):
    path = api.made(name="one")
    assert api("GET", f"{path}/sources").json()["sources"] == []


def test_of_many_classes_the_first_are_shown(api):
    names = [f"class {n}" for n in range(30)]
    path = api.made(name="many", classes=names, rate=None, sources=SOURCES, money=5.0)
    found = api("GET", f"{path}/sources").json()["classes"]
    assert [one["label"] for one in found] == names[:20]


def test_what_does_not_go_together_is_refused(api):
    for more, message in (
        ({"sources": SOURCES}, "what they may cost"),
        ({"sources": SOURCES[:1], "money": 1.0}, "give two sources"),
        ({"sources": SOURCES[::-1], "money": 1.0}, "may not cost more"),
        ({"sources": SOURCES, "money": 1.0, "asking": {"annotators": 3}}, "one expert answers"),
    ):
        body = {"name": "wrong", "classes": ["ham", "spam"], "features": 3} | more
        reply = api("POST", "/v1/models", body)
        assert reply.status_code == 422
        assert message in reply.json()["detail"]


def test_a_kill_between_the_judge_and_the_draw_changes_no_decision(server):
    X, truth, said = rows(120)
    new = {"name": "killed", "classes": ["ham", "spam"], "features": 3, "seed": 3, "alarms": False}
    server.call("POST", "/v1/models", new | {"sources": SOURCES, "money": 4.0})
    session = lasec.Session(
        lasec.Tracker(3, seed=3, max_pending=200_000, max_age=100_000), classes=["ham", "spam"],
        sources=[lasec.Source(**one) for one in SOURCES], money=lasec.Money(4.0),
    )  # fmt: skip
    path, judged = "/v1/models/killed", 0

    def killed():
        server.stop(signal.SIGKILL)
        server.start()

    def told(t, label, by):
        body = {"answers": [{"ticket": t, "label": label, "by": by}]}
        return server.call("POST", f"{path}/tell", body)["outcomes"][0]

    for t in range(120):
        mine = session.ask(X[t])
        its = server.call("POST", f"{path}/ask", {"rows": [X[t].tolist()]})["decisions"][0]
        assert (its["query_probability"], its.get("source")) == (mine.propensity, mine.source)
        if mine.source is None:
            continue
        judged += 1
        if judged in (3, 20):
            killed()  # the judge has answered, and nobody has heard it
        first, step = told(t, said[t], "gpt"), session.tell(t, said[t], by="gpt")
        assert (first.get("source"), first["settled"]) == (step.source, step.settled)
        if judged in (5, 22):
            killed()  # the reply is lost, and the answer is sent again
            assert told(t, said[t], "gpt") == first
        if step.source is not None:
            session.tell(t, truth[t], by="people")
            assert told(t, truth[t], "people")["settled"]
    assert judged > 22
    found = server.call("GET", f"{path}/accuracy")["all"]
    assert found["value"] == pytest.approx(session.accuracy().value, abs=1e-9)
    assert server.call("GET", f"{path}/budget")["spent"] == session.spent
