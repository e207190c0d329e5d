"""The job as Spark sees it: two inputs made alike, united, grouped by shard, and served."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from lasec import Aggregate, Learner
from lasec.spark import listener, output, rows
from lasec.spark.cache import CACHE
from lasec.spark.config import Config, describe
from lasec.spark.shard import Shard
from lasec.spark.shard_state import begun
from lasec.spark.store import SparkStore, Store

DAY = 86_400.0
REMEMBER = 90 * DAY  # how long a key without rows is remembered
OLDEST = 3.2e9  # seconds, a hundred years: the longest that a question may wait
CORRUPT = "_corrupt_record"  # where Spark puts lines of JSON or CSV that it cannot read


@dataclass(frozen=True, eq=False)
class Job:
    """Millions of models in Spark: what each key begins with, and how questions and labels wait.

    ``model`` is a learner that has not seen anything; every key gets one like it, with a seed of
    its own. The classes are the model's, the same for all keys: give them to the model, at most
    127. Keys are hashed to ``shards``, which are the groups of the stateful operator: the most
    tasks that can ever share the work, and fixed for the life of a checkpoint.

    A question expires when the shard's clock is ``max_age`` seconds past what it was when the
    question was asked, and a label is late if its time is more than that after its event's. The
    learner's own ``max_age`` and ``max_pending`` are not used here. A label that comes before its
    event is held for ``patience`` seconds. A row whose time lies more than ``lead`` seconds (or
    ``max_age``/64, if that is less) ahead of the machine's clock is served, but does not move the
    clock of its shard. ``cache`` is how many megabytes of models an executor keeps at hand, in
    files that its Python workers share, so as not to ask the state store for them again.

    A key that has had neither event nor label for ``forget_after`` seconds of its shard's clock, of
    which a batch counts for 1/64 of that at most, is forgotten, model and all; if it comes again,
    it restarts. The default is 90 days, or twice ``max_age`` or ``patience`` where that is more;
    less than either is refused, since questions and labels of the key may wait so long. A shard
    takes ``max_keys`` keys at most; events of more are dead letters, until keys are forgotten.

    ``seed`` is the seed of all random draws, with the key and the id of an event; the model's own
    seed is not used. Without it, :func:`lasec.spark.start` continues with the seed that is kept
    with the checkpoint, and draws one when there is none yet. Anyone who knows the seed can choose
    ids that are never queried: keep it secret.

    >>> import lasec
    >>> Job(lasec.LASEC_SS(dimension=50, drift=0.01), shards=128).bytes_per_model
    10600
    """

    model: Learner
    shards: int = 64
    max_age: float = 30 * DAY
    patience: float = 3_600.0
    lead: float = 3_600.0
    cache: float = 1_024.0
    forget_after: float | None = None
    max_keys: int = 100_000
    seed: int | None = None

    def __post_init__(self) -> None:
        _check_model(self.model)
        whole = [("shards", self.shards, 1, 20), ("max_keys", self.max_keys, 1, 31)]
        whole += [("seed", self.seed, 0, 64)] if self.seed is not None else []
        for name, given, low, high in whole:
            if not (isinstance(given, int) and low <= given < 2**high + low):
                raise ValueError(
                    f"{name}: expected a whole number from {low} to 2^{high}, got {given}"
                )
        for name, least in (("max_age", 1.0), ("patience", 0.0), ("lead", 0.0), ("cache", 0.0)):
            if not least <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: expected at least {least:g}, got {getattr(self, name)}")
        if self.max_age > OLDEST:
            raise ValueError(f"max_age: expected at most {OLDEST:g}, got {self.max_age}")
        least = max(2 * self.max_age, self.patience)
        if self.forget_after is not None and not self.forget_after >= least:
            raise ValueError(
                f"forget_after: expected at least {least:g} (twice max_age, and patience), "
                f"got {self.forget_after}"
            )
        _ = self.config.size, self.config.labels  # refused here, if at all, and not in the tasks

    @property
    def bytes_per_model(self) -> int:
        """What a model that has learned something takes in the state store, or begins with."""
        return self.config.size

    def stream(
        self, events: DataFrame, labels: DataFrame | None = None, *, warm: DataFrame | None = None
    ) -> DataFrame:
        """The streaming table of predictions, questions, receipts, metrics and dead letters.

        ``events`` has the columns key, id, time and features; ``labels`` has y, time, and key and
        id or the ticket of a question, and may have features: a label with its row is learned
        though nobody asked for it, and is part of no estimate. ``warm`` is a table of models to
        begin with (:func:`lasec.spark.models` gives such a table). The job must have a ``seed``: a
        table does not know of the checkpoint that would keep one.
        """
        if self.seed is None:
            raise ValueError("seed: a table needs one; lasec.spark.start draws and keeps its own")
        united = self._events(events)
        if labels is not None:
            kind = united.schema["features"].dataType
            united = united.unionByName(self._labels(labels, kind))
        begun = None
        if warm is not None:
            _need(warm, "warm", "key", "model")
            named = warm.select(_name(sql.col("key")).alias("key"), "model")
            begun = named.select(self.shard("key"), "key", "model").groupBy("shard")
        told = united.groupBy("shard").transformWithStateInPandas(
            self.processor(),
            output.schema(self.config.labels.kind),
            "Append",
            "ProcessingTime",
            initialState=begun,
        )
        return told.observe(listener.NAME, *listener.observed())

    def processor(self) -> StatefulProcessor:
        """The stateful operator."""
        return Processor(self.config)

    @property
    def config(self) -> Config:
        """What every shard must know."""
        forget_after = self.forget_after
        if forget_after is None:
            forget_after = max(REMEMBER, 2 * self.max_age, self.patience)
        return Config(
            self.model, describe(self.model, self.shards, self.seed), self.seed, self.max_age,
            self.patience, self.lead, forget_after, self.max_keys, int(self.cache * 2**20),
        )  # fmt: skip

    def shard(self, key: str | Column) -> Column:
        """The shard of a key: a hash of its text, modulo the number of shards."""
        return sql.pmod(sql.xxhash64(key), sql.lit(self.shards)).cast("int").alias("shard")

    def _events(self, events: DataFrame) -> DataFrame:
        """Events in the columns of the united input."""
        _need(events, "events", "key", "id", "time", "features")
        plain = events.select(
            *_names(),
            _seconds(events),
            sql.lit(None).cast("string").alias("y"),
            _features(events.schema["features"].dataType),
            _raw(events),
        )
        return self._placed(plain, rows.EVENT)

    def _labels(self, labels: DataFrame, features: Any) -> DataFrame:
        """Labels in the columns of the united input."""
        _need(labels, "labels", "time", "y")
        if "ticket" in labels.columns:
            names = _ticketed(labels)
        else:
            _need(labels, "labels", "key", "id")
            names = _names()
        brought = sql.col("features") if "features" in labels.columns else sql.lit(None)
        plain = labels.select(
            *names,
            _seconds(labels),
            _text(sql.col("y")).alias("y"),
            _features(features, brought.cast(features)),
            _raw(labels),
        )
        return self._placed(plain, rows.LABEL)

    def _placed(self, plain: DataFrame, kind: int) -> DataFrame:
        """With the shard of each row, and the hash of its id."""
        return plain.select(
            self.shard("key"),
            sql.lit(kind).cast("tinyint").alias("kind"),
            "key",
            "id",
            sql.xxhash64("id").alias("number"),
            "time",
            "y",
            "features",
            "raw",
        )


def _check_model(model: Learner) -> None:
    """Refuse a model that keys cannot begin with."""
    if not isinstance(model, Learner):
        raise TypeError(f"model: expected a Learner, got {type(model).__name__}")
    if not model.dimension or model.rows:
        raise ValueError("model: expected a learner with a dimension that has seen nothing")
    if model.aggregate is not Aggregate.FIRST:
        raise ValueError(f"model: in a job the first label counts, not the {model.aggregate}")


class Processor(StatefulProcessor):
    """The stateful operator: each group is a shard, each call a batch of its rows."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition of a batch."""
        CACHE.open(self.config.cache)
        self._handle = handle
        self.store: Store = SparkStore(handle)

    def handleInputRows(
        self,
        key: Any,
        rows_of_key: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        """The rows of one shard."""
        frames = list(rows_of_key)
        frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        model = self.config.model
        labels = self.config.labels
        batch = rows.read(frame, model.dimension, self.config.kind, labels)
        yield self._timed(key, lambda shard, now: shard.batch(batch, now), timerValues)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,
    ) -> Iterator[pd.DataFrame]:
        """A shard that asked to be woken."""
        yield self._timed(key, lambda shard, now: shard.wake(now), timerValues)

    def handleInitialState(
        self,
        key: Any,
        initialState: pd.DataFrame,
        timerValues: Any,
    ) -> None:
        """Models to begin with, before the first row."""
        shard = Shard(self.config, self.store, key[0])
        shard.state.put(begun(initialState["key"], initialState["model"]))
        shard.state.write()

    def _timed(
        self, key: Any, serve: Callable[[Shard, int], pd.DataFrame], timers: Any
    ) -> pd.DataFrame:
        """Serve a shard, and set the alarm that it wants."""
        shard = Shard(self.config, self.store, key[0])
        before = shard.head.alarm
        told = serve(shard, timers.getCurrentProcessingTimeInMs())
        after = shard.head.alarm
        if after != before:
            if before:
                self._handle.deleteTimer(before)
            if after:
                self._handle.registerTimer(after)
        return told

    def close(self) -> None:
        """There is nothing to close."""


