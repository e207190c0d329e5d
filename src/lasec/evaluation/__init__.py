"""Runs over streams whose labels are known."""

from lasec.evaluation.calendar import Calendar
from lasec.evaluation.loop import evaluate
from lasec.evaluation.paired import Difference, paired_difference
from lasec.evaluation.points import Arrival, Point
from lasec.evaluation.summary import RunSummary
from lasec.evaluation.tally import Bin, Margins, Part

__all__ = [
    "Arrival",
    "Bin",
    "Calendar",
    "Difference",
    "Margins",
    "Part",
    "Point",
    "RunSummary",
    "evaluate",
    "paired_difference",
]
