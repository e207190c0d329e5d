"""LASEC with a Mercer kernel: against its dual form, its primal form, and explicit features."""

import math
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import lasec
from catalogue import build
from fleets import simulate
from lasec.mercer import RBF, Linear, Polynomial
from lasec.rules import KernelSecondOrder, SecondOrder
from lasec.rules.kernel_second_order import filled
from reference.protocol import coin, play
from reference.second_order import DualLASEC

ROUNDS, DIMENSION, SETTINGS = 2_000, 20, [(0.01, 0.5), (0.05, 5.0), (0.0, 1.0)]
EVERY = pytest.mark.parametrize(("drift", "ridge"), SETTINGS)
SUPERVISED = math.inf


@pytest.fixture(scope="module")
def stream():
    return lasec.streams.switching(ROUNDS, dimension=DIMENSION, every=400, seed=3)


def circles(rounds, seed):
    """Two noisy circles that cross each other: rows of which many are nearly dependent."""
    rng = np.random.default_rng(seed)
    y, angle = rng.choice([-1, 1], rounds), rng.uniform(0.0, 2.0 * np.pi, rounds)
    X = np.column_stack([np.cos(angle) + 0.5 * y, np.sin(angle)])
    return X + 0.1 * rng.standard_normal(X.shape), y


def same(ours, theirs, tolerance=1e-9):
    for column in ("label", "asked", "updated"):
        np.testing.assert_array_equal(getattr(ours, column), getattr(theirs, column))
    for column in ("margin", "propensity"):
        np.testing.assert_allclose(
            getattr(ours, column), getattr(theirs, column), rtol=tolerance, atol=tolerance
        )
    assert 40 < ours.updated.sum() < ours.updated.size / 2


def gram(kernel, rows):
    return np.array([[kernel.product(x, z) for z in rows] for x in rows])


@EVERY
@pytest.mark.parametrize("aggressiveness", [SUPERVISED, 0.1])
@pytest.mark.parametrize("budget", [ROUNDS, 60], ids=["unreached", "reached"])
def test_a_linear_kernel_is_the_primal_form(stream, drift, ridge, aggressiveness, budget):
    """Beyond the budget too: each row that leaves lies in the span of those that stay."""
    options = {"drift": drift, "ridge": ridge, "aggressiveness": aggressiveness}
    dual = lasec.KernelLASEC_SS(DIMENSION, kernel=Linear(), budget=budget, **options)
    ours = dual.run(*stream)
    tolerance = 1e-9 if budget == ROUNDS else 1e-8
    same(ours, lasec.LASEC_SS(DIMENSION, **options).run(*stream), tolerance)
    assert dual.state.size[0] == min(budget, dual.updates)
    assert dual.updates > 100


@EVERY
@pytest.mark.parametrize(
    ("kernel", "low"),
    [(RBF(4.0), False), (RBF(1.0), True), (RBF(0.3), True), (Polynomial(2, 1.0), False),
     (Polynomial(3, 0.5), True)],
    ids=repr,
)  # fmt: skip
def test_equals_the_dual_form(stream, kernel, low, drift, ridge):
    """With rows in few dimensions as well, where the Gram matrix is all but singular."""
    X, y = circles(1_000, 1) if low else (stream.X[:1_000], stream.y[:1_000])
    learner = lasec.KernelLASEC_SS(
        X.shape[1], kernel=kernel, drift=drift, ridge=ridge, aggressiveness=0.1, budget=1_000
    )
    coins = lasec.uniforms(learner.seed, 0, len(X))[:, 0]
    dual = DualLASEC(ridge, 1.0 / drift if drift else math.inf, kernel.product)
    same(learner.run(X, y), play(dual, coin(0.1), X, y, coins, coins))


