"""Hostile input to the command line: never a traceback, a crash or a hang, but a line of words."""

import gzip
import io
import itertools
import re
import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import lasec
from lasec.tables import Encoder, TableLearner, table_of
from warm import LIMIT, run_all

DEEP = "[" * 900 + "]" * 900
BRACES = '{"a":' * 3_000 + "1" + "}" * 3_000
WIDE = "".join(f"c{i}," for i in range(20_000)) + f"y\n{'1,' * 20_000}a\n{'2,' * 20_000}b\n"
GOOD = "x,z,y\n" + "".join(f"{i % 7},{i % 3},{'ab'[i % 2]}\n" for i in range(60))


def parquet(table):
    file = io.BytesIO()
    pa.parquet.write_table(table, file)
    return file.getvalue()


def twins():
    return pa.Table.from_arrays(
        [pa.array([1.0, 2.0]), pa.array(["a", "b"])] * 2, names=["x", "y"] * 2
    )


RAW = {  # contents that are given to every format
    "empty": b"",
    "blank": b" \n\t\n \n",
    "newlines": b"\n" * 5_000,
    "nul": b"\0" * 1_000,
    "garbage": np.random.default_rng(1).bytes(3_000),
    "bom": b"\xef\xbb\xbf",
    "utf16": GOOD.encode("utf-16"),
    "latin": b"x,y\n\xe9,a\n\xff\xfe,b\n",
    "null": b"null\n",
    "null_first": b'null\n{"x": 1, "y": "a"}\n',
    "list": b"[]\n",
    "number": b"5\n",
    "quote": b'"\n',
    "quotes": b'x,y\n"a,b\n1,2\n',
    "deep": DEEP.encode(),
    "braces": BRACES.encode(),
    "names": b"x,y\n",
    "one": b"x",
    "ragged": b"x,y\n1,a\n2\n3,a,b\n",
    "control": b"\x1b[2Jx,y\n\x1b]0;t\x07,a\n1,b\n",
    "parquet": b"PAR1" + b"\0" * 40 + b"PAR1",
    "packed": gzip.compress(GOOD.encode())[:30],
}
SUFFIXES = ("csv", "jsonl", "svm", "parquet", "csv.gz", "tsv")

