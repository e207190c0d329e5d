"""Rounds without a learner: drifting error rates, coins that depend on margins, a biased model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lasec


@dataclass
class Chunk:
    """What records have, and the labels."""

    label: Any
    margin: Any
    propensity: Any
    asked: Any
    ticket: Any
    y: Any

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, part: Any) -> Chunk:
        return Chunk(*(column[part] for column in vars(self).values()))

    @property
    def p(self) -> Any:
        return np.clip((1.0 + self.margin) / 2.0, 0.001, 0.999)

    @property
    def accuracy(self) -> float:
        return float((self.label == self.y).mean())

    def decisions(self) -> list[lasec.Decision]:
        columns = (self.label, self.margin, self.propensity, self.asked, self.ticket)
        return [
            lasec.Decision(int(label), margin, 1.0, q, bool(asked), int(ticket))
            for label, margin, q, asked, ticket in zip(*(c.tolist() for c in columns), strict=True)
        ]


def world(rounds: int, seed: int, rate: float = 0.1, trust: float = 0.7) -> Chunk:
    """Rounds whose truth is fixed by ``seed``; the model is right less often than it says."""
    rng = np.random.default_rng(seed)
    margin = np.where(rng.random(rounds) < 0.4, 1.0, -1.0) * rng.beta(2.0, 1.0, rounds)
    phase = np.sin(np.arange(rounds) * 12.0 / rounds) > 0.0
    truth = (1.0 + margin * trust * np.where(phase, 1.0, 0.2)) / 2.0
    y = np.where(rng.random(rounds) < truth, 1, -1)
    low, high = 1e-6, 1e6
    for _ in range(40):
        a = np.sqrt(low * high)
        q = 0.2 * rate + (1.0 - 0.2 * rate) * a / (a + np.abs(margin) ** 1.6)
        low, high = (low, a) if q.mean() > rate else (a, high)
    label = np.where(margin >= 0.0, 1, -1)
    asked = np.zeros(rounds, dtype=bool)
    return Chunk(label, margin, q, asked, np.arange(rounds), y)


def tossed(chunk: Chunk, seed: int) -> Chunk:
    """The same rows with new coins."""
    coins = np.random.default_rng([seed, 1]).random(len(chunk))
    return Chunk(**{**vars(chunk), "asked": coins < chunk.propensity})


def told(decision: lasec.Decision, y: int) -> lasec.Outcome:
    return lasec.Outcome(decision, int(y), mistake=False, updated=True)


def metered(chunk: Chunk, **options: Any) -> lasec.metrics.Meter:
    meter = lasec.metrics.Meter(**options)
    meter.extend(chunk, chunk.y)
    return meter
