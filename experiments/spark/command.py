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
    feed = Feed(batches=kills + SETTLING + 6, seed=seed, keys=300 if kills > 5 else 60)
    for name in ("input", "recut", "quiet", "struck", "home"):
        shutil.rmtree(out / name, ignore_errors=True)
    make(feed, out / "input")
    settings = {"master": master, "dimension": feed.dimension}
    strikes = kill.plan(kills, feed.batches - 1, seed, what)
    struck = _run(out, "struck", settings, FILES, strikes, seed)
    made = cuts(out / "struck/checkpoint")
    ordinary = all(len(files) == FILES for batch in made for files in batch)
    if not ordinary:
        recut(out / "input", made, out / "recut")
    quiet = _run(out, "quiet", settings, FILES if ordinary else 1, [], seed)
    report = {"master": master, "feed": asdict(feed), "ordinary_batches": ordinary}
    report |= {"quiet": asdict(quiet), "struck": asdict(struck)} | compared(out)
    report["passed"] = passed(report, kills)
    write_json(out / "report.json", **report)
    (out / "report.txt").write_text(table(report) + "\n", encoding="utf-8")
    return report


def _run(
    out: Path,
    name: str,
    settings: dict[str, Any],
    files: int,
    strikes: list[kill.Strike],
    seed: int,
) -> kill.Run:
    """One run in a folder of its own."""
    given = out / ("input" if files == FILES else "recut")
    (out / name).mkdir()
    text = json.dumps(settings | {"input": str(given), "files": files})
    (out / name / "settings.json").write_text(text)
    return kill.run(out / name, processes.home(out / "home"), strikes, seed)


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
        f"lost/twice {sum(report['once']['struck'].values())}",
        "batches    " + ("as planned" if report["ordinary_batches"] else "cut anew by a kill"),
        f"different  {report['differences'] or 'nothing'}",
        f"digests    {' and '.join(report['digests'])}",
        "passed" if report["passed"] else "FAILED",
    ]
    return "\n".join(lines)
