"""Everything that ``python -m experiments intervals`` writes."""

from __future__ import annotations

from pathlib import Path

import typer

from experiments.benchmark.command import label_rates, named
from experiments.intervals import scenarios, widths
from experiments.intervals.coverage import Study, measure
from experiments.intervals.pictures import picture
from experiments.intervals.tables import document, reached, summary
from experiments.journal import Journal
from experiments.output import write_csv, write_json


def study(
    out: Path | None, streams: int, rate: str | None, rates: str, scenarios: str, rounds: int,
    quick: bool, json: Path | None, jobs: int,
) -> str:  # fmt: skip
    """The widths alone, or everything."""
    if quick:
        return widths.quick(json, jobs)
    if out is None:
        raise typer.BadParameter("give a folder for the results", param_hint="--out")
    plan = asked(scenarios, rate or rates, streams, rounds)
    with Journal(out / "journal.jsonl", jobs) as journal:
        return hold(journal, plan, out)


def asked(names: str, rates: str, streams: int, rounds: int) -> Study:
    """The study that these options describe, or a refusal that says what there is."""
    chosen = named("scenario", names, scenarios.SCENARIOS, lambda _: None)
    return Study(chosen, label_rates(rates), streams, rounds)


def hold(journal: Journal, study: Study, out: Path) -> str:
    """Run what is missing, write all files, and give the outcome in a few lines."""
    rows = measure(journal, study)
    write_csv(out / "intervals.csv", rows)
    cells = summary(rows)
    write_csv(out / "summary.csv", cells)
    write_json(
        out / "summary.json",
        study=study._asdict(),
        stream={"dimension": scenarios.DIMENSION, "noise": scenarios.NOISE},
        late={
            "mean_delay": scenarios.MEAN_DELAY,
            "lost": scenarios.LOST,
            "patience": scenarios.PATIENCE,
            "rows_between_looks": scenarios.LOOK,
        },
        meter={"window": scenarios.WINDOW, "decay": scenarios.FADE},
    )
    (out / "summary.md").write_text(document(cells, study.rows))
    picture(out, cells)
    return "\n".join(reached(cells))
