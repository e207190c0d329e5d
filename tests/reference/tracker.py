"""The Tracker by its equations: a list of hypotheses, plain Python, scipy's normal distribution."""

import numpy as np
from scipy.stats import norm

HAZARDS = [2.0**-8, 2.0**-10, 2.0**-12, 2.0**-14]
LAPSES = [0.001, 0.01, 0.03, 0.1, 0.2, 0.3]
DRIFTS = [0.0, 0.0005, 0.0025, 0.01, 0.0]
PRIORS = [1000.0, 1000.0, 1000.0, 1000.0, 30.0]


def wrong_answer(lapse, noise, classes):
    """How often an answer is not the class: a label that is wrong, said wrongly, or both."""
    right = (1.0 - lapse) * (1.0 - noise) + lapse * noise / (classes - 1)
    return 1.0 - right


class State:
    """One Gaussian belief, for one beginning and one speed of drift."""

    def __init__(self, d, drift, S):
        self.w, self.P, self.drift, self.S = np.zeros(d), S * np.eye(d), drift, S

    def predict(self, u, gap, P=None):
        f = (1.0 - self.drift) ** gap
        P = self.P if P is None else P
        m = np.sqrt(f) * self.w @ u
        v = f * (u @ P @ u) + (1.0 - f) * self.S * (u @ u)
        return m, v

    def learn(self, u, y, gap, lapse):
        f = (1.0 - self.drift) ** gap
        self.w = np.sqrt(f) * self.w
        self.P = f * self.P + (1.0 - f) * self.S * np.eye(len(u))
        g = self.P @ u
        m, v = self.w @ u, u @ g
        z = y * m / np.sqrt(1.0 + v)
        L = lapse + (1.0 - 2.0 * lapse) * norm.cdf(z)
        al = (1.0 - 2.0 * lapse) * norm.pdf(z) / L
        self.w = self.w + y * al / np.sqrt(1.0 + v) * g
        shrink = al * (al + z) / (1.0 + v)
        if shrink < 0.0 and v - shrink * v**2 > self.S * u @ u:
            shrink = min(0.0, (v - self.S * u @ u) / v**2)
        self.P = self.P - shrink * np.outer(g, g)
        return norm.cdf(z)


class Tracker:
    """``lineages``: each a list of a state for each drift; ``pi``: weights by (hazard, lapse)."""

    def __init__(self, d, slots=6, patience=6, share=0.002, negligible=0.03):
        self.d, self.slots, self.patience = d, slots, patience
        self.share, self.negligible = share, negligible
        self.means, self.squares, self.n, self.rows = np.zeros(d), np.zeros(d), 0, []
        self.latest = self.birth = self.since = self.label = self.streak = 0
        self.lineages = [self._fresh()] + [None] * (slots - 1)
        self.pi = np.zeros((len(HAZARDS), len(LAPSES), slots, len(DRIFTS)))
        self.pi[:, :, 0] = 1.0 / (len(HAZARDS) * len(LAPSES) * len(DRIFTS))

    def _fresh(self):
        return [State(self.d + 2, *kind) for kind in zip(DRIFTS, PRIORS, strict=True)]

    def _scaled(self, x):
        """The row centered and in units, and the factor that shortens it."""
        variance = np.maximum(self.squares - self.means**2, 1e-4 * self.squares)
        root = np.sqrt(np.where(variance > 0.0, variance, self.squares))
        u = np.where(root > 0.0, (x - self.means) / np.where(root > 0.0, root, 1.0), np.sign(x))
        u = np.clip(u, -1e100, 1e100)
        length = np.sqrt(np.mean(u**2))
        return u, min(1.0, 5.0 / length) if length > 0.0 else 1.0

    def _seen(self, x, t):
        u, short = self._scaled(x)
        known = self.squares > 0.0
        offset = np.sum(self.means[known] ** 2 / self.squares[known]) / self.d
        offset = max(0.0, offset - 1.0 / max(1, min(self.n, 20_000)))
        streak = 0.05 * self.label * 2.0 ** (-abs(t - self.latest) / 64.0)
        return np.concatenate([u * short / np.sqrt(self.d), [np.sqrt(0.01 + 0.5 * offset), streak]])

    def see(self, x):
        """A row that is asked about: its units are learned with the next label."""
        self.rows.append(self.means + (x - self.means) * self._scaled(x)[1])

    def _renew(self, x):
        """Means and mean squares learn the rows since the last label."""
        if not self.rows:
            self.see(x)
        known = self.squares > 0.0
        units = np.where(known, x / np.sqrt(np.where(known, self.squares, 1.0)), 0.0)
        length = np.sqrt(np.mean(units**2))
        self.streak = self.streak + 1 if 0.0 < length < 0.01 else 0
        if self.streak == 10:
            self.streak = self.n = 0
        rows = np.array(self.rows)
        share = len(rows) / (min(self.n, 20_000) + len(rows))
        self.means = self.means + share * (rows.mean(axis=0) - self.means)
        self.squares = self.squares + share * ((rows**2).mean(axis=0) - self.squares)
        self.n, self.rows = self.n + len(rows), []

    def _noise(self, b, k):
        weight = self.pi[:, :, b, k].sum()
        return self.pi[:, :, b, k].sum(axis=0) @ LAPSES / weight if weight > 0.0 else 0.0

    def margin(self, x, t):
        u, gap = self._seen(x, t), max(0, t - self.latest)
        weight = self.pi.sum(axis=(0, 1))
        bar = min(self.negligible, weight.max())
        lean, total = 0.0, 0.0
        for b, lineage in enumerate(self.lineages):
            for k in range(len(DRIFTS)):
                if weight[b, k] < bar:
                    continue
                alike = [j for j in range(5) if PRIORS[j] == PRIORS[k]]
                heavy = max(alike, key=weight[b].__getitem__)
                m, v = lineage[k].predict(u, gap, lineage[heavy].P)
                p = norm.cdf(m / np.sqrt(1.0 + v))
                noise = self._noise(b, k)
                lean += weight[b, k] * (2.0 * (noise + (1.0 - 2.0 * noise) * p) - 1.0)
                total += weight[b, k]
        return lean / total

    def update(self, x, y, t, noise=0.0):
        """Learn a label that is wrong with the probability ``noise``; gives its probability."""
        now = max(t, self.latest)
        u, gap = self._seen(x, t), now - self.latest
        weight = self.pi.sum(axis=(0, 1))
        probability = agreed = 0.0
        for b, lineage in enumerate(self.lineages):
            for k in range(len(DRIFTS)):
                if weight[b, k] == 0.0:
                    continue
                lapse = self._noise(b, k)
                wrong = wrong_answer(lapse, noise, 2)
                right = lineage[k].learn(u, y, gap, wrong)
                probability += weight[b, k] * (wrong + (1.0 - 2.0 * wrong) * right)
                agreed += weight[b, k] * (lapse + (1.0 - 2.0 * lapse) * right)
                for number, lapse in enumerate(LAPSES):
                    wrong = wrong_answer(lapse, noise, 2)
                    self.pi[:, number, b, k] *= wrong + (1.0 - 2.0 * wrong) * right
        self._settle()
        self._renew(x)
        self.latest, self.label, self.since = now, int(y), self.since + 1
        missed = agreed < 0.5 if y > 0 else agreed <= 0.5
        if missed and self.since >= self.patience:
            self._begin(now)
        return probability

    def _settle(self):
        """The weights add up to one, without slots that have lost; speeds mix."""
        total = self.pi.sum()
        for b in range(self.slots):
            if self.pi[:, :, b].sum() < 1e-3 * total:
                self.pi[:, :, b] = 0.0
        self.pi /= self.pi.sum()
        others = (self.pi.sum(axis=3, keepdims=True) - self.pi) / (len(DRIFTS) - 1)
        self.pi = (1.0 - self.share) * self.pi + self.share * others

    def _begin(self, now):
        b = int(np.argmin(self.pi.sum(axis=(0, 1, 3))))
        self.pi[:, :, b] = 0.0
        self.pi /= self.pi.sum()
        for h, hazard in enumerate(HAZARDS):
            H = 1.0 - (1.0 - hazard) ** (now - self.birth)
            before = self.pi[h].sum(axis=(1, 2))
            self.pi[h] *= 1.0 - H
            self.pi[h, :, b] = (before * H / len(DRIFTS))[:, None]
        self.lineages[b] = self._fresh()
        self.birth, self.since = now, 0


