"""Streams whose concept drifts."""

from lasec.streams.dataset import Dataset
from lasec.streams.datasets import open_dataset, usps
from lasec.streams.known import Known, catalogue
from lasec.streams.stream import Stream
from lasec.streams.synthetic import recurring, shifting_classes, stationary, switching, walking

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
