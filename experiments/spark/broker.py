"""Kafka's protocol without its servers or its jar: a broker in a process, and a data source.

The broker is the mock cluster that comes with librdkafka, in the package confluent-kafka. It keeps
messages in memory and speaks the protocol to any client. The source and the sink take the place of
Spark's connector, with those of its options that lasec uses, in :func:`lasec.spark.topic` and
:func:`lasec.spark.topics`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from experiments.spark.worker import KAFKA

SCHEMA = "key binary, value binary, topic string, partition int, offset bigint"
WAIT = 10.0  # seconds for an answer of the broker
Offsets = dict[str, int]  # by partition, as text


class Kafka(DataSource):
    """Topics of Kafka: a stream of the messages in one, and a sink for messages to any."""

    @classmethod
    def name(cls) -> str:
        """The connector's own name cannot be taken."""
        return KAFKA

    def schema(self) -> str:
        """The connector's columns, but for times and headers."""
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """The messages of a topic, from its first."""
        return Source(self.options)

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        """A table of keys, values and topics."""
        return Sink(self.options["kafka.bootstrap.servers"])


class Source(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One topic; a batch takes as many messages as the option ``maxOffsetsPerTrigger`` says."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}  # as Spark hands them over
        self.servers = given["kafka.bootstrap.servers"]
        self.topic = given["subscribe"]
        self.most = int(given.get("maxoffsetspertrigger", 2**31))
        self.end: Offsets | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        """So many messages."""
        return ReadMaxRows(self.most)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all."""
        self.end = self._marks(1)

    def initialOffset(self) -> Offsets:
        """The first message of each partition."""
        return self._marks(0)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """The next messages, as many of each partition."""
        high = self.end or self._marks(1)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.most
        return {at: min(end, start[at] + most // len(high)) for at, end in high.items()}

    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        """A task for each partition that has messages."""
        return [InputPartition((at, start[at], end[at])) for at in end if start[at] < end[at]]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """The messages from one offset to another."""
        at, begin, end = partition.value
        consumer = _consumer(self.servers)
        consumer.assign([TopicPartition(self.topic, int(at), begin)])
        while begin < end:
            for message in consumer.consume(min(1_000, end - begin), timeout=WAIT):
                if message.error():
                    raise RuntimeError(f"{self.topic}: {message.error()}")
                begin += 1
                yield message.key(), message.value(), self.topic, int(at), begin - 1
        consumer.close()

    def _marks(self, which: int) -> Offsets:
        """The first offset of each partition, or the one after its last."""
        consumer = _consumer(self.servers)
        parts = consumer.list_topics(self.topic, timeout=WAIT).topics[self.topic].partitions
        places = [TopicPartition(self.topic, at) for at in sorted(parts)]
        marks = {
            str(place.partition): consumer.get_watermark_offsets(place, timeout=WAIT)[which]
            for place in places
        }
        consumer.close()
        return marks


class Sink(DataSourceWriter):
    """Messages are sent as they come: at least once, as by the connector."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """The messages of a task."""
        send(self.servers, ((row.topic, row.key, row.value) for row in iterator))
        return WriterCommitMessage()


@contextmanager
def broker() -> Iterator[str]:
    """A broker in a process of its own; its address."""
    command = [sys.executable, "-m", "experiments.spark.broker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as own:  # noqa: S603 - our own module
        try:
            assert own.stdout is not None
            yield own.stdout.readline().strip()
        finally:
            own.kill()


def send(servers: str, messages: Any) -> None:
    """Send messages: topic, key and value of each."""
    producer = Producer({"bootstrap.servers": servers})
    for topic, key, value in messages:
        producer.produce(topic, key=key, value=value)
        producer.poll(0)
    if left := producer.flush(WAIT):
        raise RuntimeError(f"{left} messages were not sent to {servers}")


def fetch(servers: str, topic: str) -> list[bytes]:
    """The values of all messages in a topic."""
    source = Source({"kafka.bootstrap.servers": servers, "subscribe": topic})
    parts = source.partitions(source.initialOffset(), source._marks(1))
    return [row[1] for part in parts for row in source.read(part)]


def _consumer(servers: str) -> Consumer:
    return Consumer(
        {"bootstrap.servers": servers, "group.id": "lasec", "enable.auto.commit": False}
    )


if __name__ == "__main__":
    mock = Producer({"bootstrap.servers": "127.0.0.1:1", "test.mock.num.brokers": 1})
    (found,) = mock.list_topics(timeout=WAIT).brokers.values()
    sys.stdout.write(f"{found.host}:{found.port}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the one who started it goes
