"""A shard without Spark against plain learners: every decision, every outcome, every state."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lasec
from lasec.nested import leaves
from lasec.spark import Job
from lasec.spark.cache import CACHE
from lasec.spark.index import ShardIndex
from lasec.spark.rows import read
from lasec.spark.shard import Shard
from lasec.spark.store import PlainStore
from spark.twin import Event, Label, Twin

D = 4
MODELS = {
    "lasec": lambda: lasec.LASEC_SS(dimension=D, drift=0.01, aggressiveness=0.3, seed=3),
    "uniform": lambda: lasec.Learner(
        lasec.rules.SecondOrder(), lasec.queries.Uniform(rate=0.4), dimension=D
    ),
    "tracker": lambda: lasec.Tracker(dimension=D, rate=0.3),
    "per time": lambda: lasec.Learner(
        lasec.rules.SecondOrder(),
        lasec.queries.Budgeted(
            rate=0.02, timed=True, inner=lasec.queries.MarginSampling(aggressiveness=1.0)
        ),
        dimension=D,
    ),
    "perceptron": lambda: lasec.Perceptron_SS(dimension=D, aggressiveness=1.0),
}


def number(name: str) -> int:
    """Any hash will do, as long as it is the same."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big")


def frame(events: list[Event], labels: list[Label]) -> pd.DataFrame:
    rows = [(0, e.key, e.id, e.number, e.time, np.nan, e.x.tobytes(), None) for e in events]
    rows += [(1, a.key, a.id, a.number, a.time, float(a.y), None, None) for a in labels]
    names = ["kind", "key", "id", "number", "time", "y", "features", "raw"]
    return pd.DataFrame(rows, columns=names)


def serve(job: Job, store: PlainStore, events: list[Event], labels: list[Label]) -> pd.DataFrame:
    batch = read(frame(events, labels), D, np.dtype(np.float64))
    return Shard(job.config, store).batch(batch, now=10**12)


