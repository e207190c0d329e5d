"""Hostile values in every public call: an error that is documented, or an answer; never a trace.

Errors are TypeError and ValueError (scikit-learn's NotFittedError is one), TicketError for tickets,
StateError for bytes. A call that is refused leaves everything as it was.
"""

import copy
import datetime
import pickle
import warnings
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier

import lasec
import lasec.river
import lasec.sklearn
from fleets import simulate
from lasec.queries import Always, Budgeted, MarginSampling, Uniform, VarianceThreshold
from lasec.selector import Selector

CALLS = 6_000
AGAIN = 60  # calls after which an object is made anew: some are accepted, and lead astray
DOCUMENTED = (TypeError, ValueError, lasec.TicketError)  # a StateError is a ValueError

ROWS, SIGNS = lasec.streams.switching(80, dimension=3, every=40, seed=1)


# Hostile values ----------------------------------------------------------------------------------


class BadArray:
    def __array__(self, dtype=None, copy=None):
        raise AttributeError("no array today")


class ArrayOfObjects:
    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, None, "x"], dtype=object)


class BadNumber:
    def __float__(self):
        raise KeyError("no number today")

    __index__ = __int__ = __float__


class HugeIndex:
    def __index__(self):
        return 10**400


class BadRepr:
    def __repr__(self):
        raise RuntimeError("no name today")


class BadFloat(float):
    def __float__(self):
        raise RuntimeError("a float that is none")


class BadIterator:
    def __iter__(self):
        raise ZeroDivisionError("no rows today")


class BadLength:
    def __len__(self):
        raise OSError("no length today")

    def __getitem__(self, at):
        raise OSError("no item today")


def nested(depth):
    return [nested(depth - 1)] if depth else 1.0


CIRCLE = []
CIRCLE.append(CIRCLE)
WIDE = np.broadcast_to(np.float64(1.0), (10**15,))
HUGE = np.broadcast_to(np.float64(1.0), (10**15, 3))
HOSTILE = [
    None, True, False, np.True_, float("nan"), float("inf"), -float("inf"), 10**400, -(10**400),
    10**5_000, -1, 0, 2**53, 2**63, 2**64, 0.5, 1.5, 1e80, 1e308, 5e-324, 1j, "", "text", "1",
    b"x", b"\x89LASEC\r\n", Decimal("1.5"), Decimal("NaN"), Fraction(1, 3),
    datetime.datetime(2026, 1, 1), datetime.timedelta(1), np.datetime64("2026-01-01"),
    np.timedelta64(1, "s"), np.longdouble("1e400"), np.float16(1.0), np.uint64(2**64 - 1),
    np.int8(-1), np.str_("a"), object(), type, len, Ellipsis, BadArray(), ArrayOfObjects(),
    BadNumber(), HugeIndex(), BadRepr(), BadFloat(1.0), BadIterator(), BadLength(), CIRCLE,
    nested(70), [], [[]], [1.0], [[1.0]], [1.0, [2.0]], {}, {"a": 1.0}, {"a": None},
    {"a": 10**400}, {1: "x"}, {"a": BadNumber()}, {BadRepr(): 1.0}, {1.0}, range(3),
    (x for x in "ab"), [10**400, 1.5, 0.0], [2**64, 1, 1], [[10**400, 1.5, 0.0]], ["a", "b", "c"],
    [None, 1.0, 2.0], [1j, 0, 0], [[1.0], [1.0, 2.0]], np.zeros(0), np.zeros((0, 3)),
    np.zeros((3, 3)), np.float64(1.0) * np.ones(3), np.full(3, np.nan), np.full((2, 3), np.inf),
    np.ones(3, object), np.array([1, None, 2], object), np.array("x"), np.array(1.0),
    np.array(["a", "b", "c"]), np.zeros(3, "M8[s]"), np.zeros(3, [("a", float)]),
    np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]), np.zeros((2, 3, 4)),
    np.full(3, 2**64 - 1, np.uint64), np.full(3, np.longdouble("1e400")), SimpleNamespace(),
    SimpleNamespace(decision=None, settled=True, y=1), pd.NA, pd.DataFrame({"a": ["x"]}),
    pd.Series([1.0, None]), memoryview(b"abc"), np.ones(3)[::2], np.ones(3, ">f8"),
]  # fmt: skip


