"""What the command line asks for, checked; and everything that a sweep writes."""

from __future__ import annotations

from pathlib import Path

from experiments.benchmark.command import ALL, label_rates, named, versions_of
from experiments.journal import Journal
from experiments.output import write_csv, write_json
from experiments.whole import learners as who
from experiments.whole import sources as where
from experiments.whole.pictures import picture
from experiments.whole.sweep import Sweep, rows
from experiments.whole.tables import document, summary


def asked(streams: str, rates: str, seeds: int, size: float) -> Sweep:
    """The sweep that these options describe, or a refusal that says what there is."""
    return Sweep(
        streams=named("stream", streams, where.SOURCES, where.missing),
        learners=named("learner", ALL, who.LEARNERS, who.missing),
        rates=label_rates(rates),
        seeds=seeds,
        size=size,
    )


def study(journal: Journal, out: Path, streams: str, rates: str, seeds: int, size: float) -> str:
    """Run what is missing, write all files, and give the outcome in a sentence."""
    sweep = asked(streams, rates, seeds, size)
    if not sweep.streams:
        return "no stream: there is no folder of data"
    made, chosen = rows(journal, sweep)
    write_csv(out / "streams.csv", made)
    write_json(
        out / "streams.json",
        sweep=sweep._asdict(),
        columns={"spam_katakis": where.WIDTH},
        chosen=chosen,
        libraries=versions_of("river"),
    )
    (out / "streams.md").write_text(document(made))
    picture(out, made)
    return summary(made)
