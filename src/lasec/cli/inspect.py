"""``lasec info`` and ``lasec cite``: looking, without learning."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import lasec
from lasec.cli import options as o
from lasec.cli.output import as_facts, columns, honest, interval, put, screen
from lasec.evaluation import RunSummary
from lasec.learner import Learner
from lasec.metrics import Estimate
from lasec.persistence.codec import describe
from lasec.persistence.container import read
from lasec.registry import ALGORITHMS, make
from lasec.session import Session
from lasec.session.saved import kind_of, read_learner
from lasec.tables import TableLearner
from lasec.tracker import Tracker


class Found(NamedTuple):
    """A learner, the table it sits at, if it does, and what its answers tell of its accuracy.

    ``lost`` open questions count as lost in the estimate, which others may still hold back.
    """

    learner: Learner
    desk: TableLearner | None = None
    estimate: Estimate | None = None
    lost: int = 0


def load(path: Path) -> Found:
    """What is in a model's file."""
    data = read(path)
    kind = kind_of(data)
    if kind == "session":
        session = Session.from_bytes(data)
        return Found(session.learner, None, session.accuracy() if session.meter.labels else None)
    if kind != "table":
        return Found(read_learner(data))
    desk, parts = TableLearner.from_bytes(data)
    if desk.meter.labels:
        reaching = desk.meter.reaching()
        return Found(desk.learner, desk, reaching.accuracy, reaching.lost - desk.meter.lost)
    run = RunSummary.from_bytes(parts["run"]) if "run" in parts else None
    return Found(desk.learner, desk, run.estimate if run and run.labels else None)


@honest
def info(
    file: Annotated[Path | None, typer.Argument(help="A model's file.")] = None,
    model: o.Model = Path("model.lasec"),
    as_json: o.AsJson = False,
) -> None:
    """What a saved model is, what it has seen, and how good it is as far as its labels tell."""
    model = file or model
    learner, desk, estimate, lost = load(model)
    facts: dict[str, Any] = {
        "algorithm": learner.name,
        "features": learner.dimension,
        "rows": learner.rows,
        "asked": learner.asked,
        "told": learner.told,
        "open": len(learner.unanswered),
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
        }
    if isinstance(learner, Tracker) and learner.told:
        facts["drift_estimate"] = learner.drift_estimate._asdict()
    if estimate is not None:
        facts["estimate"] = as_facts(estimate) | {
            "labels": estimate.labels, "rows": estimate.rows, "open_as_lost": lost,
        }  # fmt: skip
    if as_json:
        put(facts)
        return
    words = {
        "columns": columns(desk) if desk else "",
        "estimate": _estimated(learner, estimate, lost) if estimate else "",
    }
    console = screen()
    for name, value in facts.items():
        console.print(f"{name:<11}{words.get(name) or _shown(value)}", markup=False)


def _estimated(learner: Learner, estimate: Estimate, lost: int) -> str:
    """The estimated accuracy, and how many open questions stand in its way."""
    waiting = len(learner.unanswered) - lost
    known = f"accuracy {interval(estimate)}, from {estimate.labels:,} labels"
    parts = [interval(estimate) if math.isnan(estimate.value) else known]
    if lost:
        parts.append(f"{lost:,} open {_questions(lost)} counted as lost")
    if estimate.until < learner.rows and waiting:
        parts.append(
            f"about the first {estimate.until:,} of {learner.rows:,} rows: {waiting:,} open "
            f"{_questions(waiting)} hold the rest back (lasec questions lists them)"
        )
    return "; ".join(parts)


def _questions(count: int) -> str:
    return "question" if count == 1 else "questions"


def _shown(value: Any) -> str:
    """A fact in a line."""
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
    what: Annotated[str, typer.Argument(help="An algorithm, or a model's file.")] = "tracker",
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX entries.")] = False,
) -> None:
    """The papers to cite for an algorithm or a saved model."""
    if what.lower().replace("_", "-") in ALGORITHMS or not Path(what).is_file():
        learner = make(what, 1)
    else:
        learner = load(Path(what)).learner
    console = screen()
    for text in lasec.cite(learner, bibtex=bibtex).splitlines():
        console.print(text, markup=False)
