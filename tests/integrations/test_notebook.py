"""HTML reprs in notebooks: well formed, escaped, and without matplotlib."""

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import lasec
from lasec import notebook

X, Y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)


class Nesting(HTMLParser):
    """Complains about tags that are not closed in order."""

    VOID = frozenset({"br", "meta", "path", "polyline", "use", "rect", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(text):
    parser = Nesting()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture(scope="module")
def things():
    tracker, run = lasec.Tracker(rate=0.2), lasec.RunSummary()
    fresh = lasec.Tracker(rate=0.2)
    records = lasec.evaluate(tracker, X, Y, into=run).records
    found = lasec.evaluate(lasec.Tracker(rate=0.2), X, Y)
    fleet = lasec.Fleet(lasec.rules.SecondOrder(), models=2, dimension=5)
    keys = np.arange(2_000) % 2
    empty = lasec.Tracker(dimension=5).run(X[:0], Y[:0])
    one = lasec.Tracker(dimension=5).run(X[:1], Y[:1])
    rounds = fleet.serve(keys, X, Y, tickets=np.full(2_000, fleet.UNASKED))
    return [tracker, fresh, records, run, found, rounds, empty, one, lasec.RunSummary()]


def test_every_card_is_well_formed_and_small(things):
    for thing in things:
        text = thing._repr_html_()
        parser = read(text)
        assert {"div", "table", "td"} <= set(parser.tags), thing
        assert len(text) < 8_000, thing
        assert "nan" not in text, thing


def test_numbers_are_those_of_the_records():
    records = lasec.Tracker(rate=0.2).run(X, Y)
    words = read(records._repr_html_()).words
    assert f"{100 * records.accuracy:.1f} %" in words
    assert f"{records.labels} ({100 * records.rate:.1f} %)" in words


def test_a_name_is_only_ever_text():
    learner = lasec.Learner(lasec.rules.Perceptron(), dimension=2, name="<script>alert(1)</script>")
    parser = read(learner._repr_html_())
    assert "script" not in parser.tags
    assert "<script>alert(1)</script>" in parser.words


def test_the_line_goes_where_the_numbers_are():
    rising = notebook.sparkline({"right": np.array([0.0, 0.5, 1.0])})
    assert f'points="0.0,{notebook.HEIGHT - 2.0} 120.0,22.0 240.0,2.0"' in rising
    assert notebook.windowed(np.arange(1_000) < 500, 4).tolist() == [1.0, 1.0, 0.0, 0.0]


def test_cards_need_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import lasec\n"
        "X, y = lasec.streams.switching(200, dimension=2, seed=1)\n"
        "found = lasec.evaluate(lasec.Tracker(rate=0.2), X, y)\n"
        "assert '<table' in found._repr_html_()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
