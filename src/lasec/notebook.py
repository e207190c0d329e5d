"""HTML reprs for notebooks: a table of facts and a sparkline, without any library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDTH, HEIGHT = 240, 44
_CARD = (
    "display:inline-block;border:1px solid rgba(128,128,128,.35);border-radius:6px;"
    "padding:8px 12px;margin:2px 0;font-size:13px;line-height:1.45;max-width:100%"
)
_TABLE = "border:0;margin:4px 0 0;font-size:13px"
_NAME = (
    "text-align:left;vertical-align:top;padding:0 14px 0 0;font-weight:normal;opacity:.75;"
    "background:none;white-space:nowrap"
)
_VALUE = "text-align:left;padding:0;background:none"
_INK, _SOFT = "#3b82bd", "#9a6a00"


def card(title: str, facts: Mapping[str, str], below: str = "") -> str:
    """A title, a table of facts, and what stands below it.

    >>> "<b>Tracker</b>" in card("Tracker", {"rows": "10"})
    True
    """
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{_NAME}">{escape(name)}</th>'
        f'<td style="{_VALUE}">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return (
        f'<div style="{_CARD}"><b>{escape(title)}</b>'
        f'<table style="{_TABLE}">{rows}</table>{below}</div>'
    )


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title and a table with a head, the first column of which names the row.

    >>> table("Compared", ["learner", "labels"], [["Tracker", "12"]]).count("<td")
    1
    """
    top = "".join(f'<th scope="col" style="{_NAME}">{escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr style="background:none"><th scope="row" style="{_VALUE};padding-right:14px">'
        f"{escape(name)}</th>"
        + "".join(f'<td style="{_VALUE};padding-right:14px">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return (
        f'<div style="{_CARD}"><b>{escape(title)}</b><table style="{_TABLE}">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def windowed(values: NDArray[np.bool_], parts: int = 80) -> Array:
    """The mean of each of so many equal windows.

    >>> windowed(np.array([True, False, True, True]), parts=2).tolist()
    [0.5, 1.0]
    """
    ends = np.unique(np.linspace(0, values.size, min(parts, values.size) + 1).astype(np.int64))
    sums = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(np.diff(sums[ends]) / np.diff(ends))


def sparkline(lines: Mapping[str, Array]) -> str:
    """Shares between 0 and 1 as lines over time, the first one solid, with their names.

    >>> picture = sparkline({"right": np.array([0.5, 1.0]), "asked": np.array([0.1, 0.1])})
    >>> picture.count("<polyline"), "right" in picture
    (2, True)
    """
    drawn, key = [], []
    for (name, values), color in zip(lines.items(), (_INK, _SOFT), strict=False):
        drawn.append(
            f'<polyline points="{_path(values)}" fill="none" stroke="{color}" stroke-width="1.5"/>'
        )
        key.append(f'<span style="color:{color}">&#9632;</span> {escape(name)}')
    words = " and ".join(lines)
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(words)} over time" '
        f'style="display:block;max-width:100%;margin-top:6px">'
        f'<path d="M0 2H{WIDTH}M0 {HEIGHT - 2}H{WIDTH}" stroke="currentColor" stroke-opacity=".2"/>'
        f"{''.join(drawn)}</svg>"
        f'<div style="font-size:11px;opacity:.85">{" &nbsp; ".join(key)}, from 0 to 100 %</div>'
    )


def about(number: float) -> str:
    """A number in two digits.

    >>> about(1_195.1), about(69.3)
    ('1,200', '69')
    """
    return f"{float(f'{number:.2g}'):,.0f}"


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.125), percent(float("nan"))
    ('12.5 %', 'unknown')
    """
    return "unknown" if math.isnan(share) else f"{100.0 * share:.1f} %"


def counted(count: int, thing: str) -> str:
    """A count with its noun.

    >>> counted(1, "label"), counted(1_000, "label")
    ('1 label', '1,000 labels')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def unpredicted(rows: int) -> str:
    """How many rows have no prediction, as a sentence.

    >>> unpredicted(240)
    '240 rows before the first label have no prediction'
    """
    have = "has" if rows == 1 else "have"
    return f"{counted(rows, 'row')} before the first label {have} no prediction"


def _path(values: Array) -> str:
    if values.size == 1:
        values = np.repeat(values, 2)
    across = np.linspace(0.0, WIDTH, values.size)
    down = 2.0 + (HEIGHT - 4.0) * (1.0 - values.clip(0.0, 1.0))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
