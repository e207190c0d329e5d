"""Files of every format become the same rows, and rows become numbers as promised."""

import gzip
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import lasec
from lasec.errors import StateError, TableError
from lasec.persistence import container
from lasec.registry import ALGORITHMS
from lasec.session.saved import read_learner
from lasec.tables import Encoder, Kind, TableLearner, open_table, table_of
from lasec.tables.cells import as_label
from lasec.tables.encoder import key_of
from lasec.tables.lines import told
from lasec.tables.lines import whole as whole_number
from lasec.tables.objects import DEEPEST
from lasec.tables.source import PEEK, format_of

RNG = np.random.default_rng(3)
N = 20_000
COLUMNS = {
    "price": np.round(RNG.normal(50.0, 9.0, N), 3),
    "count": RNG.integers(0, 1_000, N),
    "shop": RNG.choice(["north", "south", "west"], N).tolist(),
    "remark": [
        " ".join(words)
        for words in RNG.choice(["good", "bad", 'so "so"', "never again", "fine"], (N, 4)).tolist()
    ],
    "bought": RNG.choice(["no", "yes"], N).tolist(),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table = pa.table(COLUMNS)
    pa.csv.write_csv(table, folder / "rows.csv")
    pa.parquet.write_table(table, folder / "rows.parquet", row_group_size=3_000)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    (folder / "rows.jsonl").write_text(lines)
    (folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes()))
    semicolons = (folder / "rows.csv").read_text().replace(",", ";")
    (folder / "semicolons.csv").write_text(semicolons)
    return folder


def whole(table):
    return pa.Table.from_batches(list(table.batches()))


@pytest.mark.parametrize(
    "name", ["rows.csv", "rows.parquet", "rows.jsonl", "rows.csv.gz", "semicolons.csv"]
)
def test_every_format_gives_the_same_rows(files, name):
    rows = whole(open_table(files / name))
    assert rows.column_names == list(COLUMNS)
    assert rows.num_rows == N
    for column, expected in COLUMNS.items():
        found = rows[column].to_pylist()
        if isinstance(expected, list):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl"])
@pytest.mark.parametrize("skip", [0, 1, 8_192, 12_345, N])
def test_rows_can_be_skipped(files, name, skip):
    left = [
        row
        for batch in open_table(files / name).batches(skip)
        for row in batch["count"].to_pylist()
    ]
    np.testing.assert_array_equal(left, COLUMNS["count"][skip:])


def test_a_file_is_read_to_the_end_only_as_far_as_wanted(files):
    table = open_table(files / "rows.csv")
    with table:
        batches = table.batches()
        next(batches)
        assert (table.rows, table.expected) == (8_192, N)
        assert not table._file.closed
    assert table._file.closed


def test_the_number_of_rows_is_known_or_estimated(files, tmp_path):
    for name in ("rows.csv", "rows.parquet", "rows.jsonl", "rows.csv.gz"):
        with open_table(files / name) as table:
            assert table.expected == pytest.approx(N, rel=0.02), name
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i % 7) for i in range(10**6, 2 * 10**6))
    for name, data in (("long.csv", text), ("long.csv.gz", gzip.compress(text, 1))):
        (tmp_path / name).write_bytes(data)
        with open_table(tmp_path / name) as table:
            assert table.expected == pytest.approx(10**6, rel=0.1), name
            assert len(text) > 2 * PEEK


@pytest.mark.parametrize("packing", ["none", "gzip", "bz2", "zstd", "lz4"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "semicolons.csv"])
def test_format_and_compression_are_found_by_the_first_bytes(files, tmp_path, packing, name):
    (tmp_path / "rows.dat").write_bytes((files / name).read_bytes())
    if packing != "none":
        with pa.CompressedOutputStream(str(tmp_path / "rows.dat"), packing) as out:
            out.write((files / name).read_bytes())
    rows = whole(open_table(tmp_path / "rows.dat"))
    assert rows.column_names == list(COLUMNS)
    assert rows["shop"].to_pylist() == COLUMNS["shop"]


