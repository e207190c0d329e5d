"""The input alarm: false alarms, changes found, ways back, bursts, and real streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.alarming import made
from experiments.data import data_folder
from experiments.real import open_dataset
from lasec.alarms import Alarm, InputAlarm
from lasec.cli.inputs import Opened
from lasec.cli.options import Asking, Reading
from lasec.tables import table_of, watched

ROWS, AT, LENGTH = 200_000, 16_000, 24_000
STREAMS = ("independent rows", "cycle of 1,000 rows")
BURSTS = (64, 128, 192, 256, 512)
LIMIT = 60_000
# Input alarms of `lasec run NAME --alarms --json --limit 60000 --seed 0 --rate 0.1` as of commit
# 586bdf0, before there were blocks.
BEFORE = {
    "covertype": 248, "elec2": 187, "flights": 196, "kdd": 198, "noaa": 65, "outdoor": 15,
    "phishing": 45, "phishing_river": 4, "powersupply": 90, "usenet1": 6, "usenet2": 6, "usps": 38,
}  # fmt: skip


def false_alarms(kind: str, seeds: int) -> dict[str, Any]:
    """Alarms where nothing changes."""
    alarms = [InputAlarm().extend(made.stream(kind, ROWS, seed)) for seed in made.seeds(seeds)]
    count = sum(map(len, alarms))
    rows = ROWS * seeds
    return {
        "stream": kind,
        "rows": rows,
        "alarms": count,
        "per_100000": round(1e5 * count / rows, 2),
    }


def power(stream: str, change: str, seeds: int) -> dict[str, Any]:
    """Changes of one column that are found within 8,000 rows."""
    found, right, early, delays = 0, 0, 0, list[int]()
    for seed in made.seeds(seeds):
        X, column = made.changed(made.stream(stream, LENGTH, seed), change, AT, seed)
        alarms = InputAlarm().extend(X)
        early += sum(alarm.ticket < AT for alarm in alarms)
        late = [alarm for alarm in alarms if alarm.ticket >= AT]
        if late:
            found += 1
            right += late[0].kind == f"input: feature {column}"
            delays.append(late[0].ticket + 1 - AT)
    return {
        "stream": stream, "change": change, "streams": seeds, "found": found, "right": right,
        "median_delay": float(np.median(delays)) if delays else "", "before": early,
    }  # fmt: skip


def way_back(size: float, seeds: int) -> dict[str, Any]:
    """Alarms for one jump of 4,000 rows and back: there should be one."""
    counts = []
    for seed in made.seeds(seeds):
        X = made.stream(STREAMS[0], 40_000, seed)
        X[AT : AT + 4_000, 0] += size
        counts.append(len(InputAlarm().extend(X)))
    once, more = sum(n == 1 for n in counts), sum(n > 1 for n in counts)
    return {"jump": size, "streams": seeds, "one_alarm": once, "more": more}


def burst(rows: int, seeds: int) -> dict[str, Any]:
    """Alarms for a category of 30 % of some rows, that is never seen before or after."""
    counts = []
    for seed in made.seeds(seeds):
        rng = np.random.default_rng([seed, 7])
        X, begin = made.stream(STREAMS[0], LENGTH, seed), AT + int(rng.integers(64))
        X[:, 6] = 0.0
        X[begin : begin + rows, 6] = rng.random(rows) < 0.3
        counts.append(bool(InputAlarm().extend(X)))
    return {"burst": rows, "streams": seeds, "alarms": sum(counts)}


def table(name: str) -> Opened:
    """A real stream, as ``lasec run`` reads a table."""
    data = open_dataset(name, data_folder())
    return Opened(table_of(data.columns), Reading(label=data.label), [], name)


def real(name: str) -> tuple[dict[str, Any], list[Alarm]]:
    """Alarms of a real stream, on the cells that ``lasec run`` gives the alarm."""
    opened = table(name)
    with opened.table:
        encoded = (
            Asking().spec("tracker", opened.reading).encoder(opened.table.head, constant=False)
        )
        names = watched.names(encoded)
        alarm, raised, rows = InputAlarm(names=names), list[Alarm](), 0
        for batch in opened.table.batches(0, 4_096):
            some = batch.slice(0, min(batch.num_rows, LIMIT - rows))
            cells = watched.cells(encoded, some, encoded.encode(some))
            assert cells is not None
            raised += alarm.extend(cells)
            rows += len(cells)
            if rows >= LIMIT:
                break
    about = {"stream": name, "rows": rows, "columns": len(names)}
    return about | {"before": BEFORE[name], "alarms": len(raised)}, raised
