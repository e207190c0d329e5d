"""Many models of one kind, in stacked arrays, served by one call on all cores."""

from __future__ import annotations

from lasec.fleet.fleet import Fleet as Fleet

__all__ = ["Fleet"]
