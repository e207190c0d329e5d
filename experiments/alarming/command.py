"""``python -m experiments alarm-rates --out docs/results/alarms``: CSV, JSON and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from experiments.alarming import drops, inputs, made
from experiments.output import read_csv, write_csv, write_json
from lasec.alarms import described

HEADS = {
    "false": {"stream": "stream without a change", "rows": "rows", "alarms": "alarms",
              "per_100000": "per 100,000 rows"},
    "power": {"stream": "stream", "change": "change of one of 10 columns", "streams": "streams",
              "found": "found within 8,000 rows", "right": "of the right column",
              "median_delay": "median delay (rows)", "before": "alarms before the change"},
    "back": {"jump": "jump (sd), 4,000 rows long", "streams": "streams",
             "one_alarm": "one alarm", "more": "more than one"},
    "bursts": {"burst": "rows of the burst", "streams": "streams", "alarms": "with an alarm"},
    "real": {"stream": "stream", "rows": "rows", "columns": "columns",
             "before": "input alarms before", "alarms": "now"},
    "drop_false": {"stream": "margins of", "error": "error", "difficulty": "difficulty",
                   "rows": "rows", "fast": "fast form, per 100,000 rows",
                   "confirmed": "confirmed, per 100,000 rows"},
    "drop_rises": {"stream": "margins of", "rise": "rise of the error", "form": "form",
                   "found": "found", "streams": "of", "median_delay": "median delay (rows)",
                   "said": "error said (mean)", "most": "said (most)", "true": "true error",
                   "interval_holds": "95 % interval holds", "least_labels": "fewest labels",
                   "before": "alarms before the rise"},
}  # fmt: skip


def table(name: str, rows: list[dict[str, Any]]) -> str:
    """A table in Markdown."""
    heads = HEADS[name]
    lines = ["| " + " | ".join(heads.values()) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(_cell(row[key]) for key in heads) + " |" for row in rows]
    if name == "real":
        sums = [sum(row[key] for row in rows) for key in ("rows", "before", "alarms")]
        lines.append(f"| all | {sums[0]:,} | | {sums[1]:,} | {sums[2]:,} |")
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value % 1.0 == 0.0 else f"{value:,g}"


def _real(messages: list[str]) -> Iterator[dict[str, Any]]:
    for name in inputs.BEFORE:
        row, raised = inputs.real(name)
        messages += [f"{name}: {described(alarm)}" for alarm in raised]
        yield row


def parts(seeds: int, messages: list[str]) -> dict[str, Iterable[dict[str, Any]]]:
    """The rows of each table, made as they are asked for; ``messages`` of the real streams."""
    few = 2 * seeds
    return {
        "false": (inputs.false_alarms(kind, seeds) for kind in made.KINDS),
        "real": _real(messages),
        "power": (
            inputs.power(stream, change, 14) for stream in inputs.STREAMS for change in made.CHANGES
        ),
        "back": (inputs.way_back(size, few) for size in (0.5, 1.0, 2.0)),
        "bursts": (inputs.burst(rows, few) for rows in inputs.BURSTS),
        "drop_rises": (
            drops.rises(name, rise, confirm, few)
            for name in drops.ERRORS for rise in drops.RISES for confirm in (False, True)
        ),
        "drop_false": (
            drops.false_alarms(name, difficulty, seeds)
            for name in drops.ERRORS for difficulty in drops.DIFFICULTY
        ),
    }  # fmt: skip


def measure(out: Path, seeds: int, only: str = "") -> Iterator[str]:
    """Make the tables, one by one; ``only`` some of them, by names with commas between."""
    out.mkdir(parents=True, exist_ok=True)
    messages: list[str] = []
    for name, rows in parts(seeds, messages).items():
        if only and name not in only.split(","):
            continue
        made_rows = list(rows)
        write_csv(out / f"{name}.csv", made_rows)
        write_json(out / f"{name}.json", seeds=seeds, first_seed=made.FIRST + 1)
        (out / f"{name}.md").write_text(table(name, read_csv(out / f"{name}.csv")))
        if messages and name == "real":
            (out / "messages.txt").write_text("\n".join(messages) + "\n")
        yield table(name, made_rows)
