"""Broken cells, lines and names in tables cost themselves, and no more."""

import datetime as dt
import io
import json
import os
import re
import sys
import time
from base64 import b64encode
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lasec
from lasec import make
from lasec.cli.app import app
from lasec.errors import TableError
from lasec.nested import leaves
from lasec.persistence import codec
from lasec.registry import ALGORITHMS
from lasec.tables import Encoder, Kind, TableLearner, open_table, source, table_of
from lasec.tables.bad_cells import MISSING, MOSTLY
from lasec.tables.cells import as_label, batch_of, in_order, moments
from lasec.tables.kinds import Column, nearest
from lasec.tables.objects import DEEPEST, too_deep
from lasec.tables.replay import Replay
from lasec.tables.vocabulary import MOST, Vocabulary
from warm import run_all

LATER = 4_500_000  # bytes: beyond what is looked at first


def written(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path, **options):
    table = open_table(path, **options)
    return pa.Table.from_batches(list(table.batches())), table


def kinds(path, **options):
    with open_table(path, **options) as table:
        return {c.name: (c.kind, c.why) for c in Encoder.fit(table.head).columns}


def column(good, bad, count=100):
    return "x,y\n" + "".join(f"{bad if i == 17 else good(i)},{'ab'[i % 2]}\n" for i in range(count))


@pytest.mark.parametrize("bad", ["12.5 EUR", "x", "1_0", "0x10", "5\u00a0%"])
def test_one_bad_cell_is_a_missing_value_and_counted(tmp_path, bad):
    rows, table = read(written(tmp_path, column(lambda i: i / 8, bad)))
    expected = [i / 8 for i in range(100)]
    expected[17] = None
    assert rows["x"].to_pylist() == expected
    assert table.bad.found == {"x": (1, bad, 18)}


@pytest.mark.parametrize("spelled", MISSING)
def test_the_usual_spellings_of_missing_are_no_bad_cells(tmp_path, spelled):
    path = written(tmp_path, column(lambda i: i / 8, spelled))
    rows, table = read(path)
    assert rows["x"].null_count == 1
    assert table.bad.found == {}
    assert kinds(path)["x"] == (Kind.NUMBER, "")


def late(tmp_path, ending):
    filler = "1.25,2026-01-01,true,b\n"
    count = LATER // len(filler)
    path = written(tmp_path, b"x,day,flag,y\n" + filler.encode() * count + ending)
    return path, count


def test_bad_cells_after_the_first_rows_are_the_same(tmp_path):
    path, count = late(tmp_path, b"9 EUR,soon,maybe,b\n?,n.a.,,a\n\xff,2026-01-02,false,a\n3,,,a\n")
    rows, table = read(path)
    assert rows.num_rows == count + 4
    assert rows["x"][-4:].to_pylist() == [None, None, None, 3.0]
    assert rows["flag"][-4:].to_pylist() == [None, None, 0.0, None]
    assert [day is not None for day in rows["day"][-4:].to_pylist()] == [False, False, True, False]
    assert rows["x"][:count].null_count == 0
    found = {
        "x": (2, "9 EUR", count + 1),
        "day": (1, "soon", count + 1),
        "flag": (1, "maybe", count + 1),
    }
    assert table.bad.found == found


