"""What earlier runs have left: checkpoints of older versions, and input of another schema."""

from __future__ import annotations

import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
import lasec.spark
from lasec.spark import Job, PlainStore, Shard, directory, read, start
from lasec.spark.identity import belongs, describe
from lasec.spark.index import FORMAT, Head, ShardIndex, seed_of
from spark import desk
from spark.box import NOW, Box, event, label, outcomes

# An index as 0.1.0 wrote it, in format 1: two keys, of which the first has a model.
FORMAT_1 = base64.b64decode(
    "kQEAAHsiZm9ybWF0IjogMSwgImpvYiI6ICIoU2Vjb25kT3JkZXIoZHJpZnQ9MC4wMSwgcmlkZ2U9MS4wKSwgQWx3YXlzKC"
    "ksIDIsICdtaXN0YWtlcycsICdkb3VibGUnLCAwKSBpbiAyIHNoYXJkcyIsICJjbG9jayI6IDUuMCwgIndhbGwiOiAwLjAs"
    "ICJhbGFybSI6IDAsICJmaXJzdCI6IDAsICJvcGVuIjogMCwgIm5leHQiOiAwLCAib2xkZXN0X29wZW4iOiAwLjAsICJvbG"
    "Rlc3QiOiAwLjAsICJzbG90cyI6IDEsICJoZWxkIjogMCwgInByZWRpY3RlZCI6IDAsICJhc2tlZCI6IDAsICJsZWFybmVk"
    "IjogMCwgImV4cGlyZWQiOiAwLCAib3RoZXIiOiAwLCAiZGVhZCI6IDAsICJ3ZWlnaHQiOiAwLjAsICJyaWdodCI6IDAuMC"
    "wgIndlaWdodDIiOiAwLjAsICJrZXlzIjogMiwgIm1lbW9yeSI6IDAsICJwYWdlcyI6IDF9BQAAAAUAAAADAAAAAAAAAAIA"
    "AAAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP//////////cWHmnqcEFJTF4/a8X55ssAABAgMEBQYHCAkKCwwNDg9ub3J0aHPD"
    "vABk"
)
OLDER = Path(__file__).parent / "older" / "format-1.tar.gz"


def test_a_ledger_of_format_1() -> None:
    index = ShardIndex.from_bytes(FORMAT_1)
    assert index.keys == ["north", "sü\0d"]
    assert index.counts.tolist() == [[3, 2, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, -1]]
    assert index.seeds.tolist() == [seed_of(1, key) for key in index.keys]
    assert index.seen.tolist() == [0.0, 0.0] == [index.head.age] * 2  # as if just now
    assert index.pages == [bytes(range(16))]
    again = ShardIndex.from_bytes(index.to_bytes())
    assert (again.keys, again.head) == (index.keys, index.head)
    assert json.loads(index.to_bytes()[4:].split(b"}")[0] + b"}")["format"] == FORMAT == 3


def test_the_accuracy_of_an_older_shard_begins_with_the_next_events() -> None:
    """Questions from before are answered, but are no part of its sums."""
    box = Box()
    box(event("old", NOW, (1.0, 0.0)))
    index = ShardIndex.from_bytes(box.store.get("ledger") or b"")
    data = index.to_bytes().replace(b'"format": 3', b'"format": 2')
    box.store.put("ledger", "", data)
    assert ShardIndex.from_bytes(data).head.since == NOW
    box(label("old", NOW + 1.0, 1.0))
    told = box(event("new", NOW + 2.0, (1.0, 0.0)), label("new", NOW + 3.0, 1.0))
    found = json.loads(told.detail.iloc[-1])
    estimate = lasec.spark.accuracy([found["accuracy_sums"]])
    assert (found["learned"], estimate.labels) == (2, 1)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_shard_of_format_1_continues_with_the_seed_of_the_job(seed: int) -> None:
    model, store = lasec.LASEC(dimension=2, seed=0), PlainStore()
    store.put("ledger", "", FORMAT_1)
    shard = Shard(Job(model, shards=2, seed=seed).config, store)
    assert shard.state.index.seeds.tolist() == [
        seed_of(seed, key) for key in shard.state.index.keys
    ]
    shard.state.write()
    assert Shard(Job(model, shards=2, seed=seed).config, store).head.job == shard.config.job
    for other in (Job(model, shards=3, seed=0), Job(lasec.SOP(dimension=2, seed=0), shards=2)):
        store.put("ledger", "", FORMAT_1)
        with pytest.raises(ValueError, match=r"it belongs to another job, .*; this is "):
            Shard(other.config, store)


def test_a_ledger_of_a_later_version_is_named() -> None:
    data = ShardIndex(Head(job="")).to_bytes().replace(b'"format": 3', b'"format": 4')
    with pytest.raises(lasec.StateError, match="newer: an index of format 4, not 3"):
        ShardIndex.from_bytes(data)


