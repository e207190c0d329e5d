"""Where the real data are."""

from __future__ import annotations

import os
from pathlib import Path


def set_data(path: str | None) -> None:
    """Where the real data lie, for this process and those it starts; None fetches them."""
    if path is not None:
        os.environ["LASEC_DATA"] = path


def data_folder() -> Path | None:
    """Where :func:`set_data` said, or ``shared/data`` beside the checkout; None if neither is."""
    told = os.environ.get("LASEC_DATA")
    folder = Path(told) if told else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None
