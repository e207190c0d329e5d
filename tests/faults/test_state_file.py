"""Saved models: what is broken is refused with a sentence that says how; nothing is ever run."""

import json
import os
import pickle
import stat
import struct
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

import lasec
from catalogue import RULES, build
from lasec.nested import leaves
from lasec.persistence import container

MUTATIONS = 10_000

RULE = {type(rule).__name__: rule for rule in RULES}


@pytest.fixture(scope="module")
def learner():
    made = lasec.LASEC_SS(3, drift=0.05, aggressiveness=0.5, seed=1)
    made.run(*lasec.streams.switching(50, dimension=3, every=25, seed=1))
    for t in range(4):
        made.ask([1.0, t, 0.5], draw=0.0)
    return made


@pytest.fixture(scope="module")
def data(learner):
    return learner.to_bytes()


def reseal(body):
    """A frame with the right length and digest: what an attacker, not an accident, would write."""
    prologue = bytearray(body[:24])
    prologue[16:24] = struct.pack("<Q", len(body) + 32)
    whole = bytes(prologue) + body[24:]
    return whole + blake2b(whole, digest_size=32).digest()


def rewritten(data, change):
    """The file with its header changed by ``change``, and sealed again."""
    length = struct.unpack("<I", data[12:16])[0]
    header = json.loads(data[24 : 24 + length])
    change(header)
    return with_header(data, json.dumps(header).encode(), data[24 + length : -32])


def with_header(data, text, arrays=b""):
    return reseal(data[:12] + struct.pack("<I", len(text)) + data[16:24] + text + arrays)


def refused(data, words):
    with pytest.raises(lasec.StateError, match=words):
        lasec.Learner.from_bytes(data)


def valid(learner):
    """A loaded model is whole: it can predict, ask, learn and be saved again."""
    assert learner.state.validate() == ""
    assert all(np.isfinite(array).all() for array in leaves(learner.state))
    again = lasec.Learner.from_bytes(learner.to_bytes())
    row = np.ones(again.dimension)
    calls = [lambda ticket=t: again.tell(ticket, -1) for t in again.pending]
    for call in (*calls, lambda: again.ask(row), lambda: again.learn(row, 1)):
        try:
            call()
        except ValueError as error:
            assert "too large for this model" in str(error)
    return True


def test_a_foreign_file_is_called_foreign(data):
    for foreign in (b"", b"PK\x03\x04", b"\x93NUMPY", pickle.dumps({"a": 1}), b"\x00" * 500):
        refused(foreign, "^not a lasec model")


def test_a_truncated_file_is_called_truncated(data):
    for length in [*range(1, 60), len(data) // 2, len(data) - 1]:
        refused(data[:length], "^truncated|^not a lasec model" if length < 8 else "^truncated")


def test_a_corrupted_file_is_called_corrupted(data):
    for position in range(24, len(data), 7):
        refused(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :], "^corrupted")
    refused(data + b"x", "^corrupted")


