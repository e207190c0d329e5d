"""A meter at rest: what it has counted, which questions are open, and how it is saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError
from lasec.metrics import sums
from lasec.metrics.estimate import Costs
from lasec.metrics.panes import Panes
from lasec.parameters import Range, number
from lasec.state import pack, unpack

Array = NDArray[np.float64]
Probability = Callable[[Array], Array]

FORMAT = 1
CHUNK = 1024
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
        header, arrays = unpack(bytes(data))
        if header.get("meter") != FORMAT:
            raise StateError(f"newer or foreign: this is no meter of format {FORMAT}")
        if header.get("own_probability") != (probability is not None):
            raise ValueError("probability: the saved meter had one of its own, or had none")
        try:
            return cls._restored(arrays, header, probability)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"invalid: {error}") from error

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
        cls, arrays: Mapping[str, Any], header: Mapping[str, Any], probability: Probability | None
    ) -> Self:
        costs = None if header["costs"] is None else Costs(*header["costs"])
        made = cls(header["window"], header["fade"], header["patience"], probability, costs)
        _check(arrays, len(header["panes"]))
        for name in _COUNTERS:
            count = number(name, header["counters"][name], int, _COUNTS)
            setattr(made, f"_{_inner(name)}", count)
        made._last = number("last", header["last"], int, Range(-1, 2**62))
        made._answered, made._gone, made._share = map(float, header["weights"])
        made._panes.settled, made._panes.until = map(int, header["settled"])
        made._panes.restore(dict(arrays), header["panes"])
        for ticket, row in zip(arrays["tickets"].tolist(), arrays["questions"], strict=True):
            made._questions[ticket] = Question(int(row[0]), *row[1:].tolist())
        if len(made._questions) != sum(count[2] for count in header["panes"]):
            raise ValueError("the open questions are not those of the panes")
        made._room = -made._admitted % CHUNK
        return made

    def _flush(self) -> None:
        raise NotImplementedError


def _inner(name: str) -> str:
    return "admitted" if name == "rounds" else name


def _costs(costs: Costs) -> Costs:
    values = [
        number(name, cost, float, None) for name, cost in zip(Costs._fields, costs, strict=True)
    ]
    if not all(map(math.isfinite, values)):
        raise ValueError(f"costs: expected finite numbers, got {costs}")
    return Costs(*values)


def _check(arrays: Mapping[str, Any], waiting: int) -> None:
    """Shapes and sizes as a meter would have written them."""
    shapes = {
        "total": sums.SHAPE,
        "faded": (2, *sums.SHAPE),
        "kept": (len(arrays["kept"]), *sums.SHAPE),
        "waiting": (waiting, *sums.SHAPE),
        "tickets": (arrays["tickets"].size,),
        "questions": (arrays["tickets"].size, len(Question._fields)),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} has not the shape of a meter's, or holds NaN")
