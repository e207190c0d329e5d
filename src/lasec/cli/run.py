"""``lasec run``: one algorithm along one file."""

from __future__ import annotations

import json
import math
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from lasec.cli import options as o
from lasec.cli.inputs import Opened, build, fingerprint, open_file
from lasec.cli.jsonl import Lines
from lasec.cli.lock import held
from lasec.cli.output import (
    STOPPED,
    as_text,
    columns,
    described,
    honest,
    interval,
    percent,
    put,
    say,
    screen,
    warn_of_cells,
    warn_of_no_change,
)
from lasec.cli.progress import bar
from lasec.cli.runner import MODEL, PREDICTIONS, WRITTEN, Run, Stop
from lasec.clock import LEAD
from lasec.errors import TableError
from lasec.evaluation import RunSummary
from lasec.files import write as write_file
from lasec.tables import Kind
from lasec.tables.kinds import nearest
from lasec.tables.source import ROWS, rows_at_a_time


@honest
def run(
    file: o.File,
    label: o.Label = None,
    algorithm: o.Algorithm = "tracker",
    rate: o.Rate = 0.1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for model, report and summary.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew, whatever run is in --out.")
    ] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Write every prediction into --out, too.")
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Write the figures as PNG and SVG into --out, too.")
    ] = False,
    group: Annotated[
        str | None, typer.Option("--group", help="A column to report on value by value.")
    ] = None,
    alarms: o.Alarms = False,
    labels_per_day: o.PerDay = None,
    time: o.Time = None,
    positive: o.Positive = None,
    settings: o.Settings = None,
    category: o.Category = None,
    text: o.Text = None,
    ignore: o.Ignore = None,
    hash_buckets: o.HashBuckets = None,
    standardize: o.Standardize = True,
    format: o.Format = None,  # noqa: A002
    separator: o.Separator = None,
    seed: o.Seed = None,
    lead: o.Lead = LEAD,
    limit: o.Limit = None,
    data: o.Data = None,
    as_json: o.AsJson = False,
) -> None:
    """Run along a file whose labels are known: what would be asked, and how good it is.

    Labels that are not asked for are not learned from; they only tell the true accuracy. With
    --out the run is saved as it goes, can be stopped with Ctrl-C, and be gone on with --resume.
    """
    reading = o.Reading(
        label, positive, time, tuple(category or ()), tuple(text or ()), tuple(ignore or ()),
        hash_buckets, standardize, format, separator, data,
    )  # fmt: skip
    asking = o.Asking(rate, labels_per_day, seed, tuple(settings or ()), lead=lead)
    if (resume or predictions or figures) and out is None:
        raise TableError("--resume, --predictions and --figures need --out: where is the run?")
    opened = open_file(file, reading)
    with opened.table:
        if group is not None and group not in opened.table.names:
            raise nearest(group, opened.table.names, "column")
        choice = {
            "table": fingerprint(opened.table.head), "algorithm": algorithm, "group": group,
            "predictions": predictions, "alarms": alarms,
            **asking._asdict(), **opened.reading.choice,
        }  # fmt: skip
        choice = json.loads(json.dumps(choice))  # as it comes back from a file
        with _alone(out):
            if resume and out is not None:
                task = Run.resume(out, choice)
            else:
                task = _begin(opened, algorithm, asking, out, force, choice)
            finished = _go(task, opened, limit, quiet=as_json)
        result = task.summary()
    _finish(task, result, opened, out, finished, as_json)
    if figures and out is not None and finished:
        from lasec.reports import save_figures  # noqa: PLC0415

        save_figures(out / "figures", task.run, task.desk.learner, classes=names(task))
    if not finished:
        raise typer.Exit(STOPPED)


def _alone(out: Path | None) -> AbstractContextManager[None]:
    """Nobody else writes the model of a run that is under way."""
    if out is None:
        return nullcontext()
    out.mkdir(parents=True, exist_ok=True)
    return held(out / MODEL, wait=False)


