"""The streams that come with the package: complete, licensed, and free of leaks."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lasec.streams
from lasec.cli.app import app
from lasec.streams import catalogue, open_dataset

DATA = Path(lasec.streams.__file__).parent / "data"
BUNDLED = {known.name: known for known in catalogue() if known.origin == "bundled"}
CLASSES = {
    "sms": [4_827, 747],
    "covertype_small": [5_285, 7_108, 873, 64, 236, 439, 521],
    "flights_small": [9_705, 6_663],
}
DIGESTS = {
    "sms": "0094fc4bb843ff32",
    "covertype_small": "2df3a1c54aeb38c5",
    "flights_small": "dc1f839b3f2b54f4",
}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("LASEC_DATA", raising=False)


def digest(columns):
    """What all values of all columns are, whatever type they are stored as."""
    found = hashlib.sha256()
    for name, column in columns.items():
        values = column if isinstance(column, list) else column.astype(float).tolist()
        found.update(repr((name, values)).encode())
    return found.hexdigest()[:16]


def lookup(column, y):
    """The accuracy on the second half of the most frequent label of each value in the first."""
    half = len(y) // 2
    seen = {}
    for value, label in zip(column[:half], y[:half], strict=True):
        seen.setdefault(value, []).append(label)
    best = {value: max(set(labels), key=labels.count) for value, labels in seen.items()}
    guess = [best.get(value) for value in column[half:]]
    return np.mean([a == b for a, b in zip(guess, y[half:], strict=True)])


@pytest.mark.parametrize("name", CLASSES)
def test_rows_classes_and_values_are_those_that_were_released(name):
    data, known = open_dataset(name), BUNDLED[name]
    y = data.columns[data.label]
    assert (len(data), len(data.features)) == (known.rows, known.columns)
    assert np.unique(y, return_counts=True)[1].tolist() == CLASSES[name]
    assert np.mean(y[1:] == y[:-1]) == pytest.approx(known.persistence, abs=6e-4)
    assert digest(data.columns) == DIGESTS[name]


@pytest.mark.parametrize("name", CLASSES)
def test_no_column_tells_the_label(name):
    data = open_dataset(name)
    y = list(data.columns[data.label])
    for feature, column in data.features.items():
        assert lookup(list(column), y) < 0.9, feature


def test_a_column_that_tells_the_label_is_noticed(data_folder):
    real = pytest.importorskip("experiments.real")
    leaking = real.open_dataset("luxembourg", data_folder)
    assert "x2" in real.KNOWN["luxembourg"].note
    assert lookup(list(leaking.columns["x2"]), list(leaking.columns["high"])) == 1.0


def test_every_file_has_its_license_and_an_entry():
    text = (DATA / "LICENSES.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    files = {file.name for file in DATA.iterdir()} - {"LICENSES.md"}
    assert files == set(sections) == {known.file for known in BUNDLED.values()}
    assert set(BUNDLED) == set(CLASSES)
    for known in BUNDLED.values():
        section = sections[known.file]
        assert known.license.split(";")[0] in section.replace(
            "Creative Commons Attribution", "CC BY"
        )
        assert f"{known.rows:,}" in section
    assert sum((DATA / file).stat().st_size for file in files) < 600_000


def test_anybody_can_make_them_again(data_folder, tmp_path):
    bundled = pytest.importorskip("experiments.bundled")
    bundled.write(data_folder, tmp_path)
    for name in BUNDLED:
        assert digest(open_dataset(name, tmp_path).columns) == DIGESTS[name]


def test_a_folder_without_the_file_does_not_hide_a_bundled_stream(tmp_path, monkeypatch):
    assert len(open_dataset("sms", tmp_path)) == 5_574
    monkeypatch.setenv("LASEC_DATA", str(tmp_path))
    assert len(open_dataset("sms")) == 5_574
    with pytest.raises(FileNotFoundError, match="not_there"):
        open_dataset("sms", tmp_path / "not_there.jsonl.gz")


@pytest.mark.parametrize("name", CLASSES)
def test_the_command_line_has_them(name, tmp_path):
    out = tmp_path / "rows.csv"
    done = CliRunner().invoke(app, ["datasets", name, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert BUNDLED[name].license in " ".join(done.output.split())
    assert len(out.read_text(encoding="utf-8").splitlines()) >= BUNDLED[name].rows
