"""Damaged state files of every kind: refused with a StateError, or loaded and as good as any other.

Most mutants are sealed again, so that only the checks of their contents stand between them and a
model: what an attacker would write, not an accident.
"""

import copy
import json
import math
import re
import struct
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest

import lasec
from lasec.alarms import DropAlarm, InputAlarm
from lasec.persistence.container import FORMAT
from lasec.queries import Budgeted, MarginSampling, Uniform
from lasec.rules import BudgetPerceptron, SecondOrder, ShiftingPerceptron
from lasec.selector import Selector
from lasec.session.saved import read_learner
from lasec.tables import Encoder, TableLearner

MUTANTS = 20_000
MEMORY = 256 << 20  # bytes that all loads together may take beyond what the process has
ROWS, SIGNS = lasec.streams.switching(700, dimension=3, every=200, seed=1)


# Files of every kind -----------------------------------------------------------------------------


def learner_file(rule, query, **options):
    made = lasec.Learner(rule, query, dimension=3, seed=1, **options)
    timed = getattr(query, "timed", False)
    made.run(ROWS[:60], SIGNS[:60], times=np.arange(60.0) if timed else None)
    for t in range(8):
        decision = made.ask(ROWS[t], draw=0.0, time=60.0 + t if timed else None)
        if options.get("aggregate") and decision.asked and t % 2:
            made.tell(decision.ticket, 1)
    return made.to_bytes()


def tracker_file():
    made = lasec.Tracker(3, rate=0.5, seed=2)
    made.run(ROWS[:100], SIGNS[:100])
    for row in ROWS[100:120]:
        made.ask(row)
    return made.to_bytes()


def meter_of(rounds=700, **options):
    tracker, meter = lasec.Tracker(3, rate=0.3, seed=3), lasec.Meter(**options)
    for i in range(rounds):
        decision = tracker.ask(ROWS[i])
        meter.ask(decision)
        if decision.asked and i % 7:
            meter.tell(tracker.tell(decision.ticket, SIGNS[i]))
        elif decision.asked and i % 2:
            meter.cancel(decision.ticket)
    return meter


def run_file(groups):
    run, tracker = lasec.RunSummary(window=100, points=4), lasec.Tracker(3, rate=0.3)
    names = [f"g{i % 3}" for i in range(690)] if groups else None
    labels = SIGNS[:690]
    if groups:  # three classes, and rows without a label
        labels = [None if i % 4 else "abc"[int(sign) + i % 2] for i, sign in enumerate(labels)]
    lasec.evaluate(tracker, ROWS[:690], labels, groups=names, into=run)
    return run.to_bytes()


def gate_file(query):
    gate = Selector(query, seed=4)
    gate.decide_all(np.linspace(-1.0, 1.0, 200))
    return gate.to_bytes()


def table_file():
    rows = [{"price": float(i % 5), "shop": "north" if i % 2 else "south"} for i in range(40)]
    encoder = Encoder.fit(pa.RecordBatch.from_pylist(rows))
    desk = TableLearner(lasec.Tracker(encoder.dimension, rate=0.5), encoder, classes=["a", "b"])
    for i, decision in enumerate(desk.ask(rows)):
        if decision.asked and i % 3:
            desk.tell(decision.ticket, "a" if i % 2 else "b", by="ann")
        elif decision.asked:
            desk.session.keep(decision.ticket, {"id": i})
    return desk.to_bytes(run=lasec.RunSummary().to_bytes())


def session_file():
    session = lasec.Session(
        lasec.Tracker(3, rate=0.5), classes=["a", "b"], remember=8, detectors=[DropAlarm()]
    )
    for i in range(60):
        decision = session.ask(ROWS[i], id=f"row-{i}")
        if decision.asked and i % 3:
            session.tell(f"row-{i}", "a" if i % 2 else "b", by="ann")
        elif decision.asked:
            session.keep(decision.ticket, {"subject": i})
    return session.to_bytes()


