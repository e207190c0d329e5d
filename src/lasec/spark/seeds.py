"""The seed of a job's random draws, kept with its checkpoint.

Anyone who knows the seed knows the draw of every id, and can choose ids that are never asked about.
A job that is given no seed therefore draws one, and keeps it in a file of the checkpoint that only
its owner can read, on whatever file system the checkpoint is.
"""

from __future__ import annotations

import secrets

from pyspark.sql import SparkSession

from lasec import StateError
from lasec.spark.sinks import reach

FILE = "_lasec_seed"
_PRIVATE = 0o600


def keep(spark: SparkSession, checkpoint: str, given: int | None = None) -> int:
    """The seed of a checkpoint: the one that it keeps, or else ``given``, or else a random one."""
    path = f"{checkpoint.rstrip('/')}/{FILE}"
    kept = _read(spark, path)
    if kept is None:
        _write(spark, path, secrets.randbits(64) if given is None else given)
        kept = _read(spark, path)
    if kept is None or (given is not None and kept != given):
        raise ValueError(
            f"seed: {checkpoint} was started with another one; leave the seed out to continue, or "
            "begin a new checkpoint with the models of this one"
        )
    return kept


def _read(spark: SparkSession, path: str) -> int | None:
    """The number in a file, if there is the file."""
    system, place = reach(spark, path)
    if not system.exists(place):
        return None
    stream = system.open(place)
    try:
        text = str(stream.readLine())
    finally:
        stream.close()
    if not text.isdecimal() or int(text) >= 2**64:
        raise StateError(f"corrupted: {path} holds no seed; restore it from a copy")
    return int(text)


def _write(spark: SparkSession, path: str, seed: int) -> None:
    """A file with a number, whole or not at all."""
    system, place = reach(spark, path)
    draft = place.suffix(f".{secrets.token_hex(8)}")
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    private = hadoop.permission.FsPermission(_PRIVATE)
    stream = system.create(draft, private, False, 4_096, system.getDefaultReplication(draft),
                           system.getDefaultBlockSize(draft), None)  # fmt: skip
    try:
        stream.writeBytes(f"{seed}\n")
    finally:
        stream.close()
    system.rename(draft, place)