def test_parquet_and_svmlight_are_found_by_the_first_bytes(files, tmp_path):
    (tmp_path / "rows").write_bytes((files / "rows.parquet").read_bytes())
    assert whole(open_table(tmp_path / "rows")).num_rows == N
    (tmp_path / "sparse").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    assert open_and_close(tmp_path / "sparse").schema.names == ["label", "features"]


def test_line_ends_inside_quotes(tmp_path):
    file = tmp_path / "mails.csv"
    file.write_text('text,label\n"two\nlines",ham\nplain,spam\n' * 1)
    assert whole(open_table(file))["text"].to_pylist() == ["two\nlines", "plain"]


def test_what_is_missing_is_missing(tmp_path):
    file = tmp_path / "holes.csv"
    file.write_text("a,b\n1,x\n?,\nNA,z\n4,w\n")
    rows = whole(open_table(file))
    assert rows["a"].to_pylist() == [1.0, None, None, 4.0]
    assert rows["b"].to_pylist() == ["x", "", "z", "w"]
    heads = [open_and_close(file).select(["b"]), table_of({"b": ["x", None, "z", "w"]}).head]
    encoded = [Encoder.fit(head).encode(head) for head in heads]
    assert (encoded[0] != encoded[1]).nnz == 0


def test_a_number_that_turns_out_to_be_none_is_missing(tmp_path):
    file = tmp_path / "late.csv"
    file.write_text("a\n" + "1\n" * 3_000_000 + "oops\n")
    table = open_table(file)
    assert whole(table)["a"][-1].as_py() is None
    assert table.bad.found == {"a": (1, "oops", 3_000_001)}
    assert whole(open_table(file, texts=frozenset({"a"})))["a"][-1].as_py() == "oops"


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("none.csv", None, "no such file"),
        ("empty.csv", "", "empty.csv is empty"),
        ("blank.csv", " \n\n", "blank.csv is empty"),
        ("names.csv", "a,b\n", "names.csv has only a header, no rows"),
        ("rows.doc", "a\0\n1\n", "unknown format; lasec reads csv, parquet, jsonl, svmlight"),
        ("broken.jsonl", '{"a": 1}\n{"a": \n', "cannot be read as jsonl"),
        ("broken.parquet", "PAR1 nonsense", "cannot be read as parquet"),
        ("other.csv", "PAR1 nonsense", "other.csv is a Parquet file"),
        ("broken.svm", "+1 3\n", "expected index:value, got '3'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, contents, words):
    file = tmp_path / name
    if contents is not None:
        file.write_text(contents)
    with pytest.raises(TableError, match=words):
        open_table(file)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["0.0", "1.0", "1.0"], ["0", "1"]),
        (["True", "False", "True"], ["false", "true"]),
        (["01", "02", "02"], ["1", "2"]),
        (["+1", "-1", "-1"], ["-1", "1"]),
        (["None", "Some", "Some"], ["None", "Some"]),
        ([" ham", "spam ", "spam"], ["ham", "spam"]),
    ],
)
def test_labels_are_the_same_in_every_format(tmp_path, labels, classes):
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"1,{y}\n" for y in [*labels, ""]))
    pa.parquet.write_table(pa.table({"a": [1.0] * 4, "y": [*labels, None]}), tmp_path / "r.parquet")
    for name in ("rows.csv", "r.parquet"):
        table = open_table(tmp_path / name, texts=frozenset({"y"}))
        encoder = Encoder.fit(table.head, left_out=frozenset({"y"}))
        desk = TableLearner(lasec.Tracker(1), encoder, label="y", classes=classes)
        rows = desk.rows(next(table.batches()))
        assert rows.y.tolist() == [*map(as_label, labels), None]
        assert desk.classes == [as_label(name) for name in classes]
        table.__exit__()


def test_kinds_of_labels_in_parquet(tmp_path):
    columns = {"b": [True, False], "f": [1.0, float("nan")], "i": [3, 4]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "r.parquet")
    rows = whole(open_table(tmp_path / "r.parquet", texts=frozenset(columns)))
    found = {name: [as_label(v) for v in rows[name].to_pylist()] for name in columns}
    assert found == {"b": ["true", "false"], "f": ["1", None], "i": ["3", "4"]}


