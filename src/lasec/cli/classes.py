"""What a terminal says of classes: rare ones first, then all of them together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from lasec.cli.output import counted, estimated, percent
from lasec.evaluation import RunSummary
from lasec.metrics import Estimate

MOST = 3  # rare classes in a terminal
Facts = Iterator[tuple[str, str]]


def available(run: RunSummary) -> str:
    """For how many rows there is a label, queried or not.

    >>> import lasec
    >>> available(lasec.evaluate(lasec.LASEC(1), [[1.0]] * 4, ["ham", None, None, None]))
    '1 label (25.0 % of rows)'
    """
    return f"{counted(run.known, 'label')} ({percent(run.known / max(run.rows, 1))} of rows)"


def rare_classes(run: RunSummary) -> Facts:
    """Recall and precision of the classes that are rare."""
    for name in run.rare[:MOST]:
        place = run.classes.index(name)
        for metric in ("recall", "precision"):
            yield f"{metric} of {name}"[:40], _said(*run.rated(metric, place))


def several_classes(run: RunSummary) -> Facts:
    """Metrics in which every class counts the same, where there are more than two."""
    if len(run.classes) > 2:
        for metric, words in (("balanced_accuracy", "balanced accuracy"), ("macro_f1", "macro F1")):
            yield words, _said(*run.rated(metric))


def _said(found: Estimate, truth: float) -> str:
    """An estimate, or that it is none, and the truth."""
    said = "not defined yet" if math.isnan(found.value) else estimated(found)
    return f"{said}, true {percent(truth)}"
