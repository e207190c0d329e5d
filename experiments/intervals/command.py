"""Everything that ``python -m experiments intervals`` writes."""

from __future__ import annotations

from pathlib import Path

from experiments.benchmark.command import ALL, label_rates, named
from experiments.intervals import scenarios
from experiments.intervals.coverage import Study, measure
from experiments.intervals.pictures import picture
from experiments.intervals.tables import document, reached, summary
from experiments.journal import Journal
from experiments.output import write_csv, write_json

RATES = "0.02,0.05,0.1,0.2,0.4"

__all__ = ["ALL", "RATES", "asked", "hold"]


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
        costs=scenarios.COSTS._asdict(),
    )
    (out / "summary.md").write_text(document(cells, study.rows))
    picture(out, cells)
    return "\n".join(reached(cells))
