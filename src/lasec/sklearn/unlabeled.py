"""Rows without a label, in the places where scikit-learn wants a label for each row.

None and NaN (and ``pandas.NA``) are missing labels. scikit-learn's own mark of an unlabeled row in
``sklearn.semi_supervised`` is -1, which is a class of many problems here. It is taken for one,
unless the classes show that it cannot be: those that ``partial_fit`` was given are without -1, or
the other labels that ``fit`` is given are two classes or more of whole numbers from 0 on, as
encoders make them. The labels -1, 0 and 1 could be either, so there a warning says what they were
taken for.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import validation


def missing(y: Any) -> NDArray[np.bool_] | None:
    """Which labels are None or NaN; None where all are there, or it is no list of labels.

    >>> missing(["ham", None]).tolist(), missing([0.0, float("nan")]).tolist(), missing([0, 1])
    ([False, True], [False, True], None)
    """
    with validation.foreign("y"):
        given = np.asarray(y) if hasattr(y, "__array__") or isinstance(y, list | tuple) else None
    if given is None or given.ndim != 1 or given.dtype.kind not in "fO":
        return None
    gone = np.array([validation.is_missing(label) for label in given.tolist()], dtype=bool)
    return gone if gone.any() else None


def filled(y: Any, gone: NDArray[np.bool_]) -> NDArray[Any]:
    """The labels with one of them in the place of those that are missing.

    >>> filled([None, "ham", "spam"], np.array([True, False, False])).tolist()
    ['ham', 'ham', 'spam']
    """
    known = np.asarray(y)[~gone].tolist()
    alike = len({type(label) for label in known}) == 1
    labels = np.array(known if known else [0], dtype=None if alike or not known else object)
    whole: NDArray[Any] = labels[np.maximum(np.cumsum(~gone) - 1, 0)]
    return whole


def marked(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Which labels are scikit-learn's -1 for an unlabeled row, and no class of their own.

    ``classes`` are those that were named, if any.

    >>> marked(np.array([-1, 0, 2]), None).tolist(), marked(np.array([-1, 1]), None).tolist()
    ([True, False, False], [False, False])
    """
    none: NDArray[np.bool_] = np.zeros(len(y), dtype=bool)
    if y.dtype.kind not in "if":
        return none
    if classes is not None:
        return none if classes.dtype.kind not in "iuf" or -1 in classes else y == -1
    others = np.unique(y[y != -1])
    if others.size < 2 or (others < 0).any() or (others != np.floor(others)).any():
        return none
    gone: NDArray[np.bool_] = y == -1
    if gone.any() and np.array_equal(others, [0, 1]):
        warnings.warn(
            f"y: {int(gone.sum())} of {len(y)} labels are -1, which was taken for unlabeled, as "
            "other labels are 0 and 1; if it is a class, use partial_fit(X, y, classes=[-1, 0, 1])",
            stacklevel=5,
        )
    return gone
