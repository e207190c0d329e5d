"""A pytest plugin for ``make quick``: tests that start another process are skipped.

Nothing is compiled: lasec's library has its own code, and rules of tests are interpreted. Load it
with ``pytest -p quick``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

os.environ["LASEC_CODE"] = "library"


def process(*_: Any, **__: Any) -> None:
    """What the start of a process does instead: it takes a second or more."""
    pytest.skip("needs another process")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Patch what is called while a test runs; pytest-xdist itself starts processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", process)
        return (yield)
