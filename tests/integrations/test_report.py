"""The report: one page, sound HTML, nothing from outside, the same bytes, and fit for a phone."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import lasec
import lasec.reports
from lasec.reports.source import _missed, beaten, cards

EVIL = "<script>alert('x')</script>"
ROWS = 3_000
X, Y = lasec.streams.switching(ROWS, dimension=4, every=1_500, noise=0.03, seed=1)
GROUPS = [(EVIL, "$a_b$ & Söhne", "x" * 200)[i % 3] for i in range(ROWS)]
TIMES = 1_772_323_200.0 + np.sort(np.random.default_rng(2).uniform(0.0, 20.5 * 86_400.0, ROWS))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
VOID = {"meta", "path", "use", "rect", "br"}


class Page(HTMLParser):
    """Tags, ids and links of a page; complains about tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in {"href", "src", "xlink:href", "srcset", "data"}:
                self.links.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data.replace("\xa0", " "))


def followed(learner, rows=ROWS, groups=None):
    run = lasec.RunSummary()
    lasec.evaluate(learner, X[:rows], Y[:rows], groups=groups and groups[:rows], into=run)
    return run, learner


def write(folder, name, run, learner, **options):
    path = Path(folder, f"{name}.html")
    lasec.reports.write(path, run, learner, **options)
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every kind of page there is, by name."""
    folder = tmp_path_factory.mktemp("pages")
    full = followed(lasec.Tracker(rate=0.2), groups=GROUPS)
    plain = followed(lasec.LASEC_SS(4))
    late = lasec.evaluate(
        tracker := lasec.Tracker(rate=0.2), X, Y, delay=100, alarms=[lasec.alarms.DropAlarm()]
    )
    made = {
        "full": write(folder, "full", *full, title=EVIL, facts={EVIL: f"file {EVIL}"}),
        "plain": write(folder, "plain", *plain),
        "late": write(folder, "late", late, tracker),
        "short": write(folder, "short", *followed(lasec.Tracker(rate=0.1), rows=10)),
        "one": write(folder, "one", *followed(lasec.LASEC_SS(4), rows=1)),
        "none": write(folder, "none", lasec.RunSummary(), lasec.LASEC(4)),
        "threshold": write(folder, "threshold", *followed(lasec.BBQ(4))),
        "dated": write(
            folder, "dated", lasec.evaluate(day := lasec.Tracker(rate=0.2), X, Y, times=TIMES), day
        ),
    }
    made["compare"] = folder / "compare.html"
    runs = {EVIL: full, "_LASEC $x$": plain}
    lasec.reports.compare(made["compare"], runs, baselines={"majority": 0.52, EVIL: 0.5})
    return made


KINDS = ["full", "plain", "late", "short", "one", "none", "threshold", "dated", "compare"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_sound_and_loads_nothing(pages, kind):
    text = pages[kind].read_text()
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(page.ids)
    assert "@import" not in text
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed", "base", "form"}
    addresses = re.findall(r"https?://[^\s\"'<>)]+", text)
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses
    assert len(text) < 1_000_000
    assert not {"nan", "NaN", "inf", "None"} & set(re.findall(r"\w+", " ".join(page.words)))
    used = set(re.findall(r"var\((--\w+)\)", text))
    assert used <= set(re.findall(r"(--\w+):", text))


def test_words_of_a_user_are_only_ever_text(pages):
    for kind in ("full", "compare"):
        text = pages[kind].read_text()
        assert "<script>alert" not in text
        page = Page(text)
        figures = page.tags.count("figure")
        assert page.tags.count("script") == figures + 1
        assert EVIL in page.words


def test_the_same_run_writes_the_same_bytes(pages, tmp_path):
    again = followed(lasec.Tracker(rate=0.2), groups=GROUPS)
    path = write(tmp_path, "again", *again, title=EVIL, facts={EVIL: f"file {EVIL}"})
    assert path.read_bytes() == pages["full"].read_bytes()


def test_the_page_says_what_the_summary_says(pages):
    run, learner = followed(lasec.Tracker(rate=0.2), groups=GROUPS)
    words = " ".join(Page(pages["full"].read_text()).words)
    here = run.estimate
    assert (run.unpredicted, here.labels) == (1, run.labels - 1)  # the first row is queried
    interval = f"95 % CI {100 * here.low:.1f}-{100 * here.high:.1f} %, {here.labels:,} labels"
    assert f"Estimated accuracy {100 * here.value:.1f} % {interval}" in words
    silent = "1 row before the first label has no prediction"
    assert f"True accuracy {100 * run.accuracy:.1f} % all labels; {silent}" in words
    assert f"Labels queried {run.labels:,} budget {0.2 * ROWS:,.0f};" in words
    for name, value in run.baselines.items():
        assert f"Baseline: {name} {100 * value:.1f} %" in words
    for part in [*run.parts(), *run.groups]:
        assert f"{100 * part.estimate.value:.1f} % ({100 * part.estimate.low:.1f}-" in words
    for line in lasec.cite(learner).splitlines():
        assert line in words
    assert repr(learner.query) in words
    assert lasec.__version__ in words
    assert "No change point was estimated" in words or "Estimated change points: after row" in words


def test_what_a_reader_must_know_is_said(pages):
    words = {kind: " ".join(Page(path.read_text()).words) for kind, path in pages.items()}
    assert "this query is deterministic" in words["threshold"]
    assert "this query is deterministic" not in words["full"]
    assert "have not come by the end" in words["late"]
    assert "1 row before the first label has no prediction" in words["one"]
    assert "rows before the first label have no prediction" in words["late"]
    assert "Worst case" not in words["full"] + words["late"]
    assert "nothing can be estimated" in words["none"]
    assert "This query has no budget" in words["plain"]
    assert "of the concept per 1,000 rows" not in words["full"]
    assert re.search(
        r"half of what was learned is out of date after about [\d,]+ rows|No gradual drift",
        words["full"],
    )
    assert "radual drift" not in words["plain"] + words["short"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_speaks_as_the_field_does(pages, kind):
    words = " ".join(Page(pages[kind].read_text()).words).lower()
    for odd in ("believe", "in truth", "stretch", "coin", "toss", "round ", "honest", "beside"):
        assert odd not in words, odd


def test_changes_are_found_where_they_are():
    from lasec.reports.source import changes

    X, y = lasec.streams.switching(9_000, dimension=5, every=3_000, seed=2)
    tracker, run = lasec.Tracker(rate=0.4), lasec.RunSummary()
    lasec.evaluate(tracker, X, y, into=run)
    found = changes(run.points)
    assert len(found) == 2
    assert found == pytest.approx([3_000, 6_000], abs=60)


def test_figures_for_a_paper(tmp_path):
    run, learner = followed(lasec.Tracker(rate=0.2))
    figures = lasec.reports.figures(run, learner)
    assert list(figures) == ["accuracy", "labels", "drift", "reliability", "queries", "margins"]
    lines = {line.get_label(): line for line in figures["accuracy"].axes[0].lines}
    shown = lines["true (all labels)"].get_ydata()
    assert np.array_equal(shown, [point.truth for point in run.points])
    paths = lasec.reports.save_figures(tmp_path / "figures", run, learner)
    assert len(paths) == 12
    assert all(path.stat().st_size < 150_000 for path in paths)
    before = [path.read_bytes() for path in paths]
    assert before == [
        path.read_bytes() for path in lasec.reports.save_figures(tmp_path / "figures", run, learner)
    ]
    assert b"<dc:date>" not in before[1]


def test_a_comparison_says_what_is_certain(tmp_path):
    runs = {"half": followed(lasec.Tracker(rate=0.5)), "LASEC": followed(lasec.LASEC_SS(4))}
    runs["twin"] = runs["half"]
    table = lasec.reports.compare(tmp_path / "c.html", runs)
    rows = {name: cells for name, *cells in table.rows}
    from lasec.evaluation import paired_difference

    apart = paired_difference(runs["LASEC"][0], runs["half"][0])
    assert apart.high < 0.0
    assert rows["half"][1] == "best"
    assert rows["LASEC"][1] == apart.in_points
    assert list(rows)[-2:] == ["baseline: no-change", "baseline: majority class"]
    words = said(tmp_path / "c.html")
    assert (
        "lead over twin is 0.0 percentage points (95 % CI 0.0 to 0.0), so the two cannot" in words
    )
    assert "the learners queried different numbers of labels" in words


def test_nothing_to_compare():
    with pytest.raises(ValueError, match="nothing to compare"):
        lasec.reports.compare("never.html", {})


def said(path):
    return " ".join(Page(Path(path).read_text()).words)


def test_answers_that_came_behind_an_open_question_are_not_denied(tmp_path):
    learner = lasec.Tracker(rate=0.1)
    delay = np.full(ROWS, 20.0)
    delay[0] = np.inf  # before the first label there is no prediction: nothing waits for it
    found = lasec.evaluate(learner, X, Y, delay=delay)
    assert found.records.asked[0]
    words = said(write(tmp_path, "silent", found, learner))
    assert found.estimate.until > ROWS - 60
    assert "the label of row 1 has not come" not in words
    assert "Estimated accuracy unknown" not in words
    first = np.flatnonzero(found.records.asked & (found.records.sign != 0))[0]
    delay[first] = np.inf
    found = lasec.evaluate(learner := lasec.Tracker(rate=0.1), X, Y, delay=delay)
    words = said(write(tmp_path, "open", found, learner))
    covered = f"Estimates cover the first {found.estimate.until:,} of 3,000 rows: the label of row"
    assert found.estimate.until <= first
    assert f"{covered} {first + 1:,} has not come" in words
    assert "Estimated accuracy unknown" in words
    delay[first], delay[np.flatnonzero(found.records.asked)[200]] = 20.0, np.inf
    found = lasec.evaluate(learner := lasec.Tracker(rate=0.1), X, Y, delay=delay)
    words = said(write(tmp_path, "half", found, learner))
    assert found.estimate.rows == found.estimate.until - found.unpredicted > 1_000
    covered = f"Estimates cover the first {found.estimate.until:,} of 3,000 rows: the label of row"
    assert f"{covered} {found.meter.oldest + 1:,} has not come" in words


def test_lost_answers_have_a_worst_case(tmp_path):
    delay = np.where(np.random.default_rng(4).random(ROWS) < 0.1, np.inf, 20.0)
    learner = lasec.Tracker(rate=0.2, max_age=100)
    run = lasec.evaluate(learner, X, Y, delay=delay)
    here, words = run.estimate, said(write(tmp_path, "lost", run, learner))
    assert here.lost > 20
    assert here.worst_low < here.low < here.high < here.worst_high
    ends = f"{100 * here.worst_low:.1f}-{100 * here.worst_high:.1f} %"
    gone = f"{here.lost} labels queried and never came: all wrong, or all right"
    assert f"Worst case {ends} {gone}" in words
    assert f"{run.unpredicted} rows before the first label have no prediction" in words


def test_a_missed_accuracy_is_admitted_of_a_whole_run_only():
    here = lasec.metrics.Estimate(0.9, 0.88, 0.92, rows=97, labels=50, until=100)
    source = SimpleNamespace(estimate=here, rows=100, unpredicted=3, accuracy=0.87)
    assert "outside the 95 % interval" in _missed(source)[0]
    for fine in ({"accuracy": 0.91}, {"unpredicted": 2}):
        assert _missed(SimpleNamespace(**vars(source) | fine)) == []


def test_a_drift_estimate_needs_labels(tmp_path):
    run, learner = followed(lasec.Tracker(4, rate=1e-6, horizon=100))
    assert run.labels < 10
    assert "drift" not in said(write(tmp_path, "few", run, learner)).split("Data, settings")[0]


def test_drift_is_drawn_only_where_there_is_some(tmp_path):
    X, y = lasec.streams.stationary(6_000, dimension=4, noise=0.05, seed=3)
    learner = lasec.Tracker(rate=0.2, seed=0)
    run = lasec.evaluate(learner, X, y)
    assert "drift" not in lasec.reports.figures(run, learner)
    assert "No change point was estimated." in said(write(tmp_path, "still", run, learner))


@pytest.mark.parametrize("rare", [1.0, -1.0])
def test_of_a_rare_class_recall_and_precision_come_first(tmp_path, rare):
    X = np.random.default_rng(1).normal(size=(6_000, 3))
    X = np.c_[X, np.ones(len(X))]
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > 1.7, rare, -rare)
    learner = lasec.Tracker(rate=0.3, seed=0)
    run = lasec.evaluate(learner, X, y)
    label = run.records.label
    found = {
        "recall": float((label[y == rare] == rare).mean()),
        "precision": float((y[label == rare] == rare).mean()),
    }
    words = said(write(tmp_path, "rare", run, learner, classes=["low", "high"]))
    name = "high" if rare > 0 else "low"
    for metric, true in found.items():
        place = run.classes.index(int(rare))
        estimate = run.confusion.estimate(metric, positive=place)
        assert true in estimate
        assert f"{metric.capitalize()} of {name} {100 * estimate.value:.1f} % 95 % CI" in words
    places = [words.index(what) for what in ("Recall of", "Precision of", "Estimated accuracy")]
    assert places == sorted(places)
    assert f"{name} is the class of {100 * (y == rare).mean():.1f} % of the rows" in words


def test_a_rare_class_comes_behind_the_accuracy_while_it_is_not_known():
    rare = np.where(np.arange(400) % 50 == 7, 1, -1)
    run = lasec.evaluate(lasec.Tracker(rate=0.3, seed=0), X[:400], rare)
    found = cards(run, {}, ())
    recall, accuracy = (
        [card.name for card in found].index(name) for name in ("recall of 1", "estimated accuracy")
    )
    assert found[recall].value in ("unknown", "not known yet")
    assert found[accuracy].value.endswith(" %")
    assert accuracy < recall


@pytest.fixture(scope="module")
def dated():
    learner = lasec.Tracker(rate=0.2, seed=0)
    return lasec.evaluate(learner, X, Y, times=TIMES), learner


def test_times_are_on_the_axis_and_labels_are_counted_by_day(dated, tmp_path):
    run, learner = dated
    figures = lasec.reports.figures(run, learner)
    for name in ("accuracy", "drift"):
        assert figures[name].axes[0].get_xlim()[0] == pytest.approx(TIMES[0] / 86_400.0, abs=0.2)
    bars = figures["labels"].axes[0].patches[0].get_data()
    days = (TIMES // 86_400.0).astype(int)
    queried = np.bincount(days - days[0], run.records.asked)
    assert np.array_equal(bars.values, queried)
    assert bars.edges[0] == days[0]
    words = said(write(tmp_path, "dated", run, learner))
    assert "2026-03-01 to 2026-03-21 (UTC)" in words
    assert "Labels by day" in words


def test_without_dates_labels_are_counted_by_window():
    for times in (None, np.arange(ROWS) * 1.0):  # seconds since 1970 are no dates here
        learner = lasec.Tracker(rate=0.2, seed=0)
        run = lasec.evaluate(learner, X, Y, times=times)
        labels, budget = (
            p.get_data() for p in lasec.reports.figures(run, learner)["labels"].axes[0].patches
        )
        assert labels.values.sum() == run.labels
        assert budget.values.sum() == pytest.approx(0.2 * ROWS)
        assert labels.edges[-1] == ROWS
        *alike, last = np.diff(labels.edges)
        assert 0 < last <= alike[0]
        assert set(alike) == {alike[0]}
        assert len(alike) < 40


def test_a_run_with_times_is_saved_whole(dated):
    run, _ = dated
    again = lasec.RunSummary.from_bytes(run.to_bytes())
    assert again.points == run.points
    assert again.baselines == run.baselines
    assert again.reliability == run.reliability
    for a, b in zip(again.calendar, run.calendar, strict=True):
        assert np.array_equal(a, b)


def test_the_calendar_does_not_grow_with_the_run():
    from lasec.evaluation.calendar import NO_TIMES

    calendar, rng = NO_TIMES, np.random.default_rng(3)
    for year in range(40):
        times = (year + rng.uniform(size=2_000)) * 365.0 * 86_400.0
        calendar = calendar.add(times, rng.uniform(size=2_000) < 0.1)
        assert calendar.starts.size <= 400
    assert calendar.rows.sum() == 80_000
    assert (np.diff(calendar.starts) > 0).all()


def test_the_reliability_diagram_counts_right():
    X, y = lasec.streams.stationary(8_000, dimension=4, noise=0.1, seed=5)
    run = lasec.evaluate(lasec.Tracker(rate=0.3, seed=0), X, y)
    predicted = run.records.sign != 0
    y, p = y[predicted], (1.0 + run.records.margin[predicted]) / 2.0
    place = np.searchsorted(np.arange(1, 10) / 10, p, side="right")  # 10 p would round up
    bins = run.reliability
    assert [b.rows for b in bins] == np.bincount(place)[np.unique(place)].tolist()
    for b, k in zip(bins, np.unique(place), strict=True):
        assert b.frequency == pytest.approx((y[place == k] > 0).mean())
        assert b.predicted == pytest.approx(p[place == k].mean(), abs=1e-9)
    inside = [b.frequency in b.estimate for b in bins]
    assert sum(inside) >= len(inside) - 2
    assert lasec.evaluate(lasec.LASEC_SS(4), X[predicted], y).reliability == []


def test_classes_have_names(tmp_path):
    run, learner = followed(lasec.Tracker(rate=0.2))
    page = write(tmp_path, "named", run, learner, classes=["<ham>", "spam"])
    words = said(page)
    assert "the probability of spam minus that of <ham>" in words
    assert "towards <ham> \u2190 margin \u2192 towards spam" in words
    assert "predicted probability of spam" in words
    assert "+1" not in words
    plain = said(write(tmp_path, "plain", *followed(lasec.LASEC_SS(4)), classes=["ham", "spam"]))
    assert "from ham on the left to spam on the right" in plain
    figures = lasec.reports.figures(run, learner, classes=["ham", "spam"])
    assert figures["margins"].axes[0].get_xlabel().startswith("towards ham")
    with pytest.raises(ValueError, match="classes: expected names"):
        write(tmp_path, "wrong", run, learner, classes="no")
    assert not (tmp_path / "wrong.html").exists()


def test_three_classes_have_a_table_and_a_confusion_matrix(tmp_path):
    rng = np.random.default_rng(2)
    which = rng.choice(3, 3_000, p=[0.6, 0.39, 0.01])
    X = rng.normal(size=(3_000, 4)) + 2.0 * np.eye(4)[which]
    y = np.array(["<ham>", "spam", "eggs"])[which]
    learner = lasec.Tracker(rate=0.3, seed=0)
    run = lasec.evaluate(learner, X, y)
    words = said(write(tmp_path, "three", run, learner, classes=learner.classes))
    assert "Recall of eggs" in words
    assert "eggs is the class of 1." in words
    assert "the probability of the predicted class minus that of another class" in words
    place = run.classes.index("spam")
    true = int(run.true_confusion.labels[place, place])
    assert f"({true:,})" in words
    assert "as <ham>" in words


def test_one_row_is_one_row(tmp_path):
    one = said(write(tmp_path, "one", *followed(lasec.LASEC(4), rows=1)))
    assert "unknown all labels; 1 row before the first label has no prediction" in one
    many = said(write(tmp_path, "many", *followed(lasec.LASEC(4), rows=300)))
    silent = "1 row before the first label has no prediction"
    assert f"all labels; {silent}; every label was queried" in many
    nothing = said(write(tmp_path, "none", lasec.RunSummary(), lasec.LASEC(4)))
    assert "There are no rows" in nothing
    assert "unknown" not in nothing
    lasec.reports.compare(tmp_path / "c.html", {"A": followed(lasec.LASEC(4), rows=1)})
    words = said(tmp_path / "c.html")
    assert "1 learner on the same 1 row" in words
    assert "over 1 row, with 1 queried label" in words


def test_runs_without_rows_and_of_different_lengths(tmp_path):
    runs = {
        "empty": followed(lasec.Tracker(4), rows=0),
        "long": followed(lasec.Tracker(4)),
        "short": followed(lasec.LASEC_SS(4), rows=1_000),
    }
    table = lasec.reports.compare(tmp_path / "c.html", runs)
    assert [row[0] for row in table.rows][2] == "empty"
    words = said(tmp_path / "c.html")
    assert "3 learners on up to 3,000 rows" in words
    assert "not comparable: empty 0, short 1,000." in words
    assert f"{table.rows[0][0]} has the highest true accuracy, {table.rows[0][1]}" in words
    lasec.reports.compare(tmp_path / "n.html", {"empty": runs["empty"]})
    assert "no rows, so there is nothing to compare" in said(tmp_path / "n.html")


@pytest.mark.parametrize(("count", "said"), [(3, "alarm"), (57, "alarm (the last 20 of 57)")])
def test_alarms_are_marks_in_the_figure_and_lines_on_the_page(tmp_path, count, said):
    """No fence of red lines, however many there are."""
    run, learner = followed(lasec.LASEC_SS(4), rows=2_000)
    drop = lasec.alarms.Alarm("drop", 0, 1e5, 0.17, 0.46, 0, low=0.36, high=0.56, labels=64)
    run.alarms.extend(drop._replace(ticket=30 * at, since=20 * at) for at in range(1, count + 1))
    axes = run.draw().axes[0]
    (marks,) = [line for line in axes.lines if line.get_label().startswith("alarm")]
    assert (marks.get_label(), marks.get_marker(), marks.get_linestyle()) == (said, "v", "None")
    rows = [alarm.ticket + 1 for alarm in run.alarms[-20:]]
    assert marks.get_xdata().tolist() == rows
    assert not [line for line in axes.lines if len(set(line.get_xdata())) == 1]
    text = write(tmp_path, "page", run, learner).read_text().replace("&nbsp;", " ")
    assert [lasec.alarms.described(alarm) in text for alarm in run.alarms] == (
        [False] * max(count - 5, 0) + [True] * min(count, 5)
    )
    assert ("The last 5 of 57." in text) == (count == 57)


def test_any_name_can_be_drawn(tmp_path):
    run = followed(lasec.Tracker(4), rows=300)
    names = ["\u65e5\u672c\u8a9e" * 10, "\U0001f389" * 30, "a\x00\x1f\tb", "\ud800", "__", "$x", ""]
    names += [f"a learner with a rather long name {i}" for i in range(20)]
    runs = dict.fromkeys(names, run)
    lasec.reports.compare(tmp_path / "c.html", runs, baselines={"\u65e5\ud800\n": 0.5})
    assert "\u65e5\u672c\u8a9e" in (tmp_path / "c.html").read_text()
    facts = {"\ud800": "\udfff"}
    write(tmp_path, "w", *run, title="\ud800", facts=facts, classes=["\ud800", "\u65e5\x00"])
    lasec.reports.save_figures(tmp_path, *run, classes=["\ud800", "\u65e5\x00"])


def test_a_page_is_written_all_or_not_at_all(tmp_path, monkeypatch):
    run = followed(lasec.Tracker(4), rows=300)
    path = write(tmp_path, "page", *run)
    then = path.read_bytes()
    with pytest.raises(ValueError, match="Format 'nonsense'"):
        lasec.reports.save_figures(tmp_path / "figures", *run, formats=["svg", "nonsense"])
    assert not (tmp_path / "figures").exists()

    def full(_):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    for again in (
        lambda: write(tmp_path, "page", *run, title="another"),
        lambda: lasec.reports.compare(path, {"A": run}),
    ):
        with pytest.raises(OSError, match="no space"):
            again()
    assert path.read_bytes() == then
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_the_labels_of_a_learner_that_ran_before_are_not_counted(tmp_path):
    learner = lasec.Tracker(4)
    learner.run(X[:1_000], Y[:1_000])
    run = lasec.RunSummary()
    lasec.evaluate(learner, X[1_000:], Y[1_000:], into=run)
    (axes,) = lasec.reports.figures(run, learner)["labels"].axes
    shown = {patch.get_label(): patch.get_data().values for patch in axes.patches}
    assert shown["labels queried"].sum() == run.labels
    assert shown["budget"] == pytest.approx(0.1 * np.diff(axes.patches[0].get_data().edges))


def browse(path, *options):
    found = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--virtual-time-budget=2000", "--hide-scrollbars", "--allow-file-access-from-files",
         *options, "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return found.stdout, [line for line in found.stderr.splitlines() if "CONSOLE" in line]


# A browser's window has a least width, so the page is put into a frame of the width of a phone.
FRAME = """<!DOCTYPE html><body style="margin:0">
<iframe id="f" src="{name}" style="border:0;width:{width}px;height:900px"></iframe>
<script>
document.getElementById("f").onload = (event) => {{
  const inside = event.target.contentDocument, root = inside.documentElement;
  inside.querySelectorAll("details").forEach((folded) => {{ folded.open = true; }});
  const plots = [...inside.querySelectorAll(".plot")];
  const seen = plots.filter((plot) => plot.getBoundingClientRect().width > 0);
  const hints = [...inside.querySelectorAll(".hint")].map((e) => getComputedStyle(e).visibility);
  let told = "none";
  if (seen.length) {{
    const box = seen[0].getBoundingClientRect();
    const place = {{ clientX: box.left + box.width * 0.6, clientY: box.top + 9, bubbles: true }};
    seen[0].dispatchEvent(new event.target.contentWindow.PointerEvent("pointermove", place));
    told = seen[0].closest("figure").querySelector(".readout").textContent;
  }}
  const texts = seen.flatMap((plot) => [...plot.querySelectorAll("text")]);
  const small = Math.min(99, ...texts.map((text) => text.getBoundingClientRect().height));
  const cut = [...inside.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth);
  document.title = [root.scrollWidth, root.clientWidth, plots.length, seen.length,
    small.toFixed(1), cut.length, hints.filter((seen) => seen === "visible").length,
    told].join("|");
}};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here to open the page with")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", ["full", "late", "short", "compare", "dated"])
def test_in_a_browser_it_fits_and_complains_of_nothing(pages, kind, width):
    frame = pages[kind].with_name(f"frame-{kind}-{width}.html")
    frame.write_text(FRAME.format(name=pages[kind].name, width=width))
    dom, complaints = browse(frame, "--window-size=1400,1000")
    assert complaints == []
    found = re.search(r"<title>(.*?)</title>", dom)
    across, room, plots, seen, small, cut, hints, told = found[1].split("|")
    assert int(across) <= int(room) == width
    assert int(plots) == int(seen) > 0
    assert float(small) >= 10.0
    assert width < 1280 or cut == "0"
    assert hints == "1"
    assert told.startswith("time (UTC) 2026-03-" if kind == "dated" else "row ")
    assert "%" in told


@pytest.mark.parametrize(
    ("agreement", "said"),
    [
        (0.9802, []),  # as often as two labels drawn at random
        (0.996, ["no-change baseline (99.6 %)", "autocorrelated (chance agreement 98.0 %)"]),
    ],
)
def test_one_percent_fraud_is_no_autocorrelation(agreement, said):
    y = np.where(np.arange(10_000) % 100 == 0, 1, -1)
    run = lasec.RunSummary()
    X = np.where(np.arange(10_000) % 40 == 0, 1.0, -1.0)[:, None]  # says fraud too often
    lasec.evaluate(lasec.Perceptron(dimension=1, seed=0), X, y, into=run)
    assert run.accuracy < 0.9802
    found = beaten(run, {"no-change": agreement, "majority class": 0.99})
    assert len(found) == 1 + bool(said)
    assert all(words in found[0] for words in said)
    assert "majority class baseline (99.0 %) beats this model" in found[-1]
