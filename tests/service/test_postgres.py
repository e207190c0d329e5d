"""PostgreSQL as a store: sessions that are cut, restarts, a failover, and no password in a log."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from experiments.serving.databases import Postgres, free_port

from lasec.service import store as stores
from lasec.service.store import Store, StoreError, TakenError
from service.process import ENDED, process
from service.undone import carry_out

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.skipif(
    not (shutil.which("initdb") or list(Path("/").glob("usr/lib/postgresql/*/bin/initdb"))),
    reason="PostgreSQL is not installed",
)


class Standby(Postgres):
    """A copy that follows a primary, until it is promoted."""

    def __init__(self, primary, folder):
        self.data, self.port = folder / "standby", free_port()
        self.bin = (primary.bin / "initdb").resolve().parent  # where all programs are
        self.data.mkdir()
        if os.getuid() == 0:
            shutil.chown(self.data, "postgres", "postgres")
        self._run(
            "pg_basebackup", "-D", str(self.data), "-d", primary.url, "-R", "-c", "fast",
            "--no-sync",
        )  # fmt: skip
        self.data.chmod(0o700)
        self.start()

    def promote(self):
        self._run("pg_ctl", "-D", str(self.data), "-w", "promote")


def quick(folder):
    """A PostgreSQL that does not wait for the disk: here only processes end, never the machine."""
    made = Postgres(folder)
    run(made.url, "ALTER SYSTEM SET fsync = off")
    run(made.url, "SELECT pg_reload_conf()")
    return made


@pytest.fixture(scope="module")
def folder():
    """A place that the user of PostgreSQL reaches, also when another run of pytest begins."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture(scope="module")
def postgres(folder):
    (folder / "one").mkdir()
    made = quick(folder / "one")
    yield made
    made.close()


@pytest.fixture
def url(postgres):
    """A database of the test's own."""
    name = f"test_{time.monotonic_ns()}"
    run(postgres.url, f"CREATE DATABASE {name}")
    return postgres.url.replace("/postgres", f"/{name}")


@contextmanager
def opened(url):
    """A store as a server has it."""
    with closing(Store(url)) as made:
        made.lock()
        made.migrate()
        yield made


def run(url, statement):
    """Run something as an administrator, in a session of its own."""
    with psycopg.connect(url, autocommit=True) as admin:
        found = admin.execute(statement)
        return found.fetchall() if found.description else []


CUT = "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE"
HERE = "datname = current_database()"
HOLDER = "(SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 4077)"


def add(store, tenant):
    with store.transaction() as tx:
        tx.put("INSERT INTO tenants VALUES (?, ?)", tenant, 1.0)


def tenants(store):
    return [name for (name,) in store.read("SELECT tenant FROM tenants ORDER BY tenant")]


