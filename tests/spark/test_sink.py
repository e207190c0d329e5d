"""A batch is told whole or not at all, also when it is cut off while it is written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lasec.spark import files, read
from lasec.spark.output import schema


def table(spark: Any, ids: list[str], broken: bool = False) -> Any:
    """Predictions of some events; a broken table fails when its last row is made."""
    rows = spark.createDataFrame([("prediction", "k", name) for name in ids],
                                 "kind string, key string, id string").coalesce(1)  # fmt: skip
    guard = "if(id = 'bad', raise_error('a row too many'), 1.0)" if broken else "1.0"
    rest = [f"cast(null as {kind}) as {name}" for name, kind in
            (text.split() for text in schema().split(", ")[4:])]  # fmt: skip
    return rows.selectExpr("kind", "key", "id", f"cast({guard} as double) as time", *rest)


def names(spark: Any, out: Path) -> list[str]:
    return sorted(row.id for row in read(spark, str(out)).collect())


def test_a_batch_that_is_cut_off_is_not_told(spark: Any, tmp_path: Path) -> None:
    assert names(spark, tmp_path) == []
    write = files(str(tmp_path))
    write(table(spark, ["a", "b"]), 0)
    write(table(spark, ["c"]), 1)
    assert names(spark, tmp_path) == ["a", "b", "c"]
    with pytest.raises(Exception, match="a row too many"):
        write(table(spark, ["c", "bad"], broken=True), 1)
    assert names(spark, tmp_path) == ["a", "b"]
    write(table(spark, ["c"]), 1)
    assert names(spark, tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["a[1]", "a*b", "a{b,c}?"])
def test_names_with_wildcards(spark: Any, tmp_path: Path, name: str) -> None:
    files(str(tmp_path / name))(table(spark, ["a", "b"]), 0)
    files(str(tmp_path / "axb"))(table(spark, ["not this"]), 0)
    assert names(spark, tmp_path / name) == ["a", "b"]


def test_the_mark_goes_first(spark: Any, tmp_path: Path) -> None:
    """A directory is emptied file by file: a kill in between leaves a part of it."""
    write = files(str(tmp_path))
    write(table(spark, ["a"]), 0)
    assert names(spark, tmp_path) == ["a"]

    class Stopped(Exception):
        pass

    class Table:
        """One whose writing is not even begun."""

        sparkSession = spark

        @property
        def write(self) -> Any:
            raise Stopped

    with pytest.raises(Stopped):
        write(Table(), 0)  # type: ignore[arg-type]
    assert names(spark, tmp_path) == []
