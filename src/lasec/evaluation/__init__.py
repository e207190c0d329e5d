"""Runs over streams whose labels are known, and what labels gain."""

from lasec.evaluation.calendar import Calendar
from lasec.evaluation.gain import LabelGain
from lasec.evaluation.loop import evaluate
from lasec.evaluation.paired import Difference, paired_difference
from lasec.evaluation.peers import evaluate_peer
from lasec.evaluation.points import Answer, Point
from lasec.evaluation.summary import RunSummary
from lasec.evaluation.tally import Bin, Margins, Part

__all__ = [
    "Answer",
    "Bin",
    "Calendar",
    "Difference",
    "LabelGain",
    "Margins",
    "Part",
    "Point",
    "RunSummary",
    "evaluate",
    "evaluate_peer",
    "paired_difference",
]
