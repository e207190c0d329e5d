"""The help of a command: what stands for the value of each option and argument."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose help shows names in place of types, and nothing after a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, ready for the help."""
        return [named(param) for param in super().get_params(ctx)]


class Group(TyperGroup):
    """A group of commands with the same kind of help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, ready for the help."""
        return [named(param) for param in super().get_params(ctx)]


def named(param: Any) -> Any:
    """A parameter whose help shows neither a type nor a range, but a name for its value.

    A flag has no value; any other option is followed by its own name, as argparse has it, and an
    argument is its own name. Ranges are still checked: an error names them.
    """
    if param.param_type_name == "argument":
        param.display_type_rich = _no_type
    elif param.metavar is None:
        param.metavar = "" if param.is_flag else param.name.upper()
    param.min = param.max = None  # what the help shows, not what is checked
    return param


def _no_type(ctx: Any) -> None:
    """What the help of an argument shows in the place of a type."""
