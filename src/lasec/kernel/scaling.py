"""Online standardization, one row after the other."""

from __future__ import annotations

import math

from lasec.types import Matrix, Vector

FARTHEST = 20.0  # standard deviations; values beyond are clipped


def scale_rows(X: Matrix, count: Vector, mean: Vector, spread: Vector, out: Matrix) -> None:
    """out <- (X - mean) / deviation, each row by the rows up to it; the three sums are written.

    The sums are those of Welford (Technometrics 4(3), 1962): ``spread`` is the sum of squared
    distances from the mean. A NaN is left out of them and becomes 0, which is the mean.
    """
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            if math.isnan(x):
                out[i, j] = 0.0
                continue
            count[j] += 1.0
            before = x - mean[j]
            mean[j] += before / count[j]
            after = x - mean[j]
            spread[j] += before * after
            deviation = math.sqrt(spread[j] / count[j])
            if deviation > 1e-12 * abs(mean[j]):
                out[i, j] = min(max(after / deviation, -FARTHEST), FARTHEST)
            else:
                out[i, j] = 0.0
