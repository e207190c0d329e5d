"""A session: what is asked, told, canceled and given up reaches book, meter and detectors."""

import copy
import pickle

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
    twin.listen((given_up := []).append)
    late = []
    for t in range(len(X)):
        mine, decision = session.ask(X[t]), twin.ask(X[t])
        name = NAMES[decision.label] if twin.told else None
        assert mine == decision._replace(label=name)
        meter.ask(decision if twin.told else decision._replace(label=0))
        while given_up:
            meter.cancel(given_up.pop(0).ticket)
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
                meter.cancel(given_up.pop(0).ticket)
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
@pytest.mark.parametrize("together", [False, True])
def test_what_is_given_up_is_forgotten_everywhere(options, why, together):
    model = lasec.LASEC(dimension=1, **options)
    session = lasec.Session(model)
    hear = model.listen(lambda gone: heard.append(gone) or hear(gone))
    heard = []
    for t in range(100, 110, 2):
        if together:
            session.ask_many([[1.0], [1.0]], ids=[t, t + 1])
        else:
            session.ask([1.0], id=t), session.ask([1.0], id=t + 1)
    assert {gone.why.value for gone in heard} == {why}
    assert session.meter.lost == len(heard) == 10 - len(session.questions)
    assert {note.id - 100 for _, note in session.questions} == {
        d.ticket for d, _ in session.questions
    }
    assert set(session.notes) == {decision.ticket for decision, _ in session.questions}


def test_more_questions_given_up_at_once_than_may_be_open_are_all_lost():
    session = lasec.Session(lasec.LASEC(dimension=1, max_pending=2))
    session.ask_many(np.ones((10, 1)))
    assert (session.learner.dropped, session.meter.lost, len(session.questions)) == (8, 8, 2)


def test_a_copy_of_a_session_hears_of_its_own_questions_only():
    session = lasec.Session(lasec.LASEC(dimension=1, max_pending=1))
    session.ask([1.0])
    for twin in (copy.deepcopy(session), pickle.loads(pickle.dumps(session))):
        for _ in range(3):
            twin.ask([1.0])
        assert (twin.meter.lost, session.meter.lost) == (3, 0)
    session.ask([1.0])
    assert session.meter.lost == 1


def test_after_an_evaluation_the_session_hears_again():
    session = lasec.Session(lasec.LASEC(dimension=4, max_pending=1))
    summary = lasec.evaluate(session.learner, X[:9], y[:9], delay=100)
    assert (session.learner.dropped, summary.meter.lost, session.meter.lost) == (8, 8, 0)
    session.ask(X[9])
    session.ask(X[10])
    assert session.meter.lost == 1


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
            shown = outcome.decision.label
            assert outcome.correct == (None if shown is None else shown == label)
            right.append(outcome.correct)
    assert set(session.classes) == {"ham", "spam", "eggs"}
    assert session.meter.labels == len(right)
    right = [each for each in right if each is not None]
    assert session.accuracy().labels == len(right) < session.meter.labels
    assert session.meter.accuracy.value == pytest.approx(np.mean(right), abs=0.15)
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
    assert type(decision.label) is int  # and no number of NumPy
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


def test_any_model_forgets_a_row_that_was_answered_and_keeps_one_that_waits():
    selector = lasec.selector.Selector(lasec.queries.Always(), seed=0)
    model = AnyModel(lambda row: Judged("ham", 0.0, 0.0), lambda row, label, ticket: None, selector)
    session = lasec.Session(model)
    first, second = (session.ask(f"text {name}", id=name).ticket for name in "ab")
    assert (model.is_open(first), model.is_open(second), model.is_open(7)) == (True, True, False)
    session.tell(first, "ham", by="ann")
    assert [(decision.ticket, note.id) for decision, note in session.questions] == [(second, "b")]
    assert session.ask("again", id="a").ticket == 2  # the id is free again
    with pytest.raises(ValueError, match="'b' is still open"):
        session.ask("again", id="b")


