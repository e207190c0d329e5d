"""``lasec run``: one algorithm on a file with labels."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from lasec.cli import columns, output
from lasec.cli import options as o
from lasec.cli.answers import Answers
from lasec.cli.inputs import Opened, build, fingerprint, open_file
from lasec.cli.judge import called
from lasec.cli.leaks import warn_of_leaks
from lasec.cli.lock import held
from lasec.cli.progress import bar, busy
from lasec.cli.runner import MODEL, PREDICTIONS, WRITTEN, Lines, Run, Stop
from lasec.cli.spread import Only, spread
from lasec.errors import TableError
from lasec.evaluation import RunSummary, facts
from lasec.evaluation.calendar import DAY
from lasec.files import write as write_file
from lasec.notebook import percent
from lasec.queries import Budgeted
from lasec.tables.kinds import nearest
from lasec.tables.source import ROWS, rows_at_a_time

RARE = 3  # rare classes in a terminal
ASKED = (
    "rate", "audit", "class_weight", "total", "per_day", "warm_up", "settings", "seed", "lead",
    "source", "money",
)  # fmt: skip


@output.honest
@spread
def run(
    file: o.File,
    *,
    algorithm: o.Algorithm = "tracker",
    asking: Annotated[o.Asking, Only(*ASKED)],
    reading: o.Reading,
    out: Annotated[
        Path | None,
        o.of_output(
            "--out -o",
            "DIRECTORY",
            "Directory for model, report and summary; the run is checkpointed.",
        ),
    ] = None,
    resume: Annotated[bool, o.of_output("--resume", None, "Continue the run in --out.")] = False,
    force: Annotated[bool, o.of_output("--force", None, "Overwrite the run in --out.")] = False,
    predictions: Annotated[
        bool,
        o.of_output("--predictions", None, "Write every prediction to --out as JSON lines."),
    ] = False,
    figures: Annotated[
        bool,
        o.of_output("--figures", None, "Write the report's figures to --out as PNG and SVG."),
    ] = False,
    group: Annotated[
        str | None,
        o.of_output("--group", "COLUMN", "Report accuracy for each value of this column."),
    ] = None,
    alarms: o.Alarms = False,
    answers: Answers,
    limit: o.Limit = None,
    as_json: o.AsJson = False,
) -> None:
    """Simulate a label budget on a file with labels: accuracy, labels used, report.

    For each row, lasec predicts, decides whether to query the label, and learns from queried labels
    only. The other labels are used for nothing but the true accuracy. With --out, progress is
    checkpointed: stop with Ctrl-C, continue with --resume.
    """
    asking = asking._replace(annotators=max(1, len(answers.errors)))
    if (resume or predictions or figures) and out is None:
        raise TableError("--resume, --predictions and --figures need --out: the run's directory")
    output.say_if_typed(file, "a table")
    with busy(f"reading {file} ...", quiet=as_json):
        opened = open_file(file, reading)
    with opened.table:
        if group is not None and group not in opened.table.names:
            raise nearest(group, opened.table.names, "column")
        answers.check(reading.time, opened.table.names)
        judge = _judge(asking, opened.table.names)
        choice = {
            "table": fingerprint(opened.table.head), "algorithm": algorithm, "group": group,
            "predictions": predictions, "alarms": alarms, "answers": answers, "judge": judge,
            **asking._asdict(), **opened.reading.choice,
        }  # fmt: skip
        choice = json.loads(json.dumps(choice))  # as it comes back from a file
        with _alone(out):
            if resume and out is not None:
                task = Run.resume(out, choice)
            else:
                spread = asking.over(opened.length(None if asking.total is None else limit))
                empty = RunSummary(expected=opened.length(limit) or 0)
                task = _begin(opened, algorithm, spread, empty, out, force, choice)
            warn_of_leaks(
                opened.table.head, opened.label, task.desk.encoder, opened.reading.positive
            )
            with called(asking.command) as task.command:
                finished = _go(task, opened, limit, quiet=as_json)
        result = task.summary()
    summary = {"file": opened.title, "finished": finished, **result}
    if out is not None:
        with busy(f"writing {out} ...", quiet=as_json):
            _write(task, summary, opened, out, figures)
    output.put(summary) if as_json else _tell(task, summary, out)
    _warn(task, opened)
    if not finished:
        raise typer.Exit(output.STOPPED)


def _judge(asking: o.Asking, names: Sequence[str]) -> str | None:
    """The column of a judge's answers, where labels have two prices."""
    if not asking.source:
        return None
    column, command = asking.sources[0][1:]
    if (column is None) == (command is None):
        raise TableError(
            f"--source {asking.source[0]}: say where its answers come from: column=NAME, or "
            "command=COMMAND"
        )
    if column is None:
        return None
    if column not in names:
        raise nearest(column, names, "column")
    return column


