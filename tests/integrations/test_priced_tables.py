"""Labels of two prices from the command line: a file with a judge's column, and ask and tell."""

import json
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import lasec
import warm
from lasec.cli.judge import Judge
from lasec.errors import TableError
from lasec.tables import TableLearner
from lasec.tables.lines import told
from lasec.tables.spec import LabelBudget, TableSpec

BOTH = ("--source", "gpt:price=1,column=gpt", "--source", "people:price=50", "--money", "1")


def call(*arguments, given=""):
    command = warm.command(*map(str, arguments))
    return subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, y = lasec.streams.walking(3_000, dimension=4, speed=0.01, seed=1)
    right = np.random.default_rng(2).random(3_000) < 0.9
    columns = {f"x{j}": np.round(X[:, j], 4) for j in range(4)}
    columns["fate"] = np.where(y > 0, "win", "loss").tolist()
    columns["gpt"] = np.where(right == (y > 0), "win", "loss").tolist()
    path = tmp_path_factory.mktemp("prices") / "table.csv"
    pa.csv.write_csv(pa.table(columns), path)
    return path


def test_a_run_replays_the_column_of_a_judge(file, tmp_path):
    done = call("run", file, "--label", "fate", *BOTH, "--seed", "0", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    sources, estimate = found["sources"], found["estimate"]
    assert found["features"] == 4  # the judge's answers are no feature
    assert sources["spent"] == {"gpt": sources["judged"], "people": 50.0 * sources["experts"]}
    assert found["labels"] == sources["experts"]
    assert estimate["low"] <= found["accuracy"] <= estimate["high"]
    assert 0.8 < sources["judge"]["value"] < 0.97
    report = (tmp_path / "report.html").read_text()
    assert f"{sum(sources['spent'].values()):,.0f}</dd>" in report
    assert f"budget 3,000; experts labeled {found['labels']:,}, " in report
    assert "labels queried" not in report.partition("</header>")[0]
    said = call("info", tmp_path).stdout
    assert "judge right" in said
    assert f"{sources['judged']:,} judged, {sources['experts']:,} seen by an expert" in said


def test_a_run_that_is_resumed_is_the_same_run(file, tmp_path):
    options = (file, "--label", "fate", *BOTH, "--seed", "0", "--json")
    whole = json.loads(call("run", *options, "--out", tmp_path / "a").stdout)
    call("run", *options, "--out", tmp_path / "b", "--limit", "1700")
    parts = json.loads(call("run", *options, "--out", tmp_path / "b", "--resume").stdout)
    assert parts["sources"]["spent"] == whole["sources"]["spent"]
    assert parts["accuracy"] == whole["accuracy"]
    assert parts["estimate"]["value"] == pytest.approx(whole["estimate"]["value"], rel=1e-9)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_ask_and_tell_say_who_is_asked(tmp_path):
    model = tmp_path / "model.lasec"
    rows = [{"id": f"row-{t}", "x": float(np.sin(t)), "z": float(np.cos(3 * t))} for t in range(60)]
    given = "".join(json.dumps(row) + "\n" for row in rows)
    new = ("--classes", "ham,spam", "--source", "gpt:price=1", "--source", "people:price=20")
    asked = lines(call("ask", "--model", model, *new, "--money", "5", given=given).stdout)
    open_ = [line["ticket"] for line in asked if line["asked"]]
    assert {line.get("source") for line in asked} == {"gpt", None}
    said = [{"ticket": t, "label": "spam", "by": "gpt", "confidence": 0.8} for t in open_[:-1]]
    said.append({"ticket": open_[-1], "by": "gpt"})  # no answer
    told = call("tell", "--model", model, given="".join(json.dumps(s) + "\n" for s in said))
    assert {line["source"] for line in lines(told.stdout)} == {"people"}  # the first ten at least
    waiting = lines(call("questions", "--model", model).stdout)
    assert {line["source"] for line in waiting} == {"people"}
    wrong = json.dumps({"ticket": open_[0], "label": "spam", "by": "gpt"})
    refused = call("tell", "--model", model, given=wrong)
    assert "'people' is asked about it, and 'gpt' answered" in refused.stdout
    right = json.dumps({"ticket": open_[0], "label": "ham", "by": "ann"})
    assert lines(call("tell", "--model", model, given=right).stdout)[0]["settled"]
    desk = TableLearner.load(model)
    assert desk.session.spent == {"gpt": len(open_), "people": 20.0 * len(open_)}


def test_a_judge_says_other_labels_of_the_rest_where_one_class_is_apart():
    """From the first row on, and the same in a session: what came before decides nothing."""
    head = pa.RecordBatch.from_pylist([{"x": 0.1, "z": 0.2}])
    sources = [lasec.Source("gpt", 1.0), lasec.Source("people", 20.0)]
    spec = TableSpec(positive="spam", sources=sources, budget=LabelBudget(money=20.0), seed=0)
    desk, rows = spec.table(head), [{"x": 0.1 * t, "z": 0.2} for t in range(40)]
    first, second, *_ = [found.ticket for found in desk.ask(rows) if found.asked]
    said = told(desk, {"ticket": first, "label": "eggs", "by": "gpt"})
    assert said["label"] == "not spam"
    assert "warning" not in said
    assert told(desk, {"ticket": second, "label": None, "by": "gpt"})["label"] is None
    session = lasec.Session(
        lasec.Tracker(1, seed=0), positive="spam", sources=sources, money=lasec.Money(20.0)
    )
    ticket = session.ask([1.0]).ticket
    assert session.tell(ticket, "eggs", by="gpt").y == "not spam"


def test_what_is_no_class_is_no_answer_of_a_judge():
    sources = [lasec.Source("gpt", 1.0), lasec.Source("people", 20.0)]
    spec = TableSpec(["ham", "spam"], sources=sources, budget=LabelBudget(money=20.0), seed=0)
    desk = spec.table(pa.RecordBatch.from_pylist([{"x": 0.1, "z": 0.2}]))
    ticket = next(one.ticket for one in desk.ask([{"x": 0.1, "z": 0.2}] * 9) if one.asked)
    vague = told(desk, {"ticket": ticket, "label": "I think it is ham", "by": "gpt"})
    assert vague["label"] is None
    assert vague["warning"] == "no answer: 'I think it is ham' is no class that is known"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--source", "gpt:price=1,column=gpt"), "give two sources"),
        (BOTH[:4], "give two sources"),
        (("--source", "gpt", "--source", "people:price=2", "--money", "1"), "a name and a price"),
        ((*BOTH[:4], "--money", "1/day"), "or with --time 500/day"),
        (("--source", "gpt:price=1", *BOTH[2:]), "column=NAME"),
        (("--source", "gpt:price=1,column=gtp", *BOTH[2:]), "gpt"),
        (("--source", "gpt:price=90,column=gpt", *BOTH[2:]), "may not cost more"),
    ],
)
def test_options_that_do_not_go_together_are_refused(file, options, message):
    done = call("run", file, "--label", "fate", *options)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr


