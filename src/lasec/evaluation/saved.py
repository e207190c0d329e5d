"""The account of a run as bytes, and back."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lasec import validation
from lasec.alarms import Alarm
from lasec.errors import StateError
from lasec.evaluation.account import Account, Due
from lasec.evaluation.calendar import calendar_of
from lasec.evaluation.points import FACTS, Mark
from lasec.evaluation.scored import MANY, TOGETHER, Scored, Wait
from lasec.evaluation.tally import BINS, COUNTS, KINDS, WIDTH, Margins, Rows
from lasec.metrics import Confusion, Meter, Scores, sums
from lasec.metrics.losses import Loss
from lasec.metrics.means import Scope
from lasec.metrics.score_bins import SIZE, Bin
from lasec.parameters import LARGEST, Range, number
from lasec.persistence.container import Arrays, bundle, pack, restored, unbundle

KIND = "run"
_COUNTERS = (
    "every", "first", "before", "rows", "labels", "mistakes", "known", "same", "silent",
    "unscored", "answers", "refused", "settled",
)  # fmt: skip
_EMPTY = np.zeros(sums.SHAPE)
_WHOLE = ("ticket", "since", "labels", "others", "quiet")
_NUMBERS = tuple(name for name in Alarm._fields if name not in ("kind", "what"))


def write(now: Account) -> bytes:
    """The account as bytes."""
    sizes, parts = bundle({"meter": now.meter.to_bytes()})
    header = {
        "kind": KIND,
        "points": now.limit,
        "segments": now.segments,
        "counters": {name: getattr(now, name) for name in _COUNTERS},
        "late": now.late,
        "learner": now.learner,
        "grouped": now.grouped,
        "names": list(now.names),
        "classes": now.classes,
        "bounded": now.margins.bounded,
        "place": now.scored.place,
        "latest": now.latest,
        "span": now.calendar.span,
        "recent": len(now.recent),
        "alarms": [[alarm.kind, alarm.what] for alarm in now.alarms],
        "parts": sizes,
    }
    return pack(header, parts | _arrays(now))


def _arrays(now: Account) -> Arrays:
    latest = Mark(0, Scope(_EMPTY, 0, 0), 0.0, now.status)
    marks, ends = now.marks, now.ends
    return {
        "status": np.array(latest.facts()),
        "marks": np.array([mark.facts() for mark in marks]).reshape(-1, FACTS),
        "blocks": np.array([mark.scope.block for mark in marks]).reshape(-1, *sums.SHAPE),
        "ends": np.array([row for row, _ in ends], dtype=np.int64),
        "totals": np.array([total for _, total in ends]).reshape(-1, WIDTH),
        "total": now.total,
        "table": now.table,
        "margins": now.margins.table,
        **_probabilities(now.scored),
        "calendar": now.calendar.table,
        "recent": np.flatnonzero(now.recent > 0),
        "unlabeled": np.flatnonzero(now.recent < 0),
        "counts": now.counts,
        **_cells("heard", now.heard),
        **_cells("truth", now.truth),
        "rest": np.array([np.asarray(a, dtype=np.float64) for a in now.rest]),
        "verdicts": np.array(list(now.verdicts.items()), dtype=np.int64).reshape(-1, 2),
        "alarms": np.array(
            [[getattr(alarm, name) for name in _NUMBERS] for alarm in now.alarms], dtype=np.float64
        ).reshape(-1, len(_NUMBERS)),
        "due": np.array([list(due) for due in sorted(now.due)], dtype=np.float64).reshape(-1, 4),
    }


def _cells(name: str, table: Confusion) -> Arrays:
    """A confusion matrix as arrays of a file."""
    return {f"{name}.{field}": sums for field, sums in table._asdict().items()}


def _confusion(name: str, arrays: Arrays, classes: int) -> Confusion:
    """The confusion matrix that :func:`_cells` wrote, if it can be one."""
    made = Confusion(*(arrays[f"{name}.{field}"] for field in Confusion._fields))
    few = len(made.rows)
    shapes = [(few,), *[(few, few)] * 3]
    for cells, shape in zip(made, shapes, strict=True):
        if cells.shape != shape or cells.dtype != np.float64 or few > classes:
            raise ValueError(f"{name} has not the shape of a confusion matrix")
        if not ((cells >= 0.0) & (cells <= LARGEST)).all():
            raise ValueError(f"{name} holds impossible numbers")
    return made


def _probabilities(scored: Scored) -> Arrays:
    """The sums of probabilities as arrays of a file."""
    both = (scored.heard, scored.truth)
    return {
        "scores": np.array([one.bins for one in both]),
        "losses": np.array([one.losses for one in both]),
        "wait": scored.wait,
    }


def _scored(place: int, arrays: Arrays, classes: int) -> Scored:
    """The sums of probabilities that :func:`_probabilities` wrote, if they can be some."""
    heard, truth = map(Scores, arrays["scores"], arrays["losses"])
    wait = arrays["wait"]
    p, q, heard_, true, class_ = wait
    shares, labels = np.array([p, q]), np.array([heard_, true])
    if not (
        ((shares >= 0.0) & (shares <= 1.0)).all()
        and ((labels >= -1.0) & (labels < 2.0 + classes) & (labels == np.floor(labels))).all()
        and (q[heard_ >= 0.0] > 0.0).all()
        and np.isin(class_, range(MANY, 2)).all()
        and (arrays["scores"] >= 0.0).all()
        and wait.shape[1] < TOGETHER
    ):
        raise ValueError("scores: they hold impossible numbers")
    return Scored(heard, truth, place, wait)


def read(data: bytes) -> Account:
    """The account that :func:`write` wrote, or a :class:`~lasec.StateError`."""
    return restored(data, _restored)


def _restored(header: dict[str, Any], arrays: Arrays) -> Account:
    if header.get("kind") != KIND:
        raise StateError("foreign: this is not the summary of a run")
    meter = Meter.from_bytes(unbundle(header["parts"], arrays)["meter"])
    segments = number("segments", header["segments"], int, Range(1, 10_000))
    _check(arrays, segments)
    if arrays["counts"].size > len(header["classes"]):
        raise ValueError("counts: there are more than classes")
    counters = {n: number(n, header["counters"][n], int, Range(0, 2**53)) for n in _COUNTERS}
    now = Account(meter, number("points", header["points"], int, Range(2, 100_000)), segments,
                  **counters)  # fmt: skip
    now.late = number("late", header["late"], bool, None)
    now.names = _named(header["names"], segments)
    now.learner, now.grouped = _followed(header["learner"]), header["grouped"]
    if not any(now.grouped is known for known in (None, False, True)):
        raise ValueError("grouped: expected yes, no, or nothing")
    texts, numbers = header["alarms"], arrays["alarms"].tolist()
    now.alarms = [_alarm(text, row) for text, row in zip(texts, numbers, strict=True)]
    now.status = Mark.of(arrays["status"].tolist(), _EMPTY).status
    marks = zip(arrays["marks"].tolist(), arrays["blocks"], strict=True)
    now.marks = [Mark.of(facts, block) for facts, block in marks]
    now.ends = list(zip(arrays["ends"].tolist(), arrays["totals"], strict=True))
    now.total, now.table = arrays["total"], arrays["table"]
    bounded = number("bounded", header["bounded"], bool, None)
    now.margins = Margins.of(arrays["margins"], bounded=bounded)
    now.classes = _classes(header["classes"])
    now.counts = arrays["counts"]
    now.latest = number("latest", header["latest"], int, Range(-1, len(now.classes) - 1))
    now.heard, now.truth = (
        _confusion(name, arrays, len(now.classes)) for name in ("heard", "truth")
    )
    now.scored = _scored(
        number("place", header["place"], int, Range(MANY, 1)), arrays, len(now.classes)
    )
    span = number("span", header["span"], float, Range(0.0, LARGEST))
    now.calendar = calendar_of(span, arrays["calendar"])
    now.recent = np.zeros(number("recent", header["recent"], int, Range(0, now.kept)), np.int8)
    now.recent[arrays["recent"]], now.recent[arrays["unlabeled"]] = 1, -1
    now.rest = _rest(arrays["rest"], segments, len(now.classes))
    now.verdicts = _verdicts(arrays["verdicts"], len(now.classes))
    now.due = [Due(t, int(n), int(k), int(y)) for t, n, k, y in arrays["due"].tolist()]
    if any(not 0 <= due.place < len(now.classes) for due in now.due):
        raise ValueError("due: expected numbers of classes")
    heapq.heapify(now.due)
    _agree(now)
    return now


def _agree(now: Account) -> None:
    """Raise an error where the parts of an account contradict each other."""
    marks = [0, *(mark.round for mark in now.marks)]
    ends = [0, *(row for row, _ in now.ends)]
    tickets = now.first + now.settled + np.arange(now.rest.y.size)
    if (
        now.every < 1
        or now.meter.window is None
        or now.settled + now.rest.y.size != now.rows
        or now.meter.rows < (now.rows if now.late else now.settled)
        or max(now.labels, now.known) > now.rows
        or max(now.mistakes + now.unscored, now.same) > now.known
        or not now.unscored <= now.silent <= now.rows
        or now.counts.sum() != now.known
        or now.calendar.rows.sum() > now.rows
        or now.scored.rows
        != (int(now.total[COUNTS + sums.Column.ROUNDS]) if now.margins.bounded else 0)
        or len(now.marks) > now.limit
        or max(marks[-1], ends[-1]) > now.rows
        or ends[-1] > now.settled
        or not {row for row in marks if row <= now.settled} <= set(ends)
        or any(after <= before for rows in (marks, ends) for before, after in pairwise(rows))
        or not np.array_equal(now.rest.ticket, tickets)
    ):
        raise ValueError("the counters contradict each other")


def _alarm(text: Sequence[Any], row: Sequence[float]) -> Alarm:
    kind, what = text
    if not (isinstance(kind, str) and isinstance(what, str)):
        raise TypeError("alarms: expected the kind of each")
    found: dict[str, Any] = dict(zip(_NUMBERS, row, strict=True))
    for name, value in found.items():
        if name in _WHOLE:
            found[name] = int(value)
        elif math.isnan(value):
            found[name] = math.nan  # the one that equals itself in a tuple
    return Alarm(kind=kind, what=what, **found)


def _named(names: Any, segments: int) -> dict[str, int]:
    """The groups and their numbers."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("names: expected a list of text")
    if len(set(names)) < len(names) or len(names) > segments:
        raise ValueError("names: some are the same, or there are more than there is room for")
    return {name: place for place, name in enumerate(names)}


