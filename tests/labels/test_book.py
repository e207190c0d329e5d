"""The book of open questions by itself: what waits, what is given up, what a file may hold."""

import copy
import math
import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from lasec import sparse
from lasec.errors import StateError, TicketError
from lasec.learner.book import Book, Pending, Why, decided
from lasec.persistence import record
from lasec.persistence.container import checking
from lasec.types import Aggregate, Decision

DENSE = np.dtype(np.float64)


def asked(ticket, label=1):
    return Decision(label, 0.25, 1.5, 0.5, asked=True, ticket=ticket)


def filled(*tickets, limit=10, label=1, heard=None):
    book = Book(limit)
    book.listener = None if heard is None else heard.append
    for ticket in tickets:
        book.add(asked(ticket, label), np.full(2, float(ticket)), 10.0 * ticket)
    return book


def test_a_question_waits_until_it_is_answered_or_given_up():
    book = filled(1, 4, 9, heard=(heard := []))
    assert (len(book), book.bytes, book.oldest) == (3, 48, 10.0)
    book.hear(book.find(4, 10), (1,))
    assert (list(book), book.find(4, 10).answers) == ([1, 4, 9], (1,))
    book.give_up(1)
    book.settle(4)
    assert (list(book), book.bytes, book.oldest) == ([9], 16, 90.0)
    book.settle(9)
    assert (len(book), book.bytes, book.oldest) == (0, 0, math.inf)
    assert heard == []
    book.report()
    book.report()
    assert heard == [(1, Why.CANCELED)]


def test_a_question_expires_after_its_time_and_not_at_it():
    book = filled(1, 2, 3)
    assert (book.expire(before=20.0), list(book)) == (1, [2, 3])
    assert (book.expire(before=20.0), list(book)) == (0, [2, 3])
    book.add(asked(5), np.zeros(2), -1e9)  # a clock that jumps back stands still
    assert book.find(5, 6).time == 30.0
    assert (book.expire(before=math.inf), book.oldest) == (3, math.inf)


def test_the_oldest_is_dropped_past_the_limit():
    book = filled(1, 2, 3, limit=3, heard=(heard := []))
    book.report()
    assert (len(book), heard) == (3, [])
    assert [book.add(asked(t), np.zeros(2), 10.0 * t) for t in range(4, 9)] == [1] * 5
    book.report()
    assert (list(book), heard) == ([6, 7, 8], [(t, Why.DROPPED) for t in range(1, 6)])


def test_what_is_given_up_is_kept_only_where_somebody_listens():
    book = filled(1, 2, 3)
    book.give_up(1)
    book.listener = (heard := []).append
    book.give_up(2)
    twin, loaded = copy.copy(book), pickle.loads(pickle.dumps(book))
    assert loaded.listener is None
    twin.report()
    assert heard == [(2, Why.CANCELED)]
    book.report()
    assert heard == [(2, Why.CANCELED)] * 2  # nothing that a copy does is lost to the other


def test_a_copy_goes_its_own_way():
    book = filled(1, 2, heard=(heard := []))
    twin = copy.copy(book)
    twin.give_up(1)
    book.report()
    assert (list(book), book.bytes, heard) == ([1, 2], 32, [])
    assert (list(twin), twin.bytes, twin.limit) == ([2], 16, 10)
    twin.add(asked(7), np.zeros(2), 0.0)
    assert twin.find(7, 8).time == 20.0


@pytest.mark.parametrize(
    ("ticket", "words"),
    [(-1, "never given out"), (5, "never given out"), (0, "is not open"), (2, "is not open")],
)
def test_a_ticket_that_is_not_open_is_refused(ticket, words):
    book = filled(1, 3)
    assert book.find(3, 5).decision.ticket == book.find(np.int64(3), 5).decision.ticket == 3
    with pytest.raises(TicketError, match=words):
        book.find(ticket, 5)


def test_what_people_agree_on():
    majority = [decided([1, 2, 2, 1, 1][:n], Aggregate.MAJORITY, 5) for n in range(6)]
    assert majority == [0, 0, 0, 0, 0, 1]
    assert decided([-1], Aggregate.MAJORITY, 1) == -1
    assert decided([-1, 1], Aggregate.FIRST, 3) == -1


