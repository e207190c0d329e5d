"""How the file of a known stream becomes columns, and how scikit-learn gets what has no file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lasec.streams.dataset import Column
from lasec.streams.known import Known

Columns = dict[str, Column]

COVER = (
    "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am",
    "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{j}" for j in range(1, 5)), *(f"Soil_Type{j}" for j in range(1, 41)),
)  # fmt: skip
TEXTS = ("time", "date", "video", "subject", "text")  # no group, id or order: they tell the label


def read(known: Known, file: Path) -> Columns:
    """The columns of a file."""
    if file.name.endswith((".jsonl.gz", ".jsonl")):
        return _lines(known, file)
    with np.load(file) as data:
        return _table(known, data)


def wanted(known: Known) -> str:
    """What the file of a stream holds, for those who have to make one."""
    if known.file.endswith(".jsonl.gz"):
        return f"{known.rows:,} lines of JSON with text, and y (0 or 1)"
    return f"an array X of {known.rows:,} x {known.columns}, and y, its labels"


def _table(known: Known, data: Any) -> Columns:
    """X by its columns; codes become the names that they stand for."""
    X, y = data["X"], data["y"]
    names = data["columns"].tolist() if "columns" in data.files else _numbered(known)
    if X.shape[1:] != (len(names),) or y.shape != X.shape[:1]:
        raise ValueError(f"{known.file}: X of {X.shape} and y of {y.shape}: {wanted(known)} wanted")
    made: Columns = {}
    for j, name in enumerate(names):
        made[name] = X[:, j]
        if f"categories_{name}" in data.files:
            categories = data[f"categories_{name}"].tolist()
            made[name] = [categories[code] for code in X[:, j].astype(np.int64)]
    return made | {known.label: y.astype(np.int64)}


def _numbered(known: Known) -> list[str]:
    return [f"x{j}" for j in range(known.columns)]


def _lines(known: Known, file: Path) -> Columns:
    """Lines of JSON."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else open(file) as lines:
        rows = [json.loads(line) for line in lines]
    made: Columns = {key: [row[key] for row in rows] for key in TEXTS if key in rows[0]}
    return made | {known.label: np.array([row["y"] for row in rows], dtype=np.int64)}


def _usps(known: Known) -> Columns:
    """OpenML's classes are the digits plus one."""
    from sklearn.datasets import fetch_openml  # noqa: PLC0415

    X, y = fetch_openml(data_id=41082, return_X_y=True, as_frame=False, parser="liac-arff")
    columns = dict(zip(_numbered(known), np.asarray(X, dtype=np.float64).T, strict=True))
    return columns | {known.label: np.asarray(y, dtype=np.int64) - 1}


def _elec2(known: Known) -> Columns:
    from sklearn.datasets import fetch_openml  # noqa: PLC0415

    X, y = fetch_openml(data_id=151, return_X_y=True, as_frame=True, parser="liac-arff")
    columns = {name: X[name].astype(float).to_numpy() for name in X.columns}  # day has categories
    return columns | {known.label: (y == "UP").to_numpy().astype(np.int64)}


def _covertype(known: Known) -> Columns:
    from sklearn.datasets import fetch_covtype  # noqa: PLC0415

    X, y = fetch_covtype(shuffle=False, return_X_y=True)
    return dict(zip(COVER, X.T, strict=True)) | {known.label: y.astype(np.int64)}


def _kdd(known: Known) -> Columns:
    from sklearn.datasets import fetch_kddcup99  # noqa: PLC0415

    data = fetch_kddcup99(percent10=True, shuffle=False)
    made: Columns = {}
    for name, column in zip(data.feature_names, data.data.T, strict=True):
        words = name in ("protocol_type", "service", "flag")
        made[name] = [word.decode() for word in column] if words else column.astype(np.float64)
    return made | {known.label: (data.target != b"normal.").astype(np.int64)}


FETCH: dict[str, Callable[[Known], Columns]] = {
    "usps": _usps,
    "elec2": _elec2,
    "covertype": _covertype,
    "kdd": _kdd,
}
