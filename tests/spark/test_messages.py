"""Kafka without Kafka: the bytes that would come out of it, and the table that would go in."""

import json

import pytest

import lasec

SPARK = pytest.importorskip("lasec.spark")

EVENTS = [
    '{"key": "north", "id": "1", "time": 10.0, "features": [1.0, 2.0]}',
    '{"key": "north", "id": "2", "time": 11.0, "features": [1.0]}',
    '{"key": "south", "id": "3", "time": 1',
    "\u0001 no JSON at all",
    '{"key": "south", "id": "4", "time": 12.0, "features": [0.5, -1.0], "more": true}',
]
LABELS = [
    '{"ticket": "north/1", "time": 20.0, "y": 1}',
    '{"ticket": "south/9", "time": 20, "y": 1}',
]


def stream(spark, place, lines, schema):
    """Messages with a binary value, as Kafka's source gives them."""
    place.mkdir()
    (place / "0.txt").write_text("\n".join(lines))
    messages = spark.readStream.format("text").load(str(place))
    return SPARK.parsed(messages.select(messages.value.cast("binary").alias("value")), schema)


def test_messages_in_and_out(spark, tmp_path):
    from lasec.spark.sinks import messages

    model = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e9)
    job = SPARK.Job(model, shards=2, patience=0, seed=0)
    events = stream(spark, tmp_path / "events", EVENTS, SPARK.EVENTS)
    labels = stream(spark, tmp_path / "labels", LABELS, SPARK.LABELS)
    written = []

    def write(table, batch):
        ready = messages(table, batch, "told")
        assert dict(ready.dtypes) == {"key": "string", "value": "string", "topic": "string"}
        written.extend(ready.collect())

    query = SPARK.start(job, events, labels, out=write, checkpoint=str(tmp_path / "memory"))
    query.awaitTermination()
    by_topic = {}
    for row in written:
        value = json.loads(row.value, parse_constant=pytest.fail)  # NaN is not JSON
        assert value["batch"] == 0
        assert value.get("key") == row.key
        by_topic.setdefault(row.topic, []).append(value)
    assert sorted(by_topic) == [
        f"told.{what}" for what in ("dead", "metrics", "predictions", "questions", "receipts")
    ]
    assert sorted(v["id"] for v in by_topic["told.predictions"]) == ["1", "4"]
    assert sorted(v["ticket"] for v in by_topic["told.questions"]) == ["north/1", "south/4"]
    fates = {v["ticket"]: v["outcome"] for v in by_topic["told.receipts"]}
    assert fates == {"north/1": "learned", "south/9": "unknown"}
    dead = sorted((v["outcome"], v.get("detail")) for v in by_topic["told.dead"])
    assert dead == [
        ("features: expected 2 numbers, got 1", None),
        ("the row could not be read", EVENTS[3]),
        ("the row could not be read", EVENTS[2]),
    ]
    told = query.lastProgress["observedMetrics"]["lasec"]
    assert (told["predictions"], told["questions"], told["learned"], told["dead"]) == (2, 2, 1, 3)


def test_the_kafka_writer_asks_for_the_connector(spark):
    """Without the connector Spark says so; with it, this is where the rows would go."""
    from pyspark.errors import AnalysisException

    from lasec.spark.output import schema

    table = spark.createDataFrame([], schema())
    with pytest.raises(AnalysisException, match="kafka"):
        SPARK.topics("127.0.0.1:9", "told")(table, 0)
