"""Bad input: either right, or a clear error that names the argument and leaves no trace."""

import copy
import signal

import numpy as np
import pytest

import lasec
from lasec import validation

DIMENSION = 3
GOOD = np.array([1.0, -2.0, 0.5])


@pytest.fixture
def learner():
    made = lasec.SOP_SS(DIMENSION, aggressiveness=5.0, seed=1)
    made.run(*lasec.streams.switching(50, dimension=DIMENSION, every=25, seed=1))
    made.ask(GOOD, draw=0.0)
    return made


BAD_ROWS = {
    "nan": ([1.0, np.nan, 0.0], ValueError, "contains NaN or infinity"),
    "inf": ([1.0, np.inf, 0.0], ValueError, "contains NaN or infinity"),
    "beyond": ([1.0, 1e80, 0.0], ValueError, "beyond 1e\\+60"),
    "too large for the model": ([1e9, 0.0, 0.0], ValueError, "too large for this model"),
    "too short": ([1.0, 2.0], ValueError, "expected 3 features, got 2"),
    "too long": ([1.0] * 4, ValueError, "expected 3 features, got 4"),
    "text": (["a", "b", "c"], TypeError, "expected real numbers"),
    "complex": ([1j, 0, 0], TypeError, "expected real numbers"),
    "objects": (np.array([1, None, 2], dtype=object), TypeError, "expected real numbers"),
    "masked": (np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]), TypeError, "masked arrays"),
    "ragged": ([[1.0], [1.0, 2.0]], ValueError, "not a rectangular array"),
    "overflowing long double": (
        np.array([np.longdouble("1e400"), 0, 0]), ValueError, "contains NaN or infinity",
    ),
}  # fmt: skip
BAD = pytest.mark.parametrize(("row", "error", "words"), BAD_ROWS.values(), ids=BAD_ROWS.keys())


def refuses(learner, call, error, words):
    before = learner.to_bytes()
    with pytest.raises(error, match=words):
        call()
    assert learner.to_bytes() == before


@BAD
def test_bad_rows_are_refused_by_ask_and_learn(learner, row, error, words):
    refuses(learner, lambda: learner.ask(row), error, f"^x: .*{words}")
    refuses(learner, lambda: learner.learn(row, 1), error, f"^x: .*{words}")


@BAD
def test_a_bad_row_in_the_middle_undoes_the_chunk(learner, row, error, words):
    X, y = lasec.streams.switching(40, dimension=DIMENSION, every=10, seed=3)
    if isinstance(row, np.ma.MaskedArray):
        chunk = np.ma.vstack([X, row, X])
    else:
        chunk = [*X.tolist(), list(row), *X.tolist()]
    if len(row) != DIMENSION:
        error, words = ValueError, "not a rectangular array"
    refuses(learner, lambda: learner.run(chunk, [*y, 1, *y]), error, f"^X: .*{words}")


def test_a_row_in_the_middle_is_named(learner):
    X, y = lasec.streams.switching(40, dimension=DIMENSION, every=10, seed=3)
    X[17] = 1e9
    refuses(learner, lambda: learner.run(X, y), ValueError, "^X: row 17: too large")


@pytest.mark.parametrize(
    ("y", "error"),
    [
        *((y, ValueError) for y in (None, np.nan, np.inf, 2**63)),
        *((y, TypeError) for y in ([1], (1,), 1j, b"1")),
    ],
)
def test_bad_labels_are_refused(learner, y, error):
    ticket = learner.pending[-1]
    refuses(learner, lambda: learner.tell(ticket, y), error, "^y: ")
    refuses(learner, lambda: learner.learn(GOOD, y), error, "^y: ")
    if not validation.is_missing(y):  # rows of a chunk may have no label
        refuses(learner, lambda: learner.run([GOOD, GOOD], [y, y]), (TypeError, ValueError), "^y: ")


@pytest.mark.parametrize(
    ("X", "y", "draws", "words"),
    [
        (GOOD, [1], None, "X: expected 2 axis"),
        ([[GOOD]], [1], None, "X: expected 2 axis"),
        ([GOOD], [1, 1], None, "y: expected 1 labels"),
        ([GOOD], [[1]], None, "y: a label must be text or a number"),
        ([GOOD, GOOD], [[1], [1, 1]], None, "y: a label must be text or a number"),
        ([GOOD], np.ones((1, 1)), None, "y: expected 1 labels"),
        ([GOOD], [1], [0.5, 0.5], "draws: expected 1"),
        ([GOOD], [1], [1.0], "draws: must lie in"),
        ([GOOD], [1], [-0.1], "draws: must lie in"),
        ([GOOD], [1], [np.nan], "draws: contains NaN"),
        (np.empty((0, 2)), [], None, "X: expected 3 features"),
    ],
)
def test_bad_chunks_are_refused(learner, X, y, draws, words):
    refuses(learner, lambda: learner.run(X, y, draws=draws), (TypeError, ValueError), words)


