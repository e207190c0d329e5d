"""The help of a command: what stands for the value of each option."""

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
    """A parameter with a name for its value, where it is an option that has none.

    A flag has no value; any other option is followed by its own name, as argparse has it.
    """
    if param.param_type_name == "option" and param.metavar is None:
        param.metavar = "" if param.is_flag else param.name.upper()
    return param