TABLES = {
    "twice.csv": "x,y,x\n1,a,2\n",
    "cr.csv": GOOD.replace("\n", "\r"),
    "crlf.csv": GOOD.replace("\n", "\r\n"),
    "bom.csv": "\ufeff" + GOOD,
    "huge.csv": "x,y\n1e999,a\n-1e400,b\n" + "9" * 400 + ",a\n",
    "late.csv": GOOD + "12 EUR,n.a.,a\n?,--,b\n",
    "third.csv": GOOD + "1,2,c\n",
    "oneclass.csv": "x,y\n" + "1,a\n" * 9,
    "nolabel.csv": "x,y\n" + "1,\n" * 9,
    "noname.csv": ",y\n1,a\n2,b\n",
    "longname.csv": "n" * 50_000 + ",y\n1,a\n2,b\n",
    "nulname.csv": "x\0z,y\n1,a\n2,b\n",
    "quoted.csv": 'x,y\n"1""2",a\n"\n",b\n',
    "bools.csv": "x,y\ntrue,a\nfalse,b\n",
    "times.csv": "x,y\n2026-01-01,a\nsoon,b\n2026-13-45,a\n",
    "wide.csv": WIDE,
    "toowide.csv": "," * 300_000 + "\n" + "," * 300_000 + "\n",
    "underscore.csv": "x,y\n1_0,1_0\n10,10\n",
    "nulls.jsonl": '{"x": 1, "y": "a"}\nnull\n{"x": 2, "y": "b"}\n',
    "nullblock.jsonl": '{"x": 1, "y": "a"}\n' * 60_000 + "null\n" * 400_000,
    "returns.jsonl": '{"x": 1, "y": "a"}\n' * 60_000 + '{"x": 1}\r' + "null\r" * 400_000,
    "latedeep.jsonl": '{"x": 1, "y": "a"}\n' * 60_000 + '{"b":' + "[" * 90_000 + "\n",
    "changes.jsonl": '{"x": 1, "y": "a"}\n{"x": "b", "y": 1}\n{"x": [], "y": {}}\n',
    "twice.jsonl": '{"x": 1, "x": 2, "y": "a"}\n',
    "pretty.jsonl": '{\n "x": 1,\n "y": "a"\n}\n',
    "nan.jsonl": '{"x": NaN, "y": "a"}\n{"x": -Infinity, "y": "b"}\n',
    "big.jsonl": '{"x": 1' + "0" * 400 + ', "y": "a"}\n{"x": 2, "y": "b"}\n',
    "surrogate.jsonl": '{"x": "\\ud800", "y": "a"}\n',
    "nested.jsonl": '{"x": {"k": [1, {"l": 2}]}, "y": "a"}\n{"x": {}, "y": "b"}\n',
    "objects.jsonl": "{}\n{}\n",
    "truncated.jsonl": '{"x": 1, "y": "a"}\n{"x": 2, "y"',
    "nonutf.jsonl": b'{"x": "\xff", "y": "a"}\n{"x": "b", "y": "b"}\n',
    "array.jsonl": '[{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]\n',
    "huge.svm": "1 9223372036854775808:1\n-1 1:2\n",
    "negative.svm": "1 -5:1 2:1\n-1 1:2\n",
    "underscore.svm": "1 1_0:1\n-1 1:1_0\n",
    "values.svm": "1 1:nan 2:inf 3:1e999\n-1 1:2\n",
    "colons.svm": "1 1:2:3 :: :\n",
    "labels.svm": b"\xff 1:2\n\xfe 1:1\n",
    "far.svm": "1 999999999999999999:1\n-1 1:2\n",
    "bare.svm": "1\n-1\n",
    "twins.parquet": parquet(twins()),
    "empty.parquet": parquet(pa.table({"x": pa.nulls(0), "y": pa.nulls(0)})),
    "nocolumns.parquet": parquet(pa.table({})),
    "odd.parquet": parquet(pa.table({
        "x": [[1.0], [2.0]], "m": pa.array([[(1, 2.0)], None], pa.map_(pa.int64(), pa.float64())),
        "b": [b"\xff", b"a"], "y": ["a", "b"],
    })),
    "pairs.parquet": parquet(pa.table({
        "m": pa.array([[(-7, 2.0)], [(2**62, 1.0)]], pa.map_(pa.int64(), pa.float64())),
        "y": ["a", "b"],
    })),
    "cut.parquet": parquet(pa.table({"x": [1.0], "y": ["a"]}))[:-9],
    "good.csv.gz": gzip.compress(GOOD.encode()),
    "cut.csv.gz": gzip.compress(GOOD.encode() * 50)[:-20],
    "plain.csv.gz": GOOD,
    "plain.csv.bz2": GOOD,
    "plain.csv.zst": GOOD,
    "plain.csv.lz4": GOOD,
    "table.doc": GOOD,
    "no_ending": GOOD,
    "table.xlsx": b"PK\x03\x04" + b"\0" * 40,
    "price.csv": "x,y\n" + "".join(f"{i % 7},{i * 0.37:.2f}\n" for i in range(60)),
    "seven.csv": "x,y\n" + "".join(f"{i % 7},c{i % 7 * (i % 2)}\n" for i in range(60)),
    "forty.csv": "x,y\n" + "".join(f"{i % 7},{i % 40}\n" for i in range(4_000)),
    "spelled.csv": "x,y\n" + "1,spam \n2,ham\n3,SPAM\n4,Spam\n" * 9,
    "late_spelled.csv": "x,y\n" + "1,spam\n2,ham\n" * 400_000 + "3,Spam\n",
    "bare.csv": "0.5,1,2\n" * 60,
    "array.json": '[{"x": 1, "y": "a"}]',
}  # fmt: skip

