"""Diagonal second-order algorithms with dense arrays: every variance drifts with every update."""

import numpy as np


class DiagonalLASEC:
    """LASEC whose D is a diagonal, with C^-1 + x x' made diagonal after each update."""

    def __init__(self, d, b, c):
        self.w, self.V, self.c_inverse = np.zeros(d), np.full(d, 1.0 / b), 1.0 / c

    def margin(self, x):
        return x @ self.w / (1.0 + x**2 @ self.V)

    def update(self, x, y):
        self.w = self.w + self.V * x * (y - x @ self.w) / (1.0 + x**2 @ self.V)
        precision = np.diag(np.diag(1.0 / self.V) + np.outer(x, x))
        self.V = 1.0 / precision + self.c_inverse


class DiagonalAROW:
    """AROW with its objective minimized over diagonal covariances."""

    def __init__(self, d, r):
        self.mu, self.V, self.r = np.zeros(d), np.ones(d), r

    def margin(self, x):
        return x @ self.mu

    def update(self, x, y):
        loss = 1.0 - y * (x @ self.mu)
        if loss > 0.0:
            self.mu = self.mu + y * loss / (x**2 @ self.V + self.r) * self.V * x
            self.V = 1.0 / (1.0 / self.V + x**2 / self.r)
