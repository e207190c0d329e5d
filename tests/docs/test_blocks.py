"""Every Python block of the README and the docs runs, and prints what the page says it prints."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def blocks(page):
    """(line, code, expected output or None) for each block, in order."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        yield text[: match.start()].count("\n") + 1, match[1], match[2]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(blocks(page))], ids=lambda page: page.name
)
def test_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for line, code, expected in blocks(page):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
        assert printed.getvalue() == (expected or ""), f"{page.name}, line {line}"


def test_the_readme_has_an_example():
    assert any(expected for _, _, expected in blocks(ROOT / "README.md"))
