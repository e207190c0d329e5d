"""The table of studies: each is done by a function with its options, and stands on a page."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from experiments.studies import STUDIES

ROOT = Path(__file__).parents[2]
PAGES = [path.read_text() for path in (ROOT / "docs").glob("**/*.md")]


@pytest.mark.parametrize("study", STUDIES, ids=[study.name for study in STUDIES])
def test_a_study_has_a_function_and_stands_on_a_page(study):
    module, _, name = study.place.partition(":")
    try:
        function = getattr(import_module(f"experiments.{module}"), name)
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    taken = set(inspect.signature(function).parameters)
    given = {option.name for option in study.options} - {"data"}
    if "journal" in taken:
        assert {"out", "jobs"} <= given
        given = given - {"jobs"} | {"journal"}
    assert given <= taken
    named = rf"experiments {study.name}\b|\| {study.name} \||`{study.name}`"
    assert any(re.search(named, text) for text in PAGES)
    assert (ROOT / "docs" / "results" / study.published).is_dir()
