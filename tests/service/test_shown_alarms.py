"""Alarms as the service shows them: one text, the figures behind it, and a count."""

from __future__ import annotations

import json
from types import SimpleNamespace

from lasec.alarms import Alarm, described
from lasec.service import figures
from lasec.service.store import Store

DROP = Alarm("drop", 5_210, 1.3e5, 0.17, 0.46, 5_030, low=0.36, high=0.56, labels=64)
MODEL = SimpleNamespace(tenant="us", name="spam")


def shown(tmp_path, alarms):
    store = Store(str(tmp_path / "a.db"))
    try:
        store.lock()
        store.migrate()
        with store.transaction() as tx:
            for at, alarm in enumerate(alarms):
                tx.put(
                    "INSERT INTO alarms VALUES (?, ?, ?, ?, ?, ?)", MODEL.tenant, MODEL.name,
                    alarm.ticket, alarm.kind, json.dumps(alarm._asdict()), float(at),
                )  # fmt: skip
        return figures.alarms(store, MODEL)
    finally:
        store.close()


def test_a_drop_has_the_words_and_figures_of_the_terminal(tmp_path):
    found = shown(tmp_path, [DROP])
    (alarm,) = found.alarms
    assert found.total == 1
    assert alarm.text == described(DROP)
    assert (alarm.low, alarm.high, alarm.labels) == (0.36, 0.56, 64)


def test_the_name_of_a_column_ends_where_it_ends(tmp_path):
    """A name can be long, and turn the direction of what follows."""
    name = "\u202e" + "a" * 1_000
    change = Alarm(f"input: {name}", 9, 6.0, 1.0, 2.0, 5, what="mean", others=2, effect=1.5)
    (alarm,) = shown(tmp_path, [change]).alarms
    isolated = f"\u2068{name[:64]}\u2069"
    assert alarm.text.startswith(f"input change ({isolated}, and 2 others) in row 10: ")
    assert (alarm.kind, alarm.what, alarm.others) == (change.kind, "mean", 2)
    assert (alarm.low, alarm.high, alarm.labels) == (None, None, 0)


def test_of_many_alarms_the_newest_are_shown_and_all_are_counted(tmp_path):
    found = shown(tmp_path, [DROP._replace(ticket=ticket) for ticket in range(120)])
    assert [alarm.ticket for alarm in found.alarms] == list(range(119, 19, -1))
    assert found.total == 120


def test_a_detector_of_another_library_has_its_name_alone(tmp_path):
    nan = float("nan")
    (alarm,) = shown(tmp_path, [Alarm("ADWIN", 9, nan, nan, nan, 9)]).alarms
    assert alarm.text == "ADWIN in row 10"
    assert (alarm.before, alarm.after) == (None, None)
