"""The store: SQLite or PostgreSQL behind a few calls that are the same for both.

Statements are written once, with ``?`` for a value. There is one writer: it holds a lock as long as
it lives, and makes one transaction after the other. Others read.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from lasec.errors import StateError

Values = Sequence[object]
PATIENCE = 2.0  # seconds until PostgreSQL has noticed that a process is gone
BUSY = 10.0  # seconds that a statement waits for another process's transaction in SQLite
SCRUB = 1.0  # the same for a checkpoint, in which nobody can write
NETWORK = {  # of PostgreSQL, unless its address says otherwise: a silent host is gone in 30 s
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class StoreError(StateError):
    """The database failed, is away, or is not this server's any more."""


class TakenError(StoreError):
    """Another server writes to this store."""


class Store:
    """A database by its address: ``sqlite:///file.db``, a plain path, or ``postgresql://...``.

    What the database raises is raised as :class:`StoreError`, in one line without values of rows.

    A new SQLite file can be read by its owner alone (mode 0600), and so can its WAL, its index and
    the lock. A file that exists keeps its mode, because a backup may need it; a warning says so
    where everybody on the machine can read it. The lock is on the file behind all symbolic links;
    a file with several hard links is refused, because SQLite would keep a WAL for each name.

    With PostgreSQL, a commit waits for standbys if the database is set up so
    (``synchronous_standby_names``); without that, a failover can lose what was acknowledged last.
    A pooler between them must keep a session for each connection.

    >>> store = Store(":memory:")
    >>> store.migrate()
    >>> store.read("SELECT count(*) FROM models")
    [(0,)]
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_postgres = url.startswith(("postgres://", "postgresql://"))
        self._database: _Postgres | _Memory | _File
        path = url.removeprefix("sqlite:///")
        if self.is_postgres:
            self._database = _Postgres(url)
        else:
            self._database = _Memory() if path == ":memory:" else _File(path)
        self._idle: list[Any] = []  # connections that read nothing just now
        self._closed = False
        self.writer = self._database.connect()

    def text(self, statement: str) -> str:
        """A statement as the database wants it."""
        return statement.replace("?", "%s") if self.is_postgres else statement

    def read(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query, in any thread; a connection that was cut is replaced once.

        There are as many connections as threads that read at the same time.
        """
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = self._database.connect()
        try:
            return self._rows(reader, statement, values)
        except StoreError:
            if not self._database.is_cut(reader):
                raise
        return self._rows(self._database.connect(), statement, values)

    def _rows(self, reader: Any, statement: str, values: Values) -> list[tuple[Any, ...]]:
        try:
            with self.failing():
                found = reader.execute(self.text(statement), values).fetchall()
            return [tuple(row) for row in found]
        finally:
            if self._closed or self._database.is_cut(reader):
                reader.close()
            else:
                self._idle.append(reader)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Raise what the database raises as :class:`StoreError`."""
        try:
            yield
        except self._database.errors as error:
            raise StoreError(f"the database failed: {_first_line(error)}") from None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All that is written in it, or nothing; one at a time, on the writer's connection.

        When it ends without an error, all of it is on disk, in the database that was locked.
        """
        made = Transaction(self)
        try:
            yield made
            made.commit()
        except BaseException:
            with suppress(Exception):
                self.writer.execute("ROLLBACK")
            raise
        if made.begun and not self._database.is_there():
            raise StoreError("the file of the database was deleted, moved or replaced")

    def lock(self) -> None:
        """Be the only writer until this process ends, or raise :class:`TakenError`."""
        with self.failing():
            self._database.lock(self.writer)

    def holds_lock(self) -> bool:
        """Whether this is still the only writer, of the database that it locked.

        False where the lock's session was cut, or cannot be asked about, and where a file of the
        database was deleted, moved or replaced. Nothing should be acknowledged then.
        """
        return self._database.holds_lock(self)

    def scrub(self) -> bool:
        """Make sure that what was deleted is not in the files; False: try again later.

        SQLite overwrites what is deleted, but its write-ahead log (WAL) still has it: that is
        emptied here, unless somebody reads an older state just now, as a backup does.
        PostgreSQL keeps deleted rows until a ``VACUUM``, in its WAL until that is recycled, and in
        archives and backups as long as these are kept: that is the operator's part.
        """
        with self.failing():
            return self._database.scrub()

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
        self.scrub()  # a process that was killed may not have come to it

    def close(self) -> None:
        """Let another writer begin."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self.writer.close()
        self._database.release()


class Transaction:
    """What is written together; it begins with the first statement.

    Rows that are :meth:`put` are sent many at a time. When a statement has failed, all others are
    refused, and nothing is committed, even if the error was caught: a database may have rolled back
    what came before, and would commit what comes after.
    """

    def __init__(self, store: Store) -> None:
        self._store, self.begun, self._failed = store, False, False
        self.changed: dict[Any, None] = {}  # models whose journal has grown
        self.touched: dict[Any, None] = {}  # models that were changed in memory since the mark
        self.erased = False  # whether something was deleted that must not be found again
        self._waiting: list[tuple[str, list[Values]]] = []
        self._mark, self._saved = (0, 0), False

    def put(self, statement: str, *values: object) -> None:
        """Write a row, at the latest when the transaction ends, in this order."""
        if not self._waiting or self._waiting[-1][0] != statement:
            self._waiting.append((statement, []))
        self._waiting[-1][1].append(values)

    def run(self, statement: str, *values: object) -> int:
        """Carry out a statement at once; gives the number of rows that it changed."""
        self._save()
        self.flush()
        with self._writing() as writer:
            return int(writer.execute(self._store.text(statement), values).rowcount)

    def read(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query, what was put before included."""
        if self._mark != self._end():
            self._save()
        self.flush()
        with self._writing() as writer:
            return list(writer.execute(self._store.text(statement), values).fetchall())

    def flush(self) -> None:
        """Send what was put."""
        if self._waiting:
            with self._writing() as writer:
                for statement, rows in self._waiting:
                    writer.cursor().executemany(self._store.text(statement), rows)
        self._waiting.clear()
        self._mark = 0, 0

    def mark(self) -> None:
        """From here on, what is written can be undone by itself."""
        if self._saved:
            self.flush()
            with self._writing() as writer:
                writer.execute("RELEASE SAVEPOINT job")
        self._mark, self._saved, self.touched = self._end(), False, {}

    def undo(self) -> None:
        """Undo what was written since the mark."""
        if self._saved:
            self._waiting.clear()
            with self._writing() as writer:
                writer.execute("ROLLBACK TO SAVEPOINT job")
        else:
            self._since_mark()

    def _end(self) -> tuple[int, int]:
        """How much waits: the number of statements, and of rows of the last one."""
        return len(self._waiting), len(self._waiting[-1][1]) if self._waiting else 0

    def _save(self) -> None:
        """Keep what was there at the mark, before something is carried out at once."""
        if not self._saved:
            mine = self._since_mark()
            self.flush()
            with self._writing() as writer:
                writer.execute("SAVEPOINT job")
            self._waiting, self._saved = mine, True

    def _since_mark(self) -> list[tuple[str, list[Values]]]:
        """What was put since the mark, which waits no longer."""
        groups, rows = self._mark
        mine = self._waiting[groups:]
        del self._waiting[groups:]
        if groups and len(self._waiting[-1][1]) > rows:
            statement, values = self._waiting[-1]
            mine.insert(0, (statement, values[rows:]))
            del values[rows:]
        return mine

    def commit(self) -> None:
        """Send what was put, and make all of it durable."""
        self.flush()
        if self.begun or self._failed:
            with self._writing() as writer:
                said = writer.execute("COMMIT")
            if self._store.is_postgres and said.statusmessage != "COMMIT":
                raise StoreError(f"the database failed: {said.statusmessage} instead of COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """The writer's connection, in a transaction in which nothing has failed."""
        if self._failed:
            raise StoreError("the database failed: a statement before this one was refused")
        self._failed = True
        with self._store.failing():
            if not self.begun:
                begin = "BEGIN" if self._store.is_postgres else "BEGIN IMMEDIATE"
                self._store.writer.execute(begin)
                self.begun = True
            yield self._store.writer
        self._failed = False


class _Memory:
    """A database of this process, with one connection; for tests and examples."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self) -> None:
        self._shared = _sqlite(":memory:")

    def connect(self) -> sqlite3.Connection:
        """The one connection."""
        return self._shared

    def is_cut(self, connection: Any) -> bool:
        """Whether a connection is of no use any more."""
        return False

    def is_there(self) -> bool:
        """Whether the files are those that were locked."""
        return True

    def lock(self, writer: Any) -> None:
        """Nobody else can write."""

    def holds_lock(self, store: Store) -> bool:
        """Nobody else can write."""
        return True

    def release(self) -> None:
        """Nobody waits."""

    def scrub(self) -> bool:
        """Nothing is on disk."""
        return True


class _File(_Memory):
    """A SQLite file, and what SQLite keeps next to it."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        with suppress(FileExistsError):  # closing a file that is open here would lose its locks
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        self._check(path)
        self._lock: Any = None
        self._locked: list[tuple[int, int]] = []

    def _check(self, path: str) -> None:
        """Refuse a file that cannot be served, before SQLite makes others of the same mode."""
        found, effective = Path(self._path).stat(), os.access in os.supports_effective_ids
        for each in (self._path, str(Path(self._path).parent)):
            if not os.access(each, os.R_OK | os.W_OK, effective_ids=effective):
                raise StoreError(f"{each} is read-only: SQLite writes to the file and its folder")
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            raise StoreError(
                f"{path} has {found.st_nlink} names (hard links), which SQLite cannot keep apart: "
                "copy it, and serve the copy"
            )
        if os.name == "posix" and found.st_mode & stat.S_IROTH:
            warnings.warn(
                f"everybody on this machine can read {path}, which has rows and the digests of "
                f"keys: chmod 600 {path}*", stacklevel=5
            )  # fmt: skip

    def connect(self) -> sqlite3.Connection:
        return self._connected(BUSY)

    def _connected(self, busy: float) -> sqlite3.Connection:
        address = Path(self._path).as_uri() + "?mode=rw"  # a file that was deleted is not made
        try:
            return _sqlite(address, busy)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {_first_line(error)}") from None

    def lock(self, writer: sqlite3.Connection) -> None:
        from filelock import FileLock, Timeout  # noqa: PLC0415

        made = FileLock(self._path + ".lock", mode=0o600, thread_local=False)
        try:
            made.acquire(timeout=0)
        except Timeout:
            raise TakenError("another lasec serve writes to this file: stop it first") from None
        self._lock = made
        writer.execute("SELECT count(*) FROM sqlite_master").fetchall()  # opens the WAL
        self._locked = self._files()

    def _files(self) -> list[tuple[int, int]]:
        """Which files the database is, as the system numbers them; none if one is missing."""
        try:
            found = [os.stat(self._path + end) for end in ("", "-wal", "-shm", ".lock")]
        except OSError:
            return []
        return [(each.st_dev, each.st_ino) for each in found]

    def is_there(self) -> bool:
        return self._lock is None or self._files() == self._locked

    def holds_lock(self, store: Store) -> bool:
        return self._lock is not None and self.is_there()

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def scrub(self) -> bool:
        with closing(self._connected(SCRUB)) as made:
            ((busy, _, _),) = made.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not busy


class _Postgres:
    """A PostgreSQL database. The writer's own session has the lock: without it nothing is written.

    So whatever ends that session, a restart or a failover, ends what this server can write.
    """

    def __init__(self, url: str) -> None:
        import psycopg  # noqa: PLC0415
        from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

        self._connect: Any = psycopg.connect
        self._url, self._pid = url, 0
        self.errors: tuple[type[Exception], ...] = (psycopg.Error,)
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            given = {}
        if not given or not _is_plain(url, str(given.get("port", ""))):
            raise StoreError(  # without the words of the database, which may be of the password
                "the address of the database is not valid: it is "
                "postgresql://user:password@host:port/database?options, where / @ : ? # and % of "
                "a password are written as %2F %40 %3A %3F %23 and %25"
            )
        self._secrets = [str(given[name]) for name in given if "password" in name]
        self._network = {name: NETWORK[name] for name in NETWORK if name not in given}

    def connect(self) -> Any:
        """A connection of its own, which commits when told to."""
        try:
            return self._connect(
                self._url, autocommit=True, client_encoding="utf8", **self._network
            )
        except self.errors as error:
            words = " ".join(str(error).split())
            for secret in self._secrets:
                words = words.replace(secret, "***")
            raise StoreError(f"the database cannot be reached: {words}") from None

    def is_cut(self, connection: Any) -> bool:
        """Whether a connection is of no use any more."""
        return bool(connection.closed)

    def is_there(self) -> bool:
        """Whether it is the database that was locked: its session cannot be with another."""
        return True

    def lock(self, writer: Any) -> None:
        """Take the lock; commits wait for the disk, even where the database is set up otherwise."""
        end = time.monotonic() + PATIENCE
        take = "SELECT pg_try_advisory_lock(4077, 1), pg_backend_pid()"
        while not (found := writer.execute(take).fetchone())[0]:
            if time.monotonic() > end:
                raise TakenError("another lasec serve writes to this database: stop it first")
            time.sleep(0.05)
        self._pid = found[1]
        writer.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )

    def holds_lock(self, store: Store) -> bool:
        """Whether the writer's session is there, and has the lock."""
        try:
            found = store.read(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 4077 "
                "AND objid = 1 AND pid = ? AND granted", self._pid,
            )  # fmt: skip
        except StoreError:
            return False
        return found == [(1,)]

    def release(self) -> None:
        """The lock went with the writer's connection."""

    def scrub(self) -> bool:
        """Nothing can be done from here."""
        return True


