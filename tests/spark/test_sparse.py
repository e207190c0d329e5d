"""Jobs of texts and other sparse rows: each key a learner of its own, in blocks that grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import lasec
import lasec.spark as ls
from lasec.nested import leaves
from lasec.spark import pages
from lasec.spark.index import seed_of
from spark.box import DAY, NOW, Box, dead, event, label, number, outcomes
from spark.twin import coin_of

ROWS = 80
HASHER = lasec.TextHasher()
HAM, SPAM = ["lunch", "noon", "report", "see", "friday"], ["win", "free", "prize", "cash", "now"]


def model() -> lasec.Tracker:
    rule = lasec.rules.SparseTracking()
    return lasec.Tracker(HASHER.columns, rate=0.5, classes=["ham", "spam"], rule=rule, seed=0)


def small() -> lasec.Learner:
    """A model that asks for every label."""
    rule = lasec.rules.SparseTracking()
    return lasec.Learner(rule, dimension=HASHER.columns, learn_from="labels", seed=0)


def mails(rows: int = ROWS, seed: int = 0) -> tuple[list[str], list[str]]:
    """Mails, each with two words that no other has, and what they are."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["ham", "spam"], size=rows)
    said = [rng.choice(HAM if kind == "ham" else SPAM, 4) for kind in kinds]
    own = [f"only{seed}x{i} rare{seed}x{i}" for i in range(rows)]
    return [" ".join([*words, more]) for words, more in zip(said, own, strict=True)], kinds.tolist()


def bytes_of(learner: lasec.Learner) -> list[bytes]:
    return [array.tobytes() for array in leaves(learner.state)]


@pytest.mark.parametrize("pairs", [False, True], ids=["text", "indices"])
@pytest.mark.parametrize("together", [True, False], ids=["with its label", "label later"])
def test_a_key_is_a_learner(together: bool, pairs: bool) -> None:
    box, alone = Box(model()), model()
    alone.seed = seed_of(0, "k")
    texts, y = mails()
    for i, text in enumerate(texts):
        x = HASHER.row(text)
        cell: Any = {"indices": x.indices[::-1], "values": x.data[::-1]} if pairs else text
        asks, tells = event(f"e{i}", NOW + i, cell), label(f"e{i}", NOW + i, y[i])
        told = box(asks, tells, now=NOW + i) if together else box(asks, now=NOW + i)
        said, decision = told.iloc[0], alone.ask(x, draw=coin_of(alone.seed, number(f"e{i}")))
        assert (said.label, said.margin) == (decision.label, decision.margin)
        assert said.propensity == decision.propensity
        assert (said.kind == "question") == decision.asked
        if decision.asked:
            told = told if together else box(tells, now=NOW + i)
            alone.tell(decision.ticket, y[i])
            assert outcomes(told) == ["learned"]
    mine = box.shard.state.take(["k"])[0]
    assert bytes_of(mine) == bytes_of(alone)
    assert (mine.rows, mine.asked, mine.told) == (alone.rows, alone.asked, alone.told)


