"""How the columns of a table are encoded, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterator

from lasec.cli.output import few, say
from lasec.notebook import percent
from lasec.tables import Encoder, Kind
from lasec.tables.pairs import COLUMNS

SHOWN = 8  # names of one kind in a line


def summary(encoder: Encoder) -> str:
    """How many columns of each kind there are, and how many features they become.

    >>> import pyarrow as pa
    >>> rows = pa.RecordBatch.from_pydict({"price": [1.0, 3.0] * 20, "shop": ["a", "b"] * 20})
    >>> summary(Encoder.fit(rows))
    '1 numeric, 1 categorical; 3 features'
    """
    kinds = [column.kind for column in encoder.columns]
    words = [f"{kinds.count(kind)} {name}" for kind, name in _NAMES.items() if kind in kinds]
    every = encoder.words == COLUMNS
    features = "one for each index" if every else f"{encoder.dimension:,} features"
    return f"{', '.join(words)}; {features}"


def lines(encoder: Encoder, numeric: bool = False) -> Iterator[tuple[str, str]]:
    """What became of the columns: a line for each way to encode them.

    >>> import pyarrow as pa
    >>> rows = pa.RecordBatch.from_pydict({"price": [1.0, 3.0] * 20, "shop": ["a", "b"] * 20})
    >>> list(lines(Encoder.fit(rows)))
    [('one-hot', 'shop (2 categories); new categories have no feature')]
    """
    hashed = f"{encoder.words:,} columns"
    named = {
        kind: [column.name for column in encoder.columns if column.kind is kind] for kind in Kind
    }
    if numeric and named[Kind.NUMBER]:
        scale = "standardized" if encoder.standardize else "not standardized"
        yield "numeric", f"{few(named[Kind.NUMBER], SHOWN)} ({scale})"
    if one_hot := encoder.one_hot.categories:
        told = [f"{name[:80]} ({len(values)} categories)" for name, values in one_hot.items()]
        new = f"are hashed ({hashed})" if encoder.words else "have no feature"
        yield "one-hot", f"{few(told, SHOWN)}; new categories {new}"
    if encoder.hashed:
        yield "hashed", f"{few(encoder.hashed, SHOWN)} (categories, {hashed})"
    if named[Kind.TEXT]:
        what = "words" if encoder.ngrams is None else "words and n-grams of {}-{}"
        parts = what.format(*encoder.ngrams or ())
        yield "text", f"{few(named[Kind.TEXT], SHOWN)} ({parts}, {hashed})"
    if named[Kind.PAIRS]:
        wide = f"{encoder.pairs or encoder.words:,} features; larger indices wrap around"
        wide = "a column for each index" if encoder.words == COLUMNS else wide
        yield "sparse", f"{few(named[Kind.PAIRS], SHOWN)} ({wide})"
    ignored = [f"{c.name[:80]} ({c.why})" for c in encoder.columns if c.kind is Kind.IGNORED]
    if ignored:
        yield "ignored", few(ignored, SHOWN)


def encodings(encoder: Encoder) -> dict[str, str]:
    """How each column is encoded, for scripts.

    >>> import pyarrow as pa
    >>> rows = pa.RecordBatch.from_pydict({"price": [1.0, 3.0], "shop": ["a", "b"]})
    >>> encodings(Encoder.fit(rows))
    {'price': 'standardized', 'shop': 'hashed'}
    """
    by_kind = {
        Kind.NUMBER: "standardized" if encoder.standardize else "unchanged",
        Kind.CATEGORY: "one-hot",
        Kind.TEXT: "hashed",
        Kind.PAIRS: "sparse",
        Kind.IGNORED: "ignored",
    }
    return {
        column.name: "hashed" if column.name in encoder.hashed else by_kind[column.kind]
        for column in encoder.columns
    }


def warn_of_unseen(encoder: Encoder, rows: int) -> None:
    """Warn of columns that have many categories which the first rows do not have."""
    for name, count in encoder.one_hot.unseen.items():
        if count > MANY_UNSEEN * max(rows, 1) and not encoder.words:
            say(
                f"lasec: warning: column {name[:80]!r}: {count:,} rows ({percent(count / rows)}) "
                "have a category that the first rows do not have, and no feature for it; "
                f"--text {name[:80]} gives each word a feature, with the tracker"
            )


MANY_UNSEEN = 0.05  # of the rows, from which on a warning is due
_NAMES = {
    Kind.NUMBER: "numeric",
    Kind.CATEGORY: "categorical",
    Kind.TEXT: "text",
    Kind.PAIRS: "sparse",
    Kind.IGNORED: "ignored",
}
