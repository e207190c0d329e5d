"""Streams whose concept drifts."""

from lasec.streams.switching import switching

__all__ = ["switching"]