def _names() -> list[Column]:
    """Key and id, as text."""
    return [_name(sql.col(name)).alias(name) for name in ("key", "id")]


def _name(column: Column) -> Column:
    """A key or an id, byte by byte as it is; null where its bytes are not UTF-8.

    Replaced bytes would give two rows one name, and the label of one row would reach the other.
    """
    return sql.try_validate_utf8(column.cast("string"))


def _ticketed(labels: DataFrame) -> list[Column]:
    """Key and id of labels: as given, or both from the ticket if neither is, and null if unfit."""
    given = [sql.col(name).cast("string") if name in labels.columns else sql.lit(None)
             for name in ("key", "id")]  # fmt: skip
    parts = sql.split(sql.col("ticket").cast("string"), "/", -1)
    wanted = given[0].isNull() & given[1].isNull() & (sql.size(parts) == 2)
    return [
        _name(sql.when(wanted, _decoded(sql.get(parts, sql.lit(place)))).otherwise(column))
        .alias(name)
        for place, (name, column) in enumerate(zip(("key", "id"), given, strict=True))
    ]  # fmt: skip


def _decoded(part: Column) -> Column:
    """What a part of a ticket stands for; null where it is not percent-encoded UTF-8.

    Spark decodes other bytes to U+FFFD, which may be the name of a row.
    """
    text, odd = sql.try_url_decode(part), "\ufffd"
    meant = sql.regexp_count(part, sql.lit(f"(?i)%EF%BF%BD|{odd}"))
    return sql.when(sql.regexp_count(text, sql.lit(odd)) == meant, text)


