"""A learner on a stream whose labels are known: what it would have asked, spent and believed."""

from lasec.evaluation.gain import LabelGain
from lasec.evaluation.loop import evaluate
from lasec.evaluation.results import Answer, Evaluation, Point
from lasec.evaluation.tally import Margins, Part
from lasec.evaluation.trace import Trace

__all__ = ["Answer", "Evaluation", "LabelGain", "Margins", "Part", "Point", "Trace", "evaluate"]