def test_a_parameter_that_a_version_adds_does_not_make_another_job() -> None:
    budget = lasec.queries.Budgeted(
        rate=0.1, inner=lasec.queries.MarginSampling(aggressiveness=0.5)
    )
    model = lasec.Learner(lasec.rules.SecondOrder(drift=0.01), budget, dimension=2, seed=0)
    job = describe(model, 4, 7)
    older = json.loads(job)
    for part in (older["rule"], older["query"], older["query"]["parameters"]["inner"]):
        values = part["parameters"]
        name = next(n for n in ("ridge", "burst", "power") if n in values)
        del values[name]
    assert belongs(json.dumps(older), job, model)
    older["query"]["parameters"]["rate"] = 0.2
    assert not belongs(json.dumps(older), job, model)
    older = json.loads(job)
    older["rule"]["parameters"]["gone"] = 1.0  # it meant something to the version that had it
    assert not belongs(json.dumps(older), job, model)
    box = Box()
    box(event("a"))
    kept = box.store.get("ledger") or b""
    index = ShardIndex.from_bytes(kept)
    index.head.job = index.head.job.replace(', \\"power\\": 1.0', "").replace(', "power": 1.0', "")
    assert index.to_bytes() != kept
    box.store.put("ledger", "", index.to_bytes())
    assert outcomes(box(label("a", NOW + 1))) == ["learned"]


def test_a_checkpoint_of_an_older_version_continues(
    spark: Any, continued: Any, tmp_path: Path
) -> None:
    """Made by 0.1.0 with indexes of format 1: models, open questions and held labels are there."""
    home = tmp_path / "home"
    with tarfile.open(OLDER) as archive:
        archive.extractall(home, filter="data")
    for place in ("sources", "state/0/_metadata"):  # where the input and the schema were
        for path in (home / "checkpoint" / place).rglob("*"):
            if path.name.endswith(".crc"):
                path.unlink()
            elif path.is_file():
                path.write_text(path.read_text().replace("/tmp/older", str(tmp_path)))
    desk.write(tmp_path / "in", range(3))
    checkpoint = str(home / "checkpoint")
    before = lasec.spark.models(spark, checkpoint, desk.job(shards=2, seed=None)).toPandas()
    assert (len(before), before["rows"].sum()) == (desk.KEYS, 2 * desk.ROWS)
    desk.run(spark, desk.job(shards=2), tmp_path / "in", home)
    for what in ("predictions", "questions", "receipts"):
        ours, its = (
            read(spark, str(place / "out"), what).where("batch = 2").toPandas()
            for place in (home, continued.path)
        )
        order = [name for name in ("key", "id", "outcome", "time") if name in ours]
        pd.testing.assert_frame_equal(
            ours.sort_values(order, ignore_index=True),
            its.sort_values(order, ignore_index=True),
            check_exact=True,
        )


def test_input_of_another_schema(spark: Any, tmp_path: Path) -> None:
    """Between runs: numbers for texts, packed for lists, timestamps for seconds, more columns."""
    job = desk.job(shards=1)
    places = {"out": str(tmp_path / "out"), "checkpoint": str(tmp_path / "checkpoint")}
    X = np.arange(6.0).reshape(2, 3)
    tables = {
        "key bigint, id int, time double, features array<double>": pd.DataFrame(
            {"key": [7, 8], "id": np.array([1, 2], "i4"), "time": [1.0, 2.0], "features": list(X)}
        ),
        "more string, features binary, time timestamp, id string, key string": pd.DataFrame(
            {"key": ["7", "8"], "id": ["3", "4"], "more": ["x", None],
             "time": pd.to_datetime([3, 4], unit="s", utc=True).as_unit("us"),
             "features": [row.tobytes() for row in X]}
        ),
    }  # fmt: skip
    (tmp_path / "events").mkdir()
    for number, (schema, table) in enumerate(tables.items()):
        for old in (tmp_path / "events").iterdir():
            old.unlink()
        table.to_parquet(tmp_path / f"events/{number}.parquet", index=False)
        events = directory(spark, str(tmp_path / "events"), schema)
        start(job, events, **places).awaitTermination()
    made = read(spark, places["out"]).orderBy("id").collect()
    assert [(row.key, row.id, row.time, row.round) for row in made] == [
        ("7", "1", 1.0, 0), ("8", "2", 2.0, 0), ("7", "3", 3.0, 1), ("8", "4", 4.0, 1),
    ]  # fmt: skip
    short = directory(spark, str(tmp_path / "events"), "key string, id string, time double")
    with pytest.raises(ValueError, match=r"events: missing columns \['features'\], got \['key', "):
        start(job, short, **places)
    pd.DataFrame({"key": [9], "id": ["5"], "time": [5.0]}).to_parquet(tmp_path / "events/2.parquet")
    with pytest.raises(Exception, match=r"2\.parquet") as refused:  # a file, not a message
        start(
            job, directory(spark, str(tmp_path / "events"), desk.EVENTS), **places
        ).awaitTermination()
    assert "key" in str(refused.value)
    (tmp_path / "events/2.parquet").unlink()
