"""A trace at rest: what it has summed up, and how it is saved and loaded."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError
from lasec.evaluation.results import Point
from lasec.evaluation.tally import BINS, WIDTH, Margins
from lasec.metrics import Meter, sums
from lasec.metrics.estimate import Interval, Scope
from lasec.metrics.totals import estimate_of
from lasec.parameters import Range, number
from lasec.state import pack, restored
from lasec.tracker import Belief

Array = NDArray[np.float64]

FORMAT, FIRST = 1, 50
_COUNTERS = ("every", "first", "before", "rounds", "labels", "mistakes")
_FACTS = 6 + len(Belief._fields)


class Mark(NamedTuple):
    """What a point is made of, when somebody looks: sums, and what the learner said just then."""

    round: int
    scope: Scope
    truth: float
    labels: int
    planned: float
    belief: Belief | None
    total: Array

    @property
    def point(self) -> Point:
        """The point; its intervals take a while, so that they are not formed before."""
        return Point(
            round=self.round,
            estimate=estimate_of(self.scope),
            always=estimate_of(self.scope, interval=Interval.ANYTIME),
            truth=self.truth,
            labels=self.labels,
            planned=self.planned,
            open=0,
            age=0.0,
            belief=self.belief,
        )

    def facts(self) -> list[float]:
        """All but the arrays."""
        believed = self.belief or [math.nan] * len(Belief._fields)
        counts = [self.round, self.scope.start, self.scope.until, self.labels]
        return [*map(float, counts), self.truth, self.planned, *believed]

    @classmethod
    def of(cls, facts: list[float], block: Array, total: Array) -> Mark:
        """The mark that had these facts and arrays."""
        since, *rest = facts[6:]
        counts = [*facts[:4], 0.0 if math.isnan(since) else since]
        if not all(0.0 <= count <= 2.0**53 for count in counts):
            raise ValueError("marks: impossible counts")
        round_, start, until, labels = map(int, facts[:4])
        belief = None if math.isnan(since) else Belief(int(since), *rest)
        scope = Scope(block, block, start, until)
        return cls(round_, scope, facts[4], labels, facts[5], belief, total)


class Rest(NamedTuple):
    """Rounds that wait to be summed up, as a meter wants them, with labels and groups."""

    label: NDArray[Any]
    margin: NDArray[Any]
    propensity: NDArray[Any]
    asked: NDArray[Any]
    mistake: NDArray[Any]
    ticket: NDArray[Any]
    y: NDArray[Any]
    group: NDArray[Any]

    def cut(self, begin: int, end: int) -> Rest:
        """Some of them."""
        return Rest(*(column[begin:end] for column in self))


_KINDS = (np.int8, np.float64, np.float64, np.bool_, np.bool_, np.int64, np.float64, np.int64)


class Account:
    """Counters, sums, marks, and the rounds that wait; a trace sets them in motion."""

    def __init__(self, *, window: int = 1_000, points: int = 200, segments: int = 20) -> None:
        self.window: int = number("window", window, int, Range(1, 10**8))
        self.limit: int = number("points", points, int, Range(2, 100_000))
        self.segments: int = number("segments", segments, int, Range(1, 10_000))
        self.every = FIRST
        self.first = self.before = self.rounds = self.labels = self.mistakes = 0
        self._learner: tuple[str, str, int] | None = None  # whom it follows
        self._grouped: bool | None = None  # whether rows have groups, once there were rows
        self._meter = Meter(window=self.window)
        self._marks: list[Mark] = []
        self._total = np.zeros(WIDTH)
        self._names: dict[str, int] = {}
        self._table = np.zeros((self.segments + 1, WIDTH))
        self._margins = Margins.none(bounded=True)
        self._recent = np.empty(0, dtype=np.bool_)
        self._rest: Rest | None = None  # sums are formed at fixed rounds
        self._said: tuple[int, float, Belief | None] = (0, math.nan, None)

    def to_bytes(self) -> bytes:
        """The whole trace as bytes that :meth:`from_bytes` reads.

        >>> import lasec
        >>> lasec.Trace.from_bytes(lasec.Trace(window=500).to_bytes()).window
        500
        """
        header = {
            "trace": FORMAT,
            "window": self.window,
            "points": self.limit,
            "segments": self.segments,
            "counters": {name: getattr(self, name) for name in _COUNTERS},
            "learner": self._learner,
            "grouped": self._grouped,
            "names": list(self._names),
            "bounded": self._margins.bounded,
            "recent": len(self._recent),
        }
        return pack(header, self._arrays())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The trace that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`.

        >>> import lasec
        >>> lasec.Trace.from_bytes(lasec.Meter().to_bytes())
        Traceback (most recent call last):
        lasec.errors.StateError: newer or foreign: this is no trace of format 1
        """
        return restored(data, cls._restored)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        meter = self._meter.to_bytes()
        padded = meter + bytes(-len(meter) % 8)
        said = Mark(0, Scope(self._total, self._total, 0, 0), 0.0, *self._said, self._total)
        marks = self._marks
        rest = [] if self._rest is None else [np.asarray(a, dtype=np.float64) for a in self._rest]
        return {
            "meter": np.frombuffer(padded, dtype="<i8"),
            "said": np.array(said.facts()),
            "marks": np.array([mark.facts() for mark in marks]).reshape(-1, _FACTS),
            "blocks": np.array([mark.scope.block for mark in marks]).reshape(-1, *sums.SHAPE),
            "totals": np.array([mark.total for mark in marks]).reshape(-1, WIDTH),
            "total": self._total,
            "table": self._table,
            "margins": self._margins.table,
            "recent": np.flatnonzero(self._recent),
            "rest": np.array(rest).reshape(len(Rest._fields), -1),
        }

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        if header.get("trace") != FORMAT:
            raise StateError(f"newer or foreign: this is no trace of format {FORMAT}")
        made = cls(window=header["window"], points=header["points"], segments=header["segments"])
        for name in _COUNTERS:
            setattr(made, name, number(name, header["counters"][name], int, Range(0, 2**53)))
        made._names = _named(header["names"], made.segments)
        made._learner, made._grouped = _followed(header["learner"]), header["grouped"]
        if not any(made._grouped is known for known in (None, False, True)):
            raise ValueError("grouped: expected yes, no, or nothing")
        _check(arrays, made.segments)
        meter = arrays["meter"].astype("<i8").tobytes()
        made._meter = Meter.from_bytes(meter[: _length(meter)])
        listed = zip(arrays["marks"].tolist(), arrays["blocks"], arrays["totals"], strict=True)
        made._marks = [Mark.of(facts, block, total) for facts, block, total in listed]
        said = Mark.of(arrays["said"].tolist(), made._total, made._total)
        made._said = (said.labels, said.planned, said.belief)
        made._total, made._table = arrays["total"], arrays["table"]
        bounded = number("bounded", header["bounded"], bool, None)
        made._margins = Margins.of(arrays["margins"], bounded=bounded)
        most = min(made.kept, made._meter.rounds)
        made._recent = np.zeros(number("recent", header["recent"], int, Range(0, most)), bool)
        made._recent[arrays["recent"]] = True
        rest = _rest(arrays["rest"], made._meter, made.segments)
        made._rest = rest if len(rest.y) else None
        made._agree(rest)
        return made

    @property
    def kept(self) -> int:
        """How many of the last rounds are kept: a meter's window may be a 16th longer than it."""
        return self.window + self.window // 8 + 64

    def _agree(self, rest: Rest) -> None:
        """Raise an error where the parts of a trace contradict each other."""
        rounds = [0, *(mark.round for mark in self._marks)]
        meter = self._meter
        if (
            self.every < 1
            or meter.window != self.window
            or meter.open
            or meter.rounds + len(rest.y) != self.rounds
            or max(self.labels, self.mistakes) > self.rounds
            or len(self._marks) > self.limit
            or rounds[-1] > self.rounds
            or any(after <= before for before, after in pairwise(rounds))
        ):
            raise ValueError("the counters contradict each other")