# What is called ----------------------------------------------------------------------------------


def learner():
    made = lasec.LASEC_SS(3, aggressiveness=0.5, seed=1)
    made.run(ROWS, SIGNS)
    for row in ROWS[:3]:
        made.ask(row, draw=0.0)
    return made


def tracker():
    made = lasec.Tracker(rate=0.5, aggregate="majority")
    for row in ROWS[:20]:
        made.ask(row)
    return made


def meter():
    made, asking = lasec.Meter(window=20), tracker()
    for row, sign in zip(ROWS, SIGNS, strict=True):
        decision = asking.ask(row)
        made.ask(decision)
        if decision.asked and decision.ticket % 3:
            asking.aggregate = lasec.types.Aggregate.FIRST
            made.tell(asking.tell(decision.ticket, sign))
    return made


def gate():
    made = Selector(Budgeted(0.3))
    made.decide_all(np.linspace(-1.0, 1.0, 50))
    return made


def fleet():
    made = lasec.Fleet(lasec.rules.SecondOrder(0.01), MarginSampling(0.5), models=3, dimension=3)
    simulate(made, np.arange(80) % 3, ROWS, SIGNS)
    return made


def sk_tracker():
    return lasec.sklearn.TrackerClassifier(rate=0.5).fit(ROWS, SIGNS)


def sk_selective():
    model = lasec.sklearn.ActiveClassifier(SGDClassifier(random_state=0), rate=0.5)
    return model.fit(ROWS, SIGNS)


def river_tracker():
    model = lasec.river.TrackerClassifier(rate=0.5)
    for row, sign in zip(ROWS[:20], SIGNS, strict=False):
        decision = model.ask_one({"a": row[0], "b": row[1]})
        if decision.asked and decision.ticket % 2:
            model.tell_one(decision.ticket, int(sign))
    return model


def decision(ticket=1_000, **other):
    return lasec.Decision(1, 0.5, 0.0, 0.5, asked=True, ticket=ticket)._replace(**other)


def columns(**other):
    good = {
        "label": [1, -1],
        "margin": [0.5, -0.5],
        "propensity": [0.5, 1.0],
        "asked": [True, False],
    }
    return SimpleNamespace(**(good | {"ticket": [2_000, 2_001]} | other))


