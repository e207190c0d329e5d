"""Runs over streams whose labels are known, and what labels are worth."""

from lasec.evaluation.loop import evaluate
from lasec.evaluation.points import Answer, Point
from lasec.evaluation.summary import RunSummary
from lasec.evaluation.tally import Margins, Part
from lasec.evaluation.worth import Worth

__all__ = ["Answer", "Margins", "Part", "Point", "RunSummary", "Worth", "evaluate"]
