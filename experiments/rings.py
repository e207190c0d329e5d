"""Two noisy rings, one a class, that cross each other and turn: what a kernel is good for.

``python -m experiments kernels --out DIR``. No line separates the rings, and where they are changes
with time. Each learner is tuned on run 0 of each speed, and measured on the others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import lasec
from experiments import digests
from experiments.figures import SETTINGS, interval, save
from experiments.journal import Journal, Task
from experiments.output import read_csv, write_json
from experiments.published import Published, Row
from lasec.mercer import RBF

ROUNDS, WINDOWS = 5_000, 20
TURNS = (8_000, 4_000, 2_000, 1_000, 500)  # rows in which the rings turn once
WATCHED = 1_000
BUDGET, QUERY_RATE, TUNING = 100, 0.3, 0
BANDWIDTHS, RIDGES = (0.25, 0.35, 0.5, 0.7), (0.1, 1.0, 5.0, 20.0)
DRIFTS = (0.0001, 0.001, 0.01, 0.1, 1.0)
AGGRESSIVENESS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
PERCEPTRON = 1e9  # a ridge so large that the second-order perceptron is the perceptron
# Color and marker; those of LASEC, SOP and the perceptron are as in the paper's panels.
LEARNERS = {
    "KernelLASEC": ("#D55E00", "o"),
    "KernelLASEC-SS": ("#E69F00", "D"),
    "kernel SOP": ("#0072B2", "s"),
    "kernel perceptron": ("#222222", "^"),
    "LASEC (linear)": ("#999999", "v"),
}

Parameters = dict[str, float]
Array = NDArray[Any]


def rings(rounds: int, turn: float, number: int) -> tuple[Array, Array]:
    """Rings of radius 1 around +-0.6 in a direction that turns, with noise of 0.1."""
    rng = np.random.default_rng([number, int(turn)])
    y, angle = rng.choice([-1, 1], rounds), rng.uniform(0.0, 2.0 * np.pi, rounds)
    place = 2.0 * np.pi * np.arange(rounds) / turn
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.6 * y[:, None] * np.column_stack([np.cos(place), np.sin(place)])
    return X + 0.1 * rng.standard_normal(X.shape), y


def build(learner: str, given: Parameters, seed: int) -> lasec.Learner:
    """A learner of two features with these parameters."""
    if learner == "LASEC (linear)":
        return lasec.LASEC(2, drift=given["drift"], ridge=given["ridge"], seed=seed)
    options: Any = {
        "kernel": RBF(given["bandwidth"]),
        "drift": given["drift"],
        "ridge": given["ridge"],
        "budget": BUDGET,
        "seed": seed,
    }
    if learner == "KernelLASEC-SS":
        return lasec.KernelLASEC_SS(2, aggressiveness=given["aggressiveness"], **options)
    return lasec.KernelLASEC(2, **options)


def _behind(learner: str, given: Parameters, *rest: Any) -> Any:
    """The learner with its kernel, and the code of a run."""
    made = build(learner, given, 0)
    kernel = digests.code(RBF.__module__, digests.CHECKS)
    return digests.learner(made), kernel, digests.source(rings, play)


@digests.depends_on(_behind)
def play(learner: str, given: Parameters, turn: float, number: int, rounds: int) -> dict[str, Any]:
    """One run: accuracy, query rate, and the accuracy in each window."""
    records = build(learner, given, number).run(*rings(rounds, turn, number))
    windows = [float(1.0 - part.mean()) for part in np.array_split(records.mistake, WINDOWS)]
    return {"accuracy": records.accuracy, "rate": records.rate, "windows": windows}


def grid(learner: str, best: dict[str, Parameters]) -> list[Parameters]:
    """The settings that are tried; for selective sampling with LASEC's bandwidth."""
    if learner == "KernelLASEC-SS":
        return [
            best["KernelLASEC"] | {"ridge": ridge, "drift": drift, "aggressiveness": aggressiveness}
            for ridge, drift, aggressiveness in product(RIDGES[:3], DRIFTS[1:4], AGGRESSIVENESS)
        ]
    bandwidths = (0.0,) if learner == "LASEC (linear)" else BANDWIDTHS
    ridges = (PERCEPTRON,) if learner == "kernel perceptron" else RIDGES
    drifts = DRIFTS if "LASEC" in learner else (0.0,)
    return [
        {"bandwidth": bandwidth, "ridge": ridge, "drift": drift}
        for bandwidth, ridge, drift in product(bandwidths, ridges, drifts)
        if ridge * drift < 1.0
    ]