def test_standard_input_is_read_once_and_the_same(tmp_path, monkeypatch):
    path, count = late(tmp_path, b"9 EUR,soon,maybe,b\n4,2026-01-02,false,a\n")
    there, told = read(path)
    with open(path, "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        piped, heard = read("-", format="csv")
    assert piped.equals(there)
    assert heard.bad.found == told.bad.found
    assert piped.num_rows == count + 2


def test_bad_cells_early_and_late_are_counted_once(tmp_path):
    filler = "1.25,7,b\n" * (LATER // 9)
    path = written(tmp_path, f"x,z,y\nearly,1,a\n{filler}late,oops,b\n")
    rows, table = read(path)
    assert table.bad.found["x"] == (2, "early", 1)
    assert table.bad.found["z"] == (1, "oops", rows.num_rows)


@pytest.mark.parametrize(
    ("cells", "kind", "why"),
    [
        ([f"{i:x}" for i in range(16)] * 5, Kind.CATEGORY, ""),  # 10 of 16 look like numbers
        (["1", "2", "3", "X"] * 20, Kind.CATEGORY, ""),
        ([f"A{i}" for i in range(80)], Kind.IGNORED, "unique id"),
        ([f"2026-01-{1 + i % 28:02d}" for i in range(80)], Kind.IGNORED, "date or time"),
        (["north", "south"] * 40, Kind.CATEGORY, ""),
        (["a b c d e"] * 80, Kind.TEXT, ""),
        (["true", "false"] * 40, Kind.NUMBER, ""),
        ([str(i % 5) for i in range(79)] + ["five"], Kind.NUMBER, ""),
    ],
)
def test_other_columns_are_judged_as_before(tmp_path, cells, kind, why):
    text = "c,y\n" + "".join(f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    assert kinds(written(tmp_path, text))["c"] == (kind, why)


@pytest.mark.parametrize(("users", "kind"), [(60, Kind.IGNORED), (30, Kind.CATEGORY)])
def test_ids_that_come_again_are_ids_if_most_do_not(tmp_path, users, kind):
    text = "user_id,x,y\n" + "".join(f"u{i % users},1,a\n" for i in range(90))
    assert kinds(written(tmp_path, text))["user_id"][0] is kind


def test_a_column_of_ids_with_bad_cells_is_still_one(tmp_path):
    text = "user_id,x,y\n" + "".join(f"{i if i % 30 else 'none given'},1,a\n" for i in range(90))
    assert kinds(written(tmp_path, text))["user_id"] == (Kind.IGNORED, "unique id")


@pytest.mark.parametrize(("bad", "kind"), [(20, Kind.NUMBER), (21, Kind.CATEGORY)])
def test_how_many_bad_cells_a_column_of_numbers_may_have(tmp_path, bad, kind):
    assert MOSTLY == 0.8
    text = "x,y\n" + "bad,a\n" * bad + "1.5,b\n" * (100 - bad)
    assert kinds(written(tmp_path, text))["x"][0] is kind


def test_a_column_that_is_told_to_be_text_stays_text(tmp_path):
    path = written(tmp_path, column(lambda i: i, "12 EUR"))
    rows, table = read(path, texts=frozenset({"x"}))
    assert rows["x"][17].as_py() == "12 EUR"
    assert table.bad.found == {}


def stream(folder, spoilt):
    X, y = lasec.streams.switching(3_000, dimension=10, every=1_000, seed=1)
    cells = [[f"{value:.4f}" for value in row] for row in X]
    if spoilt:
        cells[1_500] = ["n.a."] * 10
        cells[700][0] = "12.5 EUR"
    rows = (",".join([*row, "ab"[int(sign > 0)]]) for row, sign in zip(cells, y, strict=True))
    names = ",".join([*(f"x{j}" for j in range(10)), "y"])
    return written(folder, "\n".join([names, *rows]), f"spoilt_{spoilt}.csv")


def test_spoilt_cells_cost_next_to_nothing_and_are_said(tmp_path):
    for spoilt in (False, True):
        stream(tmp_path, spoilt)
    seeds = range(6)  # another cell is another set of queries: one run says little
    calls = [
        (["run", "-l", "y", "--json", "--seed", f"{seed}", f"spoilt_{spoilt}.csv"], "")
        for spoilt in (False, True)
        for seed in seeds
    ]
    results = run_all(calls, tmp_path)
    whole, holes = results[0], results[len(seeds)]
    assert whole.err == ""
    assert holes.err == (
        "lasec: warning: column 'x0': 1 cell not numeric, read as missing, first '12.5 EUR' in row "
        "701; if these are categories, use --category x0\n"
    )
    clean, dirty = (json.loads(result.out) for result in (whole, holes))
    assert dirty["features"] == clean["features"] == 10
    found = np.array([json.loads(result.out)["accuracy"] for result in results]).reshape(2, -1)
    assert abs(np.diff(found.mean(axis=1))[0]) < 0.01


def test_labels_with_underscores_are_labels_of_their_own():
    assert [as_label(text) for text in ("1_0", "10", "1_000.0", "\u0661", "1e1")] == [
        "1_0", "10", "1_000.0", "\u0661", "10",
    ]  # fmt: skip
    assert in_order({"1_0", "9"}) == ["1_0", "9"]
    with pytest.raises(TableError, match="expected a number, got '1_0'"):
        batch_of([{"x": "1_0"}], [Column("x", Kind.NUMBER)])


@pytest.mark.parametrize(
    ("cell", "number"),
    [(10, 10.0), (1.5, 1.5), ("10", 10.0), (" 1e1 ", 10.0), ("", None), (None, None)],
)
def test_a_number_of_a_row_of_cells_may_be_text(cell, number):
    columns = [Column("price", Kind.NUMBER), Column("words", Kind.PAIRS)]
    (read_,) = batch_of([{"price": cell, "words": {"7": 2, "08": "3"}}], columns).to_pylist()
    assert read_ == {"price": number, "words": [(7, 2.0), (8, 3.0)]}


@pytest.mark.parametrize("cell", ["1_0", "cheap", [1.0], {"a": 1}, 10**400])
def test_what_is_no_number_is_refused_with_its_column(cell):
    with pytest.raises(TableError, match=r"^price: expected a number, got"):
        batch_of([{"price": cell}], [Column("price", Kind.NUMBER)])


@pytest.mark.parametrize("line", ["1 -5:1 2:1", "1 2:1 -5:1", "1 9223372036854775808:1 2:1",
                                  "1 1_0:1", "1 1:1_0", "1 +5:1", "1 1:2:3", "1 \u0661:1", "1 5",
                                  "1 :1"])  # fmt: skip
def test_every_index_of_svmlight_is_checked(tmp_path, line):
    with pytest.raises(TableError, match="expected index:value"):
        open_table(written(tmp_path, f"-1 1:1\n{line}\n", "rows.svm"))


def test_null_in_a_later_block_is_found_before_arrow_sees_it(tmp_path):
    text = '{"x": 1}\n' * (LATER // 9) + "null\n" * 400_000
    with pytest.raises(TableError, match=rf"line {LATER // 9 + 1}: expected an object, got 'null'"):
        read(written(tmp_path, text, "rows.jsonl"))


def test_depth_is_that_of_values_and_not_of_text():
    assert not too_deep(b"[" * DEEPEST + b"]" * DEEPEST)
    assert too_deep(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    assert not too_deep(b'{"a": "' + b"[" * 999 + b'\\"' + b"{" * 999 + b'"}')
    assert not too_deep(b"[" + b"{}," * 999 + b"{}]")


def test_lists_and_objects_count_alike():
    """Depth is what is open at a time, of either kind."""
    half = DEEPEST // 2
    assert not too_deep(b'[{"a":' * half + b"1" + b"}]" * half)
    assert too_deep(b'[{"a":' * half + b"[1]" + b"}]" * half)


def test_json_lines_may_be_indented_and_have_a_byte_order_mark(tmp_path):
    rows, _ = read(written(tmp_path, '\ufeff  {"x": 1}\n\t{"x": 2}\r\n\n{"x": 3}', "rows.jsonl"))
    assert rows["x"].to_pylist() == [1.0, 2.0, 3.0]
    with pytest.raises(TableError, match=r"line 3: expected an object, got ' 7'"):
        read(written(tmp_path, '{"x": 1}\n{"x": 2}\n 7\n', "rows.jsonl"))


def test_a_long_bad_cell_is_shown_in_part(tmp_path):
    _, table = read(written(tmp_path, column(lambda i: i / 8, "x" * 60)))
    assert table.bad.found == {"x": (1, "x" * 40, 18)}


def test_what_was_peeked_at_is_read_once():
    file = Replay(io.BytesIO(b"abcdefgh"), 3)
    assert (file.read(0), file.read(2), file.read(0), file.read(3)) == (b"", b"ab", b"", b"cde")
    assert (file.read(), file.read(), file.read(1)) == (b"fgh", b"", b"")
    assert Replay(io.BytesIO(b"abcdefgh"), 3).read() == b"abcdefgh"
    assert file.readable()


def test_a_vocabulary_keeps_counts_and_forgets_the_rarest_half():
    with pytest.raises(ValueError, match="a word is no text"):
        Vocabulary({7: 1})
    for count in (0, 2**62 + 1):
        with pytest.raises(ValueError, match="vocabulary"):
            Vocabulary({"free": count})
    words = Vocabulary({f"w{i}": 2 + (i < 100) for i in range(MOST)} | {"most": 2**62})
    assert len(words) == MOST + 1
    words.hear(["x" * 60, "x" * 61])
    assert len(words) == MOST // 2
    assert words.most(1) == ["most"]
    assert words["w7"] == 3
    assert "x" * 61 not in words


@pytest.mark.parametrize(
    "values",
    [
        pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2)]),
        pa.array([dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)], pa.timestamp("ms")),
        pa.array(["2026-01-01", "2026-01-02"]),
        pa.array([1_767_225_600, 1_767_312_000]),
    ],
    ids=lambda values: str(values.type),
)
def test_dates_times_and_numbers_are_seconds(values):
    assert moments(values).tolist() == [1_767_225_600.0, 1_767_312_000.0]


def test_an_encoder_says_how_wide_its_rows_are():
    """In the form with a column for each word, and in the dense one."""
    rows = [{"price": float(i), "text": f"so many words {i % 3}"} for i in range(40)]
    head = pa.RecordBatch.from_pylist(rows)
    for options, dense, width in (
        ({"words": 64}, 1, 65), ({"words": 64, "constant": True}, 1, 65),
        ({"kinds": {"text": Kind.IGNORED}}, 1, 1),
        ({"kinds": {"text": Kind.IGNORED}, "constant": True}, 2, 2),
    ):  # fmt: skip
        encoder = Encoder.fit(head, **{"kinds": {"text": Kind.TEXT}} | options)
        assert (encoder.dense_dimension, encoder.dimension) == (dense, width)
        assert encoder.encode(head).shape == (40, width)
    alone = Encoder.fit(head.drop_columns(["text"]))
    assert (alone.dimension, alone.pairs, alone.words) == (1, 0, 0)


def test_blank_lines_hide_no_deep_one(tmp_path):
    text = '{"x": 1}\n' + "\n \n" * 5_000 + '{"x": ' + "[" * 100 + "]" * 100 + "}\n"
    with pytest.raises(TableError, match="line 10002: nested deeper than 64"):
        read(written(tmp_path, text, "rows.jsonl"))


def test_one_deep_answer_costs_only_itself(tmp_path):
    encoder = Encoder.fit(table_of({"x": [1.0, 2.0]}).head)
    desk = TableLearner(lasec.Tracker(1, rate=1.0), encoder, classes=["a", "b"])
    for i in range(40):
        desk.ask([{"x": float(i)}])
    desk.save(tmp_path / "m.lasec")
    odd = [
        '{"ticket": ' + "[" * 900 + "]" * 900 + ', "label": "a"}',
        '{"ticket": 1' + "0" * 400 + ', "label": "a"}',
        '{"a": ' * 3_000 + "1" + "}" * 3_000,
    ]
    good = [json.dumps({"ticket": t, "label": "ab"[t % 2]}) for t in range(40)]
    lines = [*good[:20], *odd, *good[20:]]
    [result] = run_all([(["tell", "-m", "m.lasec"], "\n".join(lines))], tmp_path)
    said = [json.loads(text) for text in result.out.splitlines()]
    assert (result.code, len(said)) == (1, 43), result
    assert [entry["line"] for entry in said if "error" in entry] == [21, 22, 23]
    assert sum("learned" in entry for entry in said) == 40


def test_three_thousand_deep_lines_are_refused_at_once(tmp_path):
    deep = '{"k": ' + "[" * 3_000 + "]" * 3_000 + ', "x": 1}\n'
    new = ["ask", "-m", "m.lasec", "--classes", "a,b", "--keep", "k"]
    [result] = run_all([(new, '{"x": 1, "k": [[1]]}\n' + deep * 300 + '{"x": 2}\n')], tmp_path)
    said = [json.loads(text) for text in result.out.splitlines()]
    assert (result.code, len(said)) == (1, 302), result
    assert said[0]["k"] == [[1]]
    assert said[300]["error"] == f"nested deeper than {DEEPEST}"
    assert said[301]["ticket"] == 1
    assert result.seconds < 15


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_size_of_a_learner_is_known_before_it_is_made(name):
    learner = make(name, 37)
    assert codec.size(learner.rule, 37) == sum(part.nbytes for part in leaves(learner.state))


@pytest.mark.parametrize(
    ("name", "dimension"),
    [("tracker", 10**9), ("lasec-ss", 500_000), ("uniform", 10**9), ("bbq", 500_000)],
)
def test_a_learner_that_is_too_large_is_refused(name, dimension):
    with pytest.raises(ValueError, match=r"GB for [\d,]+00,000 features, and may .* perceptron-ss"):
        make(name, dimension)
    assert make("perceptron-ss", 500_000).dimension == 500_000


def test_long_rows_are_encoded_a_few_at_a_time(tmp_path, monkeypatch):
    path = written(tmp_path, "x,y\n" + "1,a\n2,b\n" * 300)
    sizes, said = [], []
    encode = Encoder.encode

    def noted(encoder, batch):
        sizes.append(batch.num_rows)
        return encode(encoder, batch)

    monkeypatch.setattr(Encoder, "encode", noted)
    for most in (source.BATCH, 8 * 2 * 100):  # two features
        monkeypatch.setattr(source, "BATCH", most)
        call = ["run", str(path), "-l", "y", "-a", "perceptron", "--json"]
        done = CliRunner().invoke(app, call)
        assert done.exit_code == 0, done.output
        said.append(json.loads(done.stdout)["accuracy"])
    assert sizes == [600, *[100] * 6]
    assert said[0] == said[1]


def test_the_nearest_of_many_names_is_found_quickly():
    names = [f"column_{i}" for i in range(100_000)]
    begin = time.process_time()
    assert "did you mean 'column_777'?" in str(nearest("colunm_777", names, "column"))
    nearest("zz", names, "column")
    nearest("z" * 100_000, ["y" * 100_000] * 50, "column")
    assert time.process_time() - begin < 3.0


def test_reports_are_written_whole_and_let_no_other_script_run(tmp_path):
    written(tmp_path, "x,y\n" + "1,a\n2,b\n" * 100)
    begin = ["run", "rows.csv", "-l", "y", "-o", "out"]
    compare = ["compare", "rows.csv", "-l", "y", "-a", "perceptron", "-o", "out"]
    first = run_all([([*begin, "--limit", "50"], ""), (compare, "")], tmp_path)
    assert [result.code for result in first] == [0, 0], first
    kept = {}
    for name in ("summary.json", "compare.json"):
        os.link(tmp_path / "out" / name, tmp_path / name)
        kept[name] = (tmp_path / name).read_bytes()
    run_all([([*begin, "--resume"], ""), ([*compare, "--limit", "50"], "")], tmp_path)
    for name, before in kept.items():
        assert (tmp_path / name).read_bytes() == before  # never written over in place
        assert (tmp_path / "out" / name).read_bytes() != before
        assert json.loads((tmp_path / "out" / name).read_text())["finished"]
    for name in ("report.html", "compare.html"):
        page = (tmp_path / "out" / name).read_text()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        digest = b64encode(sha256(script.encode()).digest()).decode()
        assert "default-src 'none'" in policy
        assert f"script-src 'sha256-{digest}'" in policy


def test_numbers_are_the_same_strictly_and_cell_by_cell(tmp_path):
    values = np.random.default_rng(1).normal(size=300) * 10.0 ** np.arange(-150, 150)
    text = "x,y\n" + "".join(f"{v!r},a\n" for v in values.tolist())
    strict, _ = read(written(tmp_path, text))
    loose, table = read(written(tmp_path, text + "bad,a\n"))
    assert table.bad.found == {"x": (1, "bad", 301)}
    assert loose["x"].to_pylist()[:-1] == strict["x"].to_pylist() == values.tolist()
