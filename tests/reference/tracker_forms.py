"""The Tracker's other forms by their equations: many classes, and wide rows; plain and slow."""

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from reference.tracker import DRIFTS, LAPSES, PRIORS, Controller, Tracker, wrong_answer

KEPT, EVERY, FIRST, BEHIND = 64, 16, 32, 8


def density(z):
    """The standard normal density."""
    return np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)


def kappa(K):
    """The slope of the probabilities of K equal normal variables, in units of a softmax's."""
    return K**2 * quad(lambda z: density(z) ** 2 * ndtr(z) ** (K - 2), -12.0, 12.0)[0]


SLOPES = {K: kappa(K) for K in range(2, 9)}


class State:
    """One Gaussian posterior: weights for each class, or once; a full block, then a diagonal."""

    def __init__(self, vectors, block, rest, drift, S):
        self.W, self.drift, self.S = np.zeros((vectors, block + rest)), drift, S
        self.P, self.D = S * np.eye(block), np.full(rest, S)

    def times(self, u):
        """The covariance times u."""
        z, r = np.split(u, [len(self.P)])
        return np.concatenate([self.P @ z, self.D * r])

    def moments(self, u, gap, other=None):
        """The means of the scores and their variance; the covariance is that of another state."""
        f = (1.0 - self.drift) ** gap
        v = f * (u @ (other or self).times(u)) + (1.0 - f) * self.S * (u @ u)
        return np.sqrt(f) * self.W @ u, v

    def chances(self, m, v, known):
        """The probability of each class where no label is wrong."""
        if len(self.W) == 1:
            z = m[0] / np.sqrt(1.0 + v)
            return np.array([ndtr(-z), ndtr(z)])
        scores = SLOPES[known.sum()] * m / np.sqrt(1.0 + v)
        odds = np.where(known, np.exp(scores - scores[known].max()), 0.0)
        return odds / odds.sum()

    def learn(self, u, c, gap, lapse, known):
        """Drift, and one filtering step for class c; gives the probabilities before it."""
        f = (1.0 - self.drift) ** gap
        self.W = np.sqrt(f) * self.W
        self.P = f * self.P + (1.0 - f) * self.S * np.eye(len(self.P))
        self.D = f * self.D + (1.0 - f) * self.S
        g, m = self.times(u), self.W @ u
        v = u @ g
        p = self.chances(m, v, known)
        step = self._probit if len(self.W) == 1 else self._softmax
        gain, shrink = step(m, v, p, c, lapse, known)
        widest = self.S * u @ u
        if shrink < 0.0 and v - shrink * v**2 > widest:
            shrink = min(0.0, (v - widest) / v**2)
        self.W = self.W + np.outer(gain, g)
        k = len(self.P)
        self.P = self.P - shrink * np.outer(g[:k], g[:k])
        self.D = self.D - shrink * g[k:] ** 2
        return p

    @staticmethod
    def _probit(m, v, p, c, lapse, known):
        y = 1.0 if c else -1.0
        z = y * m[0] / np.sqrt(1.0 + v)
        al = (1.0 - 2.0 * lapse) * density(z) / (lapse + (1.0 - 2.0 * lapse) * p[c])
        return np.array([y * al / np.sqrt(1.0 + v)]), al * (al + z) / (1.0 + v)

    @staticmethod
    def _softmax(m, v, p, c, lapse, known):
        K = known.sum()
        slope = SLOPES[K]
        straight = (1.0 - lapse * K / (K - 1)) * p[c]
        rho = straight / (straight + lapse / (K - 1))
        e = np.eye(len(p))[c] - p
        H = rho * (np.diag(p) - np.outer(p, p)) - rho * (1.0 - rho) * np.outer(e, e)
        h = np.trace(H) / (K - 1)
        return rho * e * slope / np.sqrt(1.0 + v), h * slope**2 / (1.0 + v)

    def carry(self, before, after):
        """What is known in one basis, in another."""
        k, n = len(before), len(self.P)
        w = self.W[:, :k] @ before + self.W[:, n:]
        R = before @ after.T
        inside = w @ after.T
        self.W = np.hstack([inside, self.W[:, k:n], w - inside @ after])
        P = self.P.copy()
        P[:k, :k] = R.T @ self.P[:k, :k] @ R + self.D.mean() * (np.eye(k) - R.T @ R)
        P[:k, k:] = R.T @ self.P[:k, k:]
        P[k:, :k] = P[:k, k:].T
        self.P = P


