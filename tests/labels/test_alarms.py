"""Alarms: their bound on false alarms, what they find, and labels that come late or never."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lasec
from lasec.alarms import DropAlarm, InputAlarm, Watch
from lasec.alarms.drop import CUT, STAKES, bounded, doubt
from lasec.metrics.means import aipw
from lasec.types import Decision, Outcome

propensities = st.floats(1e-6, 1.0)
margins = st.floats(-1e6, 1e6)


def round_of(rng, t, error, margin=None, least=0.05):
    """A step in which unsure rows are asked more often, and the outcome if asked."""
    margin = float(rng.uniform(-1, 1)) if margin is None else margin
    q = least + (1 - least) * (1 - abs(margin))
    decision = Decision(1, margin, 0.0, q, asked=bool(rng.random() < q), ticket=t)
    wrong = bool(rng.random() < error)
    return decision, Outcome(decision, -1 if wrong else 1, wrong, updated=True)


def feed(alarm, decision, outcome):
    """All that the two calls raise, in order."""
    raised = [alarm.ask(decision)]
    if decision.asked:
        raised.append(alarm.tell(outcome))
    return [each for each in raised if each]


def first_alarm(alarm, errors, seed, limit):
    """The row of the first alarm; ``errors(alarm, t)`` is the chance of a mistake."""
    rng = np.random.default_rng(seed)
    for t in range(limit):
        if feed(alarm, *round_of(rng, t, errors(alarm, t))):
            return t
    return limit


# The bound.


@given(margins, propensities, st.sampled_from([True, False, None]), st.floats(0.0, 0.999))
def test_factors_are_never_negative(margin, q, wrong, threshold):
    decision = Decision(1, margin, 0.0, q, asked=wrong is not None, ticket=0)
    x = aipw(bounded(decision), wrong, decision.propensity)
    assert x >= -CUT * (1 + 1e-9)
    assert all(1.0 + stake * (x - threshold) / (threshold + CUT) >= 0.0 for stake in STAKES)


@given(margins, propensities, st.floats(0.0, 1.0))
def test_estimates_are_unbiased_whatever_the_guess(margin, q, error):
    decision = Decision(1, margin, 0.0, q, asked=True, ticket=0)
    for guess in (0.0, doubt(decision), bounded(decision)):
        told = [aipw(guess, wrong, decision.propensity) for wrong in (True, False)]
        mean = q * (error * told[0] + (1 - error) * told[1]) + (1 - q) * guess
        assert mean == pytest.approx(error, abs=1e-9)


def test_false_alarms_at_the_edge_of_the_null_are_as_rare_as_promised():
    """Every row's chance of a mistake is exactly the threshold: nothing is worse in the null."""

    def edge(alarm, t):
        limit = alarm._baseline.value + alarm.drop
        return 0.1 if limit >= 1.0 else limit

    quiet = 300  # three blocks of memory // 64
    times = [
        first_alarm(DropAlarm(every=200, memory=6_400), edge, seed, quiet + 3_000) - quiet
        for seed in range(60)
    ]
    assert np.mean(times) >= 200
    assert np.median(times) < 1_500  # and the threshold is not simply out of reach


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 20])
def test_the_input_alarm_keeps_its_promise(dimension):
    times = []
    for seed in range(40):
        alarm, rng = InputAlarm(every=200, reference=40, seed=seed), np.random.default_rng(seed)
        rows = rng.standard_normal((2_040, dimension))
        times.append(next((t for t, x in enumerate(rows) if alarm.see(x)), 2_040) - 40)
    assert np.mean(times) >= 200
    assert np.median(times) < 1_500


def test_ranks_are_uniform_even_where_rows_repeat():
    """Binary features: all ties, broken at random."""
    from lasec.alarms import inputs

    seen = []
    alarm, rng = InputAlarm(every=1e15, reference=100), np.random.default_rng(1)
    bets = inputs.bets
    try:
        inputs.bets = lambda u: seen.append(u.copy()) or bets(u)
        alarm.extend(rng.integers(0, 2, size=(4_000, 3)))
    finally:
        inputs.bets = bets
    ranks = np.array(seen)
    assert np.abs(ranks.mean(axis=0) - 0.5).max() < 0.02
    assert np.abs(ranks.var(axis=0) - 1 / 12).max() < 0.005
    assert ranks.min(axis=0).max() < 0.005
    assert ranks.max(axis=0).min() > 0.995
    assert abs(np.corrcoef(ranks[1:, 0], ranks[:-1, 0])[0, 1]) < 0.06


# What they find.


