"""What the command line asks for, checked; and everything that a contest writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from experiments.benchmark import learners as who
from experiments.benchmark import streams as where
from experiments.benchmark.contest import RATES, Contest, Row, rows, tuned
from experiments.benchmark.pictures import picture
from experiments.benchmark.tables import by_budget, cells, comparisons, document, summary
from experiments.datasets import TUNING
from experiments.journal import Journal
from experiments.output import read_csv, write_csv, write_json

ALL = "all"
LIBRARIES = ("river", "vowpalwabbit", "scikit-activeml", "capymoa")


def asked(streams: str, learners: str, rates: str, seeds: int, size: float) -> Contest:
    """The contest that these options describe, or a refusal that says what there is."""
    return Contest(
        streams=named("stream", streams, where.STREAMS, where.missing),
        learners=named("learner", learners, who.LEARNERS, who.missing),
        rates=label_rates(rates),
        seeds=seeds,
        size=size,
    )


def study(
    journal: Journal, out: Path, streams: str, learners: str, rates: str, seeds: int, size: float,
    add: bool, again: bool,
) -> str:  # fmt: skip
    """Run what is missing, write all files, and give the outcome in a sentence.

    To ``add`` keeps the rows of the folder's table that were not run now; ``again`` takes the
    parameters that were tuned for it, for more draws.
    """
    contest = asked(streams, learners, rates, seeds, size)
    known = json.loads((out / "benchmark.json").read_text())["tuning"] if again else None
    tuning = tuned(journal, contest) if known is None else known
    made = rows(journal, contest, tuning)
    if add:
        made = joined(read_csv(out / "benchmark.csv"), made)
        tuning = json.loads((out / "benchmark.json").read_text())["tuning"] | tuning
    write_csv(out / "benchmark.csv", made)
    write_json(
        out / "benchmark.json",
        contest=contest._asdict(),
        families={row["learner"]: who.LEARNERS[row["learner"]].family for row in made},
        seeds={"tuning": TUNING, "runs": list(range(1, contest.seeds + 1))},
        libraries=versions_of(*LIBRARIES),
        tuning=tuning,
    )
    (out / "benchmark.md").write_text(document(made))
    picture(out, made)
    found = cells(made)
    (out / "budgets.md").write_text(by_budget(found))
    return summary(found) if comparisons(found) else f"{len(made)} rows"


def joined(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """All cells, those that are in both as they are in ``new``; in the order of the lists here."""
    run = {(row["stream"], row["learner"], row["rate"]) for row in new}
    kept = [row for row in old if (row["stream"], row["learner"], row["rate"]) not in run]
    streams, learners = list(where.STREAMS), list(who.LEARNERS)

    def place(row: Row) -> tuple[int, int, float, int]:
        return (
            streams.index(row["stream"]),
            learners.index(row["learner"]),
            row["rate"],
            row["seed"],
        )

    return sorted([*kept, *new], key=place)


def named(
    kind: str, text: str, known: Iterable[str], missing: Callable[[str], str | None]
) -> list[str]:
    """Names from a list with commas; of ``all``, those that there are the means for."""
    if text == ALL:
        reasons = {name: missing(name) for name in known}
        for reason in filter(None, reasons.values()):
            print(f"left out: {reason}", file=sys.stderr)  # noqa: T201
        return [name for name, reason in reasons.items() if reason is None]
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise typer.BadParameter(
                f"no {kind} {name!r}: choose from {', '.join(known)}, or {ALL}"
            )
        lacking = missing(name)
        if lacking is not None:
            raise typer.BadParameter(lacking)
    return names


def label_rates(text: str) -> list[float]:
    """Shares of labels, above 0 and at most 1."""
    made = []
    for word in text.split(","):
        try:
            rate = float(word)
        except ValueError:
            rate = -1.0
        if not 0.0 < rate <= 1.0:
            usual = ", ".join(f"{rate:g}" for rate in RATES)
            raise typer.BadParameter(
                f"no rate {word.strip()!r}: choose numbers above 0 and at most 1, such as {usual}"
            )
        made.append(rate)
    return sorted(set(made))


def versions_of(*libraries: str) -> dict[str, str]:
    """The versions of those of these libraries that are installed."""
    found = {}
    for name in libraries:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