BARE = [
    ["--label", ""], ["--label", "\x1b[2J"], ["--label", "y" * 100000], ["--label", "nope"], [],
    ["-l", "x"], ["-l"],
]  # fmt: skip
OPTIONS = [
    ["--rate", "nan"], ["--rate", "inf"], ["--rate", "-1"], ["--rate", "1e400"],
    ["--rate", "x\x1b[2J"], ["--rate", "0"], ["--category", "x"],
    ["--category", "x", "-a", "perceptron"], ["--text", "x", "-a", "perceptron"], ["--seed", "-1"],
    ["--seed", "9" * 30], ["--seed", "x"], ["--limit", "0"], ["--limit", "9" * 30],
    ["--limit", "1"], ["--set", "drift"], ["--set", "=1"], ["--set", "drift=nan"],
    ["--set", "drift=1e999"], ["--set", "slots=1e300"], ["--set", "slots=99999999"],
    ["-a", "rbp", "--set", "budget=999999999999"], ["--set", "aggressiveness=-1"],
    ["--set", "\x1b=1"],
    ["--set", "self=1"], ["-a", ""], ["-a", "\x1b[31m"], ["-a", "tracker" * 9000],
    ["--format", "exe"], ["--format", "parquet"], ["--format", "jsonl"], ["--format", "svmlight"],
    ["--separator", ""], ["--separator", "\\"], ["--separator", "\xe9"], ["--separator", "\\n"],
    ["--separator", '"'], ["--separator", "\\x00"], ["--separator", "\\xff"],
    ["--time", "x", "--labels-per-day", "nan"], ["--time", "x", "--labels-per-day", "-5"],
    ["--time", "y", "--labels-per-day", "5"], ["--time", "nope"], ["--labels-per-day", "5"],
    ["--positive", ""], ["--positive", "\x07"], ["--positive", "zzz"], ["--group", "nope"],
    ["--group", "y"], ["--category", "nope"], ["--text", "y"], ["--ignore", "x", "--ignore", "z"],
    ["--ignore", "y"], ["--out", "good.csv"], ["--out", "no/\x1b/where", "--limit", "5"],
    ["--out", "x" * 300], ["--resume"], ["--resume", "--out", "nothing"], ["--data", "nowhere"],
    ["--nope\x1b"], ["more"],
]  # fmt: skip

LINES = [
    "null", "5", '"x"', "[]", "{", "no", "\x1b[2J", "{}", '{"x": null}', '{"x": "1_0"}',
    '{"x": "?"}', '{"x": true}', '{"x": []}', '{"x": {}}', '{"x": NaN}', '{"x": 1e999}',
    '{"x": 1' + "0" * 400 + "}", '{"x": 1' + "0" * 5_000 + "}", f'{{"x": {DEEP}}}', BRACES, DEEP,
    "[" * 100_000, '{"x": "\\ud800"}', '{"\\ud800": 1}', '{"a\\u0000b": 1}', '{"": 1}',
    '{"x": 1, "x": 2}', '\xff{"x": 1}', '{"x": "\xff"}', "\0", '{"x": 1}\0',
    '{"ticket": 0, "label": "a"}', '{"ticket": -1, "label": "a"}',
    '{"ticket": 1' + "0" * 400 + ', "label": "a"}', '{"ticket": true, "label": "a"}',
    '{"ticket": 0.0, "label": "a"}', '{"ticket": "0", "label": "a"}',
    '{"ticket": 9e9, "label": "a"}', '{"ticket": 0, "label": "c"}', '{"ticket": 0, "label": []}',
    '{"ticket": 0, "label": NaN}', '{"ticket": 0, "label": ""}', '{"ticket": 0}',
    f'{{"ticket": {DEEP}, "label": "a"}}', f'{{"ticket": 0, "label": {DEEP}}}',
    '{"ticket": 9223372036854775808, "label": "a"}', '{"ticket": 0, "label": "\\u001b[2J"}',
    '{"x": ' + '{"1": 2}' + "}", '{"x": {"99999999999999999999": 1}}', '{"x": 1e308}',
]  # fmt: skip


def model():
    encoder = Encoder.fit(table_of({"x": [1.0, 2.0]}).head)
    return TableLearner(lasec.Tracker(1), encoder, classes=["a", "b"]).to_bytes()


