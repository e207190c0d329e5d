"""One lock for one model, whatever name it is reached by."""

import json
import os
import subprocess
import time
from contextlib import ExitStack

import numpy as np
import pytest

import lasec
import warm
from lasec.tables import TableLearner


def call(*arguments, given="", check=True, **options):
    return subprocess.run(
        warm.command(*arguments), input=given, capture_output=True, text=True, check=check,
        timeout=120, **options,
    )  # fmt: skip


def rows(count):
    return "".join(json.dumps({"x": i % 7 - 3.0, "z": i % 5 - 2.0}) + "\n" for i in range(count))


def at_once(folder, what, names, given):
    """The lines that two commands print that run at the same time, each under its own name.

    Both answer a first line before they get the rest, so that neither has ended when they race.
    """
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [*warm.REAL, what, "-m", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    cwd=folder, text=True, bufsize=1,
                )
            )
            for name in names
        ]  # fmt: skip
        texts = [text.split("\n", 1) for text in given]
        said = []
        for process, (first, _) in zip(running, texts, strict=True):
            process.stdin.write(first + "\n")
            said.append(process.stdout.readline())
        for process, (_, rest) in zip(running, texts, strict=True):
            process.stdin.write(rest)
        for process in running:
            process.stdin.close()
        said += [line for process in running for line in process.stdout]
        assert [process.wait() for process in running] == [0, 0]
    return said


NEW = ("--classes", "n,y", "-a", "perceptron-ss", "--rate", "1", "--seed", "1")


@pytest.mark.parametrize("other", ["latest.lasec", "./sub/../model.lasec", "absolute"])
def test_two_names_for_one_model_lose_no_answer(tmp_path, other):
    (tmp_path / "sub").mkdir()
    os.symlink("model.lasec", tmp_path / "latest.lasec")
    second = tmp_path / "model.lasec" if other == "absolute" else other
    told = call("ask", "-m", "model.lasec", *NEW, given=rows(80), cwd=tmp_path).stdout
    tickets = [json.loads(text)["ticket"] for text in told.splitlines()]
    assert len(tickets) == 80
    # An empty line ends a handful: 40 of them from each side, each with a lock of its own.
    halves = [
        "\n\n".join(json.dumps({"ticket": t, "label": "y"}) for t in half) + "\n"
        for half in (tickets[::2], tickets[1::2])
    ]
    said = at_once(tmp_path, "tell", ["model.lasec", second], halves)
    assert len(said) == 80
    learner = TableLearner.load(tmp_path / "model.lasec").learner
    assert (learner.told, len(learner.pending)) == (80, 0)
    assert (tmp_path / "latest.lasec").is_symlink()


def test_two_names_give_out_no_ticket_twice(tmp_path):
    call("ask", "-m", tmp_path / "model.lasec", *NEW, given=rows(1))
    os.symlink("model.lasec", tmp_path / "latest.lasec")
    given = "\n".join(rows(40).splitlines(keepends=True))
    said = at_once(tmp_path, "ask", ["model.lasec", "latest.lasec"], [given, given])
    assert len({json.loads(text)["ticket"] for text in said}) == len(said) == 80


def test_a_run_holds_its_model(tmp_path):
    X, y = lasec.streams.switching(150_000, dimension=20, seed=1)
    columns = np.column_stack([np.round(X, 3), y])
    names = ",".join([f"x{j}" for j in range(20)] + ["y"])
    np.savetxt(tmp_path / "s.csv", columns, "%g", ",", header=names, comments="")
    out = tmp_path / "out"
    run = subprocess.Popen(
        [*warm.REAL, "run", tmp_path / "s.csv", "--label", "y", "--out", out, "--seed", "1"],
        stdout=subprocess.DEVNULL,
    )
    while not (out / "model.lasec").exists():
        time.sleep(0.05)
        assert run.poll() is None
    second = call("run", tmp_path / "s.csv", "--label", "y", "--out", out, "--force", check=False)
    row = json.dumps(dict.fromkeys((f"x{j}" for j in range(20)), 0.1)) + "\n"
    waited = call("ask", "-m", out / "model.lasec", given=row)
    assert run.wait() == 0
    assert second.returncode == 2
    assert "is in use by another lasec process" in second.stderr
    assert json.loads(waited.stdout)["ticket"] == 150_000  # after the run, which lost nothing
    assert TableLearner.load(out / "model.lasec").learner.rows == 150_001


def test_only_the_owner_can_open_the_lock(tmp_path):
    call("ask", "-m", tmp_path / "model.lasec", *NEW, given=rows(1), umask=0)
    assert (tmp_path / ".model.lasec.lock").stat().st_mode & 0o777 == 0o600
