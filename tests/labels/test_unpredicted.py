"""Rows before the first label have no prediction: they are counted, and part of no estimate."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

import lasec
from lasec.metrics.estimate import Estimate
from lasec.reports.source import cards
from lasec.session import around

ROWS, SILENT = 600, 40
X, Y = lasec.streams.switching(ROWS, dimension=3, every=300, noise=0.05, seed=2)
NAMES = np.where(Y > 0, "spam", "ham").tolist()


def made(kind):
    classes = ["ham", "spam"]
    if kind == "own":
        return lasec.Session(lasec.Tracker(3, rate=0.4, seed=1), classes=classes)
    model = SGDClassifier(loss="log_loss", random_state=0)
    return lasec.Session(around(model, classes=classes, rate=0.4, seed=1))


@pytest.mark.parametrize(("kind", "saving"), [("own", False), ("own", True), ("around", False)])
def test_a_session_estimates_from_predictions_only(kind, saving):
    """The first answer comes after 40 rows, and is no evidence for or against the model."""
    session, right, before, answers = made(kind), [], [], 0
    for t in range(ROWS):
        decision = session.ask(X[t], id=t)
        if t < SILENT:
            assert decision.label is None
            before += [t] * decision.asked
            continue
        if t == SILENT:
            assert {asked.label for asked, _ in session.questions} == {None}
        if decision.label is not None:
            right.append(decision.label == NAMES[t])
        if before:
            outcome = session.tell(id=before.pop(0), label="ham")  # right or wrong, it is neither
            assert outcome.correct is None
        if saving and t in {SILENT, SILENT + 2}:
            session = lasec.Session.from_bytes(session.to_bytes())
        if decision.asked:
            outcome = session.tell(id=t, label=NAMES[t])
            assert outcome.correct == (None if decision.label is None else right[-1])
            answers += decision.label is not None
    meter, found = session.meter, session.accuracy()
    assert meter.unpredicted == ROWS - len(right) >= SILENT
    assert (found.rows, found.labels) == (len(right), answers)
    assert meter.labels > answers  # those of rows without a prediction were learned and counted
    assert (meter.open, meter.lost, meter.oldest) == (0, 0, None)
    assert np.mean(right) in found
    assert session.meter.estimate(over="window").labels <= answers


def test_many_rows_at_once_have_no_prediction_either():
    one, many = made("own"), made("own")
    decisions = [one.ask(x) for x in X[:SILENT]]
    for decision, other in zip(decisions, many.ask_many(X[:SILENT]), strict=True):
        assert decision.label is other.label is None
    assert one.meter.to_bytes() == many.meter.to_bytes()
    assert many.meter.unpredicted == SILENT


def test_nothing_waits_for_the_answer_about_a_row_without_a_prediction():
    session = lasec.Session(lasec.LASEC(3), classes=["ham", "spam"])  # it queries every label
    for t in range(3):
        session.ask(X[t], id=t)
    session.tell(id=1, label="ham")
    for t in range(3, 50):
        session.tell(session.ask(X[t]).ticket, NAMES[t])
    assert session.meter.open == 2
    assert session.meter.oldest is None
    found = session.meter.accuracy
    assert (found.rows, found.labels, found.lost) == (47, 47, 0)
    session.cancel(id=0)
    assert (session.meter.lost, session.accuracy().lost) == (1, 0)


@pytest.mark.parametrize("make", [lasec.Tracker, lasec.LASEC_SS])
def test_a_meter_fed_by_hand_agrees_with_one_fed_by_records(make):
    """A bare learner says +1 before its first label, which is no prediction: it is given as 0."""
    learner, by_hand, records = make(3, seed=1), lasec.Meter(), lasec.Meter()
    for x, label in zip(X, Y, strict=True):
        decision = learner.ask(x)
        if learner.told == 0:
            assert decision.label == 1
            decision = decision._replace(label=0)
        by_hand.ask(decision)
        if decision.asked:
            by_hand.tell(learner.tell(decision.ticket, label))
    records.extend(make(3, seed=1).run(X, Y), Y)
    assert by_hand.unpredicted == records.unpredicted >= 1
    assert by_hand.accuracy.rows == ROWS - by_hand.unpredicted
    for options in ({}, {"over": "window"}):
        assert by_hand.estimate(**options) == records.estimate(**options)


@pytest.mark.parametrize("delay", [0, 50])
def test_a_run_counts_them_and_scores_the_others(delay):
    found = lasec.evaluate(lasec.Tracker(3, rate=0.4, seed=1), X, Y, delay=delay, every=100)
    records, predicted = found.records, found.records.sign != 0
    assert found.unpredicted == (~predicted).sum() == delay + 1
    assert not predicted[: delay + 1].any()
    assert found.accuracy == pytest.approx(1.0 - records.mistake[predicted].mean())
    assert found.estimate.rows + found.unpredicted <= ROWS
    assert found.estimate.labels < found.labels
    counted = found.true_confusion.labels.sum()
    assert counted == predicted.sum()
    (whole,) = found.parts(1)
    assert whole.accuracy == pytest.approx(found.accuracy)
    again = lasec.RunSummary.from_bytes(found.to_bytes())
    assert (again.unpredicted, again.estimate) == (found.unpredicted, found.estimate)


def test_a_run_without_a_prediction_has_no_accuracy():
    found = lasec.evaluate(lasec.LASEC(3), X[:5], Y[:5], delay=10)
    assert (found.unpredicted, found.estimate.rows, found.estimate.labels) == (5, 0, 0)
    assert np.isnan(found.accuracy)
    assert np.isnan(found.estimate.value)
    (accuracy, _) = cards(found, {}, ())
    assert (accuracy.value, accuracy.note) == (
        "unknown", "all labels; 5 rows before the first label have no prediction"
    )  # fmt: skip


@pytest.mark.parametrize("rows", [0, 400])
def test_240_labels_without_an_error_leave_one_in_a_hundred(rows):
    """By the rule of three, 240 labels without an error leave an error rate of up to 1.2 %."""
    meter = lasec.Meter(window=None)
    for t in range(rows + 2_400):
        silent = t < rows
        asked = t % 10 == 0
        sign = 0 if silent else 1
        meter.ask(lasec.Decision(sign, 0.9995, 1.0, 0.1, asked=asked, ticket=t))
        if asked:
            decision = lasec.Decision(sign, 0.9995, 1.0, 0.1, asked=True, ticket=t)
            meter.tell(lasec.Outcome(decision=decision, y=1, mistake=False, updated=True))
    found = meter.estimate()
    assert (found.rows, found.labels) == (2_400, 240)
    assert 0.98 < found.low < 0.988
    assert found.high == 1.0


@pytest.mark.parametrize("errors", [0.002, 0.01, 0.05])
@pytest.mark.parametrize("rows", [100, 500, 2_000])
def test_short_windows_near_100_percent_are_covered(errors, rows):
    """The model is sure of itself and mostly right, and a tenth of the rows is queried."""
    rng, covered, streams = np.random.default_rng(rows), 0, 300
    for _ in range(streams):
        wrong, asked = rng.random(rows) < errors, rng.random(rows) < 0.1
        columns = [np.full(rows, value) for value in (1, 0.98, 0.1, 0.1)]
        records = lasec.Records(
            columns[0].astype(np.int8), *columns[1:], asked, wrong, asked, first=0
        )
        meter = lasec.Meter(window=None)
        meter.extend(records, np.where(wrong, -1, 1))
        found = meter.accuracy
        covered += 1.0 - wrong.mean() in found
    assert covered / streams >= 0.93


def test_the_repr_of_an_estimate_has_the_worst_case():
    here = Estimate(0.9, 0.88, 0.92, 1_000, 90, 1_000, lost=10, below=0.1, above=0.08)
    assert (here.worst_low, here.worst_high) == pytest.approx((0.78, 1.0))
    assert repr(here).endswith("; 10 answers lost: between 0.780 and 1.000 at worst)")
