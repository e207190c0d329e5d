"""The sparse Tracker by its equations: dense arrays, every weight drifts with every label."""

import numpy as np
from scipy.stats import norm

from reference.tracker import DRIFTS, PRIORS, Tracker

STEPS = (4.0, 1.0, 4.0, 1.0, 1.0)


class DiagonalState:
    """One Gaussian belief with independent weights, for one beginning and one speed of drift."""

    def __init__(self, d, drift, S, step):
        self.w, self.D, self.drift, self.S = np.zeros(d), S * np.ones(d), drift, S
        self.step = step

    def drifted(self, gap):
        f = (1.0 - self.drift) ** gap
        return np.sqrt(f) * self.w, f * self.D + (1.0 - f) * self.S

    def learn(self, u, y, gap, lapse):
        self.w, self.D = self.drifted(gap)
        m, v = u @ self.w, u**2 @ self.D
        z = y * m / np.sqrt(1.0 + v)
        L = lapse + (1.0 - 2.0 * lapse) * norm.cdf(z)
        al = (1.0 - 2.0 * lapse) * norm.pdf(z) / L
        self.w = self.w + self.step * y * al / np.sqrt(1.0 + v) * self.D * u
        h = min(max(0.0, al * (al + z) / (1.0 + v)), (1.0 - 1e-6) / v)
        self.D = 1.0 / (1.0 / self.D + u**2 * h / (1.0 - h * v))
        return norm.cdf(z)


class SparseTracker(Tracker):
    """As the dense one, but for its rows and its states; ``seen`` are the rows that count."""

    def __init__(self, d, rarity=0.5, level=0.5, length=0.1, **options):
        super().__init__(d, **options)
        self.rarity, self.level, self.length = rarity, level, length
        self.count, self.having = 0, np.zeros(d)
        self.sums = np.zeros(3)  # means of |a|^2, of the log of the words, and of its square

    def _fresh(self):
        kinds = zip(DRIFTS, PRIORS, STEPS, strict=True)
        return [DiagonalState(self.d + 3, *kind) for kind in kinds]

    def _seen(self, x, t):
        a = np.sign(x) * np.log1p(np.abs(x))
        v = a * np.log((self.count + 2.0) / (self.having + 0.5)) ** self.rarity
        usual, words = self.sums[0], np.log1p(np.count_nonzero(x))
        u = v
        if np.any(v):
            level = (np.linalg.norm(a) / np.sqrt(usual)) ** self.level if usual > 0.0 else 1.0
            u = v / np.linalg.norm(v) * min(2.0, level)
        far = 0.0
        if self.count >= 10:
            sd = np.sqrt(max(0.0, self.sums[2] - self.sums[1] ** 2))
            far = np.clip((words - self.sums[1]) / max(sd, 0.01), -3.0, 3.0)
        last = 0.05 * self.label * 2.0 ** (-abs(t - self.latest) / 64.0)
        return np.concatenate([u, [0.1, self.length * far, last]])

    def see(self, x):
        """A row that is asked about: it counts from the next label on."""
        self.rows.append(x)

    def _renew(self, x):
        rows = np.array(self.rows or [x])
        words = np.log1p(np.count_nonzero(rows, axis=1))
        size = (np.log1p(np.abs(rows)) ** 2).sum(axis=1)
        found = np.array([size.mean(), words.mean(), (words**2).mean()])
        share = len(rows) / (min(self.count, 20_000) + len(rows))
        self.sums = self.sums + share * (found - self.sums)
        self.having = self.having + (rows != 0.0).sum(axis=0)
        self.count, self.rows = self.count + len(rows), []

    def margin(self, x, t):
        u, gap = self._seen(x, t), max(0, t - self.latest)
        weight = self.pi.sum(axis=(0, 1))
        bar, lean, total = min(self.negligible, weight.max()), 0.0, 0.0
        for b, lineage in enumerate(self.lineages):
            for k in range(len(DRIFTS)):
                if weight[b, k] >= bar:
                    w, D = lineage[k].drifted(gap)
                    p, noise = norm.cdf(u @ w / np.sqrt(1.0 + u**2 @ D)), self._noise(b, k)
                    lean += weight[b, k] * (1.0 - 2.0 * noise) * (2.0 * p - 1.0)
                    total += weight[b, k]
        return lean / total
