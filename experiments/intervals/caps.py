"""Labels that are asked for, against the most that the command line and the owner's page print.

Streams of 200 to 100,000 rows at label budgets of 1 to 50 %, with the budget that ``lasec run``
makes for a file of so many rows, without a warm-up in a third of them, and with a boost, as after
an alarm, in a quarter. ``lasec run`` prints "at most 5 % + 76", the owner's page the whole labels
of ``Budgeted.cap``. Both must hold after every row, whatever the margins are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.journal import Journal, Task
from experiments.output import write_csv
from experiments.tables import Table
from lasec.cli.options import Asking
from lasec.queries import Budgeted
from lasec.selector import Selector

Floats = NDArray[np.float64]
Row = dict[str, Any]

FEWEST, MOST, LEAST_RATE, MOST_RATE = 200, 100_000, 0.01, 0.5
BOOST, OVER = 100.0, 5_000.0


def _turning(rng: np.random.Generator, rows: int) -> Floats:
    """Certain for half of the rows, so that the bucket fills up, and then not at all."""
    signs = rng.choice([-1.0, 1.0], rows)
    return np.asarray(np.where(np.arange(rows) < rows // 2, signs, 0.0))


MARGINS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "uncertain": lambda rng, rows: np.zeros(rows),
    "certain": lambda rng, rows: np.ones(rows),
    "mixed": lambda rng, rows: np.tanh(rng.normal(0.0, 2.0, rows)),
    "certain, then uncertain": _turning,
    "more certain with each row": lambda rng, rows: np.tanh(
        rng.normal(0.0, 4.0, rows) * np.linspace(0.0, 1.0, rows)
    ),
}


def budget(number: int, rate: float, rows: int) -> Budgeted:
    """The budget that ``lasec run`` makes for a file; a third have no warm-up."""
    made = Asking(rate, rows=rows, warm_up=0.0 if number % 3 == 2 else None).budget(None).query()
    return Budgeted(rate) if made is None else made


def one(number: int, most: int) -> Row:
    """A stream: the labels that it asked for, and how near they came to the printed cap."""
    rng = np.random.default_rng([number, 39])
    rows = round(FEWEST * (most / FEWEST) ** rng.random())
    rate = round(float(LEAST_RATE * (MOST_RATE / LEAST_RATE) ** rng.random()), 3)
    name = list(MARGINS)[number % len(MARGINS)]
    query, margins = budget(number, rate, rows), MARGINS[name](rng, rows)
    selector, turn = Selector(query, seed=number), int(rng.integers(rows))
    _, before, _ = selector.decide_all(margins[:turn])
    if number % 4 == 0:
        query.boost(selector.query_state, BOOST, OVER)
    _, after, _ = selector.decide_all(margins[turn:])
    asked = np.cumsum(np.concatenate([before, after]))
    caps = printed(query, rows)
    return {
        "stream": number, "margins": name, "rows": rows, "rate": rate,
        "warm_up": query.warm_up, "labels": int(asked[-1]), "printed": int(caps[-1]),
        "used": round(float((asked - rate * np.arange(1, rows + 1)).max()) / query.slack, 4),
        "violations": int((asked > caps).sum()),
    }  # fmt: skip


def printed(query: Budgeted, rows: int) -> Floats:
    """The lower of both printed caps, in whole labels, after each row.

    >>> printed(Budgeted(0.1), 1_000)[[0, 499, 999]].tolist()
    [1.0, 126.0, 176.0]
    """
    share, slack = float(f"{100 * query.rate:g}") / 100, float(f"{query.slack:.0f}")
    counts = np.arange(1.0, rows + 1.0)
    of_run = np.floor(share * counts + slack + 1e-9)
    of_page = [math.floor(query.cap(count)) for count in counts.tolist()]
    return np.asarray(np.minimum(of_run, of_page), dtype=np.float64)


def measure(journal: Journal, out: Path, streams: int, most: int = MOST) -> str:
    """CSV and Markdown; gives the outcome in a sentence."""
    tasks: list[Task] = [(one, (number, most)) for number in range(streams)]
    rows = journal.run("caps", tasks)
    write_csv(out / "caps.csv", rows)
    (out / "caps.md").write_text(document(rows))
    return outcome(rows)


def outcome(rows: list[Row]) -> str:
    """How often the printed cap was exceeded, and how near it came."""
    bad = sum(row["violations"] > 0 for row in rows)
    return (
        f"{bad} violations in {len(rows)} streams and {sum(row['rows'] for row in rows):,} rows; "
        "of the labels that the cap allows above the rate, at most "
        f"{max(row['used'] for row in rows):.0%} were ever used."
    )


def document(rows: list[Row]) -> str:
    """The table, and the outcome."""
    return f"{_table(rows).markdown()}\n{outcome(rows)}\n"


def _table(rows: list[Row]) -> Table:
    head = [
        "margins", "streams", "rows", "budget", "labels", "cap at the end",
        "most used above the rate", "violations",
    ]  # fmt: skip
    lines = []
    for name in MARGINS:
        mine = [row for row in rows if row["margins"] == name]
        if mine:
            spent, caps = (sum(row[of] for row in mine) for of in ("labels", "printed"))
            lines.append([
                name, f"{len(mine)}", _span(mine, "rows", "{:,}"), _span(mine, "rate", "{:.1%}"),
                f"{spent:,}", f"{caps:,}", f"{max(row['used'] for row in mine):.0%}",
                f"{sum(row['violations'] > 0 for row in mine)}",
            ])  # fmt: skip
    return Table(head, lines)


def _span(rows: list[Row], of: str, form: str) -> str:
    values = [row[of] for row in rows]
    return f"{form.format(min(values))} to {form.format(max(values))}"
