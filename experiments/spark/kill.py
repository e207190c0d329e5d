"""A run that kill -9 strikes at moments drawn from a seed, started again when it died."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.spark import processes

# "all" is every process at once, as when a machine goes down; "driver" leaves the executors to
# find out for themselves, so that they still work on a batch that is being served again.
TARGETS = {"driver": 0.2, "all": 0.2, "executor": 0.3, "python": 0.3}
STARTS = 5  # in a row without a batch that came to its end: then it will never be done
COLD = 3  # batches after which the usual time is known; the first one warms everything up
PATIENCE = 10.0  # seconds for a Python worker at work; ten times as many for any
_POLL = 0.02
_LOST = re.compile(rb"TaskSetManager: .*Lost task")


@dataclass(frozen=True)
class Strike:
    """One kill: in which batch, what, and when, as a share of a batch's usual time."""

    batch: int
    target: str
    share: float


@dataclass
class Run:
    """What came of a run: its seconds, how often it was started, and what each kill did."""

    seconds: float = 0.0
    starts: int = 0
    replays: int = 0
    leftovers: int = 0
    kills: list[dict[str, Any]] = field(default_factory=list)


def plan(
    kills: int, batches: int, seed: int, targets: list[str], spared: list[int] | None = None
) -> list[Strike]:
    """Which batches are struck, in order; the first is left alone, to have something to lose.

    ``spared`` are left alone, too: those in which the checkpoint is moved, and those before them.

    >>> [strike.batch for strike in plan(3, 8, seed=1, targets=["driver"])]
    [2, 4, 5]
    """
    rng = np.random.default_rng([seed, kills])
    some = np.setdiff1d(np.arange(1, batches), spared or [])
    chosen = np.sort(rng.choice(some, kills, replace=False))
    weights = np.array([TARGETS[target] for target in targets])
    what = rng.choice(targets, kills, p=weights / weights.sum())
    what[: len(targets)] = rng.permutation(targets)[:kills]  # each of them once, if there is room
    return [
        Strike(int(batch), str(target), float(share))
        for batch, target, share in zip(chosen, what, rng.uniform(0.0, 0.9, kills), strict=True)
    ]


def run(folder: Path, home: Path, strikes: list[Strike], seed: int = 0) -> Run:
    """Let the job in ``folder`` serve all its input, whatever strikes it."""
    made, rng = Run(), np.random.default_rng([seed, 1])
    waiting, began, idle = list(strikes), time.monotonic(), 0
    while not (folder / "done.json").exists():
        begun, before = offsets(folder), commits(folder)
        made.starts += 1
        made.replays += begun > before
        process = processes.launch(folder, home)
        try:
            while process.poll() is None:
                alive = offsets(folder) > begun or commits(folder) > before
                if alive and waiting and offsets(folder) >= waiting[0].batch:
                    made.kills.append(_strike(folder, waiting.pop(0), rng))
                    struck = made.kills[-1]
                    if struck["existed"] and struck["target"] in {"driver", "all"}:
                        process.wait()  # the next one is for what comes after it
                time.sleep(_POLL)
        finally:
            processes.kill([process.pid] if process.poll() is None else [])
            process.wait()
            made.leftovers += processes.clear(folder)
        idle = 0 if commits(folder) > before else idle + 1
        if idle == STARTS:
            raise RuntimeError(f"no batch in {STARTS} starts: see {folder / 'log.txt'}")
    made.seconds = round(time.monotonic() - began, 1)
    _effects(folder, made)
    return made


def _strike(folder: Path, strike: Strike, rng: np.random.Generator) -> dict[str, Any]:
    """Wait for the moment, and kill."""
    time.sleep(strike.share * pace(folder))
    victims = _victims(folder, strike.target, rng)
    committed = commits(folder)
    hit = processes.kill(victims)
    struck = asdict(strike) | {
        "time": round(time.time(), 3), "pids": hit, "existed": bool(hit),
        "under_way": offsets(folder), "in_batch": offsets(folder) > committed,
        "lost_tasks": -_lost(folder),
    }  # fmt: skip
    with open(folder / "kills.jsonl", "a") as file:
        file.write(json.dumps(struck) + "\n")
    return struck


def _victims(folder: Path, target: str, rng: np.random.Generator) -> list[int]:
    """The processes to be killed; it waits until there is one, and a while for a busy worker."""
    begun = time.monotonic()
    while True:
        found = processes.members(folder)
        if target == "all":
            return [pid for pid, _ in found]
        pids = [pid for pid, kind in found if kind == target]
        if target == "driver":
            return pids
        waited = time.monotonic() - begun
        if target == "python" and waited < PATIENCE:  # most of them stand by
            pids = processes.busy(pids)
        if pids or waited > 10 * PATIENCE:
            return [int(rng.choice(pids))] if pids else []
        time.sleep(_POLL)


def _effects(folder: Path, made: Run) -> None:
    """How many tasks each kill has cost, from the log: those lost until the next one."""
    total = _lost(folder)
    before = [-kill["lost_tasks"] for kill in made.kills] + [total]
    for kill, begin, end in zip(made.kills, before, before[1:], strict=False):
        kill["lost_tasks"] = end - begin
        dead = kill["target"] in {"driver", "all"}
        kill["replayed"] = kill["in_batch"] if dead else kill["lost_tasks"] > 0


def _lost(folder: Path) -> int:
    """The tasks that the scheduler has had to give up so far."""
    log = folder / "log.txt"
    return len(_LOST.findall(log.read_bytes())) if log.exists() else 0


def offsets(folder: Path) -> int:
    """The last batch that was begun; -1 before the first."""
    return _last(folder, "offsets")


def commits(folder: Path) -> int:
    """The last batch that came to its end."""
    return _last(folder, "commits")


def pace(folder: Path) -> float:
    """The usual seconds from a batch's beginning to its end, where nothing struck in between."""
    begun, ended = (_times(folder, name) for name in ("offsets", "commits"))
    took = sorted(ended[number] - begun[number] for number in ended)
    return took[len(took) // 3] if len(took) >= COLD else 1.0


def _times(folder: Path, name: str) -> dict[int, float]:
    files = (folder / "checkpoint" / name).glob("[0-9]*")
    return {int(file.name): file.stat().st_mtime for file in files if file.name.isdigit()}


def _last(folder: Path, name: str) -> int:
    where = folder / "checkpoint" / name
    names = [file.name for file in where.iterdir()] if where.exists() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)
