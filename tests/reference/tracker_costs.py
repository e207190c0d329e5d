"""Class weights by their equations, around the Tracker's probabilities; plain and slow."""

import numpy as np

from reference.tracker import Controller


class Costs:
    """The weight of each class: as given, or one over its mean probability as well."""

    def __init__(self, given, balanced, tilt=0.25):
        self.given, self.balanced, self.tilt = np.array(given, dtype=float), balanced, tilt
        self.shares, self.rows = np.full(len(given), 1.0 / len(given)), []

    def weights(self):
        return self.given / np.maximum(self.shares, 1e-4) if self.balanced else self.given

    def decide(self, p):
        """The class, and the margin that a query sees."""
        w = self.weights()
        cost, tilted = w * p, w**self.tilt * p
        top = np.sort(tilted / tilted.sum())
        best = int(cost[1] >= cost[0]) if len(p) == 2 else int(np.argmax(cost))
        return best, top[-1] - top[-2]

    def learn(self, before):
        """With a label: the mean over the last rows, a quarter as old as the stream at most."""
        if self.balanced and self.rows:
            n, m = min(0.25 * before, 5_000), len(self.rows)
            self.shares = (n * self.shares + m * np.mean(self.rows, axis=0)) / (n + m)
        self.rows = []


def play(model, costs, rate, X, y, coins):
    """Predict, ask, learn; gives probabilities, labels, propensities and what was asked."""
    query, rows = Controller(rate), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p = model.probabilities(x, t)
        best, lead = costs.decide(p)
        q = query.probability(lead)
        asked = bool(coins[t - 1] < q)
        query.spend(lead, asked)
        costs.rows.append(p)
        model.see(x)
        if asked:
            costs.learn(model.n)
            model.update(x, label, t)
        rows.append((p, best + 1 if model.K > 2 else (-1, 1)[best], q, asked))
    return tuple(map(np.array, zip(*rows, strict=True)))
