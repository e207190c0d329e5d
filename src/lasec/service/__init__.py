"""A durable loop between a live model and the people who answer: needs ``lasec[serve]``."""

from lasec.service.app import application
from lasec.service.service import Service
from lasec.service.settings import Asking, NewModel

__all__ = ["Asking", "NewModel", "Service", "application"]
