"""Files of index and value pairs: many features go the sparse way by themselves."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

import lasec
from lasec.cli.app import app
from lasec.persistence import record
from lasec.tables import Encoder, TableLearner, open_table

PAIRS = pa.map_(pa.int64(), pa.float64())


@pytest.fixture(scope="module")
def rows():
    """400 rows of a label and some indices, of which a few say what the label is."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(400):
        step = int(rng.choice([5, 7]))
        telling = step * rng.integers(1, 60, 10)
        others = rng.integers(1, 2**31, 4)
        counts = {int(index): float(rng.integers(1, 4)) for index in [*telling, *others]}
        made.append(("+1" if step == 7 else "-1", counts))
    return made


@pytest.fixture(scope="module")
def svmlight(rows, tmp_path_factory):
    file = tmp_path_factory.mktemp("pairs") / "rows.svm"
    lines = (f"{y} " + " ".join(f"{k}:{v:g}" for k, v in x.items()) for y, x in rows)
    file.write_text("\n".join(lines) + "\n")
    return file


def shell(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def run(svmlight, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    shown = shell("run", svmlight, "--rate", "0.3", "--seed", "0", "--json", "--out", out)
    return out, json.loads(shown)


def matrix(rows):
    """The rows as SciPy has them, each index a column."""
    at = [i for i, (_, x) in enumerate(rows) for _ in x]
    columns = [k for _, x in rows for k in x]
    values = [v for _, x in rows for v in x.values()]
    return csr_array((values, (at, columns)), (len(rows), 2**31))


def test_a_run_is_the_tracker_on_the_same_sparse_rows(rows, run):
    out, facts = run
    tracker = lasec.Tracker(rate=0.3, horizon=len(rows), seed=0, classes=["-1", "1"])
    records = tracker.run(matrix(rows), [str(int(y)) for y, _ in rows])
    predicted = records.sign != 0
    assert facts["unpredicted"] == (~predicted).sum()
    assert facts["accuracy"] == pytest.approx(1.0 - records.mistake[predicted].mean())
    assert records.accuracy > 0.8
    assert facts["labels"] == records.labels
    kept = TableLearner.load(out / "model.lasec").learner
    assert kept.rule == tracker.rule == lasec.rules.SparseTracking()
    np.testing.assert_array_equal(kept.margins(matrix(rows)), tracker.margins(matrix(rows)))


def test_no_row_of_pairs_becomes_dense(svmlight, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a sparse row was made dense")

    monkeypatch.setattr(csr_array, "toarray", refuse)
    facts = json.loads(shell("run", svmlight, "--rate", "0.3", "--seed", "0", "--json"))
    assert facts["features"] == 2**31


def test_few_features_are_dense_and_other_algorithms_refuse_many(svmlight, tmp_path):
    few = tmp_path / "few.svm"
    few.write_text("+1 1:0.5 3:2\n-1 2:1\n" * 20)
    for more, features in ((), 4), (("--algorithm", "perceptron-ss"), 5):
        facts = json.loads(shell("run", few, "--json", "--seed", "0", *more))
        assert facts["features"] == features
    done = CliRunner().invoke(app, ["run", str(svmlight), "--algorithm", "perceptron-ss"])
    assert done.exit_code == 2
    assert "no sparse rows, and column 'features' has many features: use the tracker" in done.output


def test_compare_gives_pairs_to_the_tracker(svmlight, run):
    shown = shell("compare", svmlight, "--rate", "0.3", "--seed", "0", "--json")
    found = {row["algorithm"]: row["accuracy"] for row in json.loads(shown)["algorithms"]}
    assert list(found) == ["Tracker", "Tracker, uniform"]
    assert found["Tracker"] == run[1]["accuracy"]


def test_pairs_stand_beside_words_and_numbers():
    """Few or many: their indices are columns of the sparse part, beyond the last from 0 again."""
    texts = pa.array(["win a free prize now", "see you at lunch, then"])
    for index in (3, 64 + 3):
        pairs = pa.array([[(index, 1.5)], []], PAIRS)
        names = ["price", "text", "pairs"]
        batch = pa.RecordBatch.from_arrays([pa.array([1.0, 3.0]), texts, pairs], names)
        encoder, alone = (
            Encoder.fit(rows, words=64) for rows in (batch, batch.drop_columns(["pairs"]))
        )
        assert (encoder.dimension, encoder.dense) == (65, 1)
        extra = (encoder.encode(batch) - alone.encode(batch)).toarray()
        assert extra[0, 1 + 3] == 1.5
        assert np.abs(extra).sum() == 1.5


def test_parquet_and_several_columns_of_pairs(rows, tmp_path):
    one = pa.array([[(3, 1.0), (5000, 2.0)], None, []], PAIRS)
    two = pa.array([[(3, 4.0)], [(2**31 + 7, 1.0)], [(9, float("nan"))]], PAIRS)
    pa.parquet.write_table(pa.table({"a": one, "b": two}), tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet")
    encoder = Encoder.fit(table.head)
    found = encoder.encode(next(table.batches()))
    assert sorted(zip(*map(np.ndarray.tolist, found.nonzero()), strict=True)) == [
        (0, 3), (0, 5000), (1, 7),
    ]  # fmt: skip
    assert found[0, 3] == 5.0
    again = record.load(Encoder, record.dump(encoder))
    assert (again.encode(table.head) != encoder.encode(table.head)).nnz == 0


def test_ask_tell_and_explain_with_pairs_in_json(rows, tmp_path):
    model, file = tmp_path / "m.lasec", tmp_path / "lines.jsonl"

    def said(command, lines, *options):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        told = shell(command, file, "--model", model, *options)
        return [json.loads(line) for line in told.splitlines()]

    given = [{"id": i, "x": {str(k): v for k, v in x.items()}} for i, (_, x) in enumerate(rows)]
    decided = said("ask", given[:60], "--classes=-1,1", "--rate", "0.5", "--seed", "0")
    tracker = lasec.Tracker(rate=0.5, seed=0, classes=["-1", "1"])
    wanted = tracker.ask_many(matrix(rows[:60]))
    assert [line["asked"] for line in decided] == wanted.asked.tolist()
    labels = [{"id": i, "label": rows[i][0].lstrip("+")} for i in np.flatnonzero(wanted.asked)]
    said("tell", [line | {"id": int(line["id"])} for line in labels])
    for line in labels:
        tracker.tell(int(line["id"]), line["label"])
    told = said("predict", given[60:100])
    assert [line["prediction"] for line in told] == tracker.predict(matrix(rows[60:100])).tolist()
    done = CliRunner().invoke(app, ["explain", str(model)])
    assert "explain needs a model of texts" in done.output
