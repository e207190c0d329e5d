"""A run is the same however the stream was cut, saved and loaded, and its numbers are right."""

from operator import attrgetter

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

import lasec
from lasec.errors import StateError
from lasec.learner import counted
from lasec.session import around
from ownrule import Lost

ROWS = 13_337
X, Y = lasec.streams.switching(ROWS, dimension=6, every=4_000, noise=0.03, seed=1)
GROUPS = np.array(["DE", "FR", "<script>", "other", "PL", "IT"])[
    np.random.default_rng(1).integers(6, size=ROWS)
].tolist()


def followed(cuts, *, saving=False, groups=True, **options):
    learner, run = lasec.Tracker(rate=0.15), lasec.RunSummary(**options)
    ends = [*cuts, ROWS]
    for begin, end in zip([0, *ends], ends, strict=False):
        rows = slice(begin, end)
        lasec.evaluate(learner, X[rows], Y[rows], groups=GROUPS[rows] if groups else None, into=run)
        if saving:
            run = lasec.RunSummary.from_bytes(run.to_bytes())
            learner = lasec.Tracker.from_bytes(learner.to_bytes())
    return run


@pytest.fixture(scope="module")
def whole():
    return followed([], points=40, segments=4)


def same(a, b):
    assert a.to_bytes() == b.to_bytes()
    assert (a.rows, a.labels, a.accuracy) == (b.rows, b.labels, b.accuracy)
    assert a.points == b.points
    assert a.estimate == b.estimate
    assert a.groups == b.groups
    assert a.parts() == b.parts()


@pytest.mark.parametrize(
    "cuts", [[1], [50, 51, 149, 7_777], [13_336], list(range(0, ROWS, 730)), [3_200, 6_400]]
)
def test_any_chunking_gives_the_same_run_to_the_bit(whole, cuts):
    same(followed(cuts, points=40, segments=4), whole)


def test_saved_and_loaded_half_way_it_goes_on_as_if_nothing_had_been(whole):
    same(followed([33, 5_001, 9_600], points=40, segments=4, saving=True), whole)


def test_looking_changes_nothing(whole):
    learner, run = lasec.Tracker(rate=0.15), lasec.RunSummary(points=40, segments=4)
    for begin in range(0, ROWS, 999):
        rows = slice(begin, begin + 999)
        lasec.evaluate(learner, X[rows], Y[rows], groups=GROUPS[rows], into=run)
        assert run.points[-1].round == run.rows == run.meter.rows
        assert sum(part.rows for part in run.parts()) == run.rows
    same(run, whole)


def test_its_numbers_are_those_of_evaluate_and_of_a_plain_count(whole):
    found = lasec.evaluate(lasec.Tracker(rate=0.15), X, Y, every=50)
    at = {point.round: point for point in found.points}
    for point in whole.points:
        other = at[point.round]
        np.testing.assert_allclose(point.estimate[:3], other.estimate[:3], rtol=1e-9)
        np.testing.assert_allclose(point.always[:3], other.always[:3], rtol=1e-6)
        assert point[3:] == other[3:]
    predicted = found.records.sign != 0
    assert whole.unpredicted == (~predicted).sum() == 1
    assert whole.accuracy == 1.0 - found.records.mistake[predicted].mean()
    assert whole.labels == found.records.labels
    meter = lasec.Meter()
    meter.extend(found.records, Y)
    assert whole.estimate == pytest.approx(meter.accuracy)


def meter_of(records, mask):
    """A meter that has heard of these rows only."""
    meter = lasec.Meter()
    columns = ("label", "sign", "margin", "propensity", "asked", "ticket")
    chosen = type("Chosen", (), {name: getattr(records, name)[mask] for name in columns})()
    meter.extend(chosen, Y[mask])
    return meter


def test_parts_and_groups_are_what_a_meter_of_their_own_would_say(whole):
    records = lasec.Tracker(rate=0.15).run(X, Y)
    kept = [group.name for group in whole.groups]
    assert kept[-1] == "other"
    assert len(kept) == 5
    names = np.where(np.isin(GROUPS, kept[:-1]), GROUPS, "other")
    masks = {group: names == group.name for group in whole.groups}
    for part in whole.parts():
        begin, end = map(int, part.name.split("-"))
        masks[part] = (np.arange(1, ROWS + 1) >= begin) & (np.arange(1, ROWS + 1) <= end)
    for part, mask in masks.items():
        meter = meter_of(records, mask)
        assert part.rows == mask.sum()
        assert part.labels == records.asked[mask].sum()
        predicted = mask & (records.sign != 0)
        assert part.accuracy == pytest.approx(1.0 - records.mistake[predicted].mean())
        assert part.estimate[:5] == pytest.approx(meter.accuracy[:5], rel=1e-9)


