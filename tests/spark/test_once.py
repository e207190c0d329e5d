"""The kill test in its smallest form: the driver and a Python worker, in plain local mode."""

from __future__ import annotations

from pathlib import Path

from experiments.spark import command


def test_nothing_is_lost_or_twice_under_kill_9(tmp_path: Path) -> None:
    report = command.strike(tmp_path, kills=2, master=command.LOCAL)
    assert report["passed"], command.table(report)
    assert {kill["target"] for kill in report["struck"]["kills"]} == {"driver", "python"}
    assert report["struck"]["starts"] > 1
    seen = {kind.removeprefix("receipt: ") for kind in report["outcomes"]}
    assert {"again", "dead", "expired", "late", "learned", "unasked", "unknown"} <= seen
