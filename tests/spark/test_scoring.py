"""A snapshot applied to tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
import lasec.spark
from lasec.spark.scoring import Snapshot
from spark import desk

MODELS = {
    "alike in all rounds": lasec.LASEC_SS(dimension=3, drift=0.01, aggressiveness=0.1),
    "by the round": lasec.BBQ(dimension=3),
    "with a budget": lasec.Learner(
        lasec.rules.SecondOrder(drift=0.01), lasec.queries.Budgeted(rate=0.2), dimension=3
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_rows_do_not_see_each_other(name: str) -> None:
    """Each is judged as the learner judges its next row, wherever it stands."""
    X, y = lasec.streams.switching(1_500, dimension=3, every=400, seed=2)
    data = MODELS[name].to_bytes()
    learner = lasec.Learner.from_bytes(data)
    learner.run(X[:300], y[:300])
    data, rows = learner.to_bytes(), X[300:]
    judged = Snapshot(data).judge(rows, None)
    for i in (0, 1, 700, 1_199):
        decision = lasec.Learner.from_bytes(data).ask(rows[i])
        assert judged.label[i] == decision.label
        for column in ("margin", "variance", "propensity"):
            assert getattr(judged, column)[i] == pytest.approx(getattr(decision, column), abs=1e-12)


def test_features_of_any_form(spark: Any, tmp_path: Path) -> None:
    X, y = lasec.streams.switching(40, dimension=3, every=40, seed=1)
    learner = lasec.LASEC_SS(dimension=3, drift=0.01, aggressiveness=0.1)
    learner.run(X, y)
    learner.save(tmp_path / "model.lasec")
    score = lasec.spark.scorer(tmp_path / "model.lasec")
    rows = [
        (i, x.tolist(), bytearray(x.tobytes()), ([0, 1, 2], x.tolist())) for i, x in enumerate(X)
    ]
    rows += [(40, [1.0], bytearray(b"1"), ([3], [1.0])), (41, None, None, None)]
    rows += [(42, [1.0, float("nan"), 0.0], bytearray(24), ([], []))]
    schema = (
        "i int, dense array<double>, packed binary, "
        "sparse struct<indices: array<int>, values: array<double>>"
    )
    table = spark.createDataFrame(rows, schema).repartition(3)
    kinds = ("dense", "packed", "sparse")
    scores = [score(kind).alias(kind) for kind in kinds]
    found = table.select("i", *scores).orderBy("i").toPandas()
    for kind in kinds:
        cells = pd.DataFrame(list(found[kind]))
        assert cells["version"].nunique() == 1
        assert cells["version"].notna().all()
        assert cells["margin"].isna()[[40, 41]].all()
        assert cells["label"].isna()[[40, 41]].all()
        assert cells["margin"].isna()[42] == (kind == "dense")
        for i, x in enumerate(X):
            decision = lasec.Learner.load(tmp_path / "model.lasec").ask(x)
            assert cells.loc[i, "label"] == decision.label
            assert cells.loc[i, "propensity"] == pytest.approx(decision.propensity, abs=1e-12)
            assert cells.loc[i, "margin"] == pytest.approx(decision.margin, abs=1e-12)


def test_a_scorer_asks_what_the_job_asks(spark: Any, served: Any, continued: Any) -> None:
    """With the model of a key and its seed, and the same id: the same coin."""
    events = spark.read.parquet(str(served.folder / "events" / "0002.parquet"))
    models = lasec.spark.models(spark, served.checkpoint, desk.job()).collect()
    firsts = desk.firsts(continued.path, spark).set_index("key")
    found = {}
    for row in models[:3]:
        chosen = events.where(events["id"] == firsts.loc[row["key"], "id"])
        cell = lasec.spark.scorer(bytes(row["model"]))("features", "id").alias("scored")
        found[row["key"]] = chosen.select(cell).first()["scored"]
    for key, scored in found.items():
        first = firsts.loc[key]
        assert (scored["label"], scored["asked"]) == (first["label"], first["asked"])
        assert scored["propensity"] == pytest.approx(first["propensity"], abs=1e-12)
        assert np.isclose(scored["margin"], first["margin"], atol=1e-12, rtol=0.0)


def test_a_budget_by_time_is_refused() -> None:
    query = lasec.queries.Budgeted.every("1d", labels=100)
    learner = lasec.Learner(lasec.rules.SecondOrder(), query, dimension=3)
    with pytest.raises(ValueError, match="budget is by time"):
        lasec.spark.scorer(learner)
