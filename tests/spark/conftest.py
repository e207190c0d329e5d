from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


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
