"""The models of a fleet whose arrays have one size: stacked, with one more axis in front.

Packed, a model is a row of bytes: its arrays in order, of a covariance the lower triangle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec import validation
from lasec.contract import whole
from lasec.errors import StateError
from lasec.kernel import engine
from lasec.nested import entry_of, leaves, mapped, named, rebuilt
from lasec.persistence import codec
from lasec.persistence.container import Arrays
from lasec.types import Rule

# Each array begins at a multiple of this many bytes.
_STEP = 8


class Stacked:
    """As many models as wanted, all of them as ``one`` is.

    >>> import lasec
    >>> models = Stacked(lasec.rules.Perceptron(), lasec.rules.Perceptron().init(2), models=3)
    >>> models.state.weights.shape, models[1].weights.tolist()
    ((3, 2), [0.0, 0.0])
    """

    def __init__(self, rule: Rule[Any], one: Any, models: int, *_: Any) -> None:
        facts = whole(rule).facts
        self._places = places(one, facts.symmetric)
        self._notes = facts.notes  # then questions write into the state too
        self.state: Any = mapped(lambda array: tiled(array, models), one)

    def __getitem__(self, k: int) -> Any:
        """The arrays of one model, as views."""
        return entry_of(self.state, k)

    def put(self, keys: int | slice, state: Any) -> None:
        """Let one model, or some, be as this state is."""
        for stacked, its in zip(leaves(self.state), leaves(state), strict=True):
            stacked[keys] = its

    def undo(self, touched: NDArray[np.int64], learning: NDArray[np.int64]) -> Callable[[], None]:
        """How to put models back to what they are now, of which only ``learning`` may learn.

        A fleet can be larger than what is left of the memory, so that only these are copied.
        """
        changing = touched if self._notes else learning
        kept = [(array, array[changing]) for array in leaves(self.state)]

        def put_back() -> None:
            for array, before in kept:
                array[changing] = before

        return put_back

    def serve(
        self, server: Callable[..., Any], stack: Any, models: NDArray[np.int64], X: Any,
        requests: Any,
    ) -> None:  # fmt: skip
        """Serve the rows of some models, of this state in the stack."""
        server(stack, models, requests)

    @property
    def size(self) -> int:
        """How many bytes a model takes.

        >>> import lasec
        >>> rule = lasec.rules.SecondOrder()
        >>> Stacked(rule, rule.init(64), models=1).size
        17152
        """
        last = self._places[-1]
        return last.begin + -(-last.numbers * last.kind.itemsize // _STEP) * _STEP

    def pack(self, keys: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The arrays of these models as bytes, a row each."""
        packed = np.zeros((keys.size, self.size), dtype=np.uint8)
        for place, array in zip(self._places, leaves(self.state), strict=True):
            engine.store(
                place.spread(array), place.lower, keys, packed.view(place.kind), place.columns[0]
            )
        return packed

    def unpack(self, keys: NDArray[np.int64], packed: Any) -> None:
        """Take these models from what :meth:`pack` gave."""
        rows, expected = validation.array("packed", packed), self.size
        if rows.dtype != np.uint8 or rows.shape != (keys.size, expected):
            raise ValueError(
                f"packed: expected {keys.size} rows of {expected} bytes, "
                f"got {rows.dtype} of shape {rows.shape}"
            )
        if not rows.flags.c_contiguous or rows.ctypes.data % 8:
            rows = rows.copy()
        for place in self._places:
            if place.kind.kind == "f":
                bad = engine.first_infinite(rows.view(place.kind), *place.columns)
                if bad >= 0:
                    raise ValueError(f"packed: row {bad} holds NaN or infinity in {place.name}")
        for place, array in zip(self._places, leaves(self.state), strict=True):
            engine.load(
                place.spread(array), place.lower, keys, rows.view(place.kind), place.columns[0]
            )

    def arrays(self) -> Arrays:
        """What a file of the fleet holds of them."""
        return named(self.state)

    @staticmethod
    def checked(rule: Rule[Any], dimension: int, arrays: Arrays, models: int) -> Any:
        """The state that a file holds, once each of its models has been checked as a learner's."""
        if any(array.shape[:1] != (models,) for array in arrays.values()):
            raise StateError("invalid: there is not one state for each model")
        for k in range(models):
            like = codec.restore(rule, dimension, {name: arrays[name][k] for name in arrays})
        return rebuilt(like, (arrays[name] for name in named(like)))

    def take(self, found: Any) -> None:
        """Be what :meth:`checked` found in a file."""
        self.state = found


def tiled(array: NDArray[Any], models: int) -> NDArray[Any]:
    """The array so many times, along a new first axis."""
    return np.tile(array, (models,) + (1,) * array.ndim)


class Place(NamedTuple):
    """Where an array of the state lies: from which byte on, how many numbers, of what type.

    ``lower`` says that these are symmetric matrices, of which only one triangle is kept.
    """

    name: str
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    numbers: int
    lower: bool

    @property
    def columns(self) -> tuple[int, int]:
        """The first number, and the one after the last, in a row of numbers of this type."""
        first = self.begin // self.kind.itemsize
        return first, first + self.numbers

    def spread(self, stacked: NDArray[Any]) -> NDArray[Any]:
        """The stacked array as compiled code wants it: a row a model, or its matrices."""
        d = self.shape[-1]
        return stacked.reshape((len(stacked), -1, d, d) if self.lower else (len(stacked), -1))


def places(state: Any, symmetric: tuple[str, ...]) -> list[Place]:
    """Where the arrays of one model lie.

    >>> import lasec
    >>> [place.begin for place in places(lasec.rules.SecondOrder().init(3), ("cov",))]
    [0, 24]
    """
    found, begin = [], 0
    for name, array in named(state).items():
        count = array.size
        if name in symmetric:
            d = array.shape[-1]
            count = math.prod(array.shape[:-2]) * d * (d + 1) // 2
        found.append(Place(name, array.dtype, array.shape, begin, count, name in symmetric))
        begin += -(-count * array.itemsize // _STEP) * _STEP
    return found
