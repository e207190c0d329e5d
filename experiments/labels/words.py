"""Texts as sparse rows through every door: the same decisions in all of them.

The first texts of each stream go as words through ``Learner.run``, a session that asks and tells,
scikit-learn and River (as words with their counts); as a table of texts through what ``lasec run``,
``ask`` and ``tell`` do; and as an svmlight file of hashed words through what ``lasec run`` does. No
door makes a row dense.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import lasec
from experiments.data import data_folder
from experiments.labels import doors
from experiments.real import open_dataset

STREAMS = ("youtube", "sms", "enron1", "spamassassin")
NAMES = ["ham", "spam"]


def compared(name: str, rows: int = doors.ROWS) -> doors.Row:
    """One stream of texts through all doors: how far each is from ``Learner.run``."""
    data = open_dataset(name, data_folder())
    parts = [data.features[part][:rows] for part in ("subject", "text") if part in data.features]
    texts = [" ".join(map(str, text)) for text in zip(*parts, strict=True)]
    y = np.array(NAMES)[(np.asarray(data.columns[data.label])[: len(texts)] == 1).astype(int)]
    hasher = lasec.TextHasher(doors.WORDS)
    X, bags = hasher.rows(texts), [Counter(hasher.words(text)) for text in texts]
    first, table = doors.chunk(X, y, NAMES), _table(texts, y)
    return {
        "stream": name,
        "words a row": round(X.nnz / len(texts)),
        "queried": int(first.asked.sum()),
    } | {
        door: doors.apart(first, found)
        for door, found in {
            "ask and tell": doors.session([X[[i]] for i in range(len(texts))], y, NAMES),
            "scikit-learn": doors.scikit_learn(X, y, NAMES),
            "River": doors.river_of(bags, y, NAMES, columns=doors.WORDS),
            "lasec run": doors.table_run(table, "label", NAMES),
            "lasec ask/tell": doors.table_asks(table, "label", NAMES),
            "svmlight": doors.table_run(_svmlight(X, y), "label", NAMES),
        }.items()
    }


def _table(texts: list[str], y: Any) -> Any:
    from lasec.tables import table_of  # noqa: PLC0415

    return table_of({"text": texts, "label": y.tolist()}, frozenset(["label", "text"])).head


def _svmlight(X: Any, y: Any) -> Any:
    """The rows as an svmlight file has them."""
    from lasec.tables import open_table  # noqa: PLC0415

    lines = []
    for at, label in enumerate(y):
        part = slice(X.indptr[at], X.indptr[at + 1])
        pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
        lines.append(" ".join([label, *(f"{column}:{value:g}" for column, value in pairs)]))
    with TemporaryDirectory() as folder:
        file = Path(folder, "rows.svm")
        file.write_text("\n".join(lines) + "\n")
        with open_table(file) as table:
            batches: Any = next(table.batches())
            return batches
