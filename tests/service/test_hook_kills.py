"""Kills around a judge's answer: nothing is lost or asked twice, decisions are the library's."""

from __future__ import annotations

import json

import pytest

from service import hooked


def struck(number, store, seed):
    found = hooked.run(number, store, seed)
    assert found["kills"] >= number
    assert found["differ"] == []
    assert found["lost"] == 0
    assert found["twice"] == []
    assert found["money_differs_by"] == {"gpt": 0.0, "people": 0.0}
    assert found["accuracy_differs_by"] < 1e-9
    return found


def test_kills_around_a_judges_answer_change_nothing(store):
    struck(4, store, seed=1)


@pytest.mark.long
def test_many_kills_around_a_judges_answer_change_nothing(store, option, tmp_path):
    found = struck(option("--kills"), store, seed=0)
    out = option("--out") or tmp_path
    out.mkdir(parents=True, exist_ok=True)
    (out / f"kills_hooks_{store}.json").write_text(json.dumps(found, indent=1) + "\n")
