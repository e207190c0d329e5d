"""Real streams with all their classes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import data_folder
from experiments.forms.arrays import Matrix

ROWS = {"covertype": 8_000, "kdd": 6_000, "usps": 3_000, "outdoor": 4_000}
FILES = {
    "covertype": "covertype.npz",
    "kdd": "kddcup99_10percent.npz",
    "usps": "usps.npz",
    "outdoor": "outdoor.npz",
}
EVERY = 80  # one row of the KDD file in so many
CODES = ("protocol_type", "service", "flag")
DOS = ("back", "land", "neptune", "pod", "smurf", "teardrop")
PROBE = ("ipsweep", "nmap", "portsweep", "satan")
R2L = (
    "ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster",
)  # fmt: skip
U2R = ("buffer_overflow", "loadmodule", "perl", "rootkit")
GROUPS = {name: group for group, names in enumerate([("normal",), DOS, PROBE, R2L, U2R])
          for name in names}  # fmt: skip


class Labeled(NamedTuple):
    """Rows, and the number of the class of each, from 0."""

    X: Matrix
    y: NDArray[np.int64]


@lru_cache(maxsize=1)
def labeled(name: str, seed: int, size: float) -> Labeled:
    """The rows in the order of the file; those of USPS shuffled by the seed."""
    count = max(100, round(ROWS[name] * size))
    rows = _kdd() if name == "kdd" else _plain(name)
    order = np.arange(len(rows.y))
    if name == "usps":
        order = np.random.default_rng(seed).permutation(order)
    kept = order[:count]
    _, y = np.unique(rows.y[kept], return_inverse=True)
    return Labeled(np.ascontiguousarray(rows.X[kept]), y.astype(np.int64))


def _load(name: str) -> Any:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{FILES[name]}: there is no folder of data; set LASEC_DATA")
    return np.load(folder / FILES[name])


def _plain(name: str) -> Labeled:
    with _load(name) as data:
        X, y = data["X"], data["y"]
    return Labeled(X[:20_000].astype(np.float64), y[:20_000].astype(np.int64))


def _kdd() -> Labeled:
    """The attacks in their four groups; codes of categories as columns of 0 and 1."""
    with _load("kdd") as data:
        X, attack = data["X"][::EVERY].astype(np.float64), data["attack"][::EVERY]
        names, columns = data["attack_names"], data["columns"].tolist()
        sizes = {code: len(data[f"categories_{code}"]) for code in CODES}
    group = np.array([GROUPS[str(name)] for name in names])
    places = [columns.index(code) for code in CODES]
    expanded = [
        np.eye(sizes[code])[X[:, at].astype(np.int64)]
        for code, at in zip(CODES, places, strict=True)
    ]
    return Labeled(np.column_stack([np.delete(X, places, axis=1), *expanded]), group[attack])
