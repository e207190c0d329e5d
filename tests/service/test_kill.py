"""The short form of ``python -m experiments serve-kill``: nothing that was acknowledged is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from experiments.serving import kills

NOTHING = ("lost", "twice", "changed", "differ")
HAS_POSTGRES = shutil.which("initdb") or list(Path("/").glob("usr/lib/postgresql/*/bin/initdb"))


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_kills_cost_nothing(store, tmp_path):
    if store == "postgres" and not HAS_POSTGRES:
        pytest.skip("PostgreSQL is not installed")
    found = kills.run(4, store, tmp_path, crashes=int(store == "postgres"), seed=3)
    assert found["kills"] == 4
    assert found["operations"] > 20
    assert {name: found[name] for name in NOTHING} == dict.fromkeys(NOTHING, 0)
    assert found["bit_for_bit"]
    assert found["accuracy_differs_by"] < 1e-9