def test_the_recent_rows_are_the_last_ones_with_so_many_labels(whole):
    records = lasec.Tracker(rate=0.15).run(X, Y)
    for wanted in (50, 200, 700):
        recent = whole.recent(wanted)
        assert wanted <= recent.labels < wanted + 0.5 * whole.every  # to the next point
        meter = meter_of(records, np.arange(ROWS) >= ROWS - recent.rows)
        assert recent[:5] == pytest.approx(meter.accuracy[:5])
        assert recent.until == whole.estimate.until
    assert whole.recent(10**6)[:5] == pytest.approx(whole.estimate[:5])


def test_recent_estimates_cover_the_truth():
    """120 runs of two concepts: a bound that coverage of 95 % passes in all but 2 of 10,000."""
    covered, bias = 0, []
    for seed in range(120):
        rows, labels = lasec.streams.switching(3_000, dimension=5, every=1_500, seed=seed)
        run = lasec.evaluate(lasec.Tracker(rate=0.1, seed=seed), rows, labels, every=150)
        recent = run.recent(100)
        truth = 1.0 - float(run.records.mistake[-recent.rows :].mean())
        covered += truth in recent
        bias.append(recent.value - truth)
    assert covered >= 106
    assert abs(np.mean(bias)) < 4.0 * np.std(bias) / np.sqrt(len(bias))


def test_margins_are_counted_once_each(whole):
    margins, records = whole.margins, lasec.Tracker(rate=0.15).run(X, Y)
    rows, _ = np.histogram(records.margin, margins.edges)
    wrong, _ = np.histogram(records.margin[records.mistake], margins.edges)
    assert np.array_equal(margins.rows, rows)
    assert np.array_equal(margins.mistakes, wrong)
    assert margins.asked.sum() == records.labels
    assert margins.propensity.sum() == pytest.approx(records.propensity.sum())


def test_a_rule_with_unbounded_margins_and_no_budget():
    learner, run = lasec.LASEC_SS(6, aggressiveness=0.3), lasec.RunSummary()
    for begin in range(0, ROWS, 1_000):
        lasec.evaluate(learner, X[begin : begin + 1_000], Y[begin : begin + 1_000], into=run)
    records = lasec.LASEC_SS(6, aggressiveness=0.3).run(X, Y)
    assert run.labels == records.labels
    assert run.margins.rows.sum() == ROWS
    assert not run.margins.bounded
    assert all(point.drift_estimate is None and np.isnan(point.planned) for point in run.points)
    assert run.accuracy in run.estimate


def test_rows_that_could_not_be_asked_widen_the_interval_by_all_they_can_be():
    learner, run = lasec.BBQ(6, exponent=0.3), lasec.RunSummary()
    records = lasec.evaluate(learner, X[:3_000], Y[:3_000], into=run).records
    meter = lasec.Meter()
    meter.extend(records, Y[:3_000])
    (part,) = run.parts(1)
    assert part.estimate == pytest.approx(meter.accuracy)
    assert part.estimate.width > 0.5


@pytest.mark.parametrize("points", [2, 3, 10, 200])
def test_memory_is_bounded(points):
    run = followed([], groups=False, points=points)
    assert points / 2 <= len(run.points) <= points + 1
    scores = 160_000  # sums of probabilities, and up to 1,600 rows that wait to be summed
    assert len(run.to_bytes()) < 130_000 + scores + 2_000 * points


def test_short_and_empty_runs():
    run, learner = lasec.RunSummary(), lasec.Tracker(dimension=6)
    assert run.points == run.parts() == run.groups == []
    assert np.isnan(run.accuracy)
    assert np.isnan(run.estimate.value)
    assert len(lasec.evaluate(learner, X[:0], Y[:0], into=run).records) == 0
    assert run.points == []
    lasec.evaluate(learner, X[:3], Y[:3], into=run)
    assert [point.round for point in run.points] == [3]


def test_by_time():
    budget = lasec.queries.Budgeted(rate=0.2, window=100.0, timed=True, horizon=1_000.0)
    learner, run = lasec.Tracker(budget=budget), lasec.RunSummary()
    lasec.evaluate(learner, X[:500], Y[:500], times=np.arange(500.0), into=run)
    assert run.points[-1].planned == pytest.approx(0.2 * 499)
    assert run.labels == learner.asked