def _classes(listed: Any) -> list[Any]:
    """The classes of a run."""
    if not isinstance(listed, list) or len(set(listed)) < len(listed):
        raise ValueError("classes: expected a list of different labels")
    return [validation.class_label(name) for name in listed]


def _rest(table: NDArray[Any], segments: int, classes: int) -> Rows:
    """The rows that wait, if they can be those of a run."""
    with np.errstate(invalid="ignore"):
        rest = Rows(*(a.astype(k) for a, k in zip(table, KINDS, strict=True)))
    label, margin, q, asked, _, _, y, group, time, predicted, true = rest
    numbers = np.array([predicted, true])
    if not (
        all(np.array_equal(a, b, equal_nan=True) for a, b in zip(rest, table, strict=True))
        and np.isin(label, (-1, 0, 1)).all()
        and ((np.abs(y) == np.abs(label)) | np.isnan(y)).all()
        and np.array_equal(true < 0, np.isnan(y))
        and ((numbers >= -1) & (numbers < classes)).all()
        and np.isfinite(margin).all()
        and np.isfinite(time).all()
        and ((q >= 0.0) & (q <= 1.0) & ((q > 0.0) | ~asked)).all()
        and ((group == -1).all() or ((group >= 0) & (group <= segments)).all())
    ):
        raise ValueError("the rows that wait hold impossible numbers")
    return rest


