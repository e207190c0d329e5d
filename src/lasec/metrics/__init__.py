"""Estimates of accuracy and other metrics from queried labels, and how many labels to plan for."""

from lasec.metrics.calibration import Calibration, Reliability
from lasec.metrics.confusion import Confusion
from lasec.metrics.estimate import Estimate, Interval, Over
from lasec.metrics.meter import Meter
from lasec.metrics.planner import Plan, plan
from lasec.metrics.scores import Scores

__all__ = [
    "Calibration",
    "Confusion",
    "Estimate",
    "Interval",
    "Meter",
    "Over",
    "Plan",
    "Reliability",
    "Scores",
    "plan",
]