def test_what_is_refused():
    run, learner = lasec.RunSummary(), lasec.Tracker(rate=0.1)
    lasec.evaluate(learner, X[:100], Y[:100], groups=GROUPS[:100], into=run)
    with pytest.raises(ValueError, match="this one is at row 0"):
        lasec.evaluate(lasec.Tracker(rate=0.1), X[:10], Y[:10], groups=GROUPS[:10], into=run)
    with pytest.raises(ValueError, match="every row must have one"):
        lasec.evaluate(learner, X[:10], Y[:10], into=run)
    with pytest.raises(ValueError, match="expected 10 names"):
        lasec.evaluate(learner, X[:10], Y[:10], groups=["DE"], into=run)
    with pytest.raises(ValueError, match="NaN"):
        lasec.evaluate(learner, np.full((10, 6), np.nan), Y[:10], groups=GROUPS[:10], into=run)
    assert run.rows == learner.rows == 100


def test_a_damaged_file_is_refused(whole):
    data = bytearray(whole.to_bytes())
    for broken in (data[:-1], data[:100], data[:500] + b"x" + data[501:], b""):
        with pytest.raises(StateError):
            lasec.RunSummary.from_bytes(bytes(broken))
    with pytest.raises(StateError, match="not a run"):
        lasec.RunSummary.from_bytes(lasec.Tracker(dimension=2).to_bytes())


def test_an_evaluation_has_parts_and_margins_too():
    found = lasec.evaluate(lasec.Tracker(rate=0.15), X[:4_000], Y[:4_000])
    (all_of_it,) = found.parts(1)
    assert all_of_it.estimate == pytest.approx(found.estimate)
    assert all_of_it.accuracy == pytest.approx(found.accuracy)
    assert found.margins.rows.sum() == found.rows == 4_000
    assert [part.name for part in found.parts(4)][1] == "1001-2000"


def test_parts_of_an_evaluation_with_late_lost_and_contradicting_answers():
    rng = np.random.default_rng(1)
    n, y = 4_000, Y[:4_000]
    delay = rng.geometric(1 / 50, size=(n, 3)).astype(float)
    delay[rng.random((n, 3)) < 0.2] = np.inf
    answers = np.where(rng.random((n, 3)) < 0.1, -y[:, None], y[:, None])
    learner = lasec.Tracker(rate=0.2, aggregate="majority", annotators=3, max_age=300)
    found = lasec.evaluate(learner, X[:n], y, delay=delay, answers=answers)
    (whole,) = found.parts(1)
    assert found.meter.lost > 50
    assert whole.estimate.labels == found.estimate.labels
    assert whole.estimate.rows == found.estimate.rows < n
    assert whole.estimate.value == pytest.approx(found.estimate.value, rel=1e-9)
    assert whole.estimate.width == pytest.approx(found.estimate.width, rel=0.02)


def test_a_learner_that_has_lived_before():
    learner = lasec.Tracker(rate=0.15)
    learner.run(X[:1_000], Y[:1_000])
    before, run = learner.asked, lasec.RunSummary()
    lasec.evaluate(learner, X[1_000:4_000], Y[1_000:4_000], into=run)
    assert run.first == 1_000
    assert run.labels == learner.asked - before
    assert sum(part.labels for part in run.parts()) == run.labels
    assert run.points[-1].labels == run.labels
    assert run.points[-1].planned == pytest.approx(0.15 * 4_000 - before)
    found = lasec.evaluate(learner, X[4_000:5_000], Y[4_000:5_000])
    assert found.points[-1].labels == found.labels
    assert found.points[-1].planned == pytest.approx(0.15 * 5_000 - before - run.labels)


def broken(row):
    rows = X[:200].copy()
    rows[row] = 1e30
    return rows


def test_a_row_that_is_too_large_leaves_everything_as_it_was_and_is_named_as_the_learner_names_it():
    make = lambda: lasec.Learner(lasec.rules.AROW(), dimension=6, learn_from="labels")  # noqa: E731
    with pytest.raises(ValueError, match="X: row 130: too large") as wanted:
        make().run(broken(130), Y[:200])
    learner, run = make(), lasec.RunSummary(segments=2)
    lasec.evaluate(learner, X[200:330], Y[200:330], groups=["DE"] * 130, into=run)
    then = learner.to_bytes(), run.to_bytes(), run.points
    with pytest.raises(ValueError) as found:  # noqa: PT011
        lasec.evaluate(learner, broken(130), Y[:200], groups=["bad"] * 200, into=run)
    assert str(found.value).split(":")[:2] == str(wanted.value).split(":")[:2]
    assert (learner.to_bytes(), run.to_bytes(), run.points) == then
    lasec.evaluate(learner, X[330:400], Y[330:400], groups=["FR"] * 70, into=run)
    assert [group.name for group in run.groups] == ["DE", "FR"]