def models():
    good = model()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    plain = lasec.LASEC(2).to_bytes()
    return {
        "empty": b"", "nul": b"\0" * 100, "short": good[:20], "cut": good[:-1],
        "longer": good + b"x",
        "flipped": bytes(flipped), "newer": good[:8] + struct.pack("<I", 99) + good[12:],
        "plain": plain, "text": b"hello\n", "signature": good[:8],
        "header": good[:12] + struct.pack("<I", 2**32 - 1) + good[16:],
    }  # fmt: skip


def as_bytes(contents):
    return contents.encode("utf-8", "surrogatepass") if isinstance(contents, str) else contents


def calls(folder):
    """All calls, each with what it is given on standard input; the files are made on the way."""
    for name, contents in {"good.csv": GOOD, "m.lasec": model(), **TABLES}.items():
        (folder / name).write_bytes(as_bytes(contents))
    (folder / "folder.csv").mkdir()
    for (name, contents), suffix in itertools.product(RAW.items(), SUFFIXES):
        (folder / f"raw_{name}.{suffix}").write_bytes(contents)
        yield ["run", f"raw_{name}.{suffix}", "--label", "y"], ""
    for name in [
        *TABLES,
        "m.lasec",
        "folder.csv",
        "nowhere.csv",
        "good.csv/x.csv",
        "nul\x1b.csv",
        "",
        ".",
    ]:
        yield ["run", name, "--label", "label" if name.endswith("svm") else "y"], ""
    for suffix, contents in itertools.product(
        ("csv", "jsonl", "svmlight"), ("garbage", "null", "ragged")
    ):
        yield ["run", "-", "--format", suffix, "-l", "y"], RAW[contents].decode("latin-1")
    for options in [*BARE, *(["-l", "y", *options] for options in OPTIONS)]:
        yield ["run", "good.csv", *options], ""
    for options in (
        ["-a", ","],
        ["-a", "tracker,nope"],
        ["-a", "tracker,tracker"],
        ["--rate", "2"],
        ["--out", "good.csv"],
    ):
        yield ["compare", "good.csv", "-l", "y", *options], ""
    for name, contents in models().items():
        (folder / f"{name}.lasec").write_bytes(contents)
        (folder / f"run_{name}").mkdir()
        (folder / f"run_{name}" / "model.lasec").write_bytes(contents)
        yield ["info", f"{name}.lasec"], ""
        yield ["cite", f"{name}.lasec"], ""
        yield ["ask", "-m", f"{name}.lasec"], '{"x": 1}\n'
        yield ["tell", "-m", f"{name}.lasec"], '{"ticket": 0, "label": "a"}\n'
        yield ["run", "good.csv", "-l", "y", "-o", f"run_{name}", "--resume"], ""
    for at, line in enumerate(LINES):
        given = line if line.isascii() else line.encode("utf-8").decode("latin-1")
        yield ["ask", "-m", "m.lasec", "--keep", "x"], f'{{"x": 1}}\n{given}\n{{"x": 2}}\n'
        yield ["tell", "-m", "m.lasec"], f"{given}\n"
        yield ["ask", "-m", f"new{at}.lasec", "--classes", "a,b"], f'{given}\n{{"x": 2}}\n'
    for arguments in (
        ["info", "folder.csv"], ["info", "nowhere"], ["cite", "\x1b"], ["datasets", "\x1b[2J"],
        ["datasets", "walking", "-o", "w.exe"], ["datasets", "walking", "-o", "no/where.csv"],
        ["ask", "nowhere.jsonl", "-m", "m.lasec"], ["ask", "folder.csv", "-m", "m.lasec"],
        ["ask", "-m", "folder.csv"], ["ask", "-m", "q.lasec", "--classes", "a"],
        ["ask", "-m", "q.lasec", "--classes", "a,a"], ["ask", "-m", "q.lasec", "--classes", ",,"],
        ["ask", "-m", "no/where.lasec", "--classes", "a,b"], ["tell", "-m", "nowhere.lasec"],
        ["ask", "-m", "q.lasec", "--classes", "a,b", "--text", "x"],
        ["nope\x1b[2J"], ["--nope"], [], ["run"], ["-h"], ["run", "--help"],
    ):  # fmt: skip
        yield arguments, '{"x": 1}\n'


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    made = list(calls(folder))
    return list(zip(made, run_all(made, folder), strict=True))


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def faults(result):
    """What is wrong with how a call ended, each with whether it is."""
    lines = result.err.splitlines()
    own = [line for line in lines if line.startswith("lasec: ")]
    errors = [line for line in own if not line.startswith("lasec: warning: ")]
    usage = result.err.startswith(("Usage:", "Error:"))  # typer's own form
    return {
        f"killed by signal {-result.code} after {result.seconds:.1f} s": result.code < 0,
        f"exit code {result.code}": result.code not in (0, 1, 2, 130),
        "a traceback": "Traceback" in result.err,
        "control characters": CONTROL.search(result.out + result.err),
        "a line that is not lasec's": not usage and own != lines,
        "not one line of error": result.code == 2 and not usage and len(errors) != 1,
    }


