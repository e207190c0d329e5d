"""The sparse Tracker against its equations, and its forms against each other."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

import lasec
from lasec.nested import leaves, named
from lasec.queries import Always
from lasec.rules import SparseTracking
from lasec.rules.tracker.columns import COLUMN, ENTRIES, PLACE, PLACES, is_table, table_of
from lasec.rules.tracker.costs import weight_of
from reference.sparse_tracker import SparseTracker

COLUMNS = 80


def texts(rows, seed, columns=COLUMNS, every=400, noise=0.03, words=12):
    """Rows of Zipf-distributed words, one in seven empty or long, under a concept that switches."""
    rng = np.random.default_rng(seed)
    law = 1.0 / np.arange(1, columns + 1)
    X, y = np.zeros((rows, columns)), np.empty(rows)
    for t in range(rows):
        if t % every == 0:
            concept = rng.normal(size=columns)
        mean = words if t % 7 else (0, 4 * words)[t % 2]
        drawn = rng.choice(columns, rng.poisson(mean), p=law / law.sum())
        np.add.at(X[t], drawn, np.where(drawn % 3, 1.0, -1.0))
        y[t] = 1.0 if X[t] @ concept + 0.1 >= 0.0 else -1.0
    y[rng.random(rows) < noise] *= -1.0
    return X, y


def eager(X, y, asked):
    """Margins of the twin that learns the same labels."""
    twin, margins = SparseTracker(X.shape[1]), np.empty(len(y))
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        margins[t - 1] = twin.margin(x, t)
        twin.see(x)
        if asked[t - 1]:
            twin.update(x, label, t)
    return twin, margins


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_lazy_equals_eager(rate):
    """Nothing drifts until it is touched, and births write nothing: the margins are the same."""
    X, y = texts(2_500, seed=1)
    tracker = lasec.Tracker(rate=rate, seed=3)
    records = tracker.run(csr_array(X), y)
    twin, margins = eager(X, y, records.asked)
    np.testing.assert_allclose(records.margin, margins, rtol=0.0, atol=1e-12)
    posterior = twin.pi.reshape(tracker.state.posterior.shape)
    np.testing.assert_allclose(tracker.state.posterior, posterior, rtol=0.0, atol=1e-12)
    assert np.count_nonzero(tracker.state.words.begun) >= 2  # slots were born, and born again


def places(state, columns):
    """The place of each column, of which all have one."""
    entries = state.columns.entries[: state.columns.used[ENTRIES]]
    return entries[np.argsort(entries[:, COLUMN]), PLACE][columns]


def test_weights_are_those_of_the_twin():
    X, y = texts(600, seed=2)
    tracker = lasec.Tracker(rate=1.0, seed=3)
    records = tracker.run(csr_array(X), y)
    twin, _ = eager(X, y, records.asked)
    state, now = tracker.state, int(tracker.state.mixture.clock[0])
    words = state.words
    at = places(state, np.arange(COLUMNS))
    for b, lineage in enumerate(twin.lineages):
        for k, one in enumerate(lineage or []):
            if state.mixture.weight[5 * b + k] == 0.0:
                continue
            f = (1.0 - one.drift) ** (now - words.touched[at, 0])
            known = words.touched[at, 1] > words.begun[b]
            w = np.where(known, np.sqrt(f) * words.weights[at, 5 * b + k, 0], 0.0)
            D = np.where(known, f * words.spread[at, 5 * b + k] + (1.0 - f) * one.S, one.S)
            np.testing.assert_allclose(w, one.w[:COLUMNS], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(D, one.D[:COLUMNS], rtol=1e-10)


def same(one, other):
    for name, a, b in zip(named(one.state), leaves(one.state), leaves(other.state), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("labels", [[-1, 1], ["ham", "spam", "eggs"]], ids=["two", "three"])
def test_every_form_says_the_same(labels):
    """Dense or sparse rows, a chunk, pieces or single rows: bit by bit."""
    X, y = texts(500, seed=4)
    kinds = np.array(labels, dtype=object)
    y = kinds[(np.arange(500) % 5 == 0).astype(int) + (y > 0)] if len(labels) > 2 else y.astype(int)
    S = csr_array(X)
    made = [lasec.Tracker(rule=SparseTracking(), rate=0.3, seed=5) for _ in range(4)]
    whole, dense, pieces, single = made
    records = whole.run(S, y)
    other = dense.run(X, y)
    cut = [pieces.run(S[a:b], y[a:b]) for a, b in ((0, 1), (1, 180), (180, 500))]
    decisions = []
    for i in range(500):
        decision = single.ask(coo_array(S[[i]]))
        decisions.append(decision)
        if decision.asked:
            single.tell(decision.ticket, y[i])
    for twin in (dense, pieces, single):
        same(whole, twin)
    np.testing.assert_array_equal(records.margin, other.margin)
    np.testing.assert_array_equal(records.margin, np.concatenate([part.margin for part in cut]))
    np.testing.assert_array_equal(records.margin, [decision.margin for decision in decisions])
    np.testing.assert_array_equal(records.propensity, [d.propensity for d in decisions])
    np.testing.assert_array_equal(whole.predict_proba(S[:9]), dense.predict_proba(X[:9]))
    assert whole.classes == tuple(labels)


def test_asking_ahead_equals_asking_one_by_one():
    S, y = csr_matrix(texts(300, seed=6)[0]), texts(300, seed=6)[1]
    one, many = (lasec.Tracker(rate=0.3, seed=5) for _ in range(2))
    single = [one.ask(S[i]) for i in range(300)]
    chunk = many.ask_many(S)
    same(one, many)
    assert [d.margin for d in single] == chunk.margin.tolist()
    for ticket in np.flatnonzero(chunk.asked)[::-1].tolist():
        one.tell(ticket, y[ticket])
        many.tell(ticket, y[ticket])
    same(one, many)
    assert one.told == chunk.labels > 50


def test_asking_changes_no_margin():
    S, y = csr_array(texts(300, seed=7)[0]), texts(300, seed=7)[1]
    tracker = lasec.Tracker(rate=0.3, seed=5)
    tracker.run(S[:150], y[:150])
    before = tracker.margins(S, first=200)
    tracker.ask_many(S[150:])
    np.testing.assert_array_equal(tracker.margins(S, first=200), before)
    tracker.tell(tracker.pending[0], -1)
    assert (tracker.margins(S, first=200) != before).any()


def test_what_is_saved_goes_on_the_same():
    S, y = csr_array(texts(400, seed=8)[0]), texts(400, seed=8)[1]
    tracker = lasec.Tracker(rate=0.4, seed=5)
    tracker.run(S[:200], y[:200])
    tickets = [d for d in tracker.ask_many(S[200:260]).ticket.tolist() if tracker.is_open(d)]
    loaded = lasec.Tracker.from_bytes(tracker.to_bytes())
    assert loaded.pending == tuple(tickets)
    for learner in (tracker, loaded):
        for ticket in tickets:
            learner.tell(ticket, y[ticket])
        learner.run(S[260:], y[260:])
    same(tracker, loaded)
    assert loaded.to_bytes() == tracker.to_bytes()
    with pytest.raises(TypeError, match="dense rows"):
        lasec.Tracker(rate=0.4, dimension=COLUMNS).run(S, y)


def test_an_open_question_and_the_file_stay_sparse():
    """At 2^24 columns, where one dense row would take 128 MB."""
    tracker = lasec.Tracker(rate=1.0, seed=0, rule=SparseTracking(slots=2))
    row = csr_array(([1.0, 2.0], ([0, 0], [5, 2**24 - 1])), shape=(1, 2**24))
    decision = tracker.ask(row)
    written = tracker.to_bytes()
    assert len(written) < 100_000
    loaded = lasec.Learner.from_bytes(written)
    loaded.tell(decision.ticket, -1)
    tracker.tell(decision.ticket, -1)
    same(tracker, loaded)
    assert loaded.predict(row).tolist() == [-1]


def test_the_state_grows_with_the_columns_that_occur():
    S, y = csr_array(texts(800, seed=9, columns=3_000)[0]), texts(800, seed=9, columns=3_000)[1]
    tracker, sizes = lasec.Tracker(rate=0.1, seed=5), []
    for at in range(0, 800, 200):
        tracker.run(S[at : at + 200], y[at : at + 200])
        state, occurred = tracker.state, np.unique(S[: at + 200].indices).size
        used, entries = state.columns.used, state.columns.entries
        assert used[ENTRIES] == occurred
        assert 3 < used[PLACES] < occurred
        assert occurred <= len(entries) < 4 * (occurred + S.shape[1] // 10)
        sizes.append(sum(array.nbytes for array in leaves(state)))
    assert sizes[0] < sizes[-1] < 0.5 * 3_000 * 30 * 16  # of all columns from the start


def test_growth_changes_nothing():
    S, y = csr_array(texts(400, seed=10)[0]), texts(400, seed=10)[1]
    small, large = (
        lasec.Tracker(S.shape[1], rate=0.3, seed=5, rule=SparseTracking()) for _ in "ab"
    )
    state, rule = large.state, large.rule
    state.columns.used[2] = 4_000
    state = rule.renewed(state)
    state.columns.used[2] = 0
    large.state = state
    np.testing.assert_array_equal(small.run(S, y).margin, large.run(S, y).margin)
    assert len(large.state.columns.entries) > len(small.state.columns.entries) > 64
    n = small.state.columns.used[PLACES]
    np.testing.assert_array_equal(small.state.words.weights[:n], large.state.words.weights[:n])


def test_a_table_finds_every_column_and_nothing_else():
    rng = np.random.default_rng(0)
    columns = rng.choice(2**31, 500, replace=False)
    table = table_of(columns, 1_024)
    assert is_table(table, columns)
    broken = table.copy()
    a, b = np.flatnonzero(table >= 0)[:2]
    broken[[a, b]] = table[[b, a]]
    assert not is_table(np.roll(table, 1), columns)
    assert not is_table(broken, columns[::-1])


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("columns.table", 0, 10**6), ("columns.entries", (0, PLACE), 10**6),
     ("columns.used", PLACES, 10**6), ("columns.entries", (0, COLUMN), 77),
     ("words.spread", (0, 0), -1.0), ("words.labels", 0, -1), ("columns.entries", (0, 1), 10**6),
     ("words.touched", (0, 1), 10**6), ("mixture.posterior", (0, 0, 0), 2.0)],
)  # fmt: skip
def test_a_file_that_contradicts_itself_is_refused(name, place, value):
    S, y = csr_array(texts(100, seed=11)[0]), texts(100, seed=11)[1]
    tracker = lasec.Tracker(rate=0.3, seed=5)
    tracker.run(S, y)
    broken = copy.copy(tracker)
    named(broken.state)[name][place] = value
    with pytest.raises(lasec.StateError, match="invalid"):
        broken.to_bytes()


def test_class_weights_and_new_classes():
    X, _ = texts(600, seed=12)
    S, rare = csr_array(X), np.where(X[:, 1] > 2.0, "spam", "ham")
    plain, balanced = (
        lasec.Tracker(rate=0.2, seed=0, class_weight=weights, classes=["ham", "spam"])
        for weights in (None, "balanced")
    )
    found = [(t.run(S, rare).label[rare == "spam"] == "spam").mean() for t in (plain, balanced)]
    assert found[1] > found[0]
    before = plain.predict_proba(S[:50])
    plain.name_classes(["ham", "spam", "eggs"])
    after = plain.predict_proba(S[:50])
    assert after.shape == (50, 3)
    np.testing.assert_allclose(after.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(after[:, :2], before, atol=0.03)  # a logistic for Phi


def test_rows_that_cannot_be_used_are_refused_and_change_nothing():
    tracker = lasec.Tracker(rate=1.0, seed=0)
    good = csr_array(np.eye(3)[:1])
    tracker.ask(good)
    before = tracker.to_bytes()
    for bad in (csr_array([[np.nan, 1.0, 0.0]]), csr_array(np.eye(4)[:1]), csr_array(np.eye(3))):
        with pytest.raises(ValueError, match=r"x: (contains NaN|expected)"):
            tracker.ask(bad)
    with pytest.raises(TypeError, match="real numbers"):
        tracker.ask(csr_array(np.eye(3)[:1] * 1j))
    assert tracker.to_bytes() == before


def test_a_first_row_that_is_refused_decides_nothing():
    tracker = lasec.Tracker(rate=1.0, seed=0, class_weight={"spam": 5.0}, classes=["ham", "spam"])
    with pytest.raises(ValueError, match="NaN"):
        tracker.ask(csr_array([[np.nan, 1.0]]))
    tracker.name_classes(["ham", "spam", "eggs"])
    assert tracker.ask([1.0, 0.0]).ticket == 0  # dense after all
    assert type(tracker.rule).__name__ == "Tracking"
    assert [weight_of(tracker.rule, tracker.state.costs, c) for c in range(3)] == [1.0, 5.0, 1.0]


def test_copies_pickles_and_wider_rows_go_on_the_same():
    S, y = csr_array(texts(300, seed=14)[0]), texts(300, seed=14)[1]
    tracker = lasec.Tracker(rate=0.3, seed=5)
    tracker.run(S[:150], y[:150])
    twins = [copy.copy(tracker), copy.deepcopy(tracker), pickle.loads(pickle.dumps(tracker))]
    wider = copy.copy(tracker)
    wider.widen(2 * COLUMNS)
    records = tracker.run(S[150:], y[150:])
    for twin in twins:
        np.testing.assert_array_equal(twin.run(S[150:], y[150:]).margin, records.margin)
        same(tracker, twin)
    wide = csr_array((S.data, S.indices, S.indptr), shape=(300, 2 * COLUMNS))
    np.testing.assert_array_equal(wider.run(wide[150:], y[150:]).margin, records.margin)


def test_an_empty_row_and_explicit_zeros():
    tracker = lasec.Learner(SparseTracking(), Always(), dimension=4, learn_from="labels")
    X = csr_array(([1.0, 0.0, 2.0], [1, 2, 3], [0, 2, 2, 3]), shape=(3, 4))
    records = tracker.run(X, [1, -1, 1])
    assert np.isfinite(records.margin).all()
    assert tracker.state.columns.used[ENTRIES] == 2  # a stored zero is no word


def test_a_session_takes_sparse_rows():
    S, y = csr_array(texts(60, seed=13)[0]), texts(60, seed=13)[1]
    session = lasec.Session(lasec.Tracker(rate=0.5, seed=0), classes=["ham", "spam"])
    for i in range(60):
        decision = session.ask(S[[i]], id=i)
        if decision.asked:
            session.tell(i, "spam" if y[i] > 0 else "ham")
    assert session.accuracy().labels > 10
