"""What needs no model: the label seen last, and the majority of those seen.

Where labels come in runs, as in ``kdd``, the first is hard to beat, and belongs beside any result.
Labels are asked uniformly; before the first the prediction is +1, as it is where both are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lasec
from experiments.contestants import Parameters
from lasec.streams import Stream


def uniformly_asked(stream: Stream, rate: float, seed: int) -> NDArray[np.bool_]:
    """Uniform asking: which labels are asked, the same for every learner that asks so."""
    return lasec.uniforms(seed, 0, len(stream.y))[:, 0] < rate


def persistence(
    stream: Stream, rate: float, parameters: Parameters, seed: int
) -> tuple[float, float]:
    """Predicts the label that was asked last."""
    asked = uniformly_asked(stream, rate, seed)
    last = np.maximum.accumulate(np.where(asked, np.arange(len(asked)), -1))
    before = np.append(-1, last[:-1])
    predicted = np.where(before >= 0, stream.y[before], 1)
    return float((predicted == stream.y).mean()), float(asked.mean())


def majority(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Predicts the label that was seen more often among those asked."""
    asked = uniformly_asked(stream, rate, seed)
    balance = np.cumsum(np.where(asked, stream.y, 0), dtype=np.int64)
    predicted = np.where(np.append(0, balance[:-1]) >= 0, 1, -1)
    return float((predicted == stream.y).mean()), float(asked.mean())