DICT = {"a": 1.0, "b": 2.0}
PAIR, TWO = [[1.0, 2.0, 3.0], [0.5, 0.0, 1.0]], [1, -1]
BATCH = {"keys": [0, 1], "X": PAIR, "times": [1.0, 2.0], "draws": [0.1, 0.2]}
DECISIONS, OUTCOMES, RECORDS = "decisions", "outcomes", "records"  # spoiled inside, see below
# Each: what makes the object, and calls with good arguments, one or all of which become hostile.
TARGETS = {
    learner: [
        ("ask", {"x": ROWS[0], "time": 1.0, "coin": 0.5}),
        ("tell", {"ticket": 82, "y": 1}),
        ("learn", {"x": ROWS[0], "y": -1}),
        ("run", {"X": PAIR, "y": TWO, "times": [1.0, 2.0], "draws": [0.1, 0.2]}),
        ("learn_many", {"X": PAIR, "y": TWO}),
        ("restate", {"ticket": 80, "x": ROWS[0]}),
        ("margins", {"X": PAIR, "first": 3}),
        ("name_classes", {"classes": TWO}),
        ("widen", {"dimension": 3, "known": 3}),
        ("boost", {"labels": 5.0, "over": 10.0}),
        ("is_open", {"ticket": 81}),
        ("from_bytes", {"data": b""}),
    ],
    tracker: [
        ("ask", {"x": ROWS[0], "time": 1.0, "coin": 0.5}),
        ("tell", {"ticket": 1, "y": 1}),
        ("learn", {"x": ROWS[0], "y": -1}),
        ("run", {"X": PAIR, "y": TWO, "times": [1.0, 2.0], "draws": [0.1, 0.2]}),
        ("boost", {"labels": 5.0, "over": 10.0}),
        ("predict_proba", {"X": PAIR}),
    ],
    lambda: lasec.Tracker(rate=0.5): [
        ("ask", {"x": ROWS[0]}),
        ("learn", {"x": ROWS[0], "y": 1}),
        ("run", {"X": PAIR, "y": TWO}),
        ("predict_proba", {"X": PAIR}),
    ],
    meter: [
        ("ask", {"decision": decision()}),
        ("ask", DECISIONS),
        ("tell", {"outcome": lasec.Outcome(decision(3), 1, False, True)}),
        ("tell", OUTCOMES),
        ("cancel", {"ticket": 3}),
        ("extend", {"records": columns(), "y": TWO}),
        ("extend", RECORDS),
        ("estimate", {"over": "window", "method": "aipw", "level": 0.9}),
        ("estimate", {"over": "all", "interval": "anytime"}),
        ("plan", {"width": 0.1, "labels": None, "window": "1d", "rows_per_day": 100.0}),
        ("curve", {"window": 1_000, "rates": (0.1, 0.2), "rows_per_day": None, "level": 0.9}),
        ("from_bytes", {"data": b"", "probability": None}),
    ],
    gate: [
        ("decide", {"margin": 0.5, "time": 1.0, "waiting": 0, "variance": 0.0}),
        ("decide_all", {"margins": [0.5, 1.0], "times": [1.0, 2.0], "variances": [0.0, 1.0]}),
        ("skip", {"rows": 1}),
        ("from_bytes", {"data": b""}),
    ],
    fleet: [
        ("serve", BATCH | {"y": [0, 1], "tickets": [-1, 0], "after": [-1, -1]}),
        ("draws", {"keys": [0, 1], "numbers": [5, 6]}),
        ("pack", {"keys": [0, 1]}),
        ("unpack", {"keys": [0], "packed": np.zeros((1, 72), np.uint8)}),
        ("learner", {"key": 1}),
        ("put", {"key": 1, "learner": None}),
    ],
    sk_tracker: [
        ("fit", {"X": PAIR, "y": TWO}),
        ("partial_fit", {"X": PAIR, "y": TWO, "classes": [-1, 1]}),
        ("should_ask", {"X": PAIR, "times": None}),
        ("predict_proba", {"X": PAIR}),
    ],
    sk_selective: [
        ("fit", {"X": PAIR, "y": TWO}),
        ("refit", {"X": PAIR, "y": TWO}),
        ("should_ask", {"X": PAIR, "times": None}),
        ("predict", {"X": PAIR}),
    ],
    river_tracker: [
        ("ask_one", {"x": DICT, "time": 1.0}),
        ("tell_one", {"ticket": 0, "y": 1}),
        ("cancel_one", {"ticket": 0}),
        ("learn_one", {"x": DICT, "y": 1}),
        ("predict_one", {"x": DICT}),
        ("predict_proba_one", {"x": DICT}),
    ],
    dict: [],  # constructors, which have no object
}  # fmt: skip
MODEL = {"rule": lasec.rules.SecondOrder(), "query": Always(), "dimension": 2}
COUNTS = {"seed": 1, "max_pending": 5, "max_age": 5.0, "aggregate": "first", "annotators": 3}
CONSTRUCTORS = [
    (lasec.Learner, MODEL | COUNTS | {"learn_from": "labels", "name": "x"}),
    (lasec.Tracker, {"dimension": 2, "rate": 0.1, "horizon": 10_000} | COUNTS),
    (lasec.Tracker, {"dimension": 2, "budget": Budgeted(), "rule": lasec.rules.Tracking()}),
    (lasec.LASEC_SS, {"dimension": 2, "aggressiveness": 0.5, "drift": 0.1, "ridge": 1.0}),
    (lasec.Fleet, MODEL | {"models": 2, "seed": 1, "seeds": [1, 2], "threads": 1}),
    (Selector, {"query": Always(), "seed": 1}),
    (lasec.Meter, {"window": 10, "patience": 5, "costs": None}),
    (lasec.RunSummary, {"window": 10, "points": 5, "segments": 2}),
    (Budgeted, dict(zip(Budgeted._fields, Budgeted(), strict=True))),
    (Budgeted.every, {"window": "1d", "labels": 5}),
    *((query, query()._asdict()) for query in (MarginSampling, Uniform, VarianceThreshold)),
    *((made, made()._asdict()) for made in (getattr(lasec.rules, n) for n in lasec.rules.__all__)),
]  # fmt: skip


