"""The benchmark, small: the same command on short streams, its streams, and two papers by hand."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.benchmark import ablation, baselines, one_setting, paced, papers, tables, unseen
from experiments.benchmark.command import joined
from experiments.benchmark.contest import benchmark_run, benchmark_tune, grid
from experiments.benchmark.learners import LEARNERS
from experiments.benchmark.streams import (
    SEGMENT,
    STREAMS,
    draw,
    prepared,
    segment_start,
    standardised,
)
from experiments.output import read_csv

import lasec
from lasec.streams import Stream

pytestmark = pytest.mark.xdist_group("benchmark")  # what they stand on is made once

ROOT = Path(__file__).parents[2]
OWN = ["tracker", "lasec-ss", "soal", "paa", "paa-paced", "persistence", "majority"]
SMALL = [
    "--streams", "switch,recurring", "--rates", "0.2,1.0", "--seeds", 2, "--size", 0.02,
    "--learners", ",".join(OWN),
]  # fmt: skip


def benchmark(*arguments, environment=None):
    return subprocess.run(
        [sys.executable, "-m", "experiments", "benchmark", *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600, env=environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark")
    done = benchmark(*SMALL, "--jobs", 2, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "cells, tracker is ahead" in done.stdout
    return folder


def test_every_run_is_a_row(out):
    with open(out / "benchmark.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["stream", "learner", "rate", "achieved_rate", "seed", "accuracy"]
    found = [(r["stream"], r["learner"], float(r["rate"]), int(r["seed"])) for r in rows]
    wanted = [
        (s, learner, rate, seed)
        for s in ("switch", "recurring")
        for learner in OWN
        for rate in (0.2, 1.0)
        for seed in (1, 2)
    ]
    assert found == wanted
    for row in rows:
        assert 0.0 < float(row["accuracy"]) < 1.0
        assert float(row["achieved_rate"]) == 1.0 or float(row["rate"]) < 1.0, row


def test_what_was_tuned_is_told(out):
    about = json.loads((out / "benchmark.json").read_text())
    assert about["seeds"] == {"tuning": 0, "runs": [1, 2]}
    assert about["versions"]["lasec"] == lasec.__version__
    assert about["families"]["soal"] == "paper"
    tuned = {name.split("/")[1].split("@")[0] for name in about["tuning"]}
    assert tuned == {"lasec-ss", "soal", "paa", "paa-paced"}
    paa = about["tuning"]["switch/paa@0.2"]
    assert abs(paa["rate"] - 0.2) < 0.03
    assert paa["parameters"]["delta"] > 0.0


def test_runs_are_paired_and_repeatable(out, tmp_path):
    """One process, another folder, another order of names: the same figures to the last digit."""
    turned = [*SMALL]
    turned[1] = "recurring,switch"
    assert benchmark(*turned, "--jobs", 1, "--out", tmp_path).returncode == 0
    lines = (tmp_path / "benchmark.csv").read_text().splitlines()
    assert sorted(lines) == sorted((out / "benchmark.csv").read_text().splitlines())


def untimed(line):
    """An entry of a journal but for the CPU time it took."""
    entry = json.loads(line)
    del entry["seconds"]
    return json.dumps(entry)


def test_a_second_start_goes_on_where_it_was(out, tmp_path):
    """Half a journal: what is in it is not run again, and nothing differs in the end."""
    lines = (out / "journal.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_text("".join(lines[: len(lines) // 2]))
    assert benchmark(*SMALL, "--out", tmp_path).returncode == 0
    after = (tmp_path / "journal.jsonl").read_text().splitlines(keepends=True)
    assert after[: len(lines) // 2] == lines[: len(lines) // 2]
    assert sorted(untimed(line) for line in after) == sorted(untimed(line) for line in lines)
    assert (tmp_path / "benchmark.csv").read_text() == (out / "benchmark.csv").read_text()


def test_the_table_is_that_of_the_rows(out):
    rows = read_csv(out / "benchmark.csv")
    assert tables.document(rows) == (out / "benchmark.md").read_text()
    for figure in ("benchmark.svg", "benchmark.png"):
        assert (out / figure).stat().st_size > 5_000


def row(learner, seed, accuracy, asked=0.1, rate=0.1):
    return {
        "stream": "switch", "learner": learner, "rate": rate, "achieved_rate": asked,
        "seed": seed, "accuracy": accuracy,
    }  # fmt: skip


def test_the_best_peer_is_within_the_budget_and_differences_are_paired():
    rows = [row("tracker", 1, 0.70), row("tracker", 2, 0.80)]
    rows += [row("vw", 2, 0.79), row("vw", 1, 0.69)]  # in another order
    rows += [row("soal", s, 0.99, asked=0.2) for s in (1, 2)]
    rows += [row("persistence", s, 0.999) for s in (1, 2)]
    (compared,) = tables.comparisons(tables.cells(rows))
    assert compared.peer == "vw"
    assert compared.difference == pytest.approx(0.01)
    assert compared.half == pytest.approx(0.0, abs=1e-9)
    page = tables.document(rows)
    assert "| soal | 0.990* |" in page
    assert "ahead of the best tuned peer in 1 (1 of them" in page
    for r in rows[:2]:
        r["accuracy"] -= 0.2
    page = tables.document(rows)
    assert "behind by more than 0.005 in 1 (1 of them" in page
    assert "switch at 0.1 (-0.190, vw)" in page
    rows[0]["achieved_rate"] = 0.2
    assert tables.comparisons(tables.cells(rows)) == []
    assert "| tracker | 0.550* |" in tables.document(rows)


def test_one_rule_leaves_out_who_spends_as_it_likes():
    rows = [row("tracker", s, 0.70) for s in (1, 2)] + [row("vw", s, 0.69) for s in (1, 2)]
    rows += [row("soal", s, 0.80) for s in (1, 2)] + [row("moa-forest", 1, 0.695)]
    found = tables.cells(rows)
    assert [c.peer for c in tables.comparisons(found)] == ["soal"]
    (compared,) = tables.comparisons(found, one_rule=True)
    assert compared.peer == "moa-forest"  # by the draw that both have
    assert compared.difference == pytest.approx(0.005)
    assert "| 10 % |  |  | 1 / 0 / 0 (+0.005) | 0 / 0 / 1 (-0.100) |" in tables.by_budget(found)


def test_rows_that_are_not_run_are_kept():
    old = [row("tracker", 1, 0.5), row("majority", 1, 0.4), row("tracker", 1, 0.6, rate=0.2)]
    new = [row("vw", 1, 0.7), row("tracker", 1, 0.8)]
    made = joined(old, new)
    assert [(r["learner"], r["rate"], r["accuracy"]) for r in made] == [
        ("tracker", 0.1, 0.8), ("tracker", 0.2, 0.6), ("vw", 0.1, 0.7), ("majority", 0.1, 0.4),
    ]  # fmt: skip


def test_unseen_draws_are_compared_by_cell():
    before = tables.Comparison("switch", 0.1, "vw", 0.02, 0.01)
    rows = [row("tracker", s, 0.70) for s in (26, 27)] + [row("vw", s, 0.72) for s in (26, 27)]
    now = unseen._compared(rows, before)
    assert now.difference == pytest.approx(-0.02)
    assert "ahead in 0, and behind by more than 0.01 in 1" in unseen.summary([now])
    assert "| switch | -0.020 (+0.020) |" in unseen.document([before], [now])


def test_a_setting_is_one_for_all_streams():
    """The best on average, not the best of a stream; synthetic rows stay as they are."""

    def accuracy(stream, learner, rate, setting, seed, size):
        place, standardise = setting
        assert STREAMS[stream].real or not standardise
        best = {"switch": 0}.get(stream, 3)
        return 0.6 + 0.2 * (place == best) + 0.1 * (standardise and place == 3), rate

    class Ran:
        def run(self, title, tasks):
            return [accuracy(*task) for _, task in tasks]

    setting, mean = one_setting.chosen(Ran(), "paa-paced", 1.0)
    assert setting == (3, True)
    real = sum(source.real for source in STREAMS.values())
    assert mean == pytest.approx(0.8 + (0.1 * real - 0.2) / len(STREAMS), abs=1e-6)


def test_ours_meets_each_peer_with_one_setting():
    ours = [row("tracker", s, 0.70) | {"setting": ""} for s in (1, 2)]
    peer = [row("vw", s, a) | {"setting": "own"} for s, a in ((1, 0.68), (2, 0.70))]
    peer += [row("paa-paced", s, 0.71) | {"setting": "chosen"} for s in (1, 2)]
    found = one_setting.met(ours + peer)
    assert one_setting.gaps(found, "vw, own") == {("switch", 0.1): pytest.approx(0.01)}
    page = one_setting.document(ours + peer)
    assert "more accurate on average at every budget than 1;" in page
    assert "least by -0.0100 (paa-paced, chosen, at 10 %)" in page
    peer[0]["achieved_rate"] = peer[1]["achieved_rate"] = 0.2
    assert one_setting.gaps(one_setting.met(ours + peer), "vw, own") == {}


@pytest.mark.parametrize(("name", "point"), [
    ("paa", {"variant": "PA-I", "C": 0.01}), ("soal", {"eta": 0.02, "gamma": 50.0}),
])  # fmt: skip
def test_with_every_label_a_paced_paper_is_the_paper(name, point):
    stream = draw("switch", 1, 0.05)
    own = getattr(papers, f"run_{name}")(stream, 1.0, {**point, "delta": math.inf}, 1)
    assert getattr(paced, name)(stream, 1.0, {**point, "delta": 1.0}, 1) == own


@pytest.mark.parametrize("name", ["second-order-paced", "soal-paced", "paa-paced"])
def test_a_paced_learner_never_spends_all_labels_at_once(name):
    parameters = grid("switch", name, 1.0)[0]
    _, whole = benchmark_run("switch", name, 0.05, parameters, 1, 0.4)
    _, begun = benchmark_run("switch", name, 0.05, parameters, 1, 0.04)
    assert abs(whole - 0.05) < 0.001
    assert begun < 0.12  # the warm-up is at most a tenth of the labels of the horizon


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--streams", "switch,nowhere", ("no stream 'nowhere'", "stationary-noise")),
        ("--learners", "nobody", ("no learner 'nobody'", "skactiveml-split")),
        ("--rates", "0.1,1.5", ("no rate '1.5'", "0.05")),
        ("--rates", "some", ("no rate 'some'",)),
        ("--rates", "0", ("no rate '0'",)),
    ],
)
def test_what_is_not_known_is_refused(tmp_path, option, value, said):
    wide = os.environ | {"COLUMNS": "400"}  # so that the message is not broken into lines
    done = benchmark(option, value, "--out", tmp_path / "new", environment=wide)
    assert done.returncode == 2
    for words in said:
        assert words in done.stderr
    assert not (tmp_path / "new").exists()


def test_what_is_missing_is_refused_if_named_and_left_out_if_not(monkeypatch, capsys, tmp_path):
    import typer
    from experiments.benchmark.command import asked

    monkeypatch.setenv("LASEC_DATA", str(tmp_path))
    monkeypatch.setitem(LEARNERS, "vw", LEARNERS["vw"]._replace(modules=("not_there_at_all",)))
    contest = asked("all", "all", "0.4, 0.1", 1, 1.0)
    told = capsys.readouterr().err
    assert "vw needs not_there_at_all" in told
    assert "usps needs a folder with usps.npz" in told
    assert "vw" not in contest.learners
    assert "elec2" not in contest.streams
    assert set(OWN) <= set(contest.learners)
    assert "switch" in contest.streams
    assert contest.rates == [0.1, 0.4]
    for streams, learners in (("switch", "vw"), ("usps", "soal")):
        with pytest.raises(typer.BadParameter, match="needs"):
            asked(streams, learners, "0.1", 1, 1.0)


SHAPES = {
    "switch": (10_000, 50), "switch-noise": (10_000, 50), "slow": (10_000, 50),
    "faster": (10_000, 50), "stationary": (10_000, 50), "stationary-noise": (10_000, 50),
    "recurring": (10_000, 50), "usps": (9_298, 256), "elec2": (10_000, 8), "noaa": (18_159, 8),
    "covertype": (10_000, 54), "kdd": (10_000, 41), "usenet1": (1_500, 99), "usenet2": (1_500, 99),
    "phishing": (11_055, 46),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_has_its_shape_and_both_labels(name, data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    stream = draw(name, 1)
    assert stream.X.shape == SHAPES[name]
    assert stream.X.dtype == np.float64
    assert stream.y.dtype == np.int8
    assert np.isfinite(stream.X).all()
    assert set(stream.y.tolist()) == {-1, 1}
    assert len(draw(name, 1, 0.02).y) == round(0.02 * SHAPES[name][0])
    fixed = name in ("noaa", "usenet1", "usenet2", "phishing")
    assert np.array_equal(stream.X, draw(name, 2).X) == fixed


def test_labels_of_files_are_those_of_the_files(data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    assert int((draw("noaa", 1).y == 1).sum()) == 5_698
    assert int((draw("usenet2", 1).y == 1).sum()) == 500
    with np.load(data_folder / "covertype.npz") as data:
        first = round(2 / 30 * (len(data["y"]) - SEGMENT))
        classes = data["y"][first : first + SEGMENT]
    assert ((draw("covertype", 2).y == 1) == (classes == 2)).all()
    for seed in range(6):
        share = int((draw("kdd", seed).y == 1).sum())
        assert 50 <= share <= SEGMENT - 50


def test_a_segment_without_both_labels_is_passed_over():
    positive = np.zeros(40_000, dtype=bool)
    positive[13_000:13_060] = True
    assert segment_start(positive, 0, rarer=0) == 0
    assert segment_start(positive, 0, rarer=50) == 4_000
    assert segment_start(positive, 5, rarer=50) == 5_000
    assert segment_start(positive, 30, rarer=50) == 3_999  # 34,000 less 30,001: around the end
    with pytest.raises(ValueError, match="rows of each label"):
        segment_start(positive, 0, rarer=61)


def test_standardised_rows_know_nothing_of_later_ones():
    X = np.random.default_rng(0).normal(1e6, 3.0, (400, 2))
    X[:, 1] = 7.0
    made = standardised(X)
    np.testing.assert_array_equal(made[:150], standardised(X[:150]))
    for t in (1, 50, 399):
        z = (X[t, 0] - X[: t + 1, 0].mean()) / X[: t + 1, 0].std()
        assert made[t, 0] == pytest.approx(z, rel=1e-6)
    assert (made[:, 1] == 0.0).all()
    assert (made[:, 2] == 1.0).all()


def test_real_streams_are_tried_both_ways(data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    assert {point["standardise"] for point in grid("noaa", "paa", 1.0)} == {False, True}
    assert {point["standardise"] for point in grid("switch", "paa", 1.0)} == {False}
    assert grid("switch", "tracker", 1.0) == [{}]
    assert len(grid("switch", "lasec-ss", 1.0)) == len(grid("noaa", "lasec-ss", 1.0)) // 2
    raw, scaled = (prepared("noaa", 1, 0.02, way) for way in (False, True))
    assert scaled.X.shape == (363, raw.X.shape[1] + 1)
    assert (scaled.y == raw.y).all()


def test_tuning_meets_the_aimed_share_and_takes_the_best():
    found = benchmark_tune("switch", "paa", 0.3, 0.2)
    assert abs(found["rate"] - 0.3) <= 0.03
    again = benchmark_run("switch", "paa", 0.3, found["parameters"], 0, 0.2)
    assert again == (found["accuracy"], found["rate"])


X = np.array([[1.0, 2.0], [2.0, -1.0], [1.0, 1.0]])
Y = np.array([1, -1, -1], dtype=np.int8)


@pytest.mark.parametrize(
    ("variant", "C", "weights"),
    [
        # w = 0, loss 1, |x|^2 = 5: tau = 0.2, min(0.1, 0.2), 1 / (5 + 1 / 0.2).
        ("PA", math.inf, [0.2, 0.4]),
        ("PA-I", 0.1, [0.1, 0.2]),
        ("PA-II", 0.1, [0.1, 0.2]),
    ],
)
def test_paa_takes_its_steps(variant, C, weights):
    first = papers.paa(X[:1], Y[:1], np.zeros(1), delta=0.5, variant=variant, C=C)
    np.testing.assert_allclose(first.weights, weights)
    assert first.propensity.tolist() == [1.0]


def test_paa_asks_by_its_margin():
    coins = np.array([0.5, 0.5, 0.45])
    trace = papers.paa(X, Y, coins, delta=0.5, variant="PA")
    # Row 2: p = 0.4 - 0.4 = 0, asked; loss 1, so w = (0.2, 0.4) - 0.2 (2, -1) = (-0.2, 0.6).
    # Row 3: p = 0.4, asked with probability 0.5 / 0.9; loss 1.4, |x|^2 = 2: w -= 0.7 (1, 1).
    np.testing.assert_allclose(trace.margin, [0.0, 0.0, 0.4], atol=1e-15)
    np.testing.assert_allclose(trace.propensity, [1.0, 1.0, 0.5 / 0.9])
    np.testing.assert_allclose(trace.weights, [-0.9, -0.1])
    silent = papers.paa(X, Y, np.array([0.5, 0.5, 0.56]), delta=0.5, variant="PA")
    assert silent.asked.tolist() == [True, True, False]
    np.testing.assert_allclose(silent.weights, [-0.2, 0.6])


def test_soal_follows_its_equations():
    """Against the equations with matrices written out, and its first row by hand."""
    eta, gamma, delta = 0.3, 2.0, 0.4
    coins = np.array([0.9, 0.9, 0.0])
    trace = papers.soal(X, Y, coins, delta, eta, gamma)
    w, S = np.zeros(2), np.eye(2)
    for t, (x, y) in enumerate(zip(X, Y.astype(float), strict=True)):
        p, v = w @ x, x @ S @ x
        rho = abs(p) - eta / 2 / (1 / v + 1 / gamma)
        probability = 1.0 if rho <= 0 else delta / (delta + rho)
        assert trace.margin[t] == pytest.approx(p, abs=1e-14)
        assert trace.propensity[t] == pytest.approx(probability)
        if coins[t] < probability and y * p < 1:
            S = S - np.outer(S @ x, S @ x) / (gamma + v)
            w = w + eta * y * S @ x
    np.testing.assert_allclose(trace.weights, w, atol=1e-14)
    # By hand: v = 5, S x = x 2 / 7 after the step, so w = 0.3 * 2 / 7 * (1, 2).
    first = papers.soal(X[:1], Y[:1], coins[:1], delta, eta, gamma)
    np.testing.assert_allclose(first.weights, [0.6 / 7, 1.2 / 7])


def test_soal_is_sure_of_itself_only_beyond_its_confidence():
    """The second time it sees a row, p = 0.3 * 10 / 7 and v = 10 / 7, so rho is p less 0.125."""
    twice = np.array([[1.0, 2.0], [1.0, 2.0]])
    trace = papers.soal(twice, np.ones(2, dtype=np.int8), np.zeros(2), 0.4, 0.3, 2.0)
    rho = 3 / 7 - 0.15 / (7 / 10 + 1 / 2)
    assert trace.propensity[1] == pytest.approx(0.4 / (0.4 + rho))


@pytest.mark.parametrize("run", [papers.paa, papers.soal])
def test_without_bound_every_label_is_asked(run):
    stream = draw("switch", 1, 0.05)
    given = {"variant": "PA"} if run is papers.paa else {"eta": 0.02, "gamma": 50.0}
    coins = lasec.uniforms(1, 0, len(stream.y))[:, 0]
    assert run(stream.X, stream.y, coins, math.inf, **given).asked.all()
    few = run(stream.X, stream.y, coins, 1e-3, **given).asked.mean()
    assert 0.0 < few < 0.5


def test_baselines_know_only_asked_labels():
    y = np.array([-1, -1, 1, 1, 1, -1], dtype=np.int8)
    stream = Stream(np.zeros((6, 1)), y, np.zeros(6, dtype=np.int64))
    # Predictions are + - - + + +, right in rows 2, 4 and 5, and + - - - + +, right in 2 and 5.
    assert baselines.persistence(stream, 1.0, {}, 0) == (pytest.approx(3 / 6), 1.0)
    assert baselines.majority(stream, 1.0, {}, 0) == (pytest.approx(2 / 6), 1.0)
    asked = baselines.uniformly_asked(stream, 0.5, 3)
    last, right = 1, 0
    for label, ask in zip(y, asked, strict=True):
        right += last == label
        last = label if ask else last
    share = float(asked.mean())
    assert 0.0 < share < 1.0
    assert baselines.persistence(stream, 0.5, {}, 3) == (pytest.approx(right / 6), share)


PEERS = [name for name, learner in LEARNERS.items() if learner.family == "peer"]


@pytest.mark.parametrize("name", PEERS)
def test_peers_learn_where_they_are_installed(name):
    for module in LEARNERS[name].modules:
        pytest.importorskip(module)
    found = benchmark_tune("stationary", name, 1.0, 0.05)
    accuracy, share = benchmark_run("stationary", name, 1.0, found["parameters"], 1, 0.05)
    assert share > 0.999
    assert accuracy > (0.65 if LEARNERS[name].grid else 0.58)  # 500 rows are few for trees


def test_the_published_table_is_that_of_the_published_runs():
    """No figure of the benchmark's page is typed by hand."""
    folder = ROOT / "docs" / "results" / "benchmark"
    rows = read_csv(folder / "benchmark.csv")
    assert tables.document(rows) == (folder / "benchmark.md").read_text()
    assert tables.by_budget(tables.cells(rows)) == (folder / "budgets.md").read_text()
    changed = read_csv(folder / "ablation.csv")
    assert ablation.document(changed) == (folder / "ablation.md").read_text()
    seen = tables.comparisons(tables.cells(rows), one_rule=True)
    met = [c for c in seen if c.stream not in unseen.LEFT_OUT and c.rate < 1.0]
    last = [unseen._compared(read_csv(folder / "unseen.csv"), c) for c in met]
    assert unseen.document(met, last) == (folder / "unseen.md").read_text()
    alike = read_csv(folder / "one_setting.csv")
    assert one_setting.document(alike) == (folder / "one_setting.md").read_text()
    assert {row["stream"] for row in rows} == set(STREAMS)
    assert {row["learner"] for row in rows} == set(LEARNERS)
