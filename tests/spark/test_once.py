"""The kill test in its smallest form: the driver and a Python worker, in plain local mode."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from experiments.spark import LOCAL, command
from experiments.spark.cuts import cuts, recut
from experiments.spark.feed import Feed, make


def test_nothing_is_lost_or_twice_under_kill_9(tmp_path: Path) -> None:
    report = command.strike(tmp_path, kills=2, master=LOCAL)
    assert report["passed"], command.table(report)
    assert {kill["target"] for kill in report["struck"]["kills"]} == {"driver", "python"}
    assert report["struck"]["starts"] > 1
    seen = {kind.removeprefix("receipt: ") for kind in report["outcomes"]}
    assert {"again", "dead", "expired", "late", "learned", "unasked", "unknown"} <= seen


def test_batches_that_a_kill_has_cut_anew_can_be_had_again(tmp_path: Path) -> None:
    make(Feed(batches=9, keys=6, dimension=2), tmp_path / "input")
    logs = {"sources/0": {0: [0, 1], 1: [2], 2: [3]}, "sources/1": {0: [0], 1: [1]}}
    for source, steps in logs.items():
        (tmp_path / source).mkdir(parents=True)
        for step, files in steps.items():
            entries = [json.dumps({"path": f"file:///{file:06d}.parquet", "batchId": step})
                       for file in files]  # fmt: skip
            (tmp_path / source / str(step)).write_text("\n".join(["v1", *entries]))
    (tmp_path / "offsets").mkdir()
    for batch, ends in enumerate([(0, 0), (2, 1), (2, None)]):  # the second takes two steps at once
        lines = ["-" if end is None else json.dumps({"logOffset": end}) for end in ends]
        (tmp_path / "offsets" / str(batch)).write_text("\n".join(["v1", "{}", *lines]))
    made = cuts(tmp_path)
    names = [[[int(name[:6]) for name in files] for files in batch] for batch in made]
    assert names == [[[0, 1], [0]], [[2, 3], [1]], [[], []]]
    recut(tmp_path / "input", made, tmp_path / "recut")
    for number, (events, labels) in enumerate(made):
        for name, files in (("events", events), ("labels", labels)):
            rows = pd.read_parquet(tmp_path / "recut" / name / f"{number:06d}.parquet")
            parts = [pd.read_parquet(tmp_path / "input" / name / file) for file in files]
            assert len(rows) == sum(map(len, parts))
            assert rows.id.tolist() == [text for part in parts for text in part.id]
