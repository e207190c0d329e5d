"""The River face: classifiers over dicts of features, which also say which labels to ask for.

In addition to River's methods, each has ``ask_one(x)``, which predicts and decides whether to
query the label, and ``tell_one(ticket, y)`` for the answer, whenever it comes.
:class:`ActiveClassifier` adds both to any other River classifier or pipeline.
"""

from lasec.river.active import ActiveClassifier
from lasec.river.classifiers import (
    LASECClassifier,
    RuleClassifier,
    TrackerClassifier,
)

__all__ = [
    "ActiveClassifier",
    "LASECClassifier",
    "RuleClassifier",
    "TrackerClassifier",
]
