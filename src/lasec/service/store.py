"""The store: SQLite or PostgreSQL behind a few calls that are the same for both.

Statements are written once, with ``?`` for a value. There is one writer: it holds a lock as long as
it lives, and makes one transaction after the other. Others read.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from lasec.errors import StateError

Values = Sequence[Any]
PATIENCE = 2.0  # seconds until PostgreSQL has noticed that a process is gone


class TakenError(StateError):
    """Another server writes to this store."""


class Store:
    """A database by its address: ``sqlite:///file.db``, a plain path, or ``postgresql://...``.

    >>> store = Store(":memory:")
    >>> store.migrate()
    >>> store.read("SELECT count(*) FROM models")
    [(0,)]
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_postgres = url.startswith(("postgres://", "postgresql://"))
        self._local = threading.local()
        self._made: list[Any] = []
        self._shared = None if url != ":memory:" else _sqlite(url)
        self._lock: Any = None
        self.writer = self.connect()

    def connect(self) -> Any:
        """A connection of its own, which commits when told to."""
        if self._shared is not None:
            return self._shared
        made = _postgres(self.url) if self.is_postgres else _sqlite(self._path)
        self._made.append(made)
        return made

    @property
    def _path(self) -> str:
        return self.url.removeprefix("sqlite:///")

    def text(self, statement: str) -> str:
        """A statement as the database wants it."""
        return statement.replace("?", "%s") if self.is_postgres else statement

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, on a connection of this thread."""
        if not hasattr(self._local, "connection"):
            self._local.connection = self.connect()
        found = self._local.connection.execute(self.text(statement), values).fetchall()
        return [tuple(row) for row in found]

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All that is written in it, or nothing; one at a time, on the writer's connection."""
        made = Transaction(self)
        try:
            yield made
            made.flush()
        except BaseException:
            with suppress(Exception):
                self.writer.execute("ROLLBACK")
            raise
        if made.begun:
            self.writer.execute("COMMIT")

    def lock(self) -> None:
        """Be the only writer until this process ends, or raise :class:`TakenError`."""
        if self.url == ":memory:":
            return
        if self.is_postgres:
            self._lock = self.connect()
            end = time.monotonic() + PATIENCE
            while not self._lock.execute("SELECT pg_try_advisory_lock(4077, 1)").fetchone()[0]:
                if time.monotonic() > end:
                    raise TakenError("another lasec serve writes to this database: stop it first")
                time.sleep(0.05)
            return
        from filelock import FileLock, Timeout  # noqa: PLC0415

        self._lock = FileLock(self._path + ".lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise TakenError("another lasec serve writes to this file: stop it first") from None

    def migrate(self) -> None:
        """Bring the tables to this version: numbered files, each once, in order."""
        with self.transaction() as tx:
            tx.run(
                "CREATE TABLE IF NOT EXISTS migrations "
                "(number INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL)"
            )
            done = {number for (number,) in tx.read("SELECT number FROM migrations")}
            for number, text in _migrations():
                if number not in done:
                    for statement in _statements(text, self.is_postgres):
                        tx.run(statement)
                    tx.run("INSERT INTO migrations VALUES (?, ?)", number, time.time())

    def close(self) -> None:
        """Let another writer begin."""
        for made in (*self._made, *([] if self._shared is None else [self._shared])):
            made.close()
        if self._lock is not None and not self.is_postgres:
            self._lock.release()


class Transaction:
    """What is written together; it begins with the first statement.

    Rows that are :meth:`put` are sent many at a time.
    """

    def __init__(self, store: Store) -> None:
        self._store, self.begun = store, False
        self.changed: dict[Any, None] = {}  # models whose journal has grown
        self._waiting: list[tuple[str, list[Values]]] = []

    def put(self, statement: str, *values: Any) -> None:
        """Write a row, at the latest when the transaction ends, in this order."""
        if not self._waiting or self._waiting[-1][0] != statement:
            self._waiting.append((statement, []))
        self._waiting[-1][1].append(values)

    def run(self, statement: str, *values: Any) -> None:
        """Carry out a statement at once."""
        self.flush()
        self._begin()
        self._store.writer.execute(self._store.text(statement), values)

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, what was put before included."""
        self.flush()
        self._begin()
        return list(self._store.writer.execute(self._store.text(statement), values).fetchall())

    def flush(self) -> None:
        """Send what was put."""
        if self._waiting:
            self._begin()
        for statement, rows in self._waiting:
            cursor = self._store.writer.cursor()
            cursor.executemany(self._store.text(statement), rows)
        self._waiting.clear()

    def _begin(self) -> None:
        if not self.begun:
            self._store.writer.execute("BEGIN" if self._store.is_postgres else "BEGIN IMMEDIATE")
            self.begun = True


def digest_of(*parts: bytes) -> str:
    """A fingerprint of a request, or of a key.

    >>> digest_of(b"a", b"b") == digest_of(b"a", b"b"), digest_of(b"ab") == digest_of(b"a", b"b")
    (True, False)
    """
    made = blake2b(digest_size=20)
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()


def _sqlite(path: str) -> sqlite3.Connection:
    made = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        made.execute(f"PRAGMA {pragma}")
    return made


def _postgres(url: str) -> Any:
    import psycopg  # noqa: PLC0415

    try:
        return psycopg.connect(url, autocommit=True, client_encoding="utf8")
    except psycopg.OperationalError as error:
        raise StateError(f"the database cannot be reached: {error}") from None


def _migrations() -> list[tuple[int, str]]:
    """The numbered files, in order."""
    found = files("lasec.service").joinpath("migrations").iterdir()
    named = sorted((file.name, file.read_text()) for file in found if file.name.endswith(".sql"))
    return [(int(name.partition(".")[0]), text) for name, text in named]


def _statements(text: str, postgres: bool) -> list[str]:
    r"""The statements of a file.

    >>> _statements("-- a note\nCREATE TABLE a (b BLOB);\nCREATE TABLE c (d TEXT);", True)
    ['CREATE TABLE a (b BYTEA)', 'CREATE TABLE c (d TEXT)']
    """
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    plain = "\n".join(lines).replace(" BLOB", " BYTEA" if postgres else " BLOB")
    return [part.strip() for part in plain.split(";") if part.strip()]