def alarm_file(rounds=700, kind=DropAlarm, **options):
    tracker, alarm = lasec.Tracker(3, rate=0.3, seed=3), kind(**options)
    for i in range(rounds):
        decision = tracker.ask(ROWS[i])
        alarm.ask(decision, ROWS[i])
        if decision.asked and i % 7 and i < rounds - 20:
            alarm.tell(tracker.tell(decision.ticket, SIGNS[i]))
    return alarm.to_bytes()


# What a loaded one must still do -----------------------------------------------------------------


def use_learner(made):
    timed = getattr(made.query, "timed", False)
    for ticket in made.pending[:2]:
        yield lambda ticket=ticket: made.tell(ticket, -1)
    yield lambda: made.ask(np.ones(made.dimension), time=1e6 if timed else None)
    yield lambda: made.learn(np.ones(made.dimension), 1)
    if isinstance(made, lasec.Tracker):
        yield lambda: made.drift_estimate
    yield made.to_bytes


def use_meter(made):
    yield lambda: made.accuracy
    if made.window is not None:
        yield lambda: made.estimate(over="window")
    yield lambda: made.estimate(interval="anytime")
    yield lambda: made.plan(width=0.1)
    if made.oldest is not None:
        yield lambda: made.cancel(made.oldest)
    yield lambda: made.ask(lasec.Decision(1, 0.5, 0.0, 0.5, asked=True, ticket=made._last + 1))
    yield made.to_bytes


def use_alarm(made):
    for i in range(60):
        asked = lasec.Decision(1, 0.5, 0.0, 0.5, asked=True, ticket=2**53 + i)
        yield lambda asked=asked: made.ask(asked, np.ones(getattr(made, "_dimension", 0) or 3))
        yield lambda asked=asked: made.tell(lasec.Outcome(asked, -1, True, True))
    yield lambda: made.cancel(3)
    yield made.to_bytes


def use_run(made):
    for look in ("accuracy", "estimate", "points", "groups", "margins"):
        yield lambda look=look: getattr(made, look)
    yield lambda: made.parts(3)
    yield lambda: repr(made)
    yield made.to_bytes


def use_gate(made):
    timed = getattr(made.query, "timed", False)
    yield lambda: made.decide(0.3, time=1e6 if timed else None)
    yield made.to_bytes


def use_table(made):
    desk, parts = made
    yield lambda: desk.ask([{"price": 2.0, "shop": "east"}])
    for ticket in desk.learner.pending[:1]:
        yield lambda ticket=ticket: desk.tell(ticket, (desk.classes or ["a"])[0])
    yield lambda: desk.session.meter.reaching().accuracy
    yield lambda: desk.session.questions
    yield lambda: desk.to_bytes(**parts)


def use_session(made):
    yield lambda: made.ask(np.ones(made.learner.dimension), id=("of", "the", "test"))
    for decision, note in made.questions[:1]:
        yield lambda d=decision: made.tell(d.ticket, (made.classes or ["a"])[0])
        yield lambda n=note: dict(n.columns)
    for decision, _ in made.questions[1:2]:
        yield lambda d=decision: made.cancel(d.ticket)
    yield made.accuracy
    yield lambda: repr(made)