def _alone(out: Path | None) -> AbstractContextManager[None]:
    """Lock the model of a run while it is running."""
    if out is None:
        return nullcontext()
    out.mkdir(parents=True, exist_ok=True)
    return held(out / MODEL, wait=False)


def _begin(
    opened: Opened, algorithm: str, asking: o.Asking, run: RunSummary, out: Path | None,
    force: bool, choice: dict[str, Any],
) -> Run:  # fmt: skip
    """A new run, in a directory that has none, or whose run is overwritten."""
    desk = build(
        opened, algorithm, asking, alarms=choice["alarms"], file=opened.title, choice=choice
    )
    if out is None:
        return Run(desk, run, None, None, choice)
    if (out / MODEL).exists() and not force:
        raise TableError(
            f"{out} already contains a run: use --resume to continue or --force to overwrite"
        )
    for name in WRITTEN:
        (out / name).unlink(missing_ok=True)
    lines = Lines(out / PREDICTIONS) if choice["predictions"] else None
    task = Run(desk, run, out, lines, choice)
    task.save()  # from now on it can be resumed
    return task


def _go(task: Run, opened: Opened, limit: int | None, quiet: bool) -> bool:
    """Run to the end of the table, or until stopped; whether it came to the end."""
    stop, table, before = Stop(), opened.table, task.consumed
    most = opened.length(limit)
    batches = table.batches(before, rows_at_a_time(task.desk.encoder.dense_dimension, ROWS))
    with stop.watching(), bar(opened.title, quiet, endless=most is None) as shown:
        for _ in task.go(batches, limit, stop):
            if shown.due():
                share = math.nan if most is None else min(task.consumed / max(most, 1), 1.0)
                rows, labels = task.consumed - before, task.run.labels
                shown.show(share, rows, labels, task.run.estimate)
    task.save()
    if task.lines is not None:
        task.lines.close()
    return not stop.wanted


def _write(task: Run, summary: dict[str, Any], opened: Opened, out: Path, figures: bool) -> None:
    """Write the summary and, once the run is finished, the report and its figures."""
    write_file(out / "summary.json", output.as_text(summary))
    if not summary["finished"] or not task.run.rows:
        return
    from lasec.reports import save_figures, write  # noqa: PLC0415

    learner, classes = task.desk.learner, task.desk.classes
    write(
        out / "report.html", task.run, task.desk.session, title=opened.title,
        facts=_facts(task, opened), baselines=_baselines(task.run), classes=classes,
    )  # fmt: skip
    if figures:
        save_figures(out / "figures", task.run, learner, classes=classes)


def _facts(task: Run, opened: Opened) -> dict[str, str]:
    """The report's facts about the table."""
    return {
        "rows": f"{task.consumed:,}",
        "columns": columns.summary(task.desk.encoder),
        "label": f"{opened.label}: {output.few(task.desk.classes)}",
        "labels available": facts.available(task.run),
        **dict(_of_sources(task)),
    }


def _baselines(run: RunSummary) -> dict[str, float]:
    """The baselines, which need no model."""
    words = {"no-change": "no-change (previous label)"}
    return {words.get(name, name): value for name, value in run.baselines.items()}


