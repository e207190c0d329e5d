"""``lasec serve``: models over HTTP, with a page for the people who answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from lasec.cli.options import option
from lasec.cli.output import honest, put_lines, say
from lasec.errors import TableError

if TYPE_CHECKING:
    from lasec.service import Service

LOCAL = "127.0.0.1"
FIRST = "owner"  # name of the first key


class Role(StrEnum):
    """What a key opens."""

    OWNER = "owner"
    APP = "app"
    ANNOTATOR = "annotator"
    VIEWER = "viewer"


@honest
def serve(
    store: Annotated[
        str,
        option(
            "--store", "FILE|URL", "SQLite file, or postgresql://user@host/database.",
            envvar="LASEC_STORE",
        ),
    ] = "lasec.db",
    host: Annotated[
        str, option("--host", None, "Address to listen on; 0.0.0.0 for every one.")
    ] = LOCAL,
    port: Annotated[int, option("--port", None, "Port to listen on.", min=0, max=65_535)] = 8077,
    tenant: Annotated[str, option("--tenant", "NAME", "Tenant of a new key.")] = "default",
    new_key: Annotated[
        str | None, option("--new-key", "NAME", "Make a key, print it, and end.")
    ] = None,
    role: Annotated[
        Role, option("--role", "owner|app|annotator|viewer", "What the new key opens.")
    ] = Role.OWNER,
    hook_host: Annotated[
        list[str] | None,
        option(
            "--hook-host", "HOST[:PORT]",
            "Host that questions for a judge may be posted to; can be repeated.",
            envvar="LASEC_HOOK_HOSTS",
        ),
    ] = None,
    hook_private: Annotated[
        bool,
        option(
            "--hook-private", None,
            "Such hosts may be in this machine or a private network, there also without TLS.",
            envvar="LASEC_HOOK_PRIVATE",
        ),
    ] = False,
) -> None:  # fmt: skip
    """Serve models over HTTP: rows in, questions to people, answers learned, all of it durable.

    The first start makes a key for the owner and prints it. With it, open the page /owner: create
    models, invite annotators, review their answers, download labels. All of it, and keys for
    applications, also by the API (/openapi.json). Each annotator works on the page / with a key.
    Everything that was acknowledged is in the store.
    """
    service = _service(store, hook_host or [], hook_private)
    if new_key is not None:
        with _opened(service):
            put_lines([service.new_key(tenant, new_key, role.value) + "\n"])
        return
    with _opened(service):
        if not service.keys:
            key = service.new_key(tenant, FIRST, Role.OWNER.value)
            say(f"lasec: the owner's key, shown this once: {key}")
        say(
            f"lasec: serving {_shown(store)} on http://{host}:{port} (annotators: /, owner: /owner)"
        )
        _listen(service, host, port)


def _shown(store: str) -> str:
    """A store's address as a log may have it.

    >>> _shown("postgresql://lasec:secret@db/lasec"), _shown("mails.db")
    ('postgresql://lasec:***@db/lasec', 'mails.db')
    >>> _shown("postgresql://db/lasec?user=lasec&password=secret&sslmode=require")
    'postgresql://db/lasec?user=lasec&password=***&sslmode=require'
    """
    hidden = re.sub(r"^(\w+://[^:@/]*):.*@", r"\1:***@", store)
    return re.sub(r"(password=)[^&]*", r"\1***", hidden)


def _service(store: str, hosts: list[str], private: bool) -> Service:
    try:
        from lasec.service import Service  # noqa: PLC0415
        from lasec.service.outgoing import Outgoing  # noqa: PLC0415

        return Service(store, outgoing=Outgoing(frozenset(hosts), private))
    except ImportError as error:
        extra = "postgres" if "psycopg" in str(error) else "serve"
        raise TableError(
            f"this needs more packages: pip install '.[{extra}]' in a checkout of lasec"
        ) from None


@contextmanager
def _opened(service: Service) -> Iterator[None]:
    """A service that holds its store."""
    service.open()
    try:
        yield
    finally:
        service.stop()


def _listen(service: Service, host: str, port: int) -> None:
    """Serve until a signal comes."""
    from lasec.service.listen import Server  # noqa: PLC0415

    Server(service, host=host, port=port).run()
