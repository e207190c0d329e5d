"""The job in Spark is its learners: 1,000 keys, every prediction, question, receipt and state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
import lasec.spark as ls
from spark import feeding
from spark.twin import Event, Label, Twin

KEYS, D, BATCHES, ROWS = 1_000, 6, 4, 3_000


def stream(spark: Any) -> feeding.Batches:
    """Events of a thousand keys; labels come in their own batch, later, or never."""
    names = [f"{b}-{i}" for b in range(BATCHES) for i in range(ROWS)]
    table = spark.createDataFrame(pd.DataFrame({"id": names}))
    hashes = table.selectExpr("id", "xxhash64(id) as number").toPandas()
    number = dict(zip(hashes.id, hashes.number.to_numpy().view(np.uint64).tolist(), strict=True))
    rng = np.random.default_rng(5)
    W = rng.standard_normal((KEYS, D))
    out: feeding.Batches = [([], []) for _ in range(BATCHES)]
    for b in range(BATCHES):
        for i in range(ROWS):
            k, x, name = int(rng.integers(KEYS)), rng.standard_normal(D), f"{b}-{i}"
            event = Event(f"tenant {k}/ü", name, 1e3 * b + i // 8, x, number[name])
            out[b][0].append(event)
            late = b + int(rng.choice(3))
            if late < BATCHES and rng.random() < 0.6:
                y = 1 if x @ W[k] > 0 else -1
                label = Label(event.key, name, 1e3 * late + float(rng.integers(1_000)), y,
                              number[name])  # fmt: skip
                out[late][1].append(label)
    return out


@pytest.fixture(scope="module")
def served(spark: Any, tmp_path_factory: Any) -> tuple[Any, ls.Job, Path, Twin]:
    folder = tmp_path_factory.mktemp("same")
    model = lasec.LASEC_SS(dimension=D, drift=0.01, aggressiveness=0.1, seed=11)
    job = ls.Job(model, shards=16, patience=0.0, seed=11)
    batches = stream(spark)
    feeding.write(folder, batches)
    feeding.run(spark, job, folder)
    twin = Twin(model, 11, job.max_age, 0.0)
    for events, labels in batches:
        twin.batch(events, labels)
    return spark, job, folder / "run", twin


def test_every_prediction(served: Any) -> None:
    spark, _, folder, twin = served
    made = ls.read(spark, str(folder / "out")).toPandas().set_index(["key", "id"]).sort_index()
    names = ["key", "id", "label", "margin", "variance", "propensity", "asked", "round"]
    truth = pd.DataFrame(twin.predictions, columns=names).set_index(["key", "id"]).sort_index()
    assert len(made) == BATCHES * ROWS
    assert made.index.equals(truth.index)
    assert made["label"].tolist() == truth["label"].tolist()
    assert made["round"].tolist() == truth["round"].tolist()
    for name in ("margin", "variance", "propensity"):
        np.testing.assert_allclose(made[name], truth[name], rtol=1e-12, atol=1e-12)
    asked = ls.read(spark, str(folder / "out"), "questions").toPandas()
    wanted = truth[truth.asked]
    assert sorted(zip(asked.key, asked.id, strict=True)) == wanted.index.tolist()
    assert 0.1 < len(wanted) / len(truth) < 0.9


def test_every_receipt(served: Any) -> None:
    spark, _, folder, twin = served
    told = ls.read(spark, str(folder / "out"), "receipts").toPandas()
    said = sorted(told[["key", "id", "y", "outcome"]].itertuples(index=False, name=None))
    assert said == sorted(twin.receipts)
    assert {row[3] for row in said} >= {"learned", "unasked"}


def test_every_model(served: Any) -> None:
    spark, job, folder, twin = served
    seen = set[str]()
    kept = ls.state(spark, str(folder / "checkpoint")).toPandas()
    for _, rows in kept.groupby("shard"):
        store = ls.PlainStore()
        for part, name, value in rows[["part", "name", "value"]].itertuples(index=False):
            store.put(part, name, bytes(value))
        shard = ls.Shard(job.config, store)
        fleet = shard.state.load(np.arange(len(shard.state.index.keys)))
        for row, key in enumerate(shard.state.index.keys):
            ours, truth = fleet.learner(row), twin.learner(key)
            np.testing.assert_allclose(ours.state.weights, truth.state.weights, atol=1e-12)
            np.testing.assert_allclose(ours.state.cov, truth.state.cov, atol=1e-12)
            counts = ("rows", "asked", "told", "updates", "seed")
            assert [getattr(ours, n) for n in counts] == [getattr(truth, n) for n in counts]
            seen.add(key)
    assert len(seen) == len(twin.learners) >= 0.97 * KEYS
