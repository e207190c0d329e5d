"""Many classes, rows without labels, and labels that nobody asked for, through every command."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import lasec
import warm
from lasec.cli.answers import Answers
from lasec.tables import Encoder, TableLearner

NAMES = np.array(["ash", "bay", "elm", "fig", "fir", "oak", "yew"], dtype=object)
SCHEMA = Path(__file__).parents[2] / "docs" / "_static" / "output.schema.json"


def call(*arguments, given="", code=0):
    done = subprocess.run(
        warm.command(*arguments), input=given, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def stream(n=1_500, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 7, n)
    X = rng.standard_normal((n, 6)) + 2.5 * np.eye(7)[which][:, :6]
    y = NAMES[which]
    y[rng.random(n) < missing] = None
    return X, y


def write(path, X, y):
    columns = {f"x{j}": np.round(X[:, j], 4) for j in range(X.shape[1])}
    pa.csv.write_csv(pa.table(columns | {"kind": pa.array(y.tolist())}), path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    return {
        "seven": write(folder / "seven.csv", *stream()),
        "empty": write(folder / "empty.csv", *stream(missing=0.9)),
    }


def check(value, schema, root):
    """What of JSON schema this schema uses: types, required fields, references, bounds."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kinds |= {"number": (int, float), "integer": int}
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    assert not wanted or any(isinstance(value, kinds[kind]) for kind in wanted), (value, wanted)
    assert value == schema.get("const", value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= value.keys()
        for name in value.keys() & schema.get("dependentRequired", {}).keys():
            assert set(schema["dependentRequired"][name]) <= value.keys()
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            check(item, inner or {}, root)
    if isinstance(value, list):
        for item in value:
            check(item, schema.get("items", {}), root)


@pytest.mark.parametrize("name", ["seven", "empty"])
def test_a_run_on_any_labels(files, name, tmp_path):
    out = tmp_path / "out"
    (found,) = call(
        "run", files[name], "--label", "kind", "--json", "--seed", 1, "--rate", 0.3, "--out", out,
        "--predictions",
    )  # fmt: skip
    assert found["classes"] == NAMES.tolist()
    assert found["rows"] == 1_500
    assert found["labeled"] == (1_500 if name == "seven" else sum(stream(missing=0.9)[1] != None))  # noqa: E711
    assert 400 < found["labels"] < 600
    schema = json.loads(SCHEMA.read_text())
    check(found, schema["$defs"]["run"], schema)
    lines = (out / "predictions.jsonl").read_text().splitlines()
    assert len(lines) == 1_500
    for line in lines[:50]:
        check(json.loads(line), schema["$defs"]["decision"], schema)
    assert "Classes" in (out / "report.html").read_text()
    shares = [facts["share"] for facts in found["by_class"].values()]
    assert sum(shares) == pytest.approx(1.0)
    if name == "seven":
        assert found["accuracy"] > 0.6
        cells = np.array(found["confusion"]["true"])
        assert found["unpredicted"] >= 1
        assert cells.sum() == 1_500 - found["unpredicted"]
        assert np.trace(cells) / cells.sum() == pytest.approx(found["accuracy"])


def test_a_run_is_the_desk_that_asks_and_tells(files, tmp_path):
    """The same decisions of ``lasec run`` and of a desk, row by row, with rows without labels."""
    call("run", files["empty"], "--label", "kind", "--json", "--seed", 4, "--rate", 0.4,
         "--out", tmp_path, "--predictions")  # fmt: skip
    lines = list(map(json.loads, (tmp_path / "predictions.jsonl").read_text().splitlines()))
    rows = pa.csv.read_csv(files["empty"], convert_options=pa.csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True))  # fmt: skip
    head = rows.drop_columns(["kind"]).combine_chunks().to_batches()[0]
    encoder = Encoder.fit(head)
    options = {"horizon": rows.num_rows, "seed": 4, "classes": NAMES.tolist()}
    learner = lasec.Tracker(encoder.dimension, rate=0.4, **options)
    desk = TableLearner(learner, encoder, label="kind")
    for line, row in zip(lines[:400], rows.to_pylist()[:400], strict=True):
        label = row.pop("kind")
        (decision,) = desk.ask([row])
        assert decision.asked == line["asked"]
        assert decision.propensity == pytest.approx(line["query_probability"], rel=1e-5)
        assert decision.label == line["prediction"]
        if decision.asked and label is not None:
            desk.tell(decision.ticket, label)
        elif decision.asked:
            desk.session.cancel(decision.ticket)
    assert desk.session.meter.lost > 10 < desk.session.meter.labels


