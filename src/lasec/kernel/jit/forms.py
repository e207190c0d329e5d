"""Every form of lasec's own rules, queries and loops: what its library is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lasec import queries, rules
from lasec.kernel import blocks, loops, pack, philox, scaling, serve, words
from lasec.kernel.engine import NO_STARTS
from lasec.kernel.given import GivenMargin
from lasec.kernel.handle import Handle
from lasec.kernel.jit import of_table, written
from lasec.kernel.sources import symbol
from lasec.mercer import RBF, Linear, Polynomial
from lasec.rules.gaussian import Gaussian
from lasec.sparse import row_kind

WIDE = 300  # features, of which the Tracker keeps a subspace


class Form(NamedTuple):
    """A function to compile: what it is, its name in the library, its source and signature."""

    title: str
    name: str
    function: Callable[..., int]
    signature: Any


def forms() -> Iterator[Form]:
    """All of them, those first that take longest."""
    for rule, dimension in of_rules():
        yield from _functions(Handle(rule, rule.init(dimension)), row_kind(rule))
    for query in of_queries():
        yield from _functions(Handle(query, query.init()), None)
    for function, given in tables():
        example = Handle(*given)
        kinds, role = example.kinds, f"{function.__module__}.{function.__qualname__}"
        name = symbol(role, kinds.text, kinds.types)
        yield Form(function.__name__, name, *of_table(function, example))


def _functions(handle: Handle, kind: np.dtype[Any] | None) -> Iterator[Form]:
    kinds, row = handle.kinds, "" if kind is None else str(kind)
    title = ", ".join(dict.fromkeys(made.__name__ for made in kinds.types))
    for name, (function, signature) in written(handle, kind).items():
        found = symbol(f"{name} {row}", kinds.text, kinds.types)
        yield Form(f"{title}: {name}", found, function, signature)


def of_rules() -> Iterator[tuple[Any, int]]:
    """Examples of all rules and their states, by a number of features."""
    yield rules.Lenses(), 4
    yield rules.SparseTracking(), 4
    yield rules.SparseTracking(dense=2), 4
    yield rules.Tracking(), WIDE
    yield rules.Tracking(), 4
    plain: list[Any] = [
        rules.Perceptron(), rules.ModifiedPerceptron(), rules.ShiftingPerceptron(),
        rules.BudgetPerceptron(2), *stepping(),
    ]  # fmt: skip
    plain += [rules.KernelSecondOrder(kernel) for kernel in (Linear(), RBF(), Polynomial())]
    for rule in plain:
        yield rule, 4
        yield rules.OneVsRest(rule), 4
    yield GivenMargin(), 2


def stepping() -> list[Any]:
    """The rules whose rows can be learned in blocks."""
    return [rules.SecondOrder(), rules.AROW(), rules.Ridge(), rules.Probit()]


def of_queries() -> Iterator[Any]:
    """Examples of all queries."""
    inner: list[Any] = [
        queries.Always(), queries.MarginSampling(), queries.UncertaintySampling(),
        queries.Uniform(), queries.VarianceThreshold(),
    ]  # fmt: skip
    yield from inner
    for query in inner:
        if query.has_propensity:
            yield queries.Budgeted(inner=query)
    yield queries.TwoPrices()


def tables() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The functions of a table, and what such a table holds."""
    number, whole, matrix = np.zeros(1), np.zeros(1, np.int64), np.zeros((1, 1))
    seeds, seen = np.zeros(1, np.uint64), np.zeros(loops.ROOM)
    model, query = loops.Model(0, 0, 0, 0), loops.Query(0, 0)
    rows, scratch = loops.Rows(0, 0, 0, NO_STARTS, 0), loops.Scratch(seen, 0)
    turns = loops.Turns(seeds[0], 0, number, number, 0)
    columns = loops.Columns.empty(1)
    play = loops.Play(model, query, rows, turns, number, False, 0, columns, scratch)
    sight = loops.Sight(model, rows, 0, 0, matrix, scratch)
    one = loops.One(model, query, 0, 0, seeds[0], 0, 0.0, 0.0, 0, 0.0, False, scratch)
    for rule in stepping():
        work = blocks.Work(
            rule, Gaussian.prior(2, 1.0), query, matrix, turns, number, 0, 0, False,
            blocks.Workspace.empty(1, 1, 1), columns, scratch,
        )  # fmt: skip
        yield blocks.run_blocks, (work,)
    yield loops.run_rows, (play,)
    yield loops.ask_rows, (play,)
    yield loops.ask_row, (one,)
    yield loops.tell_row, (one,)
    for loop in (loops.look_rows, loops.look_classes, loops.admit_rows):
        yield loop, (sight,)
    table = serve.Table(whole, 0, 0, whole, whole)
    counts = serve.Counts(seeds, whole, whole, whole, whole, whole)
    requests = serve.Requests(number, whole, whole, number, number, whole, whole)
    yield serve.serve_share, (serve.Share(
        model, query, (table, table), counts, whole, rows, requests, False,
        serve.Answers.empty(1), whole, scratch,
    ),)  # fmt: skip
    yield serve.sort_rows, (whole, whole, whole)
    yield philox.draw_all, (seeds, whole, seeds, number)
    yield scaling.scale_rows, (matrix, number, number, number, matrix)
    bytes_ = np.zeros(1, np.uint8)
    yield words.count_words, (bytes_, whole, 0, whole, (whole, whole), whole, whole, number)
    for kind in (np.float64, np.float32, np.int64):
        flat, cube = np.zeros((1, 1), kind), np.zeros((1, 1, 1, 1), kind)
        yield pack.pack_whole, (flat, whole, flat, 0)
        yield pack.unpack_whole, (flat, whole, flat, 0)
        if kind is not np.int64:
            yield pack.pack_lower, (cube, whole, flat, 0)
            yield pack.unpack_lower, (cube, whole, flat, 0)
            yield pack.first_infinite, (flat, 0, 0)
