"""A panel from its options to its files: who takes part, the runs, the tables, the picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from experiments import figures, tables, theorems
from experiments.claims import supervised, table, tuned
from experiments.claims.evidence import Evidence
from experiments.contestants import SUPERVISED
from experiments.datasets import TUNING, checksum
from experiments.journal import Journal, Task
from experiments.measuring import measure, save_rows
from experiments.output import read_csv, write_json
from experiments.own import ALL, Method, Own, label, read_grid
from experiments.panels import PANELS, Choices, Panel, Run, choices, runs
from experiments.panels import published as published_panel
from experiments.protocols import ONCE, PER_RATE
from experiments.published import Published, Row

SOME = 20  # runs at every point of LASEC's grid
SWEPT = ("Shifting", "RBP")  # which the paper found to be best where they are the perceptron


class Settings(NamedTuple):
    """How many runs, at which size, into which folder; and whether every row is kept."""

    out: Path
    runs: int = 50
    size: float = 1.0
    per_row: bool = False


def study(
    journal: Journal, out: Path, which: str, runs: int, size: float, algorithms: str,
    rule: Sequence[str], grid: Sequence[str], learn_from: str, per_row: bool,
) -> Iterator[str]:  # fmt: skip
    """Run a panel of the paper's figure, or all; rules of one's own are tuned over a grid."""
    if which != "all" and which not in PANELS:
        raise typer.BadParameter(f"no panel {which!r}: choose from {', '.join(PANELS)}, all")
    chosen = [name.strip() for name in algorithms.split(",") if name.strip()]
    try:
        own = [Own(place, str(learn_from), read_grid(grid)) for place in rule]
        names = list(PANELS) if which == "all" else [which]
        panels = {name: panel_of(name, chosen, own) for name in names}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    for name, panel in panels.items():
        yield from hold(journal, name, panel, Settings(out, runs, size, per_row))
    summarize(out)


def bounds(journal: Journal, out: Path, runs: int, size: float) -> str:
    """Compare the paper's bounds with runs, and judge the claims again."""
    said = theorems.study(journal, out, runs, size)
    summarize(out)
    return said


def panel_of(name: str, algorithms: Sequence[str], own: Sequence[Own]) -> Panel:
    """A panel with the algorithms named (by default all of them) and methods of one's own."""
    panel = PANELS[name]
    unknown = [a for a in algorithms if a not in ALL]
    if unknown:
        raise ValueError(f"no algorithm {unknown[0]!r}: choose from {', '.join(ALL)}")
    kept = tuple(m for m in panel.methods if not algorithms or m in algorithms)
    for method in own:
        method.load()  # a wrong place is said before anything runs
    methods: tuple[Method, ...] = kept + tuple(method.spec() for method in own)
    if not methods:
        raise ValueError(f"panel {name} has none of these: {', '.join(algorithms)}")
    return panel._replace(methods=methods)


def hold(journal: Journal, name: str, panel: Panel, settings: Settings) -> Iterator[str]:
    """Run a panel and write its files; gives what there is to say."""
    before = journal.seconds
    chosen = choices(journal, panel, settings.size)
    yield from _edges(name, chosen)
    done = runs(panel, chosen, settings.runs, settings.size)
    entries = journal.entries(f"running {panel.title}", [run.task for run in done])
    out = settings.out
    file = published_panel(out / f"panel_{name}.csv", panel, done)
    made = file.write([entry.result for entry in entries])
    seconds = round(journal.seconds - before, 1)
    commits = sorted({entry.commit for entry in entries})
    _about(name, panel, chosen, settings, {"commits": commits, "cpu_seconds": seconds})
    _draw(out, name, panel, made)
    if settings.per_row:
        _keep_rows(name, panel, done, settings)
    for one in _settings(out, panel, chosen, settings.runs, settings.size):
        one.write(journal.run(one.file.stem, one.tasks))
    yield f"panel {name}: {len(made)} rows of {len(done)} runs, {seconds} s of CPU time with tuning"


def _edges(name: str, chosen: Choices) -> Iterator[str]:
    for protocol, choice in chosen.items():
        for cell, found in choice.items():
            if found.get("edges"):
                where = ", ".join(found["edges"])
                yield f"warning: panel {name}, {protocol}, {cell}: the best point has {where}"


def _draw(out: Path, name: str, panel: Panel, made: list[Row]) -> None:
    """The table and the picture of a panel."""
    (out / f"panel_{name}.tex").write_text(tables.accuracies(panel, made).latex())
    figures.one_panel(out, name, panel, made)


def _about(
    name: str, panel: Panel, chosen: Choices, settings: Settings, cost: dict[str, Any]
) -> None:
    """How the rows were made, for those who repeat them."""
    write_json(
        settings.out / f"panel_{name}.json",
        panel=panel._asdict(),
        runs=settings.runs,
        size=settings.size,
        **cost,
        seeds={"tuning": TUNING, "runs": list(range(1, settings.runs + 1))},
        data=checksum(panel.dataset),
        tuning=chosen,
    )


def _keep_rows(name: str, panel: Panel, done: list[Run], settings: Settings) -> None:
    """A NumPy file for each run, with all of its rows."""
    for run in done:
        file = f"{run.protocol}_{label(run.method)}_{run.rate}_{run.number}.npz"
        _, arguments = run.task
        save_rows(settings.out / "rows" / f"panel_{name}" / file, *arguments)


