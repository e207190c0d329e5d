"""Models out of a checkpoint and into a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lasec
import lasec.spark
from lasec.nested import leaves
from spark import desk


def test_every_key_has_its_model(spark: Any, served: Any) -> None:
    table = lasec.spark.models(spark, served.checkpoint, desk.job()).toPandas()
    told = desk.told(spark, served.path, "predictions")
    assert dict(zip(table["key"], table["rows"], strict=True)) == dict(told.groupby("key").size())
    receipts = desk.told(spark, served.path, "receipts")
    learned = receipts[receipts["outcome"] == "learned"].groupby("key").size()
    assert dict(zip(table["key"], table["told"], strict=True)) == dict(learned)
    assert table["asked"].sum() == len(desk.told(spark, served.path, "questions"))
    assert len({bytes(model) for model in table["model"]}) == desk.KEYS


def test_a_file_says_what_the_job_says_next(
    spark: Any, served: Any, continued: Any, tmp_path: Path
) -> None:
    first = desk.firsts(continued.path, spark).iloc[0]
    events = desk.rows(served.folder, 2)
    features = events.loc[events["id"] == first["id"], "features"].item()
    path = tmp_path / "one.lasec"
    lasec.spark.export(spark, served.checkpoint, desk.job(), first["key"], path)
    learner = lasec.Learner.load(path)
    decision = learner.ask(np.frombuffer(features))
    assert learner.updates > 0
    assert learner.name == desk.job().model.name
    assert (decision.label, decision.ticket) == (first["label"], first["round"])
    for name in ("margin", "variance", "propensity"):
        assert getattr(decision, name) == pytest.approx(first[name], abs=1e-12)
    with pytest.raises(KeyError, match="no model of 'nobody'"):
        lasec.spark.export(spark, served.checkpoint, desk.job(), "nobody", path)


def test_a_job_begins_with_models(spark: Any, served: Any, tmp_path: Path) -> None:
    """Those of a table, and those of files; keys without rows and keys without models too."""
    desk.write(tmp_path / "in", range(2, 3))
    job = desk.job()
    kept = {
        row["key"]: lasec.Learner.from_bytes(bytes(row["model"]))
        for row in lasec.spark.models(spark, served.checkpoint, job).collect()
    }
    del kept["key 0"]
    absent = lasec.Learner(job.model.rule, job.model.query, dimension=desk.DIMENSION, seed=9)
    absent.learn(np.ones(desk.DIMENSION), -1)
    absent.save(tmp_path / "absent.lasec")
    begun = lasec.spark.warm(spark, kept | {"absent": tmp_path / "absent.lasec"})
    desk.run(spark, job, tmp_path / "in", tmp_path / "home", events=True, warm=begun)
    told = desk.told(spark, tmp_path / "home", "predictions").set_index("id")
    blank = lasec.Learner.from_bytes(job.model.to_bytes())
    for event in desk.rows(tmp_path / "in", 2).itertuples():
        decision = kept.get(event.key, blank).ask(np.frombuffer(event.features))
        found = told.loc[event.id]
        assert (decision.label, decision.ticket) == (found["label"], found["round"])
        assert decision.margin == pytest.approx(found["margin"], abs=1e-12)
    desk.write(tmp_path / "in", range(3, 4))
    desk.run(spark, job, tmp_path / "in", tmp_path / "home", events=True)  # not warm any more
    checkpoint = str(tmp_path / "home" / "checkpoint")
    after = lasec.spark.models(spark, checkpoint, job).toPandas().set_index("key")
    fourth = desk.rows(tmp_path / "in", 3).groupby("key").size()
    for key, learner in (kept | {"key 0": blank, "absent": absent}).items():
        assert after.loc[key, "rows"] == learner.rows + fourth.get(key, 0)
    saved = lasec.Learner.from_bytes(bytes(after.loc["absent", "model"]))
    assert all(
        (a == b).all() for a, b in zip(leaves(saved.state), leaves(absent.state), strict=True)
    )


def test_a_model_of_another_kind_is_refused(spark: Any, served: Any, tmp_path: Path) -> None:
    desk.write(tmp_path / "in", range(1))
    other = lasec.spark.warm(
        spark, {"key 1": lasec.LASEC_SS(dimension=9, drift=0.01, aggressiveness=0.1)}
    )
    with pytest.raises(Exception, match="model of 'key 1' does not fit: dimension: "):
        desk.run(spark, desk.job(), tmp_path / "in", tmp_path / "home", warm=other)
    with pytest.raises(ValueError, match=r"warm: missing columns \['model'\]"):
        desk.run(spark, desk.job(), tmp_path / "in", tmp_path / "home", warm=other.drop("model"))
    with pytest.raises(Exception, match="it belongs to another job"):
        lasec.spark.models(spark, served.checkpoint, desk.job(shards=5)).collect()
