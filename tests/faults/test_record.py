"""Records: what is written is read again, and what was not declared is refused in words."""

import math
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from lasec.errors import StateError
from lasec.parameters import Range
from lasec.persistence.container import Arrays, pack, unpack
from lasec.persistence.record import RISING, Free, Shape, dump, load


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    row: Annotated[int, Range(0, 100)]
    place: Annotated[NDArray[np.float64], Shape(2)]
    note: str = ""
    size: Free | None = None

    def validate(self):
        return "a point is nowhere" if self.row == 13 else ""


class Counter:
    """An object with a state beside its parameters."""

    def __init__(self, *, step: Annotated[int, Range(1, 9)] = 1):
        self.step, self.told = step, 0

    @property
    def _state(self) -> Annotated[int, Range(0, 99)]:
        return self.told

    @_state.setter
    def _state(self, told):
        self.told = told


@dataclass
class Everything:
    KIND: ClassVar[str] = "everything"

    width: Annotated[int, Range(0, 10)]
    share: Annotated[float, Range(0.0, 1.0)]
    color: Color
    wide: Annotated[NDArray[np.float64], Shape("rows", "width")]
    ticket: Annotated[NDArray[np.int64], Shape("rows"), RISING]
    sure: Annotated[NDArray[np.bool_], Shape("rows")]
    counter: Counter
    pair: tuple[str, bool]
    any: Arrays
    origin: dict
    far: Free = math.inf
    last: Point | None = None
    points: list[Point] = field(default_factory=list)
    recent: deque[bool] = field(default_factory=deque)
    by_name: dict[str, Point] = field(default_factory=dict)
    label: Annotated[Any, str.upper] = "x"
    total: float = field(default=0.0, init=False)

    def __post_init__(self):
        self.total = float(self.wide.sum())


def filled():
    counter = Counter(step=2)
    counter.told = 7
    points = [
        Point(4, np.ones(2), "a", 2.0),
        Point(5, np.zeros(2)),
        Point(6, np.ones(2), "c", -math.inf),
    ]
    return Everything(
        3, 0.5, Color.BLUE, np.arange(6.0).reshape(2, 3), np.array([4, 9]), np.array([True, False]),
        counter, ("name", True), {"x": np.zeros(4, np.float32)}, {"more": [1, None]},
        last=points[0], points=points, recent=deque([True, False]),
        by_name={"one": points[1]}, label="y",
    )  # fmt: skip


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, (list, tuple, deque)):
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            same(mine, its)
    elif isinstance(one, dict):
        same(list(one.items()), list(other.items()))
    else:
        assert one == other


def test_all_kinds_of_fields_are_read_as_they_were_written():
    one, other = filled(), load(Everything, dump(filled()))
    for name, value in vars(one).items():
        if name not in ("counter", "label"):
            same(value, getattr(other, name))
    assert (other.counter.step, other.counter.told) == (2, 7)
    assert other.label == "Y"  # checked, as its function says
    assert other.total == 15.0
    header, arrays = unpack(dump(one))
    assert "total" not in header
    assert arrays["sure"].dtype == np.int8
    assert arrays["points.size?"].tolist() == [1, 0, 1]


def test_records_without_entries_are_read():
    one = filled()
    one.points, one.by_name, one.recent, one.last = [], {}, deque(), None
    other = load(Everything, dump(one))
    assert (other.points, other.by_name, list(other.recent), other.last) == ([], {}, [], None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda h, a: h.update(kind="other"),
            "^foreign: this is not a everything, its kind is 'other'",
        ),
        (lambda h, a: h.update(share=1.5), r"share must be a number in \[0, 1\], got 1.5"),
        (lambda h, a: h.update(share="nan"), "share must be a number in"),
        (lambda h, a: h.pop("share"), r"share must be a number in \[0, 1\], got None"),
        (lambda h, a: h.update(width=True), "width must be a whole number"),
        (
            lambda h, a: h.update(width=4),
            r"wide has the shape \(2, 3\), expected \(rows = 2, width = 4\)",
        ),
        (lambda h, a: h.update(color="green"), "'green' is not a valid Color"),
        (lambda h, a: h.update(origin=[]), r"origin must be an object, got \[\]"),
        (lambda h, a: h.update(last=3), "last must be an object, got 3"),
        (lambda h, a: h["last"].update(row=101), "last.row must be a whole number in"),
        (lambda h, a: h["last"].update(row=13), "a point is nowhere"),
        (
            lambda h, a: h["counter"].update(step=10),
            r"counter.step must be a whole number in \[1, 9\]",
        ),
        (lambda h, a: h["counter"].update(_state=-1), "counter._state must be a whole number in"),
        (lambda h, a: h["pair"].update({"0": 3}), "pair.0 must be text, got 3"),
        (lambda h, a: h["points"].update(note="abc"), "points.note must be a list, got 'abc'"),
        (lambda h, a: h["points"]["note"].pop(), r"points.note has the shape \(2,\)"),
        (lambda h, a: h["points"]["note"].append(None), r"points.note has the shape \(4,\)"),
        (lambda h, a: h["by_name"].update({"0": [7]}), "by_name.0 must be text, got 7"),
        (lambda h, a: a.pop("ticket"), "there is no array 'ticket'"),
        (lambda h, a: a.update(more=np.zeros(1)), "there is an array of no known use, 'more'"),
        (
            lambda h, a: a.update(wide=np.zeros((2, 3), int)),
            "wide must be of type float64, got int64",
        ),
        (lambda h, a: a.update(sure=np.full(2, 2, np.int8)), "sure contains NaN or a value"),
        (
            lambda h, a: a.update(sure=np.zeros(3, np.int8)),
            r"sure has the shape \(3,\), expected \(rows = 2\)",
        ),
        (lambda h, a: a.update(ticket=np.array([4, 4])), "ticket must rise"),
        (lambda h, a: a["wide"].fill(np.nan), "wide contains NaN or a value"),
        (lambda h, a: a["wide"].fill(np.inf), "wide contains NaN or a value"),
        (lambda h, a: a["points.row"].fill(-1), "points.row contains NaN or a value"),
        (lambda h, a: a["points.row"].fill(13), "a point is nowhere"),
        (
            lambda h, a: a.update({"points.place": np.zeros((3, 3))}),
            r"points.place has the shape \(3, 3\)",
        ),
        (
            lambda h, a: a.update({"points.size?": np.ones(3, np.int8)}),
            r"points.size has the shape \(2,\)",
        ),
    ],
)
def test_what_was_not_declared_is_refused(change, words):
    header, arrays = unpack(dump(filled()))
    change(header, arrays)
    with pytest.raises(StateError, match=words):
        load(Everything, pack(header, arrays))


def test_a_key_that_comes_twice_is_refused():
    one = filled()
    one.by_name["two"] = one.points[0]
    header, arrays = unpack(dump(one))
    header["by_name"]["0"] = ["one", "one"]
    with pytest.raises(StateError, match="by_name holds an entry twice"):
        load(Everything, pack(header, arrays))
