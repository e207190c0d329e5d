"""A model in use: the only place where learner, open questions, meter and detectors are wired."""

from lasec.session.adapters import around
from lasec.session.models import AnyModel, Judged, JudgedRows, OwnModel
from lasec.session.saved import Note
from lasec.session.session import Session

__all__ = [
    "AnyModel",
    "Judged",
    "JudgedRows",
    "Note",
    "OwnModel",
    "Session",
    "around",
]
