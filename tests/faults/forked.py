"""Runs the command ``lasec`` many times: a warmed process forks one child for each call.

``python forked.py FOLDER`` takes a JSON list of calls on standard input, each a list of arguments
and what is given on standard input (as latin-1), and prints a JSON list of results.
"""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

LIMIT = 60  # seconds for one call


class Result(NamedTuple):
    """How a call ended: its exit code, minus the signal that killed it, and what it printed."""

    code: int
    out: str
    err: str
    seconds: float


def run_all(calls, folder, *, words=False):
    """The results of calls, made in ``folder``; with ``words``, some of tables of texts."""
    asked = json.dumps([(list(map(str, arguments)), given) for arguments, given in calls])
    done = subprocess.run(
        [sys.executable, __file__, str(folder), *["words"] * words], input=asked,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Result(*result) for result in json.loads(done.stdout.splitlines()[-1])]


def command(arguments):
    """The command in this process; its exit code."""
    from lasec.cli import main

    sys.argv = ["lasec", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def child(arguments, streams):
    """Only the child comes here, and it never returns."""
    code = 99  # an exception that nobody caught
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace")
        signal.alarm(LIMIT)
        code = command(arguments)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def one(arguments, given):
    paths = [Path(f".{name}") for name in ("stdin", "stdout", "stderr")]
    paths[0].write_bytes(given.encode("latin-1"))
    begin = time.monotonic()
    with (
        open(paths[0], "rb") as given_file,
        open(paths[1], "wb") as out,
        open(paths[2], "wb") as err,
    ):
        if not (pid := os.fork()):
            child(arguments, (given_file, out, err))
        _, status = os.waitpid(pid, 0)
    out, err = (path.read_bytes().decode("utf-8", "backslashreplace") for path in paths[1:])
    return os.waitstatus_to_exitcode(status), out, err, time.monotonic() - begin


def serve(folder, words):
    calls = json.loads(sys.stdin.read())
    os.chdir(folder)
    real, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
    Path(".warm.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    for name in ("tracker", "perceptron"):
        command(["run", ".warm.csv", "-l", "y", "-a", name])
    Path(".words.csv").write_text("x,z,y\n" + "1,so many words here,a\n2,and others,b\n" * 20)
    for more in ([], ["--ignore", "x"]) if words else ():
        command(["run", ".words.csv", "-l", "y", "--text", "z", *more])
    command(["ask", "-m", ".warm.lasec", "--classes", "a,b", os.devnull])
    json.dump([one(arguments, given) for arguments, given in calls], real)


if __name__ == "__main__":
    serve(sys.argv[1], "words" in sys.argv[2:])
