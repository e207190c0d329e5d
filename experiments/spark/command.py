"""The kill test: one run undisturbed, one under fire, and what is different between them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from experiments.output import write_json
from experiments.spark import CLUSTER, check, kill, processes
from experiments.spark.cuts import cuts, recut
from experiments.spark.feed import FILES, SETTLING, Feed, make

PARTITIONS = (3, 1)  # to which the state is moved on the way; it begins with two


def study(out: Path, kills: int, seed: int, master: str | None) -> Iterator[str]:
    """The report as a text; the command fails where anything was lost, twice or different."""
    report = strike(out.resolve(), kills, seed, master or CLUSTER)
    yield table(report)
    if not report["passed"]:
        raise typer.Exit(1)


def strike(
    out: Path, kills: int, seed: int = 0, master: str = CLUSTER, targets: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run the job twice over one input, once with ``kills``; the report, also as a file."""
    what = list(targets or (kill.TARGETS if master == CLUSTER else ("driver", "python")))
    feed = Feed(batches=kills + SETTLING + 9, seed=seed, keys=300 if kills > 5 else 60)
    for name in ("input", "recut", "quiet", "struck", "home"):
        shutil.rmtree(out / name, ignore_errors=True)
    make(feed, out / "input")
    settings = {"master": master, "dimension": feed.dimension}
    moves = [feed.batches // 3, 2 * feed.batches // 3]  # after so many batches
    spared = [batch + i + step for i, batch in enumerate(moves) for step in (-1, 0)]
    strikes = kill.plan(kills, feed.batches + len(moves) - 1, seed, what, spared)
    struck = run_one(out, "struck", settings | _phases(feed, moves, FILES), strikes, seed)
    made = cuts(out / "struck/checkpoint")
    moves = [at - i for i, at in enumerate(at for at, batch in enumerate(made) if not any(batch))]
    made = [batch for batch in made if any(batch)]
    ordinary = all(len(files) == FILES for batch in made for files in batch)
    if not ordinary:
        recut(out / "input", made, out / "recut")
    again = _phases(feed, moves, FILES if ordinary else 1)
    quiet = run_one(out, "quiet", settings | again, [], seed)
    report = {"master": master, "feed": asdict(feed), "ordinary_batches": ordinary}
    report |= {"quiet": asdict(quiet), "struck": asdict(struck)} | compared(out)
    report["passed"] = passed(report, kills)
    write_json(out / "report.json", **report)
    (out / "report.txt").write_text(table(report) + "\n", encoding="utf-8")
    return report


def run_one(
    out: Path,
    name: str,
    settings: dict[str, Any],
    strikes: list[kill.Strike],
    seed: int,
) -> kill.Run:
    """One run in a folder of its own."""
    given = out / ("input" if settings["files"] == FILES else "recut")
    (out / name).mkdir()
    text = json.dumps(settings | {"input": str(given)})
    (out / name / "settings.json").write_text(text)
    return kill.run(out / name, processes.home(out / "home"), strikes, seed)


def _phases(feed: Feed, moves: list[int], files: int) -> dict[str, Any]:
    """So many files in a batch, and after which of them the state is moved to more partitions."""
    ends = [[files * batch, number] for batch, number in zip(moves, PARTITIONS, strict=True)]
    return {"files": files, "phases": [*ends, [files * feed.batches, None]]}


def compared(out: Path) -> dict[str, Any]:
    """The two runs against their input, and against each other."""
    runs = {name: check.told(out / name) for name in ("quiet", "struck")}
    done = {name: json.loads((out / name / "done.json").read_text()) for name in runs}
    return {
        "once": {name: check.once(out / "input", told) for name, told in runs.items()},
        "outcomes": check.outcomes(runs["quiet"]),
        "differences": check.differences(*runs.values()),
        "digests": [done[name]["digest"] for name in runs],
        "read": [done[name]["counts"] for name in runs],
    }


def passed(report: dict[str, Any], kills: int) -> bool:
    """Whether every kill hit, nothing is lost or twice, and nothing differs."""
    hits = sum(entry["existed"] for entry in report["struck"]["kills"])
    wrong = sum(sum(counts.values()) for counts in report["once"].values())
    one, other = report["digests"]
    read = report["read"][0] == report["read"][1]
    return hits == kills and not wrong and not report["differences"] and one == other and read


def table(report: dict[str, Any]) -> str:
    """The report in a few lines."""
    kills, struck = report["struck"]["kills"], report["struck"]
    what = Counter(entry["target"] for entry in kills)
    hits, within, again = (
        sum(entry[name] for entry in kills) for name in ("existed", "in_batch", "replayed")
    )
    lines = [
        f"kills      {len(kills)}: " + ", ".join(f"{n} {name}" for name, n in what.items()),
        f"           {hits} hit, {within} while a batch was served, {again} led to work done again",
        f"starts     {struck['starts']}, {struck['replays']} of them into a batch half done",
        f"seconds    {report['quiet']['seconds']} undisturbed, {struck['seconds']} under fire",
        "rows       " + ", ".join(f"{n} {name}" for name, n in report["outcomes"].items()),
        f"partitions 2, then {' and '.join(map(str, PARTITIONS))}",
        f"lost/twice {sum(report['once']['struck'].values())}",
        "batches    " + ("as planned" if report["ordinary_batches"] else "cut anew by a kill"),
        f"different  {report['differences'] or 'nothing'}",
        f"digests    {' and '.join(report['digests'])}",
        "passed" if report["passed"] else "FAILED",
    ]
    return "\n".join(lines)