def test_labels_by_ticket_by_id_and_by_row(tmp_path):
    model = tmp_path / "model.lasec"
    rows = [{"id": f"r{i}", "x": float(i % 7), "y": 1.0} for i in range(40)]
    given = "\n".join(map(json.dumps, rows))
    asked = call("ask", "--model", model, "--classes", "a,b,c", "--seed", 1, given=given)
    assert [line["prediction"] for line in asked] == [None] * 40
    queried = [line["ticket"] for line in asked if line["asked"]]
    others = [line["ticket"] for line in asked if not line["asked"]]
    assert [line["id"] for line in call("questions", "--model", model)] == [
        f"r{t}" for t in queried
    ]
    lines = [
        {"ticket": queried[0], "label": "a"},
        {"id": f"r{queried[1]}", "label": "b"},
        {"id": f"r{others[0]}", "label": "c"},
        {"x": 3.0, "y": 1.0, "label": "new"},
    ]
    told = call("tell", "--model", model, given="\n".join(map(json.dumps, lines)))
    assert [line["label"] for line in told] == ["a", "b", "c", "new"]
    assert [line.get("asked", True) for line in told] == [True, True, False, False]
    assert told[1]["ticket"] == queried[1]
    bad = [{"id": "nobody", "label": "a"}, {"id": f"r{queried[2]}"}, {"label": "a"}]
    refused = call("tell", "--model", model, given="\n".join(map(json.dumps, bad)), code=1)
    assert all("error" in line for line in refused)
    (facts,) = call("info", "--model", model, "--json")
    assert (facts["told"], facts["classes"]) == (4, ["a", "b", "c", "new"])
    assert facts["estimate"]["labels"] <= 2
    schema = json.loads(SCHEMA.read_text())
    (line,) = call("ask", "--model", model, given='{"x": 1.0, "y": 1.0}')
    check(line, schema["$defs"]["decision"], schema)
    assert sum(line["probability"].values()) == pytest.approx(1.0, abs=1e-5)