def _named(names: Any, segments: int) -> dict[str, int]:
    """The groups and their numbers."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("names: expected a list of text")
    if len(set(names)) < len(names) or len(names) > segments:
        raise ValueError("names: some are the same, or there are more than there is room for")
    return {name: place for place, name in enumerate(names)}


def _rest(table: Array, meter: Meter, segments: int) -> Rest:
    """The rounds that wait, if they can be those that come after what the meter has heard."""
    with np.errstate(invalid="ignore"):
        rest = Rest(*(a.astype(k) for a, k in zip(table, _KINDS, strict=True)))
    label, margin, q, asked, _, ticket, y, group = rest
    if not (
        all(np.array_equal(a, b) for a, b in zip(rest, table, strict=True))
        and (np.abs(label) == 1).all()
        and (np.abs(y) == 1.0).all()
        and np.isfinite(margin).all()
        and ((q >= 0.0) & (q <= 1.0) & ((q > 0.0) | ~asked)).all()
        and (np.diff(ticket, prepend=meter.rounds - 1) > 0).all()
        and (ticket < 2**53).all()
        and ((group == -1).all() or ((group >= 0) & (group <= segments)).all())
    ):
        raise ValueError("the rounds that wait hold impossible numbers")
    return rest


def _followed(listed: Any) -> tuple[str, str, int] | None:
    """Whom a trace follows, as it was written."""
    if listed is None:
        return None
    name, rule, dimension = listed
    if not isinstance(name, str) or not isinstance(rule, str):
        raise TypeError("learner: expected its name and that of its rule")
    return name, rule, number("dimension", dimension, int, Range(1, 2**31))


def _length(data: bytes) -> int:
    """How long the file at the beginning of these bytes says that it is."""
    return int.from_bytes(data[16:24], "little")


def _check(arrays: dict[str, Any], segments: int) -> None:
    """Shapes as a trace would have written them."""
    shapes = {
        "said": (_FACTS,),
        "marks": (len(arrays["marks"]), _FACTS),
        "blocks": (len(arrays["marks"]), *sums.SHAPE),
        "totals": (len(arrays["marks"]), WIDTH),
        "total": (WIDTH,),
        "table": (segments + 1, WIDTH),
        "margins": (4, BINS),
        "rest": (len(Rest._fields), arrays["rest"].shape[-1]),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype != np.float64:
            raise ValueError(f"{name} has not the shape of a trace's")
    for name in ("totals", "total", "table", "margins"):
        if not np.abs(arrays[name]).max(initial=0.0) <= sums.LARGEST:
            raise ValueError(f"{name} holds NaN or a number beyond all use")
    if not sums.sound(arrays["blocks"]):
        raise ValueError("blocks: they are not those of a meter")
    if arrays["recent"].dtype != np.int64 or (arrays["recent"] < 0).any():
        raise ValueError("recent: expected the places of mistakes")
