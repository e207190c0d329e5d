"""The streams that have a name: real ones of the catalogue, and drawn ones, which need no file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lasec.streams import (
    Dataset,
    Stream,
    catalogue,
    open_dataset,
    stationary,
    switching,
    walking,
)
from lasec.streams.datasets import local_file

ROUNDS = 10_000
_SHAPE = {"dimension": 20, "seed": 1}
DRAWN: dict[str, tuple[str, Callable[[], Stream]]] = {
    "walking": (
        "Synthetic: a concept that drifts slowly",
        partial(walking, ROUNDS, speed=0.02, **_SHAPE),
    ),
    "switching": (
        "Synthetic: a new concept every 2,000 rows, 3 % wrong labels",
        partial(switching, ROUNDS, every=2_000, noise=0.03, **_SHAPE),
    ),
    "stationary": ("Synthetic: a concept that stays", partial(stationary, ROUNDS, **_SHAPE)),
}


def is_known(name: str) -> bool:
    """Whether a stream has this name.

    >>> is_known("elec2"), is_known("walking"), is_known("mails.csv")
    (True, True, False)
    """
    return name in DRAWN or any(known.name == name for known in catalogue())


def entries(folder: Path | None) -> list[dict[str, Any]]:
    """All that have a name: what is known about each, and whether it is here."""
    drawn = [
        {"name": name, "title": title, "rows": ROUNDS, "columns": 20, "label": "y", "here": True}
        for name, (title, _) in DRAWN.items()
    ]
    real = [
        known._asdict() | {"here": local_file(known, folder) is not None} for known in catalogue()
    ]
    return drawn + real


def open_known(name: str, folder: Path | None) -> Dataset:
    """The stream of this name.

    >>> open_known("walking", None)
    Dataset('walking', rows=10000, features=20, label='y')
    """
    if name in DRAWN:
        X, y = DRAWN[name][1]()
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        return Dataset(name, columns | {"y": y}, "y", 1, None)
    return open_dataset(name, folder)