def test_questions_go_out_and_answers_come_back(tmp_path):
    model, table, tasks = (tmp_path / name for name in ("m.lasec", "answers.csv", "tasks.json"))
    rows = [{"id": i, "text": f"mail {i}, with a comma", "x": float(i % 5)} for i in range(30)]
    call("ask", "--model", model, "--classes", "ham,spam", "--seed", 1, "--keep", "text",
         given="\n".join(map(json.dumps, rows)))  # fmt: skip
    done = subprocess.run(
        warm.command("questions", "--model", model, "--format", "csv"),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    head, *listed = done.stdout.splitlines()
    assert head == "ticket,id,text,label,by"
    assert len(listed) > 10
    filled = [line[:-2] + ",ham,ann" for line in listed[:6]]
    table.write_text("\n".join([head, *filled, *listed[6:]]))
    told = call("tell", table, "--model", model, "--format", "csv")
    assert [line["label"] for line in told] == ["ham"] * 6
    done = subprocess.run(
        warm.command("questions", "--model", model, "--format", "label-studio"),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    open_ = json.loads(done.stdout)
    assert len(open_) == len(listed) - 6
    assert open_[0]["data"]["text"].endswith("with a comma")
    chosen = [{"type": "choices", "value": {"choices": ["spam"]}}]
    open_[0]["annotations"] = [{"result": chosen, "completed_by": {"email": "bo@example.org"}}]
    open_[1]["annotations"] = [{"result": chosen, "was_cancelled": True}]
    open_[2]["annotations"] = []
    tasks.write_text(json.dumps(open_))
    (line,) = call("tell", tasks, "--model", model, "--format", "label-studio")
    assert (line["label"], line["ticket"]) == ("spam", open_[0]["data"]["ticket"])
    table.write_text("id,label\n" + f"{open_[1]['data']['id']},ham\n")
    (line,) = call("tell", table, "--model", model, "--format", "csv")
    assert line["ticket"] == open_[1]["data"]["ticket"]
    call("tell", table, "--model", model, "--format", "label-studio", code=2)


def test_late_lost_and_wrong_answers(files, tmp_path):
    options = ("run", files["seven"], "--label", "kind", "--json", "--seed", 1, "--rate", 0.3)
    written = {name: ("--predictions", "--out", tmp_path / name) for name in ("prompt", "late")}
    (prompt,) = call(*options, *written["prompt"])
    (late,) = call(*options, "--delay", 300, *written["late"])
    (wrong,) = call(*options, "--annotator-errors", "0.4")
    (lost,) = call(*options, "--lost", 0.5, "--annotator-errors", "0.1,0.1,0.1")
    assert late["unpredicted"] > 250 > prompt["unpredicted"] > 0
    first, right = late["unpredicted"], {}
    for name in written:  # over the same rows, the first that both predict
        said = (tmp_path / name / "predictions.jsonl").read_text().splitlines()
        shown = np.array([json.loads(line)["prediction"] for line in said], dtype=object)
        assert (shown[:first] == None).sum() == (first if name == "late" else 1)  # noqa: E711
        right[name] = (shown == stream()[1])[first : first + 300].mean()
    assert right["late"] < right["prompt"] - 0.02
    assert late["accuracy"] < prompt["accuracy"] - 0.01
    assert wrong["accuracy"] < prompt["accuracy"] - 0.02
    assert wrong["estimate"]["high"] < wrong["accuracy"]  # it is judged by wrong answers
    assert lost["estimate"]["lost"] > 100
    assert lost["estimate"]["worst_low"] <= lost["accuracy"] <= lost["estimate"]["worst_high"]
    schema = json.loads(SCHEMA.read_text())
    for each in (prompt, late, wrong, lost):
        check(each, schema["$defs"]["run"], schema)
        assert each["labels"] <= each["cap"] == pytest.approx(1_500 * 0.3 + 16 + 30 + 45)
    assert lost["estimate"]["low"] - 0.05 < lost["accuracy"] < lost["estimate"]["high"] + 0.05
    (race,) = call("compare", files["seven"], "--label", "kind", "--json", "--seed", 1, "--delay",
                   300, "--algorithms", "tracker,perceptron-ss", "--rate", 0.3)  # fmt: skip
    assert race["algorithms"][0]["accuracy"] == late["accuracy"]
    assert race["classes"] == prompt["confusion"]["classes"]


def test_arrival_times_are_a_column(tmp_path):
    X, y = stream(600)
    when = np.arange(600.0)
    seen = [None if i % 5 == 0 else float(i + 50) for i in range(600)]
    columns = {f"x{j}": X[:, j] for j in range(6)}
    columns |= {"kind": y.tolist(), "at": when, "told": pa.array(seen, pa.float64())}
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table(columns), path)
    options = ("run", path, "--label", "kind", "--json", "--seed", 1, "--rate", 0.5, "--time", "at",
               "--ignore", "told", "--lead", 1e12)  # fmt: skip
    (found,) = call(*options, "--arrival", "told")
    (prompt,) = call(*options)
    assert found["labels"] > 250
    assert found["accuracy"] < prompt["accuracy"]


def test_draws_of_answers_do_not_depend_on_the_batch():
    _, y = stream(200)
    answers, batch = Answers(lost=0.3, annotator_errors="0.2"), None
    whole = answers.options(batch, y, None, NAMES.tolist(), 7, 0)["answers"]
    parts = [
        answers.options(batch, y[a:b], None, NAMES.tolist(), 7, a)["answers"]
        for a, b in ((0, 50), (50, 200))
    ]
    assert whole.tolist() == np.concatenate(parts).tolist()
    gone = np.mean([said is None for said in whole[:, 0]])
    wrong = np.mean(
        [said is not None and said != true for said, true in zip(whole[:, 0], y, strict=True)]
    )
    assert 0.2 < gone < 0.4
    assert 0.07 < wrong < 0.22


def test_class_weights_find_more_of_a_rare_class(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4_000, 4))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(4_000) > 2.0, "fraud", "fine").astype(object)
    path = write(tmp_path / "rare.csv", X, y)
    options = ("run", path, "--label", "kind", "--json", "--seed", 1, "--rate", 0.2)
    (plain,) = call(*options)
    (costly,) = call(*options, "--class-weight", "fraud=20")
    recall = [found["by_class"]["fraud"]["recall"]["true"] for found in (plain, costly)]
    assert recall[1] > recall[0] + 0.05
    call(*options, "--class-weight", "fruad=20", code=2)
    call(*options, "--class-weight", "much", code=2)
    compare = ("compare", path, "--label", "kind", "--json", "--seed", 1, "--rate", 0.2)
    (both,) = call(*compare, "-a", "tracker,lasec-ss", "--class-weight", "fraud=20")
    rows = {row["algorithm"]: row for row in both["algorithms"]}
    assert rows["Tracker"]["by_class"] == costly["by_class"]
    assert "average_precision" not in rows["Budgeted LASEC-SS"]["by_class"]["fraud"]
    call(*compare, "-a", "lasec-ss", "--class-weight", "fraud=20", code=2)


