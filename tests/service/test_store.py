"""SQLite as a store: who may read and lock its files, and what happens when they fail."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from lasec.cli.serve import _shown
from lasec.service import store as stores
from lasec.service.store import Store, StoreError, TakenError
from service.process import ENDED, process
from service.undone import carry_out

ENDS = ("", "-wal", "-shm", ".lock")
NOBODY = 65_534
linux = pytest.mark.skipif(sys.platform != "linux", reason="as Linux has it")


@contextmanager
def opened(path):
    """A store as a server has it."""
    made = Store(str(path))
    try:
        made.lock()
        made.migrate()
        yield made
    finally:
        made.close()


def add(store, tenant):
    with store.transaction() as tx:
        tx.put("INSERT INTO tenants VALUES (?, ?)", tenant, 1.0)


def tenants(store):
    return [name for (name,) in store.read("SELECT tenant FROM tenants ORDER BY tenant")]


# The lock


def test_a_file_is_one_store_by_whatever_name(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    file = tmp_path / "real" / "a.db"
    (tmp_path / "b.db").symlink_to(file)
    monkeypatch.chdir(tmp_path)
    with opened(file):
        for name in ("b.db", "folder/a.db", "real/../real/a.db", "sqlite:///real/a.db"):
            other = Store(name)
            with closing(other), pytest.raises(TakenError, match="stop it first"):
                other.lock()
    with opened("b.db"):
        pass


def test_a_file_with_two_names_is_refused(tmp_path):
    file = tmp_path / "a.db"
    with opened(file):
        os.link(file, tmp_path / "b.db")
        with pytest.raises(StoreError, match=r"b\.db has 2 names \(hard links\)"):
            Store(str(tmp_path / "b.db"))
    (tmp_path / "b.db").unlink()
    with opened(file) as store:
        assert store.holds_lock()


def test_the_lock_is_let_go_by_any_thread(tmp_path):
    store = Store(str(tmp_path / "a.db"))
    assert not store.holds_lock()
    store.lock()
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join()
    with opened(tmp_path / "a.db"):
        pass


# Its files


@pytest.mark.skipif(os.name != "posix", reason="as POSIX has it")
def test_files_are_the_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        with opened(tmp_path / "a.db") as store:
            add(store, "acme")
            modes = {end: stat.S_IMODE(os.stat(f"{tmp_path}/a.db{end}").st_mode) for end in ENDS}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(ENDS, 0o600)


@pytest.mark.skipif(os.name != "posix", reason="as POSIX has it")
def test_a_file_that_others_can_read_is_left_so_with_a_warning(tmp_path):
    file = tmp_path / "a.db"
    with opened(file) as store:
        add(store, "acme")
    file.chmod(0o640)
    with opened(file):
        pass
    file.chmod(0o644)
    with pytest.warns(UserWarning, match="chmod 600"), opened(file) as store:
        assert tenants(store) == ["acme"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("how", ["deleted", "replaced", "moved"])
def test_nothing_is_committed_to_a_file_that_is_gone(tmp_path, end, how):
    with opened(tmp_path / "a.db") as store:
        add(store, "acme")
        assert store.holds_lock()
        file = Path(f"{tmp_path}/a.db{end}")
        if how == "moved":
            file.rename(tmp_path / "elsewhere")
        else:
            shutil.copy(file, tmp_path / "copy")
            file.unlink()
        if how == "replaced":
            shutil.copy(tmp_path / "copy", file)
        assert not store.holds_lock()
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            add(store, "late")


def test_a_reader_makes_no_new_file(tmp_path):
    with opened(tmp_path / "a.db") as store:
        for end in ENDS:
            Path(f"{tmp_path}/a.db{end}").unlink()
        with pytest.raises(StoreError, match="unable to open"):
            store.read("SELECT 1")
        assert not list(tmp_path.iterdir())


def test_a_server_ends_when_its_file_is_deleted(tmp_path):
    with process(tmp_path, str(tmp_path / "a.db")) as server:
        assert server.ask() == 200
        for end in ENDS:
            Path(f"{tmp_path}/a.db{end}").unlink()
        with pytest.raises(httpx.TransportError):
            server.ask()
        assert server.process.wait(10) == ENDED
        assert "the server ends" in server.log.read_text()


# What was erased


def test_what_was_deleted_is_in_no_file(tmp_path):
    secrets = [f"alice-{number}@example.org" for number in range(300)]
    with opened(tmp_path / "a.db") as store:
        for number, secret in enumerate(secrets):
            item = secret * (1 + number % 700)
            with store.transaction() as tx:
                tx.put(_QUESTION, number, secret, item)
                tx.put(_REPLY, f"ask:'{secret}'", secret.encode())
        assert found(tmp_path, secrets) == secrets
        with store.transaction() as tx:
            tx.run("DELETE FROM questions WHERE ticket <> 7")
            tx.run("DELETE FROM replies WHERE name <> ?", f"ask:'{secrets[7]}'")
        assert found(tmp_path, secrets) == secrets
        assert store.scrub()
        assert found(tmp_path, secrets) == [secrets[7]]


_QUESTION = "INSERT INTO questions VALUES ('t', 'm', ?, ?, ?, 0.5, 1, 0.0, 'open', NULL, 'null')"
_REPLY = "INSERT INTO replies VALUES ('t', 'm', ?, 'digest', ?, 0.0)"


def found(folder, secrets):
    """Those that are in a file of the store."""
    data = b"".join(file.read_bytes() for file in folder.iterdir())
    return [secret for secret in secrets if secret.encode() in data]


def test_a_reader_of_the_past_does_not_stop_the_writer(tmp_path):
    path = str(tmp_path / "a.db")
    with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as backup:
        add(store, "acme")
        backup.execute("BEGIN")
        backup.execute("SELECT * FROM tenants").fetchall()
        add(store, "alice")
        began = time.monotonic()
        assert not store.scrub()
        assert time.monotonic() - began < stores.BUSY / 2
        add(store, "bob")
        backup.execute("COMMIT")
        assert store.scrub()
        assert os.path.getsize(path + "-wal") == 0


def test_a_start_scrubs_what_a_killed_process_left(tmp_path):
    path = str(tmp_path / "a.db")
    call = [
        sys.executable, "-c", "import os, sys; from lasec.service.store import Store;"
        "s = Store(sys.argv[1]); s.lock(); s.migrate(); t = s.transaction(); x = t.__enter__();"
        "x.put('INSERT INTO tenants VALUES (?, ?)', 'alice', 1.0); t.__exit__(None, None, None);"
        "t = s.transaction(); x = t.__enter__(); x.run('DELETE FROM tenants');"
        "t.__exit__(None, None, None); os._exit(9)", path,
    ]  # fmt: skip
    assert subprocess.run(call, check=False).returncode == 9
    assert found(tmp_path, ["alice"]) == ["alice"]
    with opened(path):
        assert found(tmp_path, ["alice"]) == []


# Connections and transactions


@linux
def test_connections_do_not_pile_up(tmp_path):
    path = str(tmp_path / "a.db")
    with opened(path) as store:
        for _ in range(30):
            thread = threading.Thread(target=tenants, args=(store,))
            thread.start()
            thread.join()
        links = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        assert links.count(path) == 2  # the writer, and one for all who read
    assert path not in [
        os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
    ]


def test_threads_read_while_the_writer_writes(tmp_path):
    with opened(tmp_path / "a.db") as store:
        seen, stop = [], threading.Event()

        def reader():
            while not stop.is_set():
                seen.append(len(tenants(store)))

        threads = [threading.Thread(target=reader) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(50):
            add(store, f"t{number:02}")
        stop.set()
        for thread in threads:
            thread.join()
        assert set(seen) <= set(range(51))
        assert len(tenants(store)) == 50


def test_after_a_statement_that_failed_nothing_is_committed(tmp_path):
    with opened(tmp_path / "a.db") as store:
        add(store, "acme")
        for error, *values in ((StoreError, "acme", 1.0), (OverflowError, "big", 2**70)):
            with pytest.raises(StoreError, match="before this one"):
                fail_and_carry_on(store, error, values)
            assert tenants(store) == ["acme"]
        add(store, "later")
        assert tenants(store) == ["acme", "later"]


def fail_and_carry_on(store, error, values):
    """A transaction in which somebody catches the error of a statement."""
    insert = "INSERT INTO tenants VALUES (?, ?)"
    with store.transaction() as tx:
        tx.put(insert, "before", 1.0)
        with pytest.raises(error):
            tx.run(insert, *values)
        tx.put(insert, "after", 1.0)


def test_jobs_that_are_undone_leave_nothing(tmp_path):
    with opened(tmp_path / "a.db") as store:
        for seed in range(150):
            assert carry_out(store, seed) == tenants(store)


# A disk that is full, read only or locked


@contextmanager
def disk(folder, size):
    """A file system of its own."""
    folder.mkdir()
    call = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(call, check=False).returncode:
        pytest.skip("mounts are not allowed")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@linux
def test_a_full_disk_ends_the_server_and_loses_nothing(tmp_path):
    with disk(tmp_path / "disk", "16m") as folder:
        with process(tmp_path, str(folder / "a.db")) as server:
            for _ in range(3):
                assert server.ask() == 200
            assert server.ask_until_it_ends(size=400_000) == ENDED
            assert "full" in server.log.read_text()
        assert len(server.acknowledged) > 5
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
        assert server.kept()[: len(server.acknowledged)] == server.acknowledged


@linux
def test_a_file_that_may_not_grow_is_not_damaged(tmp_path):
    import resource

    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    path, kept = str(tmp_path / "a.db"), []
    with opened(path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, most[1]))
        try:
            with pytest.raises(StoreError, match="the database failed: d"):
                fill(store, kept)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        assert kept
        assert tenants(store) == kept
        add(store, "later")
    with opened(path) as store:
        assert tenants(store) == [*kept, "later"]
        assert store.read("PRAGMA integrity_check") == [("ok",)]


def fill(store, kept):
    """Write until it fails."""
    for number in range(100):
        name = f"{number:03}" * 10_000
        add(store, name)
        kept.append(name)


@contextmanager
def unprivileged():
    """As a user whom the modes of files bind."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def take(path):
    """Open a store, and let it go."""
    with opened(path):
        pass


