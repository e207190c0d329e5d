"""The job between topics of a broker, by Kafka's protocol, with kills in between."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")
from experiments.spark import LOCAL, broker, topics


def test_messages_of_a_broker_come_in_order_and_whole() -> None:
    with broker.broker() as servers:
        sent = [(name, b"k", f"{i}".encode()) for i in range(50) for name in ("one", "two")]
        broker.send(servers, sent)
        for name in ("one", "two"):
            assert broker.fetch(servers, name) == [f"{i}".encode() for i in range(50)]
        options = {"kafka.bootstrap.servers": servers, "subscribe": "one"}
        source = broker.Source(options | {"maxOffsetsPerTrigger": "80"})
        begin = source.initialOffset()
        source.prepareForTriggerAvailableNow()
        broker.send(servers, [("one", b"k", b"too late for this run")])
        steps = []
        while begin != (end := source.latestOffset(begin, source.getDefaultReadLimit())):
            steps += [len(list(source.read(part))) for part in source.partitions(begin, end)]
            begin = end
        assert steps == [20, 20, 10]  # a fourth of each batch for each of four partitions


def test_nothing_is_lost_between_topics_under_kill_9(tmp_path: Path) -> None:
    report = topics.strike(tmp_path, kills=2, master=LOCAL)
    assert report["passed"], topics.table(report)
    assert {kill["target"] for kill in report["kills"]} == {"driver", "python"}
    assert report["sent"] > report["messages"]["events"]