def _text(column: Column) -> Column:
    """A column as text that Python can read: bytes that are not UTF-8 become U+FFFD."""
    return sql.make_valid_utf8(column.cast("string"))


def _features(kind: Any, column: Column | None = None) -> Column:
    """Features as they are; a text as Python can read it."""
    given = sql.col("features") if column is None else column
    return (_text(given) if kind.typeName() == "string" else given).alias("features")


def _seconds(table: DataFrame) -> Column:
    """The time of a row in seconds: a timestamp's since 1970, or a number as it is."""
    time = sql.col("time")
    if table.schema["time"].dataType.typeName() in ("timestamp_ntz", "date"):
        usable = time.between("0001-01-01", "9999-12-31")  # others overflow, and stop the query
        time = sql.when(usable, time.cast("timestamp"))
    return time.try_cast("double").alias("time")


def _raw(table: DataFrame) -> Column:
    """What a row was before it could not be read, where the source says so; or why it cannot be."""
    known = [_text(sql.col(CORRUPT))] if CORRUPT in table.columns else []
    odd = [
        sql.when(~sql.is_valid_utf8(sql.col(name).cast("string")), f"{name}: not UTF-8")
        for name in ("key", "id")
        if name in table.columns
    ]
    return sql.coalesce(*known, *odd, sql.lit(None).cast("string")).alias("raw")


def _need(table: DataFrame, what: str, *names: str) -> None:
    """Refuse a table without some columns, or whose keys and ids are not told apart as text."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"{what}: missing columns {missing}, got {table.columns}")
    kinds = {field.name: field.dataType.typeName() for field in table.schema}
    for name in ("key", "id", "ticket"):
        if kinds.get(name) in ("struct", "array", "map"):
            raise ValueError(
                f"{what}: {name} is of the type {kinds[name]}, and two of them can have the same "
                f"text; use to_json({name})"
            )
