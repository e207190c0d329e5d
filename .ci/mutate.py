"""Change one operator or constant at a time, and list the changes that no test notices.

``python .ci/mutate.py`` does it for the modules in ``MODULES``; ``python .ci/mutate.py
metrics/planner.py tests/labels/test_planner.py`` for one module and its tests. The doctests of the
module always run. Tests that need compiled code are skipped, so only plain Python can be looked at
this way. A survivor is a missing test, or a change that makes no difference: read it and decide.
"""

from __future__ import annotations

import ast
import copy
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parents[1]
MODULES = {
    "bounds/gamma.py": ["tests/parity/test_bounds.py"],
    "metrics/planner.py": ["tests/labels/test_planner.py"],
    "metrics/means.py": ["tests/labels/test_meter.py"],
    "metrics/confidence_sequence.py": ["tests/labels/test_sequence.py"],
    "tables/hashing.py": ["tests/integrations/test_tables.py"],
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
SECONDS = 60.0  # of CPU time; a mutant that takes more has been noticed
QUIET = ["-q", "-x", "-n", "0", "-p", "quick", "-m", "not slow", "-p", "no:cacheprovider"]


def places(tree: ast.AST) -> Iterator[tuple[ast.expr, str, int, object]]:
    """(node, field, index, new value) of every change; the index is that of a comparison."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
            if not _is_text(node):
                yield node, "op", -1, SWAPS[type(node.op)]()
        elif isinstance(node, ast.Compare):
            for index, operator in enumerate(node.ops):
                yield node, "ops", index, SWAPS[type(operator)]()
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node, "value", -1, cast("float", node.value) + 1


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the new source) for each change.

    >>> [what for what, _ in mutants("def f(x): return x + 1 < 2")]
    ['1: x + 1 <= 2', '1: x - 1', '1: 3', '1: 2']
    """
    for number in range(len(list(places(ast.parse(source))))):
        tree = ast.parse(source)
        node, field, index, value = list(places(tree))[number]
        if index < 0:
            setattr(node, field, value)
        else:
            getattr(node, field)[index] = copy.copy(value)
        yield f"{node.lineno}: {ast.unparse(node)}", ast.unparse(tree)


def _is_text(node: ast.BinOp | ast.BoolOp) -> bool:
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    return any(isinstance(part, ast.JoinedStr) for part in parts)


def noticed(place: Path, tests: list[str]) -> bool:
    """Whether the tests fail in a process of their own; pytest and numba are imported before."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # kills
        os.chdir(place)
        sys.path[:0] = [str(place / "src"), str(place), str(place / "tests")]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        os._exit(int(sys.modules["pytest"].main([*QUIET, *tests])))
    _, status = os.waitpid(child, 0)
    return status != 0


def survivors(module: str, tests: list[str], place: Path) -> tuple[int, list[str]]:
    """How many changes there are in a module, and those that its tests do not notice."""
    target = place / "src" / "lasec" / module
    source = target.read_text(encoding="utf-8")
    chosen = [str(target.relative_to(place)), *tests]
    if noticed(place, chosen):
        raise SystemExit(f"{module}: its tests fail as it is")
    found, count = [], 0
    try:
        for count, (what, changed) in enumerate(mutants(source), 1):  # noqa: B007
            target.write_text(changed, encoding="utf-8")
            if not noticed(place, chosen):
                found.append(what)
    finally:
        target.write_text(source, encoding="utf-8")
    return count, found


def main(module: str = "", *tests: str) -> None:
    """Print the survivors of each module."""
    os.environ["NUMBA_CACHE_DIR"] = os.devnull  # as tests/quick.py does, which comes too late here
    for heavy in ("numba", "pytest", "scipy.stats"):  # once, for all processes
        importlib.import_module(heavy)
    chosen = {module: list(tests)} if module else MODULES
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for folder in ("src", "tests"):
            ignored = shutil.ignore_patterns("__pycache__", "spark")
            shutil.copytree(ROOT / folder, place / folder, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", place)
        for each, its_tests in chosen.items():
            started = time.monotonic()
            count, found = survivors(each, its_tests, place)
            took = time.monotonic() - started
            print(f"{each}: {len(found)} of {count} changes survive ({took:.0f} s)", flush=True)  # noqa: T201
            for what in found:
                print(f"  {each}:{what}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
