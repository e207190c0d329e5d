"""Hand the questions of a model to people elsewhere, and bring their answers back.

Nothing is kept here. At each look the service says which questions it has and what it heard, the
place says what people have answered, and the difference is sent. So any part can be stopped at any
moment: the next look finds what is missing, and what was heard is not sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from lasec.client import AwayError, Given, Model, Question, RefusedError
from lasec.errors import TableError

DAY = 86_400.0
FINAL = ("told", "recorded", "sent")  # an online learner cannot unlearn these
Wish = tuple[str, dict[str, Any] | None]  # under what it is counted, and what is sent
BUSY = (429, 500, 502, 503, 504)


class Answer(NamedTuple):
    """What a person has answered, by the ticket or the id of a row; no label is "don't know"."""

    question: int | str
    by: str
    label: str | None = None


class Unreadable(NamedTuple):
    """Something in the place of an answer that cannot be read as one, and what is wrong with it."""

    why: str


class Shown(NamedTuple):
    """How many questions were put before people, taken away, and could not be shown."""

    shown: int = 0
    withdrawn: int = 0
    unshown: int = 0


class Place(Protocol):
    """Somewhere else where people answer."""

    @property
    def people(self) -> str | None:
        """How the names of its people begin, if an answer that is gone there is taken back."""

    def look(self, questions: Sequence[Question]) -> Sequence[Answer | Unreadable]:
        """What people have answered by now to these questions."""

    def show(self, questions: Sequence[Question]) -> Shown:
        """Let people see these questions, each once, and no others."""


class Done(NamedTuple):
    """What a look did: answers by what became of them, and questions shown.

    ``late`` are answers that came, or were changed, after the question was closed: a model cannot
    unlearn, so that they are only counted. ``refused`` are those that the service did not take.
    ``unreadable`` are those that were left out because they are no answers, and ``why`` says what
    is wrong with the first of them.
    """

    answered: int = 0
    dont_know: int = 0
    taken_back: int = 0
    late: int = 0
    refused: int = 0
    shown: int = 0
    withdrawn: int = 0
    unshown: int = 0
    unreadable: int = 0
    why: str = ""


def exchange(model: Model, place: Place, *, closed: float = DAY) -> Done:
    """Look once: send what people have answered, and show what waits for an answer.

    Parameters
    ----------
    model
        A model of the service.
    place
        Where people answer.
    closed
        Seconds for which closed questions are still looked at, to count late answers.
    """
    questions = _questions(model, closed)
    found = place.look(questions)
    answers = [one for one in found if isinstance(one, Answer)]
    wrong = [one.why for one in found if isinstance(one, Unreadable)]
    counts, sent = Counter[str](), False
    for name, call in _wishes(questions, answers, _names(model), place.people):
        counts[name if call is None or _taken(model, call) else "refused"] += 1
        sent |= call is not None
    if sent:
        questions = _questions(model, closed)
    shown = place.show([question for question in questions if question.waits])
    done: dict[str, Any] = {**counts, **shown._asdict()}
    return Done(**done, unreadable=len(wrong), why=wrong[0] if wrong else "")


def repeat(
    model: Model, place: Place, *, wait: Callable[[], object], say: Callable[[Done | str], None]
) -> None:
    """Look again and again, and go on when the service or the place was away."""
    last: Done | None = None
    while True:
        try:
            done = exchange(model, place)
            if done != last:
                say(done)
            last = done
        except AwayError as error:
            say(f"away: {error}")
        except TableError as error:
            say(f"unreadable: {error}")
        except RefusedError as error:
            if error.status not in BUSY:
                raise
            say(f"away: {error}")
        wait()


def _questions(model: Model, closed: float) -> list[Question]:
    """All questions that are open, or were closed lately."""
    found: list[Question] = []
    while page := model.questions(after=found[-1].ticket if found else -1, closed=closed):
        found += page
    return found


def _names(model: Model) -> dict[str, Any]:
    """The classes by their text."""
    return {str(name): name for name in model.info()["classes"]}


def _wishes(
    questions: Sequence[Question], answers: Sequence[Answer], names: Mapping[str, Any],
    people: str | None,
) -> list[Wish]:  # fmt: skip
    """What is to be sent, so that the service has heard what people have answered.

    >>> ham = Question(7, None, "hi", "open", 1, [Given("ls/1", "ham", "held")])
    >>> _wishes([ham], [Answer(7, "ls/1", "ham")], {"ham": "ham"}, "ls/")
    []
    >>> _wishes([ham], [], {"ham": "ham"}, "ls/")
    [('taken_back', {'ticket': 7, 'say': 'undo', 'by': 'ls/1'})]
    """
    times = Counter(q.id for q in questions)  # the number 7 and the text are both given as "7"
    known: dict[int | str, Question] = {
        q.id: q for q in questions if q.id is not None and times[q.id] == 1
    }
    known |= {q.ticket: q for q in questions}
    made, said = list[Wish](), dict[tuple[int, str], Any]()
    for answer in answers:
        question = known.get(answer.question)
        if question is None or (answer.label is not None and answer.label not in names):
            made.append(("refused", None))
        else:  # of several answers of a person, the last one counts
            label = None if answer.label is None else names[answer.label]
            said[question.ticket, answer.by] = label
    for (ticket, by), label in said.items():
        wish = _wish(known[ticket], by, label)
        made += [] if wish is None else [wish]
    return made if people is None else made + _gone(questions, said, people)


def _wish(question: Question, by: str, label: Any) -> Wish | None:
    """What is to be sent for one answer; None if it was heard before."""
    before = {given.by: given for given in question.answers}.get(by)
    if _same(before, label):
        return None
    if not question.is_open or (before is not None and before.status in FINAL):
        return None if label is None else ("late", None)
    if label is None:
        return "dont_know", {"ticket": question.ticket, "by": by, "say": "dont_know"}
    return "answered", {"ticket": question.ticket, "by": by, "label": label}


def _same(before: Given | None, label: Any) -> bool:
    """Whether the service has heard this answer."""
    if before is None:
        return False
    if label is None:
        return before.status == "dont_know"
    return before.status in ("held", *FINAL) and before.label == label


def _gone(
    questions: Sequence[Question], said: Container[tuple[int, str]], people: str
) -> list[Wish]:
    """Answers that the service has heard, but that are no longer there."""
    return [
        ("taken_back", {"ticket": question.ticket, "say": "undo", "by": given.by})
        for question in questions
        for given in question.answers
        if question.is_open and given.status in ("held", "dont_know")
        and (given.by or "").startswith(people) and (question.ticket, given.by) not in said
    ]  # fmt: skip


def _taken(model: Model, call: Mapping[str, Any]) -> bool:
    """Send an answer; False if the question was closed in the meantime."""
    try:
        model.answer(**call)
    except RefusedError as error:
        if error.status not in (404, 409, 410, 422):
            raise
        return False
    return True
