"""The bound on the mistakes of the Tracker's mixture: every label told at once."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import lasec
from lasec import bounds
from lasec.rules import Tracking
from reference import tracker as reference

STATES = len(reference.DRIFTS)


def tracker(d, **rule):
    return lasec.Tracker(d, rate=1.0, rule=Tracking(**rule), seed=0)


def degenerate():
    X, y = lasec.streams.switching(400, dimension=6, every=150, seed=4)
    X[:, 0], X[:, 1], X[:, 2] = 1.0, 0.0, X[:, 3]
    X[::40] = 0.0
    X[200:] *= 1e-4
    return X, y


def guessing():
    """Labels that no row tells anything about."""
    X, _ = lasec.streams.stationary(400, dimension=4, seed=2)
    return X, np.random.default_rng(3).choice([-1, 1], 400)


STREAMS = {
    "switching": lasec.streams.switching(900, dimension=5, every=250, seed=1),
    "noisy": lasec.streams.switching(600, dimension=5, every=200, noise=0.15, seed=2),
    "walking": lasec.streams.walking(600, dimension=8, speed=0.05, seed=3),
    "stationary": lasec.streams.stationary(600, dimension=3, seed=4),
    "degenerate": degenerate(),
    "guessing": guessing(),
}
RULES = [{}, {"slots": 2, "patience": 1, "hazard": 0.3, "share": 0.2}, {"slots": 1, "lapse": 0.4}]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", STREAMS)
def test_mistakes_and_loss_are_below_the_bound(name, rule):
    """Each link of the chain, with births, given up slots and changes of speed on the way."""
    X, y = STREAMS[name]
    found = bounds.mixture(tracker(X.shape[1], **rule), X, y)
    assert found.mistakes * math.log(2) <= found.log_loss <= found.path_loss + found.cost
    assert found.mistakes <= found.value
    assert found.cost > 0.0
    assert found.path_loss > 0.0


class Watched(reference.Tracker):
    """The transcribed Tracker, with what the label was worth before it was learned."""

    def chances(self, x, y, t):
        """right[b][k], or None where a slot is not in use."""
        u, gap = self._seen(x, t), max(0, t - self.latest)
        right = np.full((self.slots, STATES), np.nan)
        for b, lineage in enumerate(self.lineages):
            if self.pi[:, :, b].sum() > 0.0:
                for k in range(STATES):
                    m, v = lineage[k].predict(u, gap)
                    right[b, k] = norm.cdf(y * m / np.sqrt(1.0 + v))
        return right


def likelihood(number, right):
    lapse = reference.LAPSES[number]
    return lapse + (1.0 - 2.0 * lapse) * right


def test_the_mixture_is_the_one_that_is_learned_with():
    """P_t(y) as a sum over the hypotheses of the transcribed Tracker."""
    X, y = lasec.streams.switching(250, dimension=3, every=100, noise=0.05, seed=5)
    model, loss, mistakes = Watched(3), 0.0, 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        right = np.nan_to_num(model.chances(x, label, t))
        truth = sum(
            (model.pi[:, number] * likelihood(number, right)).sum()
            for number in range(len(reference.LAPSES))
        )
        loss -= math.log(truth)
        mistakes += truth < 0.5 - 1e-12 or (abs(truth - 0.5) <= 1e-12 and label < 0)
        model.update(x, label, t)
    found = bounds.mixture(tracker(3), X, y)
    assert found.log_loss == pytest.approx(loss, rel=1e-6)
    assert found.mistakes == mistakes
    assert model.birth > 0


def best_of_each(paths):
    """Of the paths that end in the same state, the best."""
    best = {}
    for path in paths:
        if path[0] not in best or path[1] > best[path[0]][1]:
            best[path[0]] = path
    return list(best.values())


def followed(model, X, y, keep=list):
    """Score, loss and changes of the best path; with ``keep=list`` every single one is followed."""
    best = (-math.inf, 0.0, 0)
    start = -math.log(4 * 6 * STATES)
    paths = {
        (h, n): [((0, k), start, 0.0, 0) for k in range(STATES)] for h in range(4) for n in range(6)
    }
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        right = model.chances(x, label, t)
        birth = model.birth
        model.update(x, label, t)
        new = None
        if model.birth != birth:
            prior = reference.PRIORS[0] * np.eye(len(x) + 2)
            new = next(b for b, line in enumerate(model.lineages) if line and not line[0].w.any()
                       and np.array_equal(line[0].P, prior))  # fmt: skip
        alive = model.pi.sum(axis=(0, 1, 3)) > 0.0
        for (h, number), known in paths.items():
            H = 1.0 - (1.0 - reference.HAZARDS[h]) ** (t - birth)
            grown = []
            for (b, k), score, loss, changes in known:
                said = math.log(likelihood(number, right[b, k]))
                if b == new or not alive[b]:
                    continue
                for to in range(STATES):
                    move = 1.0 - model.share if to == k else model.share / (STATES - 1)
                    kept = score + said + math.log(move)
                    if new is None:
                        grown.append(((b, to), kept, loss - said, changes))
                        continue
                    grown.append(((b, to), kept + math.log(1.0 - H), loss - said, changes))
                    grown += [((new, k2), kept + math.log(H / STATES), loss - said, changes + 1)
                              for k2 in range(STATES)]  # fmt: skip
            paths[h, number] = keep(grown)
    for known in paths.values():
        best = max([best, *((score, loss, changes) for _, score, loss, changes in known)])
    return best


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_path_is_the_best_of_all_paths(slots, share, seed, monkeypatch):
    """Four labels that change, every path followed; with two slots concepts begin on the way."""
    monkeypatch.setattr(reference, "HAZARDS", [0.5, 0.125, 0.03125, 0.0078125])
    X = 1.0 + 0.3 * np.random.default_rng(seed).standard_normal((4, 2))
    y = np.array([1, -1, -1, 1])
    model = Watched(2, slots=slots, patience=2 if slots > 1 else 10**6, share=share)
    score, loss, changes = followed(model, X, y)
    found = bounds.mixture(tracker(2, slots=slots, patience=2, share=share, hazard=0.5), X, y)
    assert found.path_loss + found.cost == pytest.approx(-score, rel=1e-6)
    assert found.path_loss == pytest.approx(loss, rel=1e-6)
    assert found.changes == changes
    assert (model.birth > 0) == (slots > 1)


def test_the_best_path_through_changes(monkeypatch):
    """The same with a longer stream, where the best path follows a change."""
    monkeypatch.setattr(reference, "HAZARDS", [0.02, 0.005, 0.00125, 0.0003125])
    X, y = lasec.streams.switching(160, dimension=2, every=80, seed=2)
    model = Watched(2, slots=3, patience=4, share=0.01)
    score, loss, changes = followed(model, X, y, best_of_each)
    found = bounds.mixture(tracker(2, slots=3, patience=4, share=0.01, hazard=0.02), X, y)
    assert changes >= 1
    assert found.path_loss + found.cost == pytest.approx(-score, rel=1e-6)
    assert found.path_loss == pytest.approx(loss, rel=1e-6)
    assert found.changes == changes


def test_a_path_ends_with_the_slot_that_is_given_up(monkeypatch):
    """Labels are turned around for a while: the old concept, the best one, is given up."""
    levels = [0.1 * share for share in (1 / 300, 1 / 30, 0.1, 1 / 3, 2 / 3, 1.0)]
    monkeypatch.setattr(reference, "LAPSES", levels)
    X, y = lasec.streams.stationary(420, dimension=12, seed=4)
    y[300:320] *= -1
    model = Watched(12, slots=2, patience=150)
    score, loss, changes = followed(model, X, y, best_of_each)
    found = bounds.mixture(tracker(12, slots=2, patience=150, lapse=0.1), X, y)
    assert model.pi[:, :, 0].sum() == 0.0
    assert found.log_loss <= found.path_loss + found.cost == pytest.approx(-score, rel=1e-6)
    assert (found.path_loss, found.changes) == (pytest.approx(loss, rel=1e-6), changes)


def test_the_cost_of_a_path():
    """Without a change: the prior, the share at each label, and the smallest hazard a row."""
    X, y = STREAMS["stationary"]
    found = bounds.mixture(tracker(3), X, y)
    assert found.changes == 0
    fixed = math.log(24 * STATES) - 600 * math.log(1 - 0.002)
    assert fixed < found.cost <= fixed - 600 * math.log(1 - 2.0**-14) + 1e-9


def test_a_change_is_followed_where_there_is_one():
    X, y = lasec.streams.switching(1_500, dimension=5, every=500, seed=2)
    found = bounds.mixture(tracker(5), X, y)
    assert found.changes == 2
    # each change costs at most ln(5/hazard), whatever the hazard of the best path is
    staying = math.log(24 * STATES) + 1_500 * (0.00201 + 2.0**-8)
    assert found.cost <= staying + 2 * math.log(STATES * 2.0**14)


def test_what_the_bound_does_not_cover_is_refused():
    X, y = STREAMS["stationary"]
    used = tracker(3)
    used.run(X, y)
    with pytest.raises(ValueError, match="seen nothing"):
        bounds.mixture(used, X, y)
    with pytest.raises(ValueError, match="seen nothing"):
        bounds.mixture(lasec.LASEC(3), X, y)
    with pytest.raises(ValueError, match=r"rate=1\.0"):
        bounds.mixture(lasec.Tracker(3, rate=0.1, seed=0), X, y)
