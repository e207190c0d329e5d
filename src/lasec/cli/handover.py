"""``lasec handover``: questions of a service to people elsewhere, and their answers back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lasec.cli import served as o
from lasec.cli.helptext import Command, Group
from lasec.cli.options import option
from lasec.cli.output import honest, put, say
from lasec.cli.served import served
from lasec.errors import TableError

if TYPE_CHECKING:
    from lasec.handover.exchange import Done

KEPT = 30 * 86_400.0  # seconds for which the service keeps closed questions, unless told otherwise
group = typer.Typer(
    cls=Group, no_args_is_help=True, help="Hand the questions of a service to people elsewhere."
)


@group.command("file", cls=Command)
@honest
def file(
    model: o.Name,
    key: o.Key,
    url: o.Url = o.LOCAL,
    questions: Annotated[
        Path | None, option("--questions", "FILE", "Write open questions here.")
    ] = None,
    answers: Annotated[Path | None, option("--answers", "FILE", "Read answers from here.")] = None,
    by: Annotated[str, option("--by", None, "Who answered, where the file does not say.")] = "file",
) -> None:
    """Read answers from a file, and write the open questions to another: CSV, or JSON lines.

    Answers have "ticket" or "id", "label" ("?" is "don't know"), and perhaps "by". A file can be
    read any number of times: each answer is told once.
    """
    with served(url, key) as client:
        from lasec.handover.exchange import exchange  # noqa: PLC0415
        from lasec.handover.files import Files  # noqa: PLC0415

        if questions is None and answers is None:
            raise TableError("give --questions, --answers, or both")
        done = exchange(client.model(model), Files(questions, answers, by=by), closed=KEPT)
    _put(done)


@group.command("label-studio", cls=Command)
@honest
def label_studio(
    model: o.Name,
    key: o.Key,
    studio: Annotated[
        str, option("--studio", None, "Address of Label Studio.", envvar="LABEL_STUDIO_URL")
    ],
    token: Annotated[
        str, option("--token", None, "Its access token.", envvar="LABEL_STUDIO_TOKEN")
    ],
    project: Annotated[int, option("--project", None, "Number of the project.")],
    url: o.Url = o.LOCAL,
    hold: Annotated[
        float, option("--hold", None, "Seconds for which an answer must be unchanged.", min=0)
    ] = 10.0,
    every: Annotated[
        float, option("--every", None, "Seconds between two checks for answers.", min=0.1)
    ] = 10.0,
    listen: Annotated[
        int | None,
        option("--listen", "PORT", "Also check as soon as a webhook arrives on this port."),
    ] = None,
    host: Annotated[str, option("--host", None, "Address for webhooks.")] = "127.0.0.1",
    once: Annotated[bool, option("--once", None, "Check once, then exit.")] = False,
) -> None:
    """Show open questions as tasks of a Label Studio project, and tell the model the answers.

    A skipped task is "don't know". An answer is told once it was unchanged for --hold seconds. Stop
    and restart the command at any time: no answer is lost, and none is told twice.
    """
    with served(url, key) as client:
        from lasec.handover.exchange import exchange, repeat  # noqa: PLC0415
        from lasec.handover.hints import Hints  # noqa: PLC0415
        from lasec.handover.label_studio import LabelStudio  # noqa: PLC0415

        asking = client.model(model)
        with closing(LabelStudio(studio, token, project, model, hold=hold)) as place:
            if once:
                _put(exchange(asking, place))
                return
            with closing(Hints(every, hold + 1.0, listen, host)) as hints:
                repeat(asking, place, wait=hints.wait, say=_put)


def _put(done: Done | str) -> None:
    if isinstance(done, str):
        say(f"lasec: {done}")
    else:
        put(done._asdict())
