"""A job of any classes: the decisions of learners, text as labels, labels nobody asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
import lasec.spark as ls
from lasec.nested import leaves
from lasec.spark.index import seed_of
from spark.box import NOW, Box, event, label, number, outcomes
from spark.twin import coin_of

NAMES = ("ash", "oak", "yew")
D, ROWS = 2, 90


def model(names: Any = NAMES, **options: Any) -> lasec.Tracker:
    return lasec.Tracker(D, rate=0.5, classes=names, seed=0, **options)


def rows(names: Any = NAMES, seed: int = 0) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(seed)
    kind = rng.integers(len(names), size=ROWS)
    X = rng.normal(size=(ROWS, D)) + 3.0 * rng.normal(size=(len(names), D))[kind]
    return X, [names[k] for k in kind]


@pytest.mark.parametrize("names", [NAMES, ("no", "yes"), (0, 1), (1, 2, 5), (True, False)])
@pytest.mark.parametrize("together", [True, False], ids=["with its label", "label later"])
def test_a_key_is_a_learner(names: Any, together: bool) -> None:
    box, alone = Box(model(names)), model(names)
    alone.seed = seed_of(0, "k")
    X, y = rows(names)
    for i in range(ROWS):
        asks = event(f"e{i}", NOW + i, tuple(X[i]))
        tells = label(f"e{i}", NOW + i, str(y[i]).lower() if y[i] in (True, False) else y[i])
        told = box(asks, tells, now=NOW + i) if together else box(asks, now=NOW + i)
        said = told.iloc[0]
        decision = alone.ask(X[i], draw=coin_of(alone.seed, number(f"e{i}")))
        assert str(said.label).lower() == str(decision.label).lower()
        assert said.margin == pytest.approx(decision.margin, abs=1e-9)
        assert said.propensity == pytest.approx(decision.propensity, abs=1e-9)
        assert (said.kind == "question") == decision.asked
        if decision.asked:
            told = told if together else box(tells, now=NOW + i)
            alone.tell(decision.ticket, y[i])
            receipt = told[told.kind == "receipt"].iloc[0]
            assert (receipt.outcome, receipt.label) == ("learned", said.label)
            assert receipt.y.lower() == str(y[i]).lower()
    mine = box.shard.state.take(["k"])[0]
    assert mine.classes == alone.classes == names
    np.testing.assert_allclose(mine.predict_proba(X), alone.predict_proba(X), atol=1e-9)
    assert (mine.rows, mine.asked, mine.told) == (alone.rows, alone.asked, alone.told)


def test_a_label_that_is_no_class_is_a_dead_letter() -> None:
    told = Box(model())(event("a"), label("a", y="elm"), label("a", y=None), label("a", y=2.0))
    dead = told[told.kind == "dead"]
    assert dead.outcome.tolist() == ["y: none of the model's classes"] * 3


def offered(name: str, x: Any, y: Any, time: float = NOW) -> Any:
    return label(name, time, y) | {"features": list(x)}


def test_labels_with_their_rows_are_learned_and_not_measured() -> None:
    """Chargebacks: the model is that of a learner which learns them, the estimate is unmoved."""
    box, alone = Box(model()), model()
    alone.seed = seed_of(0, "k")
    X, y = rows()
    for i in range(ROWS):
        told = box(offered(f"o{i}", X[i], y[i], NOW + i), now=NOW + i)
        assert outcomes(told) == ["offered"]
        alone.learn(X[i], y[i])
    mine = box.shard.state.take(["k"])[0]
    np.testing.assert_allclose(mine.predict_proba(X), alone.predict_proba(X), atol=1e-9)
    assert (mine.rows, mine.asked, mine.told) == (ROWS, 0, ROWS)
    assert not any(box.head.sums)


def test_a_label_with_its_row_answers_the_question_if_there_is_one() -> None:
    box = Box()
    assert outcomes(box(event("a"), offered("a", (1.0, 2.0), 1))) == ["learned"]
    box(event("b", NOW + 1))
    assert outcomes(box(offered("b", (1.0, 2.0), 1, NOW + 2))) == ["learned"]
    assert outcomes(box(offered("b", (1.0, 2.0), 1, NOW + 3))) == ["again"]
    bad = box(offered("c", (1.0, np.nan), 1, NOW + 4))
    assert bad[bad.kind == "dead"].outcome.tolist() == ["features: NaN, infinite or beyond all use"]
    silent = Box(
        lasec.Learner(lasec.rules.SecondOrder(), lasec.queries.Uniform(rate=1e-9), dimension=2)
    )
    assert outcomes(silent(event("a"), label("a"))) == ["unasked"]
    assert outcomes(silent(event("b", NOW + 1), offered("b", (1.0, 2.0), -1, NOW + 1))) == [
        "offered"
    ]
    assert silent.shard.state.take(["k"])[0].told == 1


def test_a_job_has_no_more_than_127_classes() -> None:
    with pytest.raises(ValueError, match="classes: a job has at most 127, got 128"):
        ls.Job(model(range(128)))


def test_a_checkpoint_belongs_to_its_classes() -> None:
    box = Box(model())
    box(event("a"))
    other = ls.Job(model(("a", "b", "c")), shards=1, seed=0)
    with pytest.raises(ValueError, match="it belongs to another job"):
        ls.Shard(other.config, box.store)


def test_a_job_of_three_classes_on_spark(spark: Any, tmp_path: Path) -> None:
    """Text labels in, text labels out, some of them with their rows; the models are learners."""
    X, y = rows()
    names = [f"e{i}" for i in range(ROWS)]
    events = {"key": "k", "id": names, "time": np.arange(ROWS) + NOW, "features": X.tolist()}
    labels = pd.DataFrame({"key": "k", "id": names, "time": np.arange(ROWS) + NOW, "y": y})
    labels["features"] = [x if i % 9 == 0 else None for i, x in enumerate(X.tolist())]
    for what, table in (("events", pd.DataFrame(events)), ("labels", labels)):
        (tmp_path / what).mkdir()
        table.to_parquet(tmp_path / what / "0.parquet")
    schemas = (ls.EVENTS, "key string, id string, time double, y string, features array<double>")
    sources = [
        ls.directory(spark, str(tmp_path / what), schema)
        for what, schema in zip(("events", "labels"), schemas, strict=True)
    ]
    job = ls.Job(model(), shards=1, seed=3)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    ls.start(job, *sources, out=out, checkpoint=checkpoint).awaitTermination()
    hashes = spark.createDataFrame(pd.DataFrame({"id": names})).selectExpr("xxhash64(id) as n")
    numbers = hashes.toPandas().n.to_numpy().view(np.uint64).tolist()
    alone = model()
    alone.seed = seed_of(3, "k")
    said = ls.read(spark, out).toPandas().set_index("id")
    ends = ls.read(spark, out, "receipts").toPandas().set_index("id")
    for i, name in enumerate(names):
        decision = alone.ask(X[i], draw=coin_of(alone.seed, numbers[i]))
        assert said.label[name] == decision.label
        assert said.propensity[name] == pytest.approx(decision.propensity, abs=1e-9)
        if decision.asked:
            alone.tell(decision.ticket, y[i])
        elif i % 9 == 0:
            alone.learn(X[i], y[i])
        wanted = "learned" if decision.asked else "offered" if i % 9 == 0 else "unasked"
        assert ends.outcome[name] == wanted
        assert ends.y[name] == y[i]
    learner = ls.export(spark, checkpoint, job, "k", tmp_path / "k.lasec")
    np.testing.assert_allclose(learner.predict_proba(X), alone.predict_proba(X), atol=1e-9)
    scored = ls.scorer(learner)("features")
    table = spark.createDataFrame(pd.DataFrame(events)[["id", "features"]])
    found = table.select("id", scored.alias("s")).select("id", "s.label").toPandas()
    assert found.set_index("id").label[names].tolist() == alone.predict(X).tolist()


def test_a_model_larger_than_what_spark_sends_with_an_operator(spark: Any, tmp_path: Path) -> None:
    """An operator of more than 1 MB does not reach the tasks: a blank model is sent packed."""
    wide = lasec.Tracker(600, rate=0.5, classes=list("abcdefghijkl"), seed=0)
    assert sum(array.nbytes for array in leaves(wide.state)) > 2**20
    rng = np.random.default_rng(0)
    events = {"key": "k", "id": ["a", "b"], "time": [1.0, 2.0]}
    (tmp_path / "events").mkdir()
    X = rng.normal(size=(2, 600)).tolist()
    pd.DataFrame(events | {"features": X}).to_parquet(tmp_path / "events" / "0.parquet")
    source = ls.directory(spark, str(tmp_path / "events"), ls.EVENTS)
    out = str(tmp_path / "out")
    job = ls.Job(wide, shards=1, seed=3)
    ls.start(job, source, out=out, checkpoint=str(tmp_path / "check")).awaitTermination()
    assert ls.read(spark, out).count() == 2
