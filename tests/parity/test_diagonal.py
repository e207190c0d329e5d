"""Diagonal LASEC and AROW for sparse rows: against dense twins, and in every form."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import lasec
from lasec.queries import MarginSampling
from lasec.rules import AROW, DiagonalAROW, DiagonalSecondOrder, SecondOrder
from lasec.rules.sparse_gaussian import ENTRIES
from lasec.sparse import PAIR, row
from reference import diagonal

COLUMNS = 400
KINDS = ("lasec", "arow")


def learner(kind, columns=COLUMNS, **options):
    """Diagonal LASEC or AROW with selective sampling, as both are registered."""
    if kind == "lasec":
        return lasec.DiagonalLASEC_SS(columns, drift=0.02, ridge=0.5, seed=3, **options)
    rule, query = DiagonalAROW(0.7), MarginSampling(0.1)
    return lasec.Learner(
        rule, query, dimension=columns, learn_from="labels", seed=3, name="DiagonalAROW", **options
    )


def twin(kind):
    if kind == "lasec":
        return diagonal.DiagonalLASEC(COLUMNS, b=0.5, c=50.0)
    return diagonal.DiagonalAROW(COLUMNS, r=0.7)


def stream(rows, seed, columns=COLUMNS):
    """Rows of about eight Zipf-distributed columns, some empty, whose concept changes once."""
    rng = np.random.default_rng(seed)
    law = 1.0 / np.arange(1.0, columns + 1.0)
    X, concepts = np.zeros((rows, columns)), rng.normal(size=(2, columns))
    for x in X:
        drawn = rng.choice(columns, rng.poisson(8), p=law / law.sum())
        x[drawn] = rng.normal(size=drawn.size)
    scores = np.where(np.arange(rows) < rows // 2, X @ concepts[0], X @ concepts[1])
    return X, np.where(scores + rng.normal(size=rows) >= 0.0, 1, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_lazy_equals_eager(kind):
    """Columns drift when they are next looked at: margins and probabilities of asking are equal."""
    X, y = stream(5_000, seed=1)
    made, eager = learner(kind), twin(kind)
    records = made.run(csr_array(X), y)
    margins = np.empty(len(y))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        margins[t] = eager.margin(x)
        if records.asked[t] and (kind == "arow" or (margins[t] >= 0.0) != (label > 0)):
            eager.update(x, label)
    np.testing.assert_allclose(records.margin, margins, rtol=0.0, atol=1e-12)
    chance = 0.1 / (0.1 + np.abs(margins))
    np.testing.assert_allclose(records.propensity, chance, rtol=0.0, atol=1e-12)
    weights, variances = known(made.state, *((0.02, 2.0) if kind == "lasec" else (0.0, 1.0)))
    np.testing.assert_allclose(weights, eager.w if kind == "lasec" else eager.mu, atol=1e-12)
    np.testing.assert_allclose(variances, eager.V, rtol=1e-12)
    assert made.updates > 300


def known(state, drift, prior):
    """The weights and variances of all columns, as they are after the last update."""
    n, steps = int(state.used[ENTRIES]), int(state.steps[0])
    columns, last = state.entries[:n].T
    weights, variances = np.zeros(COLUMNS), np.full(COLUMNS, prior + steps * drift)
    weights[columns] = state.weights[:n]
    variances[columns] = state.variances[:n] + (steps - last) * drift
    return weights, variances


@pytest.mark.parametrize(
    ("sparse", "full"),
    [(DiagonalSecondOrder(0.1, 0.5), SecondOrder(0.1, 0.5)), (DiagonalAROW(0.7), AROW(0.7))],
    ids=KINDS,
)
def test_rows_of_one_column_are_those_of_the_full_rule(sparse, full):
    rng = np.random.default_rng(2)
    one, other = sparse.init(6), full.init(6)
    for _ in range(300):
        x, y = np.zeros(6), rng.choice([-1.0, 1.0])
        x[rng.integers(6)] = rng.normal()
        pairs = row(x, 6, PAIR)
        np.testing.assert_allclose(sparse.margin(one, pairs), full.margin(other, x), rtol=1e-11)
        sparse.update(one, pairs, y, 0.0)
        full.update(other, x, y, 0.0)


def test_an_update_of_arow_minimizes_its_objective():
    """Over weights and logarithms of variances, by a minimizer that knows no closed form."""
    x, y, r = np.array([1.0, -0.5, 2.0]), -1.0, 0.7
    rule = DiagonalAROW(r)
    state = rule.init(3)
    rule.update(state, row([0.3, 1.0, 0.0], 3, PAIR), 1.0, 0.0)
    mu, V = np.append(state.weights[:2], 0.0), np.append(state.variances[:2], 1.0)
    rule.update(state, row(x, 3, PAIR), y, 0.0)

    def objective(z):
        m, v = z[:3], np.exp(z[3:])
        divergence = 0.5 * (v / V + (m - mu) ** 2 / V - np.log(v / V)).sum()
        return divergence + (max(0.0, 1.0 - y * (x @ m)) ** 2 + x**2 @ v) / (2.0 * r)

    best = minimize(objective, np.concatenate([mu, np.log(V)]), tol=1e-12).x
    np.testing.assert_allclose(state.weights[:3], best[:3], atol=1e-5)
    np.testing.assert_allclose(state.variances[:3], np.exp(best[3:]), atol=1e-5)


def same(one, other):
    for name, a, b in zip(one.state._fields, one.state, other.state, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("labels", [[-1, 1], ["ham", "spam", "eggs"]], ids=["two", "three"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_form_says_the_same(kind, labels):
    """Dense or sparse rows, a chunk or single rows, saved in between: bit by bit."""
    X, y = stream(300, seed=4)
    kinds = np.array(labels, dtype=object)
    y = kinds[(np.arange(300) % 5 == 0).astype(int) + (y > 0)] if len(labels) > 2 else y
    S = csr_array(X)
    whole, dense, single = (learner(kind) for _ in range(3))
    records, other = whole.run(S, y), dense.run(X, y)
    margins = np.empty(300)
    for i in range(300):
        if i == 150:
            single = lasec.Learner.from_bytes(single.to_bytes())
        decision = single.ask(S[[i]])
        margins[i] = decision.margin
        if decision.asked:
            single.tell(decision.ticket, y[i])
    same(whole, dense)
    same(whole, single)
    np.testing.assert_array_equal(records.margin, margins)
    np.testing.assert_array_equal(records.margin, other.margin)
    assert len(whole.state.weights.T) > 64  # it has grown
    assert set(whole.classes) == set(labels)


def test_memory_is_that_of_the_columns_in_updates():
    """Rows that are asked about, and never labeled, take no memory, at 2^24 columns."""
    made = learner("lasec", columns=2**24)
    rng = np.random.default_rng(5)
    at = np.sort(rng.choice(2**24, (500, 10)), axis=1).ravel()
    X = csr_array((np.ones(5_000), at, np.arange(0, 5_001, 10)), shape=(500, 2**24))
    made.ask_many(X)
    assert sum(array.nbytes for array in made.state) < 5_000
    made.tell(made.pending[0], -1)
    assert made.state.used[ENTRIES] == 10


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("table", 0, 10**6), ("entries", (0, 0), 77), ("entries", (0, 1), 10**6), ("used", 0, 10**6),
     ("variances", 0, 0.0), ("steps", 0, -1), ("used", 1, -1)],
)  # fmt: skip
def test_a_file_that_contradicts_itself_is_refused(name, place, value):
    X, y = stream(300, seed=4)
    made = learner("lasec")
    made.run(csr_array(X), y)
    getattr(made.state, name)[place] = value
    with pytest.raises(lasec.StateError, match="invalid"):
        made.to_bytes()


@pytest.mark.parametrize("name", ["diagonal-lasec-ss", "diagonal-arow-ss"])
def test_by_name_on_a_budget(name):
    X, y = stream(5_000, seed=1)
    made = lasec.make(name, COLUMNS, rate=0.2, seed=0)
    summary = lasec.evaluate(made, csr_array(X), y)
    assert 900 < summary.labels < 1_100
    assert summary.accuracy > 0.6
