"""What a terminal says of classes: rare ones first, then all together, and of probabilities."""

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
    """Average precision, recall and precision of the classes that are rare."""
    ranked = [metric for metric in run.score_metrics if metric == "average_precision"]
    for name in run.rare[:MOST]:
        place = run.classes.index(name)
        for metric in (*ranked, "recall", "precision"):
            words = f"{metric.replace('_', ' ')} of {name}"
            yield words[:40], _said(*run.rated(metric, place))


def probabilities(run: RunSummary) -> Facts:
    """How good the predicted probabilities are, where there are any."""
    for metric, words in (("log_loss", "log-loss"), ("calibration_error", "calibration error")):
        if metric in run.score_metrics:
            yield words, _said(*run.rated(metric), share=metric != "log_loss")


def several_classes(run: RunSummary) -> Facts:
    """Metrics in which every class counts the same, where there are more than two."""
    if len(run.classes) > 2:
        for metric, words in (("balanced_accuracy", "balanced accuracy"), ("macro_f1", "macro F1")):
            yield words, _said(*run.rated(metric))


def _said(found: Estimate, truth: float, *, share: bool = True) -> str:
    """An estimate, or that it is none, and the truth."""
    said = "not defined yet" if math.isnan(found.value) else estimated(found, share=share)
    return f"{said}, true {percent(truth) if share or math.isnan(truth) else f'{truth:.3f}'}"
