"""What wide rows lose by the automatic form: 64 directions and a diagonal for the whole matrix.

The forms see the same rows and the same random draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

from experiments.benchmark.streams import draw
from experiments.forms.cells import Cell, gathered, measured, uniforms
from experiments.forms.spectra import rotating, spectrum
from experiments.journal import Journal
from experiments.whole.sources import whole
from lasec.rules import Tracking
from lasec.streams import Stream

NAMES = ("stream", "rate", "form", "seed", "size")
WIDE = 64  # directions of the automatic form


class Source(NamedTuple):
    """A stream by seed and size, the rates, how many draws, and the forms to run."""

    stream: Callable[[int, float], Stream]
    rates: tuple[float, ...]
    draws: int
    forms: tuple[str, ...] = ("automatic", "full")


def _usps(seed: int, size: float) -> Stream:
    return draw("usps", seed, size)


def _katakis(seed: int, size: float) -> Stream:
    return whole("spam_katakis", size)


def _spectrum(seed: int, size: float, dimension: int) -> Stream:
    return spectrum(max(50, round(6_000 * size)), dimension, seed)


def _rotating(seed: int, size: float) -> Stream:
    return rotating(max(50, round(8_000 * size)), 256, seed)


ALL = ("automatic", "full", "wide")
SOURCES = {
    "usps": Source(_usps, (0.1, 0.3), 30),
    "rotating 256": Source(_rotating, (0.1,), 10),
    "power law 192": Source(partial(_spectrum, dimension=192), (0.1, 0.3), 10, ALL),
    "power law 208": Source(partial(_spectrum, dimension=208), (0.1, 0.3), 10, ALL),
    "katakis 512": Source(_katakis, (0.1, 0.3), 4),
    "power law 768": Source(partial(_spectrum, dimension=768), (0.1, 0.3), 20),
}


@lru_cache(maxsize=1)
def _stream(name: str, seed: int, size: float) -> Stream:
    return SOURCES[name].stream(seed, size)


def wide(stream: str, rate: float, form: str, seed: int, size: float) -> dict[str, Any]:
    """One form on one draw."""
    X, y = _stream(stream, seed, size)
    block = {"automatic": -1, "full": X.shape[1], "wide": WIDE}[form]
    draws = uniforms(len(y), seed)
    made = measured(Tracking(block=block), X, y, rate, seed, draws)
    return {"d": X.shape[1], "rows": len(y)} | made


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each stream, rate, form and draw."""
    cells: list[Cell] = [
        (name, rate, form, seed, size)
        for name, source in SOURCES.items()
        for seed in range(1, min(seeds, source.draws) + 1)
        for rate in source.rates
        for form in source.forms
    ]
    return gathered(journal, "wide rows", wide, NAMES, cells)
