"""The Tracker with lenses by its equations: plain and slow, in double precision."""

import numpy as np

from reference.tracker import DRIFTS, HAZARDS, LAPSES, Controller
from reference.tracker_forms import Forms


class Core(Forms):
    """A wide Tracker about the rows of one lens, whose scales and basis are given and stay."""

    def __init__(self, means, roots, basis, classes, slots):
        super().__init__(len(means), classes, block=len(basis))
        self.slots, self.lineages = slots, [self._fresh()] + [None] * (slots - 1)
        self.pi = np.zeros((len(HAZARDS), len(LAPSES), slots, len(DRIFTS)))
        self.pi[:, :, 0] = 1.0 / (len(HAZARDS) * len(LAPSES) * len(DRIFTS))
        self.means, self.roots, self.B = means, roots, basis

    def _scaled(self, x):
        u = (x - self.means) / self.roots
        length = np.sqrt(np.mean(u**2))
        return u, min(1.0, 5.0 / length) if length > 0.0 else 1.0

    def _renew(self, x):
        """Scales are not learned."""

    def see(self, x):
        """Nor is the basis."""


class Maps:
    """What each lens adds to a standardized row; drawn in this order from the seed."""

    def __init__(self, Z, features, seed):
        rng, (n, d) = np.random.default_rng(seed), Z.shape
        a, b = rng.integers(n, size=(2, 2_000))
        groups = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(-(-features // d))]
        long = np.linalg.norm(rng.standard_normal((features, d)), axis=1)
        euclid = np.median(np.sqrt(((Z[a] - Z[b]) ** 2).sum(axis=1)))
        self.gauss = np.concatenate(groups)[:features] * long[:, None] / euclid
        city = np.median(np.abs(Z[a] - Z[b]).sum(axis=1))
        self.laplace = np.clip(rng.standard_cauchy((features, d)), -30.0, 30.0) / city
        self.phases = rng.uniform(0.0, 2.0 * np.pi, (2, features))
        ends = [rng.choice(d, 2, replace=d < 2) for _ in range(2 * features)]
        columns = np.array(ends).reshape(features, 4)
        signs = np.ones((features, 4))
        signs[:, 1::2] = rng.choice([-1, 1], (features, 2))
        self.one, self.two = np.zeros((features, d)), np.zeros((features, d))
        for i in range(features):
            for k in range(2):
                self.one[i, columns[i, k]] += signs[i, k]
                self.two[i, columns[i, 2 + k]] += signs[i, 2 + k]
        self.column = np.array(
            [i % d if d <= features else i * d // features for i in range(features)]
        )
        self.cuts = np.zeros(features)
        for j in range(d):
            mine = np.flatnonzero(self.column == j)
            for k, i in enumerate(mine, start=1):
                self.cuts[i] = np.quantile(Z[:, j], k / (len(mine) + 1))

    def rows(self, z):
        """The row of each lens."""
        return [
            np.concatenate([z, added])
            for added in (
                np.sqrt(2.0) * np.cos(self.gauss @ z + self.phases[0]),
                np.sqrt(2.0) * np.cos(self.laplace @ z + self.phases[1]),
                np.clip((self.one @ z) * (self.two @ z), -9.0, 9.0),
                np.tanh(3.0 * (z[self.column] - self.cuts)),
            )
        ]


class Lensed:
    """``views``: the raw rows' Tracker and a core for each lens; ``omega``: their weights."""

    def __init__(
        self,
        d,
        classes=2,
        *,
        features=100,
        block=32,
        slots=4,
        warm_up=300,
        replayed=128,
        nap=1_000,
        seed=0,
        share=0.002,
    ):
        self.raw, self.K, self.d = Forms(d, classes), classes, d
        self.features, self.block, self.slots, self.seed = features, block, slots, seed
        self.warm_up, self.replayed, self.share = warm_up, replayed, share
        self.omega = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
        self.early, self.labels, self.maps, self.cores = [], [], None, []
        self.low, self.left, self.next = np.zeros(4, int), np.zeros(4, int), np.full(4, nap)
        self.ready = False

    def _z(self, x):
        return np.clip(self.raw._scaled(x)[0], -4.0, 4.0)

    def see(self, x):
        """A row that is asked about."""
        self.raw.see(x)
        if len(self.early) < self.warm_up:
            self.early.append(x)

    def probabilities(self, x, t):
        """The probability of each class."""
        if not self.ready:
            return self.raw.probabilities(x, t)
        rows = [x, *self.maps.rows(self._z(x))]
        bar, said, total = min(0.03, self.omega.max()), 0.0, 0.0
        for weight, view, row in zip(self.omega, [self.raw, *self.cores], rows, strict=True):
            if weight >= bar:
                said = said + weight * view.probabilities(row, t)
                total += weight
        return said / total

    def update(self, x, y, t, noise=0.0):
        """Learn a label; make the maps where it is time, and replay one label later."""
        z = self._z(x)
        likely = self.raw.update(x, y, t, noise)
        if self.ready:
            self._teach(z, y, t, likely, noise)
        else:
            self.labels = [*self.labels, (x, y, t, likely, noise)][-self.replayed :]
        if self.maps and not self.ready:
            for row, *label in self.labels:
                self._teach(self._z(row), *label)
            self.ready = True
        if not self.maps and len(self.early) == self.warm_up:
            self._make()

    def _teach(self, z, y, t, likely, noise):
        awake = np.append(True, self.left == 0)
        self.omega[0] *= likely
        for e, row in enumerate(self.maps.rows(z)):
            if awake[1 + e]:
                self.cores[e].known = self.raw.known.copy()
                self.omega[1 + e] *= self.cores[e].update(row, y, t, noise)
        self.omega /= self.omega.sum()
        self.omega[awake] = (1 - self.share) * self.omega[awake] + self.share / awake.sum()
        for e in range(4):
            if not awake[1 + e]:
                self.left[e] -= 1
                if self.left[e] == 0:
                    self.omega[1 + e] = self.share / 5
                continue
            self.low[e] = self.low[e] + 1 if self.omega[1 + e] < 0.01 else 0
            if self.low[e] == 500:
                self.omega[1 + e], self.low[e], self.left[e] = 0.0, 0, self.next[e]
                self.next[e] = min(2 * self.next[e], 16_000)
        self.omega /= self.omega.sum()

    def _make(self):
        Z = np.array([self._z(x) for x in self.early])
        self.maps = Maps(Z, self.features, self.seed)
        each = np.array([self.maps.rows(z) for z in Z]).swapaxes(0, 1)
        for F, size in zip(each, (1.0, 1.0, 2.0, 1.0), strict=True):
            means, roots = F.mean(axis=0), np.full(F.shape[1], size)
            means[: self.d], roots[: self.d] = 0.0, 1.0
            U = (F - means) / roots / np.sqrt(F.shape[1])
            basis = np.linalg.svd(U, full_matrices=False)[2][: self.block]
            self.cores.append(Core(means, roots, basis, self.K, self.slots))


def play(model, rate, X, y, coins):
    """Predict, ask, learn; gives probabilities, propensities and what was asked."""
    query, rows = Controller(rate), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p = model.probabilities(x, t)
        top = np.sort(p)
        q = query.probability(top[-1] - top[-2])
        asked = bool(coins[t - 1] < q)
        query.spend(top[-1] - top[-2], asked)
        model.see(x)
        if asked:
            model.update(x, label, t)
        rows.append((p, q, asked))
    return tuple(map(np.array, zip(*rows, strict=True)))
