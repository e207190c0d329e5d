"""Kills of the server and crashes of its database, while clients ask, tell and retry.

Each client keeps every request until it is acknowledged, and sends it again with the same key after
an error, and one time in five after an acknowledgment. Meanwhile others do harm, and the disk is
full now and then. At the end, everything is compared with the library alone, which is given the
same operations in the order of the journal.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx
from experiments.serving.databases import free_port, started

from service import archive
from service.clients import Annotator, Book, Client, Sender, Tally
from service.disk import Disk
from service.hostile import Attacker

POINTS = ("before commit", "after commit", "snapshot", "replay")
STARTING, ANY = "while it starts", "any moment"
CLIENTS, ATTACKERS = 6, 3
LATE = 5.0  # seconds until the server is started again, now and then
TRIES = 3  # starts that fail one after the other until the run is given up
SOON = 60.0  # seconds until a server that starts takes requests


class Server:
    """The server's process, which is started again whenever it has ended.

    ``log`` is a file for what the last one has to say.
    """

    def __init__(self, store: str, log: IO[bytes] | None = None) -> None:
        self.store, self.port = store, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self._log = log
        self._spare: subprocess.Popen[bytes] | None = None
        self.process = self._begin()

    def _begin(self, *point: str | int) -> subprocess.Popen[bytes]:
        self.starts += 1
        if self._log is not None:
            self._log.seek(0)
            self._log.truncate()
        made, self._spare = self._spare or self._loaded(), None
        assert made.stdin is not None
        with made.stdin as orders:
            orders.write(json.dumps([self.store, self.port, *point]).encode())
        return made

    def _loaded(self) -> subprocess.Popen[bytes]:
        """A process that loads its code, and waits to be told what to serve."""
        call = [sys.executable, str(Path(__file__).with_name("child.py"))]
        log = subprocess.DEVNULL if self._log is None else self._log
        return subprocess.Popen(call, stdin=subprocess.PIPE, stderr=log)

    def prepare(self) -> None:
        """Let the process of the next start load its code meanwhile."""
        self._spare = self._spare or self._loaded()

    def close(self) -> None:
        """End it, and what was prepared."""
        self.kill()
        if self._spare is not None and self._spare.stdin is not None:
            self._spare.stdin.close()
            self._spare.wait()

    def wait(self, seconds: float = SOON) -> bool:
        """Wait until it takes requests; False if it has ended before, or does not in time."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            if self.status("/readyz") == 200:
                return True
            time.sleep(0.02)
        return False

    def status(self, path: str, key: str = "") -> int:
        """The status of a reply; 0 if there is none."""
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10.0)
        with contextlib.closing(asking), contextlib.suppress(OSError, http.client.HTTPException):
            asking.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
            return asking.getresponse().status
        return 0

    def again(self, *point: str | int) -> None:
        """Start it once more, perhaps to end at a named point."""
        self.process.wait()
        self.process = self._begin(*point)

    def kill(self) -> int:
        """End it at once; gives its exit status, which is another one if it had ended itself."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        return self.process.wait()

    def last_words(self) -> str:
        """The last line of its log."""
        if self._log is None:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


class Plan(NamedTuple):
    """How many kills, and at how many of them the database crashes or the disk is full."""

    kills: int
    crashes: int
    fills: int
    late: int
    """Kills after which the server is started some seconds later."""

    @classmethod
    def of(cls, kills: int, crashes: int, *, can_fill: bool) -> Plan:
        """The usual one."""
        fills = max(kills // 12, 1) if can_fill else 0
        return cls(kills, crashes, min(fills, kills - crashes), kills // 25)


class Campaign:
    """So many kills of one server, and what was seen of them."""

    def __init__(
        self, server: Server, database: Any, disk: Disk, keys: dict[str, str], book: Book
    ) -> None:
        self.server, self.database, self.disk = server, database, disk
        self.keys, self.book = keys, book
        self.tally, self.where = Tally(), Counter[str]()
        self.failed: list[str] = []  # starts that came to nothing, and ends that nobody wished
        self.excused = Counter[str]()  # exit statuses on a full disk, or without a database
        self.took: list[float] = []  # seconds of starts
        self.full = self.crashes = 0

    def run(self, plan: Plan, draw: random.Random) -> bool:
        """Kill it so often; False if it does not start any more."""
        order = draw.sample(range(plan.kills), plan.kills)
        crash_at, full_at = set(order[: plan.crashes]), set(order[plan.crashes :][: plan.fills])
        late_at = set(draw.sample(range(plan.kills), plan.late))
        for number in range(plan.kills):
            plain = number not in crash_at | full_at
            point = draw.choice((ANY, ANY, STARTING, *POINTS)) if plain else ANY
            ready = self._started(point, draw)
            if ready is None:
                return False
            if ready:
                self._struck(number in crash_at, number in full_at, point, draw)
            self.where[point if self._killed(point) else ANY] += 1
            if number in full_at:
                self._freed(draw)
            self.tally.trouble = ""
            time.sleep(LATE if number in late_at else 0.0)
        return self._started(ANY, draw) is not None

    def served(self, draw: random.Random) -> bool:
        """Whether it is still there, or at least starts again."""
        if self.server.process.poll() is None:
            return True
        self._killed(ANY)
        return self._started(ANY, draw) is not None

    def _started(self, point: str, draw: random.Random) -> bool | None:
        """Start it: True if it takes requests, False if it was killed before, None if in vain."""
        passes = {"snapshot": 1, "replay": draw.randint(1, 3)}.get(point, draw.randint(1, 40))
        given = (point, passes) if point in POINTS else ()
        for _ in range(TRIES):
            began = time.monotonic()
            self.server.again(*given)
            self.server.prepare()
            if point == STARTING:
                time.sleep(draw.random())
                return False
            if self.server.wait():
                self.book.up.set()
                self.took.append(time.monotonic() - began)
                self._served()
                return True
            if given and self.server.process.poll() == -signal.SIGKILL:
                return False
            self.failed.append(f"start: {self.server.kill()} {self.server.last_words()}")
        return None

    def _served(self) -> None:
        """Note models that a server, which takes requests, does not serve."""
        for tenant, name in archive.MODELS:
            key = self.keys["all" if tenant == "friends" else "mallory"]
            if (found := self.server.status(f"/v1/models/{name}", key)) not in (200, 0):
                self.failed.append(f"model: {name} {found}")

    def _struck(self, crash: bool, full: bool, point: str, draw: random.Random) -> None:
        """Let clients work for a while; then crash the database or fill the disk, if wished."""
        if crash or full:
            time.sleep(0.3 * draw.random())
            self.tally.trouble = "database down" if crash else "full disk"
        if crash:
            self.crashes += 1
            self.database.crash()
        elif full:
            self.full += 1
            self.disk.fill(self.server.process.pid)
            time.sleep(1.0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.server.process.wait(3.0 if point in POINTS else 0.1 + draw.expovariate(1.0))

    def _killed(self, point: str) -> bool:
        """Kill it, unless the point has; note if it has ended by itself and had no excuse."""
        at_point = point == STARTING or self.server.process.poll() == -signal.SIGKILL
        status = self.server.kill()
        self.book.up.clear()
        if self.tally.trouble:
            self.excused[f"{self.tally.trouble}: {status}"] += 1
        elif status != -signal.SIGKILL:
            self.failed.append(f"end: {status} {self.server.last_words()}")
        return at_point

    def _freed(self, draw: random.Random) -> None:
        """Make room again; sometimes the server is started before, and may fail."""
        if draw.random() < 0.5:
            self.server.again()
            self.server.wait(2.0)
            self.server.kill()
        self.disk.free()
        self.database.crash()

    def figures(self) -> dict[str, Any]:
        """What was seen of the kills, and of requests."""
        kinds = {kind: sum(found.values()) for kind, found in self.tally.replies.items()}
        failed = Counter(text.partition(":")[0] for text in self.failed)
        return {
            "kills": self.where.total(), "where": dict(self.where), "crashes": self.crashes,
            "full_disks": self.full, "starts": self.server.starts, "starts_failed": failed["start"],
            "ended_by_itself": failed["end"], "models_set_aside": failed["model"],
            "seconds_of_a_start": round(statistics.median(self.took), 2) if self.took else None,
            "exit_statuses_excused": dict(self.excused),
            "failures": Counter(self.failed).most_common(10),
            "hostile_requests": sum(kinds.values()) - kinds.get("friendly", 0),
            "failed_requests": self.tally.failures.total(),
            "failed_requests_seen": self.tally.failures.most_common(10),
            "requests": self.tally.shown(),
        }  # fmt: skip


NOTHING = (
    "starts_failed", "ended_by_itself", "models_set_aside", "lost", "lost_hostile", "wrong_row",
    "without_lease", "refused", "refused_requests", "failed_requests", "twice", "changed",
    "differ", "foreign", "queue",
)  # fmt: skip


def faults(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures that are not as they must be."""
    found = {name: figures.get(name) for name in NOTHING if figures.get(name) != 0}
    if figures["given_up"] or not figures["bit_for_bit"]:
        found |= {name: figures.get(name) for name in ("given_up", "bit_for_bit")}
    return found


