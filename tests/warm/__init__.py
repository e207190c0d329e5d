"""``lasec`` as a process of its own that has imported everything already.

``command("run", "rows.csv")`` is the command line of a process as any other, with its own streams,
folder, environment and exit code, for :mod:`subprocess`. It starts in 30 ms instead of a second:
it hands its streams to a server of this process of tests, which forks a child that has lasec
imported, and waits for it. What is sent a signal, or depends on what is imported and when, is
started as users do: ``REAL``.
"""

import atexit
import functools
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

LIMIT = 60  # seconds for a call of run_all
REAL = [sys.executable, "-m", "lasec.cli"]
HERE = Path(__file__).parent


def command(*arguments):
    """The command line of ``lasec`` with these arguments."""
    return [sys.executable, "-IS", str(HERE / "call.py"), _address(), *map(str, arguments)]


class Result(NamedTuple):
    """How a call ended: its exit code, minus the signal that killed it, and what it printed."""

    code: int
    out: str
    err: str
    seconds: float


def run_all(calls, folder):
    """The results of calls in a folder: arguments, and what is given on standard input."""
    return [_result(arguments, given.encode("latin-1"), folder) for arguments, given in calls]


def _result(arguments, given, folder):
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command(*arguments), input=given, capture_output=True, check=False, cwd=folder,
            timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Result(-signal.SIGALRM, "", "", LIMIT)
    out, err = (text.decode("utf-8", "backslashreplace") for text in (done.stdout, done.stderr))
    return Result(done.returncode, out, err, time.monotonic() - begin)


def on_path(folder):
    """Put ``lasec`` into a folder; what runs until it is stopped is started as users do."""
    file = Path(folder, "lasec")
    warmed, real = (" ".join(map(repr, words)) for words in (command(), REAL))
    file.write_text(
        "#!/bin/sh\n"
        f'case "$1" in serve|spark|handover) exec {real} "$@" ;; esac\n'
        f'exec {warmed} "$@"\n'
    )
    file.chmod(0o755)


@functools.cache
def _address():
    """Where the server listens, which is started with the first command."""
    folder = tempfile.TemporaryDirectory(prefix="lasec-warm-")
    address = str(Path(folder.name, "socket"))
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), address], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert server.stdout.readline() == b"ready\n"
    atexit.register(_end, server, folder)
    return address


def _end(server, folder):
    server.stdin.close()
    server.wait()
    server.stdout.close()
    folder.cleanup()
