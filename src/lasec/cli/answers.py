"""Answers as people give them: late, lost, or wrong, for ``lasec run`` and ``lasec compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from lasec.cli.options import of_answers, share, span
from lasec.errors import TableError
from lasec.random import uniforms
from lasec.tables.cells import times_of


class Answers(NamedTuple):
    """How labels come: after a ``delay``, at the times of the column ``arrival``, or not at all.

    ``lost`` is the share that never comes. ``annotator_errors`` has the error rate of each
    annotator; with several, the majority of their answers is learned.

    >>> Answers().is_prompt, Answers(delay="500").is_prompt
    (True, False)
    """

    delay: Annotated[
        str | None,
        of_answers(
            "--delay", "DELAY",
            "A label comes so many rows after its question (such as 500) or, with --time, so "
            "long (such as 12h).",
        ),
    ] = None  # fmt: skip
    arrival: Annotated[
        str | None,
        of_answers(
            "--arrival", "COLUMN",
            "Column with the time at which the label comes; never where it is empty.",
        ),
    ] = None  # fmt: skip
    lost: Annotated[
        float,
        of_answers("--lost", "SHARE", "Share of the queried labels that never come.", parser=share),
    ] = 0.0
    annotator_errors: Annotated[
        str | None,
        of_answers(
            "--annotator-errors", "RATE,...",
            "Error rate of each annotator; with several, their majority is learned.",
        ),
    ] = None  # fmt: skip

    @property
    def errors(self) -> tuple[float, ...]:
        """The error rates of annotators.

        >>> Answers(annotator_errors="0.05, 10%, 0.2").errors, Answers().errors
        ((0.05, 0.1, 0.2), ())
        """
        given = self.annotator_errors or ""
        try:
            return tuple(share(part) for part in given.split(",") if part.strip())
        except typer.BadParameter:
            raise TableError(
                f"--annotator-errors {given}: expected rates, such as 0.05,0.1,0.2"
            ) from None

    @property
    def is_prompt(self) -> bool:
        """Whether every label comes with its row, and is right."""
        return self == Answers()

    def check(self, time: str | None, names: Sequence[str]) -> None:
        """Refuse what cannot be done with these columns.

        >>> Answers(delay="2h").check(None, [])
        Traceback (most recent call last):
        lasec.errors.TableError: --delay 2h: expected a number of rows; a duration needs --time
        """
        self._wait(timed=time is not None)
        if self.arrival is not None and (time is None or self.arrival not in names):
            raise TableError(
                f"--arrival {self.arrival}: expected a column of times, together with --time"
            )
        if not 0.0 <= self.lost <= 1.0:
            raise TableError("--lost: expected a share, such as 0.1 or 10%")
        if len(self.errors) > 1 and len(self.errors) % 2 == 0:
            raise TableError("--annotator-errors: expected an odd number of annotators")
        if not all(0.0 <= error < 1.0 for error in self.errors):
            raise TableError("--annotator-errors: expected rates from 0 to 1, such as 0.05,0.1,0.2")

    def options(
        self, batch: pa.RecordBatch, y: NDArray[Any], times: NDArray[np.float64] | None,
        classes: Sequence[str], seed: int, first: int,
    ) -> dict[str, Any]:  # fmt: skip
        """What :func:`lasec.evaluate` takes for these rows, of which ``first`` is the number.

        Draws depend on the seed and the number of a row alone.
        """
        if self.is_prompt:
            return {}
        said = np.column_stack([
            _answered(y, classes, error, uniforms((seed + 1 + k) % 2**64, first, len(y)))
            for k, error in enumerate(self.errors or (0.0,))
        ])  # fmt: skip
        gone = uniforms((seed + 1_000) % 2**64, first, len(y))[:, 0] < self.lost
        waits = np.full(len(y), self._wait(timed=times is not None))
        if self.arrival is not None:
            assert times is not None
            waits = np.maximum(times_of(batch[self.arrival]) - times, 0.0)
            gone |= ~np.isfinite(waits)
        said[gone] = None
        return {"delay": np.where(gone, 0.0, waits)[:, None], "answers": said}

    def _wait(self, *, timed: bool) -> float:
        """How long an answer takes: in seconds where rows have times, else in rows."""
        return 0.0 if self.delay is None else span("--delay", self.delay, timed=timed)


PROMPT = Answers()


def _answered(
    y: NDArray[Any], classes: Sequence[str], error: float, draws: NDArray[np.float64]
) -> NDArray[Any]:
    """What an annotator says: with the probability ``error``, any of the other classes."""
    said = y.copy()
    for at in np.flatnonzero(draws[:, 0] < error).tolist():
        others = [name for name in classes if name != y[at]]
        if y[at] is not None and others:
            said[at] = others[int(draws[at, 1] * len(others))]
    return said
