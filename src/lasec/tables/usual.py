"""What a new model of a table has, unless somebody says otherwise."""

from __future__ import annotations

from lasec.alarms import Detector, DropAlarm, InputAlarm

WORDS = 2**18  # columns of a table of texts


def detectors(wanted: bool, *, sparse: bool = False) -> list[Detector]:
    """The detectors of a model with alarms; of sparse rows, none looks at the features.

    >>> [type(one).__name__ for one in detectors(True)], detectors(False)
    (['DropAlarm', 'InputAlarm'], [])
    """
    found: list[Detector] = [DropAlarm()] if sparse else [DropAlarm(), InputAlarm()]
    return found if wanted else []
