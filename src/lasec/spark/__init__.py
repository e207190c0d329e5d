"""Millions of models on Spark Structured Streaming: predictions, questions and learning by key."""

from lasec.spark.checkpoint import digest, export, models, rescale, state, warm
from lasec.spark.listener import Listener, record
from lasec.spark.operator import Job, Processor
from lasec.spark.output import accuracy
from lasec.spark.run import EVENTS, LABELS, directory, parsed, session, start, topic
from lasec.spark.scoring import scorer
from lasec.spark.shard import Shard
from lasec.spark.sinks import files, read, topics
from lasec.spark.store import PlainStore, SparkStore, Store

__all__ = [
    "EVENTS",
    "LABELS",
    "Job",
    "Listener",
    "PlainStore",
    "Processor",
    "Shard",
    "SparkStore",
    "Store",
    "accuracy",
    "digest",
    "directory",
    "export",
    "files",
    "models",
    "parsed",
    "read",
    "record",
    "rescale",
    "scorer",
    "session",
    "start",
    "state",
    "topic",
    "topics",
    "warm",
]