def test_a_label_that_nobody_asked_for_is_a_row_of_any_model():
    seen = []
    model = AnyModel(
        lambda row: Judged("ham", margin=0.5, certainty=0.5),
        lambda row, label, ticket: seen.append((row, label, ticket)),
        lasec.selector.Selector(lasec.queries.Always(), seed=0),
    )
    wrong, right = model.learn("first", "spam"), model.learn("second", "ham")
    assert (wrong.correct, right.correct) == (False, True)
    assert model.ask("third", None).ticket == 2
    assert seen == [("first", "spam", 0), ("second", "ham", 1)]
    assert model.predict(["a", "b"]) == ["ham", "ham"]


def test_how_sure_a_model_of_another_library_is():
    """2 P(label) - 1 for the meter, the lead over the second class for the query."""
    from river.naive_bayes import GaussianNB as River
    from sklearn.naive_bayes import GaussianNB as Sklearn

    rows, names = X[:60], ["abc"[i % 3] for i in range(60)]
    sure, model = Sklearn().partial_fit(rows, names, classes=list("abc")), River()
    for row, name in zip(rows, names, strict=True):
        model.learn_one(dict(enumerate(row)), name)
    for row in rows[:5]:
        of_row = dict(enumerate(row))
        river = sorted(model.predict_proba_one(of_row).values())
        for judged, likely in (
            (around(sure).judge(row), sorted(sure.predict_proba([row])[0])),
            (around(model).judge(of_row), river),
        ):
            assert judged.certainty == pytest.approx(2.0 * likely[-1] - 1.0)
            assert judged.margin == pytest.approx(likely[-1] - likely[-2])
    assert around(River()).judge({0: 1.0}) == Judged(None, 0.0, -1.0)
    assert around(Sklearn(), classes="ab").judge([1.0]) == Judged(None, 0.0, -1.0)


def test_a_binary_classifier_of_river_is_not_given_names():
    from river import linear_model, multiclass, preprocessing

    single = linear_model.LogisticRegression()
    with pytest.raises(TypeError, match=r"'ham': River's LogisticRegression .*OneVsRest"):
        around(preprocessing.StandardScaler() | single, classes=["ham", "spam"])
    with pytest.raises(TypeError, match="label -1: River's LogisticRegression"):
        around(single).learn({0: 1.0}, -1)
    several = multiclass.OneVsRestClassifier(single)
    model = around(preprocessing.StandardScaler() | several, classes=["ham", "spam"])
    assert model.learn([1.0], "spam").y == "spam"


def test_a_rate_and_a_query_are_two_ways_to_say_one_thing():
    from river.naive_bayes import GaussianNB

    query = lasec.queries.Uniform(0.5)
    assert around(GaussianNB(), query=query).selector.query is query
    assert around(GaussianNB(), rate=0.2).selector.query.rate == 0.2
    with pytest.raises(ValueError, match="give one or the other"):
        around(GaussianNB(), rate=0.2, query=query)