@pytest.mark.parametrize("number", [0, container.FORMAT - 1, container.FORMAT + 1])
def test_a_file_of_another_format_is_refused(data, number):
    words = f"^another format: the file is in {number}, this lasec reads {container.FORMAT} only$"
    refused(data[:8] + struct.pack("<I", number) + data[12:], words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h["rule"].update(kind="os.system"), "^foreign: this lasec knows no 'os.system'"),
        (
            lambda h: h["selector"]["query"].update(kind="Sometimes"),
            "^foreign: this lasec knows no 'Sometimes'",
        ),
        (lambda h: h["rule"]["parameters"].update(ridge=-1), "^invalid: ridge must be"),
        (lambda h: h["rule"]["parameters"].update(more=1), "^invalid: .*more"),
        (lambda h: h.update(dimension=10**9), "^invalid: weights has not the shape"),
        (lambda h: h.update(dimension=4), "^invalid: weights has not the shape"),
        (lambda h: h.update(dimension="3"), "^invalid: dimension must be"),
        (lambda h: h["terms"].update(learn_from="sometimes"), "^invalid: "),
        (lambda h: h["selector"].pop("seed"), "^invalid: selector.seed must be"),
        (lambda h: h.update(rule=None), "^invalid: "),
        (lambda h: h["pending"].update(limit=2), "^invalid: the open tickets do not fit"),
        (lambda h: h["selector"].update(rows=51), "^invalid: the open tickets do not fit"),
        (lambda h: h["selector"].update(asked=2), "^invalid: the counters contradict"),
        (lambda h: h["counts"].update(told=0), "^invalid: the counters contradict"),
        (lambda h: h["counts"].update(dropped=-1), "^invalid: counts.dropped must be"),
        (lambda h: h.update(arrays=7), "^invalid: an array is not described"),
        (lambda h: h["arrays"].pop(), "^invalid: the header lists other arrays"),
        (lambda h: h["arrays"][0].update(dtype="|O"), "^invalid: an array is not described"),
        (lambda h: h["arrays"][1].update(dtype="<i8"), "^invalid: weights has not the shape"),
        (lambda h: h["arrays"][0].update(shape=[2**47]), "^invalid: the header lists other"),
        (lambda h: h["arrays"][0].update(shape=[-3]), "^invalid: an array is not described"),
        (lambda h: h["arrays"][0].update(shape=[0, 2**47, 2**47]), "^invalid: an array is not"),
        (
            lambda h: h["arrays"][1].update(name="weights"),
            "^invalid: there is an array of no known",
        ),
        (lambda h: h["counts"].update(told=10**6), "^invalid: the counters contradict"),
        (lambda h: h.update(name=None), "^invalid: name must be text"),
        (lambda h: h["arrays"][1].update(name="state.other"), "^invalid: expected the arrays"),
        (lambda h: h["arrays"][2].update(name="state.weights"), "^invalid: the header lists other"),
        (
            lambda h: h["arrays"][0].update(name="elsewhere"),
            "^invalid: there is no array 'selector.memory'",
        ),
    ],
)
def test_a_header_that_lies_is_refused(data, change, words):
    """Sealed again, so that only the checks of the contents stand between it and a model."""
    refused(rewritten(data, change), words)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("state.weights", np.nan, "weights contains NaN"),
        ("state.weights", 1e300, "weights contains NaN, infinity or a value beyond"),
        ("state.cov", 1e9, "cov is not symmetric"),
        ("pending.rows.x", np.inf, "x: contains NaN or infinity"),
        ("pending.label", 0.5, "open tickets do not fit"),
        ("pending.ticket", 2**62, "open tickets do not fit"),
        ("pending.ticket", -1, "ticket contains NaN or a value that is not in"),
        ("pending.margin", np.inf, "margin contains NaN or a value"),
        ("pending.variance", -1.0, "variance contains NaN or a value"),
        ("pending.propensity", 0.0, "propensity contains NaN or a value"),
        ("pending.propensity", 1.5, "propensity contains NaN or a value"),
        ("pending.time", np.nan, "time contains NaN or a value"),
        ("pending.time", 1e9, "open tickets are not in order"),
        ("pending.votes", -1, "votes contains NaN or a value"),
    ],
)
def test_arrays_that_lie_are_refused(data, name, value, words):
    header, arrays = container.unpack(data)
    arrays[name].flat[-1 if name == "pending.ticket" else 0] = value
    if name == "state.cov":
        arrays[name][0, 1] = value
    refused(container.pack(header, arrays), words)


def test_a_covariance_that_is_not_positive_is_refused(data):
    header, arrays = container.unpack(data)
    arrays["state.cov"][...] = 1.0
    refused(container.pack(header, arrays), "cov is not positive definite")


def test_headers_that_are_not_json_are_refused(data):
    for text in (b"", b"{", b"[" * 100_000, b'{"a": NaN}', b"\xff\xfe", b"9" * 5_000):
        refused(with_header(data, text), "^corrupted: the header is not valid JSON")
    refused(with_header(data, b"[]"), "^invalid: the header is not a JSON object")
    refused(reseal(data[:12] + struct.pack("<I", 2**31) + data[16:-32]), "longer than the file")


def saved(rule):
    """A file of a small model of this rule, with open questions."""
    made = build(rule, 3, seed=1)
    made.run(*lasec.streams.switching(50, dimension=3, every=25, seed=1))
    for t in range(4):
        made.ask([1.0, t, 0.5])
    return made.to_bytes()


@pytest.mark.parametrize("sealed", [False, True], ids=["accident", "attack"])
def test_ten_thousand_mutations(sealed):
    """Random damage to files of every rule, with and without a repaired digest."""
    rng = np.random.default_rng(0)
    files = [saved(rule) for rule in RULES]
    loaded = 0
    for number in range(MUTATIONS):
        mutant = mutate(files[number % len(files)], rng)
        try:
            learner = lasec.Learner.from_bytes(reseal(mutant[:-32]) if sealed else mutant)
        except lasec.StateError as error:
            assert str(error)
        else:
            loaded += valid(learner)
    # An unrepaired digest lets nothing through; a repaired one must let harmless changes through.
    assert loaded == 0 if not sealed else loaded > MUTATIONS // 100


