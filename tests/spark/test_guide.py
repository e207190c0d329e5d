"""The Python of the guide that needs a Spark, as it is printed there."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import lasec
import lasec.spark

GUIDE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_script_of_the_guide_runs(spark, tmp_path, monkeypatch, capfd):
    parts = re.findall(r"^```py\n(.*?)^```\n", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    script = "".join(parts)
    monkeypatch.chdir(tmp_path)
    lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e9).save("fresh.lasec")
    lasec.LASEC_SS(dimension=2, drift=0.01).save("tenant7.lasec")
    for name, column in (("events", "features"), ("labels", "y")):
        cells = np.ones((3, 2)).tolist() if column == "features" else pa.array([1, -1, 1], "i4")
        head = {"key": ["a", "b", "a"], "id": ["1", "2", "3"], "time": [1.0, 2.0, 3.0]}
        Path(name).mkdir()
        pyarrow.parquet.write_table(pa.table(head | {column: cells}), f"{name}/0.parquet")
    # Spark's own folder is where it was started, so that paths are given whole.
    for name in ("events", "labels", "told", "memory"):
        script = script.replace(f'"{name}"', f'"{tmp_path / name}"')
    table = spark.createDataFrame([([1.0, 2.0], "7")], "features array<double>, id string")
    names = {"__name__": "script", "table": table}
    exec(compile(script, str(GUIDE), "exec"), names)
    assert re.search(r"learned\|\s+3\|", capfd.readouterr().out)
    spark.streams.removeListener(names["listener"])
    assert len(parts) == 5
    assert names["estimate"].rows == 3
    assert names["scored"].first()["scored"]["asked"] is True
    kept = lasec.spark.state(spark, str(tmp_path / "memory"))
    assert kept.rdd.getNumPartitions() == 2 * 4  # of two map states
