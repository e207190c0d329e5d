"""A pytest plugin for ``make quick``: tests that need compiled code or another process are skipped.

Compiling takes minutes; what is left runs in one. Load it with ``pytest -p quick``. Nothing is
compiled, and nothing is read from or written to the cache of compiled code.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

os.environ["NUMBA_CACHE_DIR"] = os.devnull  # numba reads it when it is imported
from numba.core.dispatcher import Dispatcher


def compiled(*_: Any, **__: Any) -> None:
    """What a call of a compiled function does instead."""
    pytest.skip("needs compiled code")


def process(*_: Any, **__: Any) -> None:
    """What the start of a process does instead: most of them would compile."""
    pytest.skip("needs another process")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Patch what is called while a test runs; pytest-xdist itself starts processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "_compile_for_args", compiled)
        patch.setattr(Dispatcher, "compile", compiled)
        patch.setattr(subprocess.Popen, "__init__", process)
        return (yield)