def test_probabilities_of_two_classes_are_measured(tmp_path):
    """In the JSON, the terminal, the report and the comparison, with average precision first."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6_000, 4))
    y = np.where(X[:, 0] > 1.6, "fraud", "fine").astype(object)
    path = write(tmp_path / "two.csv", X, y)
    options = ("run", path, "--label", "kind", "--seed", 1, "--rate", 0.3)
    (found,) = call(*options, "--json", "--out", tmp_path / "out")
    schema = json.loads(SCHEMA.read_text())
    check(found, schema["$defs"]["run"], schema)
    wanted = schema["$defs"]["run"]["properties"]["metrics"]["properties"]
    assert wanted.keys() <= found["metrics"].keys()
    for measured in (*found["metrics"].values(), found["by_class"]["fraud"]["average_precision"]):
        assert measured["low"] <= measured["true"] <= measured["high"]
    done = subprocess.run(warm.command(*options), capture_output=True, text=True, check=True)
    lines = [line.strip() for line in done.stdout.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("average precision of fraud"))
    assert lines[first + 1].startswith("recall of fraud")
    truth = found["metrics"]["log_loss"]["true"]
    assert any(line.startswith("log-loss ") and f"true {truth:.3f}" in line for line in lines)
    assert any(line.startswith("calibration error ") for line in lines)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Average precision of fraud" in page
    assert "Brier score" in page
    shown = subprocess.run(
        warm.command(
            "compare", path, "-l", "kind", "-a", "tracker,perceptron-ss", "--seed", "1",
            "-o", tmp_path / "both",
        ), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert shown.index("average precision of fraud") < shown.index("recall of fraud")
    both = (tmp_path / "both" / "compare.html").read_text()
    assert both.index("true average precision of fraud") < both.index("true log-loss")
