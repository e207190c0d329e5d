"""Found by a review: sizes and times beyond all use, clocks, late labels, warm starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lasec
from lasec.spark import Job, PlainStore, Shard
from lasec.spark.cache import CACHE
from lasec.spark.operator import Processor
from lasec.spark.pages import Pages
from lasec.spark.rows import rows_of
from lasec.spark.scoring import Snapshot
from spark.box import NOW, Box, event, label, outcomes


def second_order(query: Any, **options: Any) -> lasec.Learner:
    return lasec.Learner(lasec.rules.SecondOrder(), query, dimension=2, **options)


def test_rows_that_are_too_large_are_dead_letters() -> None:
    model, much = second_order(lasec.queries.MarginSampling()), 1e19
    told = Box(model)(event("a", 1.0, (much, 1.0)), event("b", 1.0))
    assert sorted(told.kind) == ["dead", "metrics", "question"]
    scores = Snapshot(model.to_bytes()).scores(
        pa.array([[much, 1.0], [1e300, 0.0], [1.0, 2.0]]), None
    )
    assert [row["label"] for row in scores.to_pylist()] == [None, None, 1]


@pytest.mark.parametrize("time", [1e16, -1e16, 1e300, np.inf])
def test_times_beyond_all_use_are_dead_letters(time: float) -> None:
    told = Box()(event("a", time), label("b", time), event("c", NOW))
    dead = told[told.kind == "dead"]
    assert dead.outcome.tolist() == ["time is beyond all use"] * 2
    assert told.kind.tolist().count("question") == 1


def test_minus_zero_is_a_time_like_zero() -> None:
    stores = []
    for times in ([-0.0, 0.0], [0.0, -0.0]):
        box = Box()
        box(*(event("a", time) for time in times))
        stores.append(box.store)
    assert stores[0] == stores[1]


def test_a_row_from_the_future_does_not_silence_a_budget_by_time() -> None:
    inner = lasec.queries.MarginSampling(aggressiveness=1.0)
    asked = []
    for ahead in (False, True):
        box = Box(second_order(lasec.queries.Budgeted(rate=0.02, timed=True, inner=inner)))
        rng, count = np.random.default_rng(0), 0
        for batch in range(12):
            begin = NOW + 500.0 * batch
            rows = [
                event(f"{batch}-{i}", begin + 5 * i, rng.standard_normal(2)) for i in range(100)
            ]
            bad = [event("ahead", 1e12)] if ahead and batch == 3 else []
            count += (box(*rows, *bad, now=begin + 500.0).kind == "question").sum()
        asked.append(count)
    assert asked[0] > 50
    assert asked[1] == pytest.approx(asked[0], rel=0.2)


def test_one_key_an_hour_ahead_expires_nothing_of_others() -> None:
    box = Box(max_age=600.0)
    box(event("good", NOW))
    assert outcomes(box(event("bad", NOW + 3_500, key="other"), now=NOW + 1)) == []
    assert outcomes(box(label("good", NOW + 2), now=NOW + 2)) == ["learned"]


def test_what_expires_is_not_forgotten_at_once() -> None:
    box = Box(max_age=600.0)
    box(event("a", NOW))
    assert outcomes(box(event("b", NOW + 5_000), now=NOW + 5_000)) == ["expired"]
    assert outcomes(box(label("a", NOW + 5_001), now=NOW + 5_001)) == ["late"]


def test_rows_from_the_future_alone_let_a_shard_age() -> None:
    box = Box(max_age=640.0)
    box(event("a", NOW))
    box(event("ahead", 1e12), now=NOW + 4)
    assert box.head.clock == NOW + 4
    box(event("ahead too", 1e12), now=NOW + 1_000)
    assert box.head.clock == NOW + 14  # by a step at most
    box(event("ahead again", 1e12), now=NOW)
    assert box.head.clock == NOW + 14


def test_a_late_label_learns_nothing_and_closes_nothing() -> None:
    box = Box(max_age=600.0)
    box(event("a", NOW))
    assert outcomes(box(label("a", NOW + 1e6, -1.0), now=NOW + 1)) == ["late"]
    assert outcomes(box(label("a", NOW + 2), now=NOW + 2)) == ["learned"]
    assert outcomes(box(event("b", NOW + 3), label("b", NOW + 1e6), now=NOW + 3)) == ["late"]
    assert outcomes(box(label("b", NOW + 4), now=NOW + 4)) == ["learned"]


def test_a_label_older_than_patience_is_not_held() -> None:
    box = Box(patience=100.0)
    told = box(event("a", NOW), label("x", NOW - 101.0), label("y", NOW - 99.0))
    assert outcomes(told) == ["unknown"]
    assert box.head.held == 1


def test_held_labels_are_given_up_in_time_in_an_idle_shard() -> None:
    box = Box(patience=60.0)  # max_age is 30 days: a step is half a day
    box(label("x", NOW))
    alarms = 0
    while box.head.alarm:
        now = box.head.alarm / 1_000.0
        alarms += 1
        told = outcomes(box.wake(now))
    assert told == ["unknown"]
    assert now <= NOW + 200.0
    assert alarms <= 3


def test_a_batch_sets_an_alarm_that_is_due_anew() -> None:
    box = Box(max_age=640.0)
    box(event("a", NOW))
    due = box.head.alarm / 1_000.0
    box(event("b", due), now=due)
    assert box.head.alarm > 1_000 * due


def test_warm_models_in_any_order() -> None:
    models = {key: lasec.LASEC(dimension=2) for key in "ab"}
    for model, x in zip(models.values(), ([1.0, 2.0], [3.0, -1.0]), strict=True):
        model.learn(x, -1)
    stores = []
    for names in ("ab", "ba"):
        shard = Shard(Job(lasec.LASEC(dimension=2), seed=0).config, PlainStore())
        shard.state.put({name: models[name] for name in names})
        shard.state.write()
        stores.append(shard.state.store)
    assert stores[0] == stores[1]


@pytest.mark.parametrize(
    ("keys", "some", "words"),
    [
        ([None], [True], "a key is missing"),
        (["a"], [False], "the key 'a' has no model"),
        (["a", "a"], [True, True], "the key 'a' is there twice"),
    ],
)
def test_a_warm_table_with_holes_or_repeats(keys: Any, some: list[bool], words: str) -> None:
    data = lasec.LASEC(dimension=2).to_bytes()
    table = pd.DataFrame({"key": keys, "model": [data if there else None for there in some]})
    processor = Processor(Job(lasec.LASEC(dimension=2), seed=0).config)
    processor.store = PlainStore()
    with pytest.raises(ValueError, match=f"warm: {words}"):
        processor.handleInitialState((0,), table, None)


def test_a_warm_key_in_two_pieces_of_a_table() -> None:
    table = pd.DataFrame({"key": ["a"], "model": [lasec.LASEC(dimension=2).to_bytes()]})
    processor = Processor(Job(lasec.LASEC(dimension=2), seed=0).config)
    processor.store = PlainStore()
    processor.handleInitialState((0,), table, None)
    with pytest.raises(ValueError, match="the key 'a' is there twice"):
        processor.handleInitialState((0,), table, None)


def test_what_a_job_refuses_at_once() -> None:
    with pytest.raises(ValueError, match=r"max_age: expected at most 3.2e\+09, got 1e\+18"):
        Job(lasec.LASEC(dimension=2), max_age=1e18)
    for options in (
        {"shards": 0},
        {"shards": None},
        {"max_keys": 0},
        {"seed": -1},
        {"seed": 2**64},
    ):
        with pytest.raises(
            ValueError, match=f"{next(iter(options))}: expected a whole number from"
        ):
            Job(lasec.LASEC(dimension=2), **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dimension"):
        Job(lasec.Perceptron(dimension=40_000))


def test_pages_of_other_sizes_are_not_mixed_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(CACHE, "limit", 10**6)
    monkeypatch.setattr(CACHE, "folder", str(tmp_path / "pages"))
    for size in (4, 8):
        store, marks = PlainStore(), list[bytes]()
        Pages(store, marks, size).save(
            np.arange(16 // size), np.zeros((16 // size, size), np.uint8)
        )
        assert [one.size for one in Pages(store, marks, size).load(np.array([0]))] == [size]


@pytest.mark.parametrize("index", [np.inf, np.nan, 2**70, 10**400, 0.7, -1, None])
def test_an_index_that_is_none(index: Any) -> None:
    cells = np.array([{"indices": [index], "values": [1.0]}, None], object)
    X, wrong = rows_of(cells, 2, np.dtype(float))
    assert wrong[0].startswith("features: ")
    assert not X.any()
