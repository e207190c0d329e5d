"""A job in Spark under attack: keys with NULs, chosen ids, bad lines, names that look alike."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import lasec
import lasec.spark
from lasec.spark import EVENTS, LABELS, Job, directory, parsed, read, start
from lasec.spark.index import seed_of
from lasec.spark.questions import ticket_of
from lasec.spark.run import SEED_FILE
from spark.box import Box, event
from spark.twin import coin_of

pytestmark = pytest.mark.random_seed

EVIL, ROWS, CHOSEN, RATE = "victim\0evil", 40, 800, 0.2
ARROW = "spark.sql.execution.arrow.maxRecordsPerBatch"
BAD = [
    b'{"key": "k", "id": "deep", "time": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    b'{"key": "k", "id": "digits", "time": ' + b"9" * 5_000 + b', "features": [1, 2]}',
    b'{"key": "k", "id": "huge", "time": 1e999, "features": [1, 2]}',
    b'{"key": "k", "id": "twice", "id": "2", "time": 1, "features": [1, 2, 3]}',
    b'{"key": "' + b"k" * 300 + b'", "id": "long key", "time": 1, "features": [1, 2]}',
    b'{"key": "k", "id": "' + b"i" * 2_000 + b'", "time": 1, "features": [1, 2]}',
    b'{"key": ["k"], "id": {"a": 1}, "time": true, "features": {"a": 1}}',
    b"null", b"7", b"\0", b'{"key": "\\ud800", "id": "\\u0000", "time": 1}',
]  # fmt: skip


class Attacked(NamedTuple):
    """The job, where it is, and the ids that were chosen with their hashes."""

    job: Job
    home: Path
    ids: dict[str, int]

    @property
    def checkpoint(self) -> str:
        return str(self.home / "checkpoint")


def lines(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    data = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(data) + b"\n")


def events(batch: int) -> list[Any]:
    X = np.random.default_rng(batch).standard_normal((ROWS, 2)).tolist()
    return [
        {"key": key, "id": f"{batch}-{i}", "time": 10.0 * batch, "features": x}
        for i, x in enumerate(X)
        for key in ("victim", EVIL)
    ]


def chosen(spark: Any) -> dict[str, int]:
    """Ids whose draw under seed 0 is so large that they are never asked about."""
    table = spark.range(4 * CHOSEN).selectExpr("cast(id as string) as id")
    found = table.selectExpr("id", "xxhash64(id) as number").collect()
    seed = seed_of(0, "attacker")
    large = [row for row in found if coin_of(seed, row.number % 2**64) > 0.6]
    return {row.id: row.number for row in large[:CHOSEN]}


def run(spark: Any, job: Job, home: Path) -> None:
    sources = [directory(spark, str(home / name), schema, kind="json")
               for name, schema in (("events", EVENTS), ("labels", LABELS))]  # fmt: skip
    places = {"out": str(home / "out"), "checkpoint": str(home / "checkpoint")}
    most = spark.conf.get(ARROW)
    spark.conf.set(ARROW, "97")  # a key with most of the rows comes to Python in many pieces
    start(job, *sources, **places).awaitTermination()
    spark.conf.set(ARROW, most)


@pytest.fixture(scope="module")
def attacked(spark: Any, tmp_path_factory: Any) -> Attacked:
    """A job without a seed of its own: events, then labels for every event of one key, and more."""
    home, ids = tmp_path_factory.mktemp("attacked"), chosen(spark)
    query = lasec.queries.Uniform(rate=RATE)
    model = lasec.Learner(lasec.rules.SecondOrder(), query, dimension=2, seed=0)
    job = Job(model, shards=1)
    attack = [{"key": "attacker", "id": i, "time": 1.0, "features": [1.0, 2.0]} for i in ids]
    lines(home / "events/0.json", [*events(0), *attack, *BAD])
    lines(home / "labels/0.json", BAD)
    run(spark, job, home)
    told = [{"key": EVIL, "id": f"0-{i}", "time": 11.0, "y": -1} for i in range(ROWS)]
    tickets = ("victim%00evil/9", "%00/%00", "victim/0-0/1", "/", "victim%0", "%ff/%fe")
    impossible = [{"ticket": text, "time": 11.0, "y": 1} for text in tickets]
    lines(home / "events/1.json", events(1))
    lines(home / "labels/1.json", [*told, *impossible])
    run(spark, job, home)
    return Attacked(job, home, ids)


def test_a_key_with_a_nul_is_a_key_of_its_own(spark: Any, attacked: Attacked) -> None:
    out = str(attacked.home / "out")
    assert read(spark, out).where("key like 'victim%'").count() == 4 * ROWS
    asked = {row.id for row in read(spark, out, "questions").collect()
             if row.key == EVIL and row.id.startswith("0-")}  # fmt: skip
    receipts = [row for row in read(spark, out, "receipts").collect() if row.key == EVIL]
    learned = {row.id for row in receipts if row.outcome == "learned"}
    assert learned == asked != set()
    table = lasec.spark.models(spark, attacked.checkpoint, attacked.job).toPandas()
    table = table.set_index("key")
    assert table.loc["attacker", "rows"] == CHOSEN
    assert table.loc["victim", "told"] == 0
    assert table.loc[EVIL, "told"] == len(asked)
    assert (table["rows"].loc[["victim", EVIL]] == 2 * ROWS).all()


def test_bad_lines_are_dead_letters(spark: Any, attacked: Attacked) -> None:
    dead = read(spark, str(attacked.home / "out"), "dead").collect()
    assert len([row for row in dead if row.batch == 0]) == 2 * len(BAD)
    reasons = {row.outcome for row in dead}
    assert {"key: longer than 256 bytes", "id: longer than 1024 bytes"} <= reasons
    assert len([row for row in dead if row.batch == 1]) == 3  # tickets that name nothing


def test_ids_chosen_for_a_public_seed_are_asked_about_all_the_same(
    spark: Any, attacked: Attacked
) -> None:
    asked = read(spark, str(attacked.home / "out"), "questions").where("key = 'attacker'").count()
    assert asked == pytest.approx(RATE * CHOSEN, rel=0.35)  # five standard deviations
    public = Box(attacked.job.model, seed=0)
    rows = [event(i, 1.0, key="attacker") | {"number": n} for i, n in attacked.ids.items()]
    plain = [event(f"plain {i}", 1.0, key="attacker") for i in range(CHOSEN)]
    assert (public(*rows).kind == "question").sum() == 0
    assert (public(*plain).kind == "question").sum() == pytest.approx(RATE * CHOSEN, rel=0.35)


def test_the_seed_is_kept_with_the_checkpoint(
    spark: Any, attacked: Attacked, tmp_path: Path
) -> None:
    place = Path(attacked.checkpoint)
    seed = int((place / SEED_FILE).read_text())
    assert 2**20 < seed < 2**64
    for path in place.glob(f"*{SEED_FILE}*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert len(list(place.glob(f"*{SEED_FILE}*"))) <= 2  # it, and Hadoop's checksum of it
    learner = lasec.spark.export(spark, attacked.checkpoint, attacked.job, EVIL, tmp_path / "one")
    assert learner.seed == seed_of(seed, EVIL)
    known = Job(attacked.job.model, shards=1, seed=seed)
    assert lasec.spark.models(spark, attacked.checkpoint, known).count() == 3
    other = Job(attacked.job.model, shards=1, seed=seed ^ 1)
    with pytest.raises(ValueError, match="was started with another one; leave the seed out"):
        run(spark, other, attacked.home)
    with pytest.raises(Exception, match="it belongs to another job") as refused:
        lasec.spark.models(spark, attacked.checkpoint, other).collect()
    assert str(seed) not in str(refused.value)
    with pytest.raises(ValueError, match="seed: a table needs one"):
        attacked.job.stream(spark.createDataFrame([], EVENTS))


# Names that look alike, or like the ticket of another row. Of every two, one gets a label.
NAMES = [
    "1", "01", " 1", "1 ", "1.0", "1/2", "%2F", "a/b", "a%2Fb", "", "/", "north%2F1/mail+7", "A",
    "a", "a b", "a+b", "a%20b", "\u00e9", "e\u0301", "\0", "\0\0", "\n", "x\0y", "x", "?", "\ufffd",
    "\ufffd\ufffd", "k/1", "~*", "%", "%25", "null", "\u202e1", "i" * 1_024,
]  # fmt: skip
WHOSE = ["k", "k/1", "north/1", "north%2F1", "", "\ufffd", "K"]
ODD = [b"\xff", b"\xfe", b"\xff\xfe", b"a\x80", b"\xed\xa0\x80", b"i" * 1_025, b"i" * 2**20, None]
WRONG = [
    "k/%ff", "%ff/%fe", "k/%EF%BF%BD%FF", "%C0%80/1", "k/%ed%a0%80", "k", "1", "k/1/1", "/k/1", "",
    "k/%", "k/%zz", "k/" + "i" * 2**20, None,
]  # fmt: skip


@pytest.fixture(scope="module")
def alike(spark: Any, tmp_path_factory: Any) -> tuple[str, dict[tuple[str, str], int]]:
    """A job that asks about every row: what it told, and which labels it got for which rows."""
    home, rows = tmp_path_factory.mktemp("alike"), [(key, name) for key in WHOSE for name in NAMES]
    given = {row: 1 - i // 2 % 2 * 2 for i, row in enumerate(rows) if i % 2}
    events = [(key, name.encode(), 1.0, [1.0, 2.0]) for key, name in rows]
    events += [("k", name, 1.0, [1.0, 2.0]) for name in ODD]
    labels: list[Any] = [
        (None, None, ticket_of(*row), 2.0, y) if i % 2 else (row[0], row[1].encode(), None, 2.0, y)
        for i, (row, y) in enumerate(given.items())
    ]
    labels += [("k", name, None, 2.0, 1) for name in ODD]
    labels += [(None, None, ticket, 2.0, 1) for ticket in WRONG]
    kinds = {"events": "key string, id binary, time double, features array<double>",
             "labels": "key string, id binary, ticket string, time double, y int"}  # fmt: skip
    sources = []
    for what, kind in kinds.items():
        (home / what).mkdir()
        sources.append(directory(spark, str(home / what), kind))
    model = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e6)
    places = {"out": str(home / "out"), "checkpoint": str(home / "state")}
    half = len(labels) // 2  # these come with their events, the others a batch later
    batches = [("events", events), ("labels", labels[:half])], [("labels", labels[half:])]
    for number, batch in enumerate(batches):
        for what, some in batch:
            table = pd.DataFrame(
                some, columns=[part.split()[0] for part in kinds[what].split(", ")]
            )
            kind = {"y": np.int32} if what == "labels" else {}
            table.astype(kind).to_parquet(home / what / f"{number}.parquet")
        start(Job(model, shards=1, patience=0.0), *sources, **places).awaitTermination()
    return places["out"], given


def test_a_label_reaches_its_own_row_only(spark: Any, alike: Any) -> None:
    out, given = alike
    asked = [(row.key, row.id) for row in read(spark, out, "questions").collect()]
    assert len(asked) == len(set(asked)) == len(WHOSE) * len(NAMES)
    tickets = {row.ticket for row in read(spark, out, "questions").collect()}
    assert tickets == {ticket_of(*row) for row in asked}
    assert len(tickets) == len(asked)
    receipts = read(spark, out, "receipts").collect()
    assert {row.outcome for row in receipts} == {"learned"}
    assert {(row.key, row.id): row.y for row in receipts} == given
    assert len(receipts) == len(given)


def test_names_that_are_no_text_are_dead_letters(spark: Any, alike: Any) -> None:
    dead = [(row.outcome, row.detail) for row in read(spark, alike[0], "dead").collect()]
    assert len(dead) == 2 * len(ODD) + len(WRONG)
    assert dead.count(("the row could not be read", "id: not UTF-8")) == 2 * 5
    assert {outcome for outcome, _ in dead} == {
        "the row could not be read", "id: longer than 1024 bytes", "id is missing",
        "key is missing",
    }  # fmt: skip


def test_messages_that_are_not_utf_8_are_bad(spark: Any) -> None:
    values = [b'{"key": "k", "id": "%s"}' % name for name in (b"\xff", b"\xfe", b"\xef\xbf\xbd")]
    messages = spark.createDataFrame([(value,) for value in [*values, None]], "value binary")
    found = [(row.id, row._corrupt_record) for row in parsed(messages, EVENTS).collect()]
    bad = (None, 'not UTF-8: {"key": "k", "id": "\ufffd"}')
    assert found == [bad, bad, ("\ufffd", None), (None, None)]


@pytest.mark.parametrize("kind", ["struct", "array", "map"])
def test_names_of_many_parts_are_refused(spark: Any, kind: str) -> None:
    """As text, {a, b, c} is both ("a, b", "c") and ("a", "b, c")."""
    job = Job(lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1.0), seed=0)
    events = "1.0d as time", "array(1.0d, 2.0d) as features"
    for name, other in (("key", "id"), ("id", "key")):
        table = spark.range(1).selectExpr(f"{kind}('a', 'b') as {name}", f"'b' as {other}", *events)
        with pytest.raises(ValueError, match=f"events: {name} is of the type {kind}"):
            job.stream(table)
