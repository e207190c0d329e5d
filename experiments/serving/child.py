"""A server in a process of its own, which may end itself at a named point.

``python -m experiments.serving.child STORE PORT [POINT PASS]``: at the pass of that number through
the point ("before commit", "after commit", "snapshot", "replay") the process is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import uvicorn

from lasec.service import Service, application

EVERY = 200  # rows between two snapshots: many of them


def killer(point: str, number: int) -> Callable[[str], None]:
    """What kills this process at the pass of that number through a point."""
    left = [number]

    def at(here: str) -> None:
        if here == point:
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return at


def main(store: str, port: str, point: str = "", number: str = "1") -> None:
    """Serve until killed."""
    service = Service(store, at=killer(point, int(number)), every=EVERY)
    app = application(service)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
