"""One lock for one model, whatever name it is reached by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lasec.cli.output import say
from lasec.errors import TableError

PATIENCE = 2.0  # seconds, after which it is said that another process holds the model


@contextmanager
def held(model: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a model's lock: the file that a link points to, so that two names share one lock.

    The lock file lies beside the model, and only its owner can open it. Without ``wait``, a model
    that another process holds is an error.

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
        say(f"lasec: waiting for {model}, which another lasec process holds")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
