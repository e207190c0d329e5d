"""Questions that nobody answers: they can be listed, they end, and the estimate does not wait."""

import json
import subprocess

import pyarrow as pa
import pytest

import lasec
import warm
from lasec.tables import Encoder, TableLearner

HEAD = pa.RecordBatch.from_pylist([{"x": 1.0, "z": 3.0}, {"x": 2.0, "z": 5.0}])


def call(*arguments, given="", check=True, **options):
    options = {"capture_output": True} | options
    return subprocess.run(
        warm.command(*arguments), input=given, text=True, check=check, timeout=300, **options
    )


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def as_lines(entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)


@pytest.fixture(scope="module")
def stream():
    X, y = lasec.streams.walking(3_000, dimension=5, speed=0.01, seed=1)
    rows = [{"id": f"m{i}"} | {f"x{j}": float(v) for j, v in enumerate(x)} for i, x in enumerate(X)]
    return rows, ["spam" if label > 0 else "ham" for label in y]


def ask_and_tell(model, rows, labels, *options, leave=0):
    """What is said of rows, whose labels are told afterwards but for the first few."""
    said = lines(call("ask", "-m", model, *options, given=as_lines(rows)).stdout)
    truth = dict(zip([row["id"] for row in rows], labels, strict=True))
    asked = [entry for entry in said if entry["asked"]][leave:]
    told = [{"ticket": entry["ticket"], "label": truth[entry["id"]]} for entry in asked]
    call("tell", "-m", model, given=as_lines(told))
    right = [entry["prediction"] == truth[entry["id"]] for entry in said]
    return said, len(told), sum(right) / len(right)


def test_all_but_the_first_answer_give_an_estimate(tmp_path, stream):
    rows, labels = stream
    model, few = tmp_path / "model.lasec", 100
    new = ("--classes", "ham,spam", "--rate", "0.3", "--seed", "1", "--keep", "id")
    first, _, _ = ask_and_tell(model, rows[:few], labels[:few], *new)
    assert all(entry["prediction"] is None for entry in first)  # no label was told before
    _, told, truth = ask_and_tell(model, rows[few:], labels[few:], "--keep", "id", leave=1)
    facts = json.loads(call("info", "-m", model, "--json").stdout)
    estimate = facts["estimate"]
    assert (estimate["rows"], estimate["labels"]) == (3_000 - few, told)
    assert estimate["low"] <= truth <= estimate["high"]
    assert estimate["open_as_lost"] == facts["open"] == 1
    assert "1 open question counted as lost" in call("info", model).stdout


def desk(**options):
    learner = lasec.Learner(lasec.rules.Perceptron(), dimension=2, seed=1, **options)
    return TableLearner(learner, Encoder.fit(HEAD), classes=["n", "y"])


@pytest.mark.parametrize("options", [{"max_age": 500}, {"max_pending": 3}])
def test_what_is_given_up_reaches_the_meter(options):
    table = desk(**options)
    for i in range(2_000):
        decision = table.ask([{"x": i % 7, "z": i % 5}])[0]
        if i > 10:
            table.tell(decision.ticket, "y")
    assert table.session.meter.lost + table.session.meter.open == 11
    assert table.session.meter.lost >= 8
    learner = table.learner
    assert table.session.meter.lost == learner.expired + learner.dropped


def test_many_open_questions_hold_the_estimate_back_and_it_is_said(tmp_path):
    table = desk()
    for i in range(2_000):
        decision = table.ask([{"x": i % 7, "z": i % 5}])[0]
        if i < 1_000:
            table.tell(decision.ticket, "y")
    table.save(tmp_path / "model.lasec")
    said = call("info", tmp_path / "model.lasec").stdout
    assert "of 2,000 rows; the rest waits for " in said
    assert "open questions (lasec questions lists them)" in said
    estimate = table.session.meter.reaching().accuracy
    assert 950 <= estimate.rows <= 1_060


