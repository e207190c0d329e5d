"""Change one place of the source at a time, and list the changes that no test notices.

``python .ci/mutate.py`` does it for the modules in ``MODULES``; ``python .ci/mutate.py
metrics/planner.py tests/labels/test_planner.py`` for one module and its tests, without compiled
code. ``python .ci/mutate.py --random 100 --seed 1`` draws that many changes over the files of
``PARTS``, and runs for each the tests of its part; ``--only session/`` draws among one part,
``--begin 45`` leaves out the first 44, and ``--again FILE`` runs those whose names stand in a file,
for example an earlier list of survivors.

The doctests of a module always run. Operators, numbers, conditions, ``not``, a constant True or
False that is returned, and calls whose value nobody uses are changed; texts, annotations and what
is only said to a user are not. A survivor is a missing test, or a change that makes no difference:
read it and decide.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

ROOT = Path(__file__).parents[1]
MODULES = {
    "bounds/gamma.py": ["tests/parity/test_bounds.py"],
    "metrics/planner.py": ["tests/labels/test_planner.py"],
    "metrics/means.py": ["tests/labels/test_meter.py"],
    "metrics/confidence_sequence.py": ["tests/labels/test_sequence.py"],
}


class Part(NamedTuple):
    """The tests of some files; ``quick`` runs those that start no process (tests/quick.py).

    ``chosen`` is an expression for pytest's ``-k``.
    """

    tests: list[str]
    quick: bool = False
    chosen: str = ""


SERVED = [
    f"tests/service/test_{name}.py"
    for name in ("small", "api", "people", "undo", "retention", "seams", "security")
]
QUICK = "not (a_crash or large_request or headers or told_to_stop or viewer or postgres or fifty)"
# The first one whose name begins a file's. The strongest tests first, less than a minute of each.
PARTS = {
    "queries/": Part(["tests/labels/test_pacing.py", "tests/labels/test_budget.py"], quick=True),
    "session/": Part(["tests/labels/test_session.py"]),
    "learner/book.py": Part(["tests/labels/test_book.py"], quick=True),
    "learner": Part(["tests/contract/test_learner.py", "tests/contract/test_ask_many.py"]),
    "tables/": Part(
        ["tests/faults/test_tables.py", "tests/integrations/test_tables.py"],
        chosen="not (algorithm or spoilt or thousand or nearest or reports or takes_no_time)",
    ),
    "service/listen.py": Part(["tests/service/test_listen.py"]),
    "service/store.py": Part(["tests/service/test_store.py", *SERVED], chosen=QUICK),
    "service/labels.py": Part(
        ["tests/service/test_labels.py"], chosen="not (thousand or costs_more)"
    ),
    "service/": Part(SERVED, chosen=QUICK),
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
NEGATED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)  # a swap negates these
SAID = {"debug", "info", "warning", "exception", "error", "critical", "warn", "print", "say"}
SECONDS = 60.0  # of CPU time; a mutant that takes more has been noticed
COLD = 900.0  # the same for the first run, which compiles
LONGEST = 900.0  # on the wall, on a busy machine; one that waits for ever has been noticed, too
QUIET = ["-q", "-x", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider"]

Change = tuple[ast.expr | ast.stmt, Callable[[], None]]  # where it is seen, and what makes it


def changes(node: ast.AST) -> Iterator[Change]:
    """Every change of a tree; texts, annotations and what is only said are left out."""
    if isinstance(node, ast.JoinedStr) or _is_said(node):
        return
    yield from _here(node)
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns"} or (field == "test" and _is_typing(value)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from changes(child)


def _here(node: ast.AST) -> Iterator[Change]:
    """The changes of one node."""
    if isinstance(node, ast.BinOp | ast.BoolOp):
        if type(node.op) in SWAPS and not _is_text(node):
            yield node, _set(node, "op", SWAPS[type(node.op)]())
    elif isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            others = [*node.ops[:at], SWAPS[type(operator)](), *node.ops[at + 1 :]]
            yield node, _set(node, "ops", others)
    elif isinstance(node, ast.Constant):
        if type(node.value) in {int, float}:
            yield node, _set(node, "value", cast("float", node.value) + 1)
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            yield node, _set(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    else:
        yield from _of_statement(node)


def _of_statement(node: ast.AST) -> Iterator[Change]:
    """A condition is negated, a constant that is returned too, a call left out."""
    if isinstance(node, ast.If | ast.IfExp):
        if not _is_negated(node.test) and not _is_typing(node.test):
            yield node.test, _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Constant):
        if isinstance(node.value.value, bool):
            yield node, _set(node.value, "value", not node.value.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, _set(node, "value", ast.Constant(value=None))


def _set(node: ast.AST, field: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def _is_text(node: ast.BinOp | ast.BoolOp) -> bool:
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    text = [isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts]
    return any(text) or any(isinstance(part, ast.JoinedStr) for part in parts)


def _is_said(node: ast.AST) -> bool:
    """Whether it is a call that only says something."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    return getattr(called, "attr", getattr(called, "id", "")) in SAID