def test_hostile_calls_end_in_words(results):
    assert len(results) >= 300
    wrong = [
        f"{' '.join(arguments)[:90]!r} {given[:60]!r}: {what}: {result.err[-300:]}"
        for (arguments, given), result in results
        for what, there in faults(result).items()
        if there
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(results)}", *wrong])
    assert max(result.seconds for _, result in results) < LIMIT


def found(results, *arguments):
    return next(result for call, result in results if call[0][: len(arguments)] == list(arguments))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raw_null.jsonl", "line 1: expected an object, got 'null'"),
        ("nullblock.jsonl", "line 60001: expected an object, got 'null'"),
        ("latedeep.jsonl", "line 60001: nested deeper than 64"),
        ("raw_braces.jsonl", "line 1: nested deeper than 64"),
        ("twins.parquet", "several columns are named 'x': rename all but one"),
        ("raw_empty.csv", "raw_empty.csv is empty"),
        ("raw_names.csv", "raw_names.csv has only a header, no rows"),
        ("empty.parquet", "empty.parquet has no rows"),
        ("raw_utf16.csv", "raw_utf16.csv is UTF-16 text; convert it with iconv"),
        ("table.xlsx", "table.xlsx is a zip archive or an Excel workbook; save it as CSV"),
        ("m.lasec", "m.lasec is a saved model, not a table (lasec info describes it)"),
        ("array.json", "line 1: expected an object, got '["),
        (
            "price.csv",
            "column 'y' looks like a regression target (60 different values in the first "
            "60 rows, numbers from 0 to 21.83); lasec classifies: add a column with "
            "classes, such as y > 11.1",
        ),
        ("spelled.csv", "labels 'SPAM', 'Spam', 'spam' differ only in spelling: use one spelling"),
        (
            "late_spelled.csv",
            "'Spam' differs from 'spam' only in spelling: use one spelling",
        ),
        ("bare.csv", "no column 'y': bare.csv seems to have no header; its first row is 0.5, 1, 2"),
        ("huge.svm", "expected index:value, got '9223372036854775808:1'"),
        ("negative.svm", "expected index:value, got '-5:1'"),
        ("toowide.csv", "300,001 columns; at most 200,000 can be read"),
    ],
)
def test_what_was_wrong_is_named(results, name, words):
    result = found(results, "run", name)
    assert (result.code, words in result.err) == (2, True), result


@pytest.mark.parametrize(
    ("arguments", "given", "code"),
    [
        (["run", "n.jsonl", "--label", "y"], None, 2),
        (["run", "wide.csv", "--label", "nope"], None, 2),
        (["ask", "-m", "m.lasec", "--classes", "a,b"], f'{{"x": 1}}\n{BRACES}\n', 1),
        (["run", "good.csv", "--label", "y", "--rate", "\x1b[2J"], None, 2),
        (["info", "good.csv"], None, 2),
    ],
)
def test_the_same_as_a_process_of_its_own(tmp_path, arguments, given, code):
    (tmp_path / "n.jsonl").write_text("null\n")
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "wide.csv").write_text(WIDE)
    done = subprocess.run(
        [sys.executable, "-m", "lasec.cli", *arguments], input=given, capture_output=True,
        text=True, check=False, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)
