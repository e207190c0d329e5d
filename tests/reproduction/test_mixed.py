"""The study of mixed tables, small."""

from pathlib import Path

import numpy as np
import pytest
from experiments.mixed import command, learners
from experiments.mixed.learners import BOTH, OTHERS, TEXT, WAYS, coded
from experiments.mixed.streams import LABEL, NOISE, STREAMS, UNSEEN, table
from experiments.output import read_csv

from lasec.tables import table_of

PUBLISHED = Path(__file__).parents[2] / "docs/results/mixed"


@pytest.fixture
def mails(monkeypatch):
    """Texts and a number, which both tell the label half of the time."""
    rng = np.random.default_rng(1)
    spam, known = rng.random(400) < 0.5, rng.random(400) < 0.5
    words = np.array(["lunch", "see", "you", "at", "noon", "the", "a", "win", "off"])
    texts = [
        " ".join([*rng.choice(words, 6), *(["prize"] if s and k else [])])
        for s, k in zip(spam, known, strict=True)
    ]
    length = np.where(known, 0.0, np.where(spam, 3.0, -3.0)) + rng.normal(size=400)
    columns = {LABEL: np.where(spam, "yes", "no"), "text": texts, "length": length}
    made = table_of(columns).head
    monkeypatch.setattr(learners, "table", lambda name, size: made)
    coded.cache_clear()
    yield made
    coded.cache_clear()


def test_the_ways_read_what_they_say(mails):
    shapes = {way: coded("youtube", way, 1.0) for way in WAYS}
    assert {way: made.X.shape[1] for way, made in shapes.items()} == {
        BOTH: 2**18 + 1, TEXT: 2**18, OTHERS: 1,
    }  # fmt: skip
    assert {way: made.dense for way, made in shapes.items()} == {BOTH: 1, TEXT: 0, OTHERS: 0}


def test_both_parts_are_worth_more_than_one(mails):
    found = {way: command.one("youtube", way, 0.3, 1, 1.0) for way in (BOTH, TEXT, OTHERS)}
    assert found[BOTH]["accuracy"] > max(found[TEXT]["accuracy"], found[OTHERS]["accuracy"])
    assert abs(found[BOTH]["labels"] - 0.3 * 400) < 60
    assert (found[BOTH]["dense"], found[TEXT]["dense"]) == (1, 0)


def test_what_is_published_follows_from_its_rows():
    rows, page = read_csv(PUBLISHED / "mixed.csv"), (PUBLISHED / "mixed.md").read_text()
    assert command.table(rows) in page
    assert command.times(rows) in page
    assert {(row["stream"], row["way"]) for row in rows} == {(s, w) for s in STREAMS for w in WAYS}
    assert sum("(unseen)" in line for line in page.splitlines()) == len(UNSEEN) * len(WAYS)


@pytest.mark.parametrize("name", STREAMS)
def test_real_tables(name, data_folder, monkeypatch):
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    table.cache_clear()
    made = table(name, 0.02)
    assert set(made[LABEL].to_pylist()) <= {"yes", "no"}
    if not name.endswith(NOISE):  # whose date is a number like others
        assert not {"time", "date", "group", "id", "time_filled"} & set(made.schema.names)
