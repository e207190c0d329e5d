"""A panel from its options to its files: who takes part, the runs, the tables, the picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments import digests, figures, tables
from experiments.claims import supervised, table
from experiments.claims.evidence import Evidence
from experiments.contestants import SUPERVISED
from experiments.datasets import TUNING
from experiments.journal import Journal, Task
from experiments.measuring import measure, save_rows
from experiments.output import read_csv, write_csv, write_json
from experiments.own import ALL, Method, Own, label
from experiments.panels import PANELS, Choices, Panel, Row, Run, choices, rows, runs
from experiments.protocols import ONCE

SWEPT = ("Shifting", "RBP")  # which the paper found to be best where they are the perceptron


class Settings(NamedTuple):
    """How many runs, at which size, into which folder; and whether every row is kept."""

    out: Path
    runs: int = 50
    size: float = 1.0
    per_row: bool = False


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
    made = rows(panel, done, [entry.result for entry in entries])
    out = settings.out
    write_csv(out / f"panel_{name}.csv", made)
    seconds = round(journal.seconds - before, 1)
    commits = sorted({entry.commit for entry in entries})
    _about(name, panel, chosen, done, settings, {"commits": commits, "cpu_seconds": seconds})
    (out / f"panel_{name}.tex").write_text(tables.accuracies(panel, made).latex())
    figures.one_panel(out, name, panel, made)
    if settings.per_row:
        _keep_rows(name, panel, done, settings)
    if all(algorithm in panel.methods for algorithm in SWEPT):
        write_csv(out / f"grids_{panel.dataset}.csv", _swept(journal, panel, settings))
    yield f"panel {name}: {len(made)} rows of {len(done)} runs, {seconds} s of CPU time with tuning"


def _edges(name: str, chosen: Choices) -> Iterator[str]:
    for protocol, choice in chosen.items():
        for cell, found in choice.items():
            if found.get("edges"):
                where = ", ".join(found["edges"])
                yield f"warning: panel {name}, {protocol}, {cell}: the best point has {where}"


def _about(
    name: str,
    panel: Panel,
    chosen: Choices,
    done: list[Run],
    settings: Settings,
    cost: dict[str, Any],
) -> None:
    """How the rows were made, for those who repeat them."""
    cells = {
        f"{run.protocol}/{label(run.method)}@{run.rate}": digests.digest(*run.task) for run in done
    }
    write_json(
        settings.out / f"panel_{name}.json",
        panel=panel._asdict(),
        runs=settings.runs,
        size=settings.size,
        **cost,
        seeds={"tuning": TUNING, "runs": list(range(1, settings.runs + 1))},
        digests=cells,
        tuning=chosen,
    )


def _keep_rows(name: str, panel: Panel, done: list[Run], settings: Settings) -> None:
    """A NumPy file for each run, with all of its rows."""
    for run in done:
        file = f"{run.protocol}_{label(run.method)}_{run.rate}_{run.number}.npz"
        _, arguments = run.task
        save_rows(settings.out / "rows" / f"panel_{name}" / file, *arguments)


def _swept(journal: Journal, panel: Panel, settings: Settings) -> list[Row]:
    """Accuracy of every run at every setting of the algorithms that can become the perceptron."""
    cells, tasks = [], list[Task]()
    for algorithm in SWEPT:
        (axis,) = SUPERVISED[algorithm].axes
        for value in axis.values:
            for number in range(1, settings.runs + 1):
                cells.append((algorithm, axis.name, value, number))
                given = (panel.dataset, algorithm, {axis.name: value}, number, settings.size)
                tasks.append((measure, given))
    results = journal.run(f"settings of {' and '.join(SWEPT)}, {panel.dataset}", tasks)
    names = ("algorithm", "parameter", "value", "run")
    return [
        dict(zip(names, cell, strict=True)) | {"accuracy": result["accuracy"][-1]}
        for cell, result in zip(cells, results, strict=True)
    ]


def stale(out: Path) -> list[str]:
    """The rows in a folder that other code, grids or data than today's are behind."""
    found = []
    for name in PANELS:
        file = out / f"panel_{name}.json"
        if not file.exists():
            continue
        about = json.loads(file.read_text())
        dataset = about["panel"]["dataset"]
        methods = {label(method): method for method in about["panel"]["methods"]}
        for place, digest in about["digests"].items():
            protocol, _, cell = place.partition("/")
            method = methods[cell.rpartition("@")[0]]
            parameters = about["tuning"][protocol][cell]["parameters"]
            if digests.digest(measure, (dataset, method, parameters, 1, about["size"])) != digest:
                found.append(f"panel {name}: {place}")
    return found


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
    names += ["grids_synthetic", "grids_usps", "bounds_a", "bounds_theorem_2", "bounds_theorem_4"]
    results = {name.removeprefix("panel_"): read_csv(out / f"{name}.csv") for name in names}
    outside = out / "outside" / "panel_a.csv"
    if outside.exists():
        results["outside"] = read_csv(outside)
    found = table.judged(results)
    verdicts, measured = table.verdicts(found), table.measured(found)
    return {
        "claims.md": verdicts.markdown(),
        "claims.tex": verdicts.latex("rlp{0.45\\textwidth}ll"),
        "claims_measured.md": measured.markdown(),
        "claims_context.md": supervised.context(Evidence(results, ONCE)) + "\n",
    }
