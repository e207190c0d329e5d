"""What Python calls: rows and models go to compiled code where there is some, else to sources."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.kernel import blocks, codes, loops, pack, serve
from lasec.kernel.codes import Code, called, code_of, compiled, interpreted, invoke
from lasec.kernel.functions import LARGEST_STRAIN
from lasec.kernel.handle import Handle, address_of
from lasec.kernel.loops import NO_NUMBERS, ROOM, Columns
from lasec.kernel.philox import draw_all
from lasec.kernel.places import FAILED, LABEL, PLACES
from lasec.kernel.scaling import scale_rows
from lasec.kernel.serve import Answers, Counts, Requests
from lasec.kernel.words import FEW, LOWER, count_words
from lasec.nested import copied, entry_of, mapped
from lasec.rules.gaussian import Gaussian
from lasec.sparse import Csr
from lasec.types import Counter, Matrix, Query, Rule, Vector

__all__ = [
    "LARGEST_STRAIN", "Answers", "Chunk", "Counts", "Look", "Machine", "ModelStack", "Requests",
    "draws", "first_infinite", "group", "load", "renewed", "scale", "serve_models",
    "stack_of_one", "store", "word_pairs",
]  # fmt: skip

# Chunks with fewer rows are not worth a copy of the covariance.
_FEW = 8
# The words of a table of `loops.One` that are those of a row, and where they begin.
_ONE, _AT = struct.Struct("=2qQqddqdq"), 8 * 7
NOBODY = loops.Query(0, 0)
NO_STARTS: Counter = np.empty(0, np.int64)


class Chunk(NamedTuple):
    """Consecutive rows of one model with their labels: an array, or the arrays of sparse rows.

    The rest is that of :class:`~lasec.kernel.loops.Turns`.
    """

    X: Any
    y: Vector
    seed: np.uint64
    first: int
    draws: Vector = NO_NUMBERS
    times: Vector = NO_NUMBERS
    waiting: int = 0


class Look(NamedTuple):
    """What a model says of rows, a column each; ``lead`` is what a query decides on.

    ``margin`` is the one that is shown. Of a row that is not ``fine``, no label can be learned.
    """

    fine: Vector
    label: Vector
    margin: Vector
    variance: Vector
    lead: Vector


class ModelStack(NamedTuple):
    """Many models of one kind: an entry of the first axis of each array is one model."""

    state: Any
    memory: Matrix
    counts: Counts


class Bound(NamedTuple):
    """A handle, and the code for it."""

    handle: Handle
    code: Code

    @classmethod
    def of_rule(cls, rule: Any, state: Any, kind: np.dtype[Any]) -> Bound:
        """The functions of a rule for rows of a kind."""
        handle = Handle(rule, state)
        return cls(handle, code_of(handle, kind))

    @classmethod
    def of_query(cls, query: Any, memory: Vector) -> Bound:
        """The function of a query."""
        handle = Handle(query, memory)
        return cls(handle, code_of(handle, None))


class Machine:
    """The code of a rule and a query, for the state and memory that it was given last.

    Not to be used by two threads at once, but for :meth:`look` and :meth:`classes`.
    """

    def __init__(self) -> None:
        self._model: Bound | None = None
        self._query: Bound | None = None
        self._memory = NO_NUMBERS
        self._asking: _Frame | None = None
        self._telling: _Frame | None = None

    def model(self, rule: Any, state: Any, kind: np.dtype[Any]) -> Bound:
        """The handle of a state, made again where it is another one."""
        bound = self._model
        if bound is not None:
            parts = bound.handle.parts
            if parts[1] is state and parts[0] is rule:
                return bound
        bound = self._model = Bound.of_rule(rule, state, kind)
        return bound

    def query(self, query: Any, memory: Vector) -> Bound:
        """The handle of a query, with a memory of its own that holds these numbers."""
        bound, own = self._query, self._memory
        if bound is None or bound.handle.parts[0] is not query or own.shape != memory.shape:
            own = self._memory = memory.copy()
            bound = self._query = Bound.of_query(query, own)
        if own.size:
            own[:] = memory
        return bound

    def ask(
        self, rule: Any, query: Query, state: Any, memory: Vector, x: NDArray[Any],
        seed: int, ticket: int, drawn: float, time: float, waiting: int,
    ) -> tuple[tuple[bool, float, float, float, float, bool], Vector]:  # fmt: skip
        """Whether a row is fine, label, margin, variance, probability of asking, whether to ask.

        And the query's memory after it. Of the state, only what the rule notes of a row is written.
        """
        model, asker = self.model(rule, state, x.dtype), self.query(query, memory)
        frame = self._asking
        if frame is None or frame.model is not model or frame.query is not asker:
            frame = self._asking = _Frame(loops.ask_row, model, asker)
        if frame.call(x, seed, ticket, drawn, time, waiting) == FAILED:
            raise reason(model, asker, x, ticket, 0.0)
        fine, label, margin, variance, _, _, p, asked, _ = frame.seen.tolist()
        if fine < 0.0:  # not a number that can be used
            return (False, 0.0, 0.0, 0.0, 0.0, False), memory
        spent = self._memory.copy() if memory.size else memory
        return (fine > 0.0, label, margin, variance, p, asked > 0.0), spent

    def tell(
        self, rule: Any, state: Any, x: NDArray[Any], y: float, seed: int, ticket: int,
        mistakes_only: bool,
    ) -> tuple[float, bool, bool]:  # fmt: skip
        """Learn one label; gives the prediction, whether it was to be used, and could be used."""
        model, frame = self.model(rule, state, x.dtype), self._telling
        if frame is None or frame.model is not model:
            frame = self._telling = _Frame(loops.tell_row, model, None)
        done = frame.call(x, seed, ticket, -1.0, 0.0, 0, y, mistakes_only)
        if done == FAILED:
            raise reason(model, None, x, ticket, y)
        return float(frame.seen[LABEL]), done & 1 > 0, done & 2 > 0

    def ask_all(
        self, rule: Any, query: Query, state: Any, memory: Vector, chunk: Chunk
    ) -> tuple[int, Columns, Vector]:
        """A chunk of questions, its labels not used; gives a row to refuse or -1, and the columns.

        And the query's memory after it. What the rule notes of a row is written.
        """
        model, asker = self.model(rule, state, kind_of(chunk.X)), self.query(query, memory)
        play = _Play(model, asker, chunk, mistakes_only=False, out=Columns.empty(count(chunk.X)))
        done = play.go(loops.ask_rows, 0)
        return -1 - done if done < 0 else -1, play.out, self._memory.copy()

    def run(
        self, rule: Any, query: Query, state: Any, memory: Vector, chunk: Chunk, *,
        mistakes_only: bool, block: int = 0, in_place: bool = False,
    ) -> tuple[int, Columns, Any, Vector]:  # fmt: skip
        """A chunk of steps: a row to refuse or -1, the columns, the state and the memory after it.

        The state that was given is not touched, unless ``in_place``, or where the chunk is a single
        row that is not refused. ``block`` is the number of rows in a block, 0 to choose it.
        """
        n = count(chunk.X)
        after = copied(state) if n > 1 and not in_place else state
        if n >= _FEW and not memory.size and blocked(rule, after):
            asker = self.query(query, memory)
            bad, out = _in_blocks(rule, after, asker, chunk, block, mistakes_only)
            if bad != FAILED:
                return bad, out, after, memory
            after = copied(state)  # row by row, to find out why
        if isinstance(chunk.X, Csr):
            after = self.admitted(rule, after, chunk.X)
        out, begin = Columns.empty(n), 0
        while 0 <= begin < n:
            model, asker = self.model(rule, after, kind_of(chunk.X)), self.query(query, memory)
            begin = _Play(model, asker, chunk, mistakes_only, out).go(loops.run_rows, begin)
            memory = self._memory.copy()
            if begin > 0 and out.updated[begin - 1]:
                after = renewed(rule, after)
        return -1 - begin if begin < 0 else -1, out, after, memory

    def look(self, rule: Any, state: Any, X: Any, t: int, step: int = 0) -> Look:
        """What is said of each row: row i as of step ``t`` + i ``step``."""
        if count(X) == 1:
            return self._look_one(rule, state, X, t)
        out = np.empty((count(X), len(Look._fields)))
        self._sight(loops.look_rows, "look", (rule, state), X, t, step, out)
        return Look(*out.T)

    def _look_one(self, rule: Any, state: Any, X: Any, t: int) -> Look:
        model, seen, x = self.model(rule, state, kind_of(X)), np.empty(PLACES), row_of(X, 0)
        look: Any = model.code.look
        if look(model.handle.address, address_of(x), x.size, t, address_of(seen)) == FAILED:
            raise reason(model, None, x, t, 0.0)
        return Look(seen[:1], seen[1:2], seen[2:3], seen[3:4], seen[4:5])

    def classes(self, rule: Any, state: Any, X: Any, t: int, most: int) -> Matrix:
        """The probability of each class for each row in step t."""
        out = np.empty((count(X), most))
        self._sight(loops.look_classes, "classes", (rule, state), X, t, address_of(out), out)
        return out

    def admitted(self, rule: Any, state: Any, X: Csr) -> Any:
        """The state with a place for the columns of sparse rows: the same, unless it grew."""
        begin, nothing = 0, np.empty((0, 0))
        while True:
            begin = self._sight(loops.admit_rows, "admit", (rule, state), X, begin, 0, nothing)
            if begin >= count(X):
                return state
            state = rule.renewed(state)

    def _sight(
        self, loop: Any, name: str, given: tuple[Any, Any], X: Any, t: int, step: int, out: Matrix
    ) -> int:
        model, scratch = self.model(*given, kind_of(X)), scratch_of()
        (functions,), run = chosen(loop, model)
        its = functions[name]
        addresses = loops.Model(its, functions["learn"], its, model.handle.address)
        done = run(loops.Sight(addresses, rows_of(X), t, step, out, scratch))
        if done == FAILED:
            raise reason(model, None, row_of(X, int(scratch.seen[loops.AT])), t, 0.0)
        return done


class _Frame:
    """The table of a single row, for ``ask`` or ``tell``: for each row, few of its words change."""

    def __init__(self, loop: Any, model: Bound, query: Bound | None) -> None:
        self.model, self.query, self.loop = model, query, loop
        (its, *asks), is_compiled = of_one_form(model, *([query] if query else []))
        scratch, self._row = scratch_of(), np.empty(0)
        self.seen = scratch.seen
        self._blank = loops.One(
            model_of(its, model.handle),
            loops.Query(asks[0]["decide"], query.handle.address) if query else NOBODY,
            0, 0, np.uint64(0), 0, 0.0, 0.0, 0, 0.0, mistakes_only=False, scratch=scratch,
        )  # fmt: skip
        self._run: Callable[[int], int] | None = None
        if is_compiled:
            self._handle = Handle(self._blank)
            self._here, self._bytes = self._handle.address, self._handle.table.view(np.uint8).data
            self._run = compiled(loop, self._handle, held=True)

    def call(
        self, x: NDArray[Any], seed: int, ticket: int, drawn: float, time: float, waiting: int,
        y: float = 0.0, mistakes_only: bool = False,
    ) -> int:  # fmt: skip
        """What the loop gives for a row; what it has seen of it is in ``seen``."""
        row, run, n = self._row, self._run, x.size
        if run is None:
            return self._interpreted(x, seed, ticket, drawn, time, waiting, y, mistakes_only)
        if row.size != n or row.dtype is not x.dtype:
            row = self._row = np.empty(n, x.dtype)
            self._place = address_of(row)
        row[:] = x
        _ONE.pack_into(
            self._bytes, _AT, self._place, n, seed, ticket, drawn, time, waiting, y, mistakes_only
        )
        return run(self._here)

    def _interpreted(self, x: NDArray[Any], seed: int, *turn: Any) -> int:
        one = self._blank._asdict() | {"row": address_of(x), "n": x.size, "seed": np.uint64(seed)}
        names = ("ticket", "drawn", "time", "waiting", "y", "mistakes_only")
        return interpreted(self.loop, loops.One(**one | dict(zip(names, turn, strict=True))))


class _Play(NamedTuple):
    """A chunk of rows on its way through a loop."""

    model: Bound
    query: Bound
    chunk: Chunk
    mistakes_only: bool
    out: Columns

    def go(self, loop: Any, begin: int) -> int:
        """What the loop gives, from the row ``begin`` on."""
        (model, query), run = chosen(loop, self.model, self.query)
        chunk, scratch = self.chunk, scratch_of()
        play = loops.Play(
            model_of(model, self.model.handle),
            loops.Query(query["decide"], self.query.handle.address), rows_of(chunk.X),
            turns_of(chunk), doubles(chunk.y), self.mistakes_only, begin, self.out, scratch,
        )  # fmt: skip
        done = run(play)
        if done == FAILED:
            i = int(scratch.seen[loops.AT])
            raise reason(self.model, self.query, row_of(chunk.X, i), chunk.first + i, chunk.y[i])
        return done


def chosen(loop: Any, *parts: Bound) -> tuple[list[dict[str, Any]], Callable[[Any], int]]:
    """The functions of rules and queries, and how to run a loop over them: all of one form."""
    functions, are_compiled = of_one_form(*parts)
    run = called if are_compiled else interpreted
    return functions, lambda argument: run(loop, argument)


def of_one_form(*parts: Bound) -> tuple[list[dict[str, Any]], bool]:
    """The functions of rules and queries, and whether they are compiled: all of them, or none."""
    compiled_ones = [part.code.addresses for part in parts if part.code.addresses is not None]
    if len(compiled_ones) == len(parts):
        return [*compiled_ones], True
    return [part.code.plain for part in parts], False


def model_of(functions: dict[str, Any], handle: Handle) -> loops.Model:
    """What a loop takes of a rule and its state."""
    return loops.Model(functions["look"], functions["learn"], functions["note"], handle.address)


def scratch_of() -> loops.Scratch:
    """Room for what a loop sees of a row."""
    seen = np.zeros(ROOM)
    return loops.Scratch(seen, address_of(seen))


def turns_of(chunk: Chunk) -> loops.Turns:
    """The places of the rows of a chunk in the stream of their model."""
    draws, times = doubles(chunk.draws), doubles(chunk.times)
    return loops.Turns(chunk.seed, chunk.first, draws, times, chunk.waiting)


def reason(model: Bound, query: Bound | None, x: NDArray[Any], ticket: int, y: float) -> Exception:
    """Why compiled code failed on a row: the error of the same row, interpreted."""
    rule, state = model.handle.parts
    twin, row = Handle(rule, copied(state)), (address_of(x), x.size)
    plain, seen = model.code.plain, np.empty(ROOM)
    try:
        plain["look"](twin.address, *row, ticket + 1, address_of(seen))
        if query:
            other = Handle(query.handle.parts[0], query.handle.parts[1].copy())
            decide = query.code.plain["decide"]
            decide(other.address, address_of(seen), 0.5, ticket, ticket + 1.0, 0)
        plain["note"](twin.address, *row)
        plain["learn"](twin.address, *row, y if y == y else 1.0, 0.5, ticket + 1)  # noqa: PLR0124
    except Exception as error:
        return error
    return RuntimeError(f"{type(rule).__name__}: compiled code failed where its source does not")


def doubles(values: NDArray[Any]) -> Vector:
    """Numbers as compiled code takes them; the same array where they are that."""
    return np.ascontiguousarray(values, np.float64)


def count(X: Any) -> int:
    """How many rows a chunk has, dense or sparse."""
    return len(X.starts) - 1 if isinstance(X, Csr) else len(X)


def row_of(X: Any, i: int) -> Any:
    """Row i of a chunk, dense or sparse."""
    return X.pairs[X.starts[i] : X.starts[i + 1]] if isinstance(X, Csr) else X[i]


def kind_of(X: Any) -> np.dtype[Any]:
    """The type of the entries of rows."""
    kind: np.dtype[Any] = X.pairs.dtype if isinstance(X, Csr) else X.dtype
    return kind


def rows_of(X: Any) -> loops.Rows:
    """Where rows lie. The caller holds them, and sees to it that they are C-contiguous."""
    if isinstance(X, Csr):
        stride = X.pairs.dtype.itemsize
        return loops.Rows(address_of(X.pairs), stride, 0, X.starts, len(X.starts) - 1)
    return loops.Rows(address_of(X), X.strides[0], X.shape[1], NO_STARTS, len(X))


def blocked(rule: Any, state: Any) -> bool:
    """Whether a rule can be run in blocks: it moves a Gaussian by steps along Cx."""
    stepping = hasattr(rule, "step") and hasattr(rule, "judge")
    return isinstance(state, Gaussian) and stepping and codes.compiles()


def _in_blocks(
    rule: Any, state: Gaussian, query: Bound, chunk: Chunk, block: int, mistakes_only: bool
) -> tuple[int, Columns]:
    """A chunk of dense rows in blocks: a row to refuse, -1 or ``FAILED``, and the columns."""
    codes.load_products()
    n, d = count(chunk.X), state.weights.size
    part, out = blocks.parts(d), Columns.empty(n)
    (asks,), run = chosen(blocks.run_blocks, query)
    work = blocks.Work(
        rule, state, loops.Query(asks["decide"], query.handle.address), chunk.X,
        turns_of(chunk), doubles(chunk.y), block, part, mistakes_only,
        blocks.Workspace.empty(min(block or blocks.LONG, n), part, d), out, scratch_of(),
    )  # fmt: skip
    return run(work), out


def renewed(rule: Any, state: Any) -> Any:
    """The state after what the rule has to do between two rows: in place, unless it grows."""
    return rule.renewed(state) if rule.is_due(state) else state


def group(keys: Counter, models: int) -> tuple[Counter, Counter]:
    """Rows sorted by key, and where the rows of each key begin among them."""
    order, begins = np.empty_like(keys), np.empty(models + 1, dtype=np.int64)
    invoke(serve.sort_rows, keys, order, begins)
    return order, begins


def draws(
    seeds: NDArray[np.uint64], keys: Counter, numbers: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """The query's draw for each key's seed, in the row of each number."""
    out = np.empty(keys.size)
    invoke(draw_all, seeds, keys, numbers, out)
    return out


def serve_models(
    rule: Rule[Any], query: Query, stack: ModelStack, models: Counter, X: Any,
    requests: Requests, mistakes_only: bool, out: Answers,
) -> ModelStack:  # fmt: skip
    """Questions and labels for the models of a stack that have some.

    Gives the models back: the same, unless they are one that has grown.
    """
    place = 0
    begin = np.zeros(2, np.int64)
    while place < models.size:
        place = _share(rule, query, stack, models, X, requests, mistakes_only, out, begin)
        if place < models.size:
            stack = _renewed_in(rule, stack, models[place])
    return stack


def _share(
    rule: Any, query: Any, stack: ModelStack, models: Counter, X: Any, requests: Requests,
    mistakes_only: bool, out: Answers, begin: Counter,
) -> int:  # fmt: skip
    stacks = Handle.of_stack(rule, stack.state), Handle.of_stack(query, stack.memory)
    model = Bound(stacks[0], code_of(stacks[0], kind_of(X)))
    asker = Bound(stacks[1], code_of(stacks[1], None))
    (its, asks), run = chosen(serve.serve_share, model, asker)
    ones = [Handle(*whole.parts) for whole in stacks]
    tables = [
        serve.Table(one.table, one.address, whole.address, whole.table, whole.strides)
        for one, whole in zip(ones, stacks, strict=True)
    ]
    scratch = scratch_of()
    share = serve.Share(
        model_of(its, ones[0]), loops.Query(asks["decide"], ones[1].address),
        (tables[0], tables[1]), stack.counts, models, rows_of(X), requests, mistakes_only, out,
        begin, scratch,
    )  # fmt: skip
    done = run(share)
    if done == FAILED:
        i, k = int(scratch.seen[loops.AT]), int(models[begin[0]])
        one = Bound(Handle(rule, entry_of(stack.state, k)), model.code)
        raise reason(one, None, row_of(X, i), int(stack.counts.rows[k]), requests.y[i] or 1.0)
    return done


def _renewed_in(rule: Any, stack: ModelStack, k: int) -> ModelStack:
    """The models after what the rule has to do for one of them; one that grows is alone."""
    state = entry_of(stack.state, k)
    after = renewed(rule, state)
    return stack if after is state else stack._replace(state=stack_of_one(after))


def stack_of_one(state: Any) -> Any:
    """The arrays of one model, as those of a stack without others: the same memory."""
    return mapped(lambda array: array[None], state)


def store(
    array: NDArray[Any], lower: bool, keys: NDArray[np.int64], out: NDArray[Any], begin: int
) -> None:
    """Some models' entries of an array, into columns of ``out``; of matrices, the lower half."""
    invoke(pack.pack_lower if lower else pack.pack_whole, array, keys, out, begin)


