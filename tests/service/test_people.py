"""Questions in the hands of people: leases, held answers, undo, overlap, not knowing."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest

from lasec.service import NewModel, Service, people
from lasec.service.bodies import AskBody, CancelBody, PersonBody, QuestionBody
from lasec.service.errors import Problem
from lasec.service.operations import Rows
from lasec.service.queue import Queue
from lasec.service.settings import Asking
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


def test_a_person_holds_no_more_than_50_questions(api):
    path, tickets = filled(api, "most", rows=60)
    assert lease(api, path, "ann", count=50) == tickets[:50]
    assert api("POST", f"{path}/lease", {"by": "ann", "count": 51}).status_code == 422


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


# The queue in memory


@pytest.fixture
def service():
    made = Service(":memory:")
    made.start()
    made.new_key("acme", "first", "owner")
    made._tell_due = lambda: None  # a test says when
    yield made
    made.stop()


def model_of(service, count, **asking):
    new = NewModel(
        name="m", classes=["ham", "spam"], features=2, algorithm="perceptron", seed=0,
        asking=Asking(**asking),
    )  # fmt: skip
    model = service.do_now(service.create("acme", new))
    rows = Rows.of_numbers(np.ones((count, 2)))
    service.do_now(service.ask(model, rows, AskBody([])))
    return model


def taken(service, model, person, count):
    """The tickets of a lease, and the seconds of CPU time that it took."""

    def call(tx, now, known):
        began = time.thread_time()
        found = people.lease(tx, now, model, person, count)
        return [question.ticket for question in found.questions], time.thread_time() - began

    return service.do_now(call)


def test_a_lease_costs_no_more_where_all_questions_are_with_others(service):
    model = model_of(service, 5_000)
    free = [taken(service, model, "ann", 5) for _ in range(9)]
    for number in range(100):
        taken(service, model, f"p{number}", 50)
    full = [taken(service, model, f"late {number}", 5) for number in range(9)]
    assert full[0][0] == []
    assert np.median([seconds for _, seconds in full]) < 5 * np.median([s for _, s in free])


def test_the_first_lease_of_a_person_looks_at_none_of_what_they_have_answered(service):
    model_of(service, 5_000, annotators=3)

    def answer(tx, now, known):
        for ticket in range(5_000):
            tx.put(
                "INSERT INTO answers (tenant, model, ticket, person, label, status, at, due) "
                "VALUES ('acme', 'm', ?, 'busy', '\"ham\"', 'recorded', ?, ?)", ticket, now, now,
            )  # fmt: skip

    service.do_now(answer)
    busy, new = [], []
    for _ in range(9):
        for person, times in (("busy", busy), ("new", new)):
            queue, now = Queue.read(service.store, "acme", "m", time.time()), time.time()
            began = time.thread_time()
            found = queue.lease(person, now, 5, now + 300.0)
            times.append(time.thread_time() - began)
            assert len(found) == (0 if person == "busy" else 5)
    assert np.median(busy) < 5 * np.median(new), (busy, new)


@pytest.mark.parametrize("asking", [{}, {"overlap": 0.5}, {"annotators": 3, "skips": 3}])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_queue_in_memory_is_that_of_the_store(service, asking, seed):
    """Whatever people do, in whatever order: what a restart would read is what is there."""
    draw, names = random.Random(seed), ["ann", "bob", "cat"]
    model = model_of(service, 12, lease=300.0, grace=100.0, **asking)
    clock = [time.time()]

    def step(tx, now, known):
        now, person, ticket = clock[0], draw.choice(names), draw.randrange(12)
        kind = draw.choice(["lease", "lease", "label", "later", "dont_know", "undo", "due"])
        if kind == "lease":
            count, again = draw.randint(1, 4), Queue.read(service.store, "acme", "m", now)
            again.waiting(person, now)
            found = people.lease(tx, now, model, person, count).questions
            assert [each.ticket for each in found] == again.lease(person, now, count, now + 300.0)
            return None
        if kind == "due":
            return service._telling_due(model)(tx, now, known)
        body = PersonBody(ticket=ticket, say=kind, label="ham" if kind == "label" else None)
        return service.hear(model, person, body, leased=False)(tx, now, known)

    for number in range(200):
        try:
            service.do_now(step)
        except Problem as problem:
            assert problem.status < 500
        if number % 50 == 49:
            question = [QuestionBody(ticket=draw.randrange(12))]
            service.do_now(service.cancel(model, CancelBody(question)))
        clock[0] += draw.choice([0.0, 10.0, 400.0])
        again = Queue.read(service.store, "acme", "m", clock[0])
        for person in names:
            assert again.waiting(person, clock[0]) == model.queue.waiting(person, clock[0])
        for person in names:  # a lease that is as long as it was changes nothing
            shown = [each.lease(person, clock[0], 0, 0.0) for each in (again, model.queue)]
            assert shown == [[], []]
            assert again._mine.get(person, set()) == model.queue._mine.get(person, set())
        assert again._free == model.queue._free
