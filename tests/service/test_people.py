"""Questions in the hands of people: leases, held answers, undo, overlap, not knowing."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from service.running import running


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with running(str(tmp_path_factory.mktemp("service") / "store.db")) as found:
        yield found


def filled(api, name, rows=10, **asking):
    path = api.made(name=name, rate=1.0, asking={"grace": 0.2} | asking)
    X = np.random.default_rng(0).normal(size=(rows, 3)).tolist()
    items = [f"item {i}" for i in range(rows)]
    said = api("POST", f"{path}/ask", {"rows": X, "items": items}).json()["decisions"]
    return path, [d["ticket"] for d in said if d["asked"]]


def lease(api, path, by, count=5):
    found = api("POST", f"{path}/lease", {"by": by, "count": count}).json()
    return [question["ticket"] for question in found["questions"]]


def say(api, path, by, ticket, **more):
    return api("POST", f"{path}/answers", {"by": by, "ticket": ticket} | more)


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_answer_is_held_taken_back_and_learned_once(api):
    path, tickets = filled(api, "held")
    mine = lease(api, path, "ann")
    assert mine == tickets[:5]
    assert lease(api, path, "bob") == tickets[5:10]
    assert lease(api, path, "ann") == mine  # a reload gives the same ones
    assert say(api, path, "ann", mine[0], label="spam").json()["status"] == "held"
    assert say(api, path, "ann", mine[0], say="undo").json()["status"] == "open"
    assert say(api, path, "ann", mine[0], label="ham").json()["status"] == "held"
    until(lambda: api("GET", f"{path}/budget").json()["answered"] == 1)
    assert say(api, path, "ann", mine[0], say="undo").status_code == 409
    assert say(api, path, "ann", mine[0], label="ham").json()["status"] == "told"
    assert say(api, path, "ann", mine[0], label="spam").status_code == 409
    assert say(api, path, "ann", mine[1], label="eggs").status_code == 422
    assert say(api, path, "ann", 999, label="ham").status_code == 404


def test_fifty_people_at_once_never_hold_the_same_question(api):
    path, tickets = filled(api, "fifty", rows=200, lease=2.0)
    held, lock = {}, threading.Lock()

    def work(n):
        for ticket in lease(api, path, f"p{n}", count=4):
            with lock:
                held.setdefault(ticket, []).append(n)

    people = [threading.Thread(target=work, args=(n,)) for n in range(50)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(held) == tickets
    assert all(len(who) == 1 for who in held.values())
    assert lease(api, path, "late") == []
    time.sleep(2.1)
    back = lease(api, path, "late", count=50)
    assert back == tickets[:50]
    late = tickets[60]
    assert say(api, path, f"p{held[late][0]}", late, label="ham").json()["status"] == "held"


def test_who_does_not_know_passes_it_on_and_two_give_it_up(api):
    path, tickets = filled(api, "unknown", rows=2)
    assert say(api, path, "ann", tickets[0], say="dont_know").json()["status"] == "dont_know"
    assert lease(api, path, "ann") == tickets[1:]
    assert tickets[0] in lease(api, path, "bob")
    say(api, path, "bob", tickets[0], say="dont_know")
    found = api("GET", f"{path}/budget").json()
    assert (found["lost"], found["open"]) == (1, 1)
    assert say(api, path, "cat", tickets[0], label="ham").status_code == 410
    assert api("GET", f"{path}/agreement").json()["dont_know"] == {"ann": 1, "bob": 1}


def test_later_gives_it_to_others_first(api):
    path, tickets = filled(api, "later", rows=2)
    assert lease(api, path, "ann") == tickets
    say(api, path, "ann", tickets[0], say="later")
    assert lease(api, path, "ann") == tickets[1:]
    assert lease(api, path, "bob") == tickets[:1]


def test_blind_overlap_shows_who_agrees(api):
    path, tickets = filled(api, "overlap", rows=6, overlap=1.0, grace=0.0)
    for ticket in tickets:
        say(api, path, "ann", ticket, label="ham")
    until(lambda: api("GET", f"{path}/budget").json()["answered"] == 6)
    assert lease(api, path, "bob", count=10) == tickets
    for ticket in tickets:
        say(api, path, "bob", ticket, label="ham" if ticket != tickets[0] else "spam")
    until(lambda: api("POST", f"{path}/lease", {"by": "cat"}).json()["waiting"] == 0)
    found = api("GET", f"{path}/agreement").json()
    assert found["pairs"] == [{"people": ["ann", "bob"], "questions": 6, "same": 5}]
    assert api("GET", f"{path}/budget").json()["answered"] == 6  # the second ones are not learned


def test_three_people_and_their_majority(api):
    path, tickets = filled(api, "majority", rows=1, annotators=3, grace=0.0)
    (ticket,) = tickets
    for person, label in (("ann", "ham"), ("bob", "spam"), ("cat", "spam")):
        assert ticket in lease(api, path, person)
        say(api, path, person, ticket, label=label)
    until(lambda: api("GET", f"{path}/budget").json()["answered"] == 1)
    lines = api("GET", f"{path}/journal").text
    assert lines.count('"label":"spam"') >= 2
    assert lease(api, path, "dan") == []


def test_people_never_see_the_guess(api):
    path, _ = filled(api, "blind", rows=3)
    found = api("POST", f"{path}/lease", {"by": "ann"}).json()
    assert {key for question in found["questions"] for key in question} == {
        "ticket", "item", "until",
    }  # fmt: skip
