"""The Tracker of rows with dense columns and words, by its equations: dense arrays, no laziness."""

import numpy as np
from scipy.stats import norm

from reference.sparse_tracker import STEPS, SparseTracker
from reference.tracker import DRIFTS, PRIORS, Tracker


class JointState:
    """One Gaussian belief about z, with covariances, and about u, without; none between them."""

    def __init__(self, z, u, drift, S, step):
        self.a, self.P = np.zeros(z), S * np.eye(z)
        self.w, self.D = np.zeros(u), S * np.ones(u)
        self.drift, self.S, self.step = drift, S, step

    def predict(self, row, gap, P):
        (z, u), f = row, (1.0 - self.drift) ** gap
        m = np.sqrt(f) * (self.a @ z + self.w @ u)
        v = f * (z @ P @ z + u**2 @ self.D) + (1.0 - f) * self.S * (z @ z + u @ u)
        return m, v

    def learn(self, row, y, gap, lapse):
        (z, u), f = row, (1.0 - self.drift) ** gap
        self.a, self.w = np.sqrt(f) * self.a, np.sqrt(f) * self.w
        self.P = f * self.P + (1.0 - f) * self.S * np.eye(len(z))
        self.D = f * self.D + (1.0 - f) * self.S
        g, m = self.P @ z, self.a @ z + self.w @ u
        v = z @ g + u**2 @ self.D
        t = y * m / np.sqrt(1.0 + v)
        L = lapse + (1.0 - 2.0 * lapse) * norm.cdf(t)
        al = (1.0 - 2.0 * lapse) * norm.pdf(t) / L
        gain, shrink = y * al / np.sqrt(1.0 + v), min(al * (al + t) / (1.0 + v), (1.0 - 1e-6) / v)
        self.a, self.w = self.a + gain * g, self.w + self.step * gain * self.D * u
        h, most = max(0.0, shrink), self.S * (z @ z + u @ u)
        if shrink < 0.0 and v - shrink * v**2 > most:
            shrink = min(0.0, (v - most) / v**2)
        self.P = self.P - shrink * np.outer(g, g)
        self.D = 1.0 / (1.0 / self.D + u**2 * h / (1.0 - h * v))
        return norm.cdf(t)


class JointTracker(SparseTracker):
    """The first ``dense`` columns as the Tracker has them, the others as the sparse one has."""

    def __init__(self, d, alone, beside=0.125):
        self.dense, self.beside, self.alone = alone.d, beside, alone
        super().__init__(d - alone.d)

    def _fresh(self):
        kinds = zip(DRIFTS, PRIORS, STEPS, strict=True)
        return [JointState(self.dense + 2, self.d + 3, *kind) for kind in kinds]

    def _seen(self, x, t):
        z, u = self.alone._seen(x[: self.dense], t), super()._seen(x[self.dense :], t)
        usual = self.sums[1] if self.count else np.log1p(np.count_nonzero(x[self.dense :]))
        short = max(self.beside, np.exp(-usual))
        z[:-2], z[-2] = short * z[:-2], np.sqrt(0.01 + short**2 * (z[-2] ** 2 - 0.01))
        u[-3] = u[-1] = 0.0
        return z, u

    def margin(self, x, t):
        row, gap = self._seen(x, t), max(0, t - self.latest)
        weight = self.pi.sum(axis=(0, 1))
        bar, lean, total = min(self.negligible, weight.max()), 0.0, 0.0
        for b, lineage in enumerate(self.lineages):
            for k in range(len(DRIFTS)):
                if weight[b, k] >= bar:
                    alike = [j for j in range(5) if PRIORS[j] == PRIORS[k]]
                    heavy = max(alike, key=weight[b].__getitem__)
                    m, v = lineage[k].predict(row, gap, lineage[heavy].P)
                    p, noise = norm.cdf(m / np.sqrt(1.0 + v)), self._noise(b, k)
                    lean += weight[b, k] * (1.0 - 2.0 * noise) * (2.0 * p - 1.0)
                    total += weight[b, k]
        return lean / total

    def _renew(self, x):
        super()._renew(x[self.dense :])


class MixedTracker:
    """The joint filter, and a Tracker of the dense columns alone, by the trust in each."""

    def __init__(self, d, dense):
        self.alone = Tracker(dense)
        self.joint, self.dense, self.trust = (
            JointTracker(d, self.alone),
            dense,
            np.array([0.9, 0.1]),
        )

    def margin(self, x, t):
        trust = np.where(self.trust < 0.03, 0.0, self.trust)
        said = self.joint.margin(x, t), self.alone.margin(x[: self.dense], t)
        return trust @ said / trust.sum()

    def see(self, x):
        self.joint.see(x[self.dense :])
        self.alone.see(x[: self.dense])

    def update(self, x, y, t, noise=0.0):
        joint = self.joint.update(x, y, t, noise)
        said = joint, self.alone.update(x[: self.dense], y, t, noise)
        self.trust = self.trust * said / (self.trust @ said)
        self.trust = 0.998 * self.trust + 0.001
