"""Answers that come late, out of order, twice, contradict each other, or never come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import lasec
from lasec.queries import Budgeted

STREAM = lasec.streams.switching(1_500, dimension=4, every=500, seed=1)


def learner(**options):
    return lasec.Tracker(4, rate=0.3, seed=2, **options)


def replayed(fresh, X, evaluation):
    """The same questions and answers, in order of arrival, one call after the other."""
    answers = iter([*evaluation.answers, None])
    answer = next(answers)
    for t, x in enumerate(X, start=1):
        fresh.ask(x)
        while answer is not None and answer.round == t:
            fresh.tell(answer.ticket, answer.y)
            answer = next(answers)
    return fresh


DELAYS = {
    "none": 0,
    "constant": 40,
    "random": np.random.default_rng(0).geometric(0.02, 1_500),
    "lost": np.where(np.random.default_rng(1).random(1_500) < 0.3, np.inf, 15),
    "out of order": 200 - np.arange(1_500) % 200,
}


@pytest.mark.parametrize("delay", DELAYS.values(), ids=DELAYS)
def test_the_state_is_that_of_a_replay_in_order_of_arrival(delay):
    X, y = STREAM
    late = learner(max_age=150)
    evaluation = lasec.evaluate(late, X, y, delay=delay)
    assert replayed(learner(max_age=150), X, evaluation).to_bytes() == late.to_bytes()


@settings(max_examples=20, deadline=None)
@given(seed=some.integers(0, 10**6), aggregate=some.sampled_from(["first", "majority"]))
def test_any_conversation_is_its_replay(seed, aggregate):
    rng = np.random.default_rng(seed)
    X, y = (part[:150] for part in STREAM)
    delay = np.where(rng.random((150, 3)) < 0.2, np.inf, rng.integers(0, 60, (150, 3)))
    answers = np.where(rng.random((150, 3)) < 0.25, -y[:, None], y[:, None])
    late = learner(aggregate=aggregate, max_age=50)
    evaluation = lasec.evaluate(late, X, y, delay=delay, answers=answers)
    again = replayed(learner(aggregate=aggregate, max_age=50), X, evaluation)
    assert again.to_bytes() == late.to_bytes()
    loaded = lasec.Tracker.from_bytes(late.to_bytes())
    assert loaded.to_bytes() == late.to_bytes()
    asked = evaluation.records.labels
    assert late.told + late.dropped + late.expired + len(late.pending) == asked
    heard = np.isfinite(delay[evaluation.records.asked]).sum()
    assert len(evaluation.answers) + evaluation.refused <= heard


def test_without_delay_the_loop_is_a_run():
    X, y = STREAM
    ran, looped, quick = learner(), learner(), learner()
    records = ran.run(X, y)
    slow = lasec.evaluate(looped, X, y, delay=np.zeros(1_500), answers=y)
    fast = lasec.evaluate(quick, X, y)
    assert ran.to_bytes() == looped.to_bytes() == quick.to_bytes()
    for name in ("label", "margin", "propensity", "asked", "mistake", "updated"):
        np.testing.assert_array_equal(getattr(slow.records, name), getattr(records, name))
        np.testing.assert_array_equal(getattr(fast.records, name), getattr(records, name))
    assert slow.answers == fast.answers
    for a, b in zip(slow.points, fast.points, strict=True):
        assert a.estimate == pytest.approx(b.estimate, rel=1e-9)
        assert a.always == pytest.approx(b.always, rel=1e-9)
        assert a[3:] == b[3:]


def test_old_questions_expire_and_are_counted():
    X, _ = STREAM
    silent = learner(max_age=100)
    tickets = [decision.ticket for x in X if (decision := silent.ask(x)).asked]
    assert silent.expired == sum(ticket < 1_500 - 101 for ticket in tickets)
    assert silent.expired + len(silent.pending) == silent.asked
    with pytest.raises(lasec.TicketError, match="has expired"):
        silent.tell(tickets[0], 1)


def test_time_makes_questions_expire_too():
    tracker = lasec.Tracker(1, rate=1.0, max_age=3_600.0)
    tracker.ask([1.0], time=0.0)
    tracker.ask([1.0], time=3_000.0)
    tracker.ask([1.0], time=3_601.0)
    assert (tracker.expired, tracker.pending) == (1, (1, 2))


def test_a_clock_that_jumps_back_stands_still():
    tracker = lasec.Tracker(1, rate=1.0, max_age=10.0)
    for time in (100.0, 50.0, 105.0):
        tracker.ask([1.0], time=time)
    again = lasec.Tracker.from_bytes(tracker.to_bytes())
    assert again.to_bytes() == tracker.to_bytes()
    tracker.ask([1.0], time=111.0)
    assert tracker.pending == (2, 3)


def test_a_refused_row_leaves_questions_alone():
    tracker = lasec.Tracker(2, rate=1.0, max_age=1)
    for _ in range(2):
        tracker.ask(np.ones(2))
    before = tracker.to_bytes()
    with pytest.raises(ValueError, match="NaN"):
        tracker.ask(np.array([np.nan, 1.0]))
    assert tracker.to_bytes() == before


def test_single_opinions_are_no_labels():
    one, meter = lasec.LASEC(2, aggregate="majority"), lasec.Meter()
    alarm = lasec.alarms.DropAlarm()
    decision = one.ask([1.0, 2.0])
    for listener in (meter, alarm):
        listener.ask(decision)
    for y in (-1, 1):
        outcome = one.tell(decision.ticket, y)
        for listener in (meter, alarm):
            listener.tell(outcome)
    assert (meter.labels, len(alarm._waiting)) == (0, 1)
    outcome = one.tell(decision.ticket, 1)
    for listener in (meter, alarm):
        listener.tell(outcome)
    assert (meter.labels, len(alarm._waiting)) == (1, 0)


def test_the_meter_learns_of_questions_that_were_given_up():
    X, y = STREAM
    delay = np.where(np.random.default_rng(0).random(1_500) < 0.1, np.inf, 20)
    evaluation = lasec.evaluate(learner(max_age=100), X, y, delay=delay)
    assert evaluation.points[-1].estimate.until > 1_300


def test_points_where_times_are_no_rounds():
    X, y = (part[:400] for part in STREAM)
    times = 1.7e9 + np.arange(400.0)
    late = learner()
    point = lasec.evaluate(late, X, y, times=times, delay=5).points[-1]
    assert point.planned == pytest.approx(0.3 * 400)
    budget = Budgeted.every(100.0, labels=30)
    timed = lasec.Tracker(4, budget=budget)
    for part in (slice(0, 200), slice(200, 400)):
        before = timed.asked
        point = lasec.evaluate(timed, X[part], y[part], times=times[part]).points[-1]
    assert point.labels == timed.asked - before
    assert point.planned == pytest.approx(0.3 * 399 - before)
    assert np.isnan(point.truth) or point.estimate.rows <= 200


def test_the_first_answer_counts():
    one = lasec.LASEC(2)
    ticket = one.ask([1.0, 2.0]).ticket
    one.tell(ticket, -1)
    with pytest.raises(lasec.TicketError, match="has come already"):
        one.tell(ticket, 1)
    assert (one.told, one.contradicted) == (1, 0)


def test_the_majority_counts_once_it_is_certain():
    one = lasec.LASEC(2, aggregate="majority", annotators=5)
    ticket = one.ask([1.0, 2.0]).ticket
    outcomes = [one.tell(ticket, y) for y in (1, -1, -1, 1, -1)]
    assert [outcome.settled for outcome in outcomes] == [False] * 4 + [True]
    assert outcomes[-1].y == -1
    assert (one.told, one.updates, one.contradicted, one.pending) == (1, 1, 4, ())
    with pytest.raises(ValueError, match="odd number"):
        lasec.LASEC(2, aggregate="majority", annotators=4)


def test_one_answer_is_no_majority():
    X, y = (part[:200] for part in STREAM)
    evaluation = lasec.evaluate(learner(aggregate="majority"), X, y)
    assert not evaluation.records.updated.any()
    with pytest.raises(ValueError, match="no rows"):
        lasec.evaluate(learner(), X[:0], y[:0])


def test_an_evaluation_goes_on_where_the_learner_was():
    X, y = STREAM
    late = learner()
    for x in X[:50]:
        late.ask(x)
    evaluation = lasec.evaluate(late, X[50:300], y[50:300], delay=20)
    assert evaluation.records.first == 50
    assert all(0.0 <= point.age <= 250.0 for point in evaluation.points)
    assert evaluation.points[-1].open > 0


def test_half_heard_questions_survive_saving():
    one = lasec.LASEC(2, aggregate="majority")
    ticket = one.ask([1.0, 2.0]).ticket
    one.tell(ticket, -1)
    again = lasec.Learner.from_bytes(one.to_bytes())
    assert again.tell(ticket, -1).settled
    assert again.told == 1


def test_the_majority_beats_careless_annotators():
    rng = np.random.default_rng(0)
    X, y = lasec.streams.stationary(4_000, dimension=6, seed=1)
    answers = np.where(rng.random((4_000, 5)) < 0.3, -y[:, None], y[:, None])
    accuracy = {
        policy: lasec.evaluate(
            lasec.LASEC_SS(6, aggressiveness=0.3, aggregate=policy, annotators=5),
            X,
            y,
            answers=answers,
        ).records.accuracy
        for policy in ("first", "majority")
    }
    assert accuracy["majority"] > accuracy["first"] + 0.05


def test_the_meter_and_the_points_speak_of_the_same_rounds():
    X, y = lasec.streams.switching(6_000, dimension=6, every=2_000, noise=0.05, seed=3)
    delay = np.random.default_rng(2).geometric(1 / 100, 6_000).astype(float)
    evaluation = lasec.evaluate(lasec.Tracker(6, rate=0.2, seed=1), X, y, delay=delay)
    points = evaluation.points[40:]
    covered = np.mean([point.truth in point.estimate for point in points])
    assert covered >= 0.85
    assert all(point.truth in point.always for point in points)
    assert all(point.open == 0 or point.age > 0 for point in points)
    assert abs(points[-1].labels - points[-1].planned) <= 50


def test_an_alarm_can_raise_the_asking():
    X, y = lasec.streams.switching(6_000, dimension=20, every=3_000, seed=5)
    spent = []
    for hurry in (False, True):
        tracker = lasec.Tracker(20, rate=0.2, seed=1)
        evaluation = lasec.evaluate(
            tracker, X, y, alarms=[lasec.alarms.DropAlarm(drop=0.05, every=10_000)],
            on_alarm=(lambda one, alarm: one.boost(40, over=2_000)) if hurry else None,
        )  # fmt: skip
        assert [3_000 <= alarm.ticket < 4_000 for alarm in evaluation.alarms] == [True]
        at = evaluation.alarms[0].ticket
        spent.append(evaluation.records.asked[at : at + 300].sum())
    assert spent[1] >= spent[0] + 15


@pytest.mark.parametrize(
    "options",
    [
        {"delay": -1},
        {"delay": np.nan},
        {"delay": [1.0, 2.0]},
        {"delay": np.zeros(7)},
        {"answers": [1, 1]},
        {"answers": np.zeros((1_500, 2, 2))},
    ],
)
def test_delays_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="delay, answers"):
        lasec.evaluate(learner(), *STREAM, **options)
