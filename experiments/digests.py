"""What a result came from, as a digest: its code, its grid and its data.

A result of an earlier run is used again only if nothing that it depends on has changed. Code counts
by its source, without comments and docstrings: a learner depends on the module of its rule, the
module of its query, what these import, and the code that makes the numbers of a run (:data:`RUN`);
another rule can change without consequence, and so can what saves, shows or serves a learner.
Versions of Python, NumPy and numba are not part of a digest: the JSON files name them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import io
import json
import subprocess
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import lasec
from experiments.data import data_folder

# What makes the numbers of a run: the compiled loops with all that they import, and the functions
# that lead rows of an array into them. A test follows runs, and fails where one goes elsewhere.
RUN = (
    "lasec.contract",
    "lasec.kernel.blocks",
    "lasec.kernel.codes",
    "lasec.kernel.engine",
    "lasec.kernel.functions",
    "lasec.kernel.loops",
    "lasec.learner.running:run",
    "lasec.learner.running:_chunk",
    "lasec.learner.state:LearnerState.mistakes_only",
    "lasec.learner.terms:Terms.every_label",
    "lasec.methods",
    "lasec.selector:Selector.run",
    "lasec.records:Records.accuracy",
    "lasec.records:Records.labels",
    "lasec.records:Records.rate",
    "lasec.validation:signs",
)
# What they import for other reasons: checks and their words, citations, sparse rows and texts.
CHECKS = tuple(f"lasec.{name}" for name in (
    "errors", "murmur", "notebook", "parameters", "sparse", "validation",
))  # fmt: skip
PARTS = ("lasec.rules", "lasec.queries", "lasec.mercer")  # count where they are the learner's own
ALL = PARTS + CHECKS
ROOT = Path(__file__).parents[1]
OURS = ("lasec", "experiments")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_BEHIND: dict[str, Callable[..., Any]] = {}


def depends_on(behind: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a task's function: ``behind``, given its arguments, names what its result comes from."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        _BEHIND[_name(function)] = behind
        return function

    return mark


def digest(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """The digest of what is behind a task; without a mark, all that its module imports counts."""
    behind = _BEHIND.get(_name(function))
    if behind is None:
        return short(code(function.__module__), _data_of(function.__module__))
    return short(_name(function), behind(*arguments))


def short(*parts: Any) -> str:
    """Twelve hexadecimal digits for plain JSON."""
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def learner(made: lasec.Learner) -> dict[str, str]:
    """What a learner is: its parts with their parameters, and the code of each."""
    rule, query = type(made.rule).__module__, type(made.query).__module__
    return {
        "rule": f"{made.rule!r}",
        "query": f"{made.query!r}",
        "learn from": f"{made.learn_from!r}",
        "code": code(rule, CHECKS) + code(query, CHECKS) + "".join(code(p, ALL) for p in RUN),
    }


@cache
def code(place: str, without: tuple[str, ...] = ()) -> str:
    """A digest of a module's source and of all that it imports from its own packages.

    Of ``module:name`` it is the source of that function or method alone.
    """
    module, _, name = place.partition(":")
    total = hashlib.sha256()
    if name:
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = inspect.getattr_static(function, part)
        total.update(source(getattr(function, "fget", function)).encode())
        return total.hexdigest()[:12]
    for found, origin in sorted(closure(module, without).items()):
        total.update(f"\0{found}\0{plain(origin.read_text())}".encode())
    return total.hexdigest()[:12]


def source(*functions: Callable[..., Any]) -> str:
    """The source of functions, as :func:`plain` gives it."""
    return "".join(plain(textwrap.dedent(inspect.getsource(f))) for f in functions)


def plain(text: str) -> str:
    r"""Python without its comments, docstrings and empty lines, which change no number.

    >>> plain('def f(x):  # twice\n    "Twice x."\n\n    return 2 * x\n')
    'def f(x):\n    return 2 * x\n'
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno
            lines[first - 1 : last] = [""] * (last - first + 1)  # type: ignore[operator]
    return "".join(f"{line.rstrip()}\n" for line in lines if line.strip())


def file(path: Path) -> str:
    """A digest of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


@cache
def commit() -> str:
    """The commit that is checked out, with a mark where code differs from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "experiments")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-changed" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


@cache
def _data_of(module: str) -> str:
    """A digest of all data files, for a module that can read them."""
    folder = data_folder()
    if folder is None or "experiments.data" not in closure(module, ()):
        return ""
    files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    return short([(path.name, file(path)) for path in files if path.is_file()])


def closure(module: str, without: tuple[str, ...]) -> dict[str, Path]:
    """The files of a module and of all that it imports from our packages or its own folder."""
    found: dict[str, Path] = {}
    first = _origin(module)
    home = first.parent if first is not None else ROOT
    waiting = [module]
    while waiting:
        name = waiting.pop()
        left_out = any(f"{name}.".startswith(f"{part}.") for part in without)
        if name in found or (left_out and name != module):
            continue
        origin = _origin(name) if name == module or _beside(name, home) else None
        if origin is not None:
            found[name] = origin
            waiting += _imports(name, origin)
    return found


def _beside(name: str, home: Path) -> bool:
    """Whether a module is one of our packages, or lies where the first one does."""
    top = name.partition(".")[0]
    if top in OURS:
        return True
    origin = _origin(top)
    if origin is None or not origin.is_relative_to(home):
        return False
    return "site-packages" not in origin.relative_to(home).parts


@cache
def _origin(name: str) -> Path | None:
    """The source file of a module; None if there is no such module, or it has no source."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(name: str, origin: Path) -> Iterator[str]:
    """The modules that a source file names in its imports."""
    package = name if origin.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(origin.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            modules = [i for i in inner if base.partition(".")[0] in OURS and _origin(i)]
            yield from modules
            if len(modules) < len(inner):
                yield base
