"""A checkpoint of a version with another format is refused in one sentence, and stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lasec.spark
from spark import desk


def job_of_before() -> Any:
    """A job that keeps its state as format 5 had it: one map of bytes, for pages, too."""

    class Parts:
        def __init__(self, state: Any) -> None:
            self.state = state

        def get(self, part: str, name: str = "") -> bytes | None:
            found = self.state.getValue((part, name))
            return None if found is None else bytes(found[0]).replace(b'format": 5', b'format": 6')

        def put(self, part: str, name: str, value: bytes) -> None:
            value = value.replace(b'format": 6', b'format": 5')
            self.state.updateValue((part, name), (value,))

        def remove(self, part: str, name: str) -> None:
            self.state.removeKey((part, name))

    class Before(lasec.spark.Processor):
        def init(self, handle: Any) -> None:
            self._handle = handle
            parts = handle.getMapState("parts", "part string, name string", "value binary")
            self.store = Parts(parts)

    class Job(lasec.spark.Job):
        def processor(self) -> Any:
            return Before(self.config)

    model = desk.job()
    return Job(model.model, shards=4, max_age=1_000.0, seed=5)


def files(place: Path) -> Iterator[str]:
    """What a checkpoint has committed."""
    return (str(path) for path in sorted((place / "checkpoint" / "commits").iterdir()))


def test_a_checkpoint_of_the_format_before(spark: Any, tmp_path: Path) -> None:
    desk.write(tmp_path / "in", range(2))
    desk.run(spark, job_of_before(), tmp_path / "in", tmp_path)
    before = list(files(tmp_path))
    assert before
    desk.write(tmp_path / "in", range(2, 3))
    words = "another format: the index is in format 5, this lasec reads 6 only"
    with pytest.raises(Exception, match=words):
        desk.run(spark, desk.job(), tmp_path / "in", tmp_path)
    assert list(files(tmp_path)) == before
