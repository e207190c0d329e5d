"""Whether the published CSV files are those of today's code: by digests, or by running them again.

A cell is stale if its digest is not today's. ``verify`` runs a sample of the runs of every cell
again and compares them with the CSV bit for bit: where they are equal, the cell gets today's
digest. How parameters were chosen is not repeated: the JSON files have them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import typer

from experiments import bench, rings, theorems
from experiments.datasets import DigitsError
from experiments.journal import Task
from experiments.panels import PANELS
from experiments.published import Published, stamp, stamped


class Options(NamedTuple):
    """Whether to run again, how many runs of each cell (0: all), in how many processes."""

    verify: bool = False
    runs: int = 1
    jobs: int = 1


class Findings(NamedTuple):
    """Cells that were looked at, are stale, or differ from the CSV; and what was not checked."""

    cells: list[str]
    stale: list[str]
    differ: list[str]
    repeated: list[int]  # rows of the CSV that were made again
    unchecked: dict[str, str]  # CSV files, and why

    @property
    def fine(self) -> bool:
        """Whether nothing is stale and nothing differs."""
        return not (self.stale or self.differ)


def study(out: Path, jobs: int, verify: bool, runs: int) -> Iterator[str]:
    """Name the stale results in a folder; the command fails where there are any."""
    options = Options(verify, runs, jobs)
    found = check(out, options)
    yield from lines(out, found, options)
    if not found.fine:
        raise typer.Exit(1)


def redraw(out: Path) -> Iterator[str]:
    """Draw the figures and write the tables in a folder again, from the CSV files."""
    for folder in (out, *sorted(path for path in out.iterdir() if path.is_dir())):
        drawn = list(bench.redraw(folder))
        for file, draw in (("bounds", theorems.redraw), ("kernels", rings.redraw)):
            if (folder / f"{file}.json").exists():
                draw(folder)
                drawn.append(file)
        if drawn:
            yield f"{folder}: {', '.join(drawn)}"


def checkable(out: Path) -> list[Published]:
    """The CSV files of a folder and those in it that can be made again from what stands there."""
    found = []
    for folder in (out, *sorted(path for path in out.iterdir() if path.is_dir())):
        for name in PANELS:
            about = _about(folder / f"panel_{name}.json")
            found += bench.published(folder, name, about) if about else []
        about = _about(folder / "bounds.json")
        found += theorems.published(folder, about) if about else []
        about = _about(folder / "kernels.json")
        found += [rings.published(folder, about)] if about else []
    return [one for one in found if one.file.exists()]


def check(out: Path, options: Options) -> Findings:
    """Compare the cells of all CSV files of a folder with today's code."""
    findings = Findings([], [], [], [], {})
    known = checkable(out)
    for one in known:
        try:
            _check(out, one, options, findings)
        except DigitsError as error:
            findings.unchecked[_name(out, one)] = str(error)
    checked = {one.file for one in known}
    for file in sorted(out.rglob("*.csv")):
        if file not in checked:
            findings.unchecked[str(file.relative_to(out))] = "no digests: run its command again"
    return findings


def lines(out: Path, found: Findings, options: Options) -> Iterator[str]:
    """What there is to say, a total at the end."""
    yield from (f"stale: {cell}" for cell in found.stale)
    yield from (f"differs: {cell}" for cell in found.differ)
    for why in dict.fromkeys(found.unchecked.values()):
        files = [file for file, reason in found.unchecked.items() if reason == why]
        yield f"not checked: {len(files)} CSV files ({why}): {', '.join(files)}"
    total = len(list(out.rglob("*.csv")))
    if options.verify:
        words = "bit for bit" if not found.differ else f"but for {len(found.differ)} cells"
        yield f"{sum(found.repeated):,} rows made again are equal to the CSV files, {words}"
    yield (
        f"{total - len(found.unchecked)} of {total} CSV files checked, {len(found.cells)} cells: "
        f"{_count(len(found.stale), 'stale')}"
    )


def _count(cells: int, word: str) -> str:
    if not cells:
        return f"nothing is {word}"
    return f"1 cell is {word}" if cells == 1 else f"{cells} cells are {word}"


def _check(out: Path, one: Published, options: Options, findings: Findings) -> None:
    """One CSV; with ``verify``, the cells whose rows are equal get today's digests."""
    today, before = one.digests(), stamped(one.file.parent).get(one.file.name, {})
    names = {cell: f"{_name(out, one)}: {cell}" for cell in today}
    findings.cells.extend(names.values())
    differ = _differ(one, options, findings.repeated) if options.verify else set()
    if options.verify:
        before = {cell: today[cell] for cell in today if cell not in differ} | {
            cell: digest for cell, digest in before.items() if cell in differ
        }
        stamp(one.file, before)
    findings.differ.extend(names[cell] for cell in today if cell in differ)
    stale = [c for c in today if before.get(c) != today[c] and c not in differ]
    findings.stale.extend(names[cell] for cell in stale)


def _differ(one: Published, options: Options, repeated: list[int]) -> set[str]:
    """The cells of which a run, made again, is not the published one."""
    sample = [
        (cell, place)
        for cell, places in one.cells().items()
        for place in _sample(cell, places, options.runs)
    ]
    results = _results([one.tasks[place] for _, place in sample], options.jobs)
    was, differ = one.read(), set()
    for (cell, place), result in zip(sample, results, strict=True):
        made = [{k: str(v) for k, v in row.items()} for row in one.rows(place, result)]
        repeated.append(len(made))
        if made != was[place]:
            differ.add(cell)
    return differ


def _sample(cell: str, places: list[int], runs: int) -> list[int]:
    """So many runs of a cell, not the same ones of each; 0 for all."""
    first = zlib.crc32(cell.encode()) % len(places)
    return (places[first:] + places[:first])[: runs or len(places)]


def _results(tasks: list[Task], jobs: int) -> list[object]:
    if jobs == 1:
        return [function(*arguments) for function, arguments in tasks]
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(function, *arguments) for function, arguments in tasks]
        return [one.result() for one in waiting]


def _about(file: Path) -> dict[str, object]:
    return json.loads(file.read_text()) if file.exists() else {}


def _name(out: Path, one: Published) -> str:
    return str(one.file.relative_to(out))