def test_a_clear_drop_is_found_soon_and_described():
    found = []
    for seed in range(10):
        alarm, rng = DropAlarm(), np.random.default_rng(seed)
        for t in range(6_000):
            raised = feed(alarm, *round_of(rng, t, 0.1 if t < 5_000 else 0.5, least=0.2))
            if raised:
                found.append(raised[0])
                break
    assert len(found) == 10
    assert all(alarm.kind == "drop" and 5_000 <= alarm.ticket < 5_500 for alarm in found)
    assert np.abs(np.array([alarm.since for alarm in found]) - 5_000).max() < 150
    assert np.mean([alarm.before for alarm in found]) == pytest.approx(0.1, abs=0.03)
    assert np.mean([alarm.after for alarm in found]) == pytest.approx(0.5, abs=0.12)
    assert all(alarm.evidence >= 10_000 for alarm in found)


@pytest.mark.parametrize("rate", [0.4, 0.2])
def test_switches_of_the_papers_stream_are_found(rate):
    stream = lasec.streams.switching(10_000, every=2_500, seed=3)
    alarms = DropAlarm(every=10_000).extend(lasec.Tracker(rate=rate).run(*stream), stream.y)
    near = {2_500 * round(alarm.ticket / 2_500) for alarm in alarms if alarm.ticket % 2_500 < 500}
    assert len(near) >= 2
    assert all(alarm.ticket % 2_500 < 500 for alarm in alarms)


def test_more_asking_of_hard_rows_is_no_drop():
    """The error over asked rows rises from 0.06 to about 0.2, that over all rows is as it was."""
    rng = np.random.default_rng(1)
    alarm, plain = DropAlarm(every=1_000), []
    for t in range(10_000):
        hard = rng.random() < 0.3
        margin = 0.2 if hard else 0.9
        q = 0.3 if t < 5_000 else (0.6 if hard else 0.1)
        wrong = bool(rng.random() < (0.2 if hard else 0.0))
        decision = Decision(1, margin, 0.0, q, asked=bool(rng.random() < q), ticket=t)
        assert not feed(alarm, decision, Outcome(decision, -1 if wrong else 1, wrong, True))
        plain += [wrong] if decision.asked else []
    assert np.mean(plain[-1_000:]) > np.mean(plain[:1_000]) + 0.05


SHIFTS = {
    "scale": (lambda X: 1.3 * X, "input: scale"),
    "all": (lambda X: X + 0.4, "input: shift"),
    "one": (lambda X: X + np.eye(50)[7], "input: feature 7"),
    "stretched": (lambda X: X * (1 + np.eye(50)[7]), "input: "),
}


@pytest.mark.parametrize("kind", SHIFTS)
def test_changes_of_the_input_are_found_and_named(kind):
    change, name = SHIFTS[kind]
    X = np.random.default_rng(5).standard_normal((2_000, 50))
    X[1_500:] = change(X[1_500:])
    alarm = InputAlarm().extend(X)[0]
    assert 1_500 <= alarm.ticket < 1_700
    assert abs(alarm.since - 1_500) < 60
    assert alarm.kind.startswith(name)


def test_a_new_concept_is_no_change_of_the_input():
    stream = lasec.streams.switching(5_000, dimension=10, every=1_000, seed=1)
    assert InputAlarm().extend(stream.X) == []


def test_confidence_is_one_more_score():
    rng = np.random.default_rng(1)
    alarm, found = InputAlarm(confidence=True), None
    for t in range(1_500):
        margin = rng.uniform(0.5, 1.0) if t < 1_000 else rng.uniform(0.0, 0.5)
        decision = Decision(1, margin, 0.0, 0.5, asked=False, ticket=t)
        found = found or alarm.ask(decision, rng.standard_normal(5))
    assert found.kind == "input: confidence"
    assert 1_000 <= found.ticket < 1_100
    with pytest.raises(TypeError, match="decision"):
        alarm.see(np.zeros(5))


def test_rows_without_spread_are_no_trouble():
    alarm = InputAlarm(reference=50)
    assert alarm.extend(np.ones((500, 3))) == []
    assert alarm.extend(np.full((500, 3), 2.0))


# Loops, chunks, delays, losses.


def test_chunks_and_the_loop_agree():
    stream = lasec.streams.switching(6_000, every=2_500, seed=3)
    records = lasec.Tracker(rate=0.4).run(*stream)
    tracker, loop = lasec.Tracker(rate=0.4), DropAlarm()
    raised = []
    for x, y in zip(*stream, strict=True):
        decision = tracker.ask(x)
        raised += [alarm for alarm in [loop.ask(decision, x)] if alarm]
        if decision.asked:
            raised += [a for a in [loop.tell(tracker.tell(decision.ticket, int(y)))] if a]
    whole = DropAlarm()
    at_once = whole.extend(records, stream.y)
    assert [alarm[:2] for alarm in at_once] == [alarm[:2] for alarm in raised]
    np.testing.assert_allclose([a[2:] for a in at_once], [a[2:] for a in raised], rtol=1e-6)
    assert at_once
    assert whole.evidence == pytest.approx(loop.evidence, rel=1e-6)


