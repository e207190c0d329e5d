"""What is said of a run, once: a terminal prints each fact as a line, a report as a card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from lasec.evaluation.summary import RunSummary
from lasec.metrics import Estimate
from lasec.metrics.words import EXACT, Fact, estimated
from lasec.notebook import counted, percent, unpredicted

BASELINES = {
    "no-change": "predicts the previous label, so it needs every label",
    "majority class": "always predicts the more frequent class",
}
SCORES = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
}
NUMBERS = frozenset({"log_loss", "brier"})  # the others are shares


def accuracy(run: RunSummary) -> Iterator[Fact]:
    """The estimated accuracy, what lost answers can hide, that of the last rows, and the truth.

    >>> import lasec
    >>> X, y = lasec.streams.switching(2_000, dimension=5, every=1_000, seed=1)
    >>> run = lasec.evaluate(lasec.Tracker(rate=0.2, seed=0), X, y)
    >>> for fact in accuracy(run):
    ...     print(f"{fact.name}: {fact.line}")
    estimated accuracy: 96.0 % (95 % CI 95.0-97.1 %, 423 labels)
    last 980 rows: 97.8 % (95 % CI 96.9-98.4 %, 201 labels)
    true accuracy: 96.6 % (all labels; 1 row before the first label has no prediction)
    """
    here = run.estimate
    all_known = run.labels == run.rows and here.width < EXACT
    if run.unpredicted < run.rows and not all_known:
        yield estimated("estimated accuracy", here)
        if here.lost and not math.isnan(here.value):
            yield _worst(here)
        last = run.recent()
        if last.rows < here.rows:
            yield estimated(f"last {counted(last.rows, 'row')}", last)
    yield Fact("true accuracy", percent(run.accuracy), _covered(run, all_known))


def _covered(run: RunSummary, all_known: bool) -> str:
    """Of which rows the true accuracy is."""
    said = "all labels"
    if run.known < run.rows:
        said = f"all {available(run)}"
    if run.unpredicted:
        said += f"; {unpredicted(run.unpredicted)}"
    return f"{said}; every label was queried" if all_known else said


def available(run: RunSummary) -> str:
    """For how many rows there is a label, queried or not.

    >>> import lasec
    >>> available(lasec.evaluate(lasec.LASEC(1), [[1.0]] * 4, ["ham", None, None, None]))
    '1 label, for 25.0 % of rows'
    """
    return f"{counted(run.known, 'label')}, for {percent(run.known / max(run.rows, 1))} of rows"


def _worst(here: Estimate) -> Fact:
    """What answers that never came can hide.

    >>> _worst(Estimate(0.9, 0.88, 0.92, 1_000, 90, 1_000, lost=10, below=0.1, above=0.08)).line
    '78.0-100.0 % (10 labels queried and never came: all wrong, or all right)'
    """
    value = f"{100.0 * here.worst_low:.1f}-{100.0 * here.worst_high:.1f} %"
    gone = f"{counted(here.lost, 'label')} queried and never came"
    return Fact("worst case", value, f"{gone}: all wrong, or all right")


def of_class(run: RunSummary, name: object, spoken: str) -> Iterator[Fact]:
    """Average precision, recall and precision of a class, under the name that is spoken."""
    for metric in class_metrics(run)[:-1]:
        found, truth = run.rated(metric, run.classes.index(name))
        yield estimated(f"{metric.replace('_', ' ')} of {spoken}", found, truth=truth)


def class_metrics(run: RunSummary) -> tuple[str, ...]:
    """The metrics of a single class that the run has; average precision comes first.

    >>> import lasec
    >>> X, y = lasec.streams.stationary(100, dimension=5, seed=1)
    >>> class_metrics(lasec.evaluate(lasec.Tracker(rate=0.5, seed=0), X, y))
    ('average_precision', 'recall', 'precision', 'f1')
    """
    ranked = (metric for metric in run.score_metrics if metric == "average_precision")
    return (*ranked, "recall", "precision", "f1")


def of_all_classes(run: RunSummary) -> Iterator[Fact]:
    """Metrics in which every class counts the same, where there are more than two."""
    if len(run.classes) > 2:
        for metric, name in (("balanced_accuracy", "balanced accuracy"), ("macro_f1", "macro F1")):
            found, truth = run.rated(metric)
            yield estimated(name, found, truth=truth)


def of_probabilities(run: RunSummary) -> Iterator[Fact]:
    """How good the predicted probabilities are, where there are any."""
    for metric, name in SCORES.items():
        if metric in run.score_metrics and metric != "brier":
            found, truth = run.rated(metric)
            yield estimated(name, found, share=metric not in NUMBERS, truth=truth)


def baselines(given: Mapping[str, float]) -> list[Fact]:
    """The accuracy of predictions that need no model."""
    return [
        Fact(f"baseline: {name}", percent(value), BASELINES.get(name, ""))
        for name, value in given.items()
    ]


def headline(run: RunSummary, rare: Sequence[Fact]) -> list[Fact]:
    """What everybody asks for: the accuracy; before it, what is known of a rare class."""
    known = [fact for fact in rare if fact.is_known]
    return [*known, *accuracy(run), *(fact for fact in rare if fact not in known)]
