"""Saving under kill -9, under other eyes, and by several at once.

The savers are forked from a process of its own that has all of lasec imported already: that takes
a millisecond, and nobody is forked from a test runner with threads.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

KILLS, SAVES = 200, 200

NURSERY = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np, lasec

folder = Path(sys.argv[1])
path = folder / "model.lasec"
one = lasec.LASEC(dimension=200)  # 320 KB
two = lasec.LASEC(dimension=200, seed=1)
two.learn(np.ones(200), -1)
known = {one.to_bytes(), two.to_bytes()}

def drafts():
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]

def child(work):
    number = os.fork()
    if number:
        return number
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)

def done(number):
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

def save_for_ever():
    while True:
        one.save(path)
        two.save(path)

def kills(count):
    rng, torn, left, after = random.Random(1), 0, 0, 0
    one.save(path)
    for _ in range(count):
        number = child(save_for_ever)
        time.sleep(rng.uniform(0.001, 0.02))
        os.kill(number, signal.SIGKILL)
        done(number)
        torn += lasec.Learner.load(path).to_bytes() not in known
        left += len(drafts())
        one.save(path)
        after += len(drafts())
    return {"torn": torn, "left": left, "after": after}

def modes(count):
    def work():
        for i in range(count):
            if i % 2:
                path.unlink()
            one.save(path)
    os.umask(0o022)
    one.save(path)
    path.chmod(0o600)
    number, seen, sightings = child(work), set(), 0
    while os.waitpid(number, os.WNOHANG) == (0, 0):
        for name in os.listdir(folder):
            try:
                mode = os.lstat(folder / name).st_mode & 0o777
            except FileNotFoundError:
                continue
            seen.add(oct(mode))
            sightings += name.endswith(".tmp")
    return {"modes": sorted(seen), "sightings": sightings}

def crowd(count):
    def work():
        for _ in range(count):
            one.save(path)
            two.save(path)
    one.save(path)
    savers, ends, loads = [child(work) for _ in range(3)], [], 0
    while savers:
        assert lasec.Learner.load(path).to_bytes() in known
        loads += 1
        number, status = os.waitpid(-1, os.WNOHANG)
        if number:
            savers.remove(number)
            ends.append(os.waitstatus_to_exitcode(status))
    return {"ends": ends, "loads": loads, "left": drafts()}

def live(_):
    from lasec import files
    ready, begun = os.pipe()
    def work():
        with files._draft(path, 0o600):
            os.write(begun, b"x")
            time.sleep(60)
    number = child(work)
    os.read(ready, 1)
    one.save(path)
    while_alive = len(drafts())
    os.kill(number, signal.SIGKILL)
    done(number)
    orphaned = len(drafts())
    one.save(path)
    return {"while alive": while_alive, "orphaned": orphaned, "after": len(drafts())}

print(json.dumps(globals()[sys.argv[2]](int(sys.argv[3]))))
"""


def nursed(folder, work, count=0):
    """What a process says that does some ``work`` in a folder."""
    source = Path(__file__).parents[2] / "src"
    setting = {"PYTHONPATH": str(source)} if source.is_dir() else {}
    said = subprocess.run(
        [sys.executable, "-c", NURSERY, str(folder), work, str(count)], check=True, timeout=300,
        env=os.environ | setting | {"OPENBLAS_NUM_THREADS": "1"}, stdout=subprocess.PIPE,
    )  # fmt: skip
    return json.loads(said.stdout)


def test_kill_while_saving(tmp_path):
    """The file is always a whole one, and the next save removes what a dead one has left."""
    found = nursed(tmp_path, "kills", KILLS)
    assert found["torn"] == 0
    assert found["after"] == 0
    assert found["left"] >= KILLS // 20, "no saver was killed in the middle of a save"
    assert os.listdir(tmp_path) == ["model.lasec"]


def test_nobody_else_can_read_a_model_while_it_is_saved(tmp_path):
    """Neither a new model nor a private one that is replaced, under a umask of 022."""
    found = nursed(tmp_path, "modes", SAVES)
    assert found["sightings"] >= SAVES // 10, "no draft was ever seen"
    assert found["modes"] == ["0o600"]


def test_savers_leave_each_other_alone(tmp_path):
    """Three processes save one model at once, without a lock of their own."""
    found = nursed(tmp_path, "crowd", SAVES // 4)
    assert found["ends"] == [0, 0, 0]
    assert found["loads"] > 10
    assert found["left"] == []


def test_a_draft_is_removed_when_its_writer_is_dead_and_not_before(tmp_path):
    found = nursed(tmp_path, "live")
    assert found == {"while alive": 1, "orphaned": 1, "after": 0}
