"""The studies: what each does, the function that does it, its options, and where it is published.

:mod:`experiments.__main__` makes a command of each. The options are arguments of the function, but
for ``data``, which is set for all; one with an argument ``journal`` gets that of the folder ``out``
instead of ``jobs``.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import typer

from lasec import LearnFrom


class Option(NamedTuple):
    """An option of a command: the argument, its type, and what typer is told of it."""

    name: str
    kind: Any
    info: Any


class Study(NamedTuple):
    """A study; ``place`` is ``module:function`` in this package, ``published`` in docs/results."""

    name: str
    about: str
    place: str
    options: tuple[Option, ...]
    published: str = ""


class Database(StrEnum):
    """Where the service keeps what it knows."""

    sqlite = "sqlite"
    postgres = "postgres"


def number(name: str, default: int, about: str, least: int = 1) -> Option:
    """A whole number."""
    return Option(name, int, typer.Option(default, min=least, help=about))


def text(name: str, default: str | None, about: str) -> Option:
    """Some text, or none."""
    return Option(name, str | None, typer.Option(default, help=about))


def flag(name: str, about: str) -> Option:
    """What is not done unless it is wished."""
    return Option(name, bool, typer.Option(False, f"--{name.replace('_', '-')}", help=about))


def several(name: str, about: str) -> Option:
    """What can be repeated."""
    return Option(name, list[str], typer.Option([], help=about))


def folder(name: str, default: Any, about: str) -> Option:
    """A folder, or a file."""
    return Option(name, Path | None, typer.Option(default, help=about))


def seeds(default: int) -> Option:
    """How many draws."""
    return number("seeds", default, "How many draws of each stream.")


def runs(default: int) -> Option:
    """How many runs."""
    return number("runs", default, "How many runs; the paper has 50.")


def names(name: str) -> Option:
    """A list of names."""
    return text(name, "all", "Names with commas between; or all.")


def rates(default: str) -> Option:
    """A list of label budgets."""
    return text("rates", default, "Shares of labels.")


OUT = folder("out", ..., "Folder for CSV, JSON and figures.")
JOBS = number("jobs", 1, "How many processes.")
DATA = text("data", None, "Folder of the real data; else shared/data beside this.")
DIGITS = text("data", None, "File or folder of the USPS digits; without it, OpenML's.")
SIZE = Option(
    "size", float,
    typer.Option(1.0, min=0.002, max=1.0, help="Shorten each stream to this share."),
)  # fmt: skip
STORE = Option("store", Database, typer.Option(Database.sqlite, help="The database."))
USUAL = (JOBS, DATA, SIZE)

PAPER = (
    Study(
        "panel", "Run a panel of the paper's figure, or all.", "bench:study",
        (
            Option("which", str, typer.Argument(help="a to f, stationary, or all")),
            OUT, runs(50), JOBS, DIGITS, SIZE,
            text("algorithms", "", "Names with commas between; by default all of the panel."),
            several("rule", "A method of your own, as module:Name; can be repeated."),
            several("grid", "Values to tune it over, as name=1,2,3; can be repeated."),
            Option("learn_from", LearnFrom, typer.Option(
                LearnFrom.MISTAKES, help="The labels that a rule of your own learns from.")),
            flag("per_row", "Also write every row of every run."),
        ), ".",
    ),
    Study("bounds", "Compare the paper's bounds with runs, also as the drift grows.",
          "bench:bounds", (OUT, runs(50), JOBS, SIZE), "."),
    Study("kernels", "LASEC with a kernel on two rings that turn.",
          "rings:study", (OUT, runs(20), JOBS, SIZE), "kernels"),
    Study("stale", "Name the results in a folder that other code or data than today's are behind.",
          "stale:study",
          (OUT, DIGITS, JOBS,
           flag("verify", "Run a sample again; what is equal gets today's digest."),
           number("runs", 1, "Runs of each cell; 0 for all.", 0))),
    Study("figures", "Draw figures and write tables of panels, bounds and kernels again from CSVs.",
          "stale:redraw", (OUT,)),
)  # fmt: skip

BENCHMARK = (
    Study("benchmark", "Run learners on streams at label rates, paired.",
          "benchmark.command:study",
          (OUT, names("streams"), names("learners"), rates("0.01,0.02,0.05,0.1,0.2,0.4,1.0"),
           seeds(5), *USUAL, flag("add", "Keep the rows that are not run."),
           flag("again", "Take the parameters that were tuned for the table.")), "benchmark"),
    Study("unseen", "The Tracker and the best peer of each cell in draws that nobody looked at.",
          "benchmark.unseen:measure", (OUT, JOBS, DATA), "benchmark"),
    Study("one-setting", "Each peer with one setting for all streams and budgets, and its own.",
          "benchmark.one_setting:measure", (OUT, *USUAL), "benchmark"),
    Study("ablation", "The Tracker with one part changed, where it is behind; uniform asking.",
          "benchmark.ablation:measure", (OUT, seeds(5), JOBS, DATA), "benchmark"),
    Study("tracker", "The Tracker's oracle gap, estimates and calibration; its constants changed.",
          "tracking.command:study", (OUT, seeds(5), *USUAL), "tracker"),
    Study("forms", "The Tracker's forms: wide rows, many classes, late answers, a small state.",
          "forms.command:study",
          (OUT, names("parts"), number("seeds", 30, "At most so many draws of each stream."),
           *USUAL), "forms"),
    Study("lenses", "The Tracker with lenses: linear and other streams, a forest, rings, its cost.",
          "lenses.command:measure", (OUT, seeds(10), *USUAL), "lenses"),
    Study("streams", "Five real streams from end to end.", "whole.command:study",
          (OUT, names("streams"), rates("0.05,0.1,0.3,1.0"), seeds(3), *USUAL), "streams"),
    Study("own-classes", "Every real stream, whole, with its own classes, on small label budgets.",
          "whole.own_classes:study", (OUT, *USUAL), "streams"),
    Study("rare", "Classes of 1 % and 0.1 %: average precision, recall, precision, cost.",
          "rare.command:study",
          (OUT, seeds(5), *USUAL, flag("quick", "Synthetic streams only."),
           flag("settings", "Compare settings, on draws that are not measured on.")), "rare"),
    Study("readme", "The figure of the README.", "readme:measure",
          (OUT, folder("published", "docs/results/streams/streams.csv",
                       "Rows of the command streams."), seeds(3), *USUAL), "readme"),
)  # fmt: skip

LABELS = (
    Study("intervals", "Hold estimates from asked labels against the truth.",
          "intervals.command:study",
          (folder("out", None, "Folder for CSV, JSON and figures; not with --quick."),
           number("streams", 50, "How many streams of each scenario.", 2),
           text("rate", None, "One share of labels, for --rates."), rates("0.02,0.05,0.1,0.2,0.4"),
           names("scenarios"), number("rounds", 5_000, "How long each stream is.", 100),
           flag("quick", "Widths beside those of uniform asking, within two minutes."),
           folder("json", None, "File for the rows of --quick."), DATA, JOBS), "intervals"),
    Study("two-prices", "A cheap judge and dear experts at equal money: coverage, width, accuracy.",
          "prices.command:study",
          (OUT, number("streams", 500, "How many drawn streams at the price 50; 40 of others.", 2),
           number("seeds", 10, "How many draws of each real stream.", 0), DATA, JOBS),
          "prices"),
    Study("two-prices-ppi", "The same money for prediction-powered inference (ppi-python).",
          "prices.powered:measure",
          (OUT, number("streams", 500, "How many drawn streams.", 2)), "prices"),
    Study("metrics", "Every metric from queried labels against the truth: bias and coverage.",
          "intervals.metrics:measure",
          (OUT, number("streams", 500, "How many streams of each cell.", 2), JOBS), "intervals"),
    Study("coverage-printed", "Every interval that is printed against the truth: 0 to 50 % errors.",
          "intervals.printed:measure",
          (OUT, number("streams", 200, "How many streams of each kind.", 2), JOBS), "intervals"),
    Study("budget-cap", "Labels asked against the most that is printed; short and long streams.",
          "intervals.caps:measure", (OUT, number("streams", 200, "How many streams."), JOBS),
          "intervals"),
    Study("ppi", "Intervals of the accuracy against prediction-powered inference (ppi-python).",
          "intervals.ppi:measure", (OUT, seeds(3), *USUAL), "intervals"),
    Study("frontier", "Accuracy and widths of intervals by audit and label budget, on all streams.",
          "intervals.frontier:hold", (OUT, seeds(4), *USUAL), "intervals"),
    Study("adaptive-budget", "Labels spent where the Tracker expects them to last: equal labels.",
          "intervals.adaptive:measure", (OUT, *USUAL), "intervals"),
    Study("budget", "How a budget is held, at the end and in every window.",
          "intervals.budget:measure", (OUT, seeds(3), JOBS, DATA), "intervals"),
    Study("delays", "Accuracy against the delay of the answers.", "intervals.delays:measure",
          (OUT, seeds(5), JOBS, DATA), "intervals"),
    Study("alarms", "Drift detectors on asked labels: switches found, and how often fooled.",
          "intervals.alarms:study",
          (OUT, number("streams", 5, "How many draws of each stream."), JOBS), "intervals"),
    Study("alarm-rates", "Alarms that are left on: false ones, changes found, real streams.",
          "alarming.command:measure",
          (OUT, seeds(5), DATA, text("only", "", "Tables with commas between; or all.")), "alarms"),
    Study("guide", 'The picture of the guide "How good is my model right now?".',
          "intervals.guide:picture", (OUT,), "intervals"),
    Study("report", 'The pages and pictures of the guide "Reading the report".',
          "report:pictures", (OUT,), "report"),
    Study("labels", "Every real stream with its own labels through every door; few labels.",
          "labels.command:measure",
          (OUT, seeds(20), DATA, number("rows", 600, "Rows of each stream for the doors.", 100)),
          "labels"),
)  # fmt: skip

TEXTS = (
    Study("text", "Sparse text: accuracy at label budgets, time of a row, memory by words seen.",
          "text.ngrams:study",
          (OUT, seeds(10), *USUAL,
           flag("settings", "Compare settings, with draws that are not measured on."),
           flag("ngrams", "Character n-grams beside words, and their cost.")), "text"),
    Study("mixed", "Texts beside other columns: accuracy at label budgets of each and of both.",
          "mixed.command:measure", (OUT, seeds(5), *USUAL), "mixed"),
    Study("reading", "CPU time of reading and learning a file of texts, against Vowpal Wabbit.",
          "text.reading:measure",
          (OUT, DATA, number("rounds", 5, "How often each takes its turn."), SIZE), "text"),
    Study("large", "Time and memory of the sparse Tracker on a stream with 2^24 columns.",
          "text.large:measure",
          (OUT, number("rows", 1_000_000, "Rows of the stream.", 1_000)), "text"),
)  # fmt: skip

SERVICE = (
    Study("spark-kill", "The job on Spark with its processes killed, against it left in peace.",
          "spark.command:study",
          (OUT, number("kills", 30, "How many times kill -9 strikes.", 0),
           number("seed", 0, "Of the input, and of the moments.", 0),
           text("master", None, "Spark's master; local[2,4] has no executors of its own.")),
          "spark"),
    Study("spark-broker", "The same with topics of a broker in place of files.",
          "spark.topics:study",
          (OUT, number("kills", 6, "How many times kill -9 strikes.", 0),
           number("seed", 0, "Of the input, and of the moments.", 0),
           text("master", None, "Spark's master; local[2,4] has no executors of its own."),
           text("servers", None, "A real broker, as host:9092, in place of the mock.")),
          "spark"),
    Study("serve-cost", "CPU time of a durable decision, against a bare reply and the library.",
          "serving.cost:run",
          (OUT, STORE, number("requests", 4_000, "How many of each kind.", 400)), "serving"),
    Study("serve-coverage", "Whether intervals cover with late, lost and skipped answers.",
          "serving.coverage:run", (OUT, number("streams", 500, "How many streams.")), "serving"),
    Study("serve-long", "Whether memory and journal of the service stay bounded.",
          "serving.long:run", (OUT, number("rows", 1_000_000, "How many rows.", 1_000)), "serving"),
    Study("serve-many", "Memory of a model in the service, and what asks cost with many models.",
          "serving.many:run", (OUT, number("models", 300, "How many models.", 2)), "serving"),
    Study("serve-schema", "Run schemathesis with all its checks against the service.",
          "serving.schema:run",
          (OUT, number("examples", 100, "How many for each operation."), STORE,
           number("seed", 0, "Of the requests.", 0)), "serving"),
    Study("serve-fair", "What one tenant's largest requests cost another; leases in a long queue.",
          "serving.fair:run",
          (number("asks", 1_000, "How many asks are timed.", 100),
           number("waiting", 100_000, "How many open questions.", 10_000), OUT), "serving"),
    Study("serve-equal", "Compare the service with the library, also over restarts.",
          "serving.equal:run",
          (OUT, STORE, number("rows", 100_000, "How many are compared."),
           number("restarts", 50, "How many restarts.", 0),
           number("tries", 100, "How many second writers.")), "serving"),
    Study("serve-measured", "Make one table of what the studies of the service have written.",
          "serving.measured:run", (OUT,), "serving"),
)  # fmt: skip

STUDIES = (*PAPER, *BENCHMARK, *LABELS, *TEXTS, *SERVICE)
