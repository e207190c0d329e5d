"""Predictions as lines of JSON, in a file that a resumed run continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec.errors import TableError
from lasec.records import Records
from lasec.tables import TableLearner
from lasec.types import Decision


class Lines:
    """A file of lines, cut to ``size`` bytes before more are written."""

    def __init__(self, path: Path, size: int = 0) -> None:
        there = path.stat().st_size if path.exists() else 0
        if there < size:
            raise TableError(
                f"{path} is {size - there:,} bytes shorter than at the last checkpoint: start "
                "again with --force"
            )
        self._file = open(path, "r+b" if size else "wb")  # noqa: SIM115
        self._file.truncate(size)
        self._file.seek(size)

    def records(self, records: Records, desk: TableLearner, rows: NDArray[np.int64]) -> None:
        """One line for each step; ``rows`` are the numbers of the rows in their table."""
        names = {sign: json.dumps(desk.name(sign)) for sign in (-1, 1)}
        columns = (
            rows.tolist(), records.ticket.tolist(), records.label.tolist(),
            records.margin.tolist(), records.propensity.tolist(), records.asked.tolist(),
        )  # fmt: skip
        self._file.writelines(
            (
                f'{{"row": {row}, "ticket": {ticket}, "label": {names[label]}, '
                f'"margin": {margin:.6g}, "propensity": {chance:.6g}, "asked": {_WORD[asked]}}}\n'
            ).encode()
            for row, ticket, label, margin, chance, asked in zip(*columns, strict=True)
        )

    def flush(self) -> int:
        """Write what is buffered, and return the size of the file."""
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def line(decision: Decision) -> dict[str, Any]:
    """A decision as a line of JSON has it."""
    return {
        "ticket": decision.ticket,
        "label": decision.label,
        "margin": float(f"{decision.margin:.6g}"),
        "propensity": float(f"{decision.propensity:.6g}"),
        "asked": decision.asked,
    }


_WORD = {True: "true", False: "false"}
