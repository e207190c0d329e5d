"""What a file holds never steers the terminal: control characters are shown, not obeyed."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from lasec.cli.terminal import clean
from warm import run_all

EVIL = "\x1b]0;own\x07\x1b[31m\x9b2J\x7f\u202e\u2066evil"  # a title, a color, C1, DEL, bidi
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
PLAIN = "x,y\n" + "1,a\n2,b\n" * 30
ROW = json.dumps({"x": 1, EVIL: EVIL}) + "\n"
FILES = {
    "plain.csv": PLAIN,
    f"{EVIL}.csv": PLAIN,
    "names.csv": PLAIN.replace("x", EVIL, 1),
    "ids.csv": f"x,{EVIL}_id,y\n" + "".join(f"{i % 7},{i},{'ab'[i % 2]}\n" for i in range(60)),
    "leak.csv": f"{EVIL},y\n" + "1,a\n2,b\n" * 60,
    "spelled.csv": f"x,y\n1,{EVIL}\n2,{EVIL.upper()}\n",
    "classes.csv": PLAIN + f"1,{EVIL}\n",
    "two.csv": PLAIN.replace("a", EVIL),
    "third.csv": f"{'x' * 900},y\n" + f"{'1' * 900},a\n{'2' * 900},b\n" * 3_000 + f"1,{EVIL}\n",
    "ragged.csv": PLAIN + f"{EVIL}\n",
    "cells.csv": PLAIN.replace("x", EVIL, 1) + f"{EVIL},a\n",
    "twice.csv": f"{EVIL},{EVIL},y\n1,2,a\n",
    "cells.svm": f"1 {EVIL}:1\n",
    "line.jsonl": f"{EVIL}\n",
    "parse.jsonl": f'{{"x": 1, "y": {EVIL}}}\n',
    "rows.jsonl": ROW,
}
CHANNELS = {  # each names the words that show it was reached
    "columns in an error": (["run", "names.csv", "-l", "nope"], "There are"),
    "columns to choose from": (["run", "names.csv"], "no label column given"),
    "spellings": (["run", "spelled.csv", "-l", "y"], "differ only in spelling"),
    "column that gives the label away": (["run", "leak.csv", "-l", "y"], "alone predicts the"),
    "column that is not there": (["run", "plain.csv", "-l", EVIL], "there is no column"),
    "group that is not there": (["run", "plain.csv", "-l", "y", "--group", EVIL], "no column"),
    "category that is none": (["run", "plain.csv", "-l", "y", "--category", EVIL], "no column"),
    "classes in an error": (
        ["run", "classes.csv", "-l", "y", "--class-weight", "z=2"], "there is no class"
    ),
    "rare class": (["run", "third.csv", "-l", "y", "-a", "perceptron"], "recall of"),
    "positive class": (["run", "plain.csv", "-l", "y", "--positive", EVIL], "have no label"),
    "ragged row": (["run", "ragged.csv", "-l", "y"], "CSV parse error"),
    "bad cell": (["run", "cells.csv", "-l", "y"], "warning: column"),
    "repeated names": (["run", "twice.csv", "-l", "y"], "several columns"),
    "ignored column": (["run", "ids.csv", "-l", "y"], "ignored"),
    "title of a run": (["run", f"{EVIL}.csv", "-l", "y"], "Tracker on"),
    "title of a comparison": (["compare", f"{EVIL}.csv", "-l", "y", "-a", "perceptron"], "60 rows"),
    "folder that was written": (["run", "plain.csv", "-l", "y", "-o", f"{EVIL}1"], "wrote"),
    "folder that holds a run": (["run", "plain.csv", "-l", "y", "-o", f"{EVIL}1"], "already"),
    "file that is not there": (["run", f"{EVIL}.no", "-l", "y"], "no such file"),
    "format": (["run", "plain.csv", "-l", "y", "--format", EVIL], "unknown format"),
    "separator": (["run", "plain.csv", "-l", "y", "--separator", EVIL], "one character"),
    "setting": (["run", "plain.csv", "-l", "y", "--set", EVIL], "expected a name and a number"),
    "algorithm": (["run", "plain.csv", "-l", "y", "-a", EVIL], "no algorithm"),
    "value of an option": (["run", "plain.csv", "-l", "y", "--rate", EVIL], "Invalid value"),
    "unknown option": (["run", "plain.csv", f"--{EVIL}"], "No such option"),
    "unknown command": ([EVIL], "No such command"),
    "svmlight": (["run", "cells.svm"], "expected index:value"),
    "line that is no object": (["run", "line.jsonl", "-l", "y"], "expected an object"),
    "new model": (["ask", "rows.jsonl", "-m", "n.lasec", "--classes", "a,b"], "new model with"),
    "model that is not there": (["tell", "rows.jsonl", "-m", EVIL], "does not exist"),
    "info about a file": (["info", EVIL], "no such file"),
    "run with odd classes": (["run", "two.csv", "-l", "y", "-o", "two"], "wrote"),
    "info about a model": (["info", "two/model.lasec"], "classes"),
    "resumed otherwise": (["run", "two.csv", "-l", "y", "-o", "two", "--resume", "--group", "y",
                           "-a", "tracker", "--ignore", "x", "--positive", EVIL], "started with"),
    "papers": (["cite", EVIL], "no algorithm"),
    "streams": (["datasets", EVIL], "no stream"),
    "a run as JSON": (["run", f"{EVIL}.csv", "-l", "y", "--json"], '"file"'),
    "a model as JSON": (["info", "two/model.lasec", "--json"], '"classes"'),
    "kept columns": (["ask", "rows.jsonl", "-m", "n.lasec", "--keep", EVIL], '"ticket"'),
    "answer": (["tell", "rows.jsonl", "-m", "n.lasec"], '"error"'),
    "refused line": (["ask", "line.jsonl", "-m", "n.lasec"], "not a JSON object"),
}  # fmt: skip
QUIET = {"run with odd classes", "answer", "resumed otherwise", "value of an option"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode())
    made = run_all([(arguments, "") for arguments, _ in CHANNELS.values()], folder)
    return dict(zip(CHANNELS, made, strict=True))


@pytest.mark.parametrize("channel", CHANNELS)
def test_no_control_character_passes(results, channel):
    result = results[channel]
    shown = result.out + result.err
    assert CHANNELS[channel][1] in shown, result
    assert not CONTROL.search(shown), result
    if channel not in QUIET:  # those say nothing of what they were given
        assert "evil" in shown, result


def test_json_is_ascii_and_says_the_same(results):
    for channel in ("a run as JSON", "a model as JSON", "kept columns", "refused line"):
        out = results[channel].out
        assert out.isascii(), out
        assert "evil" in json.dumps(json.loads(out))
    assert json.loads(results["kept columns"].out)[EVIL] == EVIL


def test_a_progress_bar_shows_them_too(tmp_path):
    name = f"{EVIL}.csv"
    (tmp_path / name).write_text(PLAIN)
    parent, child = pty.openpty()
    there = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"}
    arguments = [sys.executable, "-m", "lasec.cli", "run", name, "-l", "y"]
    with subprocess.Popen(
        arguments, stdin=child, stdout=child, stderr=child, env=there, cwd=tmp_path
    ) as running:
        os.close(child)
        sent = b"".join(iter(lambda: _read(parent), b"")).decode()
    os.close(parent)
    assert running.returncode == 0, sent
    own = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]", "", sent)  # what rich sends to draw
    assert not CONTROL.search(own), own
    assert own.count("\\x1b]0;own") >= 2, own  # the bar and the title


def _read(parent):
    try:
        return os.read(parent, 1 << 16)
    except OSError:  # Linux says so when the other side has gone
        return b""


def test_words_are_left_as_they_are():
    assert clean("Zürich \N{GREEK SMALL LETTER ALPHA} \u6771\u4eac 5 % \\x1b") == (
        "Zürich \N{GREEK SMALL LETTER ALPHA} \u6771\u4eac 5 % \\x1b"
    )
    assert clean("a\ud800\x85") == "a\\ud800\\x85"
