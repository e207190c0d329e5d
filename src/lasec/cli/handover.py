"""``lasec handover``: questions of a service to people elsewhere, and their answers back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lasec.cli.output import honest, put, say
from lasec.errors import TableError

if TYPE_CHECKING:
    from lasec.client import Client
    from lasec.handover.exchange import Done

KEPT = 30 * 86_400.0  # seconds for which the service keeps closed questions, unless told otherwise
group = typer.Typer(
    no_args_is_help=True, help="Hand the questions of a service to people elsewhere."
)
Name = Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model.")]
Url = Annotated[
    str, typer.Option("--url", envvar="LASEC_URL", help="Address of lasec serve.")
]  # fmt: skip
Key = Annotated[
    str,
    typer.Option(
        "--key",
        envvar="LASEC_KEY",
        help="Key of an app or the owner; others can see an option, not a variable.",
    ),
]
LOCAL = "http://127.0.0.1:8077"


@group.command("file")
@honest
def file(
    model: Name,
    key: Key,
    url: Url = LOCAL,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", metavar="FILE", help="Write open questions here."),
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", metavar="FILE", help="Read answers from here.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", help="Who answered, where the file does not say.")
    ] = "file",
) -> None:
    """Read answers from a file, and write the open questions to another: CSV, or JSON lines.

    Answers have "ticket" or "id", "label" ("?" is "don't know"), and perhaps "by". A file can be
    read any number of times: each answer is told once.
    """
    with _served(url, key) as client:
        from lasec.handover.exchange import exchange  # noqa: PLC0415
        from lasec.handover.files import Files  # noqa: PLC0415

        if questions is None and answers is None:
            raise TableError("give --questions, --answers, or both")
        done = exchange(client.model(model), Files(questions, answers, by=by), closed=KEPT)
    _put(done)


@group.command("label-studio")
@honest
def label_studio(
    model: Name,
    key: Key,
    studio: Annotated[
        str, typer.Option("--studio", envvar="LABEL_STUDIO_URL", help="Address of Label Studio.")
    ],
    token: Annotated[
        str, typer.Option("--token", envvar="LABEL_STUDIO_TOKEN", help="Its access token.")
    ],
    project: Annotated[int, typer.Option("--project", help="Number of the project.")],
    url: Url = LOCAL,
    hold: Annotated[
        float,
        typer.Option("--hold", min=0, help="Seconds for which an answer must be unchanged."),
    ] = 10.0,
    every: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between two looks.")
    ] = 10.0,
    listen: Annotated[
        int | None,
        typer.Option("--listen", metavar="PORT", help="Take webhooks as hints to look sooner."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address for webhooks.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
) -> None:
    """Show open questions as tasks of a Label Studio project, and tell the model the answers.

    A skipped task is "don't know". An answer is told when it was unchanged for --hold seconds. It
    can be stopped at any moment: everything is looked up.
    """
    with _served(url, key) as client:
        from lasec.handover.exchange import exchange, repeat  # noqa: PLC0415
        from lasec.handover.hints import Hints  # noqa: PLC0415
        from lasec.handover.label_studio import LabelStudio  # noqa: PLC0415

        served = client.model(model)
        with closing(LabelStudio(studio, token, project, model, hold=hold)) as place:
            if once:
                _put(exchange(served, place))
                return
            with closing(Hints(every, hold + 1.0, listen, host)) as hints:
                repeat(served, place, wait=hints.wait, say=_put)


@contextmanager
def _served(url: str, key: str) -> Iterator[Client]:
    """A client of the service, whose errors are a user's to mend."""
    try:
        from httpx import HTTPError  # noqa: PLC0415

        from lasec.client import Client, RefusedError  # noqa: PLC0415
        from lasec.handover.exchange import AwayError  # noqa: PLC0415
    except ImportError:
        raise TableError("this needs more packages: pip install 'lasec[client]'") from None
    with Client(url, key.strip()) as client:
        try:
            yield client
        except (AwayError, HTTPError, RefusedError) as error:
            raise TableError(str(error)) from None


def _put(done: Done | str) -> None:
    if isinstance(done, str):
        say(f"lasec: {done}")
    else:
        put(done._asdict())
