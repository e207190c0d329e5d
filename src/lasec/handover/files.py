"""Questions to a file that people fill in any program, and their answers from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lasec import files
from lasec.client import Question
from lasec.errors import TableError
from lasec.handover.exchange import Answer, Shown
from lasec.handover.forms import Form, answers, as_csv

DONT_KNOW = "?"
OURS = ("ticket", "id", "label", "by")


class Files:
    r"""A file of questions, and one of answers: CSV by its name, else lines of JSON.

    The file of questions is written whole at each look. Rows of answers have a ``ticket`` or the
    ``id`` of a row, a ``label`` ("?" is "don't know", empty is not answered yet) and perhaps who
    answered (``by``). A file can be read any number of times.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "answers.csv").write_text("id,label,by\nmail-1,spam,ann\nmail-2,,\n")
    >>> place = Files(folder / "questions.csv", folder / "answers.csv")
    >>> place.look([])
    [Answer(question='mail-1', by='ann', label='spam')]
    >>> place.show([Question(3, "mail-3", {"text": "lunch"}, "open", 1, [])]).shown
    1
    >>> print((folder / "questions.csv").read_text(), end="")
    ticket,id,text,label,by
    3,mail-3,lunch,,
    """

    people = None  # what is not in the file was perhaps in another one

    def __init__(
        self, questions: str | Path | None = None, answers: str | Path | None = None, *,
        by: str = "file",
    ) -> None:  # fmt: skip
        self._questions = None if questions is None else Path(questions)
        self._answers, self._by = None if answers is None else Path(answers), by
        if self._questions is not None and self._questions == self._answers:
            raise TableError(f"{questions}: give two files, so that no answer is written over")

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers in the file."""
        if self._answers is None:
            return []
        return [found for found in map(self._answer, _rows(self._answers)) if found is not None]

    def _answer(self, row: Any) -> Answer | None:
        question = _question(row)
        if question is None:
            raise TableError(f'{self._answers}: an answer needs a "ticket" or an "id": {row!r}')
        if row.get("label") in (None, ""):
            return None
        label = str(row["label"]).strip()
        by = str(row.get("by") or self._by)
        return Answer(question, by, None if label == DONT_KNOW else label)

    def show(self, questions: Sequence[Question]) -> Shown:
        """Write the questions, the oldest first."""
        if self._questions is None:
            return Shown()
        rows = [_shown(question) for question in questions]
        if self._questions.suffix == ".csv":
            text = as_csv(rows)
        else:
            text = "".join(json.dumps(row) + "\n" for row in rows)
        files.write(self._questions, text.encode())
        return Shown(len(rows))


def _question(row: Any) -> int | str | None:
    """The ticket or the id that a row names.

    >>> _question({"ticket": "7"}), _question({"id": 7}), _question({"ticket": "x"})
    (7, '7', None)
    """
    ticket, name = (row.get(n) for n in OURS[:2]) if isinstance(row, dict) else (None, None)
    if ticket not in (None, ""):
        return int(ticket) if str(ticket).strip().isdecimal() else None
    return str(name) if isinstance(name, (str, int)) and name != "" else None


def _rows(path: Path) -> list[Any]:
    """The rows of a file: a table, lines of JSON, or a list."""
    data = path.read_bytes()
    if path.suffix == ".csv":
        return [json.loads(line) for line in answers(data, Form.CSV)]
    try:
        text = data.decode("utf-8-sig").strip()
        if text.startswith("["):
            found: list[Any] = json.loads(text)
            return found
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise TableError(f"{path} is not JSON: {error}") from None


def _shown(question: Question) -> dict[str, Any]:
    """What people see of a question; the model's guess is not among it."""
    item = question.item if isinstance(question.item, Mapping) else {"text": question.item}
    named: dict[str, Any] = {"ticket": question.ticket}
    named |= {} if question.id is None else {"id": question.id}
    return named | {name: value for name, value in item.items() if name not in OURS}
