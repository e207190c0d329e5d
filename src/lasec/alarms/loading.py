"""Any detector that was saved, by the kind that its file names."""

from __future__ import annotations

from lasec.alarms.alarm import Detector
from lasec.alarms.drop import DropAlarm
from lasec.alarms.inputs import InputAlarm
from lasec.errors import StateError
from lasec.persistence.container import kind_of

_KINDS = {kind.KIND: kind.from_bytes for kind in (DropAlarm, InputAlarm)}


def read(data: bytes) -> Detector:
    """The detector that ``to_bytes`` of any of them wrote, or a :class:`~lasec.StateError`.

    >>> import lasec
    >>> read(lasec.alarms.DropAlarm(drop=0.1).to_bytes()).drop
    0.1
    """
    kind = kind_of(data)
    if kind not in _KINDS:
        raise StateError("foreign: this is not a detector")
    return _KINDS[kind](data)