def _begin(
    opened: Opened, algorithm: str, asking: o.Asking, out: Path | None, force: bool,
    choice: dict[str, Any],
) -> Run:  # fmt: skip
    """A new run, in a folder that has none, or whose run is to be thrown away."""
    desk = build(
        opened, algorithm, asking, alarms=choice["alarms"], file=opened.title, choice=choice
    )
    if out is None:
        return Run(desk, RunSummary(), None, None, choice["group"])
    if (out / MODEL).exists() and not force:
        raise TableError(f"{out} holds a run: go on with --resume, or begin anew with --force")
    for name in WRITTEN:
        (out / name).unlink(missing_ok=True)
    lines = Lines(out / PREDICTIONS) if choice["predictions"] else None
    task = Run(desk, RunSummary(), out, lines, choice["group"])
    task.save()  # from now on it can be resumed
    return task


def _go(task: Run, opened: Opened, limit: int | None, quiet: bool) -> bool:
    """To the end of the table, or until stopped; whether it came to the end."""
    stop, table, before = Stop(), opened.table, task.consumed
    batches = table.batches(before, rows_at_a_time(task.desk.encoder.dimension, ROWS))
    with stop.watching(), bar(opened.title, quiet, math.isnan(table.progress)) as shown:
        for _ in task.go(batches, limit, stop):
            if shown.due():
                rows, labels = task.consumed - before, task.run.labels
                shown.show(table.progress, rows, labels, task.run.estimate)
    task.save()
    if task.lines is not None:
        task.lines.close()
    return not stop.wanted


def _finish(
    task: Run, result: dict[str, Any], opened: Opened, out: Path | None, finished: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Say what came out, and write it."""
    summary = {"file": opened.title, "finished": finished, **result}
    if out is not None:
        write_file(out / "summary.json", as_text(summary))
        if finished and task.run.rows:
            from lasec.reports import write  # noqa: PLC0415

            write(
                out / "report.html", task.run, task.desk.learner, title=opened.title,
                facts=_facts(task, opened), baselines=_baselines(task),
                classes=names(task),
            )  # fmt: skip
    if as_json:
        put(summary)
    else:
        _tell(task, summary, out)
    warn_of_cells(opened.table)


def names(task: Run) -> list[str]:
    """The names of the classes, if both are known."""
    return task.desk.classes if len(task.desk.classes) == 2 else []


def _facts(task: Run, opened: Opened) -> dict[str, str]:
    """What the report says about the table."""
    return {
        "rows": f"{task.consumed:,}",
        "columns": columns(task.desk),
        "label": f"{opened.label}: {' / '.join(map(str, task.desk.classes))}",
    }


def _baselines(task: Run) -> dict[str, float]:
    """Predictions that need no model."""
    return {
        "no-change (previous label)": task.baselines.persistence,
        "majority class": task.baselines.majority,
    }


def _pace(speed: float) -> str:
    return "" if math.isnan(speed) else f", {speed:,.0f} a second"


def _tell(task: Run, summary: dict[str, Any], out: Path | None) -> None:
    """The result, for people."""
    console, baselines = screen(), task.baselines
    ignored = [c for c in task.desk.encoder.columns if c.kind is Kind.IGNORED]
    facts = [
        ("rows", f"{summary['rows']:,}{_pace(summary['rows_per_second'])}"),
        ("columns", columns(task.desk)),
        ("queried", f"{summary['labels']:,} labels, {percent(summary['rate'])} of the rows"),
        ("estimated accuracy", interval(task.run.estimate)),
        ("true accuracy", f"{percent(task.run.accuracy)} (all labels)"),
        ("baselines", f"no-change {percent(baselines.persistence)}, "
                      f"majority class {percent(baselines.majority)}"),
    ]  # fmt: skip
    console.print(f"{summary['algorithm']} on {summary['file']}", style="bold", markup=False)
    for name, value in facts:
        console.print(f"  {name:<20}{value}", markup=False)
    for alarm in task.run.alarms:
        console.print(f"  {'alarm':<20}{described(alarm)}", markup=False)
    if ignored:
        told = ", ".join(f"{column.name} ({column.why})" for column in ignored)
        console.print(f"  {'not read':<20}{told}", markup=False)
    if summary["unlabelled"]:
        console.print(f"  {summary['unlabelled']:,} rows have no label and were left out")
    if baselines.rows and baselines.plus in (0, baselines.rows):
        say("lasec: all labels are of one class")
    else:
        warn_of_no_change(baselines.persistence, baselines.majority, task.run.accuracy)
    if out is not None:
        done = "wrote" if summary["finished"] else "stopped; continue with --resume:"
        console.print(f"  {done} {out}", markup=False)
    elif not summary["finished"]:
        say("lasec: stopped; with --out it could be resumed")
