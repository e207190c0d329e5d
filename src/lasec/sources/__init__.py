"""Labels of two prices: a cheap judge, a dear expert, and one budget of money."""

from lasec.sources.buying import Buying, Record, Verdict
from lasec.sources.judge import Judge, Noise
from lasec.sources.source import Money, Source

__all__ = ["Buying", "Judge", "Money", "Noise", "Record", "Source", "Verdict"]
