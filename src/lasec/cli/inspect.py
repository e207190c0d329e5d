"""``lasec info``, ``lasec cite`` and ``lasec datasets``: looking, without learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import lasec
from lasec.cli import options as o
from lasec.cli.output import honest, interval, put, screen
from lasec.errors import StateError
from lasec.learner import Learner
from lasec.snapshot import describe
from lasec.tables import RECIPES, TableLearner, brew, read_learner, recipe
from lasec.tracker import Tracker


def load(path: Path) -> tuple[Learner, TableLearner | None]:
    """The learner of a file, and the table it sits at, if it does."""
    data = path.read_bytes()
    try:
        return read_learner(data), None
    except StateError as error:
        if "at a table" not in str(error):
            raise
    desk, _ = TableLearner.from_bytes(data)
    return desk.learner, desk


@honest
def info(
    model: Annotated[Path, typer.Argument(help="A model's file.")], as_json: o.AsJson = False
) -> None:
    """What a saved model is, what it has seen, and how good it says it is."""
    learner, desk = load(model)
    facts: dict[str, Any] = {
        "algorithm": learner.name,
        "features": learner.dimension,
        "rounds": learner.rounds,
        "asked": learner.asked,
        "told": learner.told,
        "open": len(learner.unanswered),
        "rule": describe(learner.rule),
        "query": describe(learner.query),
        "seed": learner.seed,
        "bytes": model.stat().st_size,
    }
    if isinstance(learner, Tracker) and learner.told:
        facts["belief"] = learner.belief._asdict()
    if desk is not None:
        facts |= _table(desk)
    if as_json:
        put(facts)
        return
    console = screen()
    for name, value in facts.items():
        shown = _shown(value)
        console.print(f"{name:<11}{shown}", markup=False)
    if desk is not None and desk.meter.labels:
        console.print(f"{'right':<11}{interval(desk.meter.accuracy)}, as the answers tell")


def _table(desk: TableLearner) -> dict[str, Any]:
    """What is known about the table."""
    facts: dict[str, Any] = {
        "label": desk.label,
        "classes": desk.classes,
        "columns": {column.name: column.kind.value for column in desk.encoder.columns},
    }
    if desk.meter.labels:
        estimate = desk.meter.accuracy
        facts["estimate"] = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return facts


def _shown(value: Any) -> str:
    """A fact in a line."""
    if isinstance(value, dict) and set(value) == {"kind", "parameters"}:
        inner = ", ".join(f"{k}={_shown(v)}" for k, v in value["parameters"].items())
        return f"{value['kind']}({inner})"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return (
        f"{value:.4g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


@honest
def cite(
    what: Annotated[str, typer.Argument(help="An algorithm, or a model's file.")] = "tracker",
) -> None:
    """The papers to cite for an algorithm or a saved model."""
    if what.lower().replace("_", "-") in RECIPES or not Path(what).is_file():
        recipe(what)
        learner = brew(what, 1)
    else:
        learner, _ = load(Path(what))
    screen().print(lasec.cite(learner), markup=False)
