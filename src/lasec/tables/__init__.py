"""Tables of numbers, categories and texts as streams: needs pyarrow (``lasec[cli]``)."""

from lasec.tables.cells import batch_of
from lasec.tables.encoder import Encoder
from lasec.tables.kinds import Column, Kind
from lasec.tables.learner import TableLearner
from lasec.tables.source import Table, open_table, table_of

__all__ = [
    "Column",
    "Encoder",
    "Kind",
    "Table",
    "TableLearner",
    "batch_of",
    "open_table",
    "table_of",
]
