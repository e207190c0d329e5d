"""Two published online active learners, by their papers' equations, one compiled loop each.

Both ask by a coin whose probability falls with the margin, and learn from the asked rows whose
hinge loss max(0, 1 - y p) is above 0, mistakes or not. The prediction is sign(p), sign(0) = +1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.contestants import Parameters
from lasec.streams import Stream

njit: Any = numba.njit

Array = NDArray[np.float64]
STEPS = {"PA": 0, "PA-I": 1, "PA-II": 2}


class Trace(NamedTuple):
    """What a run did, a row an entry, and the weights it ended with."""

    margin: Array
    propensity: Array
    asked: NDArray[np.bool_]
    weights: Array


def paa(
    X: Array, y: NDArray[np.int8], coins: Array, delta: float, variant: str, C: float = math.inf
) -> Trace:
    """Passive-aggressive active learning (PAA, PAA-I, PAA-II).

    J. Lu, P. Zhao and S. C. H. Hoi. Online passive-aggressive active learning. Machine Learning
    103(2), 2016: with p_t = w_t'x_t, ask with probability delta / (delta + |p_t|);
    if asked, w_{t+1} = w_t + tau_t y_t x_t, where, for the hinge loss l_t, tau_t is

        PA: l_t / |x_t|^2,  PA-I: min(C, l_t / |x_t|^2),  PA-II: l_t / (|x_t|^2 + 1 / (2 C)).
    """
    return Trace(*_paa(X, y, coins, delta, STEPS[variant], C))


def soal(
    X: Array, y: NDArray[np.int8], coins: Array, delta: float, eta: float, gamma: float
) -> Trace:
    """Second-order online active learning (SOAL).

    S. Hao, J. Lu, P. Zhao, C. Zhang, S. C. H. Hoi and C. Miao. Second-order online active learning
    and its applications. IEEE Transactions on Knowledge and Data Engineering 30(7), 2018. The mean
    w_1 is 0, the covariance S_1 the identity. With p_t = w_t'x_t and v_t = x_t'S_t x_t,

        c_t = -(eta / 2) / (1 / v_t + 1 / gamma),   rho_t = |p_t| + c_t:

    ask if rho_t <= 0, where the model is not sure of itself, and else with probability
    delta / (delta + rho_t). On an asked row with a hinge loss above 0,

        S_{t+1} = S_t - S_t x_t x_t'S_t / (gamma + v_t),   w_{t+1} = w_t + eta y_t S_{t+1} x_t.

    So c_t is -(eta / 2) x_t'S_{t+1} x_t: half of what the step would add to the margin. The mean
    moves with the covariance after its step, S_{t+1}, as in AROW.
    """
    return Trace(*_soal(X, y, coins, delta, eta, gamma))


@njit(cache=True)
def step_paa(w, x, y, p, step, C):  # type: ignore[no-untyped-def]
    """Learn a label from a row of margin p, as :func:`paa` says."""
    loss = 1.0 - y * p
    if loss <= 0.0:
        return
    square = np.dot(x, x)
    if step == 2:
        square += 0.5 / C
    tau = loss / square if square > 0.0 else 0.0
    if step == 1:
        tau = min(C, tau)
    w += tau * y * x


@njit(cache=True)
def step_soal(w, S, x, y, p, eta, gamma):  # type: ignore[no-untyped-def]
    """Learn a label from a row of margin p, as :func:`soal` says."""
    if 1.0 - y * p <= 0.0:
        return
    s = np.dot(S, x)
    shrink = 1.0 / (gamma + np.dot(x, s))
    for i in range(len(x)):
        for j in range(len(x)):
            S[i, j] -= shrink * s[i] * s[j]
    w += eta * y * gamma * shrink * s


@njit(cache=True)
def _paa(X, y, coins, delta, step, C):  # type: ignore[no-untyped-def]
    rounds, dimension = X.shape
    w = np.zeros(dimension)
    margin, propensity = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        x = X[t]
        p = np.dot(w, x)
        margin[t] = p
        propensity[t] = 1.0 / (1.0 + abs(p) / delta)
        if coins[t] < propensity[t]:
            step_paa(w, x, y[t], p, step, C)
    return margin, propensity, coins < propensity, w


@njit(cache=True)
def _soal(X, y, coins, delta, eta, gamma):  # type: ignore[no-untyped-def]
    rounds, dimension = X.shape
    w, S = np.zeros(dimension), np.eye(dimension)
    margin, propensity = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        x = X[t]
        p = np.dot(w, x)
        v = np.dot(x, np.dot(S, x))
        after = v * gamma / (v + gamma)  # 1 / (1 / v + 1 / gamma), which is x'S_{t+1}x
        rho = abs(p) - 0.5 * eta * after
        margin[t] = p
        propensity[t] = 1.0 if rho <= 0.0 else 1.0 / (1.0 + rho / delta)
        if coins[t] < propensity[t]:
            step_soal(w, S, x, y[t], p, eta, gamma)
    return margin, propensity, coins < propensity, w


def run_paa(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Accuracy and share of labels asked."""
    return _shares(stream, paa(*_given(stream, seed), **parameters))


def run_soal(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Accuracy and share of labels asked."""
    return _shares(stream, soal(*_given(stream, seed), **parameters))


def grid_paa(scale: float) -> Iterator[Parameters]:
    """PA, and PA-I and PA-II with C in units of one over the mean squared norm of a row."""
    yield {"variant": "PA"}
    for variant, C in product(("PA-I", "PA-II"), (0.01, 0.1, 0.3, 1.0)):
        yield {"variant": variant, "C": C / scale}


def grid_soal(scale: float) -> Iterator[Parameters]:
    """gamma in units of the mean squared norm of a row, eta in units of one over it."""
    for gamma, eta in product((0.01, 0.1, 1.0, 10.0, 100.0), (0.1, 1.0, 10.0, 100.0)):
        yield {"gamma": gamma * scale, "eta": eta / scale}


def _given(stream: Stream, seed: int) -> tuple[Array, NDArray[np.int8], Array]:
    return stream.X, stream.y, lasec.uniforms(seed, 0, len(stream.y))[:, 0]


def _shares(stream: Stream, trace: Trace) -> tuple[float, float]:
    right = (trace.margin >= 0.0) == (stream.y > 0)
    return float(right.mean()), float(trace.asked.mean())
