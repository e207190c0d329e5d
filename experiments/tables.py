"""Tables as Markdown for the pages and as LaTeX (booktabs) for papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments.figures import interval
from experiments.panels import Panel
from experiments.protocols import TITLES

SPECIAL = re.compile(r"([&%$#_{}])")


class Table(NamedTuple):
    """Column heads, and lines of cells as text."""

    head: list[str]
    lines: list[list[str]]

    def markdown(self) -> str:
        """As a Markdown table."""
        rows = [self.head, ["---"] * len(self.head), *self.lines]
        return "".join(
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows
        )

    def latex(self, columns: str = "") -> str:
        """As a ``tabular`` for the package booktabs; ``columns`` is its column specification."""
        body = "".join(f"{_latex(line)} \\\\\n" for line in self.lines)
        return (
            f"\\begin{{tabular}}{{{columns or 'l' * len(self.head)}}}\n\\toprule\n"
            f"{_latex(self.head)} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
        )


def number(value: float, sign: bool = False) -> str:
    """A number of a table: counts with separators, shares with four digits."""
    if abs(value) >= 100:
        return f"{value:+,.0f}" if sign else f"{value:,.0f}"
    return f"{value:+.4f}" if sign else f"{value:.4f}"


def accuracies(panel: Panel, rows: Sequence[dict[str, Any]]) -> Table:
    """Mean accuracy and 95 % interval of each algorithm: at the end, or at each query rate."""
    end = max(row[panel.axis] for row in rows)
    cells: dict[tuple[str, float], dict[str, list[float]]] = {}
    for row in rows:
        if not panel.over_time or row["t"] == end:
            line = cells.setdefault((row["protocol"], row[panel.axis]), {})
            line.setdefault(row["algorithm"], []).append(row["accuracy"])
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    head = ["parameters", "examples" if panel.over_time else "query rate", *names]
    lines = [
        [TITLES[protocol], f"{at:g}", *(_pm(found[name]) for name in names)]
        for (protocol, at), found in cells.items()
    ]
    return Table(head, lines)


def running_time(about: dict[str, Any]) -> Table:
    """CPU seconds of each panel, from the JSON files, and their sum."""
    seconds = [one["cpu_seconds"] for one in about.values()]
    cells = [f"{one:,.0f} s" for one in (*seconds, sum(seconds))]
    return Table(["panel", *about, "all"], [["CPU time", *cells]])


def _pm(values: Sequence[float]) -> str:
    mean, half = interval(values)
    return f"{mean:.3f} ± {half:.3f}"


def _latex(cells: Sequence[str]) -> str:
    escaped = (SPECIAL.sub(r"\\\1", cell).replace("±", "$\\pm$") for cell in cells)
    return " & ".join(escaped)
