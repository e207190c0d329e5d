"""Labels of two prices: unbiased by enumeration, within the money, the same after a restart."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pytest

import lasec
from lasec.metrics import Confusion, confidence_sequence, sums
from lasec.metrics.means import total
from lasec.metrics.sums import SUMS
from lasec.queries import TwoPrices
from lasec.queries.two_prices import ASIDE, PRICE
from lasec.types import Context, Margin

Array = np.ndarray[Any, np.dtype[np.float64]]


class Row(NamedTuple):
    """A guess of the value and q; for both answers of a judge, the guess then, and q_2."""

    guess: float
    q: float
    after: dict[int, tuple[float, float]]
    says: float

    @classmethod
    def drawn(cls, seed: int) -> "Row":
        rng = np.random.default_rng(seed)
        after = {z: (rng.uniform(0.02, 0.98), rng.uniform(0.05, 1.0)) for z in (0, 1)}
        return cls(rng.uniform(0.02, 0.98), rng.uniform(0.05, 0.9), after, rng.uniform())

    def answers(self) -> Iterator[tuple[float, float, float]]:
        """Each answer of the judge: its probability, the guess with it, and q_2."""
        for z, (then, second) in self.after.items():
            yield (self.says if z else 1.0 - self.says), then, second

    def outcomes(self, v: float) -> Iterator[tuple[float, Array]]:
        """All that can happen to a row whose value is v: its probability, and what is kept."""
        a, q = np.array([self.guess]), np.array([self.q])
        begin = sums.of_rows(a, q, q)[0]
        yield 1.0 - self.q, begin
        for share, then, second in self.answers():
            b, r = np.array([then]), np.array([second])
            told = begin + sums.of_replies(a, q, r, b, q)[0]
            yield self.q * share * (1.0 - second), told
            expert = sums.of_experts(a, q, r, b, np.array([v]), q)[0]
            yield self.q * share * second, told + expert


@pytest.mark.parametrize("v", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(20))
def test_estimate_and_variance_are_unbiased_whatever_the_judge_says(seed: int, v: float) -> None:
    row = Row.drawn(seed)
    every = [(chance, total(kept, 1.0)) for chance, kept in row.outcomes(v)]
    assert sum(chance for chance, _ in every) == pytest.approx(1.0)
    assert sum(chance * one.value for chance, one in every) == pytest.approx(v, abs=1e-12)
    true = sum(chance * (one.value - v) ** 2 for chance, one in every)
    assert sum(chance * one.variance for chance, one in every) == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize("v", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(20))
def test_a_bet_is_fair_whatever_the_judge_says(seed: int, v: float) -> None:
    row = Row.drawn(seed)
    factor = sum(chance * np.exp(kept[SUMS:]) for chance, kept in row.outcomes(v))
    fair = np.exp(confidence_sequence.BETS * (v - row.guess))
    np.testing.assert_allclose(factor, fair, rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_cells_by_class_are_unbiased_whatever_the_judge_says(seed: int) -> None:
    rng, row = np.random.default_rng(seed), Row.drawn(seed)
    afters = [rng.dirichlet(np.ones(3)) for _ in row.after]
    cells, spread, slope = np.zeros((3, 3)), 0.0, rng.normal(size=3)
    found = []
    for (share, _, second), after in zip(row.answers(), afters, strict=True):
        told = Confusion.of_judged(1, after, row.q)
        both = told + Confusion.of_expert(1, 2, after, row.q, second)
        found += [(row.q * share * (1.0 - second), told), (row.q * share * second, both)]
    for chance, table in found:
        cells += chance * table.weights
        if table.nested.size:
            quadratic = table.spread[1] @ slope**2 + slope @ table.nested[1] @ slope
            spread += chance * quadratic
    np.testing.assert_allclose(cells, [[0, 0, 0], [0, 0, 1], [0, 0, 0]], atol=1e-12)
    values = [(1.0 - row.q, 0.0), *((chance, table.weights[1] @ slope) for chance, table in found)]
    true = sum(chance * (value - slope[2]) ** 2 for chance, value in values)
    assert spread == pytest.approx(true, rel=1e-9)


def people(price: float = 50.0) -> list[lasec.Source]:
    return [lasec.Source("judge", 1.0), lasec.Source("people", price)]


def made(model: Any, classes: Any = (-1, 1), **money: Any) -> lasec.Session:
    amount = money.pop("amount", 1.0)
    return lasec.Session(
        model, classes=list(classes), sources=people(), money=lasec.Money(amount, **money)
    )


def play(session: lasec.Session, X: Any, y: Any, said: Any, begin: int = 0) -> list[Any]:
    """All rows in order, every answer at once; the decisions and what the judge led to."""
    heard = []
    for t in range(begin, len(y)):
        decision = session.ask(X[t], id=f"row-{t}")
        step = None
        if decision.source == "judge":
            step = session.tell(f"row-{t}", said[t], by="judge")
            if step.source == "people":
                session.tell(f"row-{t}", y[t], by="ann")
        heard.append((decision, step))
    return heard


def stream(seed: int, rows: int = 4_000, right: float = 0.9) -> tuple[Any, Any, Any]:
    X, y = lasec.streams.walking(rows, dimension=4, speed=0.01, seed=seed)
    wrong = np.random.default_rng([seed, 7]).random(rows) >= right
    return X, y.astype(int).tolist(), np.where(wrong, -y, y).astype(int).tolist()


def test_the_judge_makes_the_model_and_its_estimate_better_at_equal_money() -> None:
    X, y, said = stream(1, 8_000)
    both, alone = made(lasec.Tracker(4, seed=0)), lasec.Session(lasec.Tracker(4, rate=0.02, seed=0))
    rows = play(both, X, y, said)
    right = [decision.label == label for (decision, _), label in zip(rows, y, strict=True)]
    correct = 0
    for x, label in zip(X, y, strict=True):
        decision = alone.ask(x)
        correct += decision.label == label
        if decision.asked:
            alone.tell(decision.ticket, label)
    assert 1.0 - np.mean(right) < 0.7 * (1.0 - correct / len(y))
    estimate = both.accuracy()
    assert estimate.width < 0.7 * alone.accuracy().width
    assert np.mean(right[1:]) in estimate
    assert sum(both.spent.values()) <= 50.0 * both.learner.query.cap(len(y))


@pytest.mark.parametrize(("right", "knows"), [(0.99, True), (0.5, False)])
def test_a_record_says_whether_the_judge_knows_more_than_the_model(
    right: float, knows: bool
) -> None:
    X, y = lasec.streams.walking(1_500, dimension=4, speed=0.01, seed=1)
    said = np.where(np.random.default_rng(2).random(len(y)) < right, y, -y)
    session = lasec.Session(
        lasec.Tracker(4, seed=0), classes=[-1, 1], money=lasec.Money(3.0),
        sources=[lasec.Source("rules", 1.0), lasec.Source("people", 20.0)],
    )  # fmt: skip
    assert session.source("rules").explained is None
    assert "not known" in session.source("rules").verdict
    for t, x in enumerate(X):
        if session.ask(x).source is None:
            continue
        if session.tell(t, int(said[t]), by="rules").source is not None:
            session.tell(t, int(y[t]), by="ann")
    record = session.source("rules")
    assert record.worth == pytest.approx(4.0 * 20.0 / 21.0**2)  # 4r/(1 + r)^2
    assert record.explained is not None
    assert (record.explained > 0.5) == (record.explained > record.worth) == knows
    assert record.verdict.startswith("yes: " if knows else "not enough: ")


def test_a_file_goes_on_where_it_was_between_the_judge_and_the_expert() -> None:
    X, y, said = stream(2, 3_000)
    one = made(lasec.Tracker(4, seed=3))
    first = play(one, X[:1_500], y[:1_500], said[:1_500])
    while (decision := one.ask(X[1_500])).source is None:
        pass
    again = lasec.Session.from_bytes(one.to_bytes())
    steps = [s.tell(decision.ticket, 1, by="judge") for s in (one, again)]
    assert steps[0] == steps[1]
    assert again.learner.to_bytes() == one.learner.to_bytes()
    rest = [play(s, X, y, said, begin=1_501) for s in (one, again)]
    assert rest[0] == rest[1]
    np.testing.assert_allclose(one.accuracy(), again.accuracy(), rtol=1e-9)  # sums in parts
    judges = [s.source("judge").accuracy() for s in (one, again)]
    np.testing.assert_allclose(*judges, rtol=1e-9)
    assert one.spent == again.spent
    assert first != rest[0]


def test_an_evaluation_is_the_session_row_by_row() -> None:
    X, y, said = stream(3)
    one, other = made(lasec.Tracker(4, seed=0)), made(lasec.Tracker(4, seed=0))
    rows = play(one, X, y, said)
    run = lasec.evaluate(other, X, y, judged=said)
    assert run.records.label.tolist()[1:] == [decision.label for decision, _ in rows][1:]
    assert run.estimate == one.accuracy()
    assert (one.spent, run.labels) == (other.spent, round(one.spent["people"] / 50.0))
    halves = lasec.RunSummary()
    third = made(lasec.Tracker(4, seed=0))
    for begin, end in ((0, len(y) // 2), (len(y) // 2, len(y))):
        halves = lasec.RunSummary.from_bytes(halves.to_bytes())
        part = slice(begin, end)
        halves = lasec.evaluate(third, X[part], y[part], judged=said[part], into=halves)
    assert other.buying is not None
    for metric in ("recall", "precision", "f1"):
        for place, label in enumerate(other.buying.classes):
            nested = other.buying.predicted.estimate(metric, positive=place)
            for summary in (run, halves):
                found, truth = summary.rated(metric, summary.classes.index(label))
                np.testing.assert_allclose(found[:3], nested[:3], rtol=1e-9)
                assert truth in found


def test_a_judge_that_is_called_decides_the_same() -> None:
    X, y, said = stream(8, 2_000)
    one, other = made(lasec.Tracker(4, seed=0)), made(lasec.Tracker(4, seed=0))
    play(one, X, y, said)
    answers = {x.tobytes(): answer for x, answer in zip(X, said, strict=True)}
    other.call(lambda x: answers[x.tobytes()])
    for t in range(2_000):
        decision = other.ask(X[t])
        assert decision.asked == (decision.source is not None)
        if decision.asked:
            other.tell(decision.ticket, y[t], by="ann")
    assert one.spent == other.spent
    np.testing.assert_allclose(one.accuracy(), other.accuracy(), rtol=1e-12)


def test_more_classes_and_a_judge_with_confidence() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6_000, 4))
    y = (np.abs(X[:, :3]) + 0.3 * rng.normal(size=(6_000, 3))).argmax(axis=1)
    sure = rng.random(6_000)
    said = np.where(rng.random(6_000) < 0.5 + 0.5 * sure, y, (y + 1) % 3)
    names = ["a", "b", "c"]
    session = made(lasec.Tracker(4, seed=0), names, amount=2.0)
    hits = 0
    for t in range(6_000):
        decision = session.ask(np.abs(X[t]))
        hits += decision.label == names[y[t]]
        if decision.source == "judge":
            confidence = float(0.5 + 0.5 * sure[t])
            step = session.tell(decision.ticket, names[said[t]], by="judge", confidence=confidence)
            if not step.settled:
                session.tell(decision.ticket, names[y[t]], by="people")
    assert hits / 6_000 in session.accuracy()
    record = session.source("judge")
    assert np.mean(said == y) in record.accuracy(level=0.999)
    assert record.recall("b").width < 0.4
    assert session.buying.known.mean[2] > 0.3  # the confidence says something


def test_any_model_can_stand_in_the_session() -> None:
    from lasec.selector import Selector
    from lasec.session import AnyModel, Judged

    seen: list[Any] = []
    model = AnyModel(
        lambda row: Judged("ham", margin=0.2, certainty=0.2),
        lambda row, label, ticket: seen.append(label),
        Selector(lasec.queries.Always(), seed=1),
    )
    session = made(model, ["ham", "spam"])
    y = ["ham" if draw < 0.7 else "spam" for draw in np.random.default_rng(0).random(3_000)]
    play(session, y, y, y)
    assert pytest.approx(session.accuracy().value, abs=0.05) == 0.7
    assert len(seen) > 60


def test_no_answer_is_an_answer_and_a_lost_expert_is_lost() -> None:
    X, y, said = stream(4)
    session = made(lasec.Tracker(4, seed=0))
    for t in range(4_000):
        decision = session.ask(X[t])
        if decision.source != "judge":
            continue
        if t % 10 == 0:
            session.cancel(decision.ticket)
            source = "people" if decision.ticket in session.buying.asked else None
        else:
            label = None if t % 10 == 1 else said[t]
            source = session.tell(decision.ticket, label, by="judge").source
        if source == "people" and t % 7:
            session.tell(decision.ticket, y[t], by="people")
        elif source == "people":
            session.cancel(decision.ticket)
    assert session.meter.open == 0
    assert session.meter.lost > 0
    assert not session.buying.asked
    assert session.learner.selector.query_state[11] == 0.0  # nothing is set aside any more


def test_who_answers_is_who_was_asked() -> None:
    session = made(lasec.Tracker(4, seed=0))
    decision = session.ask(np.ones(4))
    assert decision.source == "judge"
    with pytest.raises(lasec.TicketError, match="'judge' is asked about it"):
        session.tell(decision.ticket, 1)
    with pytest.raises(lasec.TicketError, match="'judge' is asked about it, and 'ann' answered"):
        session.tell(decision.ticket, 1, by="ann")
    assert session.tell(decision.ticket, "who knows", by="judge").source == "people"
    with pytest.raises(lasec.TicketError, match="'people' is asked about it"):
        session.tell(decision.ticket, 1, by="judge")
    assert session.tell(decision.ticket, 1, by="ann").settled


def test_sources_and_money_are_refused_with_a_remedy() -> None:
    tracker = lasec.Tracker(4, seed=0)
    for sources, message in (
        (people()[:1], "expected two"),
        (people()[::-1], "may not cost more"),
        ([people()[0]] * 2, "two are called"),
    ):
        with pytest.raises(ValueError, match=message):
            lasec.Session(tracker, classes=[-1, 1], sources=sources, money=lasec.Money(1.0))
    with pytest.raises(ValueError, match="give both"):
        lasec.Session(tracker, sources=people())
    with pytest.raises(ValueError, match="names of the classes"):
        lasec.Session(lasec.Tracker(4), sources=people(), money=lasec.Money(1.0))
    with pytest.raises(ValueError, match="none of the sources"):
        made(tracker, caps={"gpt": 1.0})


def test_what_needs_one_source_says_so() -> None:
    session = made(lasec.Tracker(4, seed=0))
    for call in (
        lambda: session.ask_many(np.ones((2, 4))),
        session.branch,
        lambda: lasec.evaluate(session, np.ones((2, 4)), [1, -1]),
        lambda: lasec.evaluate(lasec.Tracker(4), np.ones((2, 4)), [1, -1], judged=[1, 1]),
    ):
        with pytest.raises(ValueError, match="source"):
            call()


def test_compiled_decisions_are_those_of_the_query() -> None:
    X, y, said = stream(6, 1_500)
    session = made(lasec.Tracker(4, seed=0), caps={"judge": 0.3, "people": 0.9})
    query = session.learner.query
    for t in range(1_500):
        state = session.learner.selector.query_state.copy()
        decision = session.ask(X[t])
        now = Context(t + 1, t + 1.0, 0)
        margin = Margin(decision.margin, decision.variance, decision.margin)
        assert decision.propensity == pytest.approx(query.chance(margin, state, now), rel=1e-12)
        query.spend(margin, state, decision.asked, now)
        after = session.learner.selector.query_state
        np.testing.assert_allclose(after, state, rtol=1e-12, atol=1e-12)
        if decision.asked:
            step = session.tell(decision.ticket, said[t], by="judge")
            if not step.settled:
                session.tell(decision.ticket, y[t], by="people")


@pytest.mark.parametrize("seed", range(60))
def test_the_cap_holds_whatever_is_answered(seed: int) -> None:
    hostile(seed)


@pytest.mark.long
def test_the_cap_holds_in_a_thousand_streams() -> None:
    for seed in range(1_000):
        hostile(seed)


def hostile(seed: int) -> None:
    """A stream with doubts as they like, whose answers come late, out of order, or not at all."""
    rng = np.random.default_rng(seed)
    query = TwoPrices(
        rate=float(rng.choice([0.005, 0.02, 0.1])), price=float(rng.choice([0.005, 0.02, 0.1])),
        learn=float(rng.choice([1.0, 8.0])), judges=float(rng.choice([0.2, 1.0])),
        experts=float(rng.choice([0.5, 1.0])), total=float(rng.choice([0.0, 20.0])),
    )  # fmt: skip
    state, waiting, judge, expert = query.init(), [], 0.0, 0.0
    doubts = rng.beta(*rng.choice([0.3, 1.0, 5.0], 2), 2_000)
    burst = 2.0 * query.cap(0.0) if not query.total else 2.0 * query.cap(1e9)
    for t, doubt in enumerate(doubts.tolist()):
        margin, now = Margin(0.0, 0.0, doubt), Context(t + 1, t + 1.0, len(waiting))
        if seed % 2:
            state[PRICE] = min(1.0, query.price * float(rng.lognormal()))
        q = query.chance(margin, state, now)
        asked = bool(rng.random() < q)
        query.spend(margin, state, asked, now)
        judge += float(state[PRICE]) * asked
        if asked:
            waiting.append(q)
        while waiting and rng.random() < 0.4:
            chance = waiting.pop(int(rng.integers(len(waiting))))
            escalated = bool(
                rng.random() < max(query.after(0.2 * rng.random(), chance, state), 0.9)
            )
            query.follow(state, escalated)
            query.double(state)
            expert += escalated
        assert query.validate_state(state) == ""
        assert judge + expert <= query.cap(t + 1.0) + 1e-6
        if not query.total:
            assert judge <= query.judges * (query.rate * (t + 1.0) + burst / 2.0) + 1e-6
            assert expert <= query.experts * (query.rate * (t + 1.0) + burst / 2.0) + 1e-6


def test_a_judge_may_take_more_for_some_rows() -> None:
    X, y, said = stream(5, 4_000)
    session, asked, paid = made(lasec.Tracker(4, seed=1)), [0, 0], 0.0
    for t, x in enumerate(X):
        price = (0.5, 8.0)[t % 2]
        if t == 2_000:
            session = lasec.Session.from_bytes(session.to_bytes())
        decision = session.ask(x, price=price)
        if decision.source is None:
            continue
        asked[t % 2] += 1
        paid += price
        if not session.tell(decision.ticket, said[t], by="judge").settled:
            session.tell(decision.ticket, y[t], by="people")
    assert session.spent["judge"] == pytest.approx(paid)
    assert asked[1] < 0.7 * asked[0], "a dear judgment is asked for less often"
    assert sum(session.spent.values()) <= 50.0 * session.learner.query.cap(len(y))
    decision = session.ask(X[0])
    assert session.learner.selector.query_state[PRICE] == 0.02, (
        "without a price it is the usual one"
    )


@pytest.mark.parametrize("price", [0.0, -1.0, 51.0, float("nan"), "much"])
def test_a_price_that_cannot_be_is_refused_and_changes_nothing(price: Any) -> None:
    X, _, _ = stream(5, 10)
    session = made(lasec.Tracker(4, seed=1))
    before = session.to_bytes()
    with pytest.raises((ValueError, TypeError), match="price"):
        session.ask(X[0], price=price)
    assert session.to_bytes() == before
    with pytest.raises(TypeError, match="one source of labels"):
        lasec.Session(lasec.Tracker(4, seed=1)).ask(X[0], price=1.0)


def test_each_source_has_its_own_most_open_questions() -> None:
    X, y, said = stream(6, 6_000)
    for judge, people in ((20, 0), (0, 8)):
        sources = [lasec.Source("judge", 1.0, max_open=judge),
                   lasec.Source("people", 50.0, max_open=people)]  # fmt: skip
        session = lasec.Session(
            lasec.Tracker(4, seed=2, max_pending=5_000), classes=[-1, 1], sources=sources,
            money=lasec.Money(2.0),
        )  # fmt: skip
        waiting = []
        for t, x in enumerate(X):
            decision = session.ask(x)
            if decision.source is None:
                continue
            if judge and t > 3_000:  # the judge falls silent
                waiting.append(t)
            elif not session.tell(decision.ticket, said[t], by="judge").settled:
                if people and t > 3_000:  # people do
                    waiting.append(t)
                else:
                    session.tell(decision.ticket, y[t], by="people")
        aside = session.learner.selector.query_state[ASIDE]
        assert aside == (len(waiting) if judge else 0)
        most = judge or people
        assert most / 2 <= len(waiting) < 2.5 * most, (judge, people, len(waiting))


def test_a_judge_that_raises_leaves_no_question_open() -> None:
    def judge(row: Any) -> Any:
        raise TimeoutError("the judge does not answer")

    sources = [lasec.Source("judge", 1.0, ask=judge), lasec.Source("people", 50.0)]
    session = lasec.Session(
        lasec.Tracker(4, seed=0), classes=[-1, 1], sources=sources, money=lasec.Money(1.0)
    )
    with pytest.raises(TimeoutError):
        session.ask(np.ones(4), id="mail-1")
    state = session.learner.selector.query_state
    assert (session.questions, session.holds("mail-1"), state[ASIDE]) == ([], False, 0.0)
    session.call(None)
    assert session.ask(np.ones(4), id="mail-1").source in ("judge", None)


def test_a_session_is_saved_whatever_its_judge_is() -> None:
    lock = Lock()

    def judge(row: Any) -> Any:
        with lock:
            return 1

    sources = [lasec.Source("judge", 1.0, ask=partial(judge)), lasec.Source("people", 50.0)]
    session = lasec.Session(
        lasec.Tracker(4, seed=0), classes=[-1, 1], sources=sources, money=lasec.Money(1.0)
    )
    session.ask(np.ones(4), id="mail-1")
    session.record.buying.call = lambda row: (lock, row)[0]
    assert lasec.Session.from_bytes(session.to_bytes()).spent == session.spent


def test_sources_of_a_file_that_are_not_those_of_its_model_are_refused() -> None:
    X, _, _ = stream(5, 50)
    session = made(lasec.Tracker(4, seed=1))
    for x in X:
        if session.ask(x).source:
            break
    bought = session.record.buying
    for wrong in (
        lambda one: one.asked.clear(),
        lambda one: setattr(one, "judge", one.judge._replace(price=2.0)),
    ):
        twin = deepcopy(bought)
        wrong(twin)
        with pytest.raises(ValueError, match="the sources are not those of the model"):
            session.attach(twin)
    dear = bought.judge._replace(price=60.0)
    assert replace(bought, judge=dear).validate()
    assert replace(bought, judge=bought.expert).validate()


def test_what_a_judge_is_worth_follows_what_it_was_paid() -> None:
    X, _, _ = stream(5, 50)
    session = made(lasec.Tracker(4, seed=1))
    assert session.record.worth == pytest.approx(0.077, abs=1e-3)
    while not session.spent["judge"]:
        session.ask(X[0], price=20.0)
    assert session.record.worth == pytest.approx(4 * 0.4 / 1.4**2)
