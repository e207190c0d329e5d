"""The study of the Tracker's forms, small."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.forms import classes, command, labeled, moderation, small, spectra, tables, wide
from experiments.forms.driven import driven
from experiments.forms.rest import OneVsRest, normalized, replayed
from experiments.output import read_csv

ROOT = Path(__file__).parents[2]


def test_the_command_writes_rows_and_tables(tmp_path, data_folder):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "forms", "--parts", "moderation,small",
         "--seeds", "1", "--size", "0.01", "--data", str(data_folder), "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("moderation", "small", "small_costs"):
        assert (tmp_path / f"{name}.md").read_text() in done.stdout
    rows = read_csv(tmp_path / "small.csv")
    assert len(rows) == len(small.STREAMS) * len(small.RATES) * len(small.FORMS)
    assert tables.small(rows) == (tmp_path / "small.md").read_text()


def test_parts_are_chosen_by_name():
    assert command.chosen("all") == ["wide", "classes", "moderation", "small"]
    assert command.chosen("small, wide") == ["small", "wide"]
    with pytest.raises(ValueError, match="no part 'tall'"):
        command.chosen("tall")


def test_rows_have_the_spectrum_and_turn():
    X, y = spectra.spectrum(4_000, 20, seed=1)
    assert np.linalg.norm(X, axis=1) == pytest.approx(1.0)
    energy = np.linalg.eigvalsh(X.T @ X)[::-1]
    assert energy[0] / energy[9] == pytest.approx(10.0, rel=0.5)
    assert 0.3 < (y > 0).mean() < 0.7
    X, _ = spectra.rotating(4_000, 20, seed=1)
    assert np.linalg.norm(X, axis=1) == pytest.approx(1.0)
    first, last = (np.linalg.svd(part)[2][0] for part in (X[:400], X[-400:]))
    assert abs(first @ last) < 0.7


def test_forms_are_compared_on_the_same_draws():
    ours, full, few = (wide.wide("power law 192", 0.1, f, 1, 0.02) for f in wide.ALL)
    assert (ours["accuracy"], ours["labels"], ours["kb"]) == (
        full["accuracy"], full["labels"], full["kb"],
    )  # fmt: skip
    assert few["kb"] < full["kb"] / 2


def test_one_against_the_rest_is_what_compiled_code_makes_of_its_queries():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 4))
    y = X[:, :3].argmax(axis=1)
    predicted, asked = driven(OneVsRest(4, 3), list(X), y, 0.3, seed=1)
    assert asked.mean() == pytest.approx(0.3, abs=0.1)
    assert (predicted == y)[100:].mean() > 0.7
    margins, _ = replayed(X, y, 3, asked)
    labels = np.eye(3, dtype=bool)[y] & asked[:, None]
    told = np.vstack([np.zeros((1, 3), bool), np.maximum.accumulate(labels)[:-1]])
    known = told.any(axis=1)
    assert (predicted[~known] == -1).all()
    assert (normalized(margins, told).argmax(axis=1) == predicted)[known].all()


def test_classes_come_from_the_files(data_folder):
    assert len(labeled.GROUPS) == 23
    for name, kinds, columns in (("kdd", 4, 118), ("outdoor", 40, 21)):
        X, y = labeled.labeled(name, 1, 1.0)
        assert X.shape == (labeled.ROWS[name], columns)
        assert len(np.unique(y)) == y.max() + 1 == kinds
    assert classes.draws_of("outdoor", 1.0) == 1
    assert classes.draws_of("usps", 1.0) == 5


def test_half_of_the_concept_is_replaced_in_time():
    still, moving = (moderation.posts(128, drifting, 1, 0.25) for drifting in (False, True))
    for posts in (still, moving):
        assert np.mean(posts.y == posts.best) == pytest.approx(0.75, abs=0.03)
    assert len(still.y) == moderation.HALF_LIFE
    same = still.best == moving.best
    assert same[:1_000].mean() > 0.9
    assert same[-1_000:].mean() < 0.7


def test_tables_pair_the_draws():
    rows = [
        {"stream": "s", "rate": 0.1, "form": form, "seed": seed, "accuracy": value,
         "us": 1.0, "kb": 2.0}
        for form, values in (("automatic", (0.5, 0.7)), ("full", (0.4, 0.6)))
        for seed, value in enumerate(values)
    ]  # fmt: skip
    assert "| s | 10% | 2 | 0.600 | 0.500 | +0.1000 ± 0.0000 | 1 | 1 | 2 | 2 |" in tables.wide(rows)
