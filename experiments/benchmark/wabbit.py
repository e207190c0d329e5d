"""Vowpal Wabbit, in its own loop over a file in its own format.

Rows whose label is not asked have none in the file: they are predicted, and nothing is learned.
What Vowpal Wabbit writes as the prediction of a row is made before it learns from that row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmark.baselines import uniformly_asked
from experiments.contestants import Parameters
from lasec.streams import Stream

OPTIONS = "--loss_function logistic --invariant"


@lru_cache(maxsize=2)
def features(stream: Stream) -> list[str]:
    """Rows as Vowpal Wabbit reads them; zeros need not be said."""
    return [
        " | " + " ".join(f"{i}:{value:.6g}" for i, value in enumerate(x) if value)
        for x in stream.X.tolist()
    ]


def options(parameters: Parameters) -> str:
    """The options of the learning rate, its decay, and the ridge penalty; without them, its own."""
    if not parameters:
        return "--loss_function logistic"
    chosen = {"-l": "l", "--power_t": "power_t", "--l2": "l2"}
    return " ".join([OPTIONS, *(f"{option} {parameters[key]}" for option, key in chosen.items())])


def _predicted(
    stream: Stream, labels: Sequence[str], options: str
) -> tuple[NDArray[np.float64], list[str]]:
    """The margin of every row, and what Vowpal Wabbit says at the end."""
    from vowpalwabbit import Workspace  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder) / "rows.vw", Path(folder) / "predictions"
        lines = map("".join, zip(labels, features(stream), strict=True))
        rows.write_text("\n".join(lines) + "\n", encoding="ascii")
        model: Any = Workspace(f"{options} -d {rows} -p {out}", enable_logging=True, quiet=False)
        model.finish()
        margins = np.loadtxt(out, ndmin=2)[:, 0]
    return margins, model.get_log()


def _accuracy(stream: Stream, margins: NDArray[np.float64]) -> float:
    return float(((margins >= 0.0) == (stream.y > 0)).mean())


def uniform(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Logistic regression, asked uniformly."""
    asked = uniformly_asked(stream, rate, seed)
    labels = [
        str(label) if ask else "" for label, ask in zip(stream.y.tolist(), asked, strict=True)
    ]
    margins, _ = _predicted(stream, labels, options(parameters))
    return _accuracy(stream, margins), float(asked.mean())


def active(stream: Stream, rate: float, parameters: Parameters, seed: int) -> tuple[float, float]:
    """Importance-weighted active learning, of which it counts the labels that it used.

    A. Beygelzimer, S. Dasgupta and J. Langford. Importance weighted active learning. ICML 2009.
    """
    asking = f"--active --simulation --mellowness {parameters['mellowness']:.6g}"
    chosen = f"{options(parameters)} {asking} --random_seed {seed + 1}"
    margins, said = _predicted(stream, [str(label) for label in stream.y.tolist()], chosen)
    (queries,) = (line for line in said if line.startswith("total queries"))
    return _accuracy(stream, margins), int(queries.split("=")[1]) / len(stream.y)


def grid(scale: float) -> Iterator[Parameters]:
    """Step, forgetting (the learning rate times l2), and a rate that decays without forgetting."""
    for step, forget in product((15.0, 50.0, 150.0, 500.0), (0.0, 0.001, 0.01, 0.03, 0.1, 0.3)):
        yield {"l": step / scale, "power_t": 0.0, "l2": forget * scale / step}
    for step in (50.0, 500.0):
        yield {"l": step / scale, "power_t": 0.5, "l2": 0.0}


def grid_active(scale: float) -> Iterator[Parameters]:
    """The same, coarser."""
    for step, forget in product((5.0, 15.0, 50.0), (0.0, 0.001, 0.01, 0.1)):
        yield {"l": step / scale, "power_t": 0.0, "l2": forget * scale / step}
