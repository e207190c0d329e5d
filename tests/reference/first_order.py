"""Perceptrons, each written in a form that differs from the incremental one of the library."""

import numpy as np


class Perceptron:
    """Rosenblatt (1958): the weights are the sum of all missed y x."""

    def __init__(self, d):
        self.missed, self.d = [], d

    def weights(self):
        return np.sum(self.missed, axis=0) if self.missed else np.zeros(self.d)

    def margin(self, x):
        return self.weights() @ x, 0.0

    def update(self, x, y, draw):
        self.missed.append(y * x)

    def state(self):
        return {"weights": self.weights()}


class Shifting(Perceptron):
    """Cavallanti, Cesa-Bianchi, Gentile (2007), unrolled.

    The j-th missed example has been shrunk by each later update: prod_{k > j} (1 - lambda_k), with
    lambda_k = lambda/(lambda + k) and k counting the updates before.
    """

    def __init__(self, d, lam):
        super().__init__(d)
        self.lam = lam

    def weights(self):
        n = len(self.missed)
        kept = [1.0 - self.lam / (self.lam + k) for k in range(1, n)]
        factors = np.append(np.cumprod(kept[::-1])[::-1], 1.0) if n else np.zeros(0)
        return factors @ np.array(self.missed).reshape(n, self.d)

    def state(self):
        return {"weights": self.weights(), "steps": np.array([len(self.missed)])}


class Modified(Perceptron):
    """Blum et al. (1998): w <- (I - 2 xx'/|x|^2) w as a matrix; factor 1 is the projection."""

    def __init__(self, d, factor):
        super().__init__(d)
        self.w, self.factor = np.zeros(d), factor

    def weights(self):
        return self.w

    def update(self, x, y, draw):
        if not self.w.any():
            self.w = y * x
        elif x.any():
            self.w = (np.eye(self.d) - self.factor * np.outer(x, x) / (x @ x)) @ self.w


class Budget(Perceptron):
    """Cavallanti et al. (2007): a full support loses one member, drawn uniformly, before it gains.

    The newcomer takes the place of the one that leaves.
    """

    def __init__(self, d, B):
        super().__init__(d)
        self.B, self.order, self.updates = B, [], 0

    def update(self, x, y, draw):
        if len(self.missed) < self.B:
            self.missed.append(y * x)
            self.order.append((x, y))
        else:
            place = int(np.floor(draw * self.B))
            self.missed[place], self.order[place] = y * x, (x, y)
        self.updates += 1

    def state(self):
        rows, labels = np.zeros((self.B, self.d)), np.zeros(self.B)
        for place, (x, y) in enumerate(self.order):
            rows[place], labels[place] = x, y
        steps = np.array([self.updates])
        return {"weights": self.weights(), "rows": rows, "labels": labels, "steps": steps}
