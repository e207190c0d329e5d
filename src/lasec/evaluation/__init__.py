"""Runs over streams whose labels are known, and what labels gain."""

from lasec.evaluation.gain import LabelGain
from lasec.evaluation.loop import evaluate
from lasec.evaluation.points import Answer, Point
from lasec.evaluation.summary import RunSummary
from lasec.evaluation.tally import Margins, Part

__all__ = ["Answer", "LabelGain", "Margins", "Part", "Point", "RunSummary", "evaluate"]