def load(
    array: NDArray[Any], lower: bool, keys: NDArray[np.int64], packed: NDArray[Any], begin: int
) -> None:
    """What :func:`store` has written, back into the array."""
    invoke(pack.unpack_lower if lower else pack.unpack_whole, array, keys, packed, begin)


def first_infinite(packed: NDArray[Any], begin: int, end: int) -> int:
    """The first row with NaN or infinity in these columns, or -1."""
    return invoke(pack.first_infinite, packed, begin, end)


def scale(X: NDArray[np.float64], sums: tuple[Vector, Vector, Vector]) -> NDArray[np.float64]:
    """The rows on a common scale, each by the rows up to it; count, mean and spread go on."""
    out = np.empty_like(X)
    invoke(scale_rows, X, *sums, out)
    return out


def word_pairs(
    texts: Sequence[bytes], columns: int
) -> tuple[Counter, Counter, NDArray[np.float64]]:
    """The words of texts in UTF-8, hashed: where each row begins, columns, sums of signs.

    What is beyond ASCII must be a part of words, in lower case.
    """
    data = np.frombuffer(b" ".join([*texts, b""]), dtype=np.uint8)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    room = int(lengths.max(initial=1)) // 2 + 1
    scratch = np.empty(room, np.int64), np.empty(3 * FEW + 2, np.int64)
    begins, most = np.zeros(len(texts) + 1, np.int64), data.size // 2 + 1
    at, values = np.empty(most, np.int64), np.empty(most)
    found = invoke(count_words, data, starts, columns, LOWER, scratch, begins[1:], at, values)
    return begins, at[:found], values[:found]
