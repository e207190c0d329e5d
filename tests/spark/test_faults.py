"""Rows that cannot be read, a checkpoint without space, shards that nobody writes to any more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from experiments.spark import check, feed
from experiments.spark.worker import job

import lasec
import lasec.spark
from lasec.spark import EVENTS, Job, directory, read, start

EVENT = {"key": "k", "time": 1.0, "features": [1.0, 2.0]}
BAD_EVENTS: dict[str, tuple[Any, str]] = {
    "short": ({"features": [1.0]}, "features: expected 2 numbers, got 1"),
    "long": ({"features": [1.0, 2.0, 3.0]}, "features: expected 2 numbers, got 3"),
    "none": ({"features": None}, "features are missing"),
    "hole": ({"features": [1.0, None]}, "features: NaN, infinite or beyond all use"),
    "nan": ({"features": [1.0, float("nan")]}, "features: NaN, infinite or beyond all use"),
    "large": ({"features": [1.0, 1e300]}, "features: NaN, infinite or beyond all use"),
    "no key": ({"key": None}, "key is missing"),
    "no time": ({"time": None}, "time is missing"),
    "words": ({"features": "one, two"}, "the row could not be read"),
    "late": ({"time": "tomorrow"}, "the row could not be read"),
}
BAD_LABELS: dict[str, tuple[Any, str]] = {
    "zero": ({"y": "0"}, "y: expected -1 or +1"),
    "two": ({"y": "2"}, "y: expected -1 or +1"),
    "half": ({"y": "1.5"}, "y: expected -1 or +1"),
    "spam": ({"y": "spam"}, "y: expected -1 or +1"),
    "huge": ({"y": "1e12"}, "y: expected -1 or +1"),
    "none y": ({"y": None}, "y: expected -1 or +1"),
    "soon": ({"time": "soon"}, "time is missing"),
    "no key y": ({"key": None}, "key is missing"),
}


def lines(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    data = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(data) + b"\n")


def test_what_cannot_be_used_is_told_apart_and_nothing_else_suffers(
    spark: Any, tmp_path: Path
) -> None:
    good = [EVENT | {"id": f"good {i}", "time": float(i)} for i in range(5)]
    bad = [EVENT | {"id": name} | change for name, (change, _) in BAD_EVENTS.items()]
    torn = [b'{"key": "k", "id": "torn", "ti', b'{"key": "k", "id": "\xff\xfe", "time": 1', b"\xff"]
    lines(tmp_path / "events/0.json", [*good[:3], *bad, *torn, EVENT | {"id": None}, *good[3:]])
    label = {"key": "k", "time": "9.0", "y": "1"}
    wrong = [label | {"id": name} | change for name, (change, _) in BAD_LABELS.items()]
    lines(tmp_path / "labels/0.json", [*wrong, label | {"id": "good 1"}])
    schema = "key string, id string, time string, y string"
    work = Job(lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e6), shards=4, seed=0)
    events = directory(spark, str(tmp_path / "events"), EVENTS, kind="json")
    labels = directory(spark, str(tmp_path / "labels"), schema, kind="json")
    out = str(tmp_path / "out")
    start(work, events, labels, out=out, checkpoint=str(tmp_path / "state")).awaitTermination()

    assert sorted(row.id for row in read(spark, out).collect()) == [row["id"] for row in good]
    told = [(row.id, row.outcome) for row in read(spark, out, "receipts").collect()]
    assert told == [("good 1", "learned")]
    dead = [(row.id, row.outcome, row.detail) for row in read(spark, out, "dead").collect()]
    wanted = {name: why for name, (_, why) in (BAD_EVENTS | BAD_LABELS).items()}
    unread = "the row could not be read"
    by_name = {name: why for name, why, _ in dead if name in wanted and why != unread}
    assert by_name == {name: why for name, why in wanted.items() if why != unread}
    details = [detail for _, why, detail in dead if why == unread]
    assert len(details) == 5
    assert all(details)
    assert any("tomorrow" in text for text in details)
    assert ("id is missing", None) in [(why, name) for name, why, _ in dead]
    assert len(dead) == len(wanted) + len(torn) + 1


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, with little space."""
    where = tmp_path / "small"
    where.mkdir()
    mount = shutil.which("mount")
    asked = [mount or "mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=0", "tmpfs", str(where)]
    if not mount or os.geteuid() or subprocess.run(asked, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield where
    subprocess.run(["umount", str(where)], check=True)


def resize(where: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(where)], check=True)


def served(spark: Any, folder: Path, checkpoint: Path, out: Path) -> str:
    sources = [
        directory(spark, str(folder / name), schema, per_batch=feed.FILES)
        for name, schema in (("events", EVENTS), ("labels", lasec.spark.LABELS))
    ]
    query = start(job(4), *sources, out=str(out / "out"), checkpoint=str(checkpoint))
    query.awaitTermination()
    return lasec.spark.digest(spark, str(checkpoint))


def test_a_checkpoint_without_space(spark: Any, tmp_path: Path, small: Path) -> None:
    feed.make(feed.Feed(batches=9, keys=30, dimension=4), tmp_path / "input")
    quiet = served(spark, tmp_path / "input", tmp_path / "state", tmp_path / "quiet")
    needed = sum(file.stat().st_size for file in (tmp_path / "state").rglob("*") if file.is_file())
    for share in (0.3, 0.6):
        resize(small, int(share * needed))
        with pytest.raises(Exception, match=r"STREAM_FAILED|[Nn]o space"):
            served(spark, tmp_path / "input", small / "state", tmp_path / "full")
        assert len(list((small / "state/commits").glob("[0-9]*"))) < 9
    resize(small, 100 * needed)
    assert served(spark, tmp_path / "input", small / "state", tmp_path / "full") == quiet
    one, other = check.told(tmp_path / "quiet"), check.told(tmp_path / "full")
    assert check.differences(one, other) == {}
    assert not any(check.once(tmp_path / "input", other).values())


def test_a_shard_without_rows_is_woken_by_its_alarm(spark: Any, tmp_path: Path) -> None:
    """Questions of keys that never come again expire, as long as the job has any rows at all."""
    model = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e6)
    work = Job(model, shards=4, max_age=1.0, seed=0)
    inbox, out = tmp_path / "events", str(tmp_path / "out")
    inbox.mkdir()

    def put(number: int, keys: list[str]) -> None:
        frame = pd.DataFrame({"key": keys, "id": str(number), "time": time.time()})
        frame["features"] = [[1.0, 2.0]] * len(keys)
        frame.to_parquet(tmp_path / "part")
        (tmp_path / "part").rename(inbox / f"{number}.parquet")

    keys = [f"k{i}" for i in range(12)]
    put(0, keys)
    events = directory(spark, str(inbox), EVENTS)
    query = start(work, events, out=out, checkpoint=str(tmp_path / "state"), every="1 second")
    expired, until, number = set[str](), time.monotonic() + 120.0, 0
    try:
        while not set(keys) <= expired and time.monotonic() < until:
            number += 1
            put(number, ["k0"])
            time.sleep(1.0)
            receipts = read(spark, out, "receipts").where("outcome = 'expired' and id = '0'")
            expired = {row.key for row in receipts.collect()}
            assert query.exception() is None
    finally:
        query.stop()
    assert expired == set(keys)
    told = read(spark, out, "receipts").where("id = '0'").collect()
    assert len(told) == len(keys)  # each once
