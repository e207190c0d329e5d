"""A method of one's own in the panels: ``--rule module:Name``, without a change to this package.

``Name`` is a rule (``docs/own-rule.md``), which is run with the paper's query a / (a + |p|); or a
function ``Name(dimension, *, aggressiveness, seed, **parameters)`` that returns a
``lasec.Learner``, which brings its own query. ``aggressiveness`` is infinite where every label is
queried.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import lasec
from experiments.contestants import SELECTIVE, SUPERVISED, Axis, Contestant, Knob

ALL = SUPERVISED | SELECTIVE

Method = str | dict[str, Any]  # a name of ALL, or what Own.spec gives: plain JSON, as tasks need it


class Own(NamedTuple):
    """A method by the place of its code, the labels it learns from, and its grid."""

    place: str
    learn_from: str
    grid: dict[str, list[float]]

    def spec(self) -> dict[str, Any]:
        """As an argument of a task."""
        return self._asdict()

    def contestant(self) -> Contestant:
        """The method with its axes and its knob."""
        made = self.load()
        names, defaults = getattr(made, "_fields", None), getattr(made, "_field_defaults", {})
        axes = []
        for name, values in self.grid.items():
            if names is None or name in names:
                kind = int if type(defaults.get(name)) is int else float
                axes.append(Axis(name, tuple(kind(v) for v in sorted(values)), open=False))
        return Contestant(self._build(made), tuple(axes), Knob("aggressiveness"))

    def load(self) -> Any:
        """What stands at the place; the folder that the command was started in is looked in."""
        module, _, name = self.place.partition(":")
        if not name:
            raise ValueError(f"{self.place!r} is not of the form module:Name")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise ValueError(f"no module {error.name!r} for {self.place}") from error
        except AttributeError as error:
            raise ValueError(f"module {module} has no {name!r}") from error

    def _build(self, made: Any) -> Any:
        if not hasattr(made, "margin"):
            return made
        name, learn_from = self.place.partition(":")[2], cast(Any, self.learn_from)

        def build(
            dimension: int, *, aggressiveness: float, seed: int, **parameters: Any
        ) -> lasec.Learner:
            rule, query = made(**parameters), lasec.queries.MarginSampling(aggressiveness)
            return lasec.Learner(
                rule, query, dimension=dimension, learn_from=learn_from, seed=seed, name=name
            )

        return build


def find(method: Method) -> Contestant:
    """The contestant of a name or of a method of one's own."""
    return ALL[method] if isinstance(method, str) else Own(**method).contestant()


def label(method: Method) -> str:
    """Its name in tables and pictures."""
    return method if isinstance(method, str) else str(method["place"]).partition(":")[2]


def read_grid(texts: Sequence[str]) -> dict[str, list[float]]:
    """The grid that ``--grid name=1,2,3`` gives."""
    grid: dict[str, list[float]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            grid[name.strip()] = [float(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--grid {text!r} is not of the form name=1,2,3")
    return grid
