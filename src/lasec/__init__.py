"""Online classification for drifting data streams on a label budget."""

from lasec import alarms, bounds, mercer, metrics, queries, rules, streams
from lasec.algorithms import (
    BBQ,
    BBQ_I,
    LASEC,
    LASEC_SS,
    RBP,
    SOP,
    SOP_SS,
    KernelLASEC,
    KernelLASEC_SS,
    Modified,
    Perceptron,
    Perceptron_SS,
    Shifting,
)
from lasec.contract import query, rule
from lasec.errors import StateError, TableError, TicketError
from lasec.evaluation import RunSummary, evaluate
from lasec.fleet import Fleet
from lasec.learner import Learner
from lasec.metrics import Estimate, Meter
from lasec.papers import cite
from lasec.random import uniforms
from lasec.records import Records
from lasec.registry import make
from lasec.session import Session
from lasec.sources import Money, Source
from lasec.text import TextHasher
from lasec.tracker import DriftEstimate, Tracker
from lasec.types import Aggregate, ClassMargin, Decision, LearnFrom, Margin, Outcome

__version__ = "0.1.0"

__all__ = [
    "BBQ",
    "BBQ_I",
    "LASEC",
    "LASEC_SS",
    "RBP",
    "SOP",
    "SOP_SS",
    "Aggregate",
    "ClassMargin",
    "Decision",
    "DriftEstimate",
    "Estimate",
    "Fleet",
    "KernelLASEC",
    "KernelLASEC_SS",
    "LearnFrom",
    "Learner",
    "Margin",
    "Meter",
    "Modified",
    "Money",
    "Outcome",
    "Perceptron",
    "Perceptron_SS",
    "Records",
    "RunSummary",
    "Session",
    "Shifting",
    "Source",
    "StateError",
    "TableError",
    "TextHasher",
    "TicketError",
    "Tracker",
    "alarms",
    "bounds",
    "cite",
    "evaluate",
    "make",
    "mercer",
    "metrics",
    "queries",
    "query",
    "rule",
    "rules",
    "streams",
    "uniforms",
]
