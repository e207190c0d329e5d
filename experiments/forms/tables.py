"""The tables of the forms: means over draws, and paired differences with 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from experiments.figures import interval

Row = dict[str, Any]


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first ``left`` columns are text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    rows = [" | ".join(head), "|".join(rule), *(" | ".join(line) for line in lines)]
    return "".join(f"|{row}|\n" if row[0] == "-" else f"| {row} |\n" for row in rows)


def groups(rows: Sequence[Row], *names: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """The rows by the values of some columns, in the order in which they come."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(found.items())


def column(rows: Sequence[Row], key: str, **chosen: Any) -> dict[int, float]:
    """The values of a column by seed, in the rows that have these values in other columns."""
    wanted = [row for row in rows if all(row[name] == value for name, value in chosen.items())]
    return {row["seed"]: float(row[key]) for row in wanted}


def mean(values: dict[int, float], digits: int = 3) -> str:
    """The mean over draws; a dash without any."""
    return f"{np.mean(list(values.values())):,.{digits}f}" if values else "-"


def difference(ours: dict[int, float], theirs: dict[int, float], digits: int = 4) -> str:
    """The mean paired difference and half its 95 % interval, over draws that both have.

    >>> difference({1: 0.5, 2: 0.7}, {1: 0.4, 2: 0.6, 3: 0.9})
    '+0.1000 ± 0.0000'
    >>> difference({1: 0.5}, {1: 0.4})
    '+0.1000'
    """
    gaps = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    if not gaps:
        return "-"
    if len(gaps) == 1:
        return f"{gaps[0]:+.{digits}f}"
    middle, half = interval(gaps)
    return f"{middle:+.{digits}f} ± {half:.{digits}f}"


def wide(rows: Sequence[Row]) -> str:
    """The automatic form against the full one: accuracy, time and memory."""
    head = [
        "stream", "labels", "draws", "automatic", "full", "automatic - full",
        "automatic us", "full us", "automatic kB", "full kB",
    ]  # fmt: skip
    lines = []
    for (stream, rate), group in groups(rows, "stream", "rate"):
        ours, full = (column(group, "accuracy", form=f) for f in ("automatic", "full"))
        costs = [
            mean(column(group, key, form=form), 0)
            for key in ("us", "kb")
            for form in ("automatic", "full")
        ]
        shown = [mean(ours), mean(full), difference(ours, full)]
        lines.append([stream, f"{rate:.0%}", f"{len(ours)}", *shown, *costs])
    return markdown(head, lines)


def switch(rows: Sequence[Row]) -> str:
    """Both sides of the number of features from which on the automatic form is the wide one."""
    chosen = [row for row in rows if row["form"] == "wide"]
    head = ["stream", "labels", "draws", "automatic", "automatic - full", "automatic - wide"]
    head += ["automatic us", "full us", "wide us"]
    lines = []
    for stream, rate in dict.fromkeys((row["stream"], row["rate"]) for row in chosen):
        group = [row for row in rows if (row["stream"], row["rate"]) == (stream, rate)]
        forms = ("automatic", "full", "wide")
        ours, full, few = (column(group, "accuracy", form=form) for form in forms)
        costs = [mean(column(group, "us", form=form), 0) for form in forms]
        shown = [mean(ours), difference(ours, full), difference(ours, few)]
        lines.append([stream, f"{rate:.0%}", f"{len(ours)}", *shown, *costs])
    return markdown(head, lines)


def classes(rows: Sequence[Row]) -> str:
    """One Tracker of all classes against one for each class, and a forest."""
    head = [
        "stream", "classes", "labels", "draws", "Tracker", "one-vs-rest", "difference",
        "classes given", "River ARF", "MOA ARF", "Tracker us", "classes given us",
        "one-vs-rest us", "binary us", "Tracker / binary", "one-vs-rest / binary",
    ]  # fmt: skip
    lines = []
    for (stream, rate), group in groups(rows, "stream", "rate"):
        ours, rest, known = (column(group, key) for key in ("accuracy", "rest", "known"))
        forests = [_first(group, key) for key in ("river", "moa")]
        keys = ("us", "known_us", "rest_us", "binary_us")
        costs = [float(np.mean([row[key] for row in group])) for key in keys]
        ratios = [f"{cost / costs[-1]:.1f}" for cost in (costs[0], costs[2])]
        shown = [mean(ours), mean(rest), difference(ours, rest), mean(known), *forests]
        about = [stream, f"{group[0]['classes']}", f"{rate:.0%}", f"{len(group)}"]
        lines.append([*about, *shown, *(f"{cost:.0f}" for cost in costs), *ratios])
    return markdown(head, lines)


def _first(rows: Sequence[Row], key: str) -> str:
    """The accuracy of a forest, which runs on the first draw alone."""
    found = [row[key] for row in rows if row[key] not in (None, "")]
    return f"{found[0]:.3f}" if found else "-"


def moderation(rows: Sequence[Row]) -> str:
    """A Tracker against a logistic regression that is fitted again, answers late."""
    head = [
        "d", "concept", "draws", "rows", "labels", "Tracker", "refitted", "difference",
        "Tracker, second half", "refitted, second half", "difference, second half",
        "concept known", "Tracker us",
    ]  # fmt: skip
    lines = []
    for (d, drifting), group in groups(rows, "d", "drifting"):
        drifts = drifting in (True, "True")
        about = [f"{d}", "drifting" if drifts else "standing still", f"{len(group)}"]
        pairs = [
            (column(group, key), column(group, f"refit_{key}")) for key in ("accuracy", "late")
        ]
        shown = [text for a, b in pairs for text in (mean(a), mean(b), difference(a, b, 3))]
        more = [mean(column(group, key), 0) for key in ("rows", "labels")]
        ends = [mean(column(group, "ceiling")), mean(column(group, "us"), 0)]
        lines.append([*about, *more, *shown, *ends])
    return markdown(head, lines, left=2)


def small(rows: Sequence[Row], usual: str = "default") -> str:
    """The small forms against the default one."""
    forms = [form for form in dict.fromkeys(row["form"] for row in rows) if form != usual]
    head = ["stream", "d", "labels", "draws", usual, *(f"{form} - {usual}" for form in forms)]
    lines = []
    for (stream, d, rate), group in groups(rows, "stream", "d", "rate"):
        base = column(group, "accuracy", form=usual)
        gaps = [difference(column(group, "accuracy", form=form), base) for form in forms]
        lines.append([stream, f"{d}", f"{rate:.0%}", f"{len(base)}", mean(base), *gaps])
    return markdown(head, lines)


def small_costs(rows: Sequence[Row]) -> str:
    """State and time of each form, at the widths of the streams."""
    head = ["form", "d", "state kB", "us at 10%", "us at 30%"]
    lines = []
    for (form, d), group in groups(rows, "form", "d"):
        times = [
            f"{np.mean([row['us'] for row in group if row['rate'] == rate]):.1f}"
            for rate in (0.1, 0.3)
        ]
        lines.append([form, f"{d}", f"{group[0]['kb']:g}", *times])
    return markdown(head, sorted(lines, key=lambda line: int(line[1])))