def _is_typing(test: object) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_negated(test: ast.expr) -> bool:
    """Whether another change negates the condition."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in NEGATED


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the new source) for each change.

    >>> [what for what, _ in mutants("def f(x): return x + 1 < 2")]
    ['1:17: x + 1 <= 2', '1:17: x - 1', '1:21: 2', '1:25: 3']
    >>> [what for what, _ in mutants("if f(x): g()")]
    ['1:3: not f(x)', '1:9: without g()']
    """
    for number in range(len(list(changes(ast.parse(source))))):
        yield mutant(source, number)


def mutant(source: str, number: int) -> tuple[str, str]:
    """(what was changed, the new source) for one change."""
    tree = ast.parse(source)
    node, make = list(changes(tree))[number]
    before = ast.unparse(node)
    make()
    after = ast.unparse(node)
    if after == before:  # what holds the node has changed
        after = ast.unparse(ast.UnaryOp(ast.Not(), cast("ast.expr", node)))
    elif after == "None":
        after = f"without {before}"
    return f"{_place(node)}: {after}", ast.unparse(ast.fix_missing_locations(tree))


def noticed(
    place: Path, tests: list[str], *, quick: bool = True, out: str = os.devnull,
    seconds: float = SECONDS,
) -> bool:  # fmt: skip
    """Whether the tests fail in a process of their own; pytest is imported before."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # kills
        os.chdir(place)
        sys.path[:0] = [str(place / "src"), str(place), str(place / "tests")]
        written = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(written, 1), os.dup2(written, 2)
        plugin = ["-p", "quick"] if quick else []
        os._exit(int(sys.modules["pytest"].main([*QUIET, *plugin, *tests])))
    status = _ended(child, LONGEST / SECONDS * seconds)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have started
    return status != 0


def _ended(child: int, longest: float) -> int:
    """The status of a process, which is ended if it takes too long."""
    until = time.monotonic() + longest
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


@contextmanager
def changed(target: Path, source: str) -> Iterator[None]:
    """A file with another source, for a while."""
    before = target.read_text(encoding="utf-8")
    target.write_text(source, encoding="utf-8")
    try:
        yield
    finally:
        target.write_text(before, encoding="utf-8")


def survivors(module: str, tests: list[str], place: Path) -> tuple[int, list[str]]:
    """How many changes there are in a module, and those that its tests do not notice."""
    target = place / "src" / "lasec" / module
    chosen = [str(target.relative_to(place)), *tests]
    if noticed(place, chosen):
        raise SystemExit(f"{module}: its tests fail as it is")
    found, count = [], 0
    for count, (what, source) in enumerate(mutants(target.read_text(encoding="utf-8")), 1):  # noqa: B007
        with changed(target, source):
            if not noticed(place, chosen):
                found.append(what)
    return count, found


def part_of(module: str) -> tuple[str, Part]:
    """The part that a file belongs to."""
    return next((name, part) for name, part in PARTS.items() if module.startswith(name))


def drawn(place: Path, count: int, seed: int, only: str) -> list[tuple[str, int]]:
    """(file, number of the change) of random changes, file by file."""
    package = place / "src" / "lasec"
    globs = [f"{name}*.py" if name.endswith("/") else f"{Path(name).stem}*.py" for name in PARTS]
    files = sorted({path for each in globs for path in package.glob(each)})
    every = [
        (path.relative_to(package).as_posix(), number)
        for path in files
        if path.relative_to(package).as_posix().startswith(only)
        for number in range(len(list(changes(ast.parse(path.read_text(encoding="utf-8"))))))
    ]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))  # noqa: S311


def named(place: Path, lines: list[str]) -> list[tuple[str, int]]:
    """(file, number of the change) of changes by their names."""
    wanted: dict[str, set[str]] = {}
    for line in lines:
        module, _, what = line.strip().partition(":")
        wanted.setdefault(module, set()).add(what)
    found = []
    for module, whats in wanted.items():
        source = (place / "src" / "lasec" / module).read_text(encoding="utf-8")
        places = {what.partition(": ")[0] for what in whats}
        for number, (node, _) in enumerate(changes(ast.parse(source))):
            if _place(node) in places and mutant(source, number)[0] in whats:
                found.append((module, number))
    return found


def _place(node: ast.expr | ast.stmt) -> str:
    return f"{node.lineno}:{node.col_offset}"


def warm(place: Path, parts: dict[str, Part]) -> None:
    """Run the tests of each part once without a change; compiled code and bytecode are kept."""
    for name, part in parts.items():
        began, out = time.monotonic(), place / "out.txt"
        if _part_notices(place, part, out=str(out), seconds=COLD):
            raise SystemExit(f"{name}: its tests fail as it is\n{out.read_text()[-3000:]}")
        took = time.monotonic() - began
        print(f"{name}: its tests take {took:.0f} s, the first time", flush=True)  # noqa: T201
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _part_notices(place: Path, part: Part, **options: Any) -> bool:
    chosen = ["-k", part.chosen] if part.chosen else []
    return noticed(place, [*part.tests, *chosen], quick=part.quick, **options)


def _is_noticed(place: Path, part: Part, target: Path) -> bool:
    """Whether the tests of the part or the doctests of the file notice a change in it.

    Doctests have a process of their own: pytest imports their module a second time.
    """
    if _part_notices(place, part):
        return True
    has_doctests = ">>>" in target.read_text(encoding="utf-8")
    return has_doctests and noticed(place, [str(target.relative_to(place))], quick=part.quick)


def at_random(place: Path, chosen: list[tuple[str, int]], begin: int = 1) -> None:
    """Print how many changes are noticed by the tests of their part, and which are not."""
    warm(place, dict(part_of(module) for module, _ in chosen))
    count = 0
    for at, (module, number) in enumerate(chosen, begin):
        target = place / "src" / "lasec" / module
        what, source = mutant(target.read_text(encoding="utf-8"), number)
        with changed(target, source):
            began = time.monotonic()
            fails = _is_noticed(place, part_of(module)[1], target)
        count += fails
        took = time.monotonic() - began
        how = "noticed" if fails else "SURVIVES"
        print(f"{at:4} {how:8} {took:4.0f} s  {module}:{what}", flush=True)  # noqa: T201
    print(f"{count} of {len(chosen)} changes are noticed by the tests of their part")  # noqa: T201


@contextmanager
def copied(keep: Path | None = None) -> Iterator[Path]:
    """A folder with the source and the tests, for processes that the tests start as well."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # for tests that give up the rights of root
        place = Path(keep or name).resolve()
        for folder in ("src", "tests", "experiments"):
            ignored = shutil.ignore_patterns("__pycache__", "spark" if folder == "tests" else "")
            shutil.rmtree(place / folder, ignore_errors=True)
            shutil.copytree(ROOT / folder, place / folder, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", place)
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(place / "src"), str(place), str(place / "tests")]
        )
        yield place