def stream(seed: int, batches: int, keys: int = 5) -> list[tuple[list[Event], list[Label]]]:
    """Events, and labels at once, later, before, twice, never, and for nobody."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((keys, D))
    out: list[tuple[list[Event], list[Label]]] = [([], []) for _ in range(batches)]
    for b in range(batches):
        for i in range(rng.integers(0, 25)):
            k, name = rng.integers(keys), f"{b}-{i}"
            x = rng.standard_normal(D)
            time = 100.0 * b + float(rng.integers(100))
            event = Event(f"k{k}", name, time, x, number(name))
            out[b][0].append(event)
            if rng.random() < 0.05:
                out[int(rng.integers(b, batches))][0].append(event)
            for _ in range(rng.choice(3, p=[0.2, 0.7, 0.1])):
                at = int(np.clip(b + rng.choice([-1, 0, 0, 1, 2, 6]), 0, batches - 1))
                y = 1 if (x @ W[k] > 0) != (rng.random() < 0.1) else -1
                when = 100.0 * at + float(rng.integers(100))
                out[at][1].append(Label(f"k{k}", name, when, y, number(name)))
        if rng.random() < 0.3:
            out[b][1].append(Label("k0", f"ghost{b}", 100.0 * b + 1, 1, number(f"ghost{b}")))
    return out


def compare(twin: Twin, told: list[pd.DataFrame], store: PlainStore, job: Job) -> None:
    table = pd.concat(told)
    made = table[table.kind.isin(["prediction", "question"])]
    names = ["key", "id", "label", "margin", "variance", "propensity", "round"]
    ours = made.assign(asked=made.kind == "question").sort_values(["key", "round"])
    truth = pd.DataFrame(twin.predictions, columns=[*names[:6], "asked", "round"])
    truth = truth.sort_values(["key", "round"])
    for name in ("key", "id", "label", "round", "asked"):
        assert ours[name].tolist() == truth[name].tolist(), name
    for name in ("margin", "variance", "propensity"):
        np.testing.assert_allclose(
            ours[name].to_numpy(), truth[name].to_numpy(), rtol=1e-12, atol=1e-12
        )
    receipts = table[table.kind == "receipt"]
    said = sorted(receipts[["key", "id", "y", "outcome"]].itertuples(index=False, name=None))
    assert said == sorted(twin.receipts)
    index = ShardIndex.from_bytes(store.get("ledger") or b"")
    shard = Shard(job.config, store)
    fleet = shard.state.load(np.arange(len(index.keys)))
    for row, key in enumerate(index.keys):
        kept, plain = fleet.learner(row), twin.learner(key)
        for ours_, theirs in zip(leaves(kept.state), leaves(plain.state), strict=True):
            np.testing.assert_allclose(ours_, theirs, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(
            kept.selector.query_state, plain.selector.query_state, rtol=1e-11, atol=1e-12
        )
        assert (kept.rows, kept.asked, kept.told, kept.updates) == (
            plain.rows, plain.asked, plain.told, plain.updates
        )  # fmt: skip
    opened = sum(kept[:1] == b"o" for (part, _), kept in store.items() if part == "question")
    assert opened == sum(asked.state == "open" for asked in twin.asked.values())
    waiting = ShardIndex.from_bytes(store.get("ledger") or b"").counts[:, 4]
    assert waiting.sum() == opened


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_a_shard_is_its_learners(name: str, seed: int) -> None:
    job = Job(MODELS[name](), shards=1, max_age=250.0, patience=150.0, seed=3)
    twin, store, told = Twin(job.model, 3, 250.0, 150.0), PlainStore(), []
    for events, labels in stream(seed, batches=14):
        if events or labels:
            twin.batch(events, labels)
            told.append(serve(job, store, events, labels))
    compare(twin, told, store, job)
    outcomes = {row[3] for row in twin.receipts}
    assert {"learned", "again", "unknown", "expired"} <= outcomes


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), batches=st.integers(1, 8), keys=st.integers(1, 8))
def test_any_stream(seed: int, batches: int, keys: int) -> None:
    job = Job(MODELS["lasec"](), shards=1, max_age=150.0, patience=100.0, seed=3)
    twin, store, told = Twin(job.model, 3, 150.0, 100.0), PlainStore(), []
    for events, labels in stream(seed, batches, keys):
        if events or labels:
            twin.batch(events, labels)
            told.append(serve(job, store, events, labels))
    if told and twin.predictions:
        compare(twin, told, store, job)


def test_order_in_a_batch_does_not_matter() -> None:
    """The shuffle keeps none: rows in any order give the same, bit for bit."""
    job = Job(MODELS["lasec"](), shards=1, seed=3)
    rng = np.random.default_rng(0)
    stores = []
    for _ in range(2):
        store = PlainStore()
        for events, labels in stream(1, batches=6):
            mixed = [[rows[i] for i in rng.permutation(len(rows))] for rows in (events, labels)]
            serve(job, store, *mixed)
        stores.append(dict(store))
    assert stores[0] == stores[1]


def test_a_checkpoint_of_another_job_is_refused() -> None:
    store = PlainStore()
    serve(Job(MODELS["lasec"](), shards=1, seed=3), store, *stream(1, 2)[0])
    with pytest.raises(
        ValueError, match=r"it belongs to another job, .*MarginSampling.*; this is .*Uniform"
    ):
        serve(Job(MODELS["uniform"](), shards=1, seed=3), store, [], [])


def metered(table: pd.DataFrame) -> lasec.Estimate:
    """What a meter says that hears of the same rows, with all open questions lost."""
    meter, decisions = lasec.Meter(window=None), {}
    made = table[table.kind.isin(["prediction", "question"])]
    columns = (made.kind, made.key, made.id, made.label, made.margin, made.propensity)
    for ticket, (kind, key, name, label, margin, q) in enumerate(zip(*columns, strict=True)):
        decision = lasec.Decision(label, margin, 0.0, q, kind == "question", ticket)
        decisions[key, name] = decision
        meter.ask(decision)
    for row in table[table.outcome == "learned"].itertuples():
        decision = decisions[row.key, row.id]
        meter.tell(lasec.Outcome(decision, row.y, row.y != decision.label, updated=True))
    return meter.reaching(1.0).accuracy


@pytest.mark.parametrize("name", MODELS)
def test_the_accuracy_of_shards_is_that_of_a_meter(name: str) -> None:
    """Also that of two shards together, and of the events between two reports."""
    job, tables, sums = Job(MODELS[name](), shards=1, seed=3), [], []
    for seed in (2, 5):
        store, told = PlainStore(), []
        for events, labels in stream(seed, batches=9, keys=5):
            once = {(e.key, e.id): e for e in events if e.time // 100 == len(told)}
            mine = [e._replace(key=f"{e.key} of {seed}") for e in once.values()]
            theirs = [one._replace(key=f"{one.key} of {seed}") for one in labels]
            told.append(serve(job, store, mine, theirs))
        tables.append(pd.concat(told))
        last = json.loads(told[-1].detail.iloc[-1])
        sums.append(last["accuracy_sums"])
        want = metered(tables[-1])
        found = [last["accuracy"], last["accuracy_low"], last["accuracy_high"]]
        assert found == pytest.approx(want[:3], rel=1e-7)  # of a difference of sums
        assert want.labels == last["learned"] > 10
        assert last["asked"] > last["learned"]
    both = lasec.spark.accuracy(sums)
    assert both == pytest.approx(metered(pd.concat(tables))._replace(until=0), rel=1e-7)
    early = json.loads(told[3].detail.iloc[-1])["accuracy_sums"]
    rest = lasec.spark.accuracy([np.subtract(last["accuracy_sums"], early)])
    assert rest.rows == want.rows - lasec.spark.accuracy([early]).rows


def test_metrics_of_a_shard() -> None:
    job, store = Job(MODELS["uniform"](), shards=1, seed=3), PlainStore()
    told: list[Any] = [serve(job, store, *rows) for rows in stream(2, batches=9)]
    last = json.loads(told[-1].detail.iloc[-1])
    table = pd.concat(told)
    learned = table[table.outcome == "learned"]
    assert last["learned"] == len(learned)
    assert last["accuracy_low"] < last["accuracy"] < last["accuracy_high"]
    assert last["predicted"] == table.kind.isin(["prediction", "question"]).sum()
    assert last["predicted"] == lasec.spark.accuracy([last["accuracy_sums"]]).rows


def told_alike(told: pd.DataFrame) -> pd.DataFrame:
    """What was told, but for how its pages were read."""
    detail = [text and re.sub(r', "page_(hits|misses)": \d+', "", text) for text in told.detail]
    return told.assign(detail=detail)


def test_a_replayed_batch_is_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a failed attempt left in the cache changes nothing."""
    job, rng = Job(MODELS["lasec"](), shards=1, seed=3), np.random.default_rng(0)
    plain, store = PlainStore(), PlainStore()
    for events, labels in stream(3, batches=10):
        truth = serve(job, plain, events, labels)
        with monkeypatch.context() as patch:
            patch.setattr(CACHE, "limit", 10**6)
            patch.setattr(CACHE, "folder", str(tmp_path / "pages"))
            for _ in range(rng.integers(3)):
                attempt = PlainStore(store)
                cut = rng.integers(len(events) + 1)
                serve(job, attempt, events[:cut], labels)  # another cut of the same input
                serve(job, PlainStore(store), events, labels)
            told = serve(job, store, events, labels)
        pd.testing.assert_frame_equal(told_alike(told), told_alike(truth))
    assert list((tmp_path / "pages").iterdir())
    assert dict(store) == dict(plain)
