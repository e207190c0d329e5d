"""Predictions as lines of JSON, in a file that a resumed run continues."""

from __future__ import annotations

import json
from pathlib import Path

from lasec.errors import TableError
from lasec.records import Records


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

    def records(self, records: Records, first: int) -> None:
        """One line for each step; ``first`` is the number of the first row in its table.

        The prediction is null where there is none, before the first label.
        """
        labels = [
            label if sign else None
            for label, sign in zip(records.label.tolist(), records.sign.tolist(), strict=True)
        ]
        names = {label: json.dumps(label) for label in set(labels)}
        columns = (
            records.ticket.tolist(), labels, records.margin.tolist(),
            records.propensity.tolist(), records.asked.tolist(),
        )  # fmt: skip
        self._file.writelines(
            (
                f'{{"row": {first + at}, "ticket": {ticket}, "prediction": {names[label]}, '
                f'"margin": {margin:.6g}, "query_probability": {chance:.6g}, '
                f'"asked": {_WORD[asked]}}}\n'
            ).encode()
            for at, (ticket, label, margin, chance, asked) in enumerate(zip(*columns, strict=True))
        )

    def flush(self) -> int:
        """Write what is buffered, and return the size of the file."""
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_WORD = {True: "true", False: "false"}
