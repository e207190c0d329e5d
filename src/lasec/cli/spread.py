"""Records of options: one parameter of a command stands for an option of each of its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar, get_args, get_origin
from typing import get_type_hints as hints_of

R = TypeVar("R")
P = ParamSpec("P")
_OPTION = inspect.Parameter.KEYWORD_ONLY


class Only:
    """The fields of a record that a command has options for; the others have their defaults."""

    def __init__(self, *names: str) -> None:
        self.names = names


class _Record(NamedTuple):
    """A record, and the fields that are options of the command."""

    type: Any
    names: tuple[str, ...]

    def of(self, given: dict[str, Any]) -> Any:
        """The record, with its options taken out of what was given."""
        found = {name: given.pop(name) for name in self.names}
        return self.type(**{n: tuple(v) if isinstance(v, list) else v for n, v in found.items()})


def spread(command: Callable[P, R]) -> Callable[..., R]:
    """A command whose records of options are spread over its signature.

    >>> class Size(NamedTuple):
    ...     width: Annotated[int, "an option"] = 1
    ...     height: Annotated[int, "another"] = 2
    >>> @spread
    ... def area(*, times: int = 1, size: Size) -> int:
    ...     return size.width * size.height * times
    >>> list(inspect.signature(area).parameters), area(width=3, height=2, times=1)
    (['times', 'width', 'height'], 6)
    """
    hints, records = hints_of(command, include_extras=True), dict[str, _Record]()
    spread_out: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if record := _record(hints[name]):
            records[name] = record
            spread_out += _options(record)
        else:
            spread_out.append(parameter.replace(annotation=hints[name]))

    @functools.wraps(command)
    def run(**given: Any) -> R:
        made = {name: record.of(given) for name, record in records.items()}
        return command(**made, **given)  # type: ignore[call-arg]

    result: Any = run
    result.__signature__ = inspect.Signature(spread_out)
    result.__annotations__ = {one.name: one.annotation for one in spread_out}
    return run


def _record(hint: Any) -> _Record | None:
    """The record that a parameter is, if it is one."""
    base, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not (isinstance(base, type) and issubclass(base, tuple) and hasattr(base, "_fields")):
        return None
    names = next((each.names for each in more if isinstance(each, Only)), None)
    fields = hints_of(base, include_extras=True)
    options = tuple(n for n, hint in fields.items() if get_origin(hint) is Annotated)
    return _Record(base, options if names is None else names)


def _options(record: _Record) -> list[inspect.Parameter]:
    """A parameter for each option of a record; a tuple is a list that may be empty."""
    fields, made = hints_of(record.type, include_extras=True), []
    for name in record.names:
        kind, option = get_args(fields[name])
        default = record.type._field_defaults[name]
        if get_origin(kind) is tuple:
            kind, default = list[get_args(kind)[0]], list(default)  # type: ignore[misc]
        spelled: Any = Annotated[kind, option]
        made.append(inspect.Parameter(name, _OPTION, default=default, annotation=spelled))
    return made
