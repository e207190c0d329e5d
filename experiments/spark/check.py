"""What went in against what came out, and one run against another, row by row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

ROW = ["key", "id", "time"]
_READS = r', "page_(?:hits|misses)": \d+'  # how pages were read depends on the run
ORDER = ["batch", "kind", "key", "id", "time", "outcome", "y", "ticket", "detail"]


def told(folder: Path) -> pd.DataFrame:
    """All that a run has told, read without Spark: the batches that are marked as whole."""
    frames = []
    for mark in sorted((folder / "out").glob("batch=*/_SUCCESS")):
        for file in sorted(mark.parent.glob("kind=*/*.parquet")):
            kind, batch = file.parent.name.partition("=")[2], mark.parent.name.partition("=")[2]
            frames.append(pd.read_parquet(file).assign(kind=kind, batch=int(batch)))
    out = pd.concat(frames, ignore_index=True)
    return out.assign(detail=out.detail.str.replace(_READS, "", regex=True))


def given(where: Path, name: str) -> pd.DataFrame:
    """All events, or all labels."""
    return pd.concat([pd.read_parquet(file) for file in sorted((where / name).glob("*.parquet"))])


def once(where: Path, out: pd.DataFrame) -> dict[str, int]:
    """How many rows are missing, or there too often: all zero if everything is there once."""
    dead, receipts = out[out.kind == "dead"], out[out.kind == "receipt"]
    of_labels = dead.outcome.str.startswith("y:")
    predicted = out[out.kind.isin(["prediction", "question"])]
    answers = receipts[receipts.outcome != "expired"]
    ends = receipts[receipts.outcome.isin(["learned", "expired"])]
    asked = Counter(out[out.kind == "question"].ticket)
    return _apart("events", given(where, "events"), predicted, dead[~of_labels]) | _apart(
        "labels", given(where, "labels"), answers, dead[of_labels]
    ) | {
        "tickets twice": sum(count > 1 for count in asked.values()),
        "learned twice": _twice(receipts[receipts.outcome == "learned"]),
        "ended twice": _twice(ends),
        "learned unasked": len(set(ends.ticket) - set(asked)),
    }  # fmt: skip


def _apart(name: str, wanted: pd.DataFrame, *parts: pd.DataFrame) -> dict[str, int]:
    """Rows that should be there and are not, and rows that should not be there and are."""
    want, have = _counted(wanted), sum(map(_counted, parts), Counter[Any]())
    return {f"{name} lost": (want - have).total(), f"{name} too many": (have - want).total()}


def _counted(rows: pd.DataFrame) -> Counter[Any]:
    return Counter(rows[ROW].itertuples(index=False, name=None))


def _twice(receipts: pd.DataFrame) -> int:
    return int(receipts.duplicated(["key", "id"]).sum())


def differences(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, int]:
    """In how many rows each column differs, bit by bit; empty if the runs are the same."""
    if len(one) != len(other):
        return {"rows": abs(len(one) - len(other))}
    one, other = (run.sort_values(ORDER, ignore_index=True) for run in (one, other))
    apart = {}
    for name in one.columns:
        a, b = one[name], other[name]
        count = int((~((a == b) | (a.isna() & b.isna()))).sum())
        if count:
            apart[name] = count
    return apart


def outcomes(out: pd.DataFrame) -> dict[str, int]:
    """How many rows of each kind there are, receipts by their outcome."""
    kinds = out.kind.where(out.kind != "receipt", "receipt: " + out.outcome.fillna(""))
    return {str(kind): int(count) for kind, count in kinds.value_counts().sort_index().items()}
