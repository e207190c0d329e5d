"""Streams whose concept drifts."""

from lasec.streams.classes import shifting_classes
from lasec.streams.dataset import Dataset
from lasec.streams.datasets import open_dataset, usps
from lasec.streams.known import Known, catalogue
from lasec.streams.stream import Stream
from lasec.streams.synthetic import recurring, stationary, switching, walking

__all__ = [
    "Dataset",
    "Known",
    "Stream",
    "catalogue",
    "open_dataset",
    "recurring",
    "shifting_classes",
    "stationary",
    "switching",
    "usps",
    "walking",
]