@pytest.mark.parametrize("most", [500, 4_000, 2**28])
def test_a_batch_of_many_keys_is_its_learners(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the models do not fit into memory together, or one of them is too large alone."""
    monkeypatch.setattr("lasec.spark.shard.FLEET_BYTES", most)
    box, alone = Box(small()), {key: small() for key in "abc"}
    for round_ in range(3):
        texts, y = mails(30, seed=round_)
        batch = []
        for i, text in enumerate(texts):
            name, key, time = f"{round_}-{i}", "abc"[i % 3], NOW + round_ + i / 100
            sign = 1 if y[i] == "spam" else -1
            batch += [event(name, time, text, key), label(name, time, sign, key)]
            alone[key].run(HASHER.row(text), [sign])
        box(*batch, now=NOW + round_)
    assert box.shard.state.sizes(list("abc")).min() > box.job.config.size
    for key, learner in zip("abc", box.shard.state.take(list("abc")), strict=True):
        assert bytes_of(learner) == bytes_of(alone[key])


@pytest.mark.parametrize(("cell", "reason"), [
    ([1.0, 2.0], "features: expected 262144 numbers, got 2"),
    (b"12345678", "features: expected 2097152 or 1048576 bytes, got 8"),
    (None, "features are missing"),
    ({"indices": [1, 2], "values": [1.0]}, "features: 2 indices for 1 values"),
    ({"indices": [2**18], "values": [1.0]}, "features: an index is outside 0 to 262143"),
    ({"indices": [0.5], "values": [1.0]}, "features: an index is not a whole number"),
    ({"indices": [1], "values": [np.nan]}, "features: NaN, infinite or beyond all use"),
    ({"indices": [1], "values": [1e300]}, "features: NaN, infinite or beyond all use"),
])  # fmt: skip
def test_what_is_no_sparse_row_is_a_dead_letter(cell: Any, reason: str) -> None:
    box = Box(small())
    told = box(event("a", NOW, cell), event("b", NOW, "a text"), event("c", NOW, ""))
    assert dead(told) == [reason]
    assert len(told[told.kind == "question"]) == 2


def test_rows_of_any_form_are_the_same_rows() -> None:
    rule = lasec.rules.SparseTracking()
    x = np.array([0.0, 2.0, 0.0, -1.0])
    forms = (x.tolist(), x.tobytes(), {"indices": [3, 1, 1], "values": [-1.0, 1.5, 0.5]})
    learned = []
    for cell in forms:
        box = Box(lasec.Learner(rule, dimension=4, learn_from="labels", seed=0))
        assert outcomes(box(event("a", NOW, cell), label("a", NOW, 1))) == ["learned"]
        learned.append(bytes_of(box.shard.state.take(["k"])[0]))
    assert learned[0] == learned[1] == learned[2]


def test_a_key_begins_with_a_model_that_has_learned_elsewhere() -> None:
    learned = small()
    texts, y = mails(30)
    learned.run(HASHER.rows(texts), [1 if kind == "spam" else -1 for kind in y])
    box = Box(small())
    state = box.shard.state
    state.put({"warm": learned, "new": small()})
    state.write()
    warm, new = box.shard.state.take(["warm", "new"])
    assert bytes_of(warm) == bytes_of(learned)
    assert bytes_of(new) == bytes_of(small())
    assert warm.rows == 30
    with pytest.raises(ValueError, match="warm: the model of 'other' does not fit"):
        box.shard.state.put({"other": lasec.Learner(small().rule, dimension=4)})


def test_of_a_model_only_the_blocks_that_changed_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "BLOCK_BYTES", 1_024)
    box = Box(small())
    texts, _ = mails(300)
    for i, text in enumerate(texts):
        box(event(f"e{i}", NOW, text), label(f"e{i}", NOW, 1 if i % 2 else -1))
    blocks = {name for part, name in box.store if part == "block"}
    written: list[str] = []
    put = type(box.store).put

    def noted(self: Any, part: str, name: str, value: bytes) -> None:
        written.append(f"{part} {name}")
        put(self, part, name, value)

    monkeypatch.setattr(type(box.store), "put", noted)
    box(event("x", NOW, texts[-1]), label("x", NOW, 1))
    changed = [name for name in written if name.startswith("block")]
    assert 0 < len(changed) < len(blocks) / 2


def test_a_block_that_is_not_what_was_written_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "BLOCK_BYTES", 1_024)
    for spoil in (lambda data: b"", lambda data: data[:-1] + b"\1", None):
        box = Box(small())
        box(event("a", NOW, "free prize"), label("a", NOW, -1))
        for place in [place for place in box.store if place[0] == "block"]:
            if spoil is None:
                del box.store[place]
            else:
                box.store[place] = spoil(box.store[place])
        with pytest.raises(lasec.StateError, match=r"corrupted: block 0/0 of shard 0"):
            box(event("b", NOW, "free prize"))


def test_a_key_that_is_forgotten_leaves_its_place_to_a_smaller_one() -> None:
    box = Box(small(), forget_after=100 * DAY)
    texts, _ = mails(60)
    for i, text in enumerate(texts):
        box(event(f"e{i}", NOW, text, "old"), label(f"e{i}", NOW, 1 if i % 2 else -1, "old"))
    assert [name for part, name in box.store if part == "block"]
    for day in range(1, 200):
        box(event(f"d{day}", NOW + day * DAY, "hello", "new"), now=NOW + day * DAY)
    assert "old" not in box.shard.index.row_of
    assert len(box.store["page", "0"]) == 24 < len(box.store["page", "1"])  # it counts questions
    box(event("n", NOW + 200 * DAY, "hello", "late"), label("n", NOW + 200 * DAY, -1, "late"))
    assert len(box.store["page", "0"]) > 24  # all of it, as it is shorter than a block
    assert not [name for part, name in box.store if part == "block"]
    assert box.shard.state.take(["late"])[0].predict(HASHER.rows(["hello"])).tolist() == [-1]


def test_a_job_of_texts_on_spark(spark: Any, tmp_path: Path) -> None:
    """Texts in, labels a batch later, a model out that is a learner's, and scores of texts."""
    texts, y = mails()
    broken = tmp_path / "events" / "2.parquet"  # a text that is not UTF-8
    names, half = [f"e{i}" for i in range(ROWS)], ROWS // 2
    times = np.arange(ROWS) + NOW
    events = pd.DataFrame({"key": "k", "id": names, "time": times, "features": texts})
    labels = pd.DataFrame({"key": "k", "id": names, "time": times, "y": y})
    for what, table in (("events", events), ("labels", labels)):
        (tmp_path / what).mkdir()
        for part in range(2):
            rows = table[part * half : (part + 1) * half]
            rows.to_parquet(tmp_path / what / f"{part}.parquet")
    bad = {"key": ["other"], "id": ["bad"], "time": [NOW], "features": [b"caf\xe9 prize"]}
    written = pa.table(bad).cast(pa.schema([("key", "string"), ("id", "string"),
        ("time", "double"), ("features", "binary")]))  # fmt: skip
    text = written["features"].combine_chunks().view(pa.string())
    pyarrow.parquet.write_table(written.set_column(3, "features", text), broken)
    kinds = {"events": "features string", "labels": "y string"}
    sources = [
        ls.directory(
            spark, str(tmp_path / what), f"key string, id string, time double, {kind}", per_batch=1
        )
        for what, kind in kinds.items()
    ]
    job = ls.Job(model(), shards=1, seed=3)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    ls.start(job, *sources, out=out, checkpoint=checkpoint).awaitTermination()
    hashes = spark.createDataFrame(events[["id"]]).selectExpr("xxhash64(id) as n")
    numbers = hashes.toPandas().n.to_numpy().view(np.uint64).tolist()
    alone = model()
    alone.seed = seed_of(3, "k")
    said = ls.read(spark, out).toPandas().set_index("id")
    for i, name in enumerate(names):
        decision = alone.ask(HASHER.row(texts[i]), draw=coin_of(alone.seed, numbers[i]))
        assert said.label[name] == decision.label
        assert said.propensity[name] == pytest.approx(decision.propensity, abs=1e-12)
        if decision.asked:
            alone.tell(decision.ticket, y[i])
    learner = ls.export(spark, checkpoint, job, "k", tmp_path / "k.lasec")
    assert bytes_of(learner) == bytes_of(alone)
    assert said.label["bad"] in ("ham", "spam")
    table = spark.createDataFrame(events[["id", "features"]])
    scored = table.select("id", ls.scorer(learner)("features", "id").alias("s"))
    found = scored.select("id", "s.label", "s.propensity").toPandas().set_index("id")
    seen = alone.preview(HASHER.rows(texts))
    assert found.label[names].tolist() == seen.label.tolist()
    np.testing.assert_allclose(found.propensity[names], seen.propensity, rtol=1e-12)
