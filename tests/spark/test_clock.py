"""Clocks that jump, of rows and of the machine: nothing is lost, and nothing expires too soon."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lasec
from lasec.spark import Job
from lasec.spark.config import Config
from lasec.spark.rows import read
from lasec.spark.shard import Shard
from lasec.spark.store import PlainStore

YEAR, DAY = 365 * 86_400.0, 86_400.0
NOW = 1.7e9  # the machine's clock, in seconds
MAX_AGE = 64 * 60.0  # so that a step is a minute


def config() -> Config:
    model = lasec.LASEC_SS(dimension=2, drift=0.01, aggressiveness=1e6)  # asks about everything
    return Job(model, max_age=MAX_AGE, patience=600.0, seed=0).config


class Box:
    """One shard, batch by batch."""

    def __init__(self) -> None:
        self.store, self.config = PlainStore(), config()

    def batch(self, *rows: tuple[str, float] | tuple[str, float, int], now: float) -> pd.DataFrame:
        """Events (id, time) and labels (id, time, y), all of one key."""
        table = [(len(row) - 2, "k", row[0], hash(row[0]), row[1], (*row, np.nan)[2])
                 for row in rows]  # fmt: skip
        frame = pd.DataFrame(table, columns=["kind", "key", "id", "number", "time", "y"])
        frame["features"] = [[1.0, 2.0] if kind == 0 else None for kind in frame.kind]
        batch = read(frame.assign(raw=None), 2, np.dtype(float))
        return Shard(self.config, self.store).batch(batch, int(1_000 * now))

    def wake(self, now: float) -> pd.DataFrame:
        return Shard(self.config, self.store).wake(int(1_000 * now))

    @property
    def head(self) -> Any:
        return Shard(self.config, self.store).head


def outcomes(told: pd.DataFrame) -> list[str]:
    return told[told.kind == "receipt"].outcome.tolist()


def test_a_row_years_ahead_is_served_and_moves_no_clock() -> None:
    box = Box()
    box.batch(("a", NOW), now=NOW)
    told = box.batch(("ahead", NOW + 5 * YEAR), now=NOW + 1)
    assert told.kind.tolist() == ["question", "metrics"]
    assert outcomes(box.batch(("b", NOW + 2), now=NOW + 2)) == []
    answered = box.batch(("a", NOW + 3, 1), ("ahead", NOW + 3, -1), now=NOW + 3)
    assert outcomes(answered) == ["learned", "learned"]
    assert box.head.clock == NOW + 3


def test_a_row_years_behind_is_served_and_expires_nothing() -> None:
    box = Box()
    box.batch(("a", NOW), now=NOW)
    told = box.batch(("behind", NOW - 5 * YEAR), ("b", NOW + 1), now=NOW + 1)
    assert told.kind.tolist().count("question") == 2
    assert outcomes(told) == []
    assert outcomes(box.batch(("a", NOW + 2, 1), ("b", NOW + 2, 1), now=NOW + 2)) == ["learned"] * 2


def test_a_shard_that_begins_in_the_future_still_ages() -> None:
    box = Box()
    box.batch(("ahead", NOW + 5 * YEAR), now=NOW)
    assert box.head.clock == NOW
    assert outcomes(box.batch(("b", NOW + 1), now=NOW + 1)) == []  # not on the first sober row
    assert outcomes(box.batch(("c", NOW + MAX_AGE + 1), now=NOW + MAX_AGE + 1)) == ["expired"]


def test_the_machine_jumps_a_year_ahead() -> None:
    box = Box()
    box.batch(("a", NOW), now=NOW)
    step = box.config.step / 1_000.0
    for wakes in range(1, 4):  # however late it is woken, a shard ages by a step at a time
        assert outcomes(box.wake(NOW + wakes * YEAR)) == []
        assert box.head.clock == NOW + wakes * step
    box.wake(NOW + 3 * YEAR + step)
    assert box.head.clock == NOW + 4 * step
    assert outcomes(box.batch(("a", NOW + 5, 1), now=NOW + 3 * YEAR + 300)) == ["learned"]


def test_the_machine_jumps_a_day_back() -> None:
    box = Box()
    box.batch(("a", NOW), now=NOW)
    before = box.head.alarm
    assert before > 1_000 * NOW
    assert outcomes(box.batch(("b", NOW + 1), now=NOW - DAY)) == []
    alarm = box.head.alarm  # else it would sleep for a day and more
    assert 1_000 * (NOW - DAY) < alarm <= 1_000 * (NOW - DAY) + 2 * box.config.step
    clock = box.head.clock
    assert outcomes(box.wake(alarm / 1_000.0)) == []
    assert 0.0 <= box.head.clock - clock <= box.config.step / 1_000.0
    assert outcomes(box.batch(("a", NOW + 2, 1), ("b", NOW + 2, 1), now=NOW)) == ["learned"] * 2


@pytest.mark.parametrize("delay", [0.0, 0.3, 20.0])
def test_an_idle_shard_expires_its_questions_alarm_by_alarm(delay: float) -> None:
    box, ended = Box(), list[float]()
    box.batch(("a", NOW), now=NOW)
    box.batch(("of nobody", NOW + 1, 1), now=NOW + 1)
    when = dict[str, float]()
    while box.head.alarm:
        now = box.head.alarm / 1_000.0 + delay * (len(ended) % 3)  # late, now more, now less
        when |= dict.fromkeys(outcomes(box.wake(now)), now - NOW)
        ended.append(now)
        assert len(ended) < 200
    step = box.config.step / 1_000.0
    assert 600.0 <= when["unknown"] <= 600.0 + 3 * step
    assert MAX_AGE <= when["expired"] <= MAX_AGE + 3 * step
    assert {part for part, _ in box.store} == {"ledger", "early"}  # nothing is left of them
