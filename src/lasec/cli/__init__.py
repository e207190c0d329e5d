"""The command ``lasec``: needs ``lasec[cli]``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import NoReturn


def main() -> None:
    """Run the command line, or say what it needs."""
    missing = [name for name in ("filelock", "pyarrow", "rich", "typer") if not find_spec(name)]
    if missing:
        sys.exit(
            f"lasec: the command needs {', '.join(missing)}: "
            "pip install '.[cli]' in a checkout of lasec"
        )
    from lasec.cli.app import app  # noqa: PLC0415
    from lasec.cli.output import guarded  # noqa: PLC0415

    _leave(guarded(app))


def _leave(code: int) -> NoReturn:
    """End the process; after an error, without Python's shutdown.

    An error can leave a thread of Arrow reading ahead in a Python file. If Python shuts down under
    it, the thread is ended inside C++, which aborts the process with a message of its own.
    """
    if code:
        with suppress(OSError, ValueError):  # a closed pipe has been dealt with
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(0)