class Controller:
    """The query: a bucket of tokens, and odds that follow the margin and hold it half full.

    A shift makes the odds right on average; a few labels too many or too few pull gently.
    """

    def __init__(self, rate, horizon=10_000):
        self.rate, self.shift, self.usual, self.rows = rate, 0.0, 0.0, 0
        self.loan = min(50.0, 0.1 * rate * horizon)
        self.repay = self.loan / horizon
        self.burst = 2.0 * (16.0 + 100.0 * rate + self.loan)
        self.tokens = self.burst / 2.0
        self.ease = min(1.0, 0.02 / rate)
        self.gain = min(self.ease, 0.3)

    def refill(self):
        if self.rows > 0:
            self.tokens = min(self.burst, self.tokens + self.rate)
            self.loan = max(0.0, self.loan - self.repay)

    def wanted(self, margin, pull):
        size = abs(margin) * (0.4 / self.usual if 0.0 < self.usual < 0.4 else 1.0)
        doubt = max(0.01, max(0.0, 1.0 - size**2) ** 4)
        odds = doubt * self.rate / (1.0 - self.rate) * np.exp(self.shift + pull)
        return odds / (1.0 + odds)

    def probability(self, margin):
        self.refill()
        if self.rate == 1.0:
            return 1.0
        if self.tokens < 1.0:
            return 0.0
        surplus = self.tokens - self.burst / 2.0 + self.loan
        over = np.clip(self.gain * (surplus + 6.0), -4.0, 0.0)
        floor = 0.5 * min(self.rate, 0.25) * np.exp(over) * min(1.0, self.tokens / 8.0) ** 2
        allowed = np.clip(self.tokens / 8.0 - 1.0, 0.0, 1.0)
        pull = np.clip(self.gain * surplus, -4.0, 4.0)
        return floor + (1.0 - floor) * self.wanted(margin, pull) * allowed

    def spend(self, margin, asked):
        self.tokens -= asked
        self.rows += 1
        if self.rate < 1.0:
            floor = 0.5 * min(self.rate, 0.25)
            aim = (self.rate - floor) / (1.0 - floor)
            step = 0.1 * self.ease * (aim - self.wanted(margin, 0.0))
            self.shift = np.clip(self.shift + step, -18.0, 18.0)
        self.usual += (abs(margin) - self.usual) / min(self.rows, 500)


def play(d, rate, X, y, coins, horizon=10_000):
    """Predict, ask, learn; gives margins, propensities, what was asked, and the model."""
    model, query = Tracker(d), Controller(rate, horizon)
    rows = []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        margin = model.margin(x, t)
        q = query.probability(margin)
        asked = bool(coins[t - 1] < q)
        query.spend(margin, asked)
        model.see(x)
        if asked:
            model.update(x, label, t)
        rows.append((margin, q, asked))
    margin, q, asked = map(np.array, zip(*rows, strict=True))
    return margin, q, asked, model
