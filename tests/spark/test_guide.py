"""The script in the guide, as it is printed there."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import lasec

GUIDE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_script_of_the_guide_runs(spark, tmp_path, monkeypatch, capfd):
    (script,) = re.findall(r"^```py\n(.*?)^```\n", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    lasec.LASEC_SS(dimension=2, drift=0.01, caution=1e9).save("fresh.lasec")
    for name, column in (("events", "features"), ("labels", "y")):
        cells = np.ones((3, 2)).tolist() if column == "features" else pa.array([1, -1, 1], "i4")
        head = {"key": ["a", "b", "a"], "id": ["1", "2", "3"], "time": [1.0, 2.0, 3.0]}
        Path(name).mkdir()
        pyarrow.parquet.write_table(pa.table(head | {column: cells}), f"{name}/0.parquet")
    # Spark's own folder is where it was started, so that paths are given whole.
    for name in ("events", "labels", "told", "memory"):
        script = script.replace(f'"{name}"', f'"{tmp_path / name}"')
    exec(compile(script, str(GUIDE), "exec"), {"__name__": "script"})
    assert re.search(r"learned\|\s+3\|", capfd.readouterr().out)
