"""The kill test through a broker: two topics in, five out, and kills in between."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from experiments.output import write_json
from experiments.spark import CLUSTER, kill
from experiments.spark.broker import broker, fetch, send
from experiments.spark.command import run_one
from experiments.spark.feed import SETTLING, Feed, make

WHAT = ("predictions", "questions", "receipts", "metrics", "dead")
_READS = rb', \\"page_(?:hits|misses)\\": \d+'  # how pages were read depends on the run


def study(
    out: Path, kills: int, seed: int, master: str | None, servers: str | None
) -> Iterator[str]:
    """The report as a text; the command fails where anything was lost, foreign or different."""
    report = strike(out.resolve(), kills, seed, master or CLUSTER, servers)
    yield table(report)
    if not report["passed"]:
        raise typer.Exit(1)


def strike(
    out: Path, kills: int, seed: int = 0, master: str = CLUSTER, known: str | None = None
) -> dict[str, Any]:
    """Run the job twice over the same messages, once with ``kills``; the report.

    Messages go through a broker that is ``known``, in topics of their own, or through a mock.
    """
    what = list(kill.TARGETS if master == CLUSTER else ("driver", "python"))
    feed = Feed(batches=kills + SETTLING + 6, seed=seed, keys=60)
    for name in ("input", "quiet", "struck", "home"):
        shutil.rmtree(out / name, ignore_errors=True)
    make(feed, out / "input")
    mine = f"lasec-{secrets.token_hex(4)}-"
    with nullcontext(known) if known else broker() as servers:
        counts = {
            name: _load(servers, out / "input", name, mine + name) for name in ("events", "labels")
        }
        each = {name: 4 * -(-count // feed.batches // 4) for name, count in counts.items()}
        settings = {
            "master": master, "dimension": feed.dimension, "servers": servers, "prefix": mine,
            "messages": each, "files": 1, "phases": [[0, None]],
        }  # fmt: skip
        strikes = kill.plan(kills, feed.batches - 1, seed, what)
        struck = run_one(out, "struck", settings, strikes, seed)
        run_one(out, "quiet", settings, [], seed)
        sent = {name: _sent(servers, mine + name) for name in ("quiet", "struck")}
    report = compared(sent["quiet"], sent["struck"])
    done = [json.loads((out / name / "done.json").read_text()) for name in sent]
    report |= {"kills": struck.kills, "starts": struck.starts, "messages": counts}
    report["digests"] = [run["digest"] for run in done]
    hits = sum(entry["existed"] for entry in struck.kills)
    same = report["digests"][0] == report["digests"][1]
    report["passed"] = same and hits == kills and not report["lost"] and not report["foreign"]
    write_json(out / "broker.json", **report)
    (out / "broker.txt").write_text(table(report) + "\n", encoding="utf-8")
    return report


def compared(quiet: Counter[bytes], struck: Counter[bytes]) -> dict[str, Any]:
    """Messages of the undisturbed run that the other lacks, that it alone has, and its repeats."""
    return {
        "sent": quiet.total(),
        "lost": (quiet - struck).total(),
        "foreign": sum(count for value, count in struck.items() if value not in quiet),
        "repeated": sum(max(0, struck[value] - count) for value, count in quiet.items()),
    }


def table(report: dict[str, Any]) -> str:
    """The report in a few lines."""
    targets = Counter(entry["target"] for entry in report["kills"])
    within = sum(entry["in_batch"] for entry in report["kills"])
    lines = [
        f"kills      {targets.total()}: " + ", ".join(f"{n} {name}" for name, n in targets.items()),
        f"           {within} while a batch was served; {report['starts']} starts",
        "read       " + ", ".join(f"{n:,} {name}" for name, n in report["messages"].items()),
        f"sent       {report['sent']:,} undisturbed",
        f"lost       {report['lost']}",
        f"foreign    {report['foreign']}",
        f"repeated   {report['repeated']:,}: a batch that was served again",
        f"digests    {' and '.join(report['digests'])}",
        "passed" if report["passed"] else "FAILED",
    ]
    return "\n".join(lines)


def _load(servers: str, given: Path, name: str, topic: str) -> int:
    """Send the rows of all files to a topic, as JSON; how many."""
    files = sorted((given / name).glob("*.parquet"))
    rows = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    values = rows.to_json(orient="records", lines=True, double_precision=15).splitlines()
    send(servers, zip([topic] * len(rows), rows["key"], values, strict=True))
    return len(rows)


def _sent(servers: str, run: str) -> Counter[bytes]:
    """All messages of a run, by their values."""
    values = (value for what in WHAT for value in fetch(servers, f"{run}.{what}"))
    return Counter(re.sub(_READS, b"", value) for value in values)
