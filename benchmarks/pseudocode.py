"""LASEC as its paper writes it down: matrices D and vectors e, inverted in every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import DRIFT, RIDGE


def rounds(X: Any, y: Any) -> int:
    """Figure 1 of Moroshko and Crammer (2014), every label used; the number of mistakes."""
    b, c, d = RIDGE, 1.0 / DRIFT, X.shape[1]
    eye = np.eye(d)
    D: Any = b * c / (c - b) * eye
    e, mistakes = np.zeros(d), 0
    for x, label in zip(X, y, strict=True):
        S = np.linalg.inv(np.linalg.inv(D) + eye / c) + np.outer(x, x)
        shrunk = np.linalg.inv(eye + D / c) @ e
        p = x @ np.linalg.inv(S) @ shrunk
        if (1 if p >= 0.0 else -1) != label:
            mistakes += 1
            D, e = S, shrunk + label * x
    return mistakes
