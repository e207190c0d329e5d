"""A database of the experiment's own: a SQLite file, or a PostgreSQL that is started for it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

FOLDERS = "/usr/lib/postgresql/*/bin"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
        return found


class SQLite:
    """A file; a crash of the database is a crash of the server."""

    def __init__(self, folder: Path) -> None:
        self.url = str(folder / "store.db")

    def crash(self) -> None:
        """Nothing of its own."""

    def close(self) -> None:
        """Nothing to stop."""


class Postgres:
    """A PostgreSQL server with data in a folder, run by the user postgres where we are root."""

    def __init__(self, folder: Path) -> None:
        self.data, self.port = folder / "postgres", free_port()
        self.bin = _bin()
        self.data.mkdir()
        if os.getuid() == 0:
            for parent in (self.data, *self.data.parents):
                if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o005:
                    parent.chmod(parent.stat().st_mode | 0o005)
            shutil.chown(self.data, "postgres", "postgres")
        self._run(
            "initdb", "-D", str(self.data), "-A", "trust", "-U", "lasec", "-E", "UTF8", "--no-sync"
        )
        self.start()
        self.url = f"postgresql://lasec@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        log = str(self.data / "log")
        self._run("pg_ctl", "-D", str(self.data), "-w", "-l", log, "-o", options, "start")

    def crash(self) -> None:
        """End it without a word to its clients, if it still runs, and start it again."""
        self.close()
        time.sleep(0.2)
        self.start()

    def close(self) -> None:
        """Stop it, if it runs."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")

    def _run(self, command: str, *given: str) -> None:
        call = [str(self.bin / command), *given]
        if os.getuid() == 0:
            call = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *call]
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        subprocess.run(  # noqa: S603
            call, check=True, cwd="/", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


def _bin() -> Path:
    """Where PostgreSQL's programs are."""
    found = shutil.which("initdb")
    if found and (Path(found).parent / "postgres").exists():
        return Path(found).parent
    folders = sorted(Path("/").glob(FOLDERS[1:]), key=lambda path: int(path.parent.name))
    if not folders:
        raise SystemExit("PostgreSQL is not here: install the package postgresql")
    return folders[-1]


@contextlib.contextmanager
def started(store: str, folder: Path) -> Iterator[SQLite | Postgres]:
    """The database of a name, until its user is done."""
    made = Postgres(folder) if store == "postgres" else SQLite(folder)
    try:
        yield made
    finally:
        made.close()