@pytest.fixture(scope="module")
def kinds():
    """Name: file, how it is loaded, what is then done with it."""
    timed = Budgeted.every(50.0, labels=5)
    learner, meter = (lasec.Learner.from_bytes, use_learner), (lasec.Meter.from_bytes, use_meter)
    run = (lasec.RunSummary.from_bytes, use_run)
    return {
        "second order": (learner_file(SecondOrder(0.05, 0.5), MarginSampling(0.5)), *learner),
        "budget": (learner_file(BudgetPerceptron(5), Uniform(0.4)), *learner),
        "shifting": (learner_file(ShiftingPerceptron(0.3), timed, aggregate="majority"), *learner),
        "tracker": (tracker_file(), lasec.Tracker.from_bytes, use_learner),
        "any learner": (tracker_file(), read_learner, use_learner),
        "meter, window": (meter_of(window=100).to_bytes(), *meter),
        "meter, no window": (meter_of(window=None).to_bytes(), *meter),
        "meter, patience": (meter_of(window=64, patience=40).to_bytes(), *meter),
        "meter, new": (lasec.Meter().to_bytes(), *meter),
        "run": (run_file(groups=False), *run),
        "run, groups": (run_file(groups=True), *run),
        "gate": (gate_file(Budgeted(0.2)), Selector.from_bytes, use_gate),
        "gate, uniform": (gate_file(Uniform(0.2)), Selector.from_bytes, use_gate),
        "drop alarm": (alarm_file(memory=640, patience=50), DropAlarm.from_bytes, use_alarm),
        "input alarm": (
            alarm_file(kind=InputAlarm, confidence=True), InputAlarm.from_bytes, use_alarm,
        ),
        "input alarm, young": (
            alarm_file(9, kind=InputAlarm), InputAlarm.from_bytes, use_alarm,
        ),
        "table": (table_file(), TableLearner.from_bytes, use_table),
        "session": (session_file(), lasec.Session.from_bytes, use_session),
    }  # fmt: skip


# Mutations ---------------------------------------------------------------------------------------

DEEP = (340, 100_000)
INNER = re.compile(r"^parts\.|detectors\.")
HOSTILE = (
    None, True, False, "", "text", "inf", "1", [], {}, [1], [[1, 2], [3]], {"a": 1}, -1, 0, 1, 2, 7,
    0.5, -0.5, 1e300, -1e300, 1e-300, 2**31, 2**53, 2**62, 2**63, 2**64, 10**30, -(10**30), 10**400,
    math.nan, math.inf, -math.inf, "\ud800", "\x00", "@deep", "@query", "@1e999",
)  # fmt: skip
NUMBERS = (math.nan, math.inf, -math.inf, -1.0, 0.0, 0.5, 1.0, 1e9, 1e130, 1e300, -1e300, 2.0**62)


def opened(data):
    """Header, and the listing and bytes of each array."""
    length = struct.unpack("<I", data[12:16])[0]
    header, blobs, at = json.loads(data[24 : 24 + length]), [], 24 + length
    for entry in header["arrays"]:
        size = math.prod(entry["shape"]) * int(entry["dtype"][2])
        blobs.append(data[at : at + size])
        at += size
    return header, blobs


def sealed(header, blobs, rng, extra=""):
    """A file whose digest is right, whatever it holds."""
    text = json.dumps(header)
    if extra:
        text = f"{text[:-1]}, {extra}}}"
    depth = DEEP[int(rng.integers(2))]
    query = '{"kind": "Budgeted", "parameters": {"inner": '
    for mark, value in (
        ('"@deep"', "[" * depth + "]" * depth),
        ('"@query"', query * 340 + '{"kind": "Always", "parameters": {}}' + "}}" * 340),
        ('"@1e999"', "1e999"),
    ):
        text = text.replace(mark, value)
    return framed(text.encode() + b"".join(blobs), len(text.encode()))


def framed(body, length):
    whole = struct.pack("<8sIIQ", b"\x89LASEC\r\n", FORMAT, length, 24 + len(body) + 32) + body
    return whole + blake2b(whole, digest_size=32).digest()


def places(part, found=()):
    """Every place in a JSON value: the container and the key or index."""
    found = list(found)
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        found.append((part, key))
        if isinstance(value, (dict, list)):
            found += places(value)
    return found


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def flip(data, rng):
    mutant = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        mutant[int(rng.integers(len(mutant)))] ^= 1 << int(rng.integers(8))
    return bytes(mutant)


def flip_sealed(data, rng):
    mutant = flip(data, rng)
    return framed(mutant[24:-32], struct.unpack("<I", data[12:16])[0])


def truncate(data, rng):
    return data[: int(rng.integers(len(data)))]


