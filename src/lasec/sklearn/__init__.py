"""The scikit-learn face: classifiers that learn a stream in order, and say which labels to ask.

Rows are learned once, in the order in which they stand: a stream is never shuffled. Besides what
any scikit-learn classifier does, each has ``should_ask(X)``: which of these rows to send to the
people who label, and with which probability each was going to be sent, under a budget that is held.
"""

from lasec.sklearn.active import ActiveClassifier
from lasec.sklearn.classifiers import (
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
