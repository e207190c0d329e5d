"""``lasec info`` and ``lasec cite``: what is in a model file, and what to cite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import lasec
from lasec.cli import columns
from lasec.cli import options as o
from lasec.cli.inputs import model_file
from lasec.cli.output import as_facts, honest, put, put_facts, screen
from lasec.learner import Learner
from lasec.metrics import Estimate
from lasec.metrics.words import estimated
from lasec.notebook import about, counted, percent
from lasec.persistence.codec import describe
from lasec.persistence.container import kind_of, read
from lasec.registry import ALGORITHMS, make
from lasec.session import Session
from lasec.session.saved import read_learner
from lasec.tables import TableLearner
from lasec.tracker import DriftEstimate, Tracker

_NAMES = {
    "asked": "labels queried", "told": "labels received", "open": "open questions",
    "bytes": "file size (bytes)", "drift_estimate": "drift estimate",
    "estimate": "estimated accuracy",
}  # fmt: skip


class Found(NamedTuple):
    """A learner, its table if it has one, and its estimated accuracy.

    The estimate counts ``lost`` of the open questions as lost; it may wait for others.
    """

    learner: Learner
    desk: TableLearner | None = None
    estimate: Estimate | None = None
    lost: int = 0


def load(path: Path) -> Found:
    """What is in a model file."""
    data = read(path)
    kind = kind_of(data)
    if kind == "session":
        session = Session.from_bytes(data)
        return Found(session.learner, None, session.accuracy() if session.meter.labels else None)
    if kind != "table":
        return Found(read_learner(data))
    desk, _ = TableLearner.from_bytes(data)
    meter = desk.session.meter
    if not meter.labels:
        return Found(desk.learner, desk)
    reaching = meter.reaching()
    return Found(desk.learner, desk, reaching.accuracy, reaching.lost - meter.lost)


@honest
def info(
    file: o.ModelFile = None,
    model: o.Model = Path("model.lasec"),
    as_json: o.AsJson = False,
) -> None:
    """Describe a saved model: algorithm, rows, labels, columns, estimated accuracy and drift."""
    model = model_file(file or model)
    learner, desk, estimate, lost = load(model)
    facts: dict[str, Any] = {
        "algorithm": learner.name,
        "features": learner.dimension,
        "rows": learner.rows,
        "asked": learner.asked,
        "told": learner.told,
        "open": len(learner.pending),
        "seed": learner.seed,
        "bytes": model.stat().st_size,
        "rule": describe(learner.rule),
        "query": describe(learner.query),
    }
    if desk is not None:
        facts |= {
            "label": desk.label,
            "classes": desk.classes,
            "columns": {column.name: column.kind.value for column in desk.encoder.columns},
            "encoding": columns.encodings(desk.encoder),
        }
    if isinstance(learner, Tracker) and learner.told:
        facts["drift_estimate"] = learner.drift_estimate._asdict()
    if desk is not None and (record := desk.session.record):
        facts |= {fact.name: fact.line for fact in record.facts}
    if estimate is not None:
        facts["estimate"] = as_facts(estimate) | {
            "labels": estimate.labels, "rows": estimate.rows, "open_as_lost": lost,
        }  # fmt: skip
    if as_json:
        put(facts)
        return
    shown = {_NAMES.get(name, name): _shown(value) for name, value in facts.items()}
    if estimate is not None:
        shown[_NAMES["estimate"]] = _estimated(learner, estimate, lost)
    if isinstance(learner, Tracker) and learner.told:
        shown[_NAMES["drift_estimate"]] = _drift(learner.drift_estimate)
    if desk is not None:
        shown["columns"] = columns.summary(desk.encoder)
        del shown["encoding"]
    put_facts(_with_columns(shown, desk))


def _with_columns(shown: dict[str, str], desk: TableLearner | None) -> Iterator[tuple[str, str]]:
    """The facts, with how the columns are encoded."""
    for name, value in shown.items():
        yield name, value
        if name == "columns" and desk is not None:
            lines = columns.lines(desk.encoder, numeric=True)
            yield from ((f"  {inner}", told) for inner, told in lines)


def _drift(estimate: DriftEstimate) -> str:
    """The estimated drift.

    >>> _drift(DriftEstimate(8_026, 0.81, 1_819.0, 0.00058, 0.0004, 0.03))
    'last abrupt change at row 8,026 (certainty 81 %), half-life 1,200 rows, noise 3.0 %'
    """
    change = "no abrupt change"
    if estimate.since:
        certainty = f"{100 * estimate.certainty:.0f} %"
        change = f"last abrupt change at row {estimate.since:,} (certainty {certainty})"
    slow = "no gradual drift"
    if estimate.drift > 0.0:
        slow = f"half-life {about(estimate.half_life)} rows"
    return f"{change}, {slow}, noise {percent(estimate.noise)}"


def _estimated(learner: Learner, estimate: Estimate, lost: int) -> str:
    """The estimated accuracy, and how many open questions it waits for."""
    waiting = len(learner.pending) - lost
    parts = [estimated("estimated accuracy", estimate).line]
    if lost:
        parts.append(f"{counted(lost, 'open question')} counted as lost")
    if estimate.until < learner.rows and waiting:
        parts.append(
            f"covers the first {estimate.until:,} of {learner.rows:,} rows; the rest waits for "
            f"{counted(waiting, 'open question')} (lasec questions lists them)"
        )
    return "; ".join(parts)


def _shown(value: Any) -> str:
    """A fact in one line."""
    if isinstance(value, dict) and set(value) == {"kind", "parameters"}:
        inner = ", ".join(f"{k}={_shown(v)}" for k, v in value["parameters"].items())
        return f"{value['kind']}({inner})"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)


@honest
def cite(
    what: Annotated[str, typer.Argument(help="An algorithm, or a model file.")] = "tracker",
    bibtex: Annotated[bool, o.option("--bibtex", None, "Print BibTeX entries.")] = False,
) -> None:
    """Print the papers to cite for an algorithm or a saved model."""
    if what.lower().replace("_", "-") in ALGORITHMS or not Path(what).exists():
        learner = make(what, 1)
    else:
        learner = load(model_file(Path(what))).learner
    console = screen()
    for text in lasec.cite(learner, bibtex=bibtex).splitlines():
        console.print(text, markup=False)