def snapshot(made):
    """All that a refused call must not change."""
    if isinstance(made, lasec.Tracker) and not made._now.sized:
        return made.dimension, made.rows, made.asked
    if hasattr(made, "to_bytes"):
        return made.to_bytes()
    if isinstance(made, lasec.river.TrackerClassifier):
        rows = made._rows.index.copy(), made._rows.row.size
        return (
            made._learner.to_bytes(),
            made.meter.to_bytes(),
            made.classes,
            made.pending,
            rows,
        )
    return pickle.dumps(made)


def spoiled(good, rng):
    """The arguments with one of them hostile, or all."""
    names = list(good)
    chosen = names if rng.random() < 0.1 else [names[int(rng.integers(len(names)))]]
    return good | {name: HOSTILE[int(rng.integers(len(HOSTILE)))] for name in chosen}


def prepared(made, name, good, rng):
    """A call with hostile arguments, as a function without any."""
    if isinstance(good, dict):
        given = spoiled(good, rng)
        return lambda: getattr(made, name)(**given)
    if good is DECISIONS:
        given = decision()._replace(**spoiled(decision()._asdict(), rng))
    elif good is OUTCOMES:
        inner = decision(**spoiled({"propensity": 0.5, "ticket": 3}, rng))
        inner = inner if rng.random() < 0.5 else decision(3)
        whole = {"decision": inner, "y": 1, "mistake": True, "updated": True, "settled": True}
        given = lasec.Outcome(**(whole if rng.random() < 0.5 else spoiled(whole, rng)))
    else:
        given = columns(**spoiled(vars(columns()), rng))
        return lambda: made.extend(given, TWO)
    return lambda: getattr(made, name)(given)


