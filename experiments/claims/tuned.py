"""What tuning does to two verdicts: BBQ's b at small budgets, and LASEC's c on USPS."""

from __future__ import annotations

import math

import numpy as np

from experiments import tables
from experiments.claims.evidence import Evidence, finding
from experiments.claims.selective import RATE_OF
from experiments.measuring import STEP
from experiments.panels import Choices
from experiments.protocols import PER_RATE
from experiments.published import Row

DATASETS = ("synthetic", "USPS")


def by_stability(e: Evidence) -> str:
    """Accuracy of LASEC minus that of SOP, one line for each c; each at its best b in hindsight."""
    head = ["c / mean squared norm", *(f"{name}: best b, LASEC minus SOP" for name in DATASETS)]
    columns = [_gaps(e.extra[f"stability_{name.lower()}"]) for name in DATASETS]
    steps = sorted(set().union(*columns))
    lines = [[f"{c:,g}", *(column.get(c, "") for column in columns)] for c in steps]
    return tables.Table(head, lines).markdown()


def _gaps(rows: list[Row]) -> dict[float, str]:
    by: dict[float, dict[float, list[float]]] = {}
    for row in rows:
        by.setdefault(row["c"], {}).setdefault(row["b"], []).append(row["accuracy"])
    best = {c: max(given, key=lambda b: float(np.mean(given[b]))) for c, given in by.items()}
    sop = np.array(by[math.inf][best[math.inf]])
    made = {math.inf: f"{best[math.inf]:g} (SOP, accuracy {sop.mean():.4f})"}
    for c, b in best.items():
        if c < math.inf:
            gap = finding("", np.array(by[c][b]) - sop)
            made[c] = f"{b:g}, {gap.estimate:+.4f} ± {gap.half:.4f}"
    return made


def late_start(e: Evidence, chosen: dict[str, Choices]) -> str:
    """From which row on BBQ and BBQ-I can query where b is tuned for the query rate."""
    words = []
    for algorithm in ("BBQ", "BBQ-I"):
        for panel, rate in RATE_OF.items():
            given = chosen[panel][PER_RATE][f"{algorithm}@{rate}"]["parameters"]
            b, kappa = given["ridge"], given["exponent"]
            first = math.floor((1.0 + b) ** (1.0 / kappa)) + 1
            before = (first - 1) // STEP * STEP
            queries = float(e.column(panel, algorithm, "queries", before).mean())
            words.append(
                f"{algorithm} in panel {panel}: b = {b:g} and kappa = {kappa:.2f}, no query before "
                f"row {first:,}; {queries:.1f} queries in rows 1 to {before:,}, mean of the runs"
            )
    return "\n".join(f"- {line}" for line in words)
