"""What was kept long enough is deleted: items, replies, answers and leases of closed questions."""

import numpy as np
import pytest

from lasec.service import NewModel, Service, people
from lasec.service.bodies import AskBody, CancelBody, PersonBody, QuestionBody
from lasec.service.operations import Rows
from lasec.service.settings import Asking

TABLES = ("questions", "answers", "leases", "replies", "points")


@pytest.fixture
def service(tmp_path):
    made = Service(str(tmp_path / "service.db"))
    made.start()
    made.new_key("acme", "owner", "owner")
    yield made
    made.stop()


def counts(service):
    return {table: service.store.read(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


def test_closed_questions_go_with_all_that_people_said(service):
    model = service.do_now(
        service.create("acme", NewModel(
            name="mails", classes=["ham", "spam"], features=3, rate=1.0, seed=1,
            asking=Asking(grace=0.0, retain=60.0),
        ))
    )  # fmt: skip
    ids = [f"mail-{i}" for i in range(4)]
    rows = Rows.of_numbers(np.random.default_rng(0).normal(size=(4, 3)))
    service.do_now(service.ask(model, rows, AskBody([], ids=ids)))
    leased = service.do_now(lambda tx, now, known: people.lease(tx, now, model, "ann", 4))
    for question in leased.questions[:2]:
        said = PersonBody(ticket=question.ticket, label="spam")
        service.do_now(lambda tx, now, known, s=said: people.hear(tx, now, model, "ann", s))
    tell = service._telling_due(model)
    service.do_now(lambda tx, now, known: tell(tx, now + 1.0, known))
    service.do_now(service.cancel(model, CancelBody([QuestionBody(leased.questions[2].ticket)])))
    before = counts(service)
    assert [before[table] for table in TABLES[:4]] == [4, 2, 2, 4]
    service.do_now(lambda tx, now, known: service._tidied(tx, now + 58.0, model))
    assert [counts(service)[table] for table in TABLES[:4]] == [4, 2, 2, 4]
    model.tidy_at = 0.0
    service.do_now(lambda tx, now, known: service._tidied(tx, now + 120.0, model))
    assert [counts(service)[table] for table in TABLES] == [1, 0, 1, 0, 1]  # what is open
    assert service.store.read("SELECT event FROM questions") == [(ids[3],)]
