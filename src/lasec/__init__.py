"""Classify a stream whose concept drifts, when labels cost money."""

from lasec import alarms, bounds, queries, rules, streams
from lasec.algorithms import (
    BBQ,
    BBQ_I,
    LASEC,
    LASEC_SS,
    RBP,
    SOP,
    SOP_SS,
    Modified,
    Perceptron,
    Perceptron_SS,
    Shifting,
    cite,
)
from lasec.draws import uniforms
from lasec.errors import StateError, TicketError
from lasec.fleet import Fleet
from lasec.learner import Learner
from lasec.records import FleetRecords, Records
from lasec.tracker import Belief, Tracker
from lasec.types import Decision, Margin, Outcome, Precision, Update

__version__ = "0.1.0"

__all__ = [
    "BBQ",
    "BBQ_I",
    "LASEC",
    "LASEC_SS",
    "RBP",
    "SOP",
    "SOP_SS",
    "Belief",
    "Decision",
    "Fleet",
    "FleetRecords",
    "Learner",
    "Margin",
    "Modified",
    "Outcome",
    "Perceptron",
    "Perceptron_SS",
    "Precision",
    "Records",
    "Shifting",
    "StateError",
    "TicketError",
    "Tracker",
    "Update",
    "alarms",
    "bounds",
    "cite",
    "queries",
    "rules",
    "streams",
    "uniforms",
]
