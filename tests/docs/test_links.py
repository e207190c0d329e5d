"""Every link of the README and the docs leads somewhere: relative ones to a file and a heading.

Addresses of other sites are not fetched; it is seen that they are well formed.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^`{3,}\{(?:glossary|container)\}", re.MULTILINE)
INLINE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)]*)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
EXTERNAL = re.compile(r"https://[\w.-]+(/[^\s()]*)?")


def prose(page):
    """The text of a page without its code; directives that hold prose are kept."""
    text = DIRECTIVE.sub("", page.read_text())
    return INLINE.sub("code", CODE.sub("", text))


@cache
def anchors(page):
    """The anchors of a page's headings, as GitHub and MyST form them."""
    headings = HEADING.findall(CODE.sub("", page.read_text()))
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"[`*_]", "", one)).strip().lower().replace(" ", "-")
        for one in headings
    }


def wrong(page, target):
    """What is wrong with a link of a page; nothing if it is fine."""
    if "://" in target:
        return None if EXTERNAL.fullmatch(target) else "not an https address"
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists() or not file.is_relative_to(ROOT):
        return "no such file"
    if anchor and anchor not in anchors(file):
        return f"no heading #{anchor} in {file.name}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    found = {target: wrong(page, target) for target in LINK.findall(prose(page))}
    assert not {target: reason for target, reason in found.items() if reason}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("docs/nowhere.md", "no such file"),
        ("docs/budget.md#nowhere", "no heading #nowhere in budget.md"),
        ("http://example.org", "not an https address"),
        ("https://example.org/a b", "not an https address"),
        ("docs/budget.md#label-budgets", None),
        ("https://example.org/a", None),
    ],
)
def test_a_broken_link_is_found(target, reason):
    assert wrong(ROOT / "README.md", target) == reason


def test_links_are_seen_in_prose_and_not_in_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a](b.md) `[c](d.md)`\n```python\n[e](f.md)\n```\n![g](h.svg)\n")
    assert LINK.findall(prose(page)) == ["b.md", "h.svg"]
