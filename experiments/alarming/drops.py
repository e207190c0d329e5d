"""The accuracy alarm, fast and confirmed: false alarms, rises found, and what it says of them.

Rows have the margins and propensities that a Tracker had on a real stream at a label budget of
10 %; whether it is wrong is simulated, with a probability that is known, and larger where it
was unsure. The difficulty is constant, has a cycle of 1,000 rows, or is autocorrelated (0.995).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import lasec
from experiments.alarming import made
from experiments.alarming.inputs import table
from experiments.alarming.made import Array, autoregressive
from lasec.alarms import Alarm, DropAlarm
from lasec.cli.options import Asking

ERRORS = {"elec2": 0.16, "flights": 0.38}
DIFFICULTY = ("constant", "cycle", "AR(1) 0.995")
RISES = (0.1, 0.2, 0.3, 0.5)
ROWS, AT, LENGTH, RECORDED = 100_000, 16_000, 24_000, 20_000


@cache
def recorded(name: str) -> tuple[Array, Array]:
    """Margins and propensities of a Tracker on a real stream, from row 2,000 on."""
    opened = table(name)
    with opened.table:
        encoded = (
            Asking().spec("tracker", opened.reading).encoder(opened.table.head, constant=False)
        )
        batch = next(iter(opened.table.batches(0, RECORDED)))
        X, y = encoded.encode(batch), np.array(batch[opened.label].to_pylist(), dtype=object)
    records = lasec.Tracker(rate=0.1, seed=0).run(X, y)
    return records.margin[2_000:], records.propensity[2_000:]


def _chances(
    error: float, doubts: Array, difficulty: str, rng: np.random.Generator, rows: int
) -> Array:
    """The probability of a mistake in each row."""
    factor = np.ones(rows)
    if difficulty == "cycle":
        factor += 0.7 * np.sin(2.0 * np.pi * np.arange(rows) / 1_000)
    elif difficulty != "constant":
        factor = np.exp(0.4 * autoregressive(rng, rows, 0.995) - 0.08)
    hard = 0.5 + 0.5 * doubts / doubts.mean()
    made: Array = np.clip(error * factor * hard, 0.0, 1.0)
    return made


def run(
    name: str, difficulty: str, rise: float, rows: int, seed: int, confirm: bool
) -> tuple[list[Alarm], Array]:
    """The alarms of a simulated run, and the true probabilities of a mistake."""
    rng = np.random.default_rng([seed, list(ERRORS).index(name), DIFFICULTY.index(difficulty)])
    margins, chances = recorded(name)
    at = rng.integers(len(margins), size=rows)
    margin, q = margins[at], chances[at]
    doubts = 0.5 * (1.0 - np.minimum(np.abs(margin), 1.0))
    p = _chances(ERRORS[name], doubts, difficulty, rng, rows)
    p[AT:] = np.clip(p[AT:] + rise, 0.0, 1.0) if rise else p[AT:]
    asked, wrong = rng.random(rows) < q, rng.random(rows) < p
    alarm, raised = DropAlarm(confirm=confirm), list[Alarm]()
    told = zip(margin.tolist(), q.tolist(), asked.tolist(), wrong.tolist(), strict=True)
    for t, (m, chance, queried, mistake) in enumerate(told):
        decision = lasec.Decision(1, m, 0.0, chance, queried, t)
        found = alarm.ask(decision)
        raised += [found] if found else []
        if queried:
            found = alarm.tell(lasec.Outcome(decision, -1 if mistake else 1, mistake, True))
            raised += [found] if found else []
    return raised, p


def false_alarms(name: str, difficulty: str, seeds: int) -> dict[str, Any]:
    """Alarms where the error does not rise for good, of both forms, per 100,000 rows."""
    found = {"stream": name, "error": ERRORS[name], "difficulty": difficulty, "rows": ROWS * seeds}
    for form, confirm in (("fast", False), ("confirmed", True)):
        count = sum(
            len(run(name, difficulty, 0.0, ROWS, seed, confirm)[0]) for seed in made.seeds(seeds)
        )
        found[form] = round(1e5 * count / ROWS / seeds, 2)
    return found


def rises(name: str, rise: float, confirm: bool, seeds: int) -> dict[str, Any]:
    """Rises that are found, when, and what is said of the error since."""
    late: list[tuple[Alarm, Array]] = []
    early = 0
    for seed in made.seeds(seeds):
        raised, p = run(name, "constant", rise, LENGTH, seed, confirm)
        early += sum(alarm.ticket < AT for alarm in raised)
        late += [(alarm, p) for alarm in raised if alarm.ticket >= AT][:1]
    truth = [float(p[AT + 1 : alarm.ticket + 1].mean()) for alarm, p in late]
    said = [alarm.after for alarm, _ in late]
    held = [a.low <= t <= a.high for (a, _), t in zip(late, truth, strict=True)]
    middle = float(np.median([alarm.ticket - AT for alarm, _ in late])) if late else ""
    return {
        "stream": name, "rise": rise, "form": "confirmed" if confirm else "fast",
        "streams": seeds, "found": len(late), "median_delay": middle,
        "said": round(float(np.mean(said)), 3) if late else "",
        "most": round(max(said), 3) if late else "",
        "true": round(float(np.mean(truth)), 3) if late else "",
        "interval_holds": sum(held) if confirm else "",
        "least_labels": min((alarm.labels for alarm, _ in late), default=""), "before": early,
    }  # fmt: skip
