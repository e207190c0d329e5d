"""A Tracker in double precision, to compare with equations that are."""

import numpy as np


def in_double_precision(state):
    """The same state with its covariances in double precision."""
    core = state.core
    dense = core.dense._replace(covs=core.dense.covs.astype(np.float64))
    return state._replace(core=core._replace(dense=dense))


def in_double(tracker):
    """The same Tracker, in place."""
    tracker.state = in_double_precision(tracker.state)
    return tracker
