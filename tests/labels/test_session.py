"""A session: what is asked, told, canceled and given up reaches book, meter and detectors."""

import numpy as np
import pytest

import lasec
from lasec.errors import TicketError
from lasec.session import AnyModel, Judged, around

X, y = lasec.streams.switching(1_500, dimension=4, every=500, seed=3)
NAMES = {-1: "ham", 1: "spam"}


class Watcher:
    """A detector that keeps all it hears, and raises an alarm at one row."""

    raised = False

    def __init__(self, at=10):
        self.asked, self.told, self.canceled, self.at = [], [], [], at

    def ask(self, decision, x=None):
        self.asked.append((decision.ticket, decision.label))
        return (
            lasec.alarms.Alarm("test", 1, 9.0, 0.1, 0.5, 0) if decision.ticket == self.at else None
        )

    def tell(self, outcome):
        self.told.append((outcome.decision.ticket, outcome.y))

    def cancel(self, ticket):
        self.canceled.append(ticket)


def learner(**options):
    return lasec.Tracker(4, rate=0.3, seed=5, **options)


@pytest.mark.parametrize("options", [{}, {"max_pending": 5}, {"max_age": 40}])
def test_a_session_is_the_learner_and_the_meter_by_hand(options):
    """Answers come 60 rows late and every ninth is canceled: same decisions, same sums."""
    session = lasec.Session(learner(**options), classes=["ham", "spam"])
    twin, meter = learner(**options), lasec.Meter()
    late = []
    for t in range(len(X)):
        mine, decision = session.ask(X[t]), twin.ask(X[t])
        name = NAMES[decision.label] if twin.told else None
        assert mine == decision._replace(label=name)
        meter.ask(decision)
        for gone in twin.given_up():
            meter.cancel(gone.ticket)
        if decision.asked:
            late.append(t)
        while late and late[0] <= t - 60:
            row = late.pop(0)
            if not twin.is_open(row):
                with pytest.raises(TicketError):
                    session.tell(row, "spam")
            elif row % 9 == 0:
                session.cancel(row)
                twin.cancel(row)
                meter.cancel(twin.given_up()[0].ticket)
            else:
                session.tell(row, NAMES[int(y[row])])
                meter.tell(twin.tell(row, int(y[row])))
    assert session.meter.to_bytes() == meter.to_bytes()
    twin.name_classes(["ham", "spam"])
    assert session.learner.to_bytes() == twin.to_bytes()
    assert meter.lost > 10


def test_rows_are_known_by_ids_until_they_are_settled():
    session = lasec.Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
    session.ask([1.0], id="mail-1")
    with pytest.raises(ValueError, match="'mail-1' is still open"):
        session.ask([1.0], id="mail-1")
    assert [note.id for _, note in session.questions] == ["mail-1"]
    session.tell("mail-1", "ham")
    with pytest.raises(TicketError, match="no open question about 'mail-1'"):
        session.tell("mail-1", "ham")
    session.ask([1.0], id="mail-1")
    session.cancel("mail-1")
    assert (session.questions, session.notes, session.meter.lost) == ([], {}, 1)


@pytest.mark.parametrize(
    ("options", "why"), [({"max_age": 3}, "expired"), ({"max_pending": 2}, "dropped")]
)
def test_what_is_given_up_is_forgotten_everywhere(options, why):
    model = lasec.LASEC(dimension=1, **options)
    heard = []
    give_up, model.given_up = model.given_up, lambda: heard.extend(gone := give_up()) or gone
    session = lasec.Session(model)
    for t in range(10):
        session.ask([1.0], id=t + 100)
    assert {gone.why.value for gone in heard} == {why}
    assert session.meter.lost == len(heard) == 10 - len(session.questions)
    assert {note.id - 100 for _, note in session.questions} == {
        d.ticket for d, _ in session.questions
    }
    assert set(session.notes) == {decision.ticket for decision, _ in session.questions}


