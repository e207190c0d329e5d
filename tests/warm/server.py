"""Forks a child for each connection: the command ``lasec`` with the streams that it is given."""

import contextlib
import io
import json
import os
import signal
import socket
import sys
import traceback
from pathlib import Path

MOST = 1 << 20  # bytes at a time
LIMIT = 300  # seconds of a child


def serve(address):
    """Fork a child for each connection, until standard input ends."""
    _warm(Path(address).parent)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        if not os.fork():
            _accept(listener)
    os.write(1, b"ready\n")
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def _accept(listener):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            _answer(connection)
        connection.close()


def _answer(connection):
    """Run one command in a child, and say its exit code."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    said = b""
    while len(said) < int.from_bytes(size, "big"):
        said += connection.recv(MOST)
    pid = os.fork()
    if not pid:
        connection.close()
        _be(*json.loads(said), streams)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(str(code).encode())
    os._exit(0)


def _be(arguments, folder, environment, streams):
    """Be the command; nobody returns from here."""
    code = 99  # an exception that nobody caught
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace")
        signal.alarm(LIMIT)
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _run(arguments):
    """The command in this process; its exit code."""
    from lasec.cli import main

    sys.argv = ["lasec", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _warm(folder):
    """Import what commands import, by running some."""
    file, out, model = folder / "warm.csv", folder / "out", folder / "warm.lasec"
    file.write_text("x,words,y\n" + "1,so many words here,a\n2,and others,b\n" * 20)
    real, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
    for more in (["--out", str(out)], ["--ignore", "x"]):
        _run(["run", str(file), "-l", "y", "--text", "words", *more])
    _run(["compare", str(file), "-l", "y", "--ignore", "words"])
    _run(["ask", "-m", str(model), "--classes", "a,b", os.devnull])
    sys.stdout, sys.stderr = real, sys.__stderr__


if __name__ == "__main__":
    serve(sys.argv[1])
