"""The models of a fleet that grow with their rows: those of sparse rows, each with its own arrays.

Before a model serves a batch it is copied if labels may come, and what it has become is put in its
place afterwards. Models that have had no row share the arrays that all of them begin with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.errors import StateError
from lasec.kernel import engine
from lasec.nested import copied, entry_of, named
from lasec.persistence import codec
from lasec.persistence.container import Arrays, pack, unpack
from lasec.sparse import SparseRows
from lasec.types import Rule

_FIRST = np.zeros(1, dtype=np.int64)


class Growing:
    """As many models as wanted, all of them as ``one`` is; ``state`` is a list of their states.

    >>> import lasec
    >>> rule = lasec.rules.SparseTracking()
    >>> models = Growing(rule, rule.init(2**18), 3, 2**18)
    >>> len(models.state), models[1].columns.used.tolist()
    (3, [0, 3, 0])
    """

    def __init__(self, rule: Rule[Any], one: Any, models: int, dimension: int) -> None:
        self._rule, self._dimension, self._blank = rule, dimension, one
        self.state: list[Any] = [one] * models

    def __getitem__(self, k: int) -> Any:
        """The arrays of one model."""
        return self.state[k]

    def put(self, keys: int | slice, state: Any) -> None:
        """Let one model, or all, be as this state is."""
        if isinstance(keys, slice):
            self._blank = copied(state)
            self.state[keys] = [self._blank] * len(self.state[keys])
        else:
            self.state[keys] = copied(state)

    def undo(self, touched: NDArray[np.int64], learning: NDArray[np.int64]) -> Callable[[], None]:
        """How to put models back to what they are now; from here on, those that learn are copies.

        A question only counts its row there, and that is not worth a copy of the model.
        """
        before, learns = [(k, self.state[k]) for k in touched.tolist()], set(learning.tolist())
        for k, state in before:
            if k in learns or state is self._blank:
                self.state[k] = copied(state)

        def put_back() -> None:
            for k, state in before:
                self.state[k] = state

        return put_back

    def serve(
        self, server: Callable[..., Any], stack: engine.ModelStack, models: NDArray[np.int64],
        X: Any, requests: Any,
    ) -> None:  # fmt: skip
        """Serve the rows of some models, one model after the other; they grow where they must."""
        machine = engine.Machine()
        for k in models.tolist():
            span = requests.begins[k : k + 2]
            rows = requests.order[span[0] : span[1]]
            state = machine.admitted(self._rule, self.state[k], SparseRows(*X)[rows].arrays)
            counters: Any = (array[k : k + 1] for array in stack.counts)
            counts = engine.Counts(*counters)
            one = engine.ModelStack(engine.stack_of_one(state), stack.memory[k : k + 1], counts)
            after = server(one, _FIRST, requests._replace(begins=span))
            self.state[k] = entry_of(after.state, 0)

    @property
    def size(self) -> int:
        """How many bytes a model takes that has learned nothing yet."""
        return len(_packed(self._blank))

    def pack(self, keys: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        """Each of these models as bytes."""
        return [np.frombuffer(_packed(self.state[k]), np.uint8) for k in keys.tolist()]

    def unpack(self, keys: NDArray[np.int64], packed: Any) -> None:
        """Take these models from what :meth:`pack` gave, each checked as a learner's is."""
        states = [self._unpacked(bytes(one)) for one in packed]
        if len(states) != keys.size:
            raise ValueError(f"packed: expected {keys.size} models, got {len(states)}")
        for k, state in zip(keys.tolist(), states, strict=True):
            self.state[k] = state

    def _unpacked(self, data: bytes) -> Any:
        return codec.restore(self._rule, self._dimension, unpack(data)[1])

    def arrays(self) -> Arrays:
        """What a file of the fleet holds of them: models without rows are none of its own."""
        own = [k for k, state in enumerate(self.state) if state is not self._blank]
        states = {-1: self._blank} | {k: self.state[k] for k in own}
        arrays = {f"{k}.{n}": a for k, state in states.items() for n, a in named(state).items()}
        return arrays | {"own": np.array(own, np.int64)}

    @staticmethod
    def checked(
        rule: Rule[Any], dimension: int, arrays: Arrays, models: int
    ) -> tuple[Any, list[Any]]:
        """What a file holds, each checked as a learner's is: the state of new ones, and of all."""
        own = arrays.pop("own").tolist()
        if not set(own) <= set(range(models)):
            raise StateError("invalid: the states are not those of these models")
        parts: dict[int, Arrays] = {k: {} for k in (-1, *own)}
        for name, array in arrays.items():
            number, _, leaf = name.partition(".")
            parts[int(number)][leaf] = array
        states = {k: codec.restore(rule, dimension, part) for k, part in parts.items()}
        return states[-1], [states.get(k, states[-1]) for k in range(models)]

    def take(self, found: tuple[Any, list[Any]]) -> None:
        """Be what :meth:`checked` found in a file."""
        self._blank, self.state = found


def _packed(state: Any) -> bytes:
    return pack({}, named(state))