def hostile_calls(count, seed):
    """So many calls: what each is about, the object, and the call itself."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        if number % (AGAIN * len(TARGETS)) == 0:
            made = {make: make() for make in TARGETS}
        make = list(TARGETS)[number % len(TARGETS)]
        if make is dict:
            kind, good = CONSTRUCTORS[int(rng.integers(len(CONSTRUCTORS)))]
            given = spoiled(good, rng) if good else {"more": 1}
            yield kind.__name__, None, (lambda k=kind, g=given: k(**g))
            continue
        name, good = TARGETS[make][int(rng.integers(len(TARGETS[make])))]
        target = made[make]
        if make.__name__ == "<lambda>":
            target = copy.deepcopy(target)
        yield f"{type(target).__name__}.{name}", target, prepared(target, name, good, rng)


def allowed(target):
    """The errors that may come: those of a classifier inside another are its own matter."""
    return Exception if isinstance(target, lasec.sklearn.ActiveClassifier) else DOCUMENTED


def test_six_thousand_hostile_calls():
    """Refused with a documented error and without a trace, or answered."""
    count = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, pandas' and scikit-learn's about such input
        for number, (name, target, call) in enumerate(hostile_calls(CALLS, seed=3)):
            before = None if target is None else snapshot(target)
            try:
                call()
                count["answered"] += 1
            except allowed(target) as error:
                assert str(error) or type(error).__module__ != "lasec.errors"
                count["refused"] += 1
                if target is not None:
                    assert snapshot(target) == before, f"call {number}: {name} left a trace"
            except Exception as error:
                raise AssertionError(f"call {number}: {name} raised {error!r}") from error
    assert count["refused"] > CALLS // 2
    assert count["answered"] > CALLS // 40


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5_000, BadFloat(1.0)], ids=type)
def test_numbers_that_no_float_holds(value):
    """Refused by name: where ranges are open, they were an OverflowError."""
    with pytest.raises(ValueError, match=r"^margin must be a number"):
        Selector(Always()).decide(value)
    with pytest.raises(ValueError, match=r"^decision: margin must be a number"):
        lasec.Meter().ask(decision(margin=value))


@pytest.mark.parametrize("given", [WIDE, HUGE], ids=["wide", "huge"])
def test_arrays_that_no_memory_holds(given):
    """A petabyte of ones, in eight bytes: refused by its shape, or because it does not fit."""
    for made, name, arguments in (
        (learner(), "ask", (given,)), (learner(), "run", (given, given)),
        (lasec.Tracker(), "ask", (given,)), (lasec.Tracker(), "run", (given, given)),
        (learner(), "run", (PAIR, given)), (meter(), "extend", (columns(margin=given), TWO)),
        (gate(), "decide_all", (given,)),
        (fleet(), "serve", ([0, 1], PAIR, [0, 0], given)), (fleet(), "draws", ([0], given)),
        (sk_tracker(), "should_ask", (given,)), (sk_tracker(), "predict", (given,)),
    ):  # fmt: skip
        before = snapshot(made)
        with pytest.raises((TypeError, ValueError)):
            getattr(made, name)(*arguments)
        assert snapshot(made) == before


@pytest.mark.parametrize("value", [None, 5, "text", SimpleNamespace(), {}], ids=repr)
def test_what_is_not_what_was_asked_for(value):
    """Refused by name: attributes were taken from it, which it has not."""
    with pytest.raises(TypeError, match=r"^outcome: "):
        lasec.Meter().tell(value)
    with pytest.raises(TypeError, match=r"^records: "):
        lasec.Meter().extend(value, [1])
    with pytest.raises(TypeError, match=r"^rule must be"):
        lasec.Learner(value, dimension=2)
    with pytest.raises(TypeError, match=r"^query must be"):
        lasec.Learner(lasec.rules.Perceptron(), value, dimension=2)


def test_a_model_that_no_memory_holds_says_how_large_it_is():
    with pytest.raises(ValueError, match=r"^dimension: SecondOrder needs 80,000,001 GB for"):
        lasec.LASEC(dimension=100_000_000)
    full = lasec.Tracker(rule=lasec.rules.Tracking(block=10_000_000))
    with (
        pytest.warns(UserWarning, match=r"takes 6,000,0\d\d,\d\d\d MB"),
        pytest.raises(ValueError, match=r"^dimension: Tracking needs 6,000,0\d\d GB for 10000000"),
    ):
        full.ask(np.ones(10_000_000))


def test_a_refused_first_row_does_not_settle_the_dimension():
    tracker = lasec.Tracker(rate=0.5)
    for row in ([np.nan, 1.0], ["a"], [], [1e80]):
        with pytest.raises((TypeError, ValueError)):
            tracker.ask(row)
    assert tracker.ask([1.0, 2.0, 3.0]).ticket == 0
    assert tracker.dimension == 3


@pytest.mark.parametrize(
    "make",
    [lambda **most: lasec.Tracker(2, rate=1.0, **most), lambda **most: lasec.LASEC(2, **most)],
)
def test_labels_cannot_make_more_classes_than_max_classes(make):
    """Each class takes time and memory, and labels may come from anyone."""
    assert make().max_classes == 100
    learner = make(max_classes=3, seed=0)
    for label in "abc":
        learner.learn([1.0, 2.0], label)
    ticket, before = learner.ask([0.5, 1.0]).ticket, learner.to_bytes()
    for again in (learner, lasec.Learner.from_bytes(before), copy.deepcopy(learner)):
        for call in (
            lambda at=again: at.learn([1.0, 2.0], "d"),
            lambda at=again: at.tell(ticket, "d"),
            lambda at=again: at.run([[1.0, 2.0], [2.0, 1.0]], ["a", "d"]),
            lambda at=again: at.learn_many([[1.0, 2.0]], ["d"]),
        ):
            with pytest.raises(
                ValueError, match=r"'d' would be a new class, and there are 3 .*max"
            ):
                call()
        assert again.to_bytes() == before
    assert learner.tell(ticket, "b").decision.ticket == ticket


def test_classes_that_are_named_may_be_more_than_max_classes():
    many = [f"class {k}" for k in range(5)]
    for learner in (lasec.LASEC(2, max_classes=3, classes=many), lasec.LASEC(2, max_classes=3)):
        learner.name_classes(many)
        learner.learn([1.0, 2.0], "class 4")
        with pytest.raises(ValueError, match="max_classes=3"):
            learner.learn([1.0, 2.0], "class 5")
        assert learner.classes == tuple(many)
