"""What bounds a shard: keys leave and are counted, and labels without an event have their room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
from lasec import StateError
from lasec.nested import leaves
from lasec.spark import Job, PlainStore, Shard, shard
from lasec.spark.cache import CACHE
from lasec.spark.index import FORMAT, Head, ShardIndex
from lasec.spark.label_matching import KEY_LIMIT, LIMIT
from spark.box import DAY, NOW, Box, dead, event, label, outcomes

MODEL = lasec.LASEC(dimension=2, drift=0.01, seed=0)  # asks about everything


def metrics(told: pd.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told[told.kind == "metrics"].detail.iloc[-1])
    return found


def taught(box: Box, key: str, time: float) -> pd.DataFrame:
    """An event of a key and its label, which changes its model."""
    name = f"{key} {time}"
    return box(event(name, time, key=key), label(name, time, -1.0, key), now=time)


def live(box: Box, begin: float, days: int) -> pd.DataFrame:
    """Let days go by, in which nothing comes but a label of nobody."""
    for day in range(1, days + 1):
        now = NOW + (begin + day) * DAY
        told = box(label(f"{now}", now, key="nobody"), now=now)
    return told


def test_a_key_without_rows_is_forgotten_and_its_slot_used_again() -> None:
    box = Box(MODEL, max_age=10 * DAY, forget_after=64 * DAY)
    for key in ("a", "b", "c"):
        taught(box, key, NOW)
    learned = box.shard.state.take(["b"])[0]
    live(box, 0, 20)
    box(label("of nothing", NOW + 20 * DAY, key="c"), now=NOW + 20 * DAY)  # c has had a label
    live(box, 20, 30)
    taught(box, "b", NOW + 50 * DAY)
    assert metrics(live(box, 50, 14))["keys"] == 3
    told = live(box, 64, 1)
    assert box.shard.state.index.keys == ["b", "c"]
    assert (metrics(told)["keys"], metrics(told)["models"]) == (2, 2)
    kept = box.shard.state.take(["b"])[0]
    assert (kept.rows, kept.told, kept.seed) == (2, 2, learned.seed)
    taught(box, "d", NOW + 65 * DAY)
    assert box.head.slots == 3  # that of a
    assert box.shard.state.index.counts[:, -1].tolist() == [1, 2, 0]
    taught(box, "e", NOW + 65 * DAY)
    assert box.head.slots == 4
    again = taught(box, "a", NOW + 65 * DAY)
    assert again[again.kind == "question"]["round"].tolist() == [0]  # it begins anew
    blank = Box(MODEL)
    taught(blank, "a", NOW + 65 * DAY)
    for one, other in zip(box.shard.state.take(["a"]), blank.shard.state.take(["a"]), strict=True):
        assert one.seed == other.seed
        assert all(
            (p == q).all() for p, q in zip(leaves(one.state), leaves(other.state), strict=True)
        )


def test_a_row_of_the_present_in_a_stream_of_the_past_forgets_nobody() -> None:
    box = Box(MODEL)
    for key in ("a", "b"):
        box(event(key, NOW - 3_000 * DAY, key=key))
    for i in range(60):
        box(event(f"now {i}", NOW + i, key="now"), now=NOW + i)
    assert box.head.clock == NOW + 59
    assert box.shard.state.index.keys == ["a", "b", "now"]


def test_junk_keys_leave_and_cost_nothing_afterwards() -> None:
    """Long after a flood of keys a shard is as small as before."""
    query = lasec.queries.Uniform(rate=0.01)
    box = Box(lasec.Learner(lasec.rules.SecondOrder(), query, dimension=2, seed=0))
    for batch in range(5):
        rows = [event("1", NOW, key=f"junk {batch} {i}") for i in range(4_000)]
        told = box(*rows)
    assert metrics(told)["keys"] == 20_000
    assert metrics(told)["ledger_bytes"] > 10**6
    told = live(box, 0, 92)
    assert metrics(told)["keys"] == 0
    assert len(box.store.get("ledger") or b"") < 1_200
    assert metrics(told)["ledger_bytes"] == 0


def test_what_waits_is_not_forgotten_before_its_time() -> None:
    box = Box(max_age=100.0, patience=10.0, forget_after=200.0)
    box(event("a"))
    box(event("b", NOW + 99.0, key="other"), now=NOW + 99.0)
    assert outcomes(box(label("a", NOW + 100.0), now=NOW + 100.0)) == ["learned"]
    assert Job(MODEL, max_age=50 * DAY).config.forget_after == 100 * DAY
    assert Job(MODEL).config.forget_after == 90 * DAY
    assert Job(MODEL, forget_after=np.inf).config.forget_after == np.inf
    for options in ({"max_age": 100.0, "forget_after": 199.0}, {"patience": 1e7, "max_age": 1.0}):
        with pytest.raises(ValueError, match="forget_after: expected at least"):
            Job(MODEL, **({"forget_after": 1e6} | options))


def test_forgetting_does_not_depend_on_the_order_of_rows() -> None:
    stores = []
    for turn in (1, -1):
        box = Box(MODEL, max_age=30.0, patience=0.0, forget_after=64.0, max_keys=9)
        for second in range(200):
            time, names = NOW + second, [f"{second // 20} {i}" for i in range(2 + second % 3)]
            rows = [event(f"{second}", time, key=name) for name in names]
            rows += [label(f"{second}", time, -1.0, name) for name in names]
            box(*rows[::turn], now=time)
        stores.append(box.store)
    assert stores[0] == stores[1]
    assert box.shard.state.index.keys[0][0] > "5"  # those before have left
    assert box.head.slots <= 9
    assert box.head.dead > 0


def test_keys_beyond_the_limit_are_dead_letters() -> None:
    box = Box(max_keys=3)
    told = box(*(event(str(i), NOW + i, key=f"k{i}") for i in range(5)), now=NOW + 9)
    assert dead(told) == ["key: the shard has 3 keys and takes no new one"] * 2
    assert told[told.kind == "dead"].key.tolist() == ["k3", "k4"]
    told = box(event("new", NOW, key="k9"), event("old", NOW, key="k0"), label("0", NOW, 1.0, "k0"))
    assert (len(dead(told)), outcomes(told)) == (1, ["learned"])
    assert metrics(told)["dead"] == 3
    live(box, 0, 92)
    assert dead(box(event("late", NOW + 92 * DAY, key="k9"), now=NOW + 92 * DAY)) == []
    full = Shard(Job(MODEL, max_keys=1, seed=0).config, PlainStore())
    with pytest.raises(ValueError, match="warm: 2 keys for a shard with room for 1"):
        full.state.put({key: lasec.LASEC(dimension=2, drift=0.01, seed=0) for key in "ab"})


FLOODS = {
    "of one key": lambda i: "flood",
    "of the keys of others": lambda i: f"known {i % 100}",
    "of keys that nobody knows": lambda i: f"unknown {i}",
}


@pytest.mark.parametrize("first", ["flood", "honest"])
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_labels_costs_no_other_key_its_own(flood: str, first: str) -> None:
    box = Box()
    keys = ["honest", "flood", *(f"known {i}" for i in range(100))]
    box(*(event("begin", key=key) for key in keys))
    junk = [label(f"junk {i}", key=FLOODS[flood](i)) for i in range(20_000)]
    early = [label(f"early {i}", key="honest") for i in range(50)]
    for rows in (junk, early) if first == "flood" else (early, junk):
        box(*rows)
    assert box.head.held == (KEY_LIMIT + 50 if flood == "of one key" else LIMIT)
    told = box(*(event(f"early {i}", key="honest") for i in range(50)))
    assert outcomes(told) == ["learned"] * 50


def test_every_label_of_a_flood_has_a_receipt() -> None:
    box = Box(patience=100.0)
    told = box(event("a"), *(label(str(i), key=f"k{i % 20}") for i in range(LIMIT + 5_000)))
    assert outcomes(told) == ["unknown"] * 5_000
    told = box(event("b", NOW + 101.0), now=NOW + 101.0)
    assert outcomes(told) == ["unknown"] * LIMIT
    assert box.head.held == 0


@pytest.mark.parametrize("remembered", [0, 10**6])
def test_a_changed_page_is_named_and_stops_the_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, remembered: int
) -> None:
    monkeypatch.setattr(CACHE, "limit", remembered)
    monkeypatch.setattr(CACHE, "folder", str(tmp_path / "one"))
    box = Box(MODEL)
    taught(box, "k", NOW)
    page = bytearray(box.store.get("page", "0") or b"")
    page[7] ^= 0x7F
    box.store.put("page", "0", bytes(page))
    if remembered:
        monkeypatch.setattr(CACHE, "folder", str(tmp_path / "other"))  # of another executor
    words = "corrupted: page 0 of shard 17 does not match its fingerprint; restore the checkpoint"
    with pytest.raises(StateError, match=words):
        Shard(box.job.config, box.store, 17).state.load(np.array([0]))
    box.store.remove("page", "0")
    with pytest.raises(StateError, match="corrupted: page 0 of shard 0 is missing"):
        box(event("b"))


def test_keys_that_do_not_fit_into_memory_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Served one by one, they do what they do together."""
    tables, models = [], []
    for size in (shard.FLEET_BYTES, 100):
        monkeypatch.setattr(shard, "FLEET_BYTES", size)
        box, rng, told = Box(max_age=4.0, patience=2.0), np.random.default_rng(3), []
        for batch in range(8):
            time, rows = NOW + batch, []
            for i, x in enumerate(rng.standard_normal((40, 2)).tolist()):
                rows.append(event(f"{batch} {i}", time, x, f"k{i % 7}"))
                name, y = f"{batch + int(rng.integers(-2, 2))} {i}", rng.choice([-1.0, 1.0])
                rows += [label(name, time, y, f"k{i % 7}")] * (i % 2)
            told.append(box(*rows, now=time).assign(batch=batch))
        table = pd.concat(told).query("kind != 'metrics'")  # sums of weights depend on their order
        order = ["batch", "kind", "key", "id", "outcome"]
        tables.append(table.sort_values(order, ignore_index=True))
        models.append([one.to_bytes() for one in box.shard.state.take([f"k{i}" for i in range(7)])])
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert models[0] == models[1]
    assert {"learned", "again", "expired", "unknown"} <= set(tables[0].outcome)


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1])
def test_an_index_of_another_format_is_refused(number: int) -> None:
    data = ShardIndex(Head(job="")).to_bytes()
    with pytest.raises(StateError, match=f"^another format: the index is in format {number}, this"):
        ShardIndex.from_bytes(data.replace(b'"format": %d' % FORMAT, b'"format": %d' % number))
