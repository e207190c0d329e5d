"""Intervals against prediction-powered inference: the variants by hand, and a short run."""

import json
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.__main__ import app
from experiments.intervals import ppi
from experiments.output import read_csv
from typer.testing import CliRunner

import lasec
from lasec.metrics.sums import doubt

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "intervals"
FOUR = ppi.Rows(
    guess=np.array([0.2, 0.5, 0.1, 0.4]),
    q=np.array([0.5, 0.5, 0.2, 1.0]),
    asked=np.array([True, True, False, True]),
    wrong=np.array([1.0, 0.0, 0.0, 1.0]),
)


def tracked(rows=2_000):
    stream = lasec.streams.switching(rows, dimension=5, seed=3)
    records = lasec.Tracker(rate=0.2, seed=1).run(*stream)
    guess = doubt(records.label, records.margin)
    wrong = records.mistake.astype(np.float64)
    rows = ppi.Rows(guess, records.propensity, records.asked, wrong)
    return stream, records, rows.part(records.sign != 0)  # there is a prediction


def normal(value, deviation):
    return value - 1.959964 * deviation, value + 1.959964 * deviation


def stand_in():
    """What the package does, in its simplest form, with lam = 1."""

    def classical(y, w, alpha):
        w = w / w.mean()
        return normal(np.mean(w * y), np.std(w * y) / len(y) ** 0.5)

    def ppi_mean(y, guess, every, alpha, w, lam=1.0):
        w = w / w.mean()
        parts = lam * every, w * (y - lam * guess)
        return normal(
            sum(part.mean() for part in parts), sum(part.var() / len(part) for part in parts) ** 0.5
        )

    return SimpleNamespace(classical_mean_ci=classical, ppi_mean_ci=ppi_mean)


def test_ours_is_that_of_a_meter():
    stream, records, rows = tracked()
    meter = lasec.Meter(window=None)
    meter.extend(records, stream.y)
    exact = meter.accuracy
    assert ppi.aipw(rows) == pytest.approx((exact.value, exact.low, exact.high), rel=1e-9)


def test_power_by_hand():
    # u = 2, 2, 0: lam = (2 * 0.2)/(2 * 0.04 + 2 * 0.25)
    lam = 0.4 / 0.58
    assert ppi.power(FOUR) == pytest.approx(lam, rel=1e-12)
    # a total of lam (0.2 + 0.5 + 0.1 + 0.4), and (w - lam a)/q of the three queried rows
    total = 1.2 * lam + (1 - 0.2 * lam) / 0.5 - 0.5 * lam / 0.5 + (1 - 0.4 * lam)
    assert ppi.tuned(FOUR).value == pytest.approx(1 - total / 4, rel=1e-12)
    certain = FOUR._replace(wrong=np.ones(4))
    assert ppi.power(certain) == 1.0  # 1.4/0.58, clipped
    assert ppi.tuned(certain) == pytest.approx(ppi.aipw(certain), rel=1e-12)
    assert ppi.power(FOUR._replace(wrong=np.zeros(4))) == 0.0
    assert ppi.power(FOUR._replace(q=np.ones(4))) == 1.0


def test_the_power_has_the_least_estimated_variance():
    _, _, rows = tracked()
    a, q, _, w = rows.part(rows.asked)
    grid = np.linspace(0.0, 1.0, 1_001)
    variance = [((1 - q) * (w - lam * a) ** 2 / q**2).sum() for lam in grid]
    assert ppi.power(rows) == pytest.approx(grid[np.argmin(variance)], abs=5e-4)


def test_a_window_without_queried_errors_keeps_the_width_that_the_model_expects():
    rows = FOUR._replace(wrong=np.zeros(4))
    expected = sum((1 - q) / q * a for a, q in zip(rows.guess, rows.q, strict=True))  # lam = 0
    found = ppi.tuned(rows)
    assert found.value == found.high == 1.0
    assert found.low == pytest.approx(max(0.0, 1.0 - 1.959964 * expected**0.5 / 4), abs=1e-5)