def test_margins_that_are_no_numbers_are_refused_and_leave_everything_as_it_was():
    make = lambda: lasec.Learner(Lost(), dimension=6, learn_from="labels")  # noqa: E731
    learner, run = make(), lasec.RunSummary()
    lasec.evaluate(learner, X[:75], Y[:75], into=run)
    then = learner.rows, learner.state.weights.tolist(), run.to_bytes()
    with pytest.raises(ValueError, match="X: the margin of row 130"):
        lasec.evaluate(learner, broken(130), Y[:200], into=run)
    assert (learner.rows, learner.state.weights.tolist(), run.to_bytes()) == then
    lasec.evaluate(learner, X[75:200], Y[75:200], into=run)
    assert lasec.RunSummary.from_bytes(run.to_bytes()).estimate == run.estimate
    records = make().run(X[:200], Y[:200])
    assert run.accuracy == pytest.approx(1.0 - records.mistake[records.sign != 0].mean())


def test_single_rows_and_expired_questions_are_taken_back_too():
    learner = lasec.Learner(lasec.rules.AROW(), dimension=6, learn_from="labels", max_age=20)
    run = lasec.RunSummary()
    learner.ask(X[0])
    lasec.evaluate(
        learner, X[1:50], Y[1:50], into=run
    )  # a piece of one row is next, up to the 50th
    assert (run.rows, learner.expired) == (49, 1)
    learner.ask(X[0])
    learner = counted(learner, rows=learner.rows - 1)  # as if the run had seen it
    then = learner.to_bytes()
    with pytest.raises(ValueError, match="X: row 130: too large"):
        lasec.evaluate(learner, broken(130), Y[:200], into=run)
    assert learner.to_bytes() == then
    assert (run.rows, learner.pending) == (49, (50,))
    lasec.evaluate(learner, X[50:100], Y[50:100], into=run)
    assert (run.rows, learner.pending, learner.expired) == (99, (), 2)


def test_other_is_a_name_like_any():
    learner, run = lasec.Tracker(6), lasec.RunSummary()
    lasec.evaluate(learner, X[:60], Y[:60], groups=["other"] * 60, into=run)
    run = lasec.RunSummary.from_bytes(run.to_bytes())
    with pytest.raises(ValueError, match="every row must have one"):
        lasec.evaluate(learner, X[60:120], Y[60:120], into=run)
    lasec.evaluate(learner, X[60:120], Y[60:120], groups=["DE"] * 60, into=run)
    assert [(group.name, group.rows) for group in run.groups] == [("DE", 60), ("other", 60)]
    bare, other = lasec.RunSummary(), lasec.Tracker(6)
    lasec.evaluate(other, X[:0], Y[:0], groups=[], into=bare)
    lasec.evaluate(other, X[:20], Y[:20], into=bare)
    with pytest.raises(ValueError, match="the rows before had none"):
        lasec.evaluate(other, X[20:30], Y[20:30], groups=["DE"] * 10, into=bare)


def test_half_a_character_in_the_name_of_a_group_can_be_saved():
    learner, run = lasec.Tracker(6), lasec.RunSummary()
    lasec.evaluate(learner, X[:60], Y[:60], groups=["\ud800", "\udc01"] * 30, into=run)
    again = lasec.RunSummary.from_bytes(run.to_bytes())
    assert [group.name for group in again.groups] == ["\\ud800", "\\udc01"]


def test_another_learner_of_the_same_age_is_refused():
    run, learner, other = lasec.RunSummary(), lasec.Tracker(6), lasec.LASEC(6)
    lasec.evaluate(learner, X[:100], Y[:100], into=run)
    other.run(X[:100], Y[:100])
    run = lasec.RunSummary.from_bytes(run.to_bytes())
    with pytest.raises(ValueError, match=r"has followed Tracker .* this one is LASEC"):
        lasec.evaluate(other, X[100:200], Y[100:200], into=run)
    session = lasec.Session(around(SGDClassifier(), classes=[-1, 1], seed=0))
    lasec.evaluate(session, X[:100], Y[:100])
    with pytest.raises(ValueError, match="this one is a model of another library"):
        lasec.evaluate(session, X[100:200], Y[100:200], into=run)
    lasec.evaluate(lasec.Tracker.from_bytes(learner.to_bytes()), X[100:200], Y[100:200], into=run)
    assert run.rows == 200


