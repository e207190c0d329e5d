"""The real streams: their first rows, as numbers or as words (of texts, all rows)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import lasec
from experiments.data import data_folder
from experiments.prices.judges import DRAWN, Signs, drawn, fitted, worded
from experiments.prices.runs import Stream
from experiments.real import open_dataset

ROWS = 5_000
TUNED = ("elec2", "phishing", "noaa", "sms")
UNSEEN = ("kdd", "spamassassin", "youtube", "covertype")
TEXTS = ("sms", "spamassassin", "youtube")
SPREAD = ("kdd",)  # whose first rows are of one class: rows at even distances


@lru_cache(maxsize=4)
def stream(name: str) -> Stream:
    """The first rows of a stream, by its binary task."""
    data = open_dataset(name, data_folder())
    if name in TEXTS:
        lines = data.columns["text"]
        texts = [str(line) for line in lines]
        y = np.where(np.asarray(data.columns[data.label]) == data.positive, 1, -1)
        return Stream(lasec.TextHasher().rows(texts), y.astype(np.int64), texts)
    X, y = (data.one_hot() if name == "kdd" else data).stream()
    at = np.linspace(0, len(y) - 1, ROWS).astype(int) if name in SPREAD else np.arange(ROWS)
    return Stream(np.asarray(X[at]), np.asarray(y[at], dtype=np.int64), [])


def judges(name: str) -> tuple[str, ...]:
    """The judges of a stream: drawn ones, a fitted one, and one by the words of texts."""
    some = ("90 %", "80 %", "by class", "coin", "always wrong")
    return (*some, "fitted", *(("words",) if name in TEXTS else ()))


def said(name: str, judge: str, seed: int) -> Signs:
    """What a judge says of a stream."""
    one: Any = stream(name)
    if judge in DRAWN:
        return drawn(judge, one.y, np.zeros(len(one.y)), seed)
    return fitted(one.X, one.y, seed) if judge == "fitted" else worded(one.texts)