def along(session, rows, labels):
    """Ask and tell the rows of an array, and return the accuracy of the second half."""
    right = []
    for number, (x, label) in enumerate(zip(rows, labels, strict=True)):
        decision = session.ask(x, id=number)
        right.append(decision.label == label)
        if decision.asked:
            session.tell(id=number, label=label)
    return np.mean(right[len(right) // 2 :])


def test_a_river_pipeline_takes_the_rows_of_an_array():
    """As the README's comment says; the same decisions as with dicts."""
    from river import linear_model, multiclass, preprocessing

    def made():
        each = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
        model = preprocessing.StandardScaler() | each
        return lasec.Session(around(model, rate=0.2, seed=4))

    signs = ["spam" if sign > 0 else "ham" for sign in y[:800]]
    arrays, lists, dicts = made(), made(), made()
    accuracy = along(arrays, X[:800], signs)
    assert accuracy == along(lists, X[:800].tolist(), signs)
    assert accuracy == along(dicts, [dict(enumerate(x.tolist())) for x in X[:800]], signs)
    assert accuracy > 0.65
    assert arrays.accuracy() == lists.accuracy() == dicts.accuracy()


def test_a_scikit_learn_pipeline_learns_step_by_step():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

    rows, labels = lasec.streams.stationary(1_000, dimension=8, seed=2)
    rows = 1_000.0 * rows + 5_000.0
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    pipeline = make_pipeline(StandardScaler(), Normalizer(), sgd)
    assert along(lasec.Session(around(pipeline, classes=[-1, 1], rate=0.2)), rows, labels) > 0.75
    assert pipeline[0].n_samples_seen_ > 150  # the scaler has learned as well

    fitted = PCA(8).fit(rows[:100])
    before = fitted.components_.copy()
    steps = (FunctionTransformer(), "passthrough", fitted, StandardScaler())
    pipeline = make_pipeline(*steps, SGDClassifier(random_state=0))
    assert along(lasec.Session(around(pipeline, classes=[-1, 1], rate=0.2)), rows, labels) > 0.75
    assert (fitted.components_ == before).all()


def test_without_probabilities_the_decision_function_says_how_certain_a_model_is():
    from sklearn.linear_model import Perceptron, SGDClassifier

    rows, labels = lasec.streams.stationary(2_000, dimension=8, noise=0.05, seed=2)
    for model in (SGDClassifier(random_state=0), Perceptron(random_state=0)):
        assert not hasattr(model, "predict_proba")
        session = lasec.Session(around(model, classes=[-1, 1], rate=0.2, seed=0))
        assert along(session, rows, labels) > 0.7
        estimate = session.accuracy()
        assert 0.15 < session.meter.asked / 2_000 < 0.25
        assert 0.0 < estimate.value < 1.0
    three = SGDClassifier(random_state=0).partial_fit(rows[:9], list("abc" * 3), list("abc"))
    scores = sorted(three.decision_function(rows[:1])[0])
    judged = around(three).judge(rows[0])
    assert judged.margin == pytest.approx((scores[-1] - scores[-2]) / 2.0)
    assert judged.certainty == pytest.approx(np.tanh(judged.margin))


def test_a_model_that_cannot_be_used_is_refused_with_the_remedy():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    class Silent:
        def partial_fit(self, X, y):
            return self

    with pytest.raises(TypeError, match=r"got LinearSVC: use SGDClassifier.*AnyModel"):
        around(LinearSVC())
    with pytest.raises(TypeError, match=r"Silent has neither predict_proba nor .*AnyModel"):
        around(Silent())
    with pytest.raises(TypeError, match="the step PCA has no partial_fit: fit it on some rows"):
        around(make_pipeline(PCA(2), SGDClassifier()))


def test_a_number_that_is_no_open_ticket_may_have_been_meant_as_an_id():
    session = lasec.Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
    session.ask([1.0], id="mail-1")
    for refused in (lambda: session.tell(77, "ham"), lambda: session.cancel(77)):
        with pytest.raises(TicketError) as error:
            refused()
        assert str(error.value) == (
            "ticket 77 was never given out: the next one is 1 (for the row with the id 77, give "
            "id=77)"
        )
    for refused in (lambda: session.tell(id=77, label="ham"), lambda: session.cancel(id=77)):
        with pytest.raises(TicketError, match=r"no open question about 77: .* asked for, has come"):
            refused()


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


def test_a_whole_number_as_an_id_is_never_a_ticket():
    session = lasec.Session(lasec.LASEC(dimension=1), classes=["ham", "spam"])
    for name in (1, 2, 0):  # of the tickets 0, 1 and 2
        session.ask([1.0], id=name)
    assert session.tell(id=0, label="ham").decision.ticket == 2
    assert session.tell(0, "ham").decision.ticket == 0
    with pytest.raises(lasec.TicketError, match="give id=2"):
        session.tell(2, "ham")
    session.cancel(id=2)
    assert not session.questions
    for wrong in ({}, {"question": 1, "id": 1}):
        with pytest.raises(TypeError, match="ticket of a question, or the id"):
            session.cancel(**wrong)
