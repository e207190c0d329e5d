"""The bounds of Moroshko and Crammer (2014), section 4, symbol by symbol.

The algorithm is played by its Figure 1 with matrices inverted in every row, and each sum is taken
as the paper writes it: over rows, one at a time.
"""

from math import log, sqrt
from types import SimpleNamespace

import numpy as np
from numpy.linalg import det, inv

from reference.second_order import LASEC


def transcribed(stream, b, c, a=np.inf, draws=None):
    """One run: M as rows, and the sums that the bounds are made of."""
    T, d = stream.X.shape
    model = LASEC(d, b, c)
    D_0 = model.D.copy()
    M, B, trace_sum, mistakes, queries = [], 0.0, 0.0, 0, 0.0
    for t in range(T):
        x, y = stream.X[t], int(stream.y[t])
        p, _ = model.margin(x)
        probability = 1.0 if np.isinf(a) else a / (a + abs(p))
        mistake = (1 if p >= 0 else -1) != y
        mistakes, queries = mistakes + mistake, queries + probability
        if mistake and (np.isinf(a) or draws[t] < probability):
            trace_sum += np.trace(model.D)
            model.update(x, y, 0.0)
            B += x @ inv(model.D) @ x
            M.append(t)
    u = [stream.target[t] for t in M]
    return SimpleNamespace(
        stream=stream, M=M, m=len(M), mistakes=mistakes, queries=queries, B=B, b=b, c=c, d=d, T=T,
        X=max(np.linalg.norm(x) for x in stream.X),
        start=b * (u[0] @ u[0]),
        V=sum((u[k] - u[k - 1]) @ (u[k] - u[k - 1]) for k in range(1, len(u))),
        fit=sum((stream.target[t] @ stream.X[t]) ** 2 for t in M),
        log_det=log(det(model.D / b)),
        trace=np.trace(D_0) / c,
        trace_sum=trace_sum / c,
    )  # fmt: skip


def loss(run, gamma, rounds=None):
    """L_{gamma,T} over all rows, or the part of it over some."""
    s = run.stream
    over = range(run.T) if rounds is None else rounds
    return sum(max(0.0, gamma - s.y[t] * (s.target[t] @ s.X[t])) for t in over)


def A(run):
    return run.start + run.c * run.V + run.fit


def C(run):
    X, c = run.X, run.c
    return run.d / c * max((3 * X**2 + sqrt(X**4 + 4 * X**2 * c)) / 2, run.b + X**2)


def theorem_2(run, gamma):
    return loss(run, gamma) / gamma + sqrt(A(run) * run.B) / gamma


def lemma_7(D, A, B, C, gamma):
    inside = D * A * C / gamma + (A * C) ** 2 / (4 * gamma**2) + A * B
    return D / gamma + A * C / (2 * gamma**2) + sqrt(inside) / gamma


def solved(run, gamma):
    return lemma_7(loss(run, gamma), A(run), run.log_det + run.trace, C(run), gamma)


def corollary_8(run, gamma, V):
    """With eps = b/c; V is what c was set from."""
    eps, dX, T = run.b / run.c, run.d * run.X, run.T
    A = run.start + (sqrt(2) * dX) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3) + run.fit
    B = run.log_det + eps / (1 - eps) * run.d
    C = (4 * dX) ** (2 / 3) * T ** (-1 / 3) * V ** (1 / 3)
    return lemma_7(loss(run, gamma), A, B, C, gamma)


def selective(runs, a, gamma, A, B):
    """The form that Theorem 4, the explicit bound and Corollary 9 share."""
    lost = np.mean([loss(run, gamma, run.M) for run in runs])
    return lost / gamma + a / (2 * gamma**2) * np.mean(A) + np.mean(B) / (2 * a)


def theorem_4(runs, a, gamma):
    return selective(runs, a, gamma, [A(run) for run in runs], [run.B for run in runs])


def explicit_B(run):
    return run.log_det + run.trace + run.T * C(run)


def explicit(runs, a, gamma):
    return selective(runs, a, gamma, [A(run) for run in runs], [explicit_B(run) for run in runs])


def corollary_9_terms(run, V):
    eps, dX, T = run.b / run.c, run.d * run.X, run.T
    return (
        run.start + (sqrt(2) * dX) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3) + run.fit,
        run.log_det + eps / (1 - eps) * run.d + (4 * dX) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3),
    )


def corollary_9(runs, a, gamma, V):
    known = [corollary_9_terms(run, V) for run in runs]
    return selective(runs, a, gamma, [k[0] for k in known], [k[1] for k in known])


def condition(b, X, d, T, V):
    """The corollaries' condition on the drift."""
    mu = max(9 / 8 * X**2, (b + X**2) ** 2 / (8 * X**2))
    return T * sqrt(2) * d * X / mu ** (3 / 2) >= V
