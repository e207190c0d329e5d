"""The entry points of compiled code: which loop runs a chunk, and with what scratch space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from lasec.kernel import pack, serve
from lasec.kernel.blocks import LONG, Workspace, parts, run_blocks
from lasec.kernel.cache import Entry
from lasec.kernel.chunk import LARGEST_STRAIN, Chunk, Columns, count
from lasec.kernel.dispatch import is_due
from lasec.kernel.philox import draw_all
from lasec.kernel.rows import (
    Look,
    admit_rows,
    ask_row,
    ask_rows,
    look_classes,
    look_rows,
    note_rows,
    run_rows,
    tell_row,
)
from lasec.kernel.scaling import scale_rows
from lasec.kernel.serve import Answers, ModelStack, Requests
from lasec.kernel.unmanaged import member
from lasec.kernel.words import FEW, LOWER, count_words
from lasec.rules.gaussian import Gaussian
from lasec.sparse import Csr
from lasec.types import Counter, Query, Rule, Vector, copied

__all__ = [
    "LARGEST_STRAIN", "Answers", "Chunk", "Look", "ModelStack", "Requests", "admitted", "admitter",
    "ask", "asker", "blocked", "class_looker", "draws", "first_infinite", "first_unsound", "group",
    "load", "look", "looker", "noter", "renewed", "run", "scale", "server",
    "stack_of_one", "store", "teller", "word_pairs",
]  # fmt: skip

config: Any = numba.config
_ASK, _TELL = Entry(ask_row), Entry(tell_row)
_LOOK, _NOTE = Entry(look_rows), Entry(note_rows)
_CLASSES, _ASK_ROWS = Entry(look_classes), Entry(ask_rows)
_ROWS, _BLOCKS = Entry(run_rows), Entry(run_blocks)
_SORT, _CHECK = Entry(serve.sort_rows), Entry(serve.first_unsound)
_DRAW, _ADMIT = Entry(draw_all), Entry(admit_rows)
_SERVE = Entry(serve.serve_share)
_STORE, _LOAD = Entry(pack.pack_whole), Entry(pack.unpack_whole)
_STORE_LOWER, _LOAD_LOWER = Entry(pack.pack_lower), Entry(pack.unpack_lower)
_INFINITE = Entry(pack.first_infinite)
_SCALE, _WORDS = Entry(scale_rows), Entry(count_words)
# Chunks with fewer rows are not worth a copy of the covariance.
_FEW = 8


def asker(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, x: NDArray[Any]
) -> Callable[..., Any]:
    """``ask_row`` for these types, to be called with the arguments of that function."""
    return _ASK.code((rule, query), (rule, query, state, memory, x, np.uint64(0), 0, 0.0, 0.0, 0))


def ask(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, chunk: Chunk
) -> tuple[int, Columns]:
    """A chunk of questions, its labels not used; gives a row to refuse or -1, and the columns.

    ``memory``, which is the query's, is written, and what the rule notes of a row.
    """
    out = Columns.empty(count(chunk.X))
    bad: int = _ASK_ROWS((rule, query), rule, query, state, memory, chunk, out)
    return bad, out


def teller(rule: Rule[Any], state: Any, x: NDArray[Any]) -> Callable[..., Any]:
    """``tell_row`` for these types, to be called with the arguments of that function."""
    return _TELL.code((rule,), (rule, state, x, 0.0, np.uint64(0), 0, True))


def looker(rule: Rule[Any], state: Any, X: NDArray[Any]) -> Callable[..., Any]:
    """``look_rows`` for these types, to be called with the arguments of that function."""
    return _LOOK.code((rule,), (rule, state, X, 0, 0, np.empty((0, 5))))


def class_looker(rule: Rule[Any], state: Any, X: NDArray[Any]) -> Callable[..., Any]:
    """``look_classes`` for these types, to be called with the arguments of that function."""
    return _CLASSES.code((rule,), (rule, state, X, 0, np.empty((0, 0))))


def admitter(rule: Any, state: Any, X: Csr) -> Callable[..., int]:
    """``admit_rows`` for these types, to be called with the arguments of that function."""
    return _ADMIT.code((rule,), (rule, state, X, 0))


def noter(rule: Rule[Any], state: Any, X: NDArray[Any]) -> Callable[..., Any]:
    """``note_rows`` for these types, to be called with the arguments of that function."""
    return _NOTE.code((rule,), (rule, state, X))


def look(rule: Rule[Any], state: Any, X: Any, t: int) -> Look:
    """What is said of each row, as of step t."""
    out = np.empty((count(X), len(Look._fields)))
    looker(rule, state, X)(rule, state, X, t, 0, out)
    return Look(*out.T)


def blocked(rule: Rule[Any], state: Any) -> bool:
    """Whether a rule can be run in blocks: it moves a Gaussian by steps along Cx."""
    stepping = hasattr(rule, "step") and hasattr(rule, "judge")
    return isinstance(state, Gaussian) and stepping and not config.DISABLE_JIT


def run(
    rule: Rule[Any], query: Query, state: Any, memory: Vector, chunk: Chunk, *,
    mistakes_only: bool, block: int = 0, in_place: bool = False,
) -> tuple[int, Columns, Any]:  # fmt: skip
    """A chunk of steps; gives a row to refuse or -1, the columns, and the state after it.

    The state that was given is not touched, unless ``in_place``, or where the chunk is a single row
    that is not refused; ``memory``, which is the query's, is written. ``block`` is the number of
    rows in a block, 0 to choose it.
    """
    n = count(chunk.X)
    out = Columns.empty(n)
    after = state
    if n > 1 and not in_place:
        after = copied(state)
    if n < _FEW or not blocked(rule, state) or memory.size:
        if isinstance(chunk.X, Csr):
            after = admitted(rule, after, chunk.X)
        begin, refused = 0, False
        while begin < n and not refused:
            arguments = (rule, query, after, memory, chunk, mistakes_only, out, begin)
            begin, refused = _ROWS((rule, query), *arguments)
            if begin and out.updated[begin - 1]:
                after = renewed(rule, after)
        return begin if refused else -1, out, after
    d = after.weights.size
    part = parts(d)
    space = Workspace.empty(min(block or LONG, n), part, d)
    given = (rule, query, after, chunk, block, part, mistakes_only, space, out)
    bad: int = _BLOCKS((rule, query), *given)
    return bad, out, after


def renewed(rule: Any, state: Any) -> Any:
    """The state after what the rule has to do between two rows: in place, unless it grows."""
    if is_due(rule, state):
        if hasattr(rule, "grown"):
            return rule.grown(state)
        rule.renew(state)
    return state


def admitted(rule: Any, state: Any, X: Csr, code: Callable[..., int] | None = None) -> Any:
    """The state with a place for the columns of sparse rows: the same, unless it had to grow.

    ``code`` is what :func:`admitter` gives.
    """
    admit = code or admitter(rule, state, X)
    begin = admit(rule, state, X, 0)
    while begin < count(X):
        state = rule.grown(state)
        begin = admit(rule, state, X, begin)
    return state


def group(keys: Counter, models: int) -> tuple[Counter, Counter]:
    """Rows sorted by key, and where the rows of each key begin among them."""
    order, begins = np.empty_like(keys), np.empty(models + 1, dtype=np.int64)
    _SORT((), keys, order, begins)
    return order, begins


def first_unsound(X: NDArray[Any]) -> int:
    """The first row with an entry that cannot be used, or -1."""
    row: int = _CHECK((), X)
    return row


def draws(
    seeds: NDArray[np.uint64], keys: Counter, numbers: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """The query's draw for each key's seed, in the row of each number."""
    out = np.empty(keys.size)
    _DRAW((), seeds, keys, numbers, out)
    return out


def server(
    rule: Rule[Any], query: Query, stack: ModelStack, X: Any
) -> Callable[[ModelStack, Counter, Requests, bool, Answers], ModelStack]:
    """A function for questions and labels of rows such as X.

    It takes the fleet's models, those among them to serve, what came in, whether to learn from
    mistakes only, and where to put the answers. It gives the models back: the same, unless they
    are one that has grown.
    """
    number, whole = np.empty(0), np.empty(0, dtype=np.int64)
    blank = Requests(X, number, whole, whole, number, number, whole, whole)
    given = (rule, query, stack, whole, blank, True, Answers.empty(0), 0, 0)
    code = _SERVE.code((rule, query), given)

    def serve_share(
        stack: ModelStack, models: Counter, requests: Requests, mistakes_only: bool, out: Answers
    ) -> ModelStack:
        place, begin = 0, 0
        while place < models.size:
            given = (stack, models, requests, mistakes_only, out, place, begin)
            place, begin = code(rule, query, *given)
            if place < models.size:
                stack = _renewed_in(rule, stack, models[place])
        return stack

    return serve_share


def _renewed_in(rule: Any, stack: ModelStack, k: int) -> ModelStack:
    """The models after what the rule has to do for one of them; one that grows is alone."""
    state = member(stack.state, k)
    after = renewed(rule, state)
    return stack if after is state else stack._replace(state=stack_of_one(after))


def stack_of_one(state: Any) -> Any:
    """The arrays of one model, as those of a stack without others: the same memory."""
    return type(state)(*(array[None] for array in state))


def store(
    array: NDArray[Any], lower: bool, keys: NDArray[np.int64], out: NDArray[Any], begin: int
) -> None:
    """Some models' entries of an array, into columns of ``out``; of matrices, the lower half."""
    (_STORE_LOWER if lower else _STORE)((), array, keys, out, begin)


def load(
    array: NDArray[Any], lower: bool, keys: NDArray[np.int64], packed: NDArray[Any], begin: int
) -> None:
    """What :func:`store` has written, back into the array."""
    (_LOAD_LOWER if lower else _LOAD)((), array, keys, packed, begin)


def first_infinite(packed: NDArray[Any], begin: int, end: int) -> int:
    """The first row with NaN or infinity in these columns, or -1."""
    row: int = _INFINITE((), packed, begin, end)
    return row


def scale(X: NDArray[np.float64], sums: tuple[Vector, Vector, Vector]) -> NDArray[np.float64]:
    """The rows on a common scale, each by the rows up to it; count, mean and spread go on."""
    out = np.empty_like(X)
    _SCALE((), X, *sums, out)
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
    count = _WORDS((), data, starts, columns, LOWER, scratch, begins[1:], at, values)
    return begins, at[:count], values[:count]
