"""The command line: ``python -m experiments panel all --jobs 2 --out DIR``, or ``benchmark``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from experiments import bench, bounds_figure, readme, report, rings, theorems
from experiments.benchmark import ablation, unseen
from experiments.benchmark.command import ALL, asked, hold
from experiments.benchmark.contest import RATES
from experiments.data import set_data
from experiments.forms import command as form_study
from experiments.intervals import alarms, budget, delays, frontier, guide, metrics, ppi, widths
from experiments.intervals import command as coverage
from experiments.journal import Journal
from experiments.labels import command as any_labels
from experiments.lenses import command as lens_study
from experiments.output import write_csv, write_json
from experiments.own import Own, read_grid
from experiments.panels import PANELS
from experiments.rare import command as rare_classes
from experiments.serving import measured
from experiments.spark import CLUSTER
from experiments.text import command as text_study
from experiments.text import large, reading
from experiments.text import ngrams as ngram_study
from experiments.tracking.command import study
from experiments.whole import command as whole
from experiments.whole import own_classes
from lasec import LearnFrom

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False
)

Runs = Annotated[int, typer.Option(min=1, help="How many runs; the paper has 50.")]
Jobs = Annotated[int, typer.Option(min=1, help="How many processes.")]
Data = Annotated[
    str | None, typer.Option(help="File or folder of the USPS digits; without it, OpenML's.")
]
Seeds = Annotated[int, typer.Option(min=1, help="How many draws of each stream.")]
Folder = Annotated[
    str | None, typer.Option(help="Folder of the real data; else shared/data beside this.")
]
Out = Annotated[Path, typer.Option(help="Folder for CSV, JSON and figures.")]


class Database(StrEnum):
    """Where the service keeps what it knows."""

    sqlite = "sqlite"
    postgres = "postgres"


Stored = Annotated[Database, typer.Option("--store", help="The database.")]
Size = Annotated[float, typer.Option(min=0.002, max=1.0, help="Shorten each stream to this share.")]


@app.callback()
def main() -> None:
    """The paper's experiments."""