def _verdicts(table: NDArray[Any], classes: int) -> dict[int, int]:
    if table.dtype != np.int64 or table.shape[1:] != (2,):
        raise ValueError("verdicts: expected tickets with numbers of classes")
    if not ((table[:, 1] >= 0) & (table[:, 1] < classes)).all():
        raise ValueError("verdicts: expected numbers of classes")
    return dict(table.tolist())


def _followed(listed: Any) -> tuple[str, int] | None:
    """Which learner the run is of, as it was written."""
    if listed is None:
        return None
    name, dimension = listed
    if not isinstance(name, str):
        raise TypeError("learner: expected its name")
    return name, number("dimension", dimension, int, Range(1, 2**31))


def _check(arrays: Arrays, segments: int) -> None:
    """Shapes as an account would have written them."""
    marks, ends = len(arrays["marks"]), len(arrays["ends"])
    shapes = {
        "status": (FACTS,),
        "marks": (marks, FACTS),
        "blocks": (marks, *sums.SHAPE),
        "totals": (ends, WIDTH),
        "total": (WIDTH,),
        "table": (segments + 1, WIDTH),
        "margins": (4, BINS),
        "scores": (2, 2, SIZE, len(Bin)),
        "losses": (2, 2, len(Loss)),
        "wait": (len(Wait), arrays["wait"].shape[-1]),
        "calendar": (3, arrays["calendar"].shape[-1]),
        "counts": (arrays["counts"].size,),
        "rest": (len(Rows._fields), arrays["rest"].shape[-1]),
        "due": (len(arrays["due"]), 4),
        "alarms": (len(arrays["alarms"]), len(_NUMBERS)),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype != np.float64:
            raise ValueError(f"{name} has not the shape of a run's")
    for name in ("totals", "total", "table", "scores", "losses", "margins", "counts"):
        if not np.abs(arrays[name]).max(initial=0.0) <= sums.LARGEST:
            raise ValueError(f"{name} holds NaN or a number beyond all use")
    if not sums.sound(arrays["blocks"]):
        raise ValueError("blocks: they are not those of a meter")
    for name in ("recent", "unlabeled", "ends"):
        if arrays[name].dtype != np.int64 or (arrays[name] < 0).any() or arrays[name].ndim != 1:
            raise ValueError(f"{name}: expected numbers of rows")
    due = arrays["due"]
    if not (np.isfinite(due).all() and (due[:, 1:] >= 0.0).all()):
        raise ValueError("due: expected times, tickets and classes")