def test_each_annotator_counts_once():
    model = lasec.LASEC(dimension=1, aggregate="majority", annotators=3)
    session = lasec.Session(model, classes=["ham", "spam"])
    ticket = session.ask([1.0]).ticket
    assert not session.tell(ticket, "ham", by="ann").settled
    with pytest.raises(TicketError, match="'ann' has answered already"):
        session.tell(ticket, "ham", by="ann")
    assert session.meter.labels == 0
    assert session.tell(ticket, "ham", by="bob").settled
    assert session.meter.labels == 1


def test_detectors_hear_of_every_row_and_every_settled_label():
    watcher, reactions = Watcher(), []
    session = lasec.Session(
        learner(), detectors=[watcher], on_alarm=lambda where, alarm: reactions.append(where)
    )
    told = []
    for x, sign in zip(X[:200], y[:200], strict=True):
        decision = session.ask(x)
        if decision.asked:
            session.tell(decision.ticket, NAMES[int(sign)])
            told.append(decision.ticket)
    assert [ticket for ticket, _ in watcher.asked] == list(range(200))
    assert [ticket for ticket, _ in watcher.told] == told
    assert reactions == [session]
    assert len(session.alarms) == 1


def test_labels_that_nobody_asked_for_are_learned_and_not_counted():
    session = lasec.Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
    session.learn([1.0], "ham")
    assert session.ask([1.0]).label == "ham"
    assert (session.meter.labels, session.learner.told) == (0, 1)


def test_a_third_class_is_met_and_the_meter_goes_on():
    """Two classes until row 700, then three; the sums are those of right and wrong."""
    session, right = lasec.Session(learner()), []
    for t in range(len(X)):
        label = "eggs" if t > 700 and X[t, 0] > 1.0 else NAMES[int(y[t])]
        decision = session.ask(X[t])
        if decision.asked:
            outcome = session.tell(decision.ticket, label)
            assert outcome.y == label
            assert outcome.correct == (outcome.decision.label == label)
            right.append(outcome.correct)
    assert set(session.classes) == {"ham", "spam", "eggs"}
    assert session.meter.labels == len(right)
    weighted = session.meter.estimate("accuracy", method="snipw").value
    assert weighted == pytest.approx(np.mean(right), abs=0.15)
    again = lasec.Session.from_bytes(session.to_bytes())
    assert again.classes == session.classes
    assert again.ask(X[0]) == session.ask(X[0])


def test_before_the_first_label_there_is_no_prediction():
    session = lasec.Session(learner(), classes=["ham", "spam"])
    assert session.ask(X[0]).label is None
    assert session.predict(X[:2]) == [None, None]
    session.learn(X[0], "ham")
    assert session.ask(X[0]).label == "ham"


def test_a_session_goes_on_after_it_was_saved(tmp_path):
    whole, parts = (lasec.Session(learner(), classes=["ham", "spam"]) for _ in range(2))
    for t in range(600):
        if t == 300:
            parts.save(tmp_path / "session.lasec")
            parts = lasec.Session.load(tmp_path / "session.lasec")
        for session in (whole, parts):
            if session.ask(X[t], id=f"row-{t}").asked and t % 50:
                session.tell(f"row-{t}", NAMES[int(y[t])])
    assert parts.learner.to_bytes() == whole.learner.to_bytes()
    np.testing.assert_allclose(parts.accuracy(), whole.accuracy(), rtol=1e-12)
    assert whole.accuracy().labels > 100
    assert [note.id for _, note in parts.questions] == [note.id for _, note in whole.questions]
    assert whole.questions


# Anybody's model ----------------------------------------------------------------------------------


