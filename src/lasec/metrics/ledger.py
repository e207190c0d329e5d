"""A meter at rest: what it has counted, which questions are open, and how it is saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError
from lasec.metrics import sums
from lasec.metrics.estimate import Costs
from lasec.metrics.panes import Panes
from lasec.parameters import LARGEST, Range, number, shown
from lasec.state import Arrays, pack, restored

Array = NDArray[np.float64]
Probability = Callable[[Array], Array]

FORMAT = 1
CHUNK = 1024
LAST = 2**53  # tickets are summed up among floats
_COUNTERS = ("rounds", "blind", "asked", "labels", "lost", "ignored")
_COUNTS = Range(0, 2**62)


class Question(NamedTuple):
    """An open question: its round (from 0), what was predicted, q, and the share answered then."""

    round: int
    label: float
    probability: float
    propensity: float
    share: float


class Ledger:
    """The panes, the open questions, and the counters; a meter sets them in motion."""

    def __init__(
        self,
        window: int | None = 1_000,
        fade: float | None = None,
        patience: int | None = None,
        probability: Probability | None = None,
        costs: Costs | None = None,
    ) -> None:
        length = Range(1, 2**53)
        self.window = None if window is None else number("window", window, int, length)
        self.fade = None if fade is None else number("fade", fade, float, length)
        self.patience = None if patience is None else number("patience", patience, int, length)
        self.costs = None if costs is None else _costs(costs)
        if probability is not None and not callable(probability):
            raise TypeError(f"probability must be a function, got {shown(probability)}")
        self._probability = probability
        self._panes = Panes(self.window, self.fade)
        self._questions: dict[int, Question] = {}
        self._asks: list[Any] = []
        self._answers: list[tuple[int, float, int]] = []
        self._last = -1
        # The weights 1/q of all that was answered and lost, and the share answered as of the chunk.
        self._answered = self._gone = 0.0
        self._share = 1.0
        self._admitted = self._room = 0
        self._blind = self._asked = self._labels = self._lost = self._ignored = 0

    def to_bytes(self) -> bytes:
        """The whole meter, open questions included, as bytes that :meth:`from_bytes` reads.

        A ``probability`` of one's own cannot be saved and must be given again.

        >>> import lasec
        >>> meter = lasec.Meter(window=500)
        >>> meter.ask(lasec.Decision(1, 0.6, 1.0, 0.5, asked=True, ticket=0))
        >>> lasec.Meter.from_bytes(meter.to_bytes())
        Meter(window=500, rounds=1, asked=1, labels=0)
        """
        self._flush()
        return pack(self._header(), self._arrays())

    @classmethod
    def from_bytes(cls, data: bytes, probability: Probability | None = None) -> Self:
        """The meter that :meth:`to_bytes` wrote, or a :class:`~lasec.StateError`.

        >>> import lasec
        >>> lasec.Meter.from_bytes(lasec.LASEC(dimension=2).to_bytes())
        Traceback (most recent call last):
        lasec.errors.StateError: newer or foreign: this is no meter of format 1
        """
        return restored(data, partial(cls._restored, probability))

    def _header(self) -> dict[str, Any]:
        return {
            "meter": FORMAT,
            "window": self.window,
            "fade": self.fade,
            "patience": self.patience,
            "costs": None if self.costs is None else list(self.costs),
            "own_probability": self._probability is not None,
            "counters": {name: getattr(self, f"_{_inner(name)}") for name in _COUNTERS},
            "last": self._last,
            "settled": [self._panes.settled, self._panes.until],
            "weights": [self._answered, self._gone, self._share],
            "panes": self._panes.counts(),
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        questions = [list(question) for question in self._questions.values()]
        return {
            **self._panes.arrays(),
            "tickets": np.array(list(self._questions), dtype=np.int64),
            "questions": np.array(questions, dtype=np.float64).reshape(-1, len(Question._fields)),
        }

    @classmethod
    def _restored(
        cls, probability: Probability | None, header: dict[str, Any], arrays: Arrays
    ) -> Self:
        if header.get("meter") != FORMAT:
            raise StateError(f"newer or foreign: this is no meter of format {FORMAT}")
        if header["own_probability"] is not (probability is not None):
            raise StateError("probability: the saved meter had one of its own, or had none")
        costs = None if header["costs"] is None else Costs(*header["costs"])
        made = cls(header["window"], header["fade"], header["patience"], probability, costs)
        for name in _COUNTERS:
            count = number(name, header["counters"][name], int, _COUNTS)
            setattr(made, f"_{_inner(name)}", count)
        made._last = number("last", header["last"], int, Range(-1, LAST))
        answered, gone, share = header["weights"]
        made._answered = number("weights", answered, float, Range(0.0, sums.LARGEST))
        made._gone = number("weights", gone, float, Range(0.0, sums.LARGEST))
        made._share = number("weights", share, float, Range(sums.SMALLEST, 1.0))
        made._questions = _questions(arrays["tickets"], arrays["questions"])
        made._panes.restore(arrays, header["settled"], header["panes"], made._admitted)
        made._check()
        made._room = -made._admitted % CHUNK
        return made

    def _check(self) -> None:
        """Raise an error where the parts of a meter contradict each other."""
        panes, rounds = self._panes, [question.round for question in self._questions.values()]
        opened = Counter(number // panes.size for number in rounds)
        if opened != {n: pane.open for n, pane in panes.waiting.items() if pane.open}:
            raise ValueError("the open questions are not those of the panes")
        if (
            (rounds and rounds[-1] >= self._admitted)
            or max(self._questions, default=-1) > self._last
            or panes.latest > self._last + 1
            or self._last + 1 < self._admitted
            or self._asked + self._blind > self._admitted
            or self._asked != self._labels + self._lost + len(rounds)
        ):
            raise ValueError("the counters contradict each other")

    def _flush(self) -> None:
        raise NotImplementedError


def _inner(name: str) -> str:
    return "admitted" if name == "rounds" else name


def _costs(costs: Costs) -> Costs:
    if not isinstance(costs, (tuple, list)):
        raise TypeError(f"costs must be lasec.metrics.Costs, got {shown(costs)}")
    most = Range(-LARGEST, LARGEST)
    named = zip(Costs._fields, costs, strict=True)
    return Costs(*(number(f"costs: {name}", cost, float, most) for name, cost in named))


def _questions(tickets: NDArray[Any], table: NDArray[Any]) -> dict[int, Question]:
    """The open questions, as a meter would have written them: in the order of their rounds."""
    width = len(Question._fields)
    if tickets.dtype != np.int64 or table.dtype != np.float64 or tickets.ndim != 1:
        raise ValueError("the open questions are not numbers of the right kind")
    if table.shape != (tickets.size, width) or not np.isfinite(table).all():
        raise ValueError("the open questions have not the shape of a meter's, or hold NaN")
    rounds, label, probability, propensity, share = table.T
    if not (
        (np.diff(tickets, prepend=-1) > 0).all()
        and (np.diff(rounds, prepend=-1.0) > 0.0).all()
        and (rounds == np.floor(rounds)).all()
        and (np.abs(label) == 1.0).all()
        and ((probability >= sums.SURE[0]) & (probability <= sums.SURE[1])).all()
        and ((propensity >= sums.SMALLEST) & (propensity <= 1.0)).all()
        and ((share >= sums.SMALLEST) & (share <= 1.0)).all()
    ):
        raise ValueError("the open questions hold impossible numbers")
    rows = table.tolist()
    return {
        ticket: Question(int(row[0]), *row[1:])
        for ticket, row in zip(tickets.tolist(), rows, strict=True)
    }