def test_recalibration_learns_from_the_past_only():
    nothing = FOUR.part(slice(0))
    assert ppi.recalibrated(FOUR, nothing) == ppi.aipw(FOUR)
    guess = np.array([0.2, 0.3])
    alike = ppi.Rows(np.full(4_000, 0.5), np.ones(4_000), np.ones(4_000, bool), np.zeros(4_000))
    alike.wrong[:1_000] = 1.0  # logit 0: only the intercept can tell, and 1/4 were wrong
    odds = ppi.platt(alike, guess) / (1 - ppi.platt(alike, guess)) / (guess / (1 - guess))
    assert odds == pytest.approx(1 / 3, abs=2e-3)
    random = np.random.default_rng(0)
    a, q = random.uniform(0.02, 0.5, 50_000), random.uniform(0.2, 1.0, 50_000)
    past = ppi.Rows(a, q, random.random(50_000) < q, (random.random(50_000) < a**2).astype(float))
    found = ppi.platt(past, np.array([0.1, 0.4]))
    assert found == pytest.approx([0.01, 0.16], abs=0.01)  # a doubts itself too much


def test_the_fit_is_where_its_slope_is_zero():
    past, start = tracked()[2], np.array([0.0, 1.0])
    logit = ppi._logits(np.array([0.5, 0.25]))
    fitted = ppi._logits(ppi.platt(past, np.array([0.5, 0.25])))[:, 1]
    beta = np.linalg.solve(logit, fitted)
    a, q, _, w = past.part(past.asked)
    weight = (1 / q) * (1 / q).sum() / (1 / q**2).sum()
    X = ppi._logits(a)
    slope = X.T @ (weight * (1 / (1 + np.exp(-X @ beta)) - w)) + ppi.RIDGE * (beta - start)
    assert slope == pytest.approx([0.0, 0.0], abs=1e-8)


def test_the_command_writes_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(ppi, "package", stand_in)
    monkeypatch.setattr(ppi, "version", lambda name: "0")
    monkeypatch.setattr(ppi, "STREAMS", ["switch", "stationary"])
    monkeypatch.setattr(ppi, "RATES", (0.1, 0.2))
    done = CliRunner().invoke(
        app, ["ppi", "--seeds", "1", "--size", "0.4", "--out", str(tmp_path)]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = read_csv(tmp_path / "ppi.csv")
    assert len(rows) == 2 * 2 * len(ppi.METHODS)
    assert {row["windows"] for row in rows} == {2}
    assert all(0.0 < row["width"] < 1.0 and row["covered"] <= 2 for row in rows)
    text = (tmp_path / "ppi.md").read_text()
    assert text == ppi.table(rows)
    assert "| all | 8 | " in text
    assert json.loads((tmp_path / "ppi.json").read_text())["seeds"] == 1


def test_without_the_package_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ppi_py", None)
    done = CliRunner().invoke(app, ["ppi", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "needs ppi-python" in done.output
    assert "pip install --group peers" in done.output


def test_the_package_is_called_as_it_means():
    """Its formulas with the normalized weights 1/q, at the lam it chose."""
    with warnings.catch_warnings():
        pytest.importorskip("ppi_py")
    before = list(warnings.filters)
    package = ppi.package()
    assert warnings.filters == before
    _, _, rows = tracked()
    known, plain = rows.part(rows.asked), stand_in()
    samples = (known.wrong, known.guess, rows.guess)
    exact = plain.classical_mean_ci(known.wrong, w=1 / known.q, alpha=0.05)
    assert ppi.ipw(rows)[1:] == pytest.approx([1 - exact[1], 1 - exact[0]], abs=1e-6)
    ends = package.ppi_mean_ci(*samples, alpha=0.05, w=1 / known.q, lam=1)
    assert np.ravel(ends) == pytest.approx(
        plain.ppi_mean_ci(*samples, alpha=0.05, w=1 / known.q), abs=1e-6
    )
    found = ppi.ppi(rows)
    errors = [
        package.ppi_mean_pointestimate(*samples, w=1 / known.q, lam=lam).item()
        for lam in (0.0, 1.0, None)
    ]
    assert 1 - found.value == pytest.approx(errors[2], abs=1e-9)
    assert min(errors[:2]) - 1e-9 <= errors[2] <= max(errors[:2]) + 1e-9
    assert found.low < 1 - rows.wrong.mean() < found.high


def test_the_published_table_is_that_of_the_published_run():
    rows = read_csv(PUBLISHED / "ppi.csv")
    assert (PUBLISHED / "ppi.md").read_text() == ppi.table(rows)