def _settings(out: Path, panel: Panel, chosen: Choices, count: int, size: float) -> list[Published]:
    """Runs at other parameters than the tuned ones: of Shifting and RBP, and of LASEC and SOP."""
    if not {"LASEC", *SWEPT} <= {label(method) for method in panel.methods}:
        return []
    tuning = chosen[ONCE]["LASEC@tuning"]
    return [_swept(out, panel, count, size), _by_stability(out, panel, tuning, count, size)]


def _swept(out: Path, panel: Panel, count: int, size: float) -> Published:
    """Accuracy of every run at every setting of the algorithms that can become the perceptron."""
    heads, tasks = list[Row](), list[Task]()
    for algorithm in SWEPT:
        (axis,) = SUPERVISED[algorithm].axes
        for value in axis.values:
            for number in range(1, count + 1):
                head = {"algorithm": algorithm, "parameter": axis.name, "value": value}
                heads.append(head | {"run": number})
                given = (panel.dataset, algorithm, {axis.name: value}, number, size)
                tasks.append((measure, given))
    return Published(out / f"grids_{panel.dataset}.csv", heads, tasks, _final)


def _by_stability(
    out: Path, panel: Panel, tuning: dict[str, Any], count: int, size: float
) -> Published:
    """Accuracy of LASEC at each b and c of its grid, and of SOP (c = inf) at each b, on some runs.

    c and b stand in units of the rows' mean squared norm.
    """
    heads, tasks = list[Row](), list[Task]()
    unit, trials = tuning["scale"], [trial["parameters"] for trial in tuning["trials"]]
    ridges = sorted({given["ridge"] for given in trials})
    for given in [*trials, *({"ridge": ridge} for ridge in ridges)]:
        c = 1.0 / given["drift"] / unit if "drift" in given else math.inf
        place = {"c": float(f"{c:.6g}"), "b": float(f"{given['ridge'] / unit:.6g}")}
        algorithm = "LASEC" if "drift" in given else "SOP"
        for number in range(1, min(count, SOME) + 1):
            heads.append(place | {"run": number})
            tasks.append((measure, (panel.dataset, algorithm, given, number, size)))
    return Published(out / f"stability_{panel.dataset}.csv", heads, tasks, _final)


def _final(result: dict[str, Any]) -> list[Row]:
    return [{"accuracy": result["accuracy"][-1]}]


def published(out: Path, name: str, about: dict[str, Any]) -> list[Published]:
    """The CSV files of a panel in a folder, as its JSON says that they were made."""
    panel, count, size = Panel(**about["panel"]), about["runs"], about["size"]
    done = runs(panel, about["tuning"], count, size)
    made = [published_panel(out / f"panel_{name}.csv", panel, done)]
    return made + _settings(out, panel, about["tuning"], count, size)


def redraw(out: Path) -> Iterator[str]:
    """Draw the figures and write the tables of the panels in a folder again, from their rows."""
    for name in PANELS:
        file = out / f"panel_{name}.json"
        if file.exists():
            panel = Panel(**json.loads(file.read_text())["panel"])
            _draw(out, name, panel, read_csv(out / f"panel_{name}.csv"))
            yield f"panel_{name}"
    summarize(out)


def summarize(out: Path) -> None:
    """The picture of all panels and the tables of claims, once everything they need is there."""
    files = {name: out / f"panel_{name}.csv" for name in PANELS}
    if not all(path.exists() for path in files.values()):
        return
    results = {name: read_csv(path) for name, path in files.items()}
    about = {name: json.loads((out / f"panel_{name}.json").read_text()) for name in PANELS}
    if any(
        set(PANELS[n].methods) - {label(m) for m in a["panel"]["methods"]} for n, a in about.items()
    ):
        return  # a selection of the algorithms
    figures.all_panels(out, PANELS, results)
    bounds = out / "bounds_a.csv"
    if bounds.exists() and all(panel["size"] == 1.0 for panel in about.values()):
        for name, text in claims(out).items():
            (out / name).write_text(text)


def claims(out: Path) -> dict[str, str]:
    """The tables of claims by file name, from the rows in a folder."""
    names = [f"panel_{name}" for name in PANELS]
    names += [f"{kind}_{data}" for kind in ("grids", "stability") for data in ("synthetic", "usps")]
    names += ["bounds_a", "bounds_theorem_2", "bounds_theorem_4"]
    results = {name.removeprefix("panel_"): read_csv(out / f"{name}.csv") for name in names}
    outside = out / "outside" / "panel_a.csv"
    if outside.exists():
        results["outside"] = read_csv(outside)
    about = {name: json.loads((out / f"panel_{name}.json").read_text()) for name in PANELS}
    chosen = {name: one["tuning"] for name, one in about.items()}
    found = table.judged(results)
    verdicts, measured = table.verdicts(found), table.measured(found)
    return {
        "claims.md": verdicts.markdown(),
        "claims.tex": verdicts.latex("rlp{0.45\\textwidth}ll"),
        "claims_measured.md": measured.markdown(),
        "claims_context.md": supervised.context(Evidence(results, ONCE)) + "\n",
        "claims_stability.md": tuned.by_stability(Evidence(results, ONCE)),
        "claims_late_start.md": tuned.late_start(Evidence(results, PER_RATE), chosen) + "\n",
        "running_time.md": tables.running_time(about).markdown(),
    }
