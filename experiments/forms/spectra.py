"""Simulated wide rows: a power-law spectrum in random directions, which may turn meanwhile."""

from __future__ import annotations

import numpy as np
from scipy.stats import special_ortho_group

from experiments.forms.arrays import Matrix
from lasec.streams import Stream

NOISE = 0.1  # of the standard deviation of the score


def rotation(dimension: int, rng: np.random.Generator) -> Matrix:
    """A random rotation, uniform over all."""
    made: Matrix = special_ortho_group.rvs(dimension, random_state=rng)
    return made


def components(rows: int, dimension: int, rng: np.random.Generator) -> Matrix:
    """Independent columns; the j-th has the standard deviation j^(-1/2)."""
    scale = np.sqrt(np.arange(1, dimension + 1))
    return np.asarray(rng.standard_normal((rows, dimension)) / scale)


def unit(X: Matrix) -> Matrix:
    """Rows of length 1."""
    return np.ascontiguousarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def spectrum(rows: int, dimension: int, seed: int) -> Stream:
    """Rows with a power-law spectrum in random directions, a linear concept, and noise.

    >>> spectrum(100, 8, seed=1)
    Stream(rows=100, dimension=8, concepts=1)
    """
    rng = np.random.default_rng(seed)
    turn = rotation(dimension, rng)
    return _labeled(unit(components(rows, dimension, rng) @ turn.T), rng)


def rotating(rows: int, dimension: int, seed: int) -> Stream:
    """The same, but the directions turn from one random rotation to another; the concept stays.

    The path is the geodesic: all angles between the two rotations grow in proportion.
    """
    rng = np.random.default_rng(seed)
    first, last = rotation(dimension, rng), rotation(dimension, rng)
    values, vectors = np.linalg.eig(first.T @ last)
    progress = np.linspace(0.0, 1.0, rows)[:, None]
    path = np.exp(1j * np.angle(values) * progress)
    turned = (components(rows, dimension, rng) @ vectors.conj()) * path
    return _labeled(unit((turned @ vectors.T).real @ first.T), rng)


def _labeled(X: Matrix, rng: np.random.Generator) -> Stream:
    """Labels by the sign of a linear score with noise."""
    score = X @ rng.standard_normal(X.shape[1])
    score += NOISE * score.std() * rng.standard_normal(len(X))
    y = np.where(score >= 0.0, 1, -1).astype(np.int8)
    return Stream(X, y, np.zeros(len(y), dtype=np.int64))
