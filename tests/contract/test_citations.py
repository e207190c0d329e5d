"""Every algorithm names its papers, and each of them as a BibTeX entry that can be read."""

import re

import pytest

import lasec
from lasec import papers
from ownrule import Averaging

NAMED = [
    lasec.LASEC, lasec.LASEC_SS, lasec.SOP, lasec.SOP_SS, lasec.Perceptron, lasec.Perceptron_SS,
    lasec.Shifting, lasec.Modified, lasec.RBP, lasec.BBQ, lasec.BBQ_I, lasec.Tracker,
]  # fmt: skip
PARTS = [
    lasec.Learner(lasec.rules.AROW(), dimension=2),
    lasec.Learner(lasec.rules.Probit(), dimension=2, learn_from="labels"),
    lasec.Modified(2, reflect=False),
]
LEARNERS = [build(2) for build in NAMED] + PARTS
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "year"},
    "misc": set(),
}


def balanced(text):
    """Where the brace that opens ``text`` is closed; escaped braces do not count."""
    depth = 0
    for place, sign in enumerate(text):
        if sign in "{}" and (place == 0 or text[place - 1] != "\\"):
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return place
    raise AssertionError(f"a brace is not closed: {text[:80]}")


def entries(text):
    """A small reader of BibTeX: (kind, key, fields) of each entry, or an AssertionError."""
    found = []
    while text.strip():
        head = re.match(r"\s*@(\w+)(?=\{)", text)
        assert head, text[:80]
        text = text[head.end() :]
        end = balanced(text)
        key, body = text[1:end].split(",", 1)
        assert re.fullmatch(r"[a-z]+[a-z0-9]*", key)
        fields = {}
        while body.strip():
            name = re.match(r"\s*(\w+) = (?=\{)", body)
            assert name, body[:80]
            body = body[name.end() :]
            stop = balanced(body)
            assert name[1] not in fields
            fields[name[1]] = body[1:stop]
            rest = body[stop + 1 :].lstrip()
            assert not rest or rest[0] == ","
            body = rest[1:]
        found.append((head[1], key, fields))
        text = text[end + 1 :]
    return found


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_every_citation_is_a_whole_bibtex_entry(learner):
    lines = lasec.cite(learner).splitlines()
    found = entries(lasec.cite(learner, bibtex=True))
    assert len(found) == len(lines) >= 1
    for line, (kind, _, fields) in zip(lines, found, strict=True):
        assert set(fields) >= NEEDED[kind]
        assert fields["title"].strip("{}") in line
        assert fields["author"].split(" and ")[0] in line
        assert f", {fields['year']}." in line
        assert not re.search(r"(?<!\\)[&%$#]", "".join(fields.values()))
    assert len({key for _, key, _ in found}) == len(found)


def test_every_paper_has_a_key_of_its_own_and_is_found_by_its_text():
    every = [paper for paper in vars(papers).values() if isinstance(paper, papers.Paper)]
    assert len({paper.key for paper in every}) == len(every) >= 11
    for paper in every:
        assert papers.entries(paper.text) == paper.bibtex


def test_a_text_of_ones_own_becomes_a_note():
    text = r"Ä. Ünal & B_C {100 %} \cite. 2024."
    ((kind, key, fields),) = entries(papers.entries(f"{text}\n\n{text}"))
    assert (kind, key) == ("misc", "nal2024")
    assert fields["note"] == r"Ä. Ünal \& B\_C \{100 \%\} \textbackslash{}cite. 2024."
    assert papers.entries("") == ""


def test_the_reflection_and_the_projection_cite_whom_they_are_due_to():
    assert "Dasgupta" in lasec.cite(lasec.Modified(2)).splitlines()[0]
    assert "Blum" in lasec.cite(lasec.Modified(2)).splitlines()[1]
    assert lasec.cite(lasec.Modified(2, reflect=False)).startswith("A. Blum")


def test_a_rule_of_ones_own_is_cited_by_its_reference():
    learner = lasec.Learner(Averaging(), lasec.queries.Uniform(0.5), dimension=2)
    assert lasec.cite(learner) == Averaging().reference