def test_around_a_scikit_learn_model_the_estimate_covers_the_truth():
    from sklearn.linear_model import SGDClassifier

    rows, labels = lasec.streams.stationary(4_000, dimension=8, noise=0.1, seed=2)
    model = SGDClassifier(loss="log_loss", random_state=0)
    session = lasec.Session(around(model, classes=[-1, 1], rate=0.2, seed=1))
    right = []
    for x, label in zip(rows, labels, strict=True):
        decision = session.ask(x)
        right.append(decision.label == label)
        if decision.asked:
            session.tell(decision.ticket, label)
    estimate = session.accuracy()
    assert estimate.low <= np.mean(right) <= estimate.high
    assert 0.15 < session.meter.asked / 4_000 < 0.25
    assert np.mean(right) > 0.7
    with pytest.raises(TypeError, match="not lasec's"):
        session.to_bytes()


def test_around_a_river_model_it_is_the_river_face():
    from river import linear_model

    from lasec.river import ActiveClassifier

    face = ActiveClassifier(linear_model.LogisticRegression(), rate=0.2, seed=4)
    session = lasec.Session(around(linear_model.LogisticRegression(), rate=0.2, seed=4))
    for x, sign in zip(X[:800], y[:800], strict=True):
        row = dict(enumerate(x.tolist()))
        ours, theirs = session.ask(row), face.ask_one(row)
        assert ours == theirs
        if ours.asked:
            right = face.tell_one(theirs.ticket, bool(sign > 0))
            assert session.tell(ours.ticket, bool(sign > 0)).correct == right
    assert session.accuracy() == face.meter.accuracy


def test_a_model_behind_two_functions():
    """Three classes; the book keeps the row in its own form."""
    memory = {}
    model = AnyModel(
        lambda row: Judged(memory.get(row["word"]), margin=0.0, certainty=-1.0),
        lambda row, label, ticket: memory.update({row["word"]: label}),
        lasec.selector.Selector(lasec.queries.Always(), seed=0),
        max_age=2,
    )
    session = lasec.Session(model)
    for word, label in (("a", "red"), ("b", "green"), ("c", "blue")):
        row = {"word": word}
        ticket = session.ask(row).ticket
        row["word"] = "changed by the caller"
        session.tell(ticket, label)
    assert memory == {"a": "red", "b": "green", "c": "blue"}
    assert session.ask({"word": "b"}).label == "green"
    for _ in range(4):
        session.ask({"word": "a"})
    assert [d.ticket for d, _ in session.questions] == [5, 6, 7]
    assert session.meter.lost == 2


def test_a_model_without_a_probability_is_refused():
    from sklearn.svm import LinearSVC

    with pytest.raises(TypeError, match="predict_proba and partial_fit, got LinearSVC"):
        around(LinearSVC())


def test_detectors_hear_of_every_question_that_is_given_up():
    watcher = Watcher()
    session = lasec.Session(learner(max_pending=5), detectors=[watcher])
    for x in X[:100]:
        session.ask(x)
    left = [decision.ticket for decision, _ in session.questions]
    session.cancel(left[0])
    asked = session.meter.asked
    assert len(left) == 5
    assert len(watcher.canceled) == asked - 4 == session.meter.lost
    assert sorted(watcher.canceled + left[1:]) == sorted(set(watcher.canceled + left[1:]))


def test_a_saved_session_goes_on_with_its_detectors():
    alarms = [lasec.alarms.DropAlarm(), lasec.alarms.InputAlarm()]
    whole = lasec.Session(lasec.LASEC_SS(5, drift=0.0, aggressiveness=1.0), detectors=alarms)
    stream, heard = lasec.streams.switching(3_000, dimension=5, every=1_500, seed=1), []
    for t, (x, sign) in enumerate(zip(*stream, strict=True)):
        decision = whole.ask(x)
        if decision.asked:
            whole.tell(decision.ticket, int(sign))
        if t == 900:
            heard += whole.alarms
            cut = lasec.Session.from_bytes(whole.to_bytes())
        if t > 900:
            decision = cut.ask(x)
            if decision.asked:
                cut.tell(decision.ticket, int(sign))
    assert whole.alarms == heard + cut.alarms
    assert whole.alarms