def of_modules(chosen: dict[str, list[str]]) -> None:
    """Print the survivors of each module; nothing is compiled."""
    os.environ["LASEC_CODE"] = "library"  # what is changed in rules and queries is interpreted
    _import()
    with copied() as place:
        for each, its_tests in chosen.items():
            started = time.monotonic()
            count, found = survivors(each, its_tests, place)
            took = time.monotonic() - started
            print(f"{each}: {len(found)} of {count} changes survive ({took:.0f} s)", flush=True)  # noqa: T201
            for what in found:
                print(f"  {each}:{what}")  # noqa: T201


def _import() -> None:
    for heavy in ("pytest", "scipy.stats"):  # once, for all processes
        importlib.import_module(heavy)


def main() -> None:
    """Read the arguments, and do what they say."""
    parser = argparse.ArgumentParser(description=cast("str", __doc__).partition("\n")[0])
    parser.add_argument("module", nargs="?", help="a file under src/lasec")
    parser.add_argument("tests", nargs="*", help="its tests")
    parser.add_argument("--random", type=int, metavar="N", help="draw so many changes")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (1)")
    parser.add_argument("--only", default="", metavar="PART", help="draw in one part of PARTS")
    parser.add_argument("--begin", type=int, default=1, metavar="K", help="with the Kth change (1)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="changes by name, a line each")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="work here: keeps compiled code"
    )
    given = parser.parse_args()
    if given.random is None and given.again is None:
        of_modules({given.module: given.tests} if given.module else MODULES)
        return
    with copied(given.keep) as place:
        os.environ["NUMBA_CACHE_DIR"] = str(place / "compiled")
        _import()
        if given.again is not None:
            chosen = named(place, given.again.read_text(encoding="utf-8").splitlines())
        else:
            chosen = drawn(place, given.random, given.seed, given.only)
        at_random(place, chosen[given.begin - 1 :], given.begin)


if __name__ == "__main__":
    main()