def test_json_lines_with_booleans_large_numbers_and_late_fields(tmp_path):
    file = tmp_path / "rows.jsonl"
    lines = [{"b": True, "n": 9007199254740993, "s": None}, {"b": False, "n": 1.5, "s": None}]
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"more": 3}]))
    rows = whole(open_table(file))
    assert rows["b"].to_pylist() == [1.0, 0.0, None]
    assert rows["n"].to_pylist() == [9007199254740992.0, 1.5, None]
    file = tmp_path / "rows.csv"
    file.write_text("id,y\n9007199254740993,a\n9007199254740995,b\n")
    assert whole(open_table(file)).num_rows == 2


def test_stray_quotes_and_repeated_names(tmp_path):
    file = tmp_path / "inch.csv"
    file.write_text("what,y\n" + '5" pipe,a\n' + "hose,b\n" * 400_000)
    assert whole(open_table(file)).num_rows == 400_001
    file.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(TableError, match="several columns are named 'a'"):
        open_table(file)


def test_a_quote_in_json_takes_no_time(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"s": "5\\" pipe", "y": 1}\n' + '{"s": "hose", "y": 0}\n' * 400_000)
    assert open_and_close(file).num_rows > 1_000


def open_and_close(file):
    with open_table(file) as table:
        return table.head


def test_what_is_too_large_to_be_a_number_is_missing(tmp_path):
    table = table_of({"a": [1.0, 1e300, 3.0, 5.0]})
    encoder = Encoder.fit(table.head)
    assert encoder.encode(table.head)[1, 0] == 0.0
    assert np.isfinite(encoder.spread).all()


def test_svmlight_with_few_and_with_many_features(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("+1 1:0.5 3:2\n-1 2:1 # remark\n\n+1\n")
    table = open_table(file)
    encoder = Encoder.fit(table.head, left_out=frozenset({"label"}))
    X = encoder.encode(next(table.batches()))
    np.testing.assert_array_equal(X, [[0, 0.5, 0, 2], [0, 0, 1, 0], [0, 0, 0, 0]])
    file.write_text("+1 1:0.5 40000:2\n")
    table = open_table(file)
    assert Encoder.fit(table.head, left_out=frozenset({"label"})).dimension == 2**31
    table.__exit__()


def test_the_last_line_of_svmlight_needs_no_end(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("+1 1:0.5\n-1 2:1")
    assert sum(batch.num_rows for batch in open_table(file).batches()) == 2


def test_a_name_with_two_endings_says_its_format(tmp_path):
    for name, kind in (("a.csv.gz", "csv"), ("A.JSONL.BZ2", "jsonl"), ("b.csv", "csv")):
        (tmp_path / name).touch()
        assert format_of(str(tmp_path / name)) == kind


def test_a_directory_is_refused_with_the_name_of_a_table_in_it(tmp_path):
    (tmp_path / "a.log").touch()
    (tmp_path / "b.csv").touch()
    with pytest.raises(TableError, match=r"give one file, such as .*b\.csv"):
        format_of(str(tmp_path))


def test_a_row_that_never_ends_is_refused_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("lasec.tables.source.LONGEST", 2 * PEEK)
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1," + "x" * 3 * PEEK + "\n2,y\n")
    with pytest.raises(TableError, match="a row is longer than"):
        open_table(file)


@pytest.mark.parametrize("more", [0, 1])
def test_objects_are_nested_as_deeply_as_the_limit_says(tmp_path, more):
    file, inner = tmp_path / "rows.jsonl", DEEPEST - 1 + more
    file.write_text(f'{{"a": 1, "b": {"[" * inner}{"]" * inner}}}\n{{"a": 2}}\n')
    if not more:
        assert open_and_close(file).num_rows == 2
        return
    with pytest.raises(TableError, match=f"nested deeper than {DEEPEST}"):
        open_table(file)


def test_rows_of_single_words_have_the_width_of_all_others():
    texts = [f"good bad ugly {at}" for at in range(80)]
    table = table_of({"price": [1.0, 3.0] * 40, "remark": texts})
    for ignored in (frozenset(), frozenset({"price"})):
        encoder = Encoder.fit(table.head, kinds={"remark": Kind.TEXT}, left_out=ignored)
        rows = encoder.rows_of([key_of("remark", "good")])
        assert rows.shape == (2, encoder.encode(table.head).shape[1])
        assert rows[:, [0]].nnz == 0
        assert rows.nnz == 1


def test_kinds_are_found():
    head = table_of(
        {
            "price": [1.5, 2.0] * 30,
            "user_id": [f"u{i}" for i in range(60)],
            "index": list(range(60)),
            "shop": ["a", "b", "c"] * 20,
            "text": ["the quick brown fox jumps"] * 60,
            "nothing": [None] * 60,
            "blank": [""] * 60,
            "when": pa.array(range(60), pa.timestamp("s")),
            "day": ["2026-01-01T10:00:00Z"] * 60,
            "flag": [True, False] * 30,
        }
    ).head
    kinds = {c.name: c.kind for c in Encoder.fit(head).columns}
    assert kinds == {
        "price": Kind.NUMBER, "user_id": Kind.IGNORED, "index": Kind.IGNORED,
        "shop": Kind.CATEGORY, "text": Kind.TEXT, "nothing": Kind.IGNORED, "blank": Kind.IGNORED,
        "when": Kind.IGNORED, "day": Kind.IGNORED, "flag": Kind.NUMBER,
    }  # fmt: skip


def test_a_number_that_counts_the_rows_is_none_to_learn_from():
    counted, other = range(1, 101), [*range(1, 100), 101]
    head = table_of({"n": counted, "m": other, "x": [1.5] * 100}).head
    assert [(c.kind, c.why) for c in Encoder.fit(head).columns] == [
        (Kind.IGNORED, "row number"), (Kind.NUMBER, ""), (Kind.NUMBER, ""),
    ]  # fmt: skip


def test_few_categories_are_one_hot_and_many_are_hashed():
    shops = [f"shop {i % 33}" for i in range(2_000)]
    table = table_of({"side": ["left", "right", None, "left"] * 500, "shop": shops})
    encoder = Encoder.fit(table.head)
    assert encoder.one_hot.categories == {"side": ("", "left", "right")}
    assert encoder.hashed == ("shop",)
    assert encoder.dimension == 3 + 2**18
    X = encoder.encode(table.head)
    np.testing.assert_array_equal(X[:3, :3].toarray(), [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(abs(X[:, 3:]).sum(axis=1), 1.0)
    assert encoder.one_hot.unseen == {}
    new = table_of({"side": ["above", None], "shop": ["shop 1"] * 2}).head
    found = encoder.encode(new)
    np.testing.assert_array_equal(found[:, :3].toarray(), [[0, 0, 0], [1, 0, 0]])
    column, sign = lasec.TextHasher().column(key_of("side", "above"))
    extra = found[[0]] - found[[1]]
    assert (extra[0, 3 + column], extra[:, 3:].nnz) == (sign, 1)
    assert encoder.one_hot.unseen == {"side": 1}


def test_a_new_category_of_a_dense_table_has_no_feature():
    encoder = Encoder.fit(table_of({"side": ["left", "right"] * 20}).head)
    new = encoder.encode(table_of({"side": ["above", "left", None]}).head)
    np.testing.assert_array_equal(new, [[0, 0], [1, 0], [0, 0]])
    assert encoder.one_hot.unseen == {"side": 2}


@pytest.mark.parametrize(("rows", "one_hot"), [(39, False), (40, True)])
def test_one_hot_needs_twenty_rows_for_each_category(rows, one_hot):
    head = table_of({"side": (["left", "right"] * 20)[:rows]}).head
    assert Encoder.fit(head).dimension == (2 if one_hot else 2**18)


def test_all_one_hot_columns_together_have_a_limit():
    columns = {f"c{j}": [f"{j} {i % 30}" for i in range(1_000)] for j in range(6)}
    encoder = Encoder.fit(table_of(columns).head)
    assert len(encoder.one_hot.categories) == 4
    assert encoder.dimension == 4 * 30 + 2**18


def one_hot_desk():
    encoder = Encoder.fit(table_of({"side": ["left", "right"] * 20, "x": [1.0, 2.0] * 20}).head)
    return TableLearner(lasec.Tracker(encoder.dimension), encoder, classes=["a", "b"])


def test_categories_are_saved():
    desk = one_hot_desk()
    again, _ = TableLearner.from_bytes(desk.to_bytes())
    rows = table_of({"side": ["right", "up"], "x": [1.0, 2.0]}).head
    np.testing.assert_array_equal(again.encoder.encode(rows), desk.encoder.encode(rows))


@pytest.mark.parametrize(
    "wrong",
    [{"side": ["left"]}, {"side": ["left", "left"]}, {"side": [1, 2]}, {"side": "lr"}, {"side": 3},
     {"x": ["left", "right"]}, {"none": ["left", "right"]}, ["side"], 7],
)  # fmt: skip
def test_damaged_categories_are_refused(wrong):
    header, arrays = container.unpack(one_hot_desk().to_bytes())
    if isinstance(wrong, dict):
        wrong = {"0": list(wrong), "1": list(wrong.values())}
    header["encoder"]["categories"] = wrong
    with pytest.raises(StateError):
        TableLearner.from_bytes(container.pack(header, arrays))


def test_numbers_are_standardized_by_the_rows_so_far_however_they_are_cut():
    table = table_of({"price": COLUMNS["price"], "count": COLUMNS["count"]})
    head = table.head
    rows = whole(table).combine_chunks().to_batches()[0]
    at_once = Encoder.fit(head).encode(rows)
    pieces = Encoder.fit(head)
    cut = np.vstack([pieces.encode(rows.slice(at, 777)) for at in range(0, N, 777)])
    np.testing.assert_array_equal(at_once, cut)
    for t in (1, 2, 50, N - 1):
        x = np.column_stack([COLUMNS["price"], COLUMNS["count"]])[: t + 1].astype(float)
        np.testing.assert_allclose(at_once[t], (x[-1] - x.mean(0)) / x.std(0), rtol=1e-9)


def test_missing_values_infinities_and_constants_do_no_harm():
    rows = {"a": [1.0, None, np.inf, 3.0], "b": [5.0, 5.0, 5.0, 5.0]}
    table = table_of(rows)
    X = Encoder.fit(table.head).encode(table.head)
    np.testing.assert_array_equal(X, [[0, 0], [0, 0], [0, 0], [1, 0]])


def test_columns_of_categories_never_change():
    table = table_of({"shop": ["north", "south", None]})
    X = Encoder.fit(table.head).encode(table.head)
    assert [(int(X[[i]].indices[0]), float(X[[i]].sum())) for i in range(3)] == [
        (224_061, -1.0), (38_364, 1.0), (147_937, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_can_be_made_and_cited(name):
    learner = lasec.make(name, 3, rate=0.3)
    assert lasec.cite(learner)
    again = read_learner(learner.to_bytes())
    assert (again.rule, again.query) == (learner.rule, learner.query)


@pytest.mark.parametrize("name", ["tracker", "uniform", "lasec-ss", "bbq"])
def test_algorithms_learn_and_are_saved(name, tmp_path):
    table = open_table_of_two_classes()
    encoder = Encoder.fit(table.head, left_out=frozenset({"y"}), constant=True)
    desk = TableLearner(lasec.make(name, encoder.dimension, rate=0.3), encoder, label="y")
    for batch in table.batches():
        rows = desk.rows(batch)
        records = desk.learner.run(rows.X, rows.y)
    assert records.accuracy > 0.8
    if ALGORITHMS[name].budgeted:
        assert 0.2 < records.rate < 0.45
    desk.save(tmp_path / "m.lasec")
    again = TableLearner.load(tmp_path / "m.lasec")
    assert again.to_bytes() == desk.to_bytes()
    assert type(again.learner) is type(desk.learner)


def open_table_of_two_classes():
    X, y = lasec.streams.stationary(2_000, dimension=3, seed=1)
    names = np.where(y > 0, "up", "down").tolist()
    return table_of({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": names}, frozenset({"y"}))


def desk_of(**options):
    encoder = Encoder.fit(table_of({"a": [1.0, 2.0]}).head)
    return TableLearner(lasec.Tracker(1), encoder, **options)


def test_classes_get_their_names_as_they_come():
    desk = desk_of()
    for label in ("b", "a", "b", "c"):
        desk.learn({"a": 1.0}, label)
    assert desk.classes == ["b", "a", "c"]
    with pytest.raises(TableError, match="'B' differs from 'b' only in spelling"):
        desk.learn({"a": 1.0}, "B")
    with pytest.raises(TableError, match="expected a label"):
        desk.learn({"a": 1.0}, "")
    one = desk_of(positive="2")
    assert [one.named(1), one.named(2), one.named("7")] == ["not 2", "2", "not 2"]
    assert one.classes == ["not 2", "2"]


def test_ask_and_tell_by_name_keep_a_meter():
    desk = desk_of(classes=["down", "up"])
    for _ in range(200):
        x = float(RNG.normal())
        decision = desk.ask([{"a": x}])[0]
        if decision.asked:
            desk.tell(decision.ticket, "up" if x > 0 else "down")
    assert desk.session.meter.rows == 200
    assert desk.session.meter.labels == desk.learner.told > 10
    assert desk.session.meter.accuracy.value > 0.8


def test_a_refused_row_changes_nothing():
    desk = desk_of(classes=["down", "up"])
    desk.ask([{"a": 1.0}])
    before = desk.to_bytes()
    with pytest.raises(TableError, match="a: expected a number, got 'x'"):
        desk.ask([{"a": 1.0}, {"a": "x"}])
    assert desk.to_bytes() == before


def test_foreign_and_broken_files_are_refused(tmp_path):
    lasec.LASEC(2).save(tmp_path / "plain.lasec")
    with pytest.raises(StateError, match="this is not a table, its kind is 'learner'"):
        TableLearner.load(tmp_path / "plain.lasec")
    data = desk_of().to_bytes()
    for cut in (10, len(data) // 2, len(data) - 1):
        with pytest.raises(StateError):
            TableLearner.from_bytes(data[:cut])
    with pytest.raises(StateError, match="this is not a learner, its kind is 'table'"):
        read_learner(data)


def test_importing_lasec_does_not_import_arrow():
    import subprocess

    code = "import sys, lasec; sys.exit('pyarrow' in sys.modules or 'typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_whole_number_of_more_than_64_bits_is_a_text():
    assert whole_number("1" * 19) == int("1" * 19)
    assert whole_number("1" * 20) is None


@pytest.mark.parametrize("options", [{}, {"remember": 1}])
def test_rows_that_were_not_queried_are_kept_only_where_that_is_wanted(options):
    desk = TableLearner(lasec.Session(lasec.Tracker(1), **options), desk_of().encoder)
    x = np.zeros(desk.encoder.dimension)
    decided = [desk.session.ask(x, id=f"row {at}") for at in range(300)]
    last = max(at for at, decision in enumerate(decided) if not decision.asked)
    assert desk.session.holds(f"row {last}") == bool(options)


def test_a_line_names_one_row():
    encoder = Encoder.fit(pa.RecordBatch.from_pylist([{"price": 1.0}, {"price": 3.0}]))
    learner = lasec.Perceptron(dimension=encoder.dimension)
    desk = TableLearner(learner, encoder, classes=["down", "up"], id="id")
    for name in (5, "5", 6, 0):  # of the tickets 0 to 3
        desk.ask([{"price": 1.0, "id": name}])
    assert told(desk, {"id": "5", "label": "up"})["ticket"] == 1
    assert "error" in told(desk, {"id": "5", "label": "up"})  # it is not the row 5
    assert "error" in told(desk, {"ticket": 0, "id": 0, "label": "up"})
    assert "error" in told(desk, {"id": "6", "label": "up"})
    assert "error" in told(desk, {"id": "06", "label": "up"}, as_text=True)
    assert told(desk, {"id": "6", "label": "up"}, as_text=True)["ticket"] == 2
    assert told(desk, {"ticket": 0, "id": "5", "label": "up"}, as_text=True)["ticket"] == 0
    assert told(desk, {"id": 0, "label": "up"})["ticket"] == 3