def edit(data, rng):
    """Put something else into one or two places of the header."""
    header, blobs = opened(data)
    for _ in range(rng.integers(1, 3)):
        part, key = pick(rng, places(header))
        part[key] = copy.deepcopy(pick(rng, HOSTILE))
    return sealed(header, blobs, rng)


def nudge(data, rng):
    """Change a number of the header a little, or a lot."""
    header, blobs = opened(data)
    spots = [(p, k) for p, k in places(header) if type(p[k]) in (int, float)]
    part, key = pick(rng, spots)
    part[key] = pick(rng, (part[key] + 1, part[key] - 1, 2 * part[key], -part[key], part[key] / 2))
    return sealed(header, blobs, rng)


def rekey(data, rng):
    """Remove, rename, add or repeat a key."""
    header, blobs = opened(data)
    part, key = pick(rng, [(p, k) for p, k in places(header) if isinstance(p, dict)])
    match rng.integers(4):
        case 0:
            del part[key]
        case 1:
            part[f"{key}s"] = part.pop(key)
        case 2:
            part[pick(rng, ("more", "kind", "__class__", "arrays"))] = pick(rng, HOSTILE)
        case 3:
            top = pick(rng, [name for name in header if name != "arrays"])
            return sealed(header, blobs, rng, f'"{top}": {json.dumps(pick(rng, HOSTILE))}')
    return sealed(header, blobs, rng)


def resize(data, rng):
    """Another shape or type for an array, with the bytes to match, or without."""
    header, blobs = opened(data)
    at = int(rng.integers(len(blobs)))
    entry = header["arrays"][at]
    match rng.integers(5):
        case 0:
            entry["dtype"] = pick(rng, ("<f8", "<i8", "<f4", ">f8", "|O", "<U9", "<i4"))
        case 1:
            entry["shape"] = entry["shape"][::-1] + [1] * int(rng.integers(2))
        case 2:
            entry["shape"][:1] = [max(0, (entry["shape"] or [0])[0] + int(rng.integers(-2, 3)))]
            size = math.prod(entry["shape"]) * int(entry["dtype"][2])
            blobs[at] = (blobs[at] + bytes(size))[:size]
        case 3:
            del header["arrays"][at], blobs[at]
        case 4:
            other = int(rng.integers(len(blobs)))
            names = header["arrays"][other]["name"], entry["name"]
            entry["name"], header["arrays"][other]["name"] = names
    return sealed(header, blobs, rng)


def revalue(data, rng):
    """Other numbers in an array."""
    header, blobs = opened(data)
    full = [i for i, blob in enumerate(blobs) if blob]
    if not full:
        return truncate(data, rng)
    at = pick(rng, full)
    array = np.frombuffer(blobs[at], header["arrays"][at]["dtype"]).copy()
    for _ in range(rng.integers(1, 4)):
        value = pick(rng, NUMBERS)
        if array.dtype.kind in "iu":
            value = np.array(pick(rng, (-1, 0, 1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63))))
            value = value.astype(array.dtype)
        array[int(rng.integers(array.size)) if rng.integers(4) else slice(None)] = value
    blobs[at] = array.tobytes()
    return sealed(header, blobs, rng)


def cells(data, rng):
    """Cells of open questions that nobody has written so; of files without them, edit."""
    header, blobs = opened(data)
    notes = header.get("session", header).get("notes")
    if notes is None or not notes["1"]["columns"]:
        return edit(data, rng)
    depth = DEEP[int(rng.integers(2))]
    values = [pick(rng, HOSTILE) for _ in range(rng.integers(1, 5))]
    columns = notes["1"]["columns"]
    columns[int(rng.integers(len(columns)))] = pick(
        rng, (json.dumps(values), json.dumps(dict(enumerate(values))), "[" * depth, "[[0, {}")
    )
    return sealed(header, blobs, rng)


def inside(data, rng):
    """Damage a file that is kept inside of this one; of others, their numbers."""
    header, blobs = opened(data)
    kept = [i for i, e in enumerate(header["arrays"]) if INNER.search(e["name"])]
    if not kept:
        return revalue(data, rng)
    at = pick(rng, kept)
    blobs[at] = pick(rng, (edit, nudge, rekey, resize, revalue))(blobs[at], rng)
    header["arrays"][at]["shape"] = [len(blobs[at])]
    return sealed(header, blobs, rng)


