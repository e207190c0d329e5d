"""The papers behind the algorithms, who proposed what, and :func:`cite`.

Pages and DOIs are given where they were checked.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from lasec import queries, rules
from lasec.learner import Learner

_VENUE = {"article": "journal", "inproceedings": "booktitle", "incollection": "booktitle"}
_SPECIAL = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


class Paper(NamedTuple):
    """A paper; ``kind`` is its BibTeX type, and ``venue`` the journal, the proceedings or the book.

    >>> print(ROSENBLATT_1958.text)
    F. Rosenblatt. The Perceptron: ... in the Brain. Psychological Review 65(6), 1958.
    >>> print(ROSENBLATT_1958.bibtex)
    @article{rosenblatt1958,
      author = {F. Rosenblatt},
      title = {{The Perceptron: A Probabilistic Model for ... Organization in the Brain}},
      journal = {Psychological Review},
      year = {1958},
      volume = {65},
      number = {6}
    }
    """

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int
    volume: str = ""
    number: str = ""
    pages: str = ""
    doi: str = ""

    @property
    def text(self) -> str:
        """Authors, title, where and when, in one line."""
        *most, last = self.authors
        names = f"{', '.join(most)} and {last}" if most else last
        volume = f" {self.volume}" if self.volume else ""
        number = f"({self.number})" if self.number else ""
        return f"{names}. {self.title}. {self.venue}{volume}{number}, {self.year}."

    @property
    def bibtex(self) -> str:
        """A BibTeX entry."""
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{_escaped(self.title)}}}",
            _VENUE.get(self.kind, "howpublished"): _escaped(self.venue),
            "year": str(self.year),
            "volume": self.volume,
            "number": self.number.replace("-", "--"),
            "pages": self.pages.replace("-", "--"),
            "doi": self.doi,
        }
        return _entry(self.kind, self.key, fields)


MOROSHKO_2014 = Paper(
    "moroshko2014", "inproceedings", ("E. Moroshko", "K. Crammer"),
    "Selective Sampling with Drift", "Proceedings of AISTATS, JMLR W&CP", 2014, "33",
    pages="651-659",
)  # fmt: skip
CESA_BIANCHI_2005 = Paper(
    "cesabianchi2005", "article", ("N. Cesa-Bianchi", "A. Conconi", "C. Gentile"),
    "A Second-Order Perceptron Algorithm", "SIAM Journal on Computing", 2005, "34", "3",
    "640-668", "10.1137/S0097539703432542",
)  # fmt: skip
CESA_BIANCHI_2006 = Paper(
    "cesabianchi2006", "article", ("N. Cesa-Bianchi", "C. Gentile", "L. Zaniboni"),
    "Worst-Case Analysis of Selective Sampling for Linear Classification",
    "Journal of Machine Learning Research", 2006, "7", pages="1205-1230",
)  # fmt: skip
CESA_BIANCHI_2009 = Paper(
    "cesabianchi2009", "inproceedings", ("N. Cesa-Bianchi", "C. Gentile", "F. Orabona"),
    "Robust Bounds for Classification via Selective Sampling", "Proceedings of ICML", 2009,
    pages="121-128", doi="10.1145/1553374.1553390",
)  # fmt: skip
CAVALLANTI_2007 = Paper(
    "cavallanti2007", "article", ("G. Cavallanti", "N. Cesa-Bianchi", "C. Gentile"),
    "Tracking the Best Hyperplane with a Simple Budget Perceptron", "Machine Learning", 2007,
    "69", "2-3",
)  # fmt: skip
ROSENBLATT_1958 = Paper(
    "rosenblatt1958", "article", ("F. Rosenblatt",),
    "The Perceptron: A Probabilistic Model for Information Storage and Organization in the Brain",
    "Psychological Review", 1958, "65", "6",
)  # fmt: skip
BLUM_1998 = Paper(
    "blum1998", "article", ("A. Blum", "A. Frieze", "R. Kannan", "S. Vempala"),
    "A Polynomial-Time Algorithm for Learning Noisy Linear Threshold Functions", "Algorithmica",
    1998, "22", doi="10.1007/PL00013833",
)  # fmt: skip
DASGUPTA_2005 = Paper(
    "dasgupta2005", "inproceedings", ("S. Dasgupta", "A. T. Kalai", "C. Monteleoni"),
    "Analysis of Perceptron-Based Active Learning", "Proceedings of COLT", 2005,
    pages="249-263", doi="10.1007/11503415_17",
)  # fmt: skip
CRAMMER_2009 = Paper(
    "crammer2009", "inproceedings", ("K. Crammer", "A. Kulesza", "M. Dredze"),
    "Adaptive Regularization of Weight Vectors",
    "Advances in Neural Information Processing Systems", 2009, "22",
)  # fmt: skip
OPPER_1998 = Paper(
    "opper1998", "incollection", ("M. Opper",), "A Bayesian Approach to Online Learning",
    "On-Line Learning in Neural Networks (D. Saad, ed.), Cambridge University Press", 1998,
)  # fmt: skip
LEWIS_1994 = Paper(
    "lewis1994", "inproceedings", ("D. D. Lewis", "W. A. Gale"),
    "A Sequential Algorithm for Training Text Classifiers", "Proceedings of SIGIR", 1994,
    pages="3-12",
)  # fmt: skip
ADAMS_2007 = Paper(
    "adams2007", "misc", ("R. P. Adams", "D. J. C. MacKay"),
    "Bayesian Online Changepoint Detection", "arXiv:0710.3742", 2007,
)  # fmt: skip

_KNOWN = {paper.text: paper for paper in list(globals().values()) if isinstance(paper, Paper)}
# Who proposed the rules and the queries; those that are not here need no citation.
PROPOSED: dict[type, list[Paper]] = {
    rules.SecondOrder: [MOROSHKO_2014],
    rules.KernelSecondOrder: [MOROSHKO_2014],
    rules.Perceptron: [ROSENBLATT_1958],
    rules.ShiftingPerceptron: [CAVALLANTI_2007],
    rules.BudgetPerceptron: [CAVALLANTI_2007],
    rules.ModifiedPerceptron: [DASGUPTA_2005, BLUM_1998],
    rules.Ridge: [CESA_BIANCHI_2009],
    rules.AROW: [CRAMMER_2009],
    rules.Probit: [OPPER_1998],
    rules.Tracking: [ADAMS_2007],
    rules.SparseTracking: [ADAMS_2007],
    rules.Lenses: [ADAMS_2007],
    queries.MarginSampling: [CESA_BIANCHI_2006],
    queries.UncertaintySampling: [LEWIS_1994],
    queries.VarianceThreshold: [CESA_BIANCHI_2009],
}
# Whose a rule is without its parameter of this name.
WITHOUT: dict[type, tuple[str, list[Paper]]] = {
    rules.SecondOrder: ("drift", [CESA_BIANCHI_2005]),
    rules.KernelSecondOrder: ("drift", [CESA_BIANCHI_2005]),
    rules.ModifiedPerceptron: ("reflect", [BLUM_1998]),
}
# Algorithms that were proposed elsewhere than their parts, by name.
COMPOSED = dict.fromkeys(("LASEC-SS", "KernelLASEC-SS", "BBQ-I"), MOROSHKO_2014.text)


def cite(learner: Learner, *, bibtex: bool = False) -> str:
    r"""The papers to cite for a learner: its algorithm's, its rule's and its query's.

    One a line; with ``bibtex``, as BibTeX entries.

    >>> import lasec
    >>> print(lasec.cite(lasec.LASEC_SS(dimension=2, seed=0)))
    E. Moroshko and K. Crammer. Selective Sampling with Drift. ...
    N. Cesa-Bianchi, C. Gentile and L. Zaniboni. Worst-Case Analysis of Selective Sampling ...
    >>> print(lasec.cite(lasec.LASEC(dimension=2), bibtex=True))
    @inproceedings{moroshko2014,
      author = {E. Moroshko and K. Crammer},
      title = {{Selective Sampling with Drift}},
      booktitle = {Proceedings of AISTATS, JMLR W\&CP},
      year = {2014},
      volume = {33},
      pages = {651--659}
    }
    """
    composed = COMPOSED.get(learner.name.removeprefix("Budgeted "), "")
    texts = "\n".join((composed, of(learner.rule), of(learner.query)))
    text = "\n".join(dict.fromkeys(filter(None, texts.splitlines())))
    return entries(text) if bibtex else text


def of(part: Any) -> str:
    """The papers of a rule or a query, a line each; one of your own may have a ``reference``.

    >>> of(rules.SecondOrder(drift=0.0))
    'N. Cesa-Bianchi, A. Conconi and C. Gentile. A Second-Order Perceptron Algorithm. ...
    """
    if isinstance(part, rules.OneVsRest | queries.Budgeted):
        return of(part.inner)
    if type(part) not in PROPOSED:
        return str(getattr(part, "reference", ""))
    parameter, other = WITHOUT.get(type(part), ("", []))
    proposed = other if other and not getattr(part, parameter) else PROPOSED[type(part)]
    return "\n".join(paper.text for paper in proposed)


def entries(text: str) -> str:
    """BibTeX entries for lines of text: those of the papers, and ``@misc`` for others.

    >>> print(entries("A. Nyone. A Rule of My Own. 2031."))
    @misc{nyone2031,
      note = {A. Nyone. A Rule of My Own. 2031.}
    }
    """
    return "\n".join(
        _KNOWN[line].bibtex if line in _KNOWN else _other(line)
        for line in dict.fromkeys(text.splitlines())
        if line.strip()
    )


def _other(line: str) -> str:
    """An entry for a text that is no known paper; its key is a word of it and its year."""
    words = re.findall(r"[A-Za-z]{2,}", line)
    years = re.findall(r"\b(?:1[89]|20)\d\d\b", line)
    key = (words[0].lower() if words else "reference") + (years[-1] if years else "")
    return _entry("misc", key, {"note": _escaped(" ".join(line.split()))})


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n{lines}\n}}"


def _escaped(text: str) -> str:
    return text.translate(_SPECIAL)
