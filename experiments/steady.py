"""The first budget of lasec, under which the peers of some published tables asked.

Every window of 1,000 rows is held to about a tenth: see docs/decisions/0010-the-budget.md.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

import lasec

WINDOW, AGGRESSIVENESS, AUDIT, CERTAIN = 1_000.0, 0.1, 0.2, 1.0 - 1e-6
ROWS, TOKENS, BOOST, SHIFT = range(4)


@register_jitable
def _settled(rate: float, horizon: float) -> tuple[float, float, float]:
    """The warm-up, the size of the bucket, and how hard a surplus of labels pulls."""
    labels = rate * min(WINDOW, horizon)
    early = min(50.0, 0.05 * min(1.0, labels / 50.0) * rate * horizon)
    firm = max(0.08, min(8.0, (100.0 / max(rate * WINDOW, 1e-9)) ** 3))
    return early, 2.0 * (16.0 + 0.1 * labels + early), firm


@register_jitable
def _account(rate: float, horizon: float, state: Any) -> tuple[float, float]:
    """Tokens and boost as of this row."""
    early, burst, _ = _settled(rate, horizon)
    ticks = 1.0 if state[ROWS] > 0.0 else 0.0
    tokens = min(burst, state[TOKENS] + rate * ticks)
    return tokens, max(0.0, state[BOOST] - early / horizon * ticks)


@lasec.query
class Steady(NamedTuple):
    """Ask by the margin, ``rate`` labels a row, in every window of 1,000 rows."""

    rate: float
    horizon: float

    def init(self) -> NDArray[np.float64]:
        """Nothing asked yet."""
        early, burst, _ = _settled(self.rate, self.horizon)
        return np.array([0.0, burst / 2.0, early, 0.0])

    def chance(self, margin: Any, state: Any, now: Any) -> float:
        """A proportional and an integral term move the odds; the last eight tokens are kept."""
        tokens, boost = _account(self.rate, self.horizon, state)
        if self.rate >= 1.0:
            return 1.0
        if tokens < 1.0:
            return 0.0
        _, burst, firm = _settled(self.rate, self.horizon)
        p = min(1.0 / (1.0 + abs(margin.margin) / AGGRESSIVENESS), CERTAIN)
        u = firm * (tokens - burst / 2.0 + boost) + state[SHIFT]
        odds = math.exp(min(max(u, -18.0), 18.0))
        last = min(1.0, max(0.0, tokens / min(8.0, burst / 4.0) - 1.0))
        least = AUDIT * self.rate
        return float(least + (1.0 - least) * (p * odds / (1.0 - p + p * odds)) * last)

    def spend(self, margin: Any, state: Any, asked: bool, now: Any) -> None:
        """Remember a row."""
        tokens, boost = _account(self.rate, self.horizon, state)
        _, burst, firm = _settled(self.rate, self.horizon)
        state[ROWS] += 1.0
        state[TOKENS], state[BOOST] = tokens - asked, boost
        s = tokens - asked - burst / 2.0 + boost
        shift = state[SHIFT] + self.rate * min(firm, 0.3) ** 2 / 4.0 * s
        state[SHIFT] = min(max(shift, -18.0), 18.0)

    def probability(self, margin: Any, t: int) -> float:
        """The probability of asking in a first row."""
        return self.chance(margin, self.init(), None)