def run(kills: int, store: str, out: Path, crashes: int = 0, seed: int = 0) -> dict[str, Any]:
    """Kill so often, and compare; the figures are also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        Path(folder).chmod(0o755)  # PostgreSQL has a user of its own
        disk = Disk(Path(folder))
        plan = Plan.of(kills, crashes, can_fill=disk.mounted or store == "sqlite")
        try:
            with started(store, disk.folder) as database:
                keys = archive.prepared(database.url)
                campaign = Campaign(Server(database.url, log), database, disk, keys, Book())
                found = _under_fire(campaign, plan, seed)
        finally:
            disk.close()
    figures = {"store": store} | found
    (out / f"kills_{store}.json").write_text(json.dumps(figures, indent=1) + "\n")
    return figures


def _under_fire(campaign: Campaign, plan: Plan, seed: int) -> dict[str, Any]:
    began, draw = time.monotonic(), random.Random(seed)
    server, book, keys = campaign.server, campaign.book, campaign.keys
    server.kill()  # each kill begins with a start
    given = server.url, keys, book, campaign.tally
    harm, senders = [Attacker(number, *given) for number in range(ATTACKERS)], _senders(*given)
    for each in (*senders, *harm):
        each.start()
    done = campaign.run(plan, draw)
    book.stop.set()
    _joined(harm)
    done = done and campaign.served(draw)
    if not done:
        book.abandon.set()
    _joined(senders)
    found = campaign.figures() | {"given_up": not done}
    if done:
        questions, exported = _seen(server, keys["all"])
        url = server.store
        found |= archive.compared(url, book, senders, questions, exported)
        found["lost_hostile"] = archive.lost(url, harm)
    server.close()
    return found | {
        "refused_requests": book.refused.total(), "refused_seen": book.refused.most_common(10),
        "seconds": round(time.monotonic() - began),
    }  # fmt: skip


def _joined(threads: Sequence[Sender | Attacker]) -> None:
    for one in threads:
        one.join()
        one.http.close()


def _senders(url: str, keys: dict[str, str], book: Book, tally: Tally) -> list[Sender]:
    made: list[Sender] = [
        Client(f"client {number}", url, keys["all"], book, tally) for number in range(CLIENTS)
    ]
    return made + [Annotator(name, url, keys[name], book, tally) for name in ("ann", "bob")]


def _seen(server: Server, key: str) -> tuple[list[dict[str, Any]], bytes]:
    """The questions that the service lists when no answer waits any more, and the model's file."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(
        base_url=f"{server.url}/v1/models/m", headers=headers, timeout=60.0
    ) as asking:
        for _ in range(100):
            time.sleep(archive.GRACE)
            questions: list[dict[str, Any]] = []
            while more := asking.get(
                "/questions",
                params={"closed": 1e9, "after": questions[-1]["ticket"] if questions else -1},
            ).json()["questions"]:
                questions += more
            if not any(a["status"] == "held" for q in questions for a in q["answers"]):
                break
        return questions, asking.get("/file").content
