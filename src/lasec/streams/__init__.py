"""Streams whose concept drifts."""

from lasec.streams.classes import shifting_classes
from lasec.streams.datasets import usps
from lasec.streams.stream import Stream
from lasec.streams.synthetic import moving_inputs, recurring, stationary, switching, walking

__all__ = [
    "Stream",
    "moving_inputs",
    "recurring",
    "shifting_classes",
    "stationary",
    "switching",
    "usps",
    "walking",
]
