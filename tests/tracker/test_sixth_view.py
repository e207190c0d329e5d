"""A further view is one file: a level beside the Tracker is its equations (decision 29)."""

import numpy as np
import pytest

import lasec
from reference.level import Leveled
from sixth_view import Leveling

ROWS = 60


@pytest.mark.parametrize("seed", [3, 4])
def test_a_level_beside_the_tracker_is_its_twin(seed):
    X, y = lasec.streams.switching(ROWS, dimension=4, every=40, seed=seed)
    y = np.where((np.arange(ROWS) // 25) % 2 == 0, y, 1).astype(float)  # labels follow a level
    rule, twin = Leveling(), Leveled(4)
    state, told = rule.init(4), np.random.default_rng(seed).random(ROWS) < 0.6
    for t in range(1, ROWS + 1):
        x = X[t - 1]
        assert rule.margin(state, x, t).margin == pytest.approx(twin.margin(x, t), abs=1e-5)
        rule.note(state, x)
        twin.see(x)
        if told[t - 1]:
            rule.update(state, x, y[t - 1], 0.0, t)
            twin.update(x, y[t - 1], t)
    assert state.omega == pytest.approx(twin.omega, abs=1e-5)
    assert state.omega[1] > 0.5  # it has found the level
