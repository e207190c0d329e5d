"""Alarms: their bound on false alarms, what they find, and labels that come late or never."""

import math
import operator
from itertools import pairwise

import numpy as np
import pytest
from experiments.alarming import inputs, made
from hypothesis import given
from hypothesis import strategies as st

import lasec
from lasec.alarms import DropAlarm, InputAlarm, Watch, described
from lasec.alarms.confirm import LOOKS
from lasec.alarms.drop import CUT, STAKES, bounded, doubt
from lasec.alarms.quiet import FIRST, Quiet
from lasec.metrics.sums import aipw
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


@pytest.mark.parametrize("kind", ["independent rows", "cycle of 1,000 rows", "AR(1) 0.9"])
def test_rows_that_do_not_change_are_no_alarm(kind):
    """Ten columns: normal, skewed, 0/1, rare, counts, and one with missing cells."""
    for seed in range(3):
        assert InputAlarm().extend(made.stream(kind, 20_000, seed)) == []


@pytest.mark.slow
def test_a_long_cycle_is_no_alarm():
    assert InputAlarm().extend(made.stream("cycle of 1,000 rows", 200_000, seed=1)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_the_change_of_elec2_is_found_and_nothing_else():
    """Three columns are constant up to row 17,424, and real from there on."""
    _, (alarm,) = inputs.real("elec2")
    assert alarm.kind in ("input: transfer", "input: vicprice", "input: vicdemand")
    assert alarm.since <= 17_424 < alarm.ticket <= 17_424 + 256


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_days_and_nights_of_flights_are_no_alarms():
    row, alarms = inputs.real("flights")
    assert row["rows"] == 60_000
    assert len(alarms) <= 2


def test_changes_that_never_stop_are_few_alarms():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30_000, 2))
    X += np.repeat(rng.integers(0, 4, size=(30, 2)), 1_000, axis=0)
    alarms = InputAlarm().extend(X)
    assert 2 <= len(alarms) <= 1 + math.log2(len(X) / FIRST)
    waits = np.diff([alarm.ticket for alarm in alarms])
    assert (waits >= FIRST * 2.0 ** np.arange(len(waits))).all()
    assert alarms[0].quiet == 0
    assert all(before.quiet <= after.ticket for before, after in pairwise(alarms))
    assert f"no other alarm before row {alarms[1].quiet + 1:,}" in described(alarms[1])


def test_after_a_calm_the_quiet_time_is_short_again():
    quiet = Quiet()
    assert [quiet.change(at) for at in (0, FIRST - 1, FIRST)] == [True, False, True]
    assert (quiet.length, quiet.often) == (2 * FIRST, True)
    again = FIRST + 8 * quiet.length
    assert quiet.change(again)
    assert (quiet.length, quiet.often) == (FIRST, False)
    assert not quiet.change(again + FIRST - 1)


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


def drops(error, confirm, seed, rows=8_000):
    """All that an alarm raises where row t is wrong with probability error(t)."""
    alarm, rng, raised = DropAlarm(confirm=confirm), np.random.default_rng(seed), []
    for t in range(rows):
        raised += feed(alarm, *round_of(rng, t, error(t), least=0.2))
    return raised


def test_a_confirmed_drop_has_labels_and_an_interval_that_holds():
    found = [drops(lambda t: 0.1 if t < 5_000 else 0.5, True, seed) for seed in range(10)]
    assert [len(raised) for raised in found] == [1] * 10
    alarms = [raised[0] for raised in found]
    assert all(5_000 <= alarm.ticket < 5_500 for alarm in alarms)
    assert np.abs(np.array([alarm.since for alarm in alarms]) - 5_000).max() < 150
    assert all(alarm.labels in LOOKS for alarm in alarms)
    assert all(alarm.low < alarm.after < alarm.high for alarm in alarms)
    assert sum(alarm.low <= 0.5 <= alarm.high for alarm in alarms) >= 9
    assert np.mean([alarm.after for alarm in alarms]) == pytest.approx(0.5, abs=0.08)
    assert "CI" in described(alarms[0])


