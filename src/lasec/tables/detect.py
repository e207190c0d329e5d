"""Compression and format of a file by its first bytes, whatever its name says."""

from __future__ import annotations

import re

from lasec.errors import TableError
from lasec.persistence.container import SIGNATURE

LOOK = 16  # bytes that show how a file is compressed, or that it holds no text
SAMPLE = 1 << 16  # bytes of text that show its format
PARQUET = b"PAR1"
_COMPRESSED = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bz2": re.compile(rb"BZh[1-9]1AY&SY"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "lz4": re.compile(rb"\x04\x22\x4d\x18"),
}
_FOREIGN = {
    SIGNATURE: "a saved model, not a table (lasec info describes it)",
    b"PK\x03\x04": "a zip archive or an Excel workbook; save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file; save it as CSV",
    PARQUET: "a Parquet file; read it from a file with --format parquet, not from a pipe",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x93NUMPY": "a NumPy array; save it as CSV or Parquet",
    b"\xff\xfe": "UTF-16 text; convert it with iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "UTF-16 text; convert it with iconv -f utf-16 -t utf-8",
}
_BOM = b"\xef\xbb\xbf"
_SVMLIGHT = re.compile(rb"[+-]?[\w.]+[ \t]+(?:qid:\d+[ \t]+)?\d+:[^\s:,]+(?:\s|$)")


def compression(first: bytes) -> str | None:
    r"""How a file that begins like this is compressed.

    >>> compression(b"\x1f\x8b\x08\x00"), compression(b"price,shop")
    ('gzip', None)
    """
    return next((name for name, begins in _COMPRESSED.items() if begins.match(first)), None)


def refuse_foreign(first: bytes, name: str) -> None:
    r"""Raise an error about a file that begins like this and is no table.

    >>> refuse_foreign(b"PK\x03\x04", "rows.xlsx")
    Traceback (most recent call last):
    lasec.errors.TableError: rows.xlsx is a zip archive or an Excel workbook; save it as CSV
    """
    for begins, what in _FOREIGN.items():
        if first.startswith(begins):
            raise TableError(f"{name} is {what}")


def text_format(sample: bytes) -> str | None:
    r"""The format of a text that begins like this: csv, jsonl or svmlight; None for no text.

    >>> [text_format(s) for s in (b"price,shop\n1,a", b'{"price": 1}', b"+1 3:0.5 7:1", b"\0")]
    ['csv', 'jsonl', 'svmlight', None]
    """
    text = sample.removeprefix(_BOM).lstrip()
    if text[:1] in (b"{", b"["):
        return "jsonl"
    if _SVMLIGHT.match(text):
        return "svmlight"
    return None if b"\0" in text else "csv"
