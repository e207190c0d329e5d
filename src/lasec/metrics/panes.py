"""Rounds in panes: consecutive ones share a block, which is settled when none of it is open.

Blocks are additive, so an answer is added to the pane of its round whenever it comes. Panes settle
in order: estimates speak only of rounds before the oldest open question, since a round that was
asked and not answered yet would otherwise count like one that was not asked. What is settled is
merged into the total, kept for the window, and decayed; so the memory is a constant, plus the panes
that wait.

A pane that happens to hold no question settles a little sooner than one that does, which favours
rounds that were not asked by about the weight of one label. With answers that come at once there is
no such effect.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.metrics import sums
from lasec.metrics.estimate import Over, Scope
from lasec.metrics.sums import LOSS, SHAPE, Column
from lasec.parameters import Range, number

Array = NDArray[np.float64]
PANES, PLAIN = 32, 256


class Pane:
    """Consecutive rows: how many, how many of them wait, the next ticket, and the block."""

    __slots__ = ("block", "open", "rounds", "until")

    def __init__(self, rounds: int = 0, waiting: int = 0, until: int = 0) -> None:
        self.rounds, self.open, self.until = rounds, waiting, until
        self.block: Array = np.zeros(SHAPE)


class Panes:
    """The panes that wait, and what has become of those that are settled.

    >>> panes = Panes(window=1_000, decay=None)
    >>> panes.size, panes.kept.maxlen
    (32, 32)
    """

    def __init__(self, window: int | None, decay: float | None) -> None:
        shortest = min(window or math.inf, decay or math.inf)
        self.size = PLAIN if math.isinf(shortest) else math.ceil(shortest / PANES)
        self.window, self.decay = window, decay
        self.waiting: dict[int, Pane] = {}
        self.kept: deque[Array] = deque(maxlen=math.ceil(window / self.size) if window else 0)
        self.total: Array = np.zeros(SHAPE)
        self.decayed: Array = np.zeros((2, *SHAPE))
        self.settled = 0
        self.until = 0

    def enter(self, number: int, rounds: int, until: int) -> None:
        """Note that so many rounds of a pane have been."""
        pane = self.waiting.setdefault(number, Pane())
        pane.rounds += rounds
        pane.until = until

    def add(self, blocks: dict[int, Array]) -> None:
        """Add blocks to their panes."""
        for place, block in blocks.items():
            self.waiting[place].block += block

    def wait(self, number: int, questions: int) -> None:
        """Open so many questions in a pane, or close them, if negative."""
        self.waiting[number].open += questions

    def settle(self) -> None:
        """Merge the panes that are full and have no open question, up to the first that has."""
        while True:
            pane = self.waiting.get(self.settled)
            if pane is None or pane.open or pane.rounds < self.size:
                return
            del self.waiting[self.settled]
            self.total += pane.block
            self.decayed = self._decayed(pane)
            self.kept.append(pane.block)
            self.settled += 1
            self.until = pane.until

    def reach(self, tolerated: float) -> int:
        """The number of the pane before which few of the questions that wait are open."""
        found, answered, open_ = self.settled, 0.0, 0
        for index, pane in sorted(self.waiting.items()):
            answered += float(pane.block[LOSS, Column.LABELS])
            open_ += pane.open
            if open_ <= tolerated * (answered + open_):
                found = index + 1
        return found

    def scope(self, over: Over) -> Scope:
        """The block of all settled rounds, of the last ones, or of all with decaying weights."""
        last = self.waiting.get(self.settled)
        fresh = last if last is not None and not last.open else Pane(until=self.until)
        if over is Over.DECAY:
            once, twice = self._decayed(fresh)
            return Scope(once, twice, 0, fresh.until)
        if over is Over.WINDOW:
            block = sum(self.kept, fresh.block)
            return Scope(block, block, self.settled - len(self.kept) + 1, fresh.until)
        block = self.total + fresh.block
        return Scope(block, block, 0, fresh.until)

    def arrays(self) -> dict[str, Array]:
        """All of it, as arrays."""
        blocks = [pane.block for pane in self.waiting.values()]
        return {
            "total": self.total,
            "faded": self.decayed,
            "kept": np.array(list(self.kept)).reshape(-1, *SHAPE),
            "waiting": np.array(blocks).reshape(-1, *SHAPE),
        }

    def counts(self) -> list[list[int]]:
        """Number, rounds, open questions and next ticket of the panes that wait."""
        return [[n, pane.rounds, pane.open, pane.until] for n, pane in self.waiting.items()]

    @property
    def latest(self) -> int:
        """The ticket after the last round that is known."""
        return max((pane.until for pane in self.waiting.values()), default=self.until)

    def restore(self, arrays: Mapping[str, Array], settled: Any, counts: Any, rounds: int) -> None:
        """Take back what :meth:`arrays` and :meth:`counts` gave after so many rounds."""
        self.settled, self.until = (number("settled", n, int, Range(0, 2**53)) for n in settled)
        waiting = range(self.settled, -(-rounds // self.size))
        shapes = {"total": (), "faded": (2,), "kept": (self._kept,), "waiting": (len(waiting),)}
        for name, shape in shapes.items():
            if arrays[name].shape != (*shape, *SHAPE) or not sums.sound(arrays[name]):
                raise ValueError(f"{name} has not the shape of a meter's, or holds bad numbers")
        self.total, self.decayed = arrays["total"].copy(), arrays["faded"].copy()
        self.kept.extend(block.copy() for block in arrays["kept"])
        before = self.until
        for n, count, block in zip(waiting, counts, arrays["waiting"], strict=True):
            pane = Pane(*(number("panes", part, int, Range(0, 2**53)) for part in count[1:]))
            expected = min(self.size, rounds - n * self.size)
            if count[0] != n or pane.rounds != expected or pane.until < before + expected:
                raise ValueError("the panes are not those of the rounds")
            pane.block, before = block.copy(), pane.until
            self.waiting[n] = pane

    @property
    def _kept(self) -> int:
        """How many settled panes the window has by now."""
        return min(self.settled, self.kept.maxlen or 0)

    def _decayed(self, pane: Pane) -> Array:
        if self.decay is None:
            return self.decayed
        once = math.exp(-pane.rounds / self.decay)
        weights = np.array([once, once**2])[:, None, None] * np.ones(SHAPE)
        weights[1, :, Column.U2] = once**4  # it is a square itself
        return np.asarray(self.decayed * weights + pane.block)