def test_what_is_over_before_anybody_can_look_is_not_confirmed():
    """30 rows of mistakes: the fast form reports them all, the next labels refute most."""
    fast, confirmed = (
        [drops(lambda t: 0.9 if 5_000 <= t < 5_030 else 0.1, confirm, seed) for seed in range(8)]
        for confirm in (False, True)
    )
    assert all(fast)
    assert sum(map(bool, confirmed)) <= 1


@pytest.mark.parametrize("confirm", [False, True])
def test_no_few_labels_are_an_error_of_100_percent(confirm):
    """The error rises from 0 to 1: that is not said after ten labels, nor after 32."""
    for seed in range(4):
        (alarm,) = drops(lambda t: float(t >= 5_000), confirm, seed, rows=6_000)
        assert 5_000 <= alarm.ticket < 5_200
        assert 0.2 < alarm.after < 0.97
        assert alarm.labels >= (32 if confirm else 5)


def test_a_difficulty_that_comes_and_goes_is_news_once():
    def error(t):
        return 0.05 if (t // 1_500) % 2 == 0 else 0.6

    fast, confirmed = (drops(error, confirm, 1, rows=12_000) for confirm in (False, True))
    assert len(fast) == 4
    assert [1_500 <= alarm.ticket < 1_700 for alarm in confirmed] == [True]


def test_after_a_confirmed_drop_there_is_a_quiet_time():
    alarms = drops(lambda t: 0.05 + 0.3 * (t >= 4_000) + 0.4 * (t >= 12_000), True, 1, rows=13_000)
    assert [alarm.ticket // 1_000 for alarm in alarms] == [4, 12]
    assert alarms[0].quiet == 0
    assert alarms[1].quiet == alarms[1].ticket + 2 * FIRST


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


def sprinkled(X, column, share, value):
    """A share of the cells of a column, set to a value."""
    X[np.random.default_rng(1).random(len(X)) < share, column] = value
    return X


SHIFTS = {
    "magnitude": (lambda X: 1.15 * X, "magnitude of all columns", "mean"),
    "all": (lambda X: X + 0.15, "mean of all columns", "mean"),
    "one": (lambda X: X + np.eye(20)[7], "feature 7", "mean"),
    "stretched": (lambda X: X * (1 + np.eye(20)[7]), "feature 7", "spread"),
    "share": (lambda X: sprinkled(X, 3, 0.4, 1.0), "feature 3", "share"),
    "missing": (lambda X: sprinkled(X, 9, 0.1, np.nan), "feature 9", "missing"),
}


@pytest.mark.parametrize("kind", SHIFTS)
def test_changes_of_the_input_are_found_and_named(kind):
    change, name, what = SHIFTS[kind]
    X = np.random.default_rng(5).standard_normal((6_600, 20))
    X[:, 3] = X[:, 3] > 0.5
    at = 6_016
    X[at:] = change(X[at:])
    (alarm,) = InputAlarm().extend(X)
    assert (alarm.kind, alarm.what) == (f"input: {name}", what)
    assert at < alarm.ticket < len(X)
    assert abs(alarm.since - at) <= 256
    assert abs(alarm.effect) >= 0.2
    assert alarm.evidence > 4.0
    column = X[:, int(name[8:])] if name.startswith("feature") else X.mean(axis=1)
    told = {
        "mean": np.nanmean, "share": np.nanmean, "missing": lambda x: np.isnan(x).mean(),
        "spread": lambda x: np.abs(x - np.median(x)).mean(),
    }[what]  # fmt: skip
    if kind != "magnitude":
        assert alarm.before == pytest.approx(told(column[:at]), abs=0.06)
        assert alarm.after == pytest.approx(told(column[at:]), rel=0.15, abs=0.03)


@pytest.mark.parametrize(("history", "most"), [(6_016, 640), (16_000, 256)])
def test_missing_cells_are_found_soon(history, most):
    """Of a column that had none before: the first rows of a change must not hide the rest."""
    for seed in range(3):
        X = made.stream("independent rows", history + most, seed)
        X, column = made.changed(X, "missing +0.1", history, seed)
        (alarm,) = InputAlarm().extend(X)
        assert (alarm.kind, alarm.what) == (f"input: feature {column}", "missing")
        assert history < alarm.ticket < history + most


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
def test_a_jump_and_the_way_back_are_one_alarm(size):
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((26_000, 3))
        X[12_000:16_000, 1] += size
        (alarm,) = InputAlarm().extend(X)
        assert alarm.kind == "input: feature 1"
        assert 12_000 < alarm.ticket < 13_000


def test_a_burst_of_a_few_rows_is_no_alarm():
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((6_000, 3))
        X[4_010:4_074, 1] += 3.0
        assert InputAlarm().extend(X) == []


def test_columns_that_change_together_are_one_alarm():
    X = np.random.default_rng(1).standard_normal((5_000, 4))
    X[4_000:, :3] += 2.0
    (alarm,) = InputAlarm(names=["age", "size", "price", "day"]).extend(X)
    assert alarm.kind.removeprefix("input: ") in ("age", "size", "price")
    assert alarm.others == 2
    assert ", and 2 others) in row 4," in described(alarm)


def test_more_false_alarms_buy_smaller_changes():
    X = np.random.default_rng(2).standard_normal((20_000, 3))
    X[16_000:, 1] += 0.3
    often, seldom = InputAlarm(every=1_000).extend(X), InputAlarm(every=1e12).extend(X)
    assert often[0].kind == "input: feature 1"
    assert often[0].ticket > 16_000
    assert not seldom or seldom[0].ticket > often[0].ticket


def test_a_new_concept_is_no_change_of_the_input():
    stream = lasec.streams.switching(5_000, dimension=10, every=1_000, seed=1)
    assert InputAlarm().extend(stream.X) == []


def test_confidence_is_one_more_column():
    rng = np.random.default_rng(1)
    alarm, found = InputAlarm(confidence=True), None
    for t in range(3_600):
        margin = rng.uniform(0.5, 1.0) if t < 3_000 else rng.uniform(0.0, 0.5)
        decision = Decision(1, margin, 0.0, 0.5, asked=False, ticket=t)
        found = found or alarm.ask(decision, rng.standard_normal(5))
    assert found.kind == "input: confidence"
    assert 3_000 <= found.ticket < 3_400
    with pytest.raises(TypeError, match="decision"):
        alarm.see(np.zeros(5))
    with pytest.raises(TypeError, match="decision"):
        alarm.extend(np.zeros((3, 5)))


def test_rows_without_spread_are_no_trouble():
    alarm = InputAlarm()
    assert alarm.extend(np.ones((2_600, 3))) == []
    (raised,) = alarm.extend(np.full((600, 3), 2.0))
    assert (raised.before, raised.others) == (1.0, 2)
    empty = np.full((3_000, 2), np.nan)
    empty[:, 1] = np.random.default_rng(1).standard_normal(3_000)
    assert InputAlarm().extend(empty) == []


def test_chunks_of_rows_and_single_rows_agree():
    X = made.stream("independent rows", 4_000, seed=3)
    X[3_000:, 0] += 2.0
    X[100, 1], X[3_200, 2] = np.inf, 1e300  # both are missing
    one, chunks, at = InputAlarm(), InputAlarm(), 0
    expected = [alarm for x in X if (alarm := one.see(x))]
    raised = []
    for size in (0, 1, 63, 64, 2_100, 1, 200, 1_571):
        raised += chunks.extend(X[at : at + size])
        at += size
    assert at == len(X)
    assert raised == expected != []
    assert chunks.to_bytes() == one.to_bytes()


# Loops, chunks, delays, losses.


def test_chunks_and_the_loop_agree():
    stream = lasec.streams.switching(6_000, every=2_500, seed=3)
    records = lasec.Tracker(rate=0.4).run(*stream)
    loop = DropAlarm()
    session = lasec.Session(lasec.Tracker(rate=0.4), detectors=[loop])
    for x, y in zip(*stream, strict=True):
        decision = session.ask(x)
        if decision.asked:
            session.tell(decision.ticket, int(y))
    raised, whole = session.alarms, DropAlarm()
    at_once = whole.extend(records, stream.y)
    assert [alarm[:2] for alarm in at_once] == [alarm[:2] for alarm in raised]
    figures = operator.attrgetter("evidence", "before", "after", "since", "labels")
    np.testing.assert_allclose(
        [figures(alarm) for alarm in at_once], [figures(alarm) for alarm in raised], rtol=1e-6
    )
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
    known = records.sign != 0  # rows before the first label have no prediction
    assert 0 < (~known).sum() < 50
    assert asked.detector.seen == wrong[records.asked & known].tolist()
    expected = np.where(records.asked, wrong, 0.0) / records.propensity
    np.testing.assert_allclose(weighted.detector.seen, expected[known])
    tickets = np.flatnonzero((expected > 1.0) & known).tolist()
    assert [alarm.ticket for alarm in raised] == tickets
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


@pytest.mark.parametrize("stop", [10, 700, 3_060, 3_100])
@pytest.mark.parametrize("confirm", [False, True])
def test_a_saved_drop_alarm_goes_on_as_it_would(stop, confirm):
    rng, raised, expected, suspected = np.random.default_rng(5), [], [], []
    alarm, twin = (DropAlarm(memory=1_600, confirm=confirm) for _ in range(2))
    late = []
    for t in range(4_000):
        decision, outcome = round_of(rng, t, 0.1 if t < 3_000 else 0.6, least=0.2)
        late += [outcome] if decision.asked else []
        if t == stop:
            data = alarm.to_bytes()
            alarm = DropAlarm.from_bytes(data)
            assert alarm.to_bytes() == data
        for made_by, found in ((alarm, raised), (twin, expected)):
            found.append(made_by.ask(decision))
            if late and late[0].decision.ticket < t - 30:
                found.append(made_by.tell(late[0]))
        late = late[1:] if late and late[0].decision.ticket < t - 30 else late
        assert alarm.evidence == twin.evidence
        suspected += [t] if alarm._suspicion else []
    assert raised == expected
    assert any(raised)
    assert bool(suspected) == confirm
    if confirm and stop == 3_100:
        assert stop in suspected  # saved while labels are looked at


@pytest.mark.parametrize("stop", [0, 50, 2_048, 3_100, 3_130])
@pytest.mark.parametrize("confidence", [False, True])
def test_a_saved_input_alarm_goes_on_as_it_would(stop, confidence):
    """Saved before the first row, within the reference, after it, and within candidate blocks."""
    X = made.stream("independent rows", 3_700, seed=6)[:, [0, 3, 5, 9]]
    X[3_050:, 0] += 2.0
    alarm, twin = (InputAlarm(confidence=confidence, names=list("abcd")) for _ in range(2))
    raised, expected = [], []
    for t, x in enumerate(X):
        if t == stop:
            data = alarm.to_bytes()
            alarm = InputAlarm.from_bytes(data)
            assert alarm.to_bytes() == data
        decision = Decision(1, float(np.sin(t)), 0.0, 0.5, asked=False, ticket=t)
        raised.append(alarm.ask(decision, x))
        expected.append(twin.ask(decision, x))
    assert raised == expected
    assert [found.kind for found in raised if found] == ["input: a"]
    assert alarm.to_bytes() == twin.to_bytes()


def test_a_saved_alarm_of_another_kind_is_refused():
    for kind, other in ((DropAlarm, InputAlarm), (InputAlarm, DropAlarm)):
        with pytest.raises(lasec.StateError, match=f"foreign: this is not a {other.KIND}"):
            other.from_bytes(kind().to_bytes())
    with pytest.raises(lasec.StateError, match="foreign"):
        DropAlarm.from_bytes(lasec.Meter().to_bytes())
