"""The Tracker with a level beside it, by its equations."""

import numpy as np

from reference.tracker import DRIFTS, PRIORS, State, Tracker


class LevelState(State):
    def predict(self, u, gap, P=None):
        keep = 2.0 ** (-gap / 32.0)
        row = np.append(u, 0.4 * np.sqrt(keep))
        m, v = super().predict(row, gap, P)
        return m, v + (1.0 - keep) * 0.16 * self.S

    def learn(self, u, y, gap, lapse):
        keep = 2.0 ** (-gap / 32.0)
        F = np.diag(np.append(np.ones(len(u)), np.sqrt(keep)))
        self.w, self.P = F @ self.w, F @ self.P @ F
        self.P[-1, -1] += (1.0 - keep) * self.S
        return super().learn(np.append(u, 0.4), y, gap, lapse)


class LevelTracker(Tracker):
    def _fresh(self):
        return [LevelState(self.d + 3, *kind) for kind in zip(DRIFTS, PRIORS, strict=True)]


class Leveled:
    def __init__(self, d):
        self.both, self.omega = [Tracker(d), LevelTracker(d, slots=2)], np.array([0.5, 0.5])

    def margin(self, x, t):
        bar = min(0.03, self.omega.max())
        used = [
            (w, one.margin(x, t)) for w, one in zip(self.omega, self.both, strict=True) if w >= bar
        ]
        return sum(w * m for w, m in used) / sum(w for w, _ in used)

    def see(self, x):
        for one in self.both:
            one.see(x)

    def update(self, x, y, t):
        self.omega = self.omega * [one.update(x, y, t) for one in self.both]
        self.omega = 0.998 * self.omega / self.omega.sum() + 0.001
