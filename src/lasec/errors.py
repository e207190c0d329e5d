"""What lasec refuses, by name. Wrong arguments are plain ``ValueError`` and ``TypeError``."""

from __future__ import annotations


class TicketError(LookupError):
    """A label came for a ticket that is not open.

    >>> import lasec
    >>> learner = lasec.LASEC(dimension=2)
    >>> learner.tell(5, +1)
    Traceback (most recent call last):
    lasec.errors.TicketError: ticket 5 was never given out: the next one is 0
    """


class StateError(ValueError):
    """A saved model is truncated, corrupted, foreign, newer than this version, or not valid.

    >>> import lasec
    >>> lasec.Learner.from_bytes(b"PK")
    Traceback (most recent call last):
    lasec.errors.StateError: not a lasec model: the file does not begin with lasec's signature
    """


class TableError(ValueError):
    """A table cannot be read as was asked: a column, a format or a value is not what it should be.

    >>> import lasec.tables
    >>> lasec.tables.open_table("mails.doc")
    Traceback (most recent call last):
    lasec.errors.TableError: mails.doc: no such file
    """
