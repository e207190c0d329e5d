"""Millions of models on Spark Structured Streaming: predictions, questions and learning by key."""

from lasec.spark.checkpoint import digest, state
from lasec.spark.plan import Job
from lasec.spark.run import EVENTS, LABELS, directory, parsed, session, start, topic
from lasec.spark.sinks import files, read, topics

__all__ = [
    "EVENTS",
    "LABELS",
    "Job",
    "digest",
    "directory",
    "files",
    "parsed",
    "read",
    "session",
    "start",
    "state",
    "topic",
    "topics",
]
