"""The command ``lasec``: needs ``lasec[cli]``."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line, or say what it needs."""
    missing = [name for name in ("filelock", "pyarrow", "rich", "typer") if not find_spec(name)]
    if missing:
        sys.exit(f"lasec: the command needs {', '.join(missing)}: pip install 'lasec[cli]'")
    from lasec.cli.app import app  # noqa: PLC0415
    from lasec.cli.output import guarded  # noqa: PLC0415

    sys.exit(guarded(app))
