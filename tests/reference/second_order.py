"""Second-order algorithms with their matrices inverted in every row."""

import numpy as np
from numpy.linalg import inv


class LASEC:
    """Moroshko and Crammer (2014), Figure 1; c = inf is allowed and drops every 1/c."""

    def __init__(self, d, b, c):
        self.identity = np.eye(d)
        self.c_inverse = 0.0 if np.isinf(c) else 1.0 / c
        self.D = (b if np.isinf(c) else b * c / (c - b)) * self.identity
        self.e = np.zeros(d)

    def _shrunk_e(self):
        return inv(self.identity + self.c_inverse * self.D) @ self.e

    def _S(self, x):
        return inv(inv(self.D) + self.c_inverse * self.identity) + np.outer(x, x)

    def margin(self, x):
        S_inverse = inv(self._S(x))
        return x @ S_inverse @ self._shrunk_e(), x @ S_inverse @ x

    def update(self, x, y, draw):
        self.D, self.e = self._S(x), self._shrunk_e() + y * x

    def state(self):
        D_inverse = inv(self.D)
        return {"weights": D_inverse @ self.e, "cov": D_inverse + self.c_inverse * self.identity}


class SecondOrderPerceptron:
    """Cesa-Bianchi, Conconi, Gentile (2005), Figure 2: X holds the missed rows as columns."""

    def __init__(self, d, b):
        self.b, self.X, self.v = b, np.zeros((d, 0)), np.zeros(d)

    def margin(self, x):
        S = np.column_stack([self.X, x])
        inverse = inv(self.b * np.eye(x.size) + S @ S.T)
        return (inverse @ self.v) @ x, x @ inverse @ x

    def update(self, x, y, draw):
        self.X, self.v = np.column_stack([self.X, x]), self.v + y * x

    def state(self):
        inverse = inv(self.b * np.eye(self.v.size) + self.X @ self.X.T)
        return {"weights": inverse @ self.v, "cov": inverse}


class BBQ:
    """Cesa-Bianchi, Gentile, Orabona (2009): A_t = b I + S S' + x_t x_t', p_t = x_t'A_t^-1 S Y."""

    def __init__(self, d, b):
        self.b, self.d, self.rows, self.labels = b, d, [], []

    def _gram(self):
        S = np.array(self.rows).reshape(-1, self.d).T
        return self.b * np.eye(self.d) + S @ S.T, S @ np.array(self.labels)

    def margin(self, x):
        A, SY = self._gram()
        inverse = inv(A + np.outer(x, x))
        return x @ inverse @ SY, x @ inverse @ x

    def update(self, x, y, draw):
        self.rows.append(x)
        self.labels.append(float(y))

    def state(self):
        A, SY = self._gram()
        return {"weights": inv(A) @ SY, "cov": inv(A)}


class AROW:
    """Crammer, Kulesza, Dredze (2009), with the precision kept and inverted: Sigma^-1 += xx'/r."""

    def __init__(self, d, r):
        self.r, self.mu, self.precision = r, np.zeros(d), np.eye(d)

    def margin(self, x):
        v = x @ inv(self.precision) @ x
        return self.mu @ x, v / (1.0 + v)

    def update(self, x, y, draw):
        Sigma = inv(self.precision)
        if self.mu @ x * y < 1:
            beta = 1.0 / (x @ Sigma @ x + self.r)
            alpha = max(0.0, 1.0 - y * (x @ self.mu)) * beta
            self.mu = self.mu + alpha * y * (Sigma @ x)
            self.precision = self.precision + np.outer(x, x) / self.r

    def state(self):
        return {"weights": self.mu, "cov": inv(self.precision)}


class DualLASEC:
    """LASEC in a kernel's feature space, from inner products of rows alone.

    With Phi the missed rows as columns and alpha = 1/b + k/c after k updates, the covariance is
    alpha I - Phi M Phi' and the weights are Phi beta.
    """

    def __init__(self, b, c, kernel=np.dot):
        self.alpha, self.c_inverse, self.kernel = 1.0 / b, 1.0 / c, kernel
        self.support, self.M, self.beta = [], np.zeros((0, 0)), np.zeros(0)

    def _raw(self, x):
        kx = np.array([self.kernel(s, x) for s in self.support])
        m = self.beta @ kx if self.support else 0.0
        q = self.alpha * self.kernel(x, x) - (kx @ self.M @ kx if self.support else 0.0)
        return kx, m, q

    def margin(self, x):
        _, m, q = self._raw(x)
        return m / (1.0 + q), q / (1.0 + q)

    def update(self, x, y, draw):
        kx, m, q = self._raw(x)
        gamma = np.append(-self.M @ kx if self.support else [], self.alpha)
        padded = np.pad(self.M, ((0, 1), (0, 1)))
        self.M = padded + np.outer(gamma, gamma) / (1.0 + q)
        self.beta = np.append(self.beta, 0.0) + gamma * (y - m) / (1.0 + q)
        self.alpha += self.c_inverse
        self.support.append(x)
