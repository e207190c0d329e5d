"""A fleet whose labels are known: each row is a question, and its label follows right behind it."""

from typing import Any

import numpy as np

import lasec

FIRST = ("label", "margin", "variance", "propensity", "asked")


def simulate(fleet, keys, X, y, times=None, draws=None):
    """One call of ``serve``: the records of the questions, with what came of their labels.

    A row without a label is a question alone.
    """
    kinds: Any = np.array([*y, None], dtype=object)[:-1]
    known = np.array([label is not None and label == label for label in kinds], bool)  # noqa: PLR0124
    n = len(kinds)
    rows = np.concatenate([np.arange(n), np.flatnonzero(known)])
    order = np.lexsort([np.arange(rows.size) >= n, rows])
    rows, is_label = rows[order], order >= n
    after = np.where(is_label, np.arange(rows.size) - 1, -1)
    labels = [kinds[row] if told else None for row, told in zip(rows, is_label, strict=True)]
    keys, times, draws = (a if a is None else np.asarray(a)[rows] for a in (keys, times, draws))
    X = X[rows] if hasattr(X, "shape") else [X[row] for row in rows]
    served = fleet.serve(keys, X, labels, after=after, times=times, draws=draws)
    names = (*FIRST, "ticket", "refused", "sign", "key")
    columns = {name: getattr(served, name)[~is_label] for name in names}
    came = np.zeros((2, n), bool)
    came[:, rows[is_label]] = served.updated[is_label], served.learned[is_label]
    mistake = known & np.array([a != b for a, b in zip(columns["label"], kinds, strict=True)], bool)
    return lasec.Records(
        **columns, mistake=mistake, updated=came[0], learned=came[1], labeled=known
    )