JUDGE = """
import json, os, sys, time
print("Loading ...", flush=True)
for line in sys.stdin:
    row = json.loads(line)
    assert "fate" not in row and "gpt" in row
    with open(os.environ["SEEN"], "a+") as seen:
        seen.seek(0)
        number = len(seen.readlines()) % 6
        seen.write(line)
    if number == 3:
        print("what?", flush=True)
    elif number == 5:
        sys.exit(1)
    else:
        print(json.dumps({"label": row["gpt"]}), flush=True)
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A command that says what the column says, and fails now and then; and where it writes."""
    seen, script = tmp_path / "seen", tmp_path / "judge.py"
    script.write_text(JUDGE)
    seen.touch()
    monkeypatch.setenv("SEEN", str(seen))
    return f"{sys.executable} {script}", seen


def test_a_command_answers_for_the_rows_that_the_judge_is_asked_about(file, command):
    given = f"gpt:price=1,command={command[0]}"
    options = ("--source", "people:price=50", "--money", "1", "--seed", "0", "--limit", "400")
    done = call("run", file, "--label", "fate", "--source", given, *options, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["sources"]
    rows = lines(command[1].read_text())
    assert len(rows) == found["judged"] < 400
    silent = sum(number % 6 in (3, 5) for number in range(len(rows)))
    assert f"no answer of the judge to {silent} rows" in done.stderr
    assert found["judge"]["value"] > 0.6


def test_a_command_answers_for_rows_that_are_asked(command, tmp_path):
    model = tmp_path / "model.lasec"
    given = "".join(json.dumps({"id": f"mail-{t}", "x": float(np.sin(t)), "gpt": "spam"}) + "\n"
                    for t in range(60))  # fmt: skip
    new = ("--classes", "ham,spam", "--label", "fate", "--source", "people:price=20",
           "--ignore", "gpt", "--money", "5")  # fmt: skip
    judge = ("--source", f"gpt:price=1,command={command[0]}")
    done = call("ask", "--model", model, *judge, *new, given=given)
    assert done.returncode == 0, done.stderr
    asked = lines(done.stdout)
    assert {line.get("source") for line in asked} == {"people", None}
    desk = TableLearner.load(model)
    heard = desk.session.buying.asked
    assert sorted(heard) == [line["ticket"] for line in asked if line["asked"]]
    answers = [heard[ticket].answer for ticket in sorted(heard)]
    assert answers[:7] == [1, 1, 1, -1, 1, -1, 1]
    again = call("ask", "--model", model, "--source", f"llm:price=1,command={command[0]}",
                 given=given)  # fmt: skip
    assert again.returncode == 2
    assert "it is not the judge of" in again.stderr


def test_a_command_that_cannot_be_started_is_refused(file):
    done = call("run", file, "--label", "fate", "--source", "gpt:price=1,command=/no/such/judge",
                *BOTH[2:])  # fmt: skip
    assert done.returncode == 2
    assert "command=/no/such/judge: cannot be started" in done.stderr


def test_a_command_that_does_not_answer_in_json_is_refused_with_what_it_wrote():
    judge = Judge("sed -u s/.*/spam/", patience=0.5)
    try:
        with pytest.raises(TableError, match=r"'spam' is no answer: expected a line such as"):
            judge({"x": 1})
    finally:
        judge.close()


def test_a_command_that_does_not_read_is_ended():
    judge = Judge("sleep 60", patience=0.5)
    try:
        begin = time.monotonic()
        assert judge({"x": "long" * 100_000}) == (None, None)
        assert time.monotonic() - begin < 5.0
    finally:
        judge.close()


def test_a_class_that_a_judge_misspells_is_no_answer(file, tmp_path):
    script = tmp_path / "judge.sh"
    script.write_text("""sed -u 's/.*/{"label": "Win"}/'""")
    given = f"gpt:price=1,command=sh {script}"
    done = call("run", file, "--label", "fate", "--source", given, *BOTH[2:], "--limit", "300",
                "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sources"]["judged"] > 0


def test_a_command_that_takes_too_long_is_ended_and_started_again():
    slow = f"{sys.executable} -c \"import time; input(); time.sleep(9); print('late')\""
    judge = Judge(slow, patience=0.5)
    try:
        assert [judge({"x": 1}), judge({"x": 2})] == [(None, None), (None, None)]
        assert judge.silent == 2
    finally:
        judge.close()
