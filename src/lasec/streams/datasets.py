"""Real datasets: from the package, from a file that you have, or from their public source."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lasec.streams.dataset import Dataset
from lasec.streams.known import Known, catalogue
from lasec.streams.readers import FETCH, read, wanted

BUNDLED = Path(__file__).parent / "data"
Digits = tuple[NDArray[np.float64], NDArray[np.int64]]


def open_dataset(name: str, path: str | os.PathLike[str] | None = None) -> Dataset:
    """One of the :func:`catalogue` by name, its rows in the order of the stream.

    ``path`` is its file, or a folder with a file of the name that the catalogue gives. Without it,
    the file is looked for in the folder that the environment variable ``LASEC_DATA`` names, then
    among the bundled streams, which need no file and no network. What is in neither is fetched from
    its public source by scikit-learn (which must be installed) and kept in its cache.

    >>> X, y = open_dataset("covertype_small").stream()
    >>> X.shape, y[2:5].tolist()
    ((14526, 54), [-1, 1, -1])
    >>> flights = open_dataset("flights_small")
    >>> flights, flights.one_hot().stream().X.shape
    (Dataset('flights_small', rows=16368, features=10, label='late'), (16368, 125))
    >>> open_dataset("sms").hashed(width=64).X.shape
    (5574, 64)
    >>> open_dataset("electricity")
    Traceback (most recent call last):
    ValueError: no stream 'electricity': choose from usps, elec2, sms, ...
    >>> open_dataset("elec")
    Traceback (most recent call last):
    ValueError: no stream 'elec': did you mean elec2?
    """
    known = _named(name)
    file = _file(known, path)
    columns = _fetch(known) if file is None else read(known, file)
    return Dataset(name, columns, known.label, known.positive, known.time)


def local_file(known: Known, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The file of a stream in a folder (by default ``LASEC_DATA``), or else a bundled one.

    >>> found = (local_file(known) for known in catalogue())
    >>> "sms_spam.jsonl.gz" in [file.name for file in found if file is not None]
    True
    """
    folder = folder or os.environ.get("LASEC_DATA")
    places = [Path(folder), BUNDLED] if folder else [BUNDLED]
    files = (place / known.file for place in places)
    return next((file for file in files if file.exists()), None)


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
    if path is None:
        return local_file(known)
    given = Path(path)
    file = local_file(known, given) if given.is_dir() else given
    if file is None or not file.exists():
        missing = file or given / known.file
        raise FileNotFoundError(f"{missing}: there is no such file. It holds {wanted(known)}")
    return file


def _fetch(known: Known) -> dict[str, NDArray[np.generic] | list[str]]:
    """The columns from their public source."""
    try:
        return FETCH[known.name](known)
    except ImportError as error:
        raise ImportError(
            f"fetching {known.name} ({known.origin}) needs scikit-learn and pandas; "
            "or give the path of a file"
        ) from error
