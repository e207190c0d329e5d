"""The page's tables, a stream each: accuracy by learner and rate, labels asked, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.real import KNOWN
from experiments.whole.learners import LEARNERS, OURS, PEERS
from experiments.whole.sources import SOURCES

Row = dict[str, Any]
Cells = dict[tuple[str, str, float], list[Row]]
MARGIN = 0.005
BASELINES = ("last-asked", "previous", "constant")


def cells(rows: Sequence[Row]) -> Cells:
    """Runs by stream, learner and rate."""
    found: Cells = {}
    for row in rows:
        found.setdefault((row["stream"], row["learner"], row["rate"]), []).append(row)
    return found


def mean(cell: Sequence[Row], what: str = "accuracy") -> float:
    """The mean over the seeds."""
    return float(np.mean([row[what] for row in cell]))


def document(rows: Sequence[Row]) -> str:
    """What the page includes."""
    found = cells(rows)
    streams = list(dict.fromkeys(stream for stream, _, _ in found))
    parts = [f"**{summary(rows)}**", _overview(found, streams)]
    return "\n\n".join([*parts, *(_stream(found, stream) for stream in streams)]) + "\n"


def summary(rows: Sequence[Row]) -> str:
    """Who is ahead, in how many cells; the best peer is picked after the fact."""
    found = cells(rows)
    pairs = [(s, r) for s, learner, r in found if learner == OURS]
    ahead, last, previous = (
        [_gap(found, *pair, others) for pair in pairs if _gap(found, *pair, others) > 0.0]
        for others in (PEERS, ("last-asked",), ("previous",))
    )
    clear = sum(gap > MARGIN for gap in ahead)
    partial = [pair for pair in pairs if pair[1] < 1.0]
    asking = sum(_gap(found, *pair, ("uniform",)) > 0.0 for pair in partial)
    return (
        f"In {len(ahead)} of {len(pairs)} cells the Tracker is ahead of the best peer, in {clear} "
        f"of them by more than {MARGIN}; in {len(last)} it is ahead of the label asked last, and "
        f"in {len(previous)} of the label before, which costs every label. In {asking} of the "
        f"{len(partial)} cells with fewer than all labels its asking is worth more than uniform "
        "asking."
    )


def _gap(found: Cells, stream: str, rate: float, peers: Sequence[str]) -> float:
    """By how much the Tracker is ahead of the best of these."""
    others = [mean(found[stream, p, rate]) for p in peers if (stream, p, rate) in found]
    return mean(found[stream, OURS, rate]) - max(others, default=0.0)


def _overview(found: Cells, streams: Sequence[str]) -> str:
    """A line a cell: the Tracker, the best peer, and what needs no model."""
    lines = [
        _line(["stream", "rate", "Tracker", "asked", "uniform asking", "best peer", "its accuracy",
               "last asked label", "previous label", "best constant"]),
        _line(["---", *["---:"] * 4, "---", *["---:"] * 4]),
    ]  # fmt: skip
    for stream in streams:
        for rate in _rates(found, stream):
            peers = {p: mean(found[stream, p, rate]) for p in PEERS if (stream, p, rate) in found}
            best = max(peers, key=lambda name: peers[name])
            cell = found[stream, OURS, rate]
            plain = [mean(found[stream, name, rate]) for name in ("uniform", *BASELINES)]
            values = [mean(cell), *plain, peers[best]]
            texts = [f"{value:.{SOURCES[stream].digits}f}" for value in values]
            top = max(texts[0], texts[1], texts[2], texts[5])
            bold = [f"**{text}**" if text == top else text for text in texts]
            lines.append(
                _line(
                    [SOURCES[stream].title, f"{rate:g}", bold[0], f"{mean(cell, 'asked'):.3f}",
                     bold[1], LEARNERS[best].title, bold[5], bold[2], texts[3], texts[4]]
                )
            )  # fmt: skip
    return "\n".join(lines)


def _stream(found: Cells, stream: str) -> str:
    """All learners of a stream: accuracy at each rate, labels asked at the lowest, seconds."""
    rates = _rates(found, stream)
    names = list(dict.fromkeys(name for s, name, _ in found if s == stream))
    lines = [
        _line([f"{SOURCES[stream].title}, {KNOWN[stream].rows:,} rows",
               *(f"{rate:g}" for rate in rates), f"asked at {rates[0]:g}",
               *(f"seconds at {rate:g}" for rate in dict.fromkeys([rates[0], rates[-1]]))]),
        _line(["---", *["---:"] * (len(rates) + 1 + len({rates[0], rates[-1]}))]),
    ]  # fmt: skip
    for name in names:
        at = [found[stream, name, rate] for rate in rates]
        free = name in ("previous", "constant")
        seconds = [f"{mean(cell, 'seconds'):.1f}" for cell in (at[0], at[-1])][: len(rates)]
        lines.append(
            _line(
                [LEARNERS[name].title, *(_spread(cell, SOURCES[stream].digits) for cell in at),
                 "" if free else f"{mean(at[0], 'asked'):.3f}",
                 *(["" for _ in seconds] if name in BASELINES else seconds)]
            )
        )  # fmt: skip
    return "\n".join(lines)


def _spread(cell: Sequence[Row], digits: int) -> str:
    """The mean, and how far the seeds are apart."""
    values = [row["accuracy"] for row in cell]
    half = (max(values) - min(values)) / 2.0
    return f"{np.mean(values):.{digits}f}" + (f" ± {half:.{digits}f}" if len(values) > 1 else "")


def _rates(found: Cells, stream: str) -> list[float]:
    return sorted({rate for name, _, rate in found if name == stream})


def _line(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"
