"""Messages that mean harm: each costs itself at most, and none stops a job or mixes two keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
from lasec.spark.questions import OPEN, Asked, ticket_of
from lasec.spark.rows import ID_BYTES, KEY_BYTES
from spark.box import NOW, Box, Row, dead, event, label, outcomes

EVIL = "victim\0evil"
KEYS: list[Any] = [
    "", "\0", "\0\0", "victim", "victim\0", EVIL, "victim\0evil\0", " victim", "victim/evil",
    "victim%00", "a+b", "a b", "\ud800", "\udfff\ud800", "\ufffd", "\u202evictim", "ﬁ", "fi",
    "é", "e\u0301", "\N{SNOWMAN}" * 85, "\N{SNOWMAN}" * 86, "k" * KEY_BYTES, "k" * (KEY_BYTES + 1),
    "k" * 10**6, None, np.nan, 7, b"victim", True, "None", "nan", "NaN", "-1", "\n",
]  # fmt: skip
IDS: list[Any] = [*KEYS, "i" * ID_BYTES, "i" * (ID_BYTES + 1), *(str(i) for i in range(40))]
TIMES = [NOW, NOW + 1, NOW - 1e6, NOW + 1e9, 0.0, -0.0, 1e15, -1e15, 1.1e15, 1e300, np.inf, -np.inf,
         np.nan, 5e-324]  # fmt: skip
LABELS = [1.0, -1.0, 0.0, 2.0, 0.5, np.nan, np.inf, -np.inf, 1e300, -0.0]
FEATURES: list[Any] = [
    None, [], [1.0], [1.0, 2.0, 3.0], [np.nan, 1.0], [np.inf, 1.0], [1e300, 1.0], [1e18, -1e18],
    [5e-324, 0.0], [None, 1.0], ["1", "2"], ["one", "two"], [[1.0, 2.0]], [[1.0], [2.0]], "1, 2",
    "x" * 10**5, b"", b"\0" * 16, b"\xff" * 16, b"\0" * 8, b"\0" * 15, 7, 1.5, True, {}, {"a": 1},
    {"indices": [0], "values": [1.0]}, {"indices": [2], "values": [1.0]},
    {"indices": [], "values": []}, {"indices": [0, 0], "values": [1e18, 1e18]},
    {"indices": None, "values": None},
    {"indices": ["a"], "values": [1.0]}, {"indices": [10**30], "values": [1.0]}, (1 + 2j, 0j),
    np.array([1.0, 2.0]), np.array([[1.0, 2.0]]), np.array([1, 2]), np.array(["a", "b"]),
    np.array([None, 1.0], object), {"indices": {}, "values": {}}, object(),
]  # fmt: skip


def pick(rng: np.random.Generator, cells: list[Any], usual: Any, share: float = 0.5) -> Any:
    return cells[rng.integers(len(cells))] if rng.random() < share else usual


def hostile(rng: np.random.Generator, count: int) -> list[Row]:
    """Messages with anything in them."""
    rows = []
    for _ in range(count):
        key, name = pick(rng, KEYS, "victim"), pick(rng, IDS, str(rng.integers(30)), 0.7)
        time = pick(rng, TIMES, NOW + float(rng.integers(100)), 0.3)
        if rng.random() < 0.5:
            x = pick(rng, FEATURES, rng.standard_normal(2).tolist())
            rows.append(event(name, time, x, key))
        else:
            rows.append(label(name, time, pick(rng, LABELS, 1.0, 0.3), key))
        if rng.random() < 0.02:
            rows[-1]["raw"] = "\0{\ud800"
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_any_message_comes_to_one_end(seed: int) -> None:
    rng, told, rows = np.random.default_rng(seed), [], list[Row]()
    query = lasec.queries.Uniform(rate=0.5)
    model = lasec.Learner(lasec.rules.SecondOrder(), query, dimension=2, seed=0)
    box = Box(model, patience=50.0, max_age=400.0, max_keys=24)
    for batch in range(60):
        rows += (made := hostile(rng, 60))
        told.append(box(*made, now=NOW + 10.0 * batch))
        for name in ("key", "id", "ticket", "outcome", "detail"):
            "".join(filter(None, told[-1][name])).encode()  # as Arrow does
    table = pd.concat(told)
    events = sum(row["kind"] == 0 for row in rows)
    kinds = table.kind.value_counts()
    ends = (table.kind == "receipt") & (table.outcome != "expired")
    assert kinds["prediction"] + kinds["question"] + kinds["dead"] + ends.sum() + box.head.held == (
        len(rows)
    )
    assert kinds["prediction"] + kinds["question"] < events
    assert {"learned", "again", "unasked", "unknown", "late"} <= set(table.outcome)
    reasons = set(table[table.kind == "dead"].outcome)
    assert {
        f"key: longer than {KEY_BYTES} bytes", "key: not text", "key is missing",
        f"id: longer than {ID_BYTES} bytes", "id: not text", "id is missing",
        "y: expected -1 or +1", "time is missing", "time is beyond all use",
        "the row could not be read", "key: the shard has 24 keys and takes no new one",
    } <= reasons  # fmt: skip
    assert max(map(len, reasons)) <= 200
    assert len(box.shard.state.index.keys) == 24


def test_keys_see_nothing_of_each_other() -> None:
    """Each key among all others does what it does alone, bit for bit."""
    rng = np.random.default_rng(1)
    names = [key for key in KEYS if isinstance(key, str) and len(key) < 99 and key.isprintable()]
    names += ["\0", "\0\0", "victim\0", EVIL]
    rows = [
        row | {"key": key, "id": f"{batch}-{i}"}
        for batch in range(5)
        for key in names
        for i, x in enumerate(rng.standard_normal((3, 2)).tolist())
        for row in (event("", NOW + batch, x), label("", NOW + batch, rng.choice([-1.0, 1.0])))
    ]
    rows = [row | {"number": hash(row["id"]) % 2**62} for row in rows]
    model = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1.0, seed=0)

    def served(some: list[Row]) -> pd.DataFrame:
        box = Box(model)
        told = [box(*(r for r in some if r["id"][0] == str(b))) for b in range(5)]
        return pd.concat(told)

    together = served(rows)
    for key in names:
        alone = served([row for row in rows if row["key"] == key])
        ours, its = (t[[k == key for k in t.key]] for t in (together, alone))
        pd.testing.assert_frame_equal(
            ours.sort_values(["kind", "id"], ignore_index=True),
            its.sort_values(["kind", "id"], ignore_index=True),
            check_exact=True,
        )
        assert len(its) == 30


def test_a_key_with_a_nul_teaches_no_other_key() -> None:
    box = Box()
    rng = np.random.default_rng(0)
    for batch in range(6):
        events = [event(f"{batch}-{i}", NOW + batch, rng.standard_normal(2).tolist(), key)
                  for i in range(8) for key in ("victim", EVIL)]  # fmt: skip
        told = [label(f"{batch - 1}-{i}", NOW + batch, -1.0, EVIL) for i in range(8) if batch]
        assert set(outcomes(box(*events, *told))) <= {"learned"}
    victim, evil = box.shard.state.take(["victim", EVIL])
    assert (victim.rows, victim.told, victim.state.weights.any()) == (48, 0, False)
    assert (evil.rows, evil.told) == (48, 40)


@pytest.mark.parametrize(("round_", "x"), [(1, (1.0, 2.0)), (-1, (1.0, 2.0)), (0, (1.0,))])
def test_a_question_that_its_model_cannot_have_asked(round_: int, x: Any) -> None:
    """The label gets a receipt."""
    box = Box()
    box(event("a"))
    question = Asked(round_, 1, 0.2, 1.0, 0.5, NOW, np.array(x)).to_bytes()
    box.store.put("question", ticket_of("k", "a"), question)
    assert outcomes(box(label("a"), label("b"))) == ["refused"]
    assert outcomes(box(label("a"), event("c"))) == ["again"]
    assert box.shard.state.index.counts[0, 4] == 1  # the question about c


def test_a_question_of_a_key_that_the_shard_does_not_know() -> None:
    box = Box(max_age=100.0)
    box(event("a"))
    shard = box.shard
    question = Asked(0, 1, 0.2, 1.0, 0.5, NOW, np.zeros(2))
    for name in "ab":
        shard.matcher.questions.open(ticket_of(EVIL, name), question)
    shard.matcher.questions.queue([ticket_of(EVIL, name) for name in "ab"], NOW)
    shard.state.write()
    assert outcomes(box(label("a", key=EVIL))) == ["refused"]
    told = box(event("c", NOW + 200), now=NOW + 200)
    assert outcomes(told) == ["expired", "expired"]
    assert not any(kept[:1] == OPEN for (part, name), kept in box.store.items()
                   if part == "question" and name != "k/c")  # fmt: skip


def test_a_bad_row_costs_only_itself() -> None:
    good = [event(str(i), NOW + i, (1.0, float(i))) for i in range(9)]
    odd = [event(f"bad {i}", NOW, x) for i, x in enumerate(FEATURES)]
    bad = [row for row in odd if dead(Box()(row))]
    assert len(bad) > 25
    quiet, told = Box()(*good), Box()(*good, *bad)
    assert len(dead(told)) == len(bad)
    asked = told[told.kind == "question"].reset_index(drop=True)
    pd.testing.assert_frame_equal(asked, quiet[quiet.kind == "question"], check_exact=True)