def tuned(journal: Journal, turn: float, rounds: int) -> dict[str, Parameters]:
    """The most accurate setting of each learner on run 0, of those that keep to the query rate."""
    best: dict[str, Parameters] = {}
    for learner in LEARNERS:
        tried = grid(learner, best)
        tasks = [(play, (learner, given, turn, TUNING, rounds)) for given in tried]
        score = [
            one["accuracy"] - (10.0 * _beyond(one["rate"]) if "aggressiveness" in given else 0.0)
            for given, one in zip(tried, journal.run(f"tuning {learner}", tasks), strict=True)
        ]
        best[learner] = tried[int(np.argmax(score))]
    return best


def _beyond(rate: float) -> float:
    """How far a query rate is from the one wanted, beyond three points."""
    return max(0.0, abs(rate - QUERY_RATE) - 0.03)


def measure(journal: Journal, out: Path, runs: int, size: float) -> dict[str, Any]:
    """Every learner at every speed, on runs that it was not tuned on."""
    rounds = max(WINDOWS, int(ROUNDS * size))
    settings = {str(turn): tuned(journal, turn * size, rounds) for turn in TURNS}
    about = {"runs": runs, "size": size, "rounds": rounds, "settings": settings}
    one = published(out, about)
    found = journal.run("measuring", one.tasks)
    watched: dict[str, list[list[float]]] = {learner: [] for learner in LEARNERS}
    for head, result in zip(one.heads, found, strict=True):
        if head["rows_a_turn"] == WATCHED:
            watched[head["learner"]].append(result["windows"])
    return about | {"rows": one.write(found), "windows": watched}


def published(out: Path, about: dict[str, Any]) -> Published:
    """The CSV in a folder, as its JSON says that it was made."""
    size, rounds, heads, tasks = about["size"], about["rounds"], list[Row](), list[Task]()
    for turn, learner, number in product(TURNS, LEARNERS, range(1, about["runs"] + 1)):
        heads.append({"rows_a_turn": turn, "learner": learner, "run": number})
        given = about["settings"][str(turn)][learner]
        tasks.append((play, (learner, given, turn * size, number, rounds)))
    return Published(out / "kernels.csv", heads, tasks, _columns)


def _columns(result: dict[str, Any]) -> list[Row]:
    return [{name: result[name] for name in ("accuracy", "rate")}]


def column(rows: Sequence[dict[str, Any]], learner: str, turn: int, name: str) -> list[float]:
    """One number of every run of a learner at a speed."""
    return [row[name] for row in rows if (row["learner"], row["rows_a_turn"]) == (learner, turn)]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Accuracy with its 95 % interval, by rows a turn; a query rate where not all is asked."""
    head = "| learner | query rate | " + " | ".join(f"{turn:,} a turn" for turn in TURNS) + " |"
    lines = [head, "|---" * (2 + len(TURNS)) + "|"]
    for learner in LEARNERS:
        rates = [np.mean(column(rows, learner, turn, "rate")) for turn in TURNS]
        low, high = (f"{100 * rate:.0f}" for rate in (min(rates), max(rates)))
        cells = [f"{low} %" if low == high else f"{low}-{high} %"]
        for turn in TURNS:
            mean, half = interval(column(rows, learner, turn, "accuracy"))
            cells.append(f"{100 * mean:.1f} ± {100 * half:.1f} %")
        lines.append(f"| {learner} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def picture(out: Path, found: dict[str, Any]) -> None:
    """The stream at two moments, accuracy over time at one speed, and accuracy by speed."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10.4, 4.6), layout="constrained")
        places = figure.subplot_mosaic(
            [["start", "time", "speed"], ["later", "time", "speed"]], width_ratios=[1.0, 1.9, 1.9]
        )
        _scatter(places["start"], 0.0, "at the start")
        _scatter(places["later"], 0.125, "1/8 turn later")
        _over_time(places["time"], found)
        _by_speed(places["speed"], found["rows"])
        handles, names = places["speed"].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(LEARNERS))
        save(figure, out / "kernels")


