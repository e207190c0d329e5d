"""Alarms: that something has changed in a stream, with a bounded rate of false alarms."""

from lasec.alarms.alarm import Alarm, Detector, described
from lasec.alarms.drop import DropAlarm
from lasec.alarms.inputs import InputAlarm
from lasec.alarms.loading import read
from lasec.alarms.watch import DriftDetector, Watch

__all__ = [
    "Alarm", "Detector", "DriftDetector", "DropAlarm", "InputAlarm", "Watch", "described", "read",
]  # fmt: skip