@linux
@pytest.mark.parametrize("what", ["file", "folder", "new"])
def test_a_store_that_may_not_be_written_is_refused_in_a_line(tmp_path, what):
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.geteuid() and parent.stat().st_mode & 0o011 != 0o011:
            parent.chmod(parent.stat().st_mode | 0o011)
    folder = tmp_path / "folder"
    path = folder / "a.db"
    folder.mkdir()
    if what != "new":
        take(path)
        path.chmod(0o400 if what == "file" else 0o600)
    for each in (folder, *folder.iterdir()):
        os.chown(each, os.geteuid() or NOBODY, -1)
    folder.chmod(0o700 if what == "file" else 0o500)
    with unprivileged(), pytest.raises((StoreError, OSError)) as raised:
        take(path)
    assert re.search("is read-only|Permission denied", str(raised.value))
    assert "\n" not in str(raised.value)
    folder.chmod(0o700)
    if what != "new":
        path.chmod(0o600)
    with unprivileged():
        take(path)


@linux
def test_a_disk_that_becomes_read_only_loses_nothing(tmp_path):
    with disk(tmp_path / "disk", "16m") as folder:
        path = folder / "a.db"
        with opened(path) as store:
            add(store, "acme")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        with pytest.raises(StoreError, match="is read-only"):
            take(path)
        subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
        with opened(path) as store:
            assert tenants(store) == ["acme"]


