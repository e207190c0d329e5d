"""The learner: a rule that predicts and learns, a query that asks, and the state between them."""

from lasec.learner.book import Book, GivenUp, Listener, Why
from lasec.learner.learner import (
    Learner,
    Options,
    class_margins,
    counted,
    filed,
    leads,
    revived,
    standing,
)
from lasec.learner.saved import LearnerFile
from lasec.learner.terms import ALWAYS, check_weights, class_weights, with_classes

__all__ = [
    "ALWAYS",
    "Book",
    "GivenUp",
    "Learner",
    "LearnerFile",
    "Listener",
    "Options",
    "Why",
    "check_weights",
    "class_margins",
    "class_weights",
    "counted",
    "filed",
    "leads",
    "revived",
    "standing",
    "with_classes",
]
