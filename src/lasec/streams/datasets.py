"""Real datasets, from a file that you have or from their public source."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lasec.streams.dataset import Dataset
from lasec.streams.known import Known, catalogue
from lasec.streams.readers import FETCH, read, wanted

Digits = tuple[NDArray[np.float64], NDArray[np.int64]]


def open_dataset(name: str, path: str | os.PathLike[str] | None = None) -> Dataset:
    """One of the :func:`catalogue` by name, its rows in the order of the stream.

    ``path`` is its file, or a folder with a file of the name that the catalogue gives. Without it,
    the folder in the environment variable ``LASEC_DATA`` is looked in; then the data are fetched
    from their public source by scikit-learn (which must be installed) and kept in its cache, where
    there is such a source.

    >>> data = open_dataset("kdd", "shared/data")  # doctest: +SKIP
    >>> data  # doctest: +SKIP
    Dataset('kdd', rows=494021, features=41, label='attack')
    >>> data.one_hot().stream()  # doctest: +SKIP
    Stream(rows=494021, dimension=118, concepts=1)
    >>> open_dataset("electricity")
    Traceback (most recent call last):
    ValueError: no stream 'electricity': choose from usps, elec2, noaa, ...
    >>> open_dataset("elec")
    Traceback (most recent call last):
    ValueError: no stream 'elec': did you mean elec2?
    """
    known = _named(name)
    file = _file(known, path)
    columns = _fetch(known) if file is None else read(known, file)
    return Dataset(name, columns, known.label, known.positive, known.time)


def usps(path: str | os.PathLike[str] | None = None) -> Digits:
    """The USPS handwritten digits: 9,298 rows of 256 grey values in [-1, 1], and their digits.

    ``path`` is an ``.npz`` file with arrays ``X`` and ``y``, or a folder with a ``usps.npz``.
    Without it the data are found or fetched as :func:`open_dataset` does it; they are number 41082
    of OpenML.

    J. J. Hull. A Database for Handwritten Text Recognition Research. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 16(5), 1994.

    >>> X, digits = usps("shared/data")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (9298, 256)
    """
    data = open_dataset("usps", path)
    X = np.column_stack([np.asarray(column) for column in data.features.values()])
    return X.astype(np.float64), np.asarray(data.columns[data.label])


def _named(name: str) -> Known:
    """What the catalogue has under this name."""
    names = {known.name: known for known in catalogue()}
    if name in names:
        return names[name]
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"
    raise ValueError(f"no stream {name!r}: {hint}")


def _file(known: Known, path: str | os.PathLike[str] | None) -> Path | None:
    """Where the file is, or None if it has to be fetched."""
    if path is not None:
        given = Path(path)
        file = given / known.file if given.is_dir() else given
        if not file.exists():
            raise FileNotFoundError(f"{file}: there is no such file. It holds {wanted(known)}")
        return file
    folder = os.environ.get("LASEC_DATA")
    file = Path(folder or ".") / known.file
    return file if folder and file.exists() else None


def _fetch(known: Known) -> dict[str, NDArray[np.generic] | list[str]]:
    """The columns from their public source, if they have one."""
    if known.name not in FETCH:
        raise FileNotFoundError(
            f"{known.name}: it needs a file. Give the path of {known.file} or of a folder with it, "
            f"or set LASEC_DATA to that folder. It holds {wanted(known)}"
        )
    try:
        return FETCH[known.name](known)
    except ImportError as error:
        raise ImportError(
            f"fetching {known.name} ({known.origin}) needs scikit-learn and pandas; "
            "or give the path of a file"
        ) from error