def test_questions_can_be_listed_again_after_a_broken_pipe(tmp_path):
    model = tmp_path / "m.lasec"
    rows = [{"id": f"m{i}", "x": i % 7, "z": i % 5, "note": "héllo"} for i in range(24)]
    with open("/dev/full", "w") as full:
        done = call(
            "ask", "-m", model, "--classes", "a,b", "--rate", "1", "-a", "perceptron-ss",
            "--keep", "id", "--keep", "note", "--seed", "1",
            given=as_lines(rows), check=False, capture_output=False, stdout=full,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 2, done.stderr
    before = model.read_bytes()
    found = lines(call("questions", "-m", model).stdout)
    assert [entry["id"] for entry in found] == [f"m{i}" for i in range(24)]
    assert all(entry["asked"] and entry["note"] == "héllo" for entry in found)
    assert {"ticket", "prediction", "margin", "query_probability", "age"} <= set(found[0])
    assert model.read_bytes() == before
    call("tell", "-m", model, given=as_lines([{"ticket": found[0]["ticket"], "label": "a"}]))
    assert len(lines(call("questions", "-m", model).stdout)) == 23


def test_forget_gives_up_and_says_what_it_could_not(tmp_path):
    model = tmp_path / "m.lasec"
    table = desk()
    table.ask([{"x": 1.0, "z": 2.0}] * 3)
    table.save(model)
    done = call("forget", 0, 2, 7, "-m", model, check=False)
    assert done.returncode == 1
    first, second, third = lines(done.stdout)
    assert first == {"ticket": 0, "forgotten": True}
    assert second["forgotten"]
    assert "never given out" in third["error"]
    again = TableLearner.load(model)
    assert again.learner.pending == (1,)
    assert again.session.meter.lost == 2
    assert (
        call("tell", "-m", model, given='{"ticket": 0, "label": "y"}', check=False).returncode == 1
    )


@pytest.mark.parametrize(
    ("options", "age"),
    [((), 100_000.0), (("--max-age", "50"), 50.0), (("--time", "t"), 30 * 86_400.0),
     (("--time", "t", "--max-age", "12h"), 43_200.0)],
)  # fmt: skip
def test_questions_expire_by_default(tmp_path, options, age):
    model = tmp_path / "m.lasec"
    rows = as_lines([{"x": i % 7, "z": i % 5, "t": float(i)} for i in range(5)])
    call("ask", "-m", model, "--classes", "a,b", "-a", "perceptron-ss", *options, given=rows)
    assert TableLearner.load(model).learner.max_age == age


def test_a_retried_answer_of_one_person_counts_once(tmp_path):
    model = tmp_path / "m.lasec"
    table = desk(aggregate="majority", annotators=3)
    table.ask([{"x": 1.0, "z": 2.0}])
    table.save(model)
    for _ in range(3):
        answer = as_lines([{"ticket": 0, "label": "y", "by": "ann"}])
        last = lines(call("tell", "-m", model, given=answer, check=False).stdout)[0]
    assert "'ann' has answered already" in last["error"]
    assert TableLearner.load(model).learner.told == 0
    for name in ("bob", "cid"):
        call("tell", "-m", model, given=as_lines([{"ticket": 0, "label": "y", "by": name}]),
             check=False)  # fmt: skip
    assert TableLearner.load(model).learner.told == 1


@pytest.mark.parametrize(
    "name", ["ticket", "prediction", "probability", "query_probability", "asked", "age", "error"]
)
def test_a_column_with_a_name_of_the_output_is_not_repeated(tmp_path, name):
    model = tmp_path / "model.lasec"
    row = as_lines([{"x": 1.0, "id": "one", name: 7}, {"x": 2.0, "id": "two", name: 8}])
    new = ("--classes", "ham,spam", "--algorithm", "perceptron")
    found = call("ask", "-m", model, *new, "--keep", name, given=row, check=False)
    assert found.returncode == 2
    assert f"--keep {name}" in found.stderr
    assert "rename the column" in found.stderr
    assert not model.exists()


def test_a_column_id_is_not_repeated_where_another_one_has_the_ids(tmp_path):
    model = tmp_path / "model.lasec"
    row = as_lines([{"x": 1.0, "key": "one", "id": "two"}])
    new = ("--classes", "ham,spam", "--algorithm", "perceptron", "--id", "key", "--ignore", "id")
    found = call("ask", "-m", model, *new, "--keep", "id", given=row, check=False)
    assert found.returncode == 2
    assert "--keep id: the id of a row is 'key'" in found.stderr


@pytest.mark.parametrize("form", ["jsonl", "csv", "label-studio"])
def test_questions_have_their_own_tickets_and_ids_whatever_was_kept(tmp_path, form):
    table = desk()
    table.id = "id"
    ticket = table.ask([{"x": 1.0, "z": 2.0, "id": "mine"}])[0].ticket
    table.session.keep(ticket, {"ticket": 99, "id": "other", "asked": False, "note": "hi"})
    table.save(tmp_path / "model.lasec")
    said = call("questions", "-m", tmp_path / "model.lasec", "--format", form).stdout
    assert "99" not in said
    assert "other" not in said
    assert "hi" in said
