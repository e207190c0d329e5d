"""Bad input: either right, or a clear error that names the argument and leaves no trace."""

import numpy as np
import pytest

import lasec

DIMENSION = 3
GOOD = np.array([1.0, -2.0, 0.5])


@pytest.fixture
def learner():
    made = lasec.LASEC_SS(DIMENSION, drift=0.05, caution=5.0, seed=1)
    made.run(*lasec.streams.switching(50, dimension=DIMENSION, every=25, seed=1))
    made.ask(GOOD, coin=0.0)
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
def test_bad_rows_are_refused_by_ask_and_tell_row(learner, row, error, words):
    refuses(learner, lambda: learner.ask(row), error, f"^x: .*{words}")
    refuses(learner, lambda: learner.tell_row(row, 1), error, f"^x: .*{words}")


@BAD
def test_a_bad_row_in_the_middle_undoes_the_chunk(learner, row, error, words):
    X, y = lasec.streams.switching(40, dimension=DIMENSION, every=10, seed=3)
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
        *((y, ValueError) for y in (0, 2, 0.5, np.nan, np.inf)),
        *((y, TypeError) for y in (True, np.True_, "1", None, [1])),
    ],
)
def test_bad_labels_are_refused(learner, y, error):
    ticket = learner.pending[-1]
    refuses(learner, lambda: learner.tell(ticket, y), error, "^y: ")
    refuses(learner, lambda: learner.tell_row(GOOD, y), error, "^y: ")
    refuses(learner, lambda: learner.run([GOOD, GOOD], [y, y]), (TypeError, ValueError), "^y: ")


@pytest.mark.parametrize(
    ("X", "y", "coins", "words"),
    [
        (GOOD, [1], None, "X: expected 2 axis"),
        ([[GOOD]], [1], None, "X: expected 2 axis"),
        ([GOOD], [1, 1], None, "y: expected 1 labels"),
        ([GOOD], [[1]], None, "y: expected 1 axis"),
        ([GOOD], [True], None, "y: labels must be -1 or \\+1, got booleans"),
        ([GOOD], [1], [0.5, 0.5], "draws: expected 1"),
        ([GOOD], [1], [1.0], "draws: must lie in"),
        ([GOOD], [1], [-0.1], "draws: must lie in"),
        ([GOOD], [1], [np.nan], "draws: contains NaN"),
        (np.empty((0, 2)), [], None, "X: expected 3 features"),
    ],
)
def test_bad_chunks_are_refused(learner, X, y, coins, words):
    refuses(learner, lambda: learner.run(X, y, coins=coins), (TypeError, ValueError), words)


def test_a_bad_coin_is_refused(learner):
    refuses(learner, lambda: learner.ask(GOOD, coin=1.0), ValueError, "^draws: must lie in")


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
        return lasec.LASEC_SS(DIMENSION, caution=1.0, seed=1)

    expected, chunk, loop = fresh(), fresh(), fresh()
    expected.run(WHOLE, Y)
    chunk.run(way, Y.tolist())
    for x, y in zip(way, Y, strict=True):
        decision = loop.ask(x)
        if decision.asked:
            loop.tell(decision.ticket, float(y))
    assert chunk.to_bytes() == expected.to_bytes() == loop.to_bytes()


def test_a_row_may_be_reused_by_its_owner():
    """What is remembered of an asked row is a copy."""
    learner, row = lasec.Perceptron(DIMENSION), GOOD.copy()
    decision = learner.ask(row)
    row[:] = 77.0
    learner.tell(decision.ticket, -1)
    np.testing.assert_array_equal(learner.state.weights, -GOOD)


def test_tiny_rows_do_no_harm():
    learner = lasec.Modified(DIMENSION)
    learner.tell_row(GOOD, -1)
    before = learner.state.weights.copy()
    for size in (0.0, 5e-324, 1e-200, 1e-150):
        learner.tell_row([-size, 0.0, 0.0], -1)
    assert np.linalg.norm(learner.state.weights) == pytest.approx(np.linalg.norm(before))


@pytest.mark.parametrize("size", [1e-60, 1e5, 1e59])
def test_extreme_but_allowed_rows_keep_first_order_models_finite(size):
    for build in (lasec.Perceptron, lasec.Shifting, lasec.Modified, lasec.RBP):
        learner = build(DIMENSION)
        learner.run(X * size, Y)
        assert np.isfinite(learner.state.weights).all()
        lasec.Learner.from_bytes(learner.to_bytes())
