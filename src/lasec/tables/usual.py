"""What a new model of a table has, unless somebody says otherwise."""

from __future__ import annotations

from lasec.alarms import Detector, DropAlarm, InputAlarm
from lasec.errors import TableError
from lasec.registry import find
from lasec.tables.encoder import Encoder
from lasec.tables.watched import names


def detectors(wanted: bool, encoder: Encoder | None = None) -> list[Detector]:
    """The detectors of a model with alarms; of texts and pairs, none looks at the features.

    >>> [type(one).__name__ for one in detectors(True)], detectors(False)
    (['DropAlarm', 'InputAlarm'], [])
    """
    if not wanted:
        return []
    columns = () if encoder is None else names(encoder)
    looks = encoder is None or bool(columns)
    drop = DropAlarm(confirm=True)
    return [drop, InputAlarm(names=columns)] if looks else [drop]


def check_algorithm(encoder: Encoder, name: str) -> None:
    """Refuse an algorithm that takes no sparse rows, for a table that needs them.

    >>> import pyarrow as pa
    >>> mails = pa.RecordBatch.from_pydict({"body": ["win a free prize", "see you at lunch"]})
    >>> check_algorithm(Encoder.fit(mails), "tracker")
    >>> check_algorithm(Encoder.fit(mails), "lasec-ss")
    Traceback (most recent call last):
    lasec.errors.TableError: lasec-ss takes no sparse rows, and column 'body' is text: use ...
    """
    if encoder.words and find(name).sparse is None:
        raise TableError(
            f"{name} takes no sparse rows, and {encoder.sparse}: use the tracker, or ignore the "
            "column (--ignore COLUMN)"
        )
