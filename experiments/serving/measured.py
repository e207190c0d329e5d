"""The figures of all experiments with the service, as one table for a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.forms.tables import markdown

STORES = ("sqlite", "postgres")
Made = dict[str, Any]


def run(out: Path) -> str:
    """Read what the experiments have written to a folder, and write the table beside it."""
    lines = [line for part in (_kills, _equal, _costs, _cases, _fair, _whole) for line in part(out)]
    table = markdown(["what", "SQLite", "PostgreSQL", "command"], lines, left=4)
    (out / "measured.md").write_text(table)
    return table


def _read(path: Path) -> Made:
    found: Made = json.loads(path.read_text())
    return found


def _both(folder: Path, name: str) -> list[Made]:
    return [_read(folder / f"{name}_{store}.json") for store in STORES]


def _kills(folder: Path) -> list[list[str]]:
    both = _both(folder, "kills")
    wrong = ("lost", "twice", "changed", "differ")
    return [
        ["kills of the server, crashes of the database, full disks",
         *(f"{m['kills']}, {m['crashes']}, {m['full_disks']}" for m in both), "test_kills.py"],
        ["starts, of which failed; times the server ended by itself",
         *(f"{m['starts']}, {m['starts_failed']}; {m['ended_by_itself']}" for m in both), ""],
        ["operations acknowledged, requests repeated",
         *(f"{m['operations']:,}, {m['retries']:,}" for m in both), ""],
        ["lost; carried out twice; replies changed; decisions unlike the library's",
         *("; ".join(str(m[name]) for name in wrong) for m in both), ""],
        ["labels learned, of which on a wrong row",
         *(f"{m['labels']:,}, {m['wrong_row']}" for m in both), ""],
        ["hostile requests; replies 5xx other than 503",
         *(f"{m['hostile_requests']:,}; {m['failed_requests']}" for m in both), ""],
        ["questions listed with a wrong status", *(str(m["queue"]) for m in both), ""],
        ["the learner is the library's, bit for bit",
         *("yes" if m["bit_for_bit"] else "no" for m in both), ""],
    ]  # fmt: skip


def _equal(folder: Path) -> list[list[str]]:
    both = _both(folder, "equal")
    return [
        ["rows in singles and batches; decisions unlike the library's",
         *(f"{m['equal']['rows']:,}; {m['equal']['differ']}" for m in both), "serve-equal"],
        ["restarts with repeated asks; most labels above the rate in any window, of the cap",
         *(f"{m['budget']['restarts']}; {m['budget']['most above the rate in any window']:.0f} "
           f"of {m['budget']['hard cap']:.0f}" for m in both), ""],
        ["second writers refused",
         *(f"{m['second writer']['refused']} of {m['second writer']['tries']}" for m in both), ""],
    ]  # fmt: skip


def _fair(folder: Path) -> list[list[str]]:
    made = _read(folder / "fair.json")
    beside = {name: each for name, each in made["neighbors"].items() if name != "alone"}
    worst = max(beside, key=lambda name: beside[name]["p99 of alone"])
    median = max(each["median ms"] for each in made["leases"].values())
    most = max(each["most ms"] for each in made["leases"].values())
    waiting = max(each["waiting"] for each in made["leases"].values())
    return [
        ["p99 of a tenant's asks beside the largest requests of another, over that alone; worst",
         f"{beside[worst]['p99 of alone']:.1f} ({worst})", "not measured", "serve-fair"],
        [f"CPU ms of a lease beside {waiting:,.0f} open questions: median, most",
         f"{median:.1f}, {most:.1f}", "not measured", ""],
    ]  # fmt: skip


def _costs(folder: Path) -> list[list[str]]:
    both = _both(folder, "cost")
    names = {
        "one row / hello": "CPU time of one row, over that of a bare reply",
        "100 rows / 100 bare asks": "of 100 rows, over that of 100 asks of the library",
        "one row, durable / memory": "of one row, over that without a disk",
        "p50 of one client / a bare commit": "median time of one row, over that of a bare commit",
    }
    return [
        [text, *(f"{m[name]:.2f}" for m in both), "" if at else "serve-cost"]
        for at, (name, text) in enumerate(names.items())
    ]


def _cases(folder: Path) -> list[list[str]]:
    both = _both(folder, "schema")
    found = [f"{m['cases']:,}; {m['errors'] + len(m['failures'])}" for m in both]
    return [["requests of schemathesis; faults", *found, "serve-schema"]]


def _whole(folder: Path) -> list[list[str]]:
    covered, long = _read(folder / "coverage.json"), _read(folder / "long.json")
    first, last = long["looks"][1], long["looks"][-1]
    return [
        [f"95 % intervals that cover, of {covered['streams']} streams",
         f"{covered['covered']:.1%}", "", "serve-coverage"],
        ["the same with the worst case of skipped and lost answers",
         f"{covered['covered at worst']:.1%}", "", ""],
        [f"of {long['rows']:,} asks, after a fifth and at the end: memory in MB",
         f"{first['peak MB']:.0f}; {last['peak MB']:.0f}", "", "serve-long"],
        ["lines of the journal; CPU time of a row in us",
         f"{first['journal']:,}, {last['journal']:,}; "
         f"{first['us a row']:.0f}, {last['us a row']:.0f}", "", ""],
    ]  # fmt: skip
