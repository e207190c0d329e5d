"""Tables of texts: the sparse path is chosen by itself, and words keep their names."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lasec
from lasec.cli.app import app
from lasec.persistence import record
from lasec.tables import Encoder, TableLearner
from lasec.tables.vocabulary import MOST, Vocabulary

HAM = ["shall", "we", "meet", "at", "noon", "as", "always", "see", "you", "lunch", "me", "today"]
SPAM = ["win", "free", "prize", "now", "call", "number", "claim", "cash", "urgent", "today"]


@pytest.fixture(scope="module")
def mails(tmp_path_factory):
    """600 short texts of two classes, as CSV."""
    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("texts") / "mails.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["kind", "text"])
        for _ in range(600):
            words, kind = (SPAM, "spam") if rng.random() < 0.4 else (HAM, "ham")
            writer.writerow([kind, " ".join(rng.choice(words, size=8))])
    return file


def shell(*arguments, given=None):
    done = CliRunner().invoke(app, [str(a) for a in arguments], input=given)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def run(mails, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    arguments = ("run", mails, "--label", "kind", "--rate", "0.2", "--seed", "0", "--json")
    return out, json.loads(shell(*arguments, "--out", out))


def test_a_table_of_texts_is_sparse(run):
    out, facts = run
    assert facts["features"] == 2**18
    assert facts["accuracy"] > 0.9
    assert isinstance(
        TableLearner.load(out / "model.lasec").learner.rule, lasec.rules.SparseTracking
    )


def test_other_algorithms_refuse_texts(mails):
    for name in ("perceptron-ss", "tracker-small"):
        call = ["run", str(mails), "--label", "kind", "--algorithm", name]
        done = CliRunner().invoke(app, call)
        assert done.exit_code == 2
        assert f"{name} takes no sparse rows, and column 'text' is text: use the" in done.output


def test_a_stopped_run_goes_on_with_the_same_figures(mails, run, tmp_path):
    arguments = (
        "run",
        mails,
        "--label",
        "kind",
        "--rate",
        "0.2",
        "--json",
        "--out",
        tmp_path / "o",
    )
    shell(*arguments, "--seed", "0", "--limit", "300")
    resumed = json.loads(shell(*arguments, "--resume"))
    for name in ("accuracy", "labels", "estimate"):
        assert resumed[name] == run[1][name]


def test_explain_names_the_words_of_each_class(run):
    found = json.loads(shell("explain", run[0], "--top", "5", "--json"))["classes"]
    assert {word["word"] for word in found["spam"]} <= set(SPAM) - {"today"}
    assert {word["word"] for word in found["ham"]} <= set(HAM) - {"today"}
    assert len(found["spam"]) == 5
    assert "spam" in shell("explain", run[0])


def test_explain_refuses_what_it_cannot_explain(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("a,y\n" + "1.5,ham\n2.5,spam\n" * 30)
    shell("run", file, "--label", "y", "--out", tmp_path / "out")
    done = CliRunner().invoke(app, ["explain", str(tmp_path / "out")])
    assert done.exit_code != 0
    assert "explain needs a model of texts" in done.output


def test_ask_and_tell_texts_by_ticket_id_and_row(tmp_path):
    model, file = tmp_path / "m.lasec", tmp_path / "lines.jsonl"

    def said(command, rows, *options):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        told = shell(command, file, "--model", model, *options)
        return [json.loads(line) for line in told.splitlines()]

    rows = [{"text": " ".join(words), "id": i} for i, words in enumerate([SPAM, HAM] * 20)]
    decided = said("ask", rows, "--classes", "ham,spam", "--rate", "0.3", "--seed", "0")
    asked = sum(row["asked"] for row in decided)
    assert 0 < asked < 40
    told = said("tell", [{"id": i, "label": ("spam", "ham")[i % 2]} for i in range(40)])
    assert all(row["learned"] for row in told)  # the rows that were not asked are remembered
    assert sum(row.get("asked", True) is False for row in told) == 40 - asked
    assert said("tell", [{"text": "a free prize now call", "label": "spam"}])[0]["learned"]
    assert said("predict", [{"text": "claim free prize now cash"}])[0]["prediction"] == "spam"


def test_a_chunk_of_a_sparse_evaluation_is_its_rows():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(SPAM + HAM, size=6)) for _ in range(300)]
    X = lasec.text.TextHasher().rows(texts)
    y = np.where(["free" in text or "prize" in text for text in texts], 1, -1)
    whole = lasec.evaluate(lasec.Tracker(rate=0.3, seed=0), X, y)
    late = lasec.evaluate(lasec.Tracker(rate=0.3, seed=0), X, y, delay=20)
    learner, into = lasec.Tracker(rate=0.3, seed=0), lasec.RunSummary(every=whole.every)
    for begin in range(0, 300, 70):
        cut = slice(begin, begin + 70)
        lasec.evaluate(learner, X[cut], y[cut], into=into)
    assert (into.accuracy, into.labels) == (whole.accuracy, whole.labels)
    assert into.estimate == whole.estimate
    assert len(late.answers) < late.labels
    assert late.accuracy > 0.7


def test_a_vocabulary_is_bounded_and_saved():
    vocabulary = Vocabulary({})
    vocabulary.hear(["often"] * 3)
    vocabulary.hear([f"word{i}" for i in range(MOST)] + ["x" * 61])
    assert len(vocabulary) == MOST // 2
    assert vocabulary["often"] == 3
    assert "x" * 61 not in vocabulary
    rows = pa.RecordBatch.from_pydict({"text": ["win a free prize", "a free lunch for you"]})
    encoder = Encoder.fit(rows, words=64)
    encoder.encode(rows)
    again = record.load(Encoder, record.dump(encoder))
    assert dict(again.vocabulary) == dict(encoder.vocabulary)
    assert (again.encode(rows) != Encoder.fit(rows, words=64).encode(rows)).nnz == 0


def test_compare_gives_words_to_the_tracker_and_refuses_peers(mails, run):
    names = ("--algorithms", "tracker")
    given = ("compare", mails, "--label", "kind", "--rate", "0.2", "--seed", "0", *names)
    (found,) = json.loads(shell(*given, "--json"))["algorithms"]
    assert found["accuracy"] == run[1]["accuracy"]
    done = CliRunner().invoke(app, [str(a) for a in (*given, "--peer", "sklearn-sgd")])
    assert done.exit_code == 2
    assert "take no sparse rows here, and column 'text' is text: ignore the column" in done.output


def test_ngrams_are_kept_in_the_model_and_named(mails, tmp_path):
    out, given = tmp_path / "out", ("run", mails, "--label", "kind", "--rate", "0.2", "--json")
    facts = json.loads(shell(*given, "--seed", "0", "--ngrams", "4-5", "--out", out))
    desk = TableLearner.load(out / "model.lasec")
    assert desk.encoder.ngrams == (4, 5)
    with mails.open() as lines:
        rows = list(csv.DictReader(lines))
    hasher = lasec.TextHasher(ngrams=(4, 5))
    tracker = lasec.Tracker(rate=0.2, horizon=len(rows), seed=0, classes=["ham", "spam"])
    records = tracker.run(hasher.rows(row["text"] for row in rows), [row["kind"] for row in rows])
    correct = ~records.mistake[records.sign != 0]
    assert facts["accuracy"] == pytest.approx(correct.mean())
    X = desk.encoder.encode(pa.RecordBatch.from_pylist([{"text": "a free number"}]))
    np.testing.assert_array_equal(desk.learner.margins(X), tracker.margins(X))
    found = json.loads(shell("explain", out, "--top", "40", "--json"))["classes"]["spam"]
    named = {word["word"] for word in found}
    assert {"ize>", "prize"} < named
    assert any(name.startswith("<") for name in named)
    assert "words and n-grams of 4-5" in shell("info", "--model", out)
    refused = CliRunner().invoke(app, [str(a) for a in (*given, "--out", out, "--resume")])
    assert "--ngrams 4-5, not None" in refused.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--ngrams", "long"), "expected one length or two, such as 4-5"),
        (("--ngrams", "5-4"), "ngrams must be"),
        (("--ngrams", "0-4"), "ngrams must be"),
        (("--ngrams", "4", "--category", "text"), "--ngrams is for tables with texts"),
        (("--ngrams", "4", "--algorithm", "perceptron-ss"), "perceptron-ss takes no sparse rows"),
    ],
)
def test_ngrams_that_cannot_be_are_refused(mails, more, message):
    arguments = ["run", str(mails), "--label", "kind", "--seed", "0", *more]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0
    assert message in done.output


def test_ngrams_are_those_of_words_and_their_ends():
    hasher = lasec.TextHasher(ngrams=(3, 4))
    assert hasher.words("A cat") == ["a", "cat", "<a>", "<ca", "cat", "at>", "<cat", "cat>"]
    assert lasec.TextHasher(ngrams=(9, 9)).words("cat") == ["cat"]
    words = dict.fromkeys(hasher.words("A cat"), 1.0) | {"cat": 2.0}  # the word, and the n-gram
    assert (hasher.row("A cat") != lasec.TextHasher().row(words)).nnz == 0
    with pytest.raises(TypeError, match="ngrams: expected two lengths"):
        lasec.TextHasher(ngrams=3)