@app.command()
def panel(
    which: Annotated[str, typer.Argument(help="a to f, stationary, or all")],
    out: Out,
    runs: Runs = 50,
    jobs: Jobs = 1,
    data: Data = None,
    size: Size = 1.0,
    algorithms: Annotated[
        str, typer.Option(help="Names with commas between; by default all of the panel.")
    ] = "",
    rule: Annotated[
        list[str] | None,
        typer.Option(help="A method of your own, as module:Name; can be repeated."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(help="Values to tune it over, as name=1,2,3; can be repeated."),
    ] = None,
    learn_from: Annotated[
        LearnFrom, typer.Option(help="The labels that a rule of your own learns from.")
    ] = LearnFrom.MISTAKES,
    per_row: Annotated[bool, typer.Option(help="Also write every row of every run.")] = False,
) -> None:
    """Run a panel of the paper's figure, or all. Started again, it continues where it stopped."""
    if which != "all" and which not in PANELS:
        raise typer.BadParameter(f"no panel {which!r}: choose from {', '.join(PANELS)}, all")
    set_data(data)
    names = list(PANELS) if which == "all" else [which]
    chosen = [name.strip() for name in algorithms.split(",") if name.strip()]
    try:
        own = [Own(place, learn_from.value, read_grid(grid or ())) for place in rule or ()]
        panels = {name: bench.panel_of(name, chosen, own) for name in names}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    settings = bench.Settings(out, runs, size, per_row)
    with Journal(out / "journal.jsonl", jobs) as journal:
        for name, one in panels.items():
            for line in bench.hold(journal, name, one, settings):
                typer.echo(line)
    bench.summarize(out)


@app.command()
def stale(out: Out, data: Data = None) -> None:
    """Name the results in a folder that other code, grids or data than today's are behind."""
    set_data(data)
    found = bench.stale(out)
    for line in found or ["nothing is stale"]:
        typer.echo(line)
    raise typer.Exit(1 if found else 0)


@app.command(name="bounds")
def bounds_(out: Out, runs: Runs = 50, jobs: Jobs = 1, size: Size = 1.0) -> None:
    """Compare the paper's bounds with runs, also as the drift grows."""
    with Journal(out / "journal.jsonl", jobs) as journal:
        made = theorems.everything(journal, runs, size)
    for name in ("theorem_2", "theorem_4", "drift", "a"):
        write_csv(out / f"bounds_{name}.csv", made[name])
    slopes = bounds_figure.drift_figure(out, made["drift"], made["rounds"])
    bounds_figure.tradeoff_figure(out, made["a"], made["rounds"])
    about = {name: made[name] for name in ("rounds", "parameters")}
    write_json(out / "bounds.json", runs=runs, size=size, slopes=slopes, **about)
    summary = theorems.summary(made, slopes)
    (out / "bounds.md").write_text(summary + "\n")
    typer.echo(summary)
    bench.summarize(out)


@app.command()
def benchmark(
    out: Out,
    streams: Annotated[str, typer.Option(help="Names with commas between; or all.")] = ALL,
    learners: Annotated[str, typer.Option(help="Names with commas between; or all.")] = ALL,
    rates: Annotated[str, typer.Option(help="Shares of labels.")] = ",".join(map(str, RATES)),
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
    add: Annotated[bool, typer.Option("--add", help="Keep the rows that are not run.")] = False,
) -> None:
    """Run learners on streams at label rates, paired. Started again, it goes on where it was."""
    set_data(data)
    contest = asked(streams, learners, rates, seeds, size)
    with Journal(out / "journal.jsonl", jobs) as journal:
        results = hold(journal, contest, out, add)
    typer.echo(results)


@app.command(name="unseen")
def unseen_draws(
    out: Annotated[Path, typer.Option(help="Folder of the benchmark, for CSV and table.")],
    jobs: Jobs = 1,
    data: Folder = None,
) -> None:
    """The Tracker and the best peer of each cell in draws that nobody looked at."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(unseen.measure(journal, out))


@app.command(name="ablation")
def changed_parts(
    out: Annotated[Path, typer.Option(help="Folder of the benchmark, for CSV and table.")],
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    data: Folder = None,
) -> None:
    """The Tracker with one part changed, where it is behind; uniform asking for all."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(ablation.measure(journal, out, seeds))


@app.command()
def tracker(
    out: Out,
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
) -> None:
    """The Tracker's oracle gap, its estimates, its calibration, and its constants changed."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(study(journal, out, seeds, size))


@app.command()
def forms(
    out: Out,
    parts: Annotated[str, typer.Option(help="Names with commas between; or all.")] = ALL,
    seeds: Annotated[int, typer.Option(min=1, help="At most so many draws of each stream.")] = 30,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
) -> None:
    """The Tracker's forms: wide rows, many classes, late answers, a small state."""
    set_data(data)
    try:
        names = form_study.chosen(parts)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(form_study.study(journal, out, names, seeds, size))


@app.command(name="budget")
def budget_(out: Out, seeds: Seeds = 3, jobs: Jobs = 1, data: Folder = None) -> None:
    """How a budget is held, calm and strict, at the end and in every window, on eight streams."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(budget.measure(journal, out, seeds))


@app.command(name="delays")
def delays_(out: Out, seeds: Seeds = 5, jobs: Jobs = 1, data: Folder = None) -> None:
    """Accuracy against the delay of the answers."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(delays.measure(journal, out, seeds))


@app.command(name="alarms")
def alarms_(out: Out, streams: Seeds = 5, jobs: Jobs = 1) -> None:
    """Drift detectors on asked labels: switches found, and how often they are fooled."""
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(alarms.study(journal, out, streams))


@app.command(name="guide")
def guide_(out: Out) -> None:
    """The picture of the guide "How good is my model right now?"."""
    typer.echo(guide.picture(out))


@app.command(name="report")
def report_(out: Out) -> None:
    """The pages and pictures of the guide "Reading the report"."""
    typer.echo(report.pictures(out))


@app.command()
def intervals(
    out: Annotated[
        Path | None, typer.Option(help="Folder for CSV, JSON and figures; not with --quick.")
    ] = None,
    streams: Annotated[int, typer.Option(min=2, help="How many streams of each scenario.")] = 50,
    rate: Annotated[str | None, typer.Option(help="One share of labels, for --rates.")] = None,
    rates: Annotated[str, typer.Option(help="Shares of labels.")] = coverage.RATES,
    scenarios: Annotated[str, typer.Option(help="Names with commas between; or all.")] = ALL,
    rounds: Annotated[int, typer.Option(min=100, help="How long each stream is.")] = 5_000,
    quick: Annotated[
        bool, typer.Option(help="Widths beside those of uniform asking, within two minutes.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="File for the rows of --quick.")] = None,
    data: Folder = None,
    jobs: Jobs = 1,
) -> None:
    """Hold estimates from asked labels against the truth. Started again, it goes on."""
    if quick:
        set_data(data)
        typer.echo(widths.quick(json, jobs))
        return
    if out is None:
        raise typer.BadParameter("give a folder for the results", param_hint="--out")
    study = coverage.asked(scenarios, rate or rates, streams, rounds)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(coverage.hold(journal, study, out))


@app.command(name="metrics")
def metrics_(
    out: Out,
    streams: Annotated[int, typer.Option(min=2, help="How many streams of each cell.")] = 500,
    jobs: Jobs = 1,
) -> None:
    """Every metric from queried labels against the truth: bias and coverage, rare classes too."""
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(metrics.measure(journal, out, streams))


@app.command(name="ppi")
def ppi_(out: Out, seeds: Seeds = 3, jobs: Jobs = 1, data: Folder = None, size: Size = 1.0) -> None:
    """Intervals of the accuracy against prediction-powered inference (ppi-python)."""
    set_data(data)
    try:
        with Journal(out / "journal.jsonl", jobs) as journal:
            typer.echo(ppi.measure(journal, out, seeds, size))
    except ModuleNotFoundError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@app.command(name="frontier")
def frontier_(
    out: Out, seeds: Seeds = 4, jobs: Jobs = 1, data: Folder = None, size: Size = 1.0
) -> None:
    """Accuracy and widths of intervals by audit and label budget, on all streams."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(frontier.hold(journal, out, seeds, size))


@app.command(name="own-classes")
def own_classes_(out: Out, jobs: Jobs = 1, data: Folder = None, size: Size = 1.0) -> None:
    """Every real stream, whole, with its own classes, on small label budgets."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        rows = own_classes.measure(journal, size)
    write_csv(out / "own_classes.csv", rows)
    (out / "own_classes.md").write_text(own_classes.document(rows))
    typer.echo(own_classes.summary(rows))


@app.command(name="labels")
def labels_(
    out: Out, seeds: Seeds = 20, data: Folder = None,
    rows: Annotated[int, typer.Option(min=100, help="Rows of each stream for the doors.")] = 600,
) -> None:  # fmt: skip
    """Every real stream with its own labels through every door; streams with a tenth of them."""
    set_data(data)
    typer.echo(any_labels.measure(out, seeds, rows))


@app.command(name="streams")
def streams_(
    out: Out,
    streams: Annotated[str, typer.Option(help="Names with commas between; or all.")] = ALL,
    rates: Annotated[str, typer.Option(help="Shares of labels.")] = "0.05,0.1,0.3,1.0",
    seeds: Seeds = 3,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
) -> None:
    """Five real streams from end to end. Started again, it goes on where it was."""
    set_data(data)
    sweep = whole.asked(streams, rates, seeds, size)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(whole.measure(journal, sweep, out))


@app.command()
def rare(
    out: Out,
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
    quick: Annotated[bool, typer.Option(help="Synthetic streams only.")] = False,
    settings: Annotated[
        bool, typer.Option(help="Compare settings, on draws that are not measured on.")
    ] = False,
) -> None:
    """Classes of 1 % and 0.1 %: average precision, recall, precision and cost at equal labels."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        if settings:
            typer.echo(rare_classes.settings(journal, out, seeds, size))
        else:
            typer.echo(rare_classes.measure(journal, out, seeds, size, quick=quick))


@app.command()
def mixed(
    out: Out, seeds: Seeds = 5, jobs: Jobs = 1, data: Folder = None, size: Size = 1.0
) -> None:
    """Texts beside other columns: accuracy at label budgets of each part and of both."""
    from experiments.mixed import command as mixed_study  # noqa: PLC0415

    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(mixed_study.measure(journal, out, seeds, size))


@app.command()
def text(
    out: Out,
    seeds: Seeds = 10,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
    settings: Annotated[
        bool, typer.Option(help="Compare settings, with draws that are not measured on.")
    ] = False,
    ngrams: Annotated[
        bool, typer.Option("--ngrams", help="Character n-grams beside words, and their cost.")
    ] = False,
) -> None:
    """Sparse text: accuracy at label budgets, time of a row, memory against words seen."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        if settings:
            typer.echo(text_study.settings(journal, out, seeds, size))
        elif ngrams:
            typer.echo(ngram_study.measure(journal, out, seeds, size))
        else:
            typer.echo(text_study.measure(journal, out, seeds, size))


@app.command(name="reading")
def reading_(
    out: Out,
    data: Folder = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each takes its turn.")] = 5,
    size: Size = 1.0,
) -> None:
    """CPU time of reading and learning a file of texts, against Vowpal Wabbit on the same file."""
    set_data(data)
    typer.echo(reading.measure(out, rounds, size))


@app.command(name="large")
def large_(
    out: Out,
    rows: Annotated[int, typer.Option(min=1_000, help="Rows of the stream.")] = 1_000_000,
) -> None:
    """Time and memory of the sparse Tracker along a stream of rows with 2^24 columns."""
    typer.echo(large.measure(out, rows))


@app.command(name="lenses")
def lenses_(
    out: Out, seeds: Seeds = 10, jobs: Jobs = 1, data: Folder = None, size: Size = 1.0
) -> None:
    """The Tracker with lenses: linear and other streams, a forest, two rotating rings, its cost."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(lens_study.measure(journal, out, seeds, size))


@app.command(name="readme")
def readme_(
    out: Out,
    published: Annotated[Path, typer.Option(help="Rows of the command streams.")] = Path(
        "docs/results/streams/streams.csv"
    ),
    seeds: Seeds = 3,
    jobs: Jobs = 1,
    data: Folder = None,
    size: Size = 1.0,
) -> None:
    """The figure of the README. Started again, it continues where it stopped."""
    set_data(data)
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(readme.measure(journal, published, out, seeds, size))


@app.command(name="spark-kill")
def spark_kill(
    out: Out,
    kills: Annotated[int, typer.Option(min=0, help="How many times kill -9 strikes.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Of the input, and of the moments.")] = 0,
    master: Annotated[
        str, typer.Option(help="Spark's master; local[2,4] has no executors of its own.")
    ] = CLUSTER,
) -> None:
    """The job on Spark with its processes killed at random, against the same left in peace."""
    from experiments.spark import command as spark  # noqa: PLC0415, it needs Spark and pandas

    report = spark.strike(out.resolve(), kills, seed, master)
    typer.echo(spark.table(report))
    raise typer.Exit(0 if report["passed"] else 1)


@app.command()
def kernels(out: Out, runs: Runs = 20, jobs: Jobs = 1, size: Size = 1.0) -> None:
    """LASEC with a kernel on two rings that turn. Started again, it continues where it stopped."""
    with Journal(out / "journal.jsonl", jobs) as journal:
        typer.echo(rings.study(journal, out, runs, size))


@app.command("serve-kill")
def serve_kill(
    out: Out,
    kills: Annotated[int, typer.Option(min=1, help="How many kills of the server.")] = 500,
    store: Stored = Database.sqlite,
    crashes: Annotated[
        int | None, typer.Option(min=0, help="Of PostgreSQL; by default one for ten kills.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
) -> None:
    """Kill the service while clients ask and tell, and compare with the library alone."""
    from experiments.serving import kills as under_fire  # noqa: PLC0415

    typer.echo(under_fire.run(kills, store, out, crashes, seed=seed))


@app.command("serve-cost")
def serve_cost(
    out: Out,
    store: Stored = Database.sqlite,
    requests: Annotated[int, typer.Option(min=400, help="How many of each kind.")] = 4_000,
) -> None:
    """CPU time of a durable decision, against a bare reply and against the library."""
    from experiments.serving import cost as service_cost  # noqa: PLC0415

    typer.echo(service_cost.run(store, out, requests))


@app.command("serve-coverage")
def serve_coverage(
    out: Out, streams: Annotated[int, typer.Option(min=1, help="How many streams.")] = 500
) -> None:
    """Whether intervals cover with late, lost and skipped answers, through the service."""
    from experiments.serving import coverage as service_coverage  # noqa: PLC0415

    typer.echo(service_coverage.run(streams, out))


@app.command("serve-label-studio")
def serve_label_studio(
    out: Out,
    rows: Annotated[int, typer.Option(min=8, help="How many questions.")] = 200,
    python: Annotated[
        Path | None,
        typer.Option(help="Python of an environment with Label Studio; else one is made."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what people do, and of the moments.")] = 0,
) -> None:
    """Whether every answer in Label Studio is told once, with all parts killed in between."""
    from experiments.serving import label_studio  # noqa: PLC0415

    typer.echo(label_studio.run(rows, out, python, seed))


@app.command("serve-long")
def serve_long(
    out: Out, rows: Annotated[int, typer.Option(min=1_000, help="How many rows.")] = 1_000_000
) -> None:
    """Whether memory and journal of the service stay bounded on a long stream."""
    from experiments.serving import long as service_long  # noqa: PLC0415

    typer.echo(service_long.run(rows, out))


@app.command("serve-schema")
def serve_schema(
    out: Out,
    examples: Annotated[int, typer.Option(min=1, help="How many for each operation.")] = 100,
    store: Stored = Database.sqlite,
    seed: Annotated[int, typer.Option(help="Of the requests.")] = 0,
) -> None:
    """Run schemathesis with all its checks against the service."""
    from experiments.serving import schema  # noqa: PLC0415

    typer.echo(schema.run(out, examples, store, seed))


@app.command("serve-measured")
def serve_measured(out: Out) -> None:
    """Make one table of what the other commands of the service have written to a folder."""
    typer.echo(measured.write(out))


@app.command("serve-many")
def serve_many(
    out: Out, models: Annotated[int, typer.Option(min=2, help="How many models.")] = 300
) -> None:
    """Memory of a model in the service, and whether asks cost more where there are many."""
    from experiments.serving import many  # noqa: PLC0415

    typer.echo(many.run(models, out))


@app.command("serve-equal")
def serve_equal(
    out: Out,
    store: Stored = Database.sqlite,
    rows: Annotated[int, typer.Option(min=1, help="How many are compared.")] = 100_000,
    restarts: Annotated[int, typer.Option(min=0, help="How many restarts.")] = 50,
    tries: Annotated[int, typer.Option(min=1, help="How many second writers.")] = 100,
) -> None:
    """Compare the service with the library, its budget over restarts, and refuse second writers."""
    from experiments.serving import equal  # noqa: PLC0415

    typer.echo(equal.run(store, out, rows, restarts, tries))


if __name__ == "__main__":
    app()
