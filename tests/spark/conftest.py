from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any, NamedTuple

import pytest

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


# Half a minute each, and more: LASEC_LONG=1 runs them, too.
LONG = {
    "test_a_checkpoint_without_space",
    "test_a_job_is_run_stopped_and_gone_on_with",  # a job is also run by the guide's blocks
    "test_a_shard_with_rows_is_not_woken_as_well",
    "test_nothing_is_lost_between_topics_under_kill_9",
    "test_rows_do_not_see_each_other",
    "test_settings_of_a_file_are_in_no_list_of_processes",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the long tests out, unless they are wanted."""
    for item in items:
        if item.name.partition("[")[0] in LONG and not os.environ.get("LASEC_LONG"):
            item.add_marker(pytest.mark.skip(reason="long: set LASEC_LONG=1"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark for all tests of this process: two threads, two partitions."""
    import lasec.spark

    session = lasec.spark.session(
        spark__driver__host="127.0.0.1",
        spark__ui__enabled="false",
        spark__driver__memory="1g",
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


class Home(NamedTuple):
    """Where a small job was served: its input, its checkpoint and outputs, its progress."""

    folder: Path
    path: Path
    records: list[dict[str, Any]]

    @property
    def checkpoint(self) -> str:
        """Its checkpoint."""
        return str(self.path / "checkpoint")

    def copy(self, path: Path) -> Home:
        """The same elsewhere, to go on from there."""
        copytree(self.path, path)
        return Home(self.folder, path, [])


@pytest.fixture(scope="session")
def served(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A small job, stopped after two batches; not to be changed."""
    import lasec.spark
    from spark import desk

    place = tmp_path_factory.mktemp("served")
    desk.write(place / "in", range(2))
    listener = lasec.spark.Listener(path=place / "progress.jsonl")
    spark.streams.addListener(listener)
    desk.run(spark, desk.job(), place / "in", place / "home")
    until = time.monotonic() + 20.0
    while len(listener.records) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    spark.streams.removeListener(listener)
    return Home(place / "in", place / "home", list(listener.records))


@pytest.fixture(scope="session")
def continued(spark: Any, served: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The same job after a third batch; not to be changed."""
    from spark import desk

    home = served.copy(tmp_path_factory.mktemp("continued") / "home")
    desk.write(home.folder, range(2, 3))
    desk.run(spark, desk.job(), home.folder, home.path)
    return home
