"""A durable loop between a live model and the people who answer: needs ``lasec[serve]``."""

from lasec.service.app import application
from lasec.service.service import Service

__all__ = ["Service", "application"]