def test_a_store_that_another_process_locks_is_waited_for_and_then_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "BUSY", 0.5)
    path = str(tmp_path / "a.db")
    with opened(path) as store:
        add(store, "acme")
        with locking(path) as other:
            with pytest.raises(StoreError, match="the database failed: database is locked"):
                add(store, "late")
            assert tenants(store) == ["acme"]
            assert store.holds_lock()
            timer = threading.Timer(0.1, other.stdin.close)
            timer.start()
            add(store, "next")  # waits
            timer.join()
        assert tenants(store) == ["acme", "next"]


@contextmanager
def locking(path):
    """Another process that lets nobody write until its input ends."""
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); sys.stdin.read()"
    )
    call = [sys.executable, "-c", program, path]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"locked\n"
        yield other


# What is shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://lasec:secret@db/lasec",
        "postgres://:secret@db:5432,other:5432/lasec?sslmode=require",
        "postgresql://db/lasec?password=secret",
        "postgresql://lasec@db/lasec?sslmode=require&password=secret&sslpassword=secret",
        "postgresql://lasec:secret@db/lasec?sslpassword=secret",
        "postgresql://lasec:sec/secret@db/lasec",
    ],
)
def test_no_password_is_shown(address):
    shown = _shown(address)
    assert "secret" not in shown
    assert "***" in shown
    assert "db" in shown


def test_rows_of_a_job_keep_their_order_where_a_mark_falls_among_them(tmp_path):
    """A row that is put with those of the job before is written before what the job puts later."""
    store = Store(str(tmp_path / "store.db"))
    store.migrate()
    insert, rename = "INSERT INTO tenants VALUES (?, ?)", "UPDATE tenants SET tenant = ?"
    with store.transaction() as tx:
        tx.mark()
        tx.put(insert, "first", 1.0)
        tx.mark()
        tx.put(insert, "second", 1.0)
        tx.put(f"{rename} WHERE tenant = 'second'", "renamed")
        tx.run(insert, "third", 1.0)
    found = store.read("SELECT tenant FROM tenants ORDER BY tenant")
    assert found == [("first",), ("renamed",), ("third",)]
    store.close()
