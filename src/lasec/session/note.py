"""What is kept with an open question."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Note(NamedTuple):
    """The id of a row, some of its cells, and who has answered so far.

    >>> Note(id="mail-7").answered_by
    ()
    """

    id: Hashable = None
    columns: Mapping[str, Any] = MappingProxyType({})
    answered_by: tuple[str, ...] = ()
