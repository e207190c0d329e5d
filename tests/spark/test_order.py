"""The shuffle keeps no order: however a batch comes, what is told and kept is the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lasec
from lasec.spark import Job
from lasec.spark.rows import read
from lasec.spark.shard import Shard
from lasec.spark.store import PlainStore


def table(batch: int) -> pd.DataFrame:
    """Events and labels of many keys that share ids and times; some events come twice, changed."""
    rng = np.random.default_rng(batch)
    keys, places = [f"k{i}" for i in range(12)] * 3, np.repeat([0, 1, 1], 12)
    events = pd.DataFrame({"kind": 0, "key": keys, "id": [f"{batch}-{i}" for i in places]})
    events["number"], events["time"], events["y"] = 7 + places, 100.0 * batch + places, np.nan
    events["features"] = list(rng.standard_normal((len(events), 3)))
    labels = events[::2].assign(kind=1, features=None, y=rng.choice([-1.0, 1.0], len(events) // 2))
    early = labels[:6].assign(id=f"{batch + 1}-0", number=7)
    return pd.concat([events, labels, early], ignore_index=True).assign(raw=None)


def served(seed: int) -> tuple[pd.DataFrame, PlainStore]:
    """What a shard tells and keeps when each batch is shuffled."""
    model = lasec.LASEC_SS(dimension=3, drift=0.01, aggressiveness=0.5)
    config = Job(model, max_age=150.0, seed=0).config
    store, told = PlainStore(), []
    for batch in range(6):
        frame = table(batch).sample(frac=1.0, random_state=seed, ignore_index=True)
        shard = Shard(config, store)
        told.append(shard.batch(read(frame, 3, np.dtype(float)), 10**12))
    return pd.concat(told, ignore_index=True), store


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_leaves_no_trace(seed: int) -> None:
    one, other = served(0), served(seed)
    pd.testing.assert_frame_equal(one[0], other[0], check_exact=True)
    assert one[1] == other[1]
    outcomes = set(one[0].outcome.dropna())
    assert {"learned", "again", "unasked", "expired"} <= outcomes