def _tell(task: Run, summary: dict[str, Any], out: Path | None) -> None:
    """Print the result for people."""
    lines = [*_of_table(task, summary), *_of_run(task.run), *_alarms(task.run)]
    lines += _of_sources(task)
    if out is not None:
        lines.append(("wrote" if summary["finished"] else "stopped", _written(summary, out)))
    title = f"{summary['algorithm']} on {summary['file']}"
    output.put_facts(((f"  {name}", value) for name, value in lines), title, 22)
    if out is None and not summary["finished"]:
        output.say("lasec: stopped; with --out, a stopped run can be continued")


def _of_sources(task: Run) -> Iterator[tuple[str, str]]:
    """How good the judge is, and what was spent, where labels have two prices."""
    if record := task.desk.session.record:
        yield from ((fact.name, fact.line) for fact in record.facts)


def _of_table(task: Run, summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows, columns and labels."""
    encoder, pace = task.desk.encoder, summary["rows_per_second"]
    yield "rows", f"{summary['rows']:,}" + ("" if math.isnan(pace) else f" ({pace:,.0f} rows/s)")
    yield "columns", columns.summary(encoder)
    yield from ((f"  {name}", told) for name, told in columns.lines(encoder))
    spent = f"{summary['labels']:,} ({percent(summary['rate'])} of rows{_promise(task)})"
    yield "labels queried", spent


def _of_run(run: RunSummary) -> Iterator[tuple[str, str]]:
    """How good the model is; what is not known of rare classes comes after what is known."""
    rare = [fact for name in run.rare[:RARE] for fact in facts.of_class(run, name, str(name))]
    first = facts.headline(run, rare)
    yield from ((fact.name[:40], fact.line) for fact in first)
    beat = ", ".join(f"{name} {percent(value)}" for name, value in _baselines(run).items())
    yield "baselines", beat
    more = [*facts.of_all_classes(run), *facts.of_probabilities(run)]
    yield from ((fact.name, fact.line) for fact in more)


def _alarms(run: RunSummary) -> Iterator[tuple[str, str]]:
    """The last alarms, with the times of their rows where there are any; and how many came before.

    >>> list(_alarms(RunSummary()))
    []
    """
    if not run.alarms:
        return
    from lasec.reports.source import alarm_lines  # noqa: PLC0415, only where there are alarms

    lines = alarm_lines(run)
    if hidden := len(run.alarms) - len(lines):
        told = "look at all with --json" if hidden > 1 else "look at it with --json"
        yield "alarms", f"{len(run.alarms):,}; {hidden:,} earlier not shown: {told}"
    yield from (("alarm", line) for line in lines)


def _promise(task: Run) -> str:
    """The hard cap of the budget, and the warm-up that is not repaid yet."""
    learner = task.desk.learner
    query: Any = learner.query
    if not isinstance(query, Budgeted):
        return ""
    if query.total > 0.0:
        return f"; at most {query.total:,.0f} in all"
    if query.rate >= 1.0 and not query.timed:
        return ""
    rate = f"{DAY * query.rate:,g} a day" if query.timed else f"{100 * query.rate:g} %"
    cap = f"; at most {rate} + {query.slack:,.0f}"
    owed = query.owed(learner.selector.query_state)
    end = f"over {query.horizon / DAY:g} days" if query.timed else f"by row {query.horizon:,.0f}"
    return f"{cap}; {owed:,.0f} are a warm-up, repaid {end}" if owed >= 1.0 else cap


def _written(summary: dict[str, Any], out: Path) -> str:
    if not summary["finished"]:
        return f"{out} (continue with --resume)"
    return f"{out}/report.html, model.lasec, summary.json"


def _warn(task: Run, opened: Opened) -> None:
    """Print what a user should know about the data."""
    run = task.run
    if len(run.classes) == 1:
        output.say(
            f"lasec: warning: all {run.known:,} labels in {opened.label!r} are of one class: "
            "there is nothing to separate"
        )
    elif run.known:
        no_change, majority = run.baselines.values()
        output.warn_of_no_change(no_change, list(run.shares.values()), run.accuracy, run.known)
        output.warn_of_majority(majority, run.accuracy)
    else:
        output.say(f"lasec: warning: no row has a label in {opened.label!r}: nothing was learned")
    columns.warn_of_unseen(task.desk.encoder, task.consumed)
    output.warn_of_cells(opened.table)
