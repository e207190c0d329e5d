"""The page around figures and tables: one file, no network, and every word of a user escaped."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib import resources

from lasec.reports import svg
from lasec.reports.figures import FigureSpec


def page(title: str, parts: Iterable[str]) -> bytes:
    """A whole page, as a file."""
    body = "\n".join(filter(None, parts))
    style, script = (f"\n{_part(name)}" for name in ("page.css", "page.js"))
    whole = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )
    return whole.encode(errors="backslashreplace")


def text(words: str) -> str:
    """Plain words as HTML; a number stays beside its percent sign.

    >>> text("<b> 10 %")
    '&lt;b&gt; 10&nbsp;%'
    """
    return escape(words).replace(" %", "&nbsp;%")


def section(name: str, title: str, *parts: str, level: int = 2) -> str:
    """A section with a heading; nothing where there is nothing in it."""
    inside = "\n".join(filter(None, parts))
    if not inside:
        return ""
    head = f"<h{level}>{text(title)}</h{level}>"
    return f'<section id="{name}">\n{head}\n{inside}\n</section>'


def details(name: str, title: str, *parts: str) -> str:
    """A section that is folded away until somebody opens it."""
    inside = "\n".join(filter(None, parts))
    if not inside:
        return ""
    head = f"<summary><h2>{text(title)}</h2></summary>"
    return f'<details id="{name}">\n{head}\n{inside}\n</details>'


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of plain words."""
    shown = f' class="{kind}"' if kind else ""
    return f"<p{shown}>{text(words)}</p>" if words else ""


def cards(given: Iterable[tuple[str, str, str]]) -> str:
    """Large numbers, each with what it is and a note."""
    inside = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd>"
        + (f'<dd class="note">{text(note)}</dd>' if note else "")
        + "</div>"
        for name, value, note in given
    )
    return f'<dl class="cards">{inside}</dl>' if inside else ""


def facts(given: Mapping[str, str], caption: str) -> str:
    """A table of names and values."""
    if not given:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>'
        for name, value in given.items()
    )
    return (
        f'<p class="quiet">{text(caption)}</p><div class="scroll"><table class="facts" '
        f'aria-label="{escape(caption)}"><tbody>{rows}</tbody></table></div>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table whose first column names the row."""
    listed = [
        f'<tr><th scope="row">{text(name)}</th>'
        + "".join(f"<td>{text(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    ]
    if not listed:
        return ""
    top = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    return (
        f'<p class="quiet">{text(caption)}</p><div class="scroll" tabindex="0">'
        f'<table aria-label="{escape(head[0])}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(listed)}</tbody></table></div>"
    )


def figure(spec: FigureSpec, before: str = "", level: int = 2) -> str:
    """A spec as a section, with a readout; the page gives the figure its size."""
    made = spec.figure()
    inside = svg.inline(made, spec.name, spec.title, spec.reading)
    data = {
        "axis": spec.axis,
        "area": [round(number, 5) for number in svg.plot_area(made)],
        "x": _numbers(spec.x),
        "places": list(spec.places),
        "series": [[name, kind, _numbers(values)] for name, kind, values in spec.series],
    }
    numbers = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return section(
        spec.name, spec.title, before, f'<p class="reading">{text(spec.reading)}</p>',
        f'<figure data-figure="{spec.name}"><div class="plot">{inside}<i></i></div>'
        f'<figcaption class="readout hint">Point at a figure, or tap it, to read its values.'
        f"</figcaption>"
        f'<script type="application/json">{numbers}</script></figure>', level=level,
    )  # fmt: skip


def _numbers(values: Iterable[float]) -> list[float | int | None]:
    """Numbers in few digits; None where there is none."""
    return [_short(value) for value in values]


def _short(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    if value == int(value):
        return int(value)
    return float(f"{value:.5g}")


def _policy(script: str) -> str:
    """What a browser lets the page do: run this script, use styles and its own pictures."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _part(name: str) -> str:
    return resources.files("lasec.reports").joinpath(name).read_text(encoding="utf-8")
