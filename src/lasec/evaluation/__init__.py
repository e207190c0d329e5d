"""A learner on a stream whose labels are known: what it would have asked, spent and believed."""

from lasec.evaluation.loop import evaluate
from lasec.evaluation.results import Answer, Evaluation, Point
from lasec.evaluation.tally import Margins, Part
from lasec.evaluation.trace import Trace
from lasec.evaluation.worth import Worth

__all__ = ["Answer", "Evaluation", "Margins", "Part", "Point", "Trace", "Worth", "evaluate"]