class Forms(Tracker):
    """``classes``: 2, or more; ``block``: how many directions have a full covariance."""

    def __init__(self, d, classes=2, block=None):
        self.K = classes
        self.k = d if block is None else min(block, d)
        self.wide, self.places = self.k < d, 1 if classes == 2 else classes
        self.B, self.energy = np.eye(self.k, d), np.zeros(self.k)
        self.sample, self.behind = [], 0
        self.known = np.arange(classes) < 2
        super().__init__(d)

    def _fresh(self):
        size = self.k + 1 + self.places, self.d if self.wide else 0
        vectors = 1 if self.K == 2 else self.K
        return [State(vectors, *size, *kind) for kind in zip(DRIFTS, PRIORS, strict=True)]

    def _seen(self, x, t):
        whole = super()._seen(x, t)
        features, intercept = whole[: self.d], whole[self.d]
        last = np.zeros(self.places)
        strength = 0.05 * 2.0 ** (-abs(t - self.latest) / 64.0)
        if self.K == 2:
            last[0] = strength * self.label
        elif self.label:
            last[self.label - 1] = strength
        if not self.wide:
            return np.concatenate([features, [intercept], last])
        inside = self.B @ features
        return np.concatenate([inside, [intercept], last, features - inside @ self.B])

    def see(self, x):
        number = self.n + len(self.rows)
        if self.wide and self.k and number % max(1, min(EVERY, number // KEPT)) == 0:
            u, short = self._scaled(x)
            self.sample.append(u * short / np.sqrt(self.d))
        super().see(x)

    def probabilities(self, x, t):
        """The probability of each class."""
        u, gap = self._seen(x, t), max(0, t - self.latest)
        weight = self.pi.sum(axis=(0, 1))
        bar = min(self.negligible, weight.max())
        said, total, K = np.zeros(self.K), 0.0, self.known.sum()
        for b, lineage in enumerate(self.lineages):
            for k in range(len(DRIFTS)):
                if weight[b, k] < bar:
                    continue
                alike = [j for j in range(5) if PRIORS[j] == PRIORS[k]]
                heavy = max(alike, key=weight[b].__getitem__)
                p = lineage[k].chances(*lineage[k].moments(u, gap, lineage[heavy]), self.known)
                noise = self._noise(b, k) / (K - 1)
                said += weight[b, k] * np.where(self.known, noise + (1.0 - K * noise) * p, 0.0)
                total += weight[b, k]
        return said / total

    def update(self, x, y, t, noise=0.0):
        """Learn the label y, -1 or +1, with more classes their numbers, from 1.

        It is wrong with the probability ``noise``. Gives the probability that it had.
        """
        now, c = max(t, self.latest), int(y > 0) if self.K == 2 else y - 1
        u, gap = self._seen(x, t), now - self.latest
        self.known[c] = True
        K, weight, said = self.known.sum(), self.pi.sum(axis=(0, 1)), np.zeros(self.K)
        likely = 0.0
        for b, lineage in enumerate(self.lineages):
            for k in range(len(DRIFTS)):
                if weight[b, k] == 0.0:
                    continue
                lapse = self._noise(b, k)
                wrong = wrong_answer(lapse, noise, K)
                p = lineage[k].learn(u, c, gap, wrong, self.known)
                said += weight[b, k] * (1.0 - lapse * K / (K - 1)) * p
                likely += weight[b, k] * (wrong + (K - 1 - K * wrong) * p[c]) / (K - 1)
                for number, lapse in enumerate(LAPSES):
                    other = wrong_answer(lapse, noise, K) / (K - 1)
                    self.pi[:, number, b, k] *= other + (1.0 - K * other) * p[c]
        self._settle()
        self._renew(x)
        self.latest, self.label, self.since = now, int(y), self.since + 1
        best = self._best(said)
        if best != c and self.since >= self.patience:
            self._begin(now)
        if self.wide and self.k and len(self.sample) >= (KEPT if self.behind else FIRST):
            self._turn()
        return likely

    def _best(self, said):
        """The most probable class; of two, the second where they are equal."""
        return int(said[1] >= said[0]) if self.K == 2 else int(np.argmax(said))

    def _turn(self):
        """Another basis: the leading directions of the old one's energies and of the sample."""
        rows = np.array(self.sample[-KEPT:])
        share = len(rows) / (min(self.behind, BEHIND * KEPT) + len(rows))
        scatter = (1.0 - share) * (self.B.T * self.energy) @ self.B
        scatter += share * rows.T @ rows / len(rows)
        values, vectors = np.linalg.eigh(scatter)
        order = np.argsort(values)[::-1][: self.k]
        order = order[values[order] > 1e-9 * values.max()]
        after = vectors[:, order].T
        if len(after) < self.k:
            left = self.B - self.B @ after.T @ after
            after = np.vstack([after, np.linalg.svd(left)[2][: self.k - len(after)]])
        self.energy = np.append(values[order], np.zeros(self.k - len(order)))
        for lineage in self.lineages:
            for state in lineage or []:
                state.carry(self.B, after)
        self.B, self.sample, self.behind = after, [], self.behind + len(rows)


def play(model, rate, X, y, coins):
    """Predict, ask, learn; gives probabilities, labels, propensities and what was asked."""
    query, rows = Controller(rate), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p = model.probabilities(x, t)
        best, top = model._best(p), np.sort(p)
        lead = top[-1] - top[-2]
        q = query.probability(lead)
        asked = bool(coins[t - 1] < q)
        query.spend(lead, asked)
        model.see(x)
        if asked:
            model.update(x, label, t)
        named = best + 1 if model.K > 2 else (-1, 1)[best]
        rows.append((p, named, q, asked))
    return tuple(map(np.array, zip(*rows, strict=True)))
