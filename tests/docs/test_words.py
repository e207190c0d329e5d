"""One term for one thing: phrases that were replaced by the field's own stay out of every text."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PHRASES = (
    r"in truth", r"as the asked labels tell", r"labels come in runs", r"the label before",
    r"commoner", r"(throws?|thrown|toss\w*) a coin", r"coins?", r"paid back", r"loans?", r"lent",
    r"hurry", r"whoever", r"anew", r"gone on with", r"is to ask", r"stretch(es)?", r"beliefs?",
    r"believe[sd]?", r"drifts away", r"--as-it-is", r"--width", r"tell_row", r"bearable",
    r"strain", r"opinions?", r"brew", r"recipes?", r"arena", r"headroom", r"long life",
    r"rounds", r"fades?", r"fading", r"normalised",
    r"centred", r"labelled", r"behaviour", r"colour", r"licence", r"standardise\w*", r"cancelled",
)  # fmt: skip
BAD = re.compile(rf"(?<![\w.`])({'|'.join(PHRASES)})(?![\w`])", re.IGNORECASE)
# Where a phrase has another use: the rounds of a cipher.
ELSEWHERE = {
    "src/lasec/random.py": {"rounds"},
}  # fmt: skip


def texts_of(path):
    """The prose of a page, or the docstrings and messages of a module; names and code left out."""
    if path.suffix == ".md":
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        yield re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            lines = (line for line in node.value.splitlines() if ">>>" not in line)
            yield re.sub(r"``[^`]*``", "", "\n".join(lines))


def pages():
    yield from (ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))
    yield from sorted((ROOT / "docs").glob("*.md"))
    yield from sorted((ROOT / "src" / "lasec").rglob("*.py"))


def found(text):
    return {match[0].lower() for match in BAD.finditer(text)}


@pytest.mark.parametrize("path", [*pages()], ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_use_the_words_of_the_field(path):
    allowed = ELSEWHERE.get(path.relative_to(ROOT).as_posix(), set())
    assert set().union(*map(found, texts_of(path))) - allowed == set()


def test_a_phrase_is_found():
    assert found("It was right in truth,\nas it believes.") == {"in truth", "believes"}
    assert found("The `Gate` of coinage, as rounded.") == set()
