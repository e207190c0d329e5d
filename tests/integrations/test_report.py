"""The report: one page, sound HTML, nothing from outside, the same bytes, and fit for a phone."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import lasec
import lasec.reports

EVIL = "<script>alert('x')</script>"
ROWS = 3_000
X, Y = lasec.streams.switching(ROWS, dimension=4, every=1_500, noise=0.03, seed=1)
GROUPS = [(EVIL, "$a_b$ & Söhne", "x" * 200)[i % 3] for i in range(ROWS)]
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
    }
    made["compare"] = folder / "compare.html"
    runs = {EVIL: full, "_LASEC $x$": plain}
    lasec.reports.compare(made["compare"], runs, baselines={"majority": 0.52, EVIL: 0.5})
    return made


KINDS = ["full", "plain", "late", "short", "one", "none", "threshold", "compare"]


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


def test_the_page_says_what_the_trace_says(pages):
    run, learner = followed(lasec.Tracker(rate=0.2), groups=GROUPS)
    words = " ".join(Page(pages["full"].read_text()).words)
    here = run.estimate
    assert f"{100 * here.value:.1f} % right (between {100 * here.low:.1f} %" in words
    assert f"in truth {100 * run.accuracy:.1f} %" in words
    assert f"{run.labels:,} asked labels of {ROWS:,} rows" in words
    for part in [*run.parts(), *run.groups]:
        assert f"{100 * part.estimate.value:.1f} % ({100 * part.estimate.low:.1f} to" in words
    for line in lasec.cite(learner).splitlines():
        assert line in words
    assert repr(learner.query) in words
    assert lasec.__version__ in words
    assert "never changed" in words or "changed suddenly after row" in words


def test_what_a_reader_must_know_is_said(pages):
    words = {kind: " ".join(Page(path.read_text()).words) for kind, path in pages.items()}
    assert "throws no coin" in words["threshold"]
    assert "throws no coin" not in words["full"]
    assert "still open at the end" in words["late"]
    assert "every label was asked" in words["one"]
    assert "nothing can be estimated" in words["none"]
    assert "holds no budget" in words["plain"]
    assert "It believes" in words["full"]
    assert "It believes" not in words["plain"] + words["short"]


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
    assert list(figures) == ["accuracy", "labels", "beliefs", "asked", "doubt", "margins"]
    lines = {line.get_label(): line for line in figures["accuracy"].axes[0].lines}
    shown = lines["true"].get_ydata()
    assert np.array_equal(shown, [point.truth for point in run.points])
    paths = lasec.reports.save_figures(tmp_path / "figures", run, learner)
    assert len(paths) == 12
    assert all(path.stat().st_size < 150_000 for path in paths)
    before = [path.read_bytes() for path in paths]
    assert before == [
        path.read_bytes() for path in lasec.reports.save_figures(tmp_path / "figures", run, learner)
    ]
    assert b"<dc:date>" not in before[1]


def test_nothing_to_compare():
    with pytest.raises(ValueError, match="nothing to compare"):
        lasec.reports.compare("never.html", {})


def said(path):
    return " ".join(Page(Path(path).read_text()).words)


def test_answers_that_came_behind_an_open_question_are_not_denied(tmp_path):
    learner = lasec.Tracker(rate=0.1)
    delay = np.full(ROWS, 20.0)
    delay[0] = np.inf
    found = lasec.evaluate(learner, X, Y, delay=delay)
    words = said(write(tmp_path, "open", found, learner))
    assert f"{found.meter.labels:,} answers came, but the question of row 1 is still open" in words
    assert "No answer has come" not in words
    delay[0], delay[np.flatnonzero(found.records.asked)[200]] = 20.0, np.inf
    found = lasec.evaluate(learner := lasec.Tracker(rate=0.1), X, Y, delay=delay)
    words = said(write(tmp_path, "half", found, learner))
    assert f"asked labels of the first {found.estimate.rows:,} of 3,000 rows, since the" in words
    assert f"question of row {found.meter.oldest + 1:,} is still open" in words


def test_a_belief_needs_labels(tmp_path):
    run, learner = followed(lasec.Tracker(4, rate=1e-6, horizon=100))
    assert run.labels < 10
    assert "It believes" not in said(write(tmp_path, "few", run, learner))


def test_classes_have_names(tmp_path):
    run, learner = followed(lasec.Tracker(rate=0.2))
    page = write(tmp_path, "named", run, learner, classes=["<ham>", "spam"])
    words = said(page)
    assert "the probability of spam less that of <ham>" in words
    assert "towards <ham> \u2190 margin \u2192 towards spam" in words
    assert "+1" not in words
    plain = said(write(tmp_path, "plain", *followed(lasec.LASEC_SS(4)), classes=["ham", "spam"]))
    assert "from ham on the left to spam on the right" in plain
    figures = lasec.reports.figures(run, learner, classes=["ham", "spam"])
    assert figures["margins"].axes[0].get_xlabel().startswith("towards ham")
    for wrong in (["spam"], "no", ["a", "b", "c"]):
        with pytest.raises(ValueError, match="classes: expected two names"):
            write(tmp_path, "wrong", run, learner, classes=wrong)
    assert not (tmp_path / "wrong.html").exists()


def test_one_row_is_one_row(tmp_path):
    assert "counted over 1 row: " in said(write(tmp_path, "one", *followed(lasec.LASEC(4), rows=1)))
    nothing = said(write(tmp_path, "none", lasec.RunSummary(), lasec.LASEC(4)))
    assert "There were no rows" in nothing
    assert "in truth unknown right" not in nothing
    lasec.reports.compare(tmp_path / "c.html", {"A": followed(lasec.LASEC(4), rows=1)})
    words = said(tmp_path / "c.html")
    assert "1 learner on the same 1 row" in words
    assert "of 1 row, with 1 label asked" in words


def test_runs_without_rows_and_of_different_lengths(tmp_path):
    runs = {
        "empty": followed(lasec.Tracker(4), rows=0),
        "long": followed(lasec.Tracker(4)),
        "short": followed(lasec.LASEC_SS(4), rows=1_000),
    }
    table = lasec.reports.compare(tmp_path / "c.html", runs)
    assert [row[0] for row in table.rows][-1] == "empty"
    words = said(tmp_path / "c.html")
    assert "3 learners on up to 3,000 rows" in words
    assert "Not all ran over 3,000 rows, so compare with care: empty 0, short 1,000." in words
    assert f"{table.rows[0][0]} was the best of these: right in {table.rows[0][1]}" in words
    lasec.reports.compare(tmp_path / "n.html", {"empty": runs["empty"]})
    assert "no rows, so there is nothing to compare" in said(tmp_path / "n.html")


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
    shown = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert shown["asked"][0] <= 50
    assert shown["asked"][-1] == run.labels


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
  const plots = [...inside.querySelectorAll(".plot")];
  const seen = plots.filter((plot) => plot.getBoundingClientRect().width > 0);
  let told = "none";
  if (seen.length) {{
    const box = seen[0].getBoundingClientRect();
    const place = {{ clientX: box.left + box.width * 0.6, clientY: box.top + 9, bubbles: true }};
    seen[0].dispatchEvent(new event.target.contentWindow.PointerEvent("pointermove", place));
    told = seen[0].closest("figure").querySelector(".readout").textContent;
  }}
  const texts = seen.flatMap((plot) => [...plot.querySelectorAll("text")]);
  const small = Math.min(99, ...texts.map((text) => text.getBoundingClientRect().height));
  document.title = [root.scrollWidth, root.clientWidth, plots.length, seen.length,
    small.toFixed(1), told].join("|");
}};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here to open the page with")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", ["full", "late", "short", "compare"])
def test_in_a_browser_it_fits_and_complains_of_nothing(pages, kind, width):
    frame = pages[kind].with_name(f"frame-{kind}-{width}.html")
    frame.write_text(FRAME.format(name=pages[kind].name, width=width))
    dom, complaints = browse(frame, "--window-size=1400,1000")
    assert complaints == []
    found = re.search(r"<title>(.*?)</title>", dom)
    across, room, plots, seen, small, told = found[1].split("|")
    assert int(across) <= int(room) == width
    assert int(plots) == 2 * int(seen) > 0
    assert float(small) >= 10.0
    assert told.startswith("round ")
    assert "%" in told
