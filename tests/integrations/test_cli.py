"""The command ``lasec``: as people, as scripts, and as pipes use it."""

import bz2
import fcntl
import gzip
import json
import math
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import lasec
import warm
from lasec.cli.app import app
from lasec.cli.columns import warn_of_unseen
from lasec.cli.leaks import warn_of_leaks
from lasec.cli.output import (
    say_if_typed,
    warn_of_cells,
    warn_of_majority,
    warn_of_no_change,
)
from lasec.cli.progress import Bar
from lasec.metrics import Estimate
from lasec.tables import Encoder, TableLearner, table_of

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]
COMMANDS += [group.name for group in app.registered_groups]
DOCS = Path(__file__).parents[2] / "docs"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def call(*arguments, given="", cwd=None):
    return subprocess.run(
        warm.command(*arguments), input=given, capture_output=True, text=True, cwd=cwd,
        check=False, timeout=300,
    )  # fmt: skip


def table(rounds, seed=1, dimension=8):
    X, y = lasec.streams.switching(rounds, dimension=dimension, every=rounds // 3, seed=seed)
    columns = {f"x{j}": np.round(X[:, j], 4) for j in range(dimension)}
    place = np.where(X[:, 0] > 0, "north", "south").tolist()
    return columns | {"place": place, "fate": np.where(y > 0, "win", "loss").tolist()}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "stream.csv"
    pa.csv.write_csv(pa.table(table(6_000)), path)
    return path


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "long.csv"
    pa.csv.write_csv(pa.table(table(200_000, dimension=20)), path)
    return path


def test_run_says_what_it_found(file):
    done = call("run", file, "--label", "fate", "--rate", "0.2")
    assert done.returncode == 0, done.stderr
    assert "Tracker on stream.csv" in done.stdout
    assert re.search(r"rows +6,000", done.stdout)
    assert re.search(r"columns +8 numeric, 1 categorical; 10 features", done.stdout)
    assert re.search(
        r"one-hot +place \(2 categories\); new categories have no feature", done.stdout
    )
    assert re.search(r"labels queried +1,\d{3} \((19|2\d)\.\d % of rows", done.stdout)
    assert re.search(
        r"estimated accuracy +\d\d\.\d % \(95 % CI \d\d\.\d-\d\d\.\d %, 1,\d{3} labels\)",
        done.stdout,
    )
    assert re.search(r"true accuracy +\d\d\.\d % \(all labels; \d rows? before", done.stdout)
    assert re.search(r"no-change \(previous label\) \d\d.\d %, majority class", done.stdout)
    assert not CONTROL.search(done.stdout + done.stderr)


def test_run_for_scripts_is_the_plain_library(file, tmp_path):
    out = tmp_path / "out"
    done = call("run", file, "--label", "fate", "--rate", "0.2", "--no-standardize",
                "--ignore", "place", "--json", "--seed", "0", "--out", out)  # fmt: skip
    found = json.loads(done.stdout)
    columns = table(6_000)
    X = np.column_stack([columns[f"x{j}"] for j in range(8)])
    y = np.where(np.array(columns["fate"]) == "win", 1, -1)
    run = lasec.RunSummary()
    model = TableLearner.load(out / "model.lasec")  # it has a budget for the rows of the file
    budget = model.learner.query
    assert budget.horizon == pytest.approx(6_000, rel=0.05)
    lasec.evaluate(lasec.Tracker(budget=budget, seed=0), X, y, into=run)
    assert (found["labels"], found["cap"]) == (run.labels, budget.cap(6_000))
    assert found["unpredicted"] == run.unpredicted == 1
    assert found["accuracy"] == run.accuracy
    assert found["estimate"]["value"] == pytest.approx(run.estimate.value, abs=1e-12)
    assert found["persistence"] == pytest.approx((y[1:] == y[:-1]).sum() / 6_000)
    assert done.stderr == ""


def test_run_writes_model_report_and_predictions(file, tmp_path):
    done = call(
        "run",
        file,
        "-l",
        "fate",
        "-o",
        tmp_path / "out",
        "--predictions",
        "--group",
        "place",
        "--figures",
    )
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "out").glob("[!.]*"))
    assert names == ["figures", "model.lasec", "predictions.jsonl", "report.html", "summary.json"]
    lines = [
        json.loads(text) for text in (tmp_path / "out/predictions.jsonl").read_text().splitlines()
    ]
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert len(lines) == summary["rows"] == 6_000
    assert sum(line["asked"] for line in lines) == summary["labels"]
    said = [
        (line["prediction"], fate) for line, fate in zip(lines, table(6_000)["fate"], strict=True)
    ]
    first = next(at for at, line in enumerate(lines) if line["asked"])
    assert [at for at, (label, _) in enumerate(said) if label is None] == list(range(first + 1))
    right = np.mean([label == fate for label, fate in said[first + 1 :]])
    assert right == pytest.approx(summary["accuracy"])
    page = (tmp_path / "out/report.html").read_text()
    assert "stream.csv" in page
    assert "north" in page
    shown = json.loads(call("info", tmp_path / "out/model.lasec", "--json").stdout)
    assert shown["rows"] == 6_000
    assert shown["classes"] == ["loss", "win"]


def start(*arguments, **streams):
    return subprocess.Popen([*warm.REAL, *map(str, arguments)], text=True, **streams)