MUTATIONS = (
    flip, flip_sealed, truncate, edit, edit, edit, nudge, nudge, rekey, resize, revalue, revalue,
    inside, inside, cells,
)  # fmt: skip


# The test ----------------------------------------------------------------------------------------

FORBIDDEN = (
    "exec", "compile", "import", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.",
    "subprocess.Popen", "pickle.", "marshal.", "code.__new__", "open", "socket.", "shutil.",
)  # fmt: skip
_watch = {"on": False, "seen": Counter()}


def _audit(event, _):
    if _watch["on"] and event.startswith(FORBIDDEN):
        _watch["seen"][event] += 1


@contextmanager
def watched():
    """Count whatever runs code, or reaches out, while something is loaded."""
    _watch["on"] = True
    try:
        yield
    finally:
        _watch["on"] = False


@pytest.fixture
def watcher():
    sys.addaudithook(_audit)  # it cannot be taken away again, but it can be switched off
    _watch["seen"] = Counter()
    with watched():
        exec("1")
    assert _watch["seen"].pop("exec"), "the watcher sees nothing"
    _watch["seen"].clear()
    return _watch["seen"]


@pytest.fixture
def little_memory():
    """What takes more than ``MEMORY`` from here on gets a MemoryError, which no loader hides."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)

    def limit():
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_AS, before)


def loaded(load, data):
    """What was loaded, or None if it was refused as it should be."""
    try:
        with watched():
            return load(data)
    except lasec.StateError as error:
        assert str(error)
        return None


def used(use, made):
    """Do a few things with what was loaded; only documented errors may come of it."""
    for call in use(made):
        try:
            call()
        except (ValueError, lasec.TicketError) as error:
            assert str(error)


def whole(load, made):
    """What could be loaded can be saved, and loaded again."""
    desk, parts = made if isinstance(made, tuple) else (made, {})
    return load(desk.to_bytes(**parts))


def test_twenty_thousand_mutations(kinds, watcher, little_memory):
    """0 errors but StateError, no code run, no memory taken; what is loaded works."""
    rng, count = np.random.default_rng(7), Counter()
    for data, load, use in kinds.values():
        used(use, whole(load, load(data)))  # everything is compiled and imported by now
    little_memory()
    files = list(kinds.items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # absurd but possible sums may overflow
        for number in range(MUTANTS):
            name, (data, load, use) = files[number % len(files)]
            mutant = pick(rng, MUTATIONS)(data, rng)
            try:
                made = loaded(load, mutant)
                if made is not None:
                    count[name] += 1
                    used(use, whole(load, made))
            except Exception as error:
                raise AssertionError(f"mutant {number}, a {name}: {error!r}") from error
    assert not watcher
    # A check that lets nothing through would pass too: harmless changes must be accepted.
    assert len(count) == len(files)
    assert MUTANTS // 50 < count.total() < MUTANTS // 3


@pytest.mark.parametrize("depth", [33, 340, 900, 100_000])
def test_deep_headers_are_refused_before_anyone_walks_them(kinds, depth):
    """Queries in queries, and lists in lists, of which the loader has no use."""
    rng = np.random.default_rng(0)
    some = ("second order", "gate", "meter, new", "run", "table")
    query = '{"kind": "Budgeted", "parameters": {"inner": '
    inner = '{"kind": "Always", "parameters": {}}'
    for data, load, _ in (kinds[name] for name in some):
        header, blobs = opened(data)
        for name in ("query", "gate", "origin", "names", "more"):
            for value in ("[" * depth + "]" * depth, query * depth + inner + "}}" * depth):
                mutant = sealed(header, blobs, rng, f'"{name}": {value}')
                with pytest.raises(lasec.StateError, match=r"nested|not valid JSON"):
                    load(mutant)