@EVERY
def test_a_polynomial_kernel_is_the_primal_form_on_its_features(drift, ridge):
    """(x'z + 1)^2 has the features 1, sqrt(2) x_i, x_i^2 and sqrt(2) x_i x_j."""
    X, y = circles(ROUNDS, 2)
    one, two = X.T
    root = math.sqrt(2.0)
    features = np.column_stack(
        [np.ones(ROUNDS), root * one, root * two, one**2, two**2, root * one * two]
    )
    options = {"drift": drift, "ridge": ridge, "aggressiveness": 0.1}
    ours = lasec.KernelLASEC_SS(2, kernel=Polynomial(2, 1.0), budget=60, **options).run(X, y)
    same(ours, lasec.LASEC_SS(6, **options).run(features, y))


def test_without_drift_it_is_the_kernel_second_order_perceptron():
    """w = Phi (b I + K)^-1 y over the missed rows, which needs no recursion at all."""
    X, y = circles(300, 3)
    kernel, ridge = RBF(0.5), 2.0
    learner = lasec.KernelLASEC(2, kernel=kernel, drift=0.0, ridge=ridge)
    records = learner.run(X, y)
    K, seen = gram(kernel, X), np.flatnonzero(records.updated)
    assert seen.size > 20
    for t in range(1, 300):
        past = seen[seen < t]
        inverse = np.linalg.inv(ridge * np.eye(past.size) + K[np.ix_(past, past)])
        k = K[past, t]
        m, q = k @ inverse @ y[past], (K[t, t] - k @ inverse @ k) / ridge
        assert records.margin[t] == pytest.approx(m / (1.0 + q), abs=1e-9)
        assert records.variance[t] == pytest.approx(q, abs=1e-9)


@pytest.mark.parametrize("kernel", [RBF(0.4), Polynomial(3, 1.0)], ids=repr)
def test_a_budget_never_reached_changes_nothing(kernel):
    X, y = circles(600, 4)
    learners = [lasec.KernelLASEC(2, kernel=kernel, budget=budget) for budget in (150, 151, 700)]
    one, two, three = (learner.run(X, y) for learner in learners)
    assert learners[0].updates <= 150
    for other in (two, three):
        np.testing.assert_array_equal(one.margin, other.margin)
        np.testing.assert_array_equal(one.variance, other.variance)


@pytest.mark.parametrize("drift", [0.0, 0.02])
@pytest.mark.parametrize("kernel", [RBF(0.4), RBF(10.0), Polynomial(3, 1.0)], ids=repr)
def test_beyond_the_budget_nothing_breaks(kernel, drift):
    """The covariance stays positive definite, and the factor that of the rows that are left."""
    X, y = circles(20_000, 5)
    y = np.where(np.random.default_rng(5).random(y.size) < 0.1, -y, y)
    learner = build(KernelSecondOrder(kernel, drift, 1.0, budget=25), 2, learn_from="labels")
    for rows, labels in zip(np.split(X, 20), np.split(y, 20), strict=True):
        records = learner.run(rows, labels)
        assert np.isfinite(records.margin).all()
        assert (records.variance > 0.0).all()
        assert learner.state.size[0] == 25
        assert learner.state.validate() == ""
        assert np.linalg.eigvalsh(learner.state.cov)[0] > 0.0
    state, K = learner.state, gram(kernel, X[-25:])
    np.testing.assert_array_equal(state.rows[:25], X[-25:])
    np.testing.assert_allclose(state.factor.T[:25] @ state.factor[:, :25], K, rtol=1e-9, atol=1e-9)


def test_a_row_leaves_by_projection():
    """w and C on the span of the others are what they were; the rest is alpha I again."""
    X, y = circles(9, 6)
    kernel = RBF(0.7)
    rules = [KernelSecondOrder(kernel, 0.05, 0.5, budget) for budget in (8, 9)]
    small, large = (rule.init(2) for rule in rules)
    for x, label in zip(X, y, strict=True):
        for rule, state in zip(rules, (small, large), strict=True):
            rule.update(state, x, float(label), 0.0)
    alpha = 1.0 / 0.5 + 9 * 0.05
    assert small.cov[8, 8] == pytest.approx(alpha, rel=1e-12)
    inside = np.linalg.inv(gram(kernel, X[1:]))
    for x in np.random.default_rng(6).standard_normal((20, 2)):
        k = np.array([kernel.product(z, x) for z in X[1:]])
        projected, rest = inside @ k, 1.0 - k @ inside @ k
        # Pi x as a mixture of support rows, whose coordinates in the larger basis are known.
        u = large.factor[:9, 1:9] @ projected
        seen = rules[0].margin(small, x)
        assert seen.raw == pytest.approx(large.weights[:9] @ u, abs=1e-8)
        expected = u @ large.cov[:9, :9] @ u + alpha * rest
        assert seen.variance == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Polynomial(4, 0.0)], ids=repr)
