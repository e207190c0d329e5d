"""The page on architecture says what the import contract says, and names what exists."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"


def contract():
    """The layers that import-linter holds, from the top, as sets of rooms."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["lasec"])
    return [set(layer.split(" | ")) for layer in layers]


def rooms():
    """The rooms of the page's table, line by line."""
    table = (
        PAGE.read_text().split("| packages | what is in them |\n|---|---|\n")[1].split("\n\n")[0]
    )
    return [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()]


def test_the_rooms_of_the_page_are_those_of_the_contract():
    assert rooms() == contract()


def test_every_room_exists():
    there = {path.stem for path in (ROOT / "src" / "lasec").iterdir() if path.stem != "__pycache__"}
    assert set().union(*rooms()) == there - {"__init__", "py"}


def test_the_page_names_files_that_exist():
    for name in re.findall(r"`((?:[a-z_]+/)+|[a-z_]+\.py)`", PAGE.read_text()):
        folders = [ROOT / "src" / "lasec" / name, ROOT / name]
        assert any(folder.exists() for folder in folders), name
