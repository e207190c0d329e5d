"""Real datasets, from a file that you have or from their public source."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Digits = tuple[NDArray[np.float64], NDArray[np.int64]]


def usps(path: str | os.PathLike[str] | None = None) -> Digits:
    """The USPS handwritten digits: 9,298 rows of 256 grey values in [-1, 1], and their digits.

    ``path`` is an ``.npz`` file with arrays ``X`` and ``y``, or a folder with a ``usps.npz``.
    Without it the data are fetched from OpenML, where they are number 41082, by scikit-learn (which
    must be installed) and kept in its cache.

    J. J. Hull. A Database for Handwritten Text Recognition Research. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 16(5), 1994.

    >>> X, digits = usps("shared/data")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (9298, 256)
    """
    if path is None:
        return _from_openml()
    file = Path(path)
    file = file / "usps.npz" if file.is_dir() else file
    with np.load(file) as data:
        return data["X"].astype(np.float64), data["y"].astype(np.int64)


def _from_openml() -> Digits:
    """Number 41082; its classes are the digits plus one."""
    try:
        from sklearn.datasets import fetch_openml  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("fetching USPS needs scikit-learn; or give the path of a file") from error
    X, classes = fetch_openml(data_id=41082, return_X_y=True, as_frame=False, parser="liac-arff")
    return np.asarray(X, dtype=np.float64), np.asarray(classes, dtype=np.int64) - 1
