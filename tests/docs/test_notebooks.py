"""The notebooks run from the first cell to the last, in an empty folder."""

import json
from pathlib import Path

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_cell_runs_and_prints_what_it_shows(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "notebook"}
    with mpl.rc_context({"backend": "Agg"}):
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            if cell["cell_type"] != "code":
                continue
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), namespace)
            shown = [o for o in cell["outputs"] if o["output_type"] == "stream"]
            assert capsys.readouterr().out == "".join("".join(o["text"]) for o in shown)
