"""A figure as SVG that can stand in a page beside others, in the page's own colours."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING

from lasec.evaluation import pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALETTE = (
    "#1f4e7a", "#b5530c", "#1b7f5d", "#a33a76", "#7a6a01", "#2a86b9", "#5b5b5c", "#7d4fb1",
)  # fmt: skip
COLORS = {
    **{color: f"var(--c{number})" for number, color in enumerate(PALETTE)},
    pictures.TRUTH: "var(--text)",
    pictures.SOFT: "var(--soft)",
    pictures.GRID: "var(--grid)",
    pictures.INK: "var(--ink)",
    pictures.BAND: "var(--band)",
    pictures.ALARM: "var(--alarm)",
}
NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextmanager
def measured() -> Iterator[None]:
    """Draw names in any script: what matplotlib's font lacks, the font of the reader has."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def text(figure: Figure) -> str:
    """The figure as an SVG file, the same bytes for the same figure."""
    file = StringIO()
    with pictures.styled(), measured():
        figure.savefig(file, format="svg", metadata=NOTHING, transparent=True)
    return file.getvalue()


def inline(figure: Figure, name: str, title: str, description: str) -> str:
    """The figure as an element of a page: ids of its own, a title and a description for readers."""
    svg = text(figure)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', svg)
    assert box is not None
    body = svg[svg.index(">") + 1 :]
    body = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', body)
    body = re.sub(r'xlink:href="#([^"]*)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r"\n\s*", "\n", body)
    for color, variable in COLORS.items():
        body = body.replace(color, variable)
    return (
        f'<svg viewBox="{box[1]}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-desc">{html.escape(description)}</desc>{body}'
    )


def plot_area(figure: Figure) -> tuple[float, float, float, float]:
    """Where the first axes begin and end, as shares of the width, and the numbers at its ends."""
    axes = figure.axes[0]
    place = axes.get_position()
    low, high = axes.get_xlim()
    return float(place.x0), float(place.x1), float(low), float(high)