def digest_of(*parts: bytes) -> str:
    """A fingerprint of a request, or of a key.

    >>> digest_of(b"a", b"b") == digest_of(b"a", b"b"), digest_of(b"ab") == digest_of(b"a", b"b")
    (True, False)
    """
    made = blake2b(digest_size=20)
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()


def _first_line(error: Exception) -> str:
    """What a database says, without the values of rows that PostgreSQL has in further lines."""
    return str(error).strip().partition("\n")[0]


def _is_plain(url: str, port: str) -> bool:
    """Whether an address can be understood in one way only, so that messages have no password.

    >>> _is_plain("postgresql://me:a%2Fb@db:5432/lasec", "5432")
    True
    >>> _is_plain("postgresql://me:a/b@db:5432/lasec", "a")
    False
    """
    place = url.partition("://")[2].partition("?")[0]
    user = place.rpartition("@")[0]
    return not any(mark in user for mark in "/@#") and not port.strip("0123456789,")


def _sqlite(address: str, busy: float = BUSY) -> sqlite3.Connection:
    made = sqlite3.connect(
        address, isolation_level=None, check_same_thread=False, timeout=busy, uri=True
    )
    for pragma in (
        "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON",
    ):  # fmt: skip
        made.execute(f"PRAGMA {pragma}")
    return made


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