def test_saved_and_loaded_to_the_bit(kernel, tmp_path):
    X, y = circles(400, 7)
    learner = lasec.KernelLASEC_SS(2, kernel=kernel, budget=20, aggressiveness=1.0, seed=3)
    learner.run(X[:200], y[:200])
    learner.save(tmp_path / "model.lasec")
    loaded = lasec.Learner.load(tmp_path / "model.lasec")
    assert loaded.rule == learner.rule
    assert type(loaded.rule.kernel) is type(kernel)
    one, other = loaded.run(X[200:], y[200:]), learner.run(X[200:], y[200:])
    np.testing.assert_array_equal(one.margin, other.margin)
    assert loaded.to_bytes() == learner.to_bytes()


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()], ids=repr)
def test_a_fleet_is_many_learners(kernel):
    """Also where a label comes later, and for models that are packed into bytes in between."""
    X, y = circles(600, 10)
    keys = np.random.default_rng(10).integers(3, size=600)
    rule = KernelSecondOrder(kernel, 0.01, 0.5, budget=12)
    fleet = lasec.Fleet(rule, lasec.queries.MarginSampling(0.5), models=3, dimension=2, seed=4)
    alone = [fleet.learner(k) for k in range(3)]
    records = simulate(fleet, keys[:300], X[:300], y[:300])
    other = lasec.Fleet(rule, lasec.queries.MarginSampling(0.5), models=3, dimension=2, seed=4)
    simulate(other, keys[:300], X[:300], y[:300])
    packed = other.pack([0, 1, 2])
    fleet.unpack([0, 1, 2], packed)
    later = simulate(fleet, keys[300:], X[300:], y[300:])
    margins = np.concatenate([records.margin, later.margin])
    for k, learner in enumerate(alone):
        mine = keys == k
        np.testing.assert_array_equal(margins[mine], learner.run(X[mine], y[mine]).margin)
        for ours, theirs in zip(fleet.learner(k).state, learner.state, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_pickled_learner_goes_on():
    X, y = circles(200, 11)
    learner = lasec.KernelLASEC(2, kernel=RBF(0.3), budget=20)
    learner.run(X[:100], y[:100])
    again = pickle.loads(pickle.dumps(learner))
    assert again.rule == learner.rule
    np.testing.assert_array_equal(
        again.run(X[100:], y[100:]).margin, learner.run(X[100:], y[100:]).margin
    )


def test_bytes_of_a_fleet_cannot_make_it_read_elsewhere():
    """The size of a support is held to the places there are, whatever a file says."""
    rule = KernelSecondOrder(RBF(), budget=4)
    state = rule.init(2)
    rule.update(state, np.array([1.0, 0.0]), 1.0, 0.0)
    for size in (-(2**62), -1, 5, 2**62):
        state.size[0] = size
        assert 0 <= filled(state) <= 4


class Cosine(NamedTuple):
    """The angle between two rows, to some power."""

    power: int = 1

    def product(self, x, z):
        size = math.sqrt(np.dot(x, x) * np.dot(z, z))
        return (np.dot(x, z) / size) ** self.power if size > 0.0 else 0.0


class Nothing(NamedTuple):
    """Says that all rows are the same, and nothing else."""

    def product(self, x, z):
        return 1.0


def test_a_kernel_of_ones_own():
    """It runs compiled, as the dual form does; a file that names it needs the class."""
    X, y = circles(500, 8)
    learner = lasec.KernelLASEC_SS(2, kernel=Cosine(3), drift=0.01, ridge=0.5, aggressiveness=0.1)
    coins = lasec.uniforms(learner.seed, 0, 500)[:, 0]
    dual = DualLASEC(0.5, 100.0, Cosine(3).product)
    same(learner.run(X, y), play(dual, coin(0.1), X, y, coins, coins))
    data = learner.to_bytes()
    with pytest.raises(lasec.StateError, match="knows no 'Cosine'"):
        lasec.Learner.from_bytes(data)
    assert lasec.Learner.from_bytes(data, rules=[Cosine]).rule == learner.rule
    constant = lasec.KernelLASEC(2, kernel=Nothing(), budget=3)
    assert np.isfinite(constant.run(X, y).margin).all()


@pytest.mark.parametrize("wrong", [None, 1.0, "rbf", RBF, math, lasec.queries.Always()])
def test_what_is_no_kernel_is_refused(wrong):
    with pytest.raises(TypeError, match="kernel must be a Mercer kernel, got"):
        lasec.KernelLASEC(2, kernel=wrong)


def test_a_kernel_is_no_query():
    with pytest.raises(TypeError, match="inner must be a query, got RBF"):
        lasec.queries.Budgeted(inner=RBF())
    with pytest.raises(ValueError, match="ridge \\* drift must be below 1"):
        lasec.KernelLASEC(2, drift=2.0, ridge=0.5)


def test_rows_too_large_for_the_kernel_are_refused():
    """Their length is that of the feature space: an RBF's rows all have length 1."""
    far = [1e50, 1e50]
    assert np.isfinite(lasec.KernelLASEC(2, kernel=RBF()).learn(far, -1).decision.margin)
    for kernel in (Polynomial(2), Polynomial(9)):
        for drift in (0.0, 0.01):
            with pytest.raises(ValueError, match="too large for this model"):
                lasec.KernelLASEC(2, kernel=kernel, drift=drift).ask(far)


def test_rows_without_length_teach_nothing():
    learner = lasec.KernelLASEC(2, kernel=Linear(), drift=0.1, ridge=0.5)
    learner.learn([1.0, 0.0], -1)
    before = learner.ask([1.0, 1.0]).margin
    learner.learn([0.0, 0.0], -1)
    primal = build(SecondOrder(0.1, 0.5), 2)
    for row in ([1.0, 0.0], [0.0, 0.0]):
        primal.learn(row, -1)
    assert learner.state.size[0] == 1
    assert learner.ask([1.0, 1.0]).margin == pytest.approx(primal.ask([1.0, 1.0]).margin)
    assert learner.ask([1.0, 1.0]).margin != before


@pytest.mark.parametrize(
    ("name", "at", "value", "words"),
    [
        ("size", 0, -1, "size is not between 0 and the budget"),
        ("size", 0, 9, "size is not between 0 and the budget"),
        ("size", 0, 3, "a free place of the support is not empty"),
        ("weights", -1, 1.0, "a free place of the support is not empty"),
        ("rows", (-1, 0), 1.0, "a free place of the support is not empty"),
        ("cov", (-1, -1), 7.0, "cov is not alpha I outside of the support"),
        ("cov", (0, 1), 7.0, "cov is not symmetric"),
        ("cov", (0, 0), -1.0, "cov is not positive definite"),
        ("factor", (1, 0), 1.0, "factor is not upper triangular with a positive diagonal"),
        ("factor", (0, 0), -1.0, "factor is not upper triangular with a positive diagonal"),
        ("factor", (2, 2), 1e-9, "factor belongs to rows that depend on each other"),
    ],
)
def test_a_state_that_cannot_be_is_refused(name, at, value, words):
    X, y = circles(5, 9)
    learner = build(KernelSecondOrder(RBF(0.5), 0.1, 1.0, budget=8), 2, learn_from="labels")
    learner.run(X, y)
    header, arrays = lasec.persistence.container.unpack(learner.to_bytes())
    arrays[f"state.{name}"][at] = value
    with pytest.raises(lasec.StateError, match=words):
        lasec.Learner.from_bytes(lasec.persistence.container.pack(header, arrays))
