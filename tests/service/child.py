"""A server in a process of its own, which may end itself at a named point.

``python -m service.child`` loads its code and waits for a line on its input, the list
``[STORE, PORT, POINT, PASS]`` as JSON, of which the last two can be left out: at the pass of that
number through the point ("before commit", "after commit", "snapshot", "replay") it is killed. The
hosts in ``LASEC_HOOK_HOSTS`` can be posted to.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable

from lasec.service import Service
from lasec.service.listen import Server
from lasec.service.outgoing import Outgoing

EVERY = 100  # rows between two snapshots: many of them


def killer(point: str, number: int) -> Callable[[str], None]:
    """What kills this process at the pass of that number through a point."""
    left = [number]

    def at(here: str) -> None:
        if here == point:
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return at


def main(store: str, port: int, point: str = "", number: int = 1) -> None:
    """Serve until killed, as ``lasec serve`` does."""
    hosts = frozenset(os.environ.get("LASEC_HOOK_HOSTS", "").split())
    allowed = Outgoing(hosts, private=True, pauses=(0.05, 0.05))
    service = Service(store, at=killer(point, number), every=EVERY, outgoing=allowed)
    service.open()
    try:
        Server(service, host="127.0.0.1", port=port).run()
    finally:
        service.stop()


if __name__ == "__main__":
    if given := sys.stdin.readline():
        main(*json.loads(given))
