"""Kills around a judge's answer: nothing is lost or asked twice, decisions are the library's."""

from __future__ import annotations

import json

import pytest

from service import hooked


def struck(number, folder, seed):
    found = hooked.run(number, folder, seed)
    assert found["kills"] >= number
    assert found["differ"] == []
    assert found["lost"] == 0
    assert found["twice"] == []
    assert found["money_differs_by"] == {"gpt": 0.0, "people": 0.0}
    assert found["accuracy_differs_by"] < 1e-9
    return found


def test_kills_around_a_judges_answer_change_nothing(tmp_path):
    struck(4, tmp_path, seed=1)


@pytest.mark.long
def test_many_kills_around_a_judges_answer_change_nothing(option, tmp_path):
    found = struck(option("--kills"), tmp_path, seed=0)
    out = option("--out") or tmp_path
    out.mkdir(parents=True, exist_ok=True)
    (out / "kills_hooks.json").write_text(json.dumps(found, indent=1) + "\n")