# Files


@dataclass
class File:
    """A file of a book alone."""

    pending: Pending
    KIND: ClassVar[str] = "book"


def restored(pending, *, issued=10, classes=2, kind=DENSE):
    kept = record.load(File, record.dump(File(pending))).pending
    with checking():
        return Book.restored(kept, 2, issued, kind, classes)


@pytest.mark.parametrize(("classes", "codes"), [(2, (1, -1, -1)), (3, (1, 3, 2))])
def test_a_book_is_read_as_it_was_written(classes, codes):
    book = filled(1, 4, 9, label=codes[1])
    book.hear(book.find(4, 10), codes)
    again = restored(book.saved(2, classes), classes=classes)
    assert list(again) == [1, 4, 9]
    for ticket in book:
        one, other = book.find(ticket, 10), again.find(ticket, 10)
        assert (one.decision, one.time) == (other.decision, other.time)
        assert sorted(one.answers) == sorted(other.answers)
        assert one.x.tolist() == other.x.tolist()
    assert (again.bytes, again.oldest) == (book.bytes, book.oldest)
    again.add(asked(9), np.zeros(2), 0.0)
    assert again.find(9, 10).time == 90.0


def test_sparse_rows_are_read_as_they_were_written():
    book, row = Book(10), np.array([(1, 0.5)], dtype=sparse.PAIR)
    book.add(asked(3), row, 1.0)
    again = restored(book.saved(2), kind=sparse.PAIR)
    assert again.find(3, 4).x.tolist() == [(1, 0.5)]
    assert len(restored(Book(10).saved(2), kind=sparse.PAIR)) == 0


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [("ticket", 0, -1), ("ticket", 2, 10), ("ticket", 1, 1), ("time", 1, 9.9), ("time", 2, np.nan),
     ("label", 0, 2.0), ("margin", 0, np.inf), ("variance", 0, -0.1), ("variance", 0, np.nan),
     ("propensity", 0, 0.0), ("propensity", 0, 1.1), ("votes", (0, 0), -1),
     ("votes", (0, 1), 1_000), ("rows", (0, 0), np.nan)],
)  # fmt: skip
def test_impossible_numbers_in_a_file_are_refused(name, at, value):
    pending = filled(1, 4, 9).saved(2)
    restored(pending)
    array = getattr(pending, name)
    (array["x"] if name == "rows" else array)[at] = value
    with pytest.raises(StateError, match="invalid"):
        restored(pending)


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [("variance", 0, 0.0), ("propensity", 0, 1.0), ("ticket", 0, 0), ("votes", (0, 1), 999)],
)
def test_numbers_on_their_limits_are_read(name, at, value):
    pending = filled(1, 4, 9).saved(2)
    getattr(pending, name)[at] = value
    assert len(restored(pending)) == 3


def test_arrays_of_other_shapes_and_too_many_questions_are_refused():
    good = filled(1, 4, 9).saved(2)
    assert len(restored(good._replace(limit=3))) == 3
    wrong = [
        (good._replace(limit=2), {}), (good, {"issued": 9}), (good, {"classes": 3}),
        (good._replace(time=good.time[:2]), {}), (good._replace(votes=good.votes[:2]), {}),
        (good._replace(rows={"x": good.rows["x"][:2]}), {}), (good._replace(rows={}), {}),
        (good._replace(rows=good.rows | {"more": np.zeros(3, np.int64)}, votes=good.votes[0]), {}),
    ]  # fmt: skip
    for pending, options in wrong:
        with pytest.raises(StateError, match="invalid"):
            restored(pending, **options)


def test_classes_that_are_renumbered():
    book = filled(1, 2, label=-1)
    book.hear(book.find(2, 3), (1, -1, 1))
    book.recode({-1: 1, 1: 2})
    first, second = (book.find(ticket, 3) for ticket in (1, 2))
    assert (first.decision.label, first.answers) == (1, ())
    assert (second.decision.label, second.answers) == (1, (2, 1, 2))