def test_whether_margins_are_bounded_is_a_matter_of_the_rule():
    small = lasec.evaluate(lasec.LASEC_SS(6), 0.01 * X[:500], Y[:500])
    assert np.abs(small.records.margin).max() <= 1.0
    assert not small.margins.bounded
    assert lasec.evaluate(lasec.Tracker(6), X[:500], Y[:500]).margins.bounded


def late(cuts, *, saving=False, lost=0.1):
    """A run with answers that come late or never, cut into calls, and saved between them."""
    rng = np.random.default_rng(5)
    delay = np.where(rng.random(ROWS) < lost, np.inf, rng.geometric(1 / 80, ROWS))
    learner, run = lasec.Tracker(rate=0.15, max_age=500), lasec.RunSummary(points=40, segments=4)
    ends = [*cuts, 5_000]
    for begin, end in zip([0, *ends], ends, strict=False):
        at = slice(begin, end)
        lasec.evaluate(learner, X[at], Y[at], delay=delay[at], groups=GROUPS[at], into=run)
        if saving:
            run = lasec.RunSummary.from_bytes(run.to_bytes())
            learner = lasec.Tracker.from_bytes(learner.to_bytes())
    return run, learner


@pytest.mark.parametrize("saving", [False, True])
def test_late_answers_reach_their_rows_across_calls_and_files(saving):
    whole, one = late([])
    cut, other = late([1, 49, 777, 778, 3_200], saving=saving)
    assert one.to_bytes() == other.to_bytes()
    if not saving:  # a meter that is saved has summed up earlier, which shows in the last digits
        same(cut, whole)
    for a, b in zip(cut.points, whole.points, strict=True):
        assert a.estimate == pytest.approx(b.estimate, rel=1e-12, nan_ok=True)
        np.testing.assert_equal(a[3:], b[3:])
    assert (cut.answered, cut.refused) == (whole.answered, whole.refused)
    assert whole.meter.lost > 30


def test_groups_and_parts_of_a_run_with_late_answers_add_up_to_the_meter():
    run, _ = late([])
    assert sum(group.rows for group in run.groups) == run.rows == 5_000
    assert sum(group.labels for group in run.groups) == run.labels
    assert sum(part.labels for part in run.parts()) == run.labels
    assert sum(part.estimate.labels for part in run.parts()) == run.estimate.labels
    assert sum(group.estimate.rows for group in run.groups) == run.estimate.rows < 5_000
    (whole,) = run.parts(1)
    assert whole.estimate.value == pytest.approx(run.estimate.value, rel=1e-9)
    covered = [part.accuracy in part.estimate for part in (*run.parts(), *run.groups)]
    assert np.mean(covered) > 0.75


def test_alarms_are_kept_and_saved():
    X, y = lasec.streams.switching(8_000, dimension=6, every=4_000, seed=1)
    alarms = [lasec.alarms.DropAlarm()]
    run = lasec.RunSummary()
    learner = lasec.LASEC_SS(6, drift=0.0, aggressiveness=1.0)
    for at in (slice(0, 3_000), slice(3_000, 8_000)):
        lasec.evaluate(learner, X[at], y[at], alarms=alarms, into=run)
    assert run.alarms
    assert 4_000 < run.alarms[0].ticket < 5_000
    heard, other = [], lasec.LASEC_SS(6, drift=0.0, aggressiveness=1.0)
    watched = [lasec.alarms.DropAlarm()]
    one_by_one = lasec.evaluate(
        other, X, y, alarms=watched, on_alarm=lambda _, alarm: heard.append(alarm)
    )
    assert one_by_one.alarms == heard
    for a, b in zip(run.alarms, heard, strict=True):  # margins of blocks differ in the last digits
        figures = attrgetter("ticket", "evidence", "before", "after", "since", "labels")
        assert figures(a) == pytest.approx(figures(b), rel=1e-9)
    assert run.estimate == pytest.approx(one_by_one.estimate)
    assert lasec.RunSummary.from_bytes(run.to_bytes()).alarms == run.alarms


@pytest.mark.parametrize("delay", [0, 30])
def test_a_meter_that_is_given_hears_the_run(delay):
    meter = lasec.Meter(window=500)
    run = lasec.evaluate(lasec.Tracker(rate=0.2), X[:2_000], Y[:2_000], meter=meter, delay=delay)
    assert meter.rows == 2_000
    assert meter.accuracy == run.estimate