def _scatter(axes: Axes, turned: float, title: str) -> None:
    """The rings after a share of a turn."""
    X, y = rings(500, 1e9, 1)
    place = 2.0 * np.pi * turned
    turn = np.array([[np.cos(place), np.sin(place)], [-np.sin(place), np.cos(place)]])
    one, two = (X @ turn).T
    for label, color, marker in ((1, "#0072B2", "o"), (-1, "#E69F00", "x")):
        mine = y == label
        axes.scatter(one[mine], two[mine], s=7, lw=0.8, color=color, marker=marker, alpha=0.8)
    axes.set_title(f"Two classes, {title}", fontsize=9, loc="left")
    axes.set(aspect="equal", xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _over_time(axes: Axes, found: dict[str, Any]) -> None:
    """The mean accuracy of each window, with 95 % intervals."""
    ends = np.linspace(0, found["rounds"], WINDOWS + 1)[1:]
    for learner, (color, marker) in LEARNERS.items():
        mean, half = np.array([interval(one) for one in np.array(found["windows"][learner]).T]).T
        axes.plot(ends, mean, color=color, marker=marker, ms=4, lw=1.3, label=learner)
        axes.fill_between(ends, mean - half, mean + half, color=color, alpha=0.2, lw=0)
    axes.set_title(f"Over time, {WATCHED:,} rows a turn", fontsize=10, loc="left")
    axes.set(xlabel="row", ylabel="accuracy in a window", ylim=(0.6, 0.95))


def _by_speed(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    """The accuracy of whole runs against the speed of the drift, with 95 % intervals."""
    for learner, (color, marker) in LEARNERS.items():
        mean, half = np.array(
            [interval(column(rows, learner, turn, "accuracy")) for turn in TURNS]
        ).T
        axes.errorbar(
            TURNS, mean, yerr=half, color=color, marker=marker, ms=4.5, lw=1.3, capsize=2,
            label=_named(rows, learner),
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(TURNS, [f"{turn:,}" for turn in TURNS])
    axes.minorticks_off()
    axes.invert_xaxis()
    axes.set_title("Whole runs, by speed of the drift", fontsize=10, loc="left")
    axes.set(xlabel="rows a turn (faster to the right)", ylabel="accuracy", ylim=(0.6, 0.95))


def _named(rows: Sequence[dict[str, Any]], learner: str) -> str:
    """The learner, and its query rate where it does not ask always."""
    rate = np.mean([row["rate"] for row in rows if row["learner"] == learner])
    return learner if rate == 1.0 else f"{learner} ({rate:.0%} of the labels)"


def study(journal: Journal, out: Path, runs: int, size: float) -> str:
    """CSV, JSON, Markdown and the figure."""
    found = measure(journal, out, runs, size)
    write_json(
        out / "kernels.json", runs=runs, size=size, rounds=found["rounds"], budget=BUDGET,
        tuning_run=TUNING, settings=found["settings"], windows=found["windows"],
    )  # fmt: skip
    return _draw(out, found)


def redraw(out: Path) -> str:
    """Draw the figure in a folder again, from its CSV and JSON."""
    about = json.loads((out / "kernels.json").read_text())
    return _draw(out, about | {"rows": read_csv(out / "kernels.csv")})


def _draw(out: Path, found: dict[str, Any]) -> str:
    made = table(found["rows"])
    (out / "kernels.md").write_text(made)
    picture(out, found)
    return made