def interrupted(arguments, folder, number):
    """Start a run, and send a signal once it has written its first predictions."""
    written = folder / "predictions.jsonl"
    deadline = time.monotonic() + 200.0
    with start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while not (written.exists() and written.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(number)
        out, err = running.communicate(timeout=100)
    return running.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_and_resumed_is_the_same_run(long_file, tmp_path, number):
    folder, whole = tmp_path / "stopped", tmp_path / "whole"
    begin = ["run", long_file, "--label", "fate", "--seed", "1", "--predictions", "--out"]
    code, _, err = interrupted([*begin, folder], folder, number)
    assert code == 130, err
    partly = json.loads((folder / "summary.json").read_text())
    assert not partly["finished"]
    assert 0 < partly["rows"] < 200_000
    assert call(*begin, folder, "--resume").returncode == 0
    assert call(*begin, whole).returncode == 0
    assert (folder / "predictions.jsonl").read_bytes() == (whole / "predictions.jsonl").read_bytes()
    ends = [TableLearner.from_bytes((f / "model.lasec").read_bytes()) for f in (folder, whole)]
    (first, kept), (second, other) = ends
    assert first.learner.to_bytes() == second.learner.to_bytes()
    assert kept == other  # the summary
    summaries = [json.loads((f / "summary.json").read_text()) for f in (folder, whole)]
    clock = {"seconds": 0, "rows_per_second": 0}
    assert summaries[0] | clock == summaries[1] | clock
    pages = [(f / "report.html").read_bytes() for f in (folder, whole)]
    assert pages[0] == pages[1]


def test_resume_refuses_another_table_or_another_choice(file, long_file, tmp_path):
    out = tmp_path / "out"
    assert "nothing to resume" in call("run", file, "-l", "fate", "-o", out, "--resume").stderr
    call("run", file, "-l", "fate", "-o", out, "--limit", "2000")
    for name, change, words in (
        (long_file, [], "another table"),
        (file, ["--rate", "0.3"], "--rate 0.1, not 0.3: resume it with the same options"),
        (file, ["--ignore", "place"], "--ignore [], not ['place']"),
        (file, ["--predictions"], "--predictions False, not True"),
        (file, ["--no-standardize"], "--standardize True, not False"),
    ):
        done = call("run", name, "-l", "fate", "-o", out, "--resume", *change)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    on = call("run", file, "-l", "fate", "-o", out, "--resume", "--json")
    assert json.loads(on.stdout)["rows"] == 6_000


def test_a_run_is_never_overwritten_unless_it_is_said(file, tmp_path):
    begin = ("run", file, "-l", "fate", "-o", tmp_path, "--limit", "1000")
    call(*begin, "--predictions")
    again = call(*begin)
    assert again.returncode == 2
    assert (
        "already contains a run: use --resume to continue or --force to overwrite" in again.stderr
    )
    assert call(*begin, "--force").returncode == 0
    assert not (tmp_path / "predictions.jsonl").exists()


def test_a_run_that_is_killed_at_once_can_be_resumed(long_file, tmp_path):
    begin = ("run", long_file, "-l", "fate", "-o", tmp_path, "--predictions", "--limit", "20000")
    with start(*begin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not (tmp_path / "model.lasec").exists():
            time.sleep(0.005)
        running.kill()
    assert call(*begin, "--resume").returncode == 0
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(text)["row"] for text in lines] == list(range(20_000))
    (tmp_path / "predictions.jsonl").write_text("")
    lost = call(*begin, "--resume")
    assert (lost.returncode, "start again with --force" in lost.stderr) == (2, True)


def in_terminal(columns, arguments):
    """What a terminal of so many columns is sent."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    there = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(columns)}
    with start(*arguments, stdin=child, stdout=child, stderr=child, env=there) as running:
        os.close(child)
        pieces = list(iter(lambda: read_terminal(parent), b""))
    os.close(parent)
    return running.returncode, b"".join(pieces).decode()


def read_terminal(parent):
    try:
        return os.read(parent, 1 << 16)
    except OSError:  # Linux says so when the other side has gone
        return b""


def on_screen(sent):
    """The lines that a terminal was sent, without what moves and colors them."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent))


@pytest.mark.parametrize("columns", [80, 200])
def test_a_terminal_sees_progress_that_fits(long_file, columns):
    code, sent = in_terminal(columns, ["run", long_file, "-l", "fate"])
    assert code == 0
    lines = on_screen(sent)
    bars = [text for text in lines if re.search(r"\d % .* [\d,]+ rows/s  \d+:\d\d left", text)]
    assert any("±" in text for text in bars), lines[-40:]
    shares = [int(re.search(r"(\d+) %", text)[1]) for text in bars]
    assert shares == sorted(shares)
    assert shares[0] < 40  # by rows, not by what has been read ahead
    results = lines[[text.startswith("Tracker on") for text in lines].index(True) :]
    assert max(len(text.rstrip()) for text in lines if text not in results) < columns


def test_compare_runs_side_by_side(file, tmp_path):
    done = call(
        "compare", file, "-l", "fate", "-a", "tracker,lasec-ss,perceptron", "-r", "0.2", "--json",
        "--seed", "0",
    )  # fmt: skip
    found = json.loads(done.stdout)
    rows = {row["algorithm"]: row for row in found["algorithms"]}
    assert list(rows) == ["Tracker", "Budgeted LASEC-SS", "Perceptron"]
    alone = json.loads(call("run", file, "-l", "fate", "-r", "0.2", "--json", "--seed", "0").stdout)
    assert rows["Tracker"]["accuracy"] == alone["accuracy"]
    assert rows["Perceptron"]["labels"] == 6_000
    shown = call("compare", file, "-l", "fate", "-a", "tracker,lasec-ss", "-o", tmp_path)
    assert "no-change" in shown.stdout
    assert shown.stderr.startswith(
        "lasec: comparing 2 models on about 6,000 rows, each with labels of its own (10.0 % of "
        "rows): Tracker; Budgeted LASEC-SS\n"
    )
    assert done.stderr == ""  # for scripts
    assert not CONTROL.search(shown.stdout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "compare.json"]
    apart = rows["Budgeted LASEC-SS"]["difference"]
    best = max(rows.values(), key=lambda row: row["accuracy"])
    assert best["difference"] is None
    assert apart["value"] == pytest.approx(rows["Budgeted LASEC-SS"]["accuracy"] - best["accuracy"])
    assert apart["low"] < apart["value"] < apart["high"]


def test_compare_says_early_how_long_it_takes(file):
    """After 500 rows, and not at the end of a batch of thousands: peers are slow."""
    options = ["-l", "fate", "-a", "perceptron", "--peer", "sklearn-sgd", "--limit", "4000"]
    code, sent = in_terminal(120, ["compare", file, *options])
    assert code == 0
    lines = on_screen(sent)
    shares = [int(found[1]) for text in lines if (found := re.search(r" (\d+) %  .*rows/s", text))]
    assert shares
    assert shares[0] < 70  # of the 4,000 rows of --limit
    assert max(shares) > 70


OWN_MODEL = """
from sklearn.naive_bayes import GaussianNB

def make_model():
    return GaussianNB(var_smoothing=0.1)

def make_nothing():
    return "nothing"
"""


def test_compare_runs_peers_with_the_same_budget(file, tmp_path):
    (tmp_path / "own_model.py").write_text(OWN_MODEL)
    peers = ["river-logistic", "river-arf", "sklearn-sgd", "own_model:make_model"]
    options = [part for peer in peers for part in ("--peer", peer)]
    done = call(
        "compare", file, "-l", "fate", "-a", "tracker", "-r", "0.2", "--limit", "1500", "--seed",
        "0", "--json", "-o", "out", *options, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["algorithms"]
    assert [row["algorithm"] for row in rows] == ["Tracker", *peers]
    for row in rows:
        assert row["labels"] == pytest.approx(rows[0]["labels"], abs=40)
        value, low, high = (row["estimate"][name] for name in ("value", "low", "high"))
        assert abs(value - row["accuracy"]) < high - low  # four standard errors
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "ARFClassifier" in page
    assert "own_model:make_model" in page


def test_answers_of_peers_come_late_too(file):
    options = ["-l", "fate", "-a", "perceptron-ss", "--peer", "sklearn-sgd", "--limit", "1500"]
    prompt, late = (
        json.loads(call("compare", file, *options, "--seed", "0", "--json", *more).stdout)
        for more in ([], ["--delay", "700"])
    )
    for before, after in zip(prompt["algorithms"], late["algorithms"], strict=True):
        assert after["accuracy"] < before["accuracy"]


def test_peers_are_not_compared_by_a_majority_that_they_would_not_take(file):
    options = ["-l", "fate", "--peer", "sklearn-sgd", "--annotator-errors", "0.3,0.3,0.3"]
    refused = call("compare", file, *options)
    assert refused.returncode == 2
    assert "--peer: a model of another library takes the first answer" in refused.stderr


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        ("river-logistik", "did you mean 'river-logistic'?"),
        ("nowhere:make", "No module named 'nowhere'"),
        ("own_model:make", "has no attribute 'make'"),
        ("own_model:make_nothing", "expected a River classifier"),
    ],
)
def test_a_peer_that_cannot_run_is_an_error_in_one_line(file, tmp_path, peer, words):
    (tmp_path / "own_model.py").write_text(OWN_MODEL)
    done = call("compare", file, "-l", "fate", "--peer", peer, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_peer_names_the_extra_that_it_needs(monkeypatch):
    from lasec.cli import peers
    from lasec.errors import TableError

    monkeypatch.setattr(peers, "find_spec", lambda _: None)
    with pytest.raises(TableError, match=r"needs river: pip install '.\[river\]' in a checkout"):
        peers.make_peer("river-arf", 0.1, None, seed=0, classes=["a", "b"])


def as_lines(columns, count):
    names = [name for name in columns if name != "fate"]
    rows = ({n: plain(columns[n][i]) for n in names} | {"id": f"r{i}"} for i in range(count))
    return "".join(json.dumps(row) + "\n" for row in rows)


def plain(value):
    return float(value) if isinstance(value, np.floating) else value


def test_ask_and_tell_in_a_pipe(file, tmp_path):
    model, columns = tmp_path / "m.lasec", table(6_000)
    call("run", file, "-l", "fate", "-o", tmp_path, "--limit", "3000")
    (tmp_path / "model.lasec").rename(model)
    asked = call("ask", "--model", model, "--keep", "id", given=as_lines(columns, 500))
    assert asked.returncode == 0, asked.stderr
    answers = [json.loads(text) for text in asked.stdout.splitlines()]
    assert len(answers) == 500
    assert not CONTROL.search(asked.stdout)
    questions = [line for line in answers if line["asked"]]
    assert 20 < len(questions) < 90
    replies = "".join(
        json.dumps({"ticket": q["ticket"], "label": columns["fate"][int(q["id"][1:])]}) + "\n"
        for q in questions
    )
    told = call("tell", "--model", model, given=replies)
    assert told.returncode == 0, told.stderr
    assert len(told.stdout.splitlines()) == len(questions)
    again = call("tell", "--model", model, given=replies.splitlines()[0])
    assert again.returncode == 1
    assert "not open" in json.loads(again.stdout)["error"]
    shown = json.loads(call("info", model, "--json").stdout)
    assert (shown["rows"], shown["open"]) == (3_500, 0)
    assert shown["estimate"]["low"] <= shown["estimate"]["value"] <= shown["estimate"]["high"]


def test_ask_and_predict_read_tables_as_run_does(file, tmp_path):
    """CSV, Parquet, and CSV on standard input: the same as JSON lines with the same cells."""
    columns = {name: cells[:1_500] for name, cells in table(6_000).items()}
    columns["shop"] = [f"{i % 7:02d}" for i in range(1_500)]  # numbers, for those who look
    columns["id"] = [f"0{i}" if i % 2 else i for i in range(1_500)]
    lines = "".join(
        json.dumps({name: plain(cells[i]) for name, cells in columns.items()}) + "\n"
        for i in range(1_500)
    )
    columns["id"] = list(map(str, columns["id"]))
    rows = pa.table(columns)
    pa.csv.write_csv(rows, tmp_path / "rows.csv", pa.csv.WriteOptions(delimiter="\t"))
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    text = (tmp_path / "rows.csv").read_text()
    options = ("--classes", "win,loss", "-l", "fate", "--category", "shop", "--seed", "0",
               "--keep", "id", "--keep", "shop", "--rate", "10%")  # fmt: skip
    expected = call("ask", *options, "-m", tmp_path / "lines.lasec", given=lines)
    assert expected.stdout.count('"asked": true') > 100
    first, second = map(json.loads, expected.stdout.splitlines()[:2])
    assert (first["id"], second["id"], second["shop"]) == (0, "01", "01")
    for name, given in (("rows.csv", ""), ("rows.parquet", ""), ("-", text)):
        more = ("--format", "csv") if given else ()
        model = tmp_path / f"{name}.lasec"
        asked = call("ask", tmp_path / name if not given else "-", *options, *more, "-m", model,
                     given=given)  # fmt: skip
        assert (asked.returncode, asked.stdout) == (0, expected.stdout), asked.stderr
        said = call("predict", tmp_path / name if not given else "-", *more, "-m", model,
                    given=given)  # fmt: skip
        assert said.stdout == call("predict", "-m", model, given=lines).stdout
    told = call("tell", "-m", model, given='{"id": 0, "label": "win"}\n')
    assert json.loads(told.stdout)["ticket"] == 0


def test_a_bad_cell_of_a_table_is_missing_and_named(tmp_path):
    rows = "price,when,shop\n" + "".join(f"{i},2026-01-01 10:00:{i},a\n" for i in range(10, 40))
    (tmp_path / "rows.csv").write_text(rows + "3 EUR,2026-01-01 10:01:00,a\n")
    done = call("ask", "rows.csv", "--classes", "a,b", "--time", "when", "--keep", "when",
                cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["when"] == "2026-01-01T10:00:10"
    assert "column 'price': 1 cell not numeric, read as missing, first '3 EUR' in row 31" in (
        done.stderr
    )


def test_a_percentage_is_a_share(file):
    options = ("run", file, "-l", "fate", "--seed", "0", "--limit", "2000", "--json")
    shares = (("--rate", "0.2", "--audit", "0.4"), ("--rate", "20%", "--audit", "40 %"))
    runs = [json.loads(call(*options, *more).stdout) for more in shares]
    assert runs[0]["labels"] == runs[1]["labels"] > 300
    assert runs[0]["accuracy"] == runs[1]["accuracy"]
    wrong = call("run", file, "-l", "fate", "--rate", "ten")
    assert wrong.returncode == 2
    assert "expected a share, such as 0.1 or 10%, got 'ten'" in wrong.stderr


def test_a_total_of_labels_is_spread_over_the_rows_and_never_exceeded(file, tmp_path):
    options = ("-l", "fate", "--seed", "0", "--labels", "300", "--predictions", "-o")
    done = call("run", file, *options, tmp_path / "whole")
    labels = re.search(
        r"labels queried +(\d+) \(\d\.\d % of rows; at most 300 in all\)", done.stdout
    )
    assert 270 <= int(labels[1]) <= 300, done.stderr
    lines = (tmp_path / "whole" / "predictions.jsonl").read_text().splitlines()
    asked = [json.loads(line)["asked"] for line in lines]
    assert 80 < sum(asked[:3_000]) < 220  # not all at the start
    short = json.loads(call("run", file, *options, tmp_path / "short", "--limit", "400",
                            "--json").stdout)  # fmt: skip
    assert 250 <= short["labels"] <= 300
    other = call("run", file, "-l", "fate", "--labels", "301", "-o", tmp_path / "whole",
                 "--predictions", "--resume")  # fmt: skip
    assert "was started with --labels 300, not 301" in other.stderr


def test_the_length_of_an_input_is_at_most_its_limit(file, tmp_path):
    from lasec.cli.inputs import open_file
    from lasec.cli.options import Reading

    opened = open_file(str(file), Reading("fate"))
    with opened.table:
        assert (opened.length(None), opened.length(500), opened.length(9_000)) == (
            6_000,
            500,
            6_000,
        )
        opened.table.expected = math.nan  # a pipe
        assert opened.length(500) == 500
        assert opened.length(None) is None


def test_ask_and_tell_at_the_same_time_lose_nothing(tmp_path):
    model, columns, n = tmp_path / "m.lasec", table(3_000), 1_500
    lines = as_lines(columns, n).splitlines(keepends=True)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    new = ("ask", "--model", model, "--classes", "loss,win", "--questions", "--keep", "id")
    told = 1
    with start(*new, **pipes) as asking:
        asking.stdin.writelines(lines[:100])
        asking.stdin.flush()
        first = asking.stdout.readline()
        with start("tell", "--model", model, **pipes) as telling:
            answer(telling, first, columns)
            asking.stdin.writelines(lines[100:])
            asking.stdin.close()
            for text in asking.stdout:
                answer(telling, text, columns)
                told += 1
            out, _ = telling.communicate()
    assert (asking.wait(), telling.returncode) == (0, 0)
    assert len(out.splitlines()) == told
    shown = json.loads(call("info", model, "--json").stdout)
    assert (shown["rows"], shown["asked"], shown["told"], shown["open"]) == (n, told, told, 0)


def answer(telling, question, columns):
    question = json.loads(question)
    fate = columns["fate"][int(question["id"][1:])]
    telling.stdin.write(json.dumps({"ticket": question["ticket"], "label": fate}) + "\n")
    telling.stdin.flush()


def test_a_slow_pipe_is_answered_line_by_line(tmp_path):
    new = ("ask", "-m", tmp_path / "m.lasec", "--classes", "a,b")
    with start(
        *new, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as asking:
        for ticket in range(3):
            asking.stdin.write('{"x": 1.5}\n')
            asking.stdin.flush()
            assert json.loads(asking.stdout.readline())["ticket"] == ticket
        asking.stdin.close()
        assert asking.wait() == 0


def test_lines_are_answered_in_their_order_whatever_they_are(tmp_path):
    new = ("ask", "-m", tmp_path / "m.lasec", "--classes", "a,b", "--text", "s", "--keep", "s")
    deep = "[" * 100_000
    lines = ['{"x": 1, "s": "é \\ud83d", "label": "a"}', "no", "", '{"x": "?"}', deep, '{"x": 2}',
             '{"x": 1' + "0" * 400 + "}"]  # fmt: skip
    done = call(*new, given="\n".join(lines))
    said = [json.loads(text) for text in done.stdout.splitlines()]
    assert [entry.get("ticket", entry.get("line")) for entry in said] == [0, 2, 4, 5, 1, 7]
    assert done.returncode == 1
    assert '4 lines refused: see "error" in the output' in done.stderr
    assert "Traceback" not in done.stderr
    shown = json.loads(call("info", tmp_path / "m.lasec", "--json").stdout)
    assert shown["columns"] == {"x": "number", "s": "text"}  # and no label


def test_times_of_any_form_in_a_pipe(tmp_path):
    new = ("ask", "-m", tmp_path / "m.lasec", "--classes", "a,b", "--time", "t",
           "--labels-per-day", "9")  # fmt: skip
    times = [
        '"2026-01-01T00:00:00Z"',
        "1767300000",
        '"2026-01-02T00:00:00"',
        "true",
        '"soon"',
        "null",
    ]
    done = call(*new, given="".join(f'{{"x": 1, "t": {t}}}\n' for t in times))
    said = [json.loads(text) for text in done.stdout.splitlines()]
    assert ["error" in entry for entry in said] == [False, False, False, True, True, True]


@pytest.mark.parametrize(("seed", "opened"), [(0, 0), (3, 1)])
def test_a_model_goes_on_being_that_of_its_run(file, seed, opened, tmp_path):
    call("run", file, "-l", "fate", "-o", tmp_path, "--limit", "2000", "--seed", str(seed))
    model = tmp_path / "model.lasec"
    before = json.loads(call("info", model, "--json").stdout)
    call("ask", "-m", model, given=as_lines(table(6_000), 3))
    after = json.loads(call("info", model, "--json").stdout)
    assert (before["open"], after["open"]) == (0, opened)
    assert (after["estimate"]["rows"] > before["estimate"]["rows"]) == (opened == 0)
    lost = before["estimate"]["labels"] - after["estimate"]["labels"]
    assert lost == 0 if opened == 0 else lost > 0, "young rows wait while a question is open"
    gone = call("run", file, "-l", "fate", "-o", tmp_path, "--resume")
    assert "was used by lasec ask since: it cannot be resumed" in gone.stderr


def test_settings_and_budgets_reach_every_algorithm(file, tmp_path):
    def labels(*options):
        done = call("run", file, "-l", "fate", "--limit", "2000", "--seed", "1", "--json", *options)
        return json.loads(done.stdout) | {"seconds": 0.0, "rows_per_second": 0.0}

    assert labels("--set", "audit=0.01") != labels()
    assert labels("--audit", "0.01") == labels("--set", "audit=0.01")
    days = ["2026-01-01"] * 1_000 + ["2026-01-02"] * 1_000
    columns = {name: values[:2_000] for name, values in table(6_000).items()} | {"day": days}
    pa.csv.write_csv(pa.table(columns), tmp_path / "days.csv")
    done = call("compare", tmp_path / "days.csv", "-l", "fate", "--time", "day", "--labels-per-day",
                "50", "-a", "uniform,lasec-ss", "--json")  # fmt: skip
    for row in json.loads(done.stdout)["algorithms"]:
        assert row["labels"] < 250, row


def test_a_reader_that_leaves_is_no_error(file, tmp_path):
    call("run", file, "-l", "fate", "-o", tmp_path, "--limit", "1000")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(as_lines(table(6_000), 6_000))
    model = tmp_path / "model.lasec"
    piped = f"'{sys.executable}' -m lasec.cli ask -m '{model}' '{rows}' | head -n 1"
    done = subprocess.run(piped, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "FILE", "--label", "fat"], "there is no column 'fat': did you mean 'fate'?"),
        (
            ["run", "FILE"],
            "no label column given: use --label. Columns with two values: place "
            "(north, south), fate (loss, win). All columns: x0, x1",
        ),
        (["run", "FILE", "-l", "x0"], "looks like a regression target (5,"),
        (["run", "FILE", "-l", "fate", "--positive", "wim"], "did you mean 'win'?"),
        (["run", "FILE", "-l", "fate", "--positive", ""], "give a class, such as --positive spam"),
        (["run", "FILE", "-l", "fate", "--separator", "ab"], "expected one character"),
        (["run", "FILE", "-l", "fate", "--format", "xls"], "unknown format 'xls': expected one of"),
        (["run", ".", "-l", "fate"], ". is a directory: give one file"),
        (["run", "FOLDER", "-l", "fate"], "is a directory: give one file, such as "),
        (["info", "."], ". is a directory without a model.lasec: give a model file"),
        (["ask", "-m", ".", "--classes", "a,b"], ". is a directory without a model.lasec"),
        (["run", "FILE", "-l", "fate", "-a", "lasek"], "did you mean 'lasec'?"),
        (["run", "FILE", "-l", "fate", "--rate", "-1"], "rate must be a number"),
        (["run", "FILE", "-l", "fate", "--rate", "120%"], "rate must be at most one"),
        (["run", "FILE", "-l", "fate", "--lost", "120%"], "--lost: expected a share"),
        (["run", "FILE", "-l", "fate", "--labels", "9", "--labels-per-day", "9"], "one or the"),
        (["ask", "nowhere.csv", "-m", "nowhere.lasec"], "nowhere.csv: no such file"),
        (["predict", "FILE", "-m", "nowhere.lasec"], "create it with lasec run or lasec ask"),
        (["predict", "FILE", "-m", "nowhere.lasec", "--format", "xls"], "unknown format 'xls'"),
        (["run", "FILE", "-l", "fate", "--set", "drift"], "expected a name and a number"),
        (["run", "FILE", "-l", "fate", "-a", "lasec", "--set", "speed=1"], "lasec: "),
        (["run", "FILE", "-l", "fate", "--ignore", "plac"], "did you mean 'place'?"),
        (["run", "FILE", "-l", "fate", "--group", "plac"], "did you mean 'place'?"),
        (["run", "FILE", "-l", "fate", "--labels-per-day", "9"], "needs --time"),
        (["run", "FILE", "-l", "fate", "--resume"], "need --out"),
        (["run", "nowhere.csv", "-l", "fate"], "nowhere.csv: no such file"),
        (["compare", "FILE", "-l", "fate", "-a", ","], "name at least one"),
        (["ask", "-m", "nowhere.lasec", "FILE"], "create it with --classes (such as ham,spam)"),
        (["tell", "-m", "nowhere.lasec"], "create it with lasec run or lasec ask"),
        (["info", "nowhere.lasec"], "nowhere.lasec: no such file"),
        (["info", "FILE"], "not a lasec model"),
        (["datasets", "elec"], "did you mean 'elec2'?"),
        (["cite", "trackr"], "did you mean 'tracker'?"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(file, tmp_path, arguments, words):
    paths = {"FILE": file, "FOLDER": file.parent}
    named = [paths.get(a, a) for a in arguments]
    done = call(*named, given='{"a": 1}\n', cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_labels_a_day(tmp_path):
    columns = table(4_000)
    hours = [
        f"2026-01-{1 + i // 400:02d}T{i % 400 * 3 // 60:02d}:{i % 400 * 3 % 60:02d}:00"
        for i in range(4_000)
    ]
    pa.csv.write_csv(pa.table(columns | {"when": hours}), tmp_path / "days.csv")
    options = ("-l", "fate", "--time", "when", "--labels-per-day", "50")
    found = json.loads(call("run", tmp_path / "days.csv", *options, "--json").stdout)
    assert 400 < found["labels"] <= 600  # ten days
    assert found["features"] == 8 + 2
    said = " ".join(call("run", tmp_path / "days.csv", *options, "--limit", "600").stdout.split())
    most = re.search(r"of rows; at most 50 a day \+ (\d+); (\d+) are a warm-up, repaid over", said)
    assert most, said
    assert int(most[1]) == lasec.queries.Budgeted.every("1d", labels=50).slack
    assert 0 < int(most[2]) <= 50
    assert "repaid over 10 days)" in said


def test_rows_without_a_label_are_rows(tmp_path):
    columns = table(1_000)
    columns["fate"] = [None if i % 10 == 0 else fate for i, fate in enumerate(columns["fate"])]
    pa.csv.write_csv(pa.table(columns), tmp_path / "holes.csv")
    found = json.loads(call("run", tmp_path / "holes.csv", "-l", "fate", "--json").stdout)
    assert (found["rows"], found["labeled"]) == (1_000, 900)
    said = call("run", tmp_path / "holes.csv", "-l", "fate").stdout
    assert "(all 900 labels, for 90.0 % of rows; " in said


def test_standard_input_of_any_format_and_compression(file):
    options = ("-l", "fate", "--json", "--seed", "0", "--limit", "2000")
    expected = json.loads(call("run", file, *options).stdout)
    rows = pa.csv.read_csv(file)
    lines = "".join(json.dumps(row) + "\n" for row in rows.to_pylist()).encode()
    packed = gzip.compress(lines), bz2.compress(lines), pa.compress(lines, "zstd", asbytes=True)
    for given in (file.read_bytes(), lines, *packed):
        done = subprocess.run(warm.command("run", "-", *options), input=given, capture_output=True,
                              check=False, timeout=300)  # fmt: skip
        found = json.loads(done.stdout)
        assert (found["file"], done.stderr) == ("standard input", b"")
        assert found["accuracy"] == expected["accuracy"]


def test_cite_and_datasets():
    assert "Selective Sampling with Drift" in call("cite", "lasec-ss").stdout
    entries = call("cite", "lasec-ss", "--bibtex").stdout
    assert entries == lasec.cite(lasec.LASEC_SS(1), bibtex=True) + "\n"
    listed = json.loads(call("datasets", "--json").stdout)
    assert {"elec2", "covertype"} <= {entry["name"] for entry in listed}
    assert "elec2" in call("datasets").stdout


@pytest.mark.parametrize(
    ("persistence", "majority", "accuracy", "rows", "chance"),
    [
        (0.853, 0.575, 0.841, 10_000, "51.1 %"),
        (0.853, 0.575, 0.860, 10_000, None),  # the model is better
        (0.520, 0.500, 0.510, 10_000, None),  # two labels in a row agree as often as by chance
        (0.532, 0.710, 0.520, 10_000, None),  # chance agreement is 58.8 %
        (0.981, 0.990, 0.975, 10_000, None),  # 1 % fraud, now and then
        (0.996, 0.990, 0.975, 10_000, "98.0 %"),  # 1 % fraud, in bursts
        (0.600, 0.500, 0.550, 10_000, "50.0 %"),
        (0.9990, 0.998, 0.9978, 100_000, None),  # nearly all rows are of one class
        (0.600, 0.500, 0.550, 100, None),  # 100 rows agree that often by chance
    ],
)
def test_no_change_must_beat_the_model_and_chance(
    capsys, persistence, majority, accuracy, rows, chance
):
    warn_of_no_change(persistence, [majority, 1.0 - majority], accuracy, rows)
    said = capsys.readouterr().err
    assert bool(said) == (chance is not None)
    if chance:
        assert said.startswith(
            f"lasec: warning: the no-change baseline ({100 * persistence:.1f} %) beats this model "
            f"({100 * accuracy:.1f} %): labels are autocorrelated (chance agreement {chance}). If"
        )
        assert "as a feature" not in said  # nothing does that


def test_a_model_below_the_majority_class_is_warned_of(capsys):
    warn_of_majority(0.70, 0.69)
    assert capsys.readouterr().err == ""
    warn_of_majority(0.70, 0.60)
    assert capsys.readouterr().err == (
        "lasec: warning: the majority-class baseline (70.0 %) beats this model (60.0 %): raise "
        "--rate, or check how the columns are read\n"
    )


def test_cells_and_categories_are_warned_of(capsys, tmp_path):
    (tmp_path / "r.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20 + "3 EUR,a\n")
    with lasec.tables.open_table(tmp_path / "r.csv") as rows:
        list(rows.batches())
        warn_of_cells(rows)
    assert capsys.readouterr().err == (
        "lasec: warning: column 'x': 1 cell not numeric, read as missing, first '3 EUR' in row 41; "
        "if these are categories, use --category x\n"
    )
    encoder = Encoder.fit(table_of({"shop": ["north", "south"] * 50}).head)
    encoder.encode(table_of({"shop": ["north"] * 94 + ["west", "east"] * 3}).head)
    warn_of_unseen(encoder, 1_000)
    assert capsys.readouterr().err == ""
    warn_of_unseen(encoder, 100)
    assert capsys.readouterr().err == (
        "lasec: warning: column 'shop': 6 rows (6.0 %) have a category that the first rows do not "
        "have, and no feature for it; --text shop gives each word a feature, with the tracker\n"
    )


def test_columns_that_give_the_label_away_are_warned_of(capsys):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    columns = {
        "group": np.where(y, "spam_2", "easy_ham").tolist(),
        "score": y + rng.uniform(0.0, 0.9, 400),
        "noise": rng.normal(size=400),
        "mostly": np.where(rng.random(400) < 0.9, y, 1 - y).astype(str).tolist(),
        "y": y,
    }
    head = table_of(columns, frozenset({"y"})).head
    warn_of_leaks(head, "y", Encoder.fit(head, left_out=frozenset({"y"})), None)
    said = capsys.readouterr().err.splitlines()
    assert [line.split("'")[1] for line in said] == ["score", "group"]
    assert said[1] == (
        "lasec: warning: column 'group' alone predicts the label in 100.0 % of the first 400 rows; "
        "if it is known only after the label, use --ignore group"
    )
    in_runs = head.take(pa.array(np.argsort(y, kind="stable")))
    warn_of_leaks(in_runs, "y", Encoder.fit(head, left_out=frozenset({"y"})), None)
    assert capsys.readouterr().err == ""


def test_time_left_does_not_count_the_first_batch(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr("lasec.cli.progress.time.monotonic", lambda: now[0])
    bar = Bar("rows.csv")
    estimate = Estimate(0.9, 0.88, 0.92, rows=1_000, labels=100, until=1_000)
    assert not bar.due()
    now[0] += 61.0
    assert bar.due()
    bar.show(0.1, 1_000, 100, estimate)
    now[0] += 2.0
    bar.show(0.2, 2_000, 200, estimate)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        "lasec: rows.csv:  20 %  2,000 rows  500 rows/s  0:16 left  200 labels  "
        "estimated accuracy 90.0 ± 2.0 %"
    )
    assert not Bar("rows.csv", quiet=True).due()


def test_a_terminal_is_told_that_rows_are_to_be_typed(monkeypatch, capsys):
    for typed, file, said in ((True, "-", True), (True, "rows.csv", False), (False, "-", False)):
        monkeypatch.setattr(sys.stdin, "isatty", lambda typed=typed: typed, raising=False)
        say_if_typed(file, "JSON lines")
        expected = "lasec: reading JSON lines from the terminal; end with Ctrl-D\n"
        assert capsys.readouterr().err == (expected if said else "")


def test_the_estimate_of_a_run_goes_on_in_production(file, tmp_path):
    model = tmp_path / "model.lasec"
    given = ("--rate", "0.3", "--limit", "1000", "--json", "--seed", "1")
    run = json.loads(call("run", file, "-l", "fate", "-o", tmp_path, *given).stdout)
    before = json.loads(call("info", model, "--json").stdout)["estimate"]
    for name in ("value", "low", "high"):
        assert before[name] == run["estimate"][name]
    rows = as_lines(table(40), 40)
    asked = [json.loads(line) for line in call("ask", "-m", model, given=rows).stdout.splitlines()]
    answers = "".join(
        json.dumps({"ticket": line["ticket"], "label": "win"}) + "\n"
        for line in asked
        if line["asked"]
    )
    call("tell", "-m", model, given=answers)
    after = json.loads(call("info", model, "--json").stdout)["estimate"]
    assert after["rows"] == before["rows"] + 40
    assert after["labels"] == before["labels"] + answers.count("\n") > before["labels"]


def test_a_directory_of_a_run_is_its_model(file, tmp_path):
    call("run", file, "-l", "fate", "-o", tmp_path, "--limit", "1000")
    shown = call("info", tmp_path).stdout
    assert re.search(r"labels queried +1\d\d\n", shown)
    assert re.search(r"estimated accuracy +\d\d\.\d % \(95 % CI ", shown)
    assert re.search(r"drift estimate +.*half-life [\d,]+ rows, noise ", shown)
    assert re.search(r"\n  numeric +x0, x1, .* \(standardized\)\n  one-hot +place \(2 cat", shown)
    facts = json.loads(call("info", tmp_path, "--json").stdout)
    assert facts["encoding"]["place"] == "one-hot"
    assert facts["encoding"]["x0"] == "standardized"
    asked = call("predict", "-m", tmp_path, given=as_lines(table(6_000), 2))
    assert len(asked.stdout.splitlines()) == 2


def test_the_warm_up_is_named_where_it_exceeds_the_budget(file):
    given = ("run", file, "-l", "fate", "--rate", "0.05")
    short = call(*given, "--limit", "1000").stdout
    words = r"; at most 5 % \+ 51; 2\d are a warm-up, repaid by row 6,\d{3}\)"
    found = re.search(rf"labels queried +(\d+) \(.* of rows{words}", short)
    assert int(found[1]) <= 50 + 51  # 16, and a tenth of the labels of a window and of the file
    whole = call(*given).stdout
    assert int(re.search(r"labels queried +(\d+) .*; at most 5 % \+ 51\)", whole)[1]) <= 305
    early = call(*given, "--limit", "1000", "--warm-up", "0", "--json").stdout
    assert json.loads(early)["cap"] == 50 + 21
    assert json.loads(early)["labels"] <= 71
    piped = "".join(file.read_text().splitlines(keepends=True)[:1_001])  # it is read to its end
    assert "; at most 5 % + 26)" in call("run", "-", *given[2:], given=piped).stdout
    every = call("run", file, "-l", "fate", "-a", "perceptron", "--limit", "999").stdout
    assert re.search(r"labels queried +999 \(100\.0 % of rows\)", every)


def test_a_limit_is_no_other_budget(file, tmp_path):
    """A run that was stopped by it goes on as one that never was."""
    given = ("run", file, "-l", "fate", "--rate", "0.05", "--seed", "0", "--json")
    call(*given, "--limit", "2000", "--out", tmp_path / "out")
    resumed = json.loads(call(*given, "--out", tmp_path / "out", "--resume").stdout)
    whole = json.loads(call(*given).stdout)
    for name in ("rows", "labels", "cap", "accuracy", "estimate"):
        assert resumed[name] == whole[name]


def test_rows_without_a_prediction_and_lost_answers_are_named(file, tmp_path):
    given = ("run", file, "-l", "fate", "--rate", "0.2", "--limit", "2000", "--seed", "0")
    given += ("--delay", "100", "--lost", "0.2", "--out", tmp_path / "out")
    shown = call(*given).stdout
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert found["unpredicted"] > 100
    assert f"{found['unpredicted']} rows before the first label have no prediction" in shown
    here = found["estimate"]
    ends = f"{100 * here['worst_low']:.1f}-{100 * here['worst_high']:.1f} %"
    gone = f"{here['lost']} labels queried and never came: all wrong, or all right"
    assert re.search(rf"worst case +{re.escape(ends)} \({gone}\)", shown)
    assert here["worst_low"] < here["low"] < here["high"] < here["worst_high"]
    assert here["worst_low"] <= found["accuracy"] <= here["worst_high"]


def test_a_prediction_that_there_was_not_is_neither_right_nor_wrong(tmp_path):
    model = tmp_path / "m.lasec"
    new = ("ask", "--model", model, "--classes", "loss,win", "--rate", "0.99", "--seed", "0")
    rows = as_lines(table(60), 40)
    asked = [json.loads(line) for line in call(*new, given=rows).stdout.splitlines()]
    assert [line["prediction"] for line in asked] == [None] * 40
    tickets = [line["ticket"] for line in asked if line["asked"]]
    answers = "".join(json.dumps({"ticket": t, "label": "win"}) + "\n" for t in tickets[:-1])
    told = [
        json.loads(line) for line in call("tell", "-m", model, given=answers).stdout.splitlines()
    ]
    assert len(told) > 20
    assert not any("correct" in line for line in told)
    facts = json.loads(call("info", model, "--json").stdout)
    assert "estimate" not in facts or facts["estimate"]["labels"] == 0
    (open_,) = call("questions", "-m", model).stdout.splitlines()
    assert json.loads(open_)["prediction"] is None  # the model has a class by now
    said = json.loads(call("ask", "-m", model, given=rows.splitlines()[0]).stdout)
    assert said["prediction"] == "win"
    if said["asked"]:
        given = json.dumps({"ticket": said["ticket"], "label": "loss"})
        assert json.loads(call("tell", "-m", model, given=given).stdout)["correct"] is False


def test_version_and_help():
    assert call("--version").stdout == f"lasec {lasec.__version__}\n"
    alone = call()
    assert (alone.returncode, alone.stderr) == (0, "")
    assert "on a label budget" in alone.stdout


def test_help_names_values_and_shows_no_types():
    groups = (
        "handover label-studio",
        "handover file",
        "spark run",
        "spark export",
        "labels export",
    )
    commands = [*COMMANDS, *groups]
    for command in commands:
        shown = call(*command.split(), "--help").stdout
        assert re.search(r"--help +-h ", shown.partition("Options")[2]), command
        assert not re.search(r"<(bool|str|int|float|path|file|list)", shown), command
        assert not re.search(r" range\b|[\[<]x\b|\bx[<>\]]", shown), command


def test_a_range_that_help_does_not_show_is_checked():
    for command in ("serve --port 65536", "explain --top 0", "run FILE -l fate --limit 0"):
        done = call(*command.split())
        assert done.returncode == 2, command
        assert f"Invalid value for '{re.search('--[a-z]+', command)[0]}'" in done.stderr


def test_every_command_is_in_the_table_of_the_page():
    page = (DOCS / "command-line.md").read_text()
    for command in COMMANDS:
        assert re.search(rf"^\| .*`lasec {command}`.* \|", page, re.M), command


def test_a_missing_extra_is_named():
    code = (
        "import sys, importlib.util as u; old = u.find_spec\n"
        "import lasec.cli as c\n"
        "c.find_spec = lambda n: None if n == 'pyarrow' else old(n)\n"
        "c.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install '.[cli]' in a checkout of lasec" in done.stderr


@pytest.mark.slow
def test_a_table_that_does_not_change_raises_no_alarm(tmp_path):
    """0/1 columns, too: standardized by the rows so far, they drift where nothing does."""
    rng, rows = np.random.default_rng(1), 20_000
    columns = {f"flag {k}": (rng.random(rows) < 0.1 + 0.1 * k).astype(int) for k in range(6)}
    columns |= {f"number {k}": rng.standard_normal(rows).round(3) for k in range(4)}
    columns["fate"] = np.where(columns["number 0"] + columns["flag 1"] > 0.5, "win", "loss")
    path = tmp_path / "same.csv"
    pyarrow.csv.write_csv(pa.table(columns), path)
    options = ("--label", "fate", "-a", "lasec-ss", "--rate", "0.1", "--alarms", "--json")
    assert json.loads(call("run", path, *options).stdout)["alarms"] == []


def test_alarms_are_raised_in_a_run_and_while_asking(file, tmp_path):
    options = ("--label", "fate", "-a", "lasec-ss", "--rate", "0.4", "--set", "drift=0", "--alarms")
    out = tmp_path / "out"
    found = json.loads(call("run", file, *options, "--seed", "1", "--out", out, "--json").stdout)
    (alarm,) = found["alarms"]  # of the switches at 2,000 and 4,000, what fresh labels confirm
    assert 4_000 < alarm["ticket"] < 4_600
    assert alarm["low"] < alarm["after"] < alarm["high"]
    assert alarm["labels"] >= 32
    shown = call("run", file, *options, "--seed", "1").stdout
    assert f"accuracy drop in row {alarm['ticket'] + 1:,}" in shown
    assert f"CI {100 * alarm['low']:.1f}-{100 * alarm['high']:.1f} %, {alarm['labels']}" in shown
    rows = pa.table(table(6_000)).to_pylist()[:2_000]
    swapped = {"win": "loss", "loss": "win"}  # from row 2,000 on: a change that cannot be missed
    rows += [row | {"fate": swapped[row["fate"]]} for row in rows[:1_000]]
    model, said = tmp_path / "m.lasec", ""
    new = (
        "--classes",
        "loss,win",
        "--label",
        "fate",
        "-a",
        "lasec-ss",
        "--rate",
        "0.4",
        "--seed",
        "1",
        "--alarms",
    )
    for at in (slice(0, 400), slice(400, 1_200), slice(1_200, 2_000), slice(2_000, 3_000)):
        asked = call("ask", "--model", model, *new, given="\n".join(map(json.dumps, rows[at])))
        assert asked.returncode == 0, asked.stderr
        answers = [
            {"ticket": one["ticket"], "label": rows[one["ticket"]]["fate"]}
            for one in map(json.loads, asked.stdout.splitlines())
            if one["asked"]
        ]
        said += call("tell", "--model", model, given="\n".join(map(json.dumps, answers))).stderr
    assert said.count("lasec: alarm: ") == 1
    assert "lasec: alarm: accuracy drop in row 2," in said
