"""The River face: classifiers over dicts of features, which also say which labels to ask for.

Beside what any River classifier does, each has ``ask_one(x)``, which predicts and decides whether
to ask, and ``tell_one(ticket, y)`` for the answer, whenever it comes. :class:`Selective` gives the
same two to any other River classifier or pipeline.
"""

from lasec.river.classifiers import (
    AROWClassifier,
    LASECClassifier,
    PerceptronClassifier,
    SOPClassifier,
    TrackerClassifier,
)
from lasec.river.selective import Selective

__all__ = [
    "AROWClassifier",
    "LASECClassifier",
    "PerceptronClassifier",
    "SOPClassifier",
    "Selective",
    "TrackerClassifier",
]