def mutate(data, rng):
    """One to four random edits: flip bits, overwrite, delete, insert, repeat, or swap digits."""
    mutant = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(8, max(9, len(mutant))))
        span = int(rng.integers(1, 9))
        match rng.integers(6):
            case 0:
                mutant[at % len(mutant)] ^= 1 << int(rng.integers(8))
            case 1:
                mutant[at : at + span] = rng.bytes(min(span, len(mutant) - at))
            case 2:
                del mutant[at : at + span]
            case 3:
                mutant[at:at] = rng.bytes(span)
            case 4:
                mutant[at:at] = mutant[at : at + span]
            case 5:
                digits = [i for i, byte in enumerate(mutant) if 48 <= byte <= 57]
                if digits:
                    mutant[digits[int(rng.integers(len(digits)))]] = int(rng.integers(48, 58))
    return bytes(mutant) if bytes(mutant) != data else data[:-1]


def test_no_pickle_anywhere():
    for path in Path(lasec.__file__).parent.rglob("*.py"):
        text = path.read_text()
        assert "import pickle" not in text
        assert "allow_pickle" not in text


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_what_is_loaded_is_what_was_saved(rule, tmp_path):
    X, y = lasec.streams.switching(80, dimension=4, every=20, seed=1)
    learner = build(rule, 4, learn_from="labels", seed=2**64 - 1)
    learner.run(X, y)
    learner.ask(X[0])
    learner.save(tmp_path / "model.lasec")
    loaded = lasec.Learner.load(tmp_path / "model.lasec")
    assert loaded.to_bytes() == learner.to_bytes()
    assert (loaded.rule, loaded.query, loaded.pending) == (rule, learner.query, learner.pending)
    for ours, theirs in zip(leaves(loaded.state), leaves(learner.state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.flags.writeable


def test_a_failed_save_leaves_the_old_file(learner, tmp_path, monkeypatch):
    path = tmp_path / "model.lasec"
    learner.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        learner.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.lasec"]


def test_saving_keeps_the_files_mode_and_follows_links(learner, tmp_path):
    """A new file is its owner's alone; a link stays one, and what it points to is written."""
    real, link = tmp_path / "real", tmp_path / "link"
    learner.save(real)
    assert real.stat().st_mode & 0o777 == 0o600
    real.chmod(0o640)
    link.symlink_to(real)
    learner.save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert lasec.Learner.load(real).to_bytes() == learner.to_bytes()
    ahead = tmp_path / "ahead"
    ahead.symlink_to(tmp_path / "not there yet")
    learner.save(ahead)
    assert ahead.is_symlink()
    assert lasec.Learner.load(tmp_path / "not there yet").to_bytes() == learner.to_bytes()


def test_only_regular_files_are_written(learner, tmp_path):
    """A device, a pipe, a folder or a circle of links is refused, and left as it was."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    before = sorted(os.listdir(tmp_path))
    for place in ("/dev/null", *(tmp_path / name for name in ("pipe", "folder", "one"))):
        with pytest.raises(OSError, match=r"not a regular file|symbolic links"):
            learner.save(place)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_file_with_the_longest_name_is_saved(learner, tmp_path):
    name = "m" * 255
    learner.save(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_a_saved_file_outlives_a_power_cut(learner, tmp_path, monkeypatch):
    """The file is synced before it takes its place, and the folder after."""
    synced, fsync = [], os.fsync

    def noted(handle):
        there = stat.S_ISDIR(os.fstat(handle).st_mode)
        synced.append(("folder" if there else "file", (tmp_path / "model.lasec").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    learner.save(tmp_path / "model.lasec")
    assert synced == [("file", False), ("folder", True)]


@pytest.fixture
def strangers(tmp_path):
    """What is no model, and cannot be read to its end, or not in any time."""
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(6_000_000_000)
    with open(tmp_path / "liar", "wb") as file:
        file.write(struct.pack("<8sIIQ", container.SIGNATURE, 1, 100, 6_000_000_000))
    return ["/dev/zero", tmp_path, *(tmp_path / name for name in ("pipe", "large", "liar"))]


def test_what_is_no_model_is_refused_at_once(strangers):
    """Pipes, devices, 6 GB of zeros, and a short file that says that it is 6 GB long."""
    from lasec.tables import TableLearner

    began = time.perf_counter()
    for path in strangers:
        for load in (lasec.Learner.load, lasec.Tracker.load, TableLearner.load):
            with pytest.raises(lasec.StateError, match=r"^not a lasec model|^truncated: 24 bytes"):
                load(path)
    assert time.perf_counter() - began < 1.0


def test_the_command_line_refuses_what_is_no_model(strangers, tmp_path):
    from typer.testing import CliRunner

    from lasec.cli.app import app

    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"ticket": 0, "label": "a"}\n')
    for path in strangers[-3:]:
        for command in (["info", str(path)], ["tell", str(answers), "-m", str(path)]):
            said = CliRunner().invoke(app, command)
            assert said.exit_code == 2
            assert "not a lasec model" in said.output or "truncated" in said.output


@pytest.mark.parametrize("steps", [2**63 - 1, 2**62 + 1, -1])
@pytest.mark.parametrize("rule", [RULE["ShiftingPerceptron"], RULE["BudgetPerceptron"]], ids=repr)
def test_steps_that_would_overflow_are_refused(rule, steps):
    header, arrays = container.unpack(saved(rule))
    arrays["state.steps"][0] = steps
    refused(container.pack(header, arrays), "steps are negative or too many")


def test_a_support_that_does_not_sum_to_its_weights_is_refused():
    header, arrays = container.unpack(saved(RULE["BudgetPerceptron"]))
    arrays["state.weights"][0] += 1.0
    refused(container.pack(header, arrays), "weights are not the sum of the support")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("state.core.mixture.posterior", 0.5, "posterior is no probability"),
        ("state.core.mixture.posterior", -1e-3, "posterior is no probability"),
        ("state.core.mixture.clock", -1, "a count is negative"),
        ("state.core.mixture.clock", 2**62, "the clock contradicts itself"),
        ("state.core.mixture.clock[5]", 2, "the clock contradicts itself"),
        ("state.core.mixture.born", 10**6, "the clock contradicts itself"),
        ("state.counted.squares", -1.0, "a count or a mean square is negative"),
        ("state.core.dense.covs", -1.0, "cov is not positive definite"),
        ("selector.memory", -1.0, "the query's state holds impossible numbers"),
        ("selector.memory[1]", 1e9, "the query's state holds impossible numbers"),
        ("selector.memory[2]", 19.0, "the query's state holds impossible numbers"),
        ("selector.memory[3]", 1e9, "the query's state holds impossible numbers"),
        ("selector.memory[4]", -1.0, "the query's state holds impossible numbers"),
        ("selector.memory[9]", -1.0, "the query's state holds impossible numbers"),
        ("selector.memory[2]", np.nan, "memory contains NaN or a value"),
    ],
)
def test_a_tracker_that_lies_is_refused(name, value, words):
    tracker = lasec.Tracker(rate=0.5)
    tracker.run(*lasec.streams.switching(200, dimension=3, every=50, seed=1))
    header, arrays = container.unpack(tracker.to_bytes())
    name, _, column = name.partition("[")
    arrays[name].flat[int(column[:-1]) if column else 0] = value
    refused(container.pack(header, arrays), words)


def test_a_query_without_memory_has_none_in_the_file():
    header, arrays = container.unpack(lasec.SOP(dimension=2).to_bytes())
    assert arrays["selector.memory"].size == 0
    arrays["selector.memory"] = np.zeros(3)
    refused(container.pack(header, arrays), "the query's state has not the shape and type")


def test_a_rule_and_a_query_of_ones_own(tmp_path):
    """They are saved, also as a part of another query, and loaded where the classes are given."""
    from ownrule import Averaging, Contrary

    X, y = lasec.streams.switching(200, dimension=3, every=50, seed=1)
    for query in (Contrary(), lasec.queries.Budgeted(0.3, Contrary())):
        learner = lasec.Learner(Averaging(0.25), query, dimension=3, seed=4)
        learner.run(X[:100], y[:100])
        learner.save(tmp_path / "own.lasec")
        given = {"rules": [Averaging], "queries": [Contrary]}
        again = lasec.Learner.load(tmp_path / "own.lasec", **given)
        assert (again.rule, again.query) == (learner.rule, learner.query)
        assert again.to_bytes() == learner.to_bytes()
        np.testing.assert_array_equal(
            again.run(X[100:], y[100:]).margin, learner.run(X[100:], y[100:]).margin
        )
        for missing, name in (("rules", "Averaging"), ("queries", "Contrary")):
            with pytest.raises(lasec.StateError, match=f"^foreign: this lasec knows no '{name}'"):
                lasec.Learner.load(tmp_path / "own.lasec", **(given | {missing: []}))


def test_a_rule_of_ones_own_under_the_name_of_one_of_lasecs():
    """It is neither saved nor taken to load: it would come back as another rule."""
    from ownrule import Averaging

    class Perceptron(Averaging):
        pass

    with pytest.raises(TypeError, match=r"^Perceptron is the name of a part of lasec"):
        lasec.Learner(Perceptron(), dimension=2).to_bytes()
    with pytest.raises(ValueError, match=r"^Perceptron is the name of a part of lasec"):
        lasec.Learner.from_bytes(lasec.Perceptron(2).to_bytes(), rules=[Perceptron])
