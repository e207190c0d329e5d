"""What the README and the pages next to it say of results is what the published rows say."""

from pathlib import Path
from statistics import mean, median

import pytest
from experiments import readme
from experiments.benchmark.tables import cells, comparisons
from experiments.output import read_csv

import lasec

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def found():
    return cells(read_csv(RESULTS / "benchmark" / "benchmark.csv"))


@pytest.fixture(scope="module")
def compared(found):
    """The Tracker against the best baseline of each benchmark cell, as published."""
    return comparisons(found)


@pytest.fixture(scope="module")
def one_rule(found):
    """The same on one budget rule."""
    return comparisons(found, one_rule=True)


def words(name):
    return " ".join((ROOT / name).read_text().split())


def ahead(some):
    return f"in {sum(one.difference > 0.0 for one in some)} of {len(some)}"


def worst(compared, *streams):
    return f"by up to {max(-one.difference for one in compared if one.stream in streams):.3f}"


def test_how_often_the_tracker_is_ahead(compared, one_rule):
    large = ahead([one for one in compared if one.rate >= 0.2])
    for page in ("README.md", "docs/benchmark.md", "docs/which-algorithm.md"):
        assert large in words(page)
    assert ahead([one for one in one_rule if one.rate >= 0.2]) in words("docs/benchmark.md")
    for some in (compared, one_rule):
        small = ahead([one for one in some if one.rate < 0.2])
        for page in ("README.md", "docs/benchmark.md"):
            assert small in words(page)
    far = [one for one in one_rule if one.difference < -0.01]
    few = [one for one in far if one.rate < 0.2]
    assert f"behind by more than 0.01 in {len(few)}" in words("docs/benchmark.md")
    (other,) = [one for one in far if one.rate >= 0.2]
    alone = f"in one (`{other.stream}` at {100 * other.rate:g} %, by {-other.difference:.3f})"
    assert alone in words("docs/benchmark.md")


def test_by_how_much_baselines_win(compared, one_rule):
    for page in ("README.md", "docs/limits.md"):
        assert worst(compared, "stationary", "stationary-noise") in words(page)
        assert worst(one_rule, "usenet1", "usenet2") in words(page)
    assert worst(one_rule, "elec2") in words("docs/limits.md")


def test_the_true_accuracy_of_the_loop_in_the_readme():
    stream = lasec.streams.switching(10_000, dimension=20, every=5_000, seed=1)
    records = lasec.Tracker(rate=0.1, seed=0).run(*stream)
    assert (
        f"true accuracy of this run, from all labels, is {100 * records.accuracy:.1f} %"
        in words("README.md")
    )
    assert f"uses {records.labels:,} labels" in words("README.md")


def test_a_forest_is_behind_the_tracker_as_the_page_says():
    rows = read_csv(RESULTS / "streams" / "streams.csv")
    rows += read_csv(RESULTS / "readme" / "forest.csv")
    for stream in readme.STREAMS:
        gaps = []
        for rate in readme.RATES:
            cell = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
            gaps.append(readme.mean(cell, "tracker") - readme.mean(cell, "forest"))
        assert f"by {min(gaps):.2f} to {max(gaps):.2f} on" in words("docs/streams.md")


def test_where_no_change_beats_the_tracker():
    rows = [
        row
        for row in read_csv(RESULTS / "streams" / "streams.csv")
        if row["stream"] == "covertype" and row["rate"] < 1.0
    ]
    best = max(row["accuracy"] for row in rows if row["learner"] == "tracker")
    assert best < next(row["accuracy"] for row in rows if row["learner"] == "previous")
    assert "on Covertype it does so at every budget below 100 %" in words("README.md")


def test_how_much_longer_a_row_takes_with_lenses():
    """The CPU times of docs/results/lenses, on every page that says it."""
    rows = read_csv(RESULTS / "lenses" / "lenses.csv")

    def taken(stream, learner):
        found = [row for row in rows if (row["stream"], row["learner"]) == (stream, learner)]
        return mean(float(row["us"]) for row in found if float(row["rate"]) == 0.1)

    ratios = [
        taken(stream, "lenses") / taken(stream, "Tracker")
        for stream in dict.fromkeys(row["stream"] for row in rows)
    ]
    assert round(median(ratios)) == 6
    said = f"the median of {len(ratios)} streams; from {min(ratios):.0f} to {max(ratios):.0f}"
    assert said in words("docs/lenses.md")
    for page in ("lenses", "which-algorithm", "decisions/0021-lenses"):
        text = words(f"docs/{page}.md")
        assert "about six times" in text
        assert "about five times" not in text
        assert "about ten times" not in text


def test_the_api_page_opens_with_the_session():
    page = (ROOT / "docs" / "api.md").read_text()
    assert page.index("autoclass::") == page.index("autoclass:: lasec.Session")
