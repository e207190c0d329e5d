"""Kills of the service amid hostile requests: nothing that was acknowledged is lost."""

from __future__ import annotations

import pytest

from service import kills


def struck(number, store, out, crashes, seed):
    """Kill a service so often, of which the database crashes some times; gives what was seen."""
    found = kills.run(number, store, out, crashes=crashes if store == "postgres" else 0, seed=seed)
    assert kills.faults(found) == {}, found["failures"] + found["failed_requests_seen"]
    assert found["kills"] == number
    assert found["operations"] > 20
    assert found["hostile_requests"] > 20
    assert found["full_disks"] or store == "postgres"  # which cannot be filled without a mount
    assert found["accuracy_differs_by"] < 1e-9


def test_kills_amid_hostile_requests_cost_nothing(store, tmp_path):
    struck(3, store, tmp_path, crashes=1, seed=3)


@pytest.mark.long
def test_many_kills_cost_nothing(store, option, tmp_path):
    number = option("--kills")
    struck(number, store, option("--out") or tmp_path, crashes=number // 10, seed=0)