def read_at_once(store, count):
    """Read in so many threads at the same time."""
    threads = [
        threading.Thread(target=store.read, args=("SELECT pg_sleep(0.1)",)) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Sessions


def test_readers_that_were_cut_are_replaced(url):
    with opened(url) as store:
        add(store, "acme")
        read_at_once(store, 4)
        cut = run(url, f"{CUT} {HERE} AND pid NOT IN {HOLDER} AND pid <> pg_backend_pid()")
        assert len(cut) == 4
        for _ in range(6):
            assert tenants(store) == ["acme"]
        assert store.holds_lock()
        add(store, "next")


def test_connections_do_not_pile_up(url):
    with opened(url) as store:
        for _ in range(20):
            thread = threading.Thread(target=store.read, args=("SELECT 1",))
            thread.start()
            thread.join()
        count = f"SELECT count(*) FROM pg_stat_activity WHERE {HERE} AND pid <> pg_backend_pid()"
        assert run(url, count) == [(2,)]  # the writer, and one for all who read


def test_a_writer_whose_session_was_cut_has_lost_the_lock(url, monkeypatch):
    monkeypatch.setattr(stores, "PATIENCE", 0.2)
    with opened(url) as store:
        add(store, "acme")
        other = Store(url)
        with closing(other):
            with pytest.raises(TakenError):
                other.lock()
            assert not other.holds_lock()
            assert store.holds_lock()
            assert len(run(url, f"{CUT} pid IN {HOLDER}")) == 1
            assert not store.holds_lock()
            other.lock()
            assert other.holds_lock()
            with pytest.raises(StoreError, match="the database failed"):
                add(store, "late")
            assert not store.holds_lock()
            assert tenants(other) == ["acme"]


def test_a_commit_that_the_database_rolls_back_is_an_error(url):
    with opened(url) as store:
        add(store, "acme")
        with pytest.raises(StoreError, match="ROLLBACK instead of COMMIT"):
            fail_and_commit(store)
        assert tenants(store) == ["acme"]
        add(store, "later")


def fail_and_commit(store):
    """A transaction that fails where the store does not see it."""
    with store.transaction() as tx:
        tx.run("INSERT INTO tenants VALUES (?, ?)", "new", 1.0)
        with pytest.raises(psycopg.Error):
            store.writer.execute("SELECT nothing")


def test_jobs_that_are_undone_leave_nothing(url):
    with opened(url) as store:
        for seed in range(40):
            assert carry_out(store, seed) == tenants(store)


def test_an_error_has_no_values_of_rows(url):
    with opened(url) as store:
        add(store, "alice@example.org")
        with pytest.raises(StoreError, match="duplicate key value") as raised:
            add(store, "alice@example.org")
        assert "alice" not in str(raised.value)
        assert raised.value.__cause__ is None


def test_a_commit_waits_for_the_disk(url):
    run(url, "ALTER ROLE lasec SET synchronous_commit = off")
    try:
        with opened(url) as store, store.transaction() as tx:
            assert tx.read("SHOW synchronous_commit") == [("on",)]
    finally:
        run(url, "ALTER ROLE lasec RESET synchronous_commit")


def test_a_silent_host_is_given_up_unless_the_address_says_otherwise(url):
    for more, timeout in (("", "30000"), ("?tcp_user_timeout=5000", "5000")):
        with closing(Store(url + more)) as store:
            assert store.writer.info.get_parameters()["tcp_user_timeout"] == timeout


# Servers


def test_a_slow_database_is_waited_for_and_one_that_restarts_ends_the_server(
    postgres, url, tmp_path
):
    with process(tmp_path, url) as server:
        assert server.ask() == 200
        ((pid,),) = run(url, f"SELECT pid FROM {HOLDER} AS holder")
        os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(1.5, os.kill, (pid, signal.SIGCONT))
        timer.start()
        began = time.monotonic()
        assert server.ask() == 200
        assert time.monotonic() - began > 1.0
        timer.join()
        assert len(run(url, "SELECT * FROM journal")) == 2
        timer = threading.Timer(0.3, postgres.crash)
        timer.start()
        assert server.ask_until_it_ends() == ENDED
        timer.join()
        assert "the server ends" in server.log.read_text()
    assert len(server.acknowledged) > 2
    assert server.kept()[: len(server.acknowledged)] == server.acknowledged


def test_a_failover_ends_the_server_and_loses_nothing(folder, tmp_path):
    (folder / "two").mkdir()
    primary = quick(folder / "two")
    standby = Standby(primary, folder / "two")
    try:
        run(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        run(primary.url, "SELECT pg_reload_conf()")
        with (
            pytest.raises(StoreError, match="the database failed: cannot execute"),
            opened(primary.url.replace(str(primary.port), str(standby.port))),
        ):
            pass
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://lasec@{hosts}/postgres?target_session_attrs=read-write"
        with process(tmp_path, url) as server:
            for _ in range(20):
                assert server.ask() == 200
            timer = threading.Timer(0.3, primary.close)
            timer.start()
            assert server.ask_until_it_ends() == ENDED
            timer.join()
        with pytest.raises(StoreError, match="cannot be reached"):
            Store(url)
        standby.promote()
        assert len(server.acknowledged) > 20
        assert server.kept()[: len(server.acknowledged)] == server.acknowledged
    finally:
        standby.close()
        primary.close()


# What is said


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/x", "cannot be reached"),
        ("postgresql://127.0.0.1:1/x?user=me&password=secret", "cannot be reached"),
        ("postgresql://me:se/secret@127.0.0.1:1/x", "not valid"),
        ("postgresql://me:se@secret@127.0.0.1:1/x", "not valid"),
        ("postgresql://me:secret#@127.0.0.1:1/x", "not valid"),
        ("postgresql://me:secret?no=1@127.0.0.1:1/x", "cannot be reached"),
        ("postgresql://127.0.0.1:1/x?secret=1", "not valid"),
        ("postgresql://me:secret:1@127.0.0.1:/x?port=1", "cannot be reached"),
        ("postgresql://me:secret%zz@127.0.0.1:1/x", "not valid"),
        ("postgresql://127.0.0.1:1/secret?password=secret", "cannot be reached"),
    ],
)
def test_an_error_has_no_password(address, said):
    with pytest.raises(StoreError, match=said) as raised:
        Store(address)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)
