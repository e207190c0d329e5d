"""Answers that are taken back, once or by a retried request."""

import numpy as np
import pytest

from lasec.service import Service, people
from lasec.service.bodies import AskBody, PersonBody
from lasec.service.errors import Problem
from lasec.service.operations import Rows
from lasec.service.settings import Asking, NewModel


@pytest.fixture
def service():
    made = Service(":memory:")
    made.start()
    made.new_key("acme", "first", "owner")
    yield made
    made.stop()


@pytest.fixture
def model(service):
    new = NewModel(
        name="mails", classes=["ham", "spam"], features=2, algorithm="perceptron",
        seed=0, asking=Asking(grace=60.0, skips=1),
    )  # fmt: skip
    made = service.do_now(service.create("acme", new))
    body = AskBody([[1.0, 2.0]])
    service.do_now(service.ask(made, Rows.of_numbers(np.array([[1.0, 2.0]])), body))
    return made


def say(service, model, what, label=None):
    body = PersonBody(ticket=0, say=what, label=label)
    return service.do_now(service.hear(model, "ann", body, leased=False)).status


def today(service, model):
    leased = service.do_now(lambda tx, now, known: people.lease(tx, now, model, "ann", 5))
    return leased.answered_today, [question.ticket for question in leased.questions]


def test_an_answer_is_taken_back_once_however_often_it_is_sent(service, model):
    assert say(service, model, "label", "ham") == "held"
    assert today(service, model) == (1, [])
    assert say(service, model, "undo") == "open"
    assert say(service, model, "undo") == "open"
    assert today(service, model) == (0, [0])
    assert say(service, model, "label", "spam") == "held"


def test_later_is_not_counted_as_answered(service, model):
    assert say(service, model, "later") == "later"
    assert today(service, model) == (0, [])


def test_a_question_that_was_given_up_does_not_come_back(service, model):
    assert say(service, model, "dont_know") == "dont_know"  # one is enough here
    with pytest.raises(Problem, match="is closed") as refused:
        say(service, model, "undo")
    assert refused.value.status == 410