def test_a_bad_coin_is_refused(learner):
    refuses(learner, lambda: learner.ask(GOOD, draw=1.0), ValueError, "^draw: must lie in")


@pytest.mark.parametrize("ticket", ["0", None, 1.0, True, np.True_])
def test_a_ticket_is_a_whole_number(learner, ticket):
    refuses(learner, lambda: learner.tell(ticket, 1), TypeError, "^ticket: ")


X, Y = lasec.streams.switching(60, dimension=DIMENSION, every=20, seed=6)
WHOLE = np.rint(X * 3)
WAYS = {
    "float32": WHOLE.astype(np.float32),
    "float16": WHOLE.astype(np.float16),
    "int8": WHOLE.astype(np.int8),
    "int64": WHOLE.astype(np.int64),
    "long double": WHOLE.astype(np.longdouble),
    "big-endian": WHOLE.astype(">f8"),
    "lists": WHOLE.tolist(),
    "Fortran order": np.asfortranarray(WHOLE),
    "every second column": np.repeat(WHOLE, 2, axis=1)[:, ::2],
    "backwards twice": WHOLE[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": np.frombuffer(WHOLE.tobytes()).reshape(WHOLE.shape),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_the_same_numbers_in_another_dress_do_the_same(way):
    def fresh():
        return lasec.LASEC_SS(DIMENSION, aggressiveness=1.0, seed=1)

    expected, chunk, loop = fresh(), fresh(), fresh()
    expected.run(WHOLE, Y)
    chunk.run(way, Y.tolist())
    for x, y in zip(way, Y, strict=True):
        decision = loop.ask(x)
        if decision.asked:
            loop.tell(decision.ticket, float(y))
    assert chunk.to_bytes() == expected.to_bytes()
    assert chunk.asked == loop.asked
    for ours, theirs in zip(chunk.state, loop.state, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_a_row_may_be_reused_by_its_owner():
    """What is remembered of an asked row is a copy."""
    learner, row = lasec.Perceptron(DIMENSION), GOOD.copy()
    decision = learner.ask(row)
    row[:] = 77.0
    learner.tell(decision.ticket, -1)
    np.testing.assert_array_equal(learner.state.weights, -GOOD)


def test_tiny_rows_do_no_harm():
    learner = lasec.Modified(DIMENSION)
    learner.learn(GOOD, -1)
    before = learner.state.weights.copy()
    for size in (0.0, 5e-324, 1e-200, 1e-150):
        learner.learn([-size, 0.0, 0.0], -1)
    assert np.linalg.norm(learner.state.weights) == pytest.approx(np.linalg.norm(before))


@pytest.mark.parametrize("size", [1e-60, 1e5, 1e59])
def test_extreme_but_allowed_rows_keep_first_order_models_finite(size):
    for build in (lasec.Perceptron, lasec.Shifting, lasec.Modified, lasec.RBP):
        learner = build(DIMENSION)
        learner.run(X * size, Y)
        assert np.isfinite(learner.state.weights).all()
        lasec.Learner.from_bytes(learner.to_bytes())


def indefinite(learner):
    return np.linalg.eigvalsh(learner.state.cov)[0] <= 0.0


@pytest.mark.parametrize("build", [lasec.SOP, lasec.BBQ])
def test_strain_adds_up_without_losing_positive_definiteness(build):
    """Rows in one direction, each ten times longer: accepted while C stays whole, then refused."""
    learner = build(5)
    direction = np.random.default_rng(3).standard_normal(5)
    direction /= np.linalg.norm(direction)
    refusals = 0
    for size in 10.0 ** np.arange(0, 12):
        try:
            learner.learn(direction * size, 1 if learner.updates % 2 else -1)
            learner.learn(-direction * size, 1 if learner.updates % 2 else -1)
        except ValueError as error:
            assert "too large for this model" in str(error)
            refusals += 1
        assert not indefinite(learner)
    assert refusals >= 4
    lasec.Learner.from_bytes(learner.to_bytes())


@pytest.mark.parametrize("noise", [1e-30, 1e-16, 1e-6, 1.0, 1e30])
@pytest.mark.parametrize("ridge", [1e-30, 1e-12, 1.0, 1e12, 1e30])
def test_parameters_at_the_ends_of_their_ranges(noise, ridge):
    """Every row is learned or refused; what is learned leaves a model that can be saved."""
    stream = lasec.streams.switching(200, dimension=4, every=50, seed=1)
    rules = (
        lasec.rules.AROW(noise),
        lasec.rules.Ridge(ridge),
        lasec.rules.SecondOrder(0.0, ridge),
        lasec.rules.SecondOrder(max(0.5 / ridge, 1e-30) if ridge < 1e30 else 0.0, ridge),
    )
    for rule in rules:
        learner = lasec.Learner(rule, dimension=4, learn_from="labels")
        for x, y in zip(*stream, strict=True):
            try:
                learner.learn(x, y)
            except ValueError as error:
                assert "too large for this model" in str(error)
        assert not indefinite(learner)
        lasec.Learner.from_bytes(learner.to_bytes())


def test_a_late_label_that_can_no_longer_be_carried_is_refused_without_a_trace():
    """The model has been widened by hand since the row was asked about."""
    learner = lasec.SOP(2)
    decision = learner.ask([0.0, 9e5])
    learner.state.cov[...] *= 10.0
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="the row of ticket 0: too large for this model"):
        learner.tell(decision.ticket, -1)
    assert learner.to_bytes() == before
    assert not learner.tell(decision.ticket, 1).updated


def test_a_third_class_that_is_refused_leaves_no_trace():
    learner = lasec.SOP(2)
    learner.learn([1.0, 0.0], "ham")
    learner.learn([0.0, 1.0], "spam")
    decision = learner.ask([0.0, 9e5])
    learner.state.cov[...] *= 10.0
    before, rule = learner.to_bytes(), learner.rule
    with pytest.raises(ValueError, match="the row of ticket 2: too large for this model"):
        learner.tell(decision.ticket, "eggs")
    assert learner.to_bytes() == before
    assert learner.rule == rule
    assert learner.classes == ("ham", "spam")


def test_an_interrupted_run_is_undone():
    """A signal that raises in the middle of a chunk, as Ctrl-C does."""

    class Stop(BaseException):
        pass

    def stop(*_):
        raise Stop

    learner = lasec.LASEC(50)
    X, y = lasec.streams.switching(200_000, dimension=50, every=500, seed=1)
    learner.run(X[:10], y[:10])
    before = learner.to_bytes()
    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    try:
        with pytest.raises(Stop):
            learner.run(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert learner.to_bytes() == before


def test_one_source_for_seed_and_policy():
    """Changed by hand, they change ask, run and the file alike; a copy shares nothing."""
    looped, chunked = (
        lasec.LASEC_SS(DIMENSION, aggressiveness=0.2),
        lasec.LASEC_SS(DIMENSION, aggressiveness=0.2),
    )
    for learner in (looped, chunked):
        learner.seed, learner.learn_from = 5, "labels"
    twin = copy.copy(chunked)
    chunked.run(X, Y)
    for x, y in zip(X, Y, strict=True):
        decision = looped.ask(x)
        if decision.asked:
            looped.tell(decision.ticket, y)
    assert (looped.asked, looped.updates) == (chunked.asked, chunked.updates)
    for ours, theirs in zip(looped.state, chunked.state, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    assert lasec.Learner.from_bytes(looped.to_bytes()).learn_from == "labels"
    assert twin.rows == 0
    assert not twin.state.weights.any()


def test_records_join_only_what_belongs_together():
    learner = lasec.Perceptron(DIMENSION)
    first, second = learner.run(X[:5], Y[:5]), learner.run(X[5:9], Y[5:9])
    learner.learn(X[9], 1)
    third = learner.run(X[10:12], Y[10:12])
    assert len(lasec.Records.join([first, second])) == 9
    for parts in ([second, first], [second, third], []):
        with pytest.raises(ValueError, match=r"^parts: "):
            lasec.Records.join(parts)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lasec.uniforms(1, -1, 2), "first must be"),
        (lambda: lasec.uniforms(1, 0.5, 2), "first must be"),
        (lambda: lasec.uniforms(1, 0, -2), "count must be"),
        (lambda: lasec.streams.switching(10, every=0), "every must be"),
        (lambda: lasec.streams.shifting_classes([[1.0], [2.0]], [0, 1], every=0), "every must be"),
    ],
)
def test_counts_are_checked(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_no_rounding_error_outlives_the_budget():
    """A giant row passes through the support; once it has left, nothing of it remains."""
    rng = np.random.default_rng(1)
    learner = lasec.Learner(lasec.rules.BudgetPerceptron(4), dimension=2, learn_from="labels")
    learner.learn([1e20, 0.0], 1)
    while (np.abs(learner.state.rows) > 1e19).any() or learner.updates % 4:
        learner.learn(rng.standard_normal(2), 1)
    exact = learner.state.labels @ learner.state.rows
    np.testing.assert_allclose(learner.state.weights, exact, rtol=1e-12)
