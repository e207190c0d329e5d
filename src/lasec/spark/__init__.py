"""Millions of models on Spark Structured Streaming: predictions, questions and learning by key."""

from lasec.spark.checkpoint import digest, state
from lasec.spark.plan import Job, Processor
from lasec.spark.run import EVENTS, LABELS, directory, session, start, topic
from lasec.spark.shard import Shard
from lasec.spark.sinks import files, read
from lasec.spark.store import PlainStore, SparkStore, Store

__all__ = [
    "EVENTS",
    "LABELS",
    "Job",
    "PlainStore",
    "Processor",
    "Shard",
    "SparkStore",
    "Store",
    "digest",
    "directory",
    "files",
    "read",
    "session",
    "start",
    "state",
    "topic",
]
