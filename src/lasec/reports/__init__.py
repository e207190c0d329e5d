"""A run as one page that opens anywhere, and as figures for a paper. Needs ``lasec[plot]``."""

from lasec.reports.comparison import Comparison, compare
from lasec.reports.report import figures, save_figures, write
from lasec.reports.source import changes

__all__ = ["Comparison", "changes", "compare", "figures", "save_figures", "write"]