def test_late_labels_raise_the_same_alarms():
    rng = np.random.default_rng(1)
    rounds = [round_of(rng, t, 0.1 if t < 3_000 else 0.6, least=0.2) for t in range(4_000)]
    quick, late = DropAlarm(), DropAlarm()
    expected = [alarm for pair in rounds for alarm in feed(quick, *pair)]
    raised, due = [], []
    for t, (decision, outcome) in enumerate(rounds):
        raised.append(late.ask(decision))
        if decision.asked:
            due.append((t + int(rng.integers(300)), outcome))
        for item in [item for item in due if item[0] <= t]:
            due.remove(item)
            raised.append(late.tell(item[1]))
    raised += [late.tell(outcome) for _, outcome in due]
    assert [alarm for alarm in raised if alarm] == expected
    assert expected
    assert late.evidence == quick.evidence


def test_a_lost_answer_never_blocks():
    alarm, rng = DropAlarm(patience=50), np.random.default_rng(1)
    raised = []
    for t in range(4_000):
        decision, outcome = round_of(rng, t, 0.1 if t < 3_000 else 0.6, least=0.2)
        raised.append(alarm.ask(decision))
        if decision.asked and rng.random() > 0.2:
            raised.append(alarm.tell(outcome))
        assert len(alarm._waiting) <= 51
    tickets = [each.ticket for each in raised if each]
    assert tickets
    assert 3_000 <= tickets[0] < 3_500
    assert alarm.tell(outcome) is None  # long given up, or told before


def test_what_is_freed_at_once_is_not_lost():
    """One answer frees two drops: the second alarm comes with the next call."""
    rng = np.random.default_rng(2)
    alarm = DropAlarm(memory=640, patience=10_000)
    opening = Decision(1, 0.0, 0.0, 1.0, asked=True, ticket=0)
    assert alarm.ask(opening) is None
    for t in range(1, 2_401):
        decision, outcome = round_of(rng, t, 0.05 if t % 1_200 < 900 else 0.9, least=0.5)
        assert feed(alarm, decision, outcome) == []
    first = alarm.tell(Outcome(opening, 1, False, True))
    second = alarm.tell(Outcome(opening, 1, False, True))
    assert first is not None
    assert second is not None
    assert 900 <= first.ticket < 1_200
    assert 2_100 <= second.ticket < 2_400


def test_it_begins_anew_after_an_alarm():
    alarm, rng = DropAlarm(memory=6_400), np.random.default_rng(1)
    raised = []
    for t in range(8_000):
        raised += feed(alarm, *round_of(rng, t, 0.1 if t < 3_000 else 0.5, least=0.2))
        if len(raised) == 1 and raised[0].ticket == t:
            assert alarm.raised
            assert alarm.evidence == 0.0
            assert math.isnan(alarm.before)
    assert len(raised) == 1  # what was a drop is now how it is
    assert alarm.before == pytest.approx(0.5, abs=0.1)
    assert not alarm.raised


def test_rounds_that_could_not_be_asked_are_left_out():
    decision = Decision(1, 0.2, 0.0, 0.0, asked=False, ticket=0)
    for alarm in (DropAlarm(), Watch(Level())):
        assert alarm.ask(decision) is None
        assert len(alarm._waiting) == 0
        with pytest.raises(ValueError, match="propensity"):
            alarm.ask(decision._replace(propensity=math.nan))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: DropAlarm(drop=-0.1), "drop"),
        (lambda: DropAlarm(every=0.5), "every"),
        (lambda: DropAlarm(memory=10), "memory"),
        (lambda: InputAlarm(reference=5), "reference"),
        (lambda: Watch(Level(), feed="plain"), "feed"),
    ],
)
def test_bad_parameters_are_named(make, name):
    with pytest.raises(ValueError, match=name):
        make()


# Other detectors.


class Level:
    """Notes what it is fed, and sees drift where it is above 1."""

    def __init__(self):
        self.seen, self.drift_detected = [], False

    def update(self, value):
        self.seen.append(value)
        self.drift_detected = value > 1.0


def test_what_a_detector_is_fed():
    X, y = lasec.streams.stationary(2_000, dimension=5, noise=0.1, seed=1)
    records = lasec.Tracker(rate=0.3).run(X, y)
    wrong = records.label != y
    asked, weighted = Watch(Level(), feed="asked"), Watch(Level())
    assert asked.extend(records, y) == []
    raised = weighted.extend(records, y)
    assert asked.detector.seen == wrong[records.asked].tolist()
    expected = np.where(records.asked, wrong, 0.0) / records.propensity
    np.testing.assert_allclose(weighted.detector.seen, expected)
    assert [alarm.ticket for alarm in raised] == np.flatnonzero(expected > 1.0).tolist()
    assert {alarm.kind for alarm in raised} == {"Level"}


