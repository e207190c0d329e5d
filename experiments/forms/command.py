"""Everything that ``python -m experiments forms`` writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import typer

from experiments.forms import classes, moderation, small, tables, wide
from experiments.journal import Journal
from experiments.output import write_csv

Rows = list[dict[str, Any]]


class Part(NamedTuple):
    """What measures a part, and its tables by the name of their file."""

    measure: Callable[[Journal, int, float], Rows]
    tables: dict[str, Callable[[Rows], str]]


PARTS = {
    "wide": Part(wide.measure, {"wide": tables.wide, "switch": tables.switch}),
    "classes": Part(classes.measure, {"classes": tables.classes}),
    "moderation": Part(moderation.measure, {"moderation": tables.moderation}),
    "small": Part(small.measure, {"small": tables.small, "small_costs": tables.small_costs}),
}


def chosen(parts: str) -> list[str]:
    """The names of parts with commas between; ``all`` is all of them.

    >>> chosen("wide")
    ['wide']
    """
    names = list(PARTS) if parts == "all" else [name.strip() for name in parts.split(",")]
    for name in names:
        if name not in PARTS:
            raise ValueError(f"no part {name!r}: choose from {', '.join(PARTS)}, all")
    return names


def study(journal: Journal, out: Path, parts: str, seeds: int, size: float) -> str:
    """Measure the parts: a CSV file with all runs, and Markdown tables."""
    texts = []
    try:
        names = chosen(parts)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    for name in names:
        rows = PARTS[name].measure(journal, seeds, size)
        write_csv(out / f"{name}.csv", rows)
        for file, table in PARTS[name].tables.items():
            text = table(rows)
            (out / f"{file}.md").write_text(text)
            texts.append(f"{file}\n\n{text}")
    return "\n".join(texts)
