"""What a small state loses: a diagonal, or a few directions, and fewer slots, on narrow rows."""

from __future__ import annotations

from typing import Any

import lasec
from experiments.benchmark.streams import draw, missing
from experiments.forms.cells import Cell, gathered, kilobytes, measured, uniforms
from experiments.journal import Journal
from lasec.rules import Tracking

NAMES = ("stream", "rate", "form", "seed", "size")
STREAMS = (
    "switch", "switch-noise", "slow", "faster", "stationary", "stationary-noise", "recurring",
    "elec2", "noaa", "covertype", "kdd", "phishing",
)  # fmt: skip
RATES = (0.1, 0.3)
DRAWS = 10
USUAL = "default"
FORMS = {
    USUAL: Tracking(),
    "block 0, slots 6": Tracking(block=0, slots=6),
    "block 0, slots 5": Tracking(block=0, slots=5),
    "block 8, slots 5": Tracking(block=8, slots=5),
}


def small(stream: str, rate: float, form: str, seed: int, size: float) -> dict[str, Any]:
    """One form on one draw."""
    X, y = draw(stream, seed, size)
    made = measured(FORMS[form], X, y, rate, seed, uniforms(len(y), seed))
    return {"d": X.shape[1], "rows": len(y)} | made


def sizes(dimension: int = 50) -> dict[str, float]:
    """kB of state of each form.

    >>> sorted(sizes(), key=sizes().get)[-1]
    'default'
    """
    return {
        name: kilobytes(lasec.Tracker(dimension, rule=rule, seed=0)) for name, rule in FORMS.items()
    }


def measure(journal: Journal, seeds: int, size: float) -> list[dict[str, Any]]:
    """A row for each stream, rate, form and draw."""
    cells: list[Cell] = [
        (stream, rate, form, seed, size)
        for stream in STREAMS
        if missing(stream) is None
        for seed in range(1, min(seeds, DRAWS) + 1)
        for rate in RATES
        for form in FORMS
    ]
    return gathered(journal, "a small state", small, NAMES, cells)
