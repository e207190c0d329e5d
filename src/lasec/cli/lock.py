"""The lock of a model file, the same for every link to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lasec.cli.output import say
from lasec.errors import TableError

PATIENCE = 2.0  # seconds of waiting, after which a message says so


@contextmanager
def held(model: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a model file; links to one file share one lock.

    The lock file is next to the model, and only its owner can open it. Without ``wait``, a model
    that another process uses is an error.

    >>> import tempfile
    >>> model = Path(tempfile.mkdtemp(), "model.lasec")
    >>> with held(model), held(model, wait=False):
    ...     pass
    Traceback (most recent call last):
    lasec.errors.TableError: ...model.lasec is in use by another lasec process
    """
    real = model.resolve()
    lock = FileLock(real.with_name(f".{real.name}.lock"), mode=0o600)
    try:
        lock.acquire(timeout=PATIENCE if wait else 0.0)
    except Timeout:
        if not wait:
            raise TableError(f"{model} is in use by another lasec process") from None
        say(f"lasec: waiting for {model}, which another lasec process uses")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
