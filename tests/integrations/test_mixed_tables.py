"""Tables with texts beside numbers and categories: each by its own path, in one model."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lasec.cli.app import app
from lasec.persistence import record
from lasec.tables import Encoder, TableLearner, watched
from lasec.tables.encoder import key_of

HAM = ["shall", "we", "meet", "at", "noon", "as", "always", "see", "you", "lunch", "me", "today"]
SPAM = ["win", "free", "prize", "now", "call", "number", "claim", "cash", "urgent", "today"]


def mails(rows, seed=0):
    """Spam by the words, the length and the sender, of whom there are many."""
    rng = np.random.default_rng(seed)
    spam = rng.random(rows) < 0.4
    known = rng.integers(0, 40, rows)
    return {
        "kind": np.where(spam, "spam", "ham").tolist(),
        "text": [" ".join(rng.choice(SPAM if s else HAM, size=8)) for s in spam],
        "length": (rng.normal(size=rows) + 2.0 * spam).tolist(),
        "folder": rng.choice(["inbox", "other"], rows).tolist(),
        "sender": [f"{'bulk' if s else 'friend'}{k}" for s, k in zip(spam, known, strict=True)],
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixed") / "mails.csv"
    columns = mails(600)
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def shell(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def run(file, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    arguments = ("run", file, "--label", "kind", "--rate", "0.2", "--seed", "0", "--json")
    return out, json.loads(shell(*arguments, "--out", out))


def test_each_column_goes_its_own_way(run):
    out, facts = run
    desk = TableLearner.load(out / "model.lasec")
    assert facts["features"] == 3 + 2**18  # length, two folders; words and senders
    assert desk.encoder.dense == desk.learner.rule.dense == 3
    assert facts["accuracy"] > 0.9


def test_a_row_is_numbers_then_words():
    columns = {name: values for name, values in mails(80).items() if name != "kind"}
    batch = pa.RecordBatch.from_pydict(columns)
    others = batch.drop_columns(["text", "sender"])
    encoder, dense = Encoder.fit(batch, words=64), Encoder.fit(others)
    X, D = encoder.encode(batch), dense.encode(others)
    np.testing.assert_array_equal(X[:, :3].toarray(), D)
    words, senders = (
        encoder.rows_of(keys)[1:, 3:]
        for keys in ([], [key_of("sender", s) for s in columns["sender"]])
    )
    assert words.shape[0] == 0
    for row, text in enumerate(columns["text"]):
        counted = encoder.rows_of(text.split())[1:, 3:].sum(axis=0) + senders[[row]].toarray()[0]
        np.testing.assert_array_equal(X[[row], 3:].toarray()[0], counted)
    again = record.load(Encoder, record.dump(encoder))
    assert (again.encode(batch)[:, 3:] != X[:, 3:]).nnz == 0


def test_a_new_category_is_a_column_of_its_own():
    batch = pa.RecordBatch.from_pydict({k: v for k, v in mails(80).items() if k != "kind"})
    encoder = Encoder.fit(batch)
    late = batch.slice(0, 1).set_column(2, "folder", pa.array(["archive"]))
    plain, new = encoder.encode(batch.slice(0, 1)), encoder.encode(late)
    assert not new[:, 1:3].nnz
    assert new[:, 3:].nnz == plain[:, 3:].nnz + 1
    assert encoder.vocabulary[key_of("folder", "archive")] == 1


def test_a_stopped_run_goes_on_with_the_same_figures(file, run, tmp_path):
    arguments = ("run", file, "--label", "kind", "--rate", "0.2", "--json", "--out", tmp_path / "o")
    shell(*arguments, "--seed", "0", "--limit", "300")
    resumed = json.loads(shell(*arguments, "--resume"))
    for name in ("accuracy", "labels", "estimate"):
        assert resumed[name] == run[1][name]


def test_explain_names_words_and_senders(run):
    found = json.loads(shell("explain", run[0], "--top", "60", "--json"))["classes"]
    spam, ham = ([word["word"] for word in found[name]] for name in ("spam", "ham"))
    assert set(SPAM) - {"today"} <= set(spam)
    assert set(HAM) - {"today"} <= set(ham)
    first = [next(w for w in words if w.startswith("sender=")) for words in (spam, ham)]
    assert [name.rstrip("0123456789") for name in first] == ["sender=bulk", "sender=friend"]


def test_compare_gives_the_tracker_what_run_gives_it(file, run):
    shown = shell("compare", file, "--label", "kind", "--rate", "0.2", "--seed", "0", "--json")
    found = {row["algorithm"]: row for row in json.loads(shown)["algorithms"]}
    assert list(found) == ["Tracker", "Tracker, uniform"]  # the usual ones that take sparse rows
    assert found["Tracker"]["accuracy"] == run[1]["accuracy"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ((), "column 'text' is text"),
        (("--ignore", "text"), "column 'sender' has many categories, or few rows for each"),
    ],
)
def test_other_algorithms_refuse_texts_and_many_categories(file, options, what):
    for more in (("run",), ("compare", "--algorithms", "tracker,perceptron-ss")):
        name = () if more[1:] else ("--algorithm", "perceptron-ss")
        call = [more[0], str(file), "--label", "kind", *more[1:], *name, *options]
        done = CliRunner().invoke(app, call)
        assert done.exit_code == 2
        assert f"perceptron-ss takes no sparse rows, and {what}: use the tracker" in done.output
        assert "(--ignore COLUMN)" in done.output
    ignored = ("--ignore", "text", "--ignore", "sender")
    call = ("run", file, "--label", "kind", "--algorithm", "perceptron-ss", "--json", *ignored)
    assert json.loads(shell(*call))["features"] == 4  # length, two folders, a one


def test_alarms_look_at_numbers_beside_many_categories():
    columns = {k: v for k, v in mails(80).items() if k in ("length", "folder", "sender")}
    batch = pa.RecordBatch.from_pydict(columns)
    encoder = Encoder.fit(batch)
    assert encoder.words == 2**18
    named = watched.names(encoder)
    assert named == (
        "length",
        "folder = inbox",
        "folder = other",
        "folder = another value",
        "sender",
    )
    seen = watched.cells(encoder, batch, encoder.encode(batch))
    np.testing.assert_array_equal(seen[:, 0], columns["length"])
    np.testing.assert_array_equal(seen[:, 2], np.array(columns["folder"]) == "other")
    assert not seen[:, 3:].any()


def test_ask_and_tell(tmp_path):
    model, lines = tmp_path / "m.lasec", tmp_path / "lines.jsonl"
    columns = mails(60)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def said(command, rows, *options):
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return [
            json.loads(line)
            for line in shell(command, lines, "--model", model, *options).splitlines()
        ]

    asked = [
        {k: v for k, v in row.items() if k != "kind"} | {"id": i} for i, row in enumerate(rows)
    ]
    said("ask", asked, "--classes", "ham,spam", "--rate", "0.3", "--seed", "0")
    told = said("tell", [{"id": i, "label": row["kind"]} for i, row in enumerate(rows)])
    assert all(row["learned"] for row in told)
    hidden = [{"text": "claim free prize now cash", "length": 3.0, "folder": "new", "sender": None}]
    assert said("predict", hidden)[0]["prediction"] == "spam"
