"""A service as commands reach it: its address, a key, and errors that are a user's to mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lasec.cli.options import option
from lasec.errors import TableError

if TYPE_CHECKING:
    from lasec.client import Client

LOCAL = "http://127.0.0.1:8077"
Name = Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model.")]
Url = Annotated[str, option("--url", None, "Address of lasec serve.", envvar="LASEC_URL")]
Key = Annotated[
    str,
    option(
        "--key", None,
        "Key of an app or the owner. Prefer the variable: other users of the machine can see the "
        "options of a command.", envvar="LASEC_KEY",
    ),
]  # fmt: skip


@contextmanager
def served(url: str, key: str) -> Iterator[Client]:
    """A client of the service."""
    try:
        from httpx import HTTPError  # noqa: PLC0415

        from lasec.client import AwayError, Client, RefusedError  # noqa: PLC0415
    except ImportError:
        raise TableError(
            "this needs more packages: pip install '.[client]' in a checkout of lasec"
        ) from None
    with Client(url, key.strip()) as client:
        try:
            yield client
        except (AwayError, HTTPError, RefusedError) as error:
            raise TableError(str(error)) from None