@pytest.mark.parametrize("feed_with", ["weighted", "asked"])
def test_rivers_detectors_fit(feed_with):
    drift = pytest.importorskip("river.drift")
    rng = np.random.default_rng(1)
    watch = Watch(drift.ADWIN(), feed=feed_with)
    raised = []
    for t in range(4_000):
        raised += feed(watch, *round_of(rng, t, 0.1 if t < 2_000 else 0.6, least=0.3))
    assert raised
    assert 2_000 <= raised[0].ticket < 2_600
    assert raised[0].kind == "ADWIN"


def test_a_loop_can_hold_them_all():
    stream = lasec.streams.switching(1_000, dimension=5, every=500, seed=1)
    tracker, alarms = lasec.Tracker(rate=0.3), [DropAlarm(), InputAlarm(), Watch(Level())]
    for x, y in zip(*stream, strict=True):
        decision = tracker.ask(x)
        calls = [alarm.ask(decision, x) for alarm in alarms]
        if decision.asked:
            outcome = tracker.tell(decision.ticket, int(y))
            calls = [alarm.tell(outcome) for alarm in alarms]
        assert [alarm.raised for alarm in alarms] == [call is not None for call in calls]


def test_a_canceled_question_counts_as_not_asked_at_once():
    """As one that was never asked would, but for its weight; it holds nothing back."""
    rng = np.random.default_rng(4)
    told, canceled, patient = (DropAlarm(patience=10_000) for _ in range(3))
    for t in range(3_000):
        decision, outcome = round_of(rng, t, 0.1, least=0.2)
        lost = decision.asked and t % 5 == 0
        feed(told, decision._replace(asked=False) if lost else decision, outcome)
        canceled.ask(decision)
        patient.ask(decision)
        if lost:
            canceled.cancel(t)
        elif decision.asked:
            canceled.tell(outcome)
            patient.tell(outcome)
    assert len(canceled._waiting) == 0 < len(patient._waiting)
    assert canceled.evidence == told.evidence > 0.0
    assert canceled.before == told.before


@pytest.mark.parametrize("stop", [10, 700, 3_100])
def test_a_saved_drop_alarm_goes_on_as_it_would(stop):
    rng, alarm, raised, expected = np.random.default_rng(5), DropAlarm(memory=1_600), [], []
    twin = DropAlarm(memory=1_600)
    late = []
    for t in range(4_000):
        decision, outcome = round_of(rng, t, 0.1 if t < 3_000 else 0.6, least=0.2)
        late += [outcome] if decision.asked else []
        if t == stop:
            data = alarm.to_bytes()
            alarm = DropAlarm.from_bytes(data)
            assert alarm.to_bytes() == data
        for made, found in ((alarm, raised), (twin, expected)):
            found.append(made.ask(decision))
            if late and late[0].decision.ticket < t - 30:
                found.append(made.tell(late[0]))
        late = late[1:] if late and late[0].decision.ticket < t - 30 else late
        assert alarm.evidence == twin.evidence
    assert raised == expected
    assert any(raised)


@pytest.mark.parametrize("stop", [0, 50, 200, 1_500])
@pytest.mark.parametrize("confidence", [False, True])
def test_a_saved_input_alarm_goes_on_as_it_would(stop, confidence):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((2_000, 4))
    X[1_700:, 2] += 2.0
    alarm, twin = (InputAlarm(every=1_000, seed=3, confidence=confidence) for _ in range(2))
    raised, expected = [], []
    for t, x in enumerate(X):
        if t == stop:
            alarm = InputAlarm.from_bytes(alarm.to_bytes())
        decision = Decision(1, float(x[0]), 0.0, 0.5, asked=False, ticket=t)
        raised.append(alarm.ask(decision, x))
        expected.append(twin.ask(decision, x))
        assert alarm.evidence == twin.evidence
    assert raised == expected
    assert any(raised)
    assert alarm.to_bytes() == twin.to_bytes()


def test_a_saved_alarm_of_another_kind_is_refused():
    for made, other in ((DropAlarm, InputAlarm), (InputAlarm, DropAlarm)):
        with pytest.raises(lasec.StateError, match=f"foreign: this is not a {other.KIND}"):
            other.from_bytes(made().to_bytes())
    with pytest.raises(lasec.StateError, match="foreign"):
        DropAlarm.from_bytes(lasec.Meter().to_bytes())
