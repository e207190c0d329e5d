"""What one tenant may take of a server that others use too."""

from __future__ import annotations

from typing import NamedTuple

from lasec.service.errors import Problem
from lasec.service.model import ServedModel
from lasec.service.settings import OPEN

MB = 2**20


class Limits(NamedTuple):
    """The most that a tenant may have; docs/operations.md has them in a table."""

    models: int = 1_000
    open: int = OPEN
    """Open questions of all its models."""
    bytes: int = 2_048 * MB
    """Snapshots of its models, and the rows that wait for a label."""
    model: int = 512 * MB
    """The same of one model: a value of either database has fewer than 10^9 bytes."""


class Accounts:
    """What each tenant has, as far as the writer has carried it out."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._models: dict[str, dict[str, tuple[int, int]]] = {}
        self._sums: dict[str, tuple[int, int]] = {}

    def note(self, model: ServedModel) -> None:
        """Count what a model has by now."""
        have = len(model.queue), model.memory
        had = self._models.setdefault(model.tenant, {}).get(model.name, (0, 0))
        self._models[model.tenant][model.name] = have
        self._add(model.tenant, have[0] - had[0], have[1] - had[1])

    def forget(self, tenant: str, name: str) -> None:
        """A model is gone."""
        questions, size = self._models.get(tenant, {}).pop(name, (0, 0))
        self._add(tenant, -questions, -size)

    def _add(self, tenant: str, questions: int, size: int) -> None:
        before = self._sums.get(tenant, (0, 0))
        self._sums[tenant] = before[0] + questions, before[1] + size

    def need_room(self, tenant: str, size: int) -> None:
        """Refuse one more model of so many bytes, where there is no room for it."""
        limits, taken = self.limits, self._sums.get(tenant, (0, 0))[1]
        if len(self._models.get(tenant, ())) >= limits.models:
            raise Problem(409, f"a tenant has at most {limits.models:,} models: delete one")
        if size > limits.model:
            raise Problem(422, f"the model takes {_mb(size)}, it can have {_mb(limits.model)}")
        if taken + size > limits.bytes:
            raise Problem(409, f"the tenant's models take {_mb(taken)} of {_mb(limits.bytes)}")

    def need_questions(self, model: ServedModel) -> None:
        """Refuse rows, where so many questions wait that there is no room for more."""
        self.note(model)
        limits, (questions, taken) = self.limits, self._sums.get(model.tenant, (0, 0))
        if questions >= limits.open:
            raise Problem(
                409, f"{questions:,} questions are open, a tenant has at most {limits.open:,}: "
                "answer or cancel some, or lower the label budget"
            )  # fmt: skip
        if taken > limits.bytes or model.memory > limits.model:
            raise Problem(
                409, f"the rows that wait for labels take too much memory: {_mb(model.memory)} of "
                f"{_mb(limits.model)}, and {_mb(taken)} of the tenant's {_mb(limits.bytes)}"
            )  # fmt: skip


def _mb(size: int) -> str:
    return f"{size / MB:,.0f} MB"
