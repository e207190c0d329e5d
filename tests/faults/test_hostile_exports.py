"""What people send back: no cell is run by a spreadsheet, and no export ends with a trace."""

import copy
import csv
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lasec.client import AwayError, Question
from lasec.errors import TableError
from lasec.handover.exchange import Answer, Unreadable
from lasec.handover.files import Files
from lasec.handover.forms import Form, answers, as_csv
from lasec.handover.label_studio import LabelStudio
from warm import run_all

TASK = {
    "id": 1,
    "data": {"ticket": 7, "id": "mail-7", "text": "hi", "lasec": "mails/7"},
    "annotations": [
        {
            "result": [{"type": "choices", "value": {"choices": ["spam"]}}],
            "completed_by": {"id": 3, "email": "ann@example.org"},
            "updated_at": "2026-01-01T00:00:00Z",
            "was_cancelled": False,
        }
    ],
}
OTHER = copy.deepcopy(TASK) | {"id": 2, "data": {"ticket": 8, "lasec": "mails/8"}}
HOSTILE = [
    None, True, -1, 0, 10**400, 1e308, float("nan"), float("inf"), "", "x", "\ud800", "\0",
    "9" * 9_999, [], [[]], [None], [{}], {}, {"a": None}, {"choices": None}, {"choices": [None]},
    {"choices": {}},
]  # fmt: skip
FORMULAS = [*"=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"]


def places(value, path=()):
    """Each place of an export."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def damaged(whole, path, value=...):
    """A copy with another value in one place, or without the place."""
    if not path:
        return value
    made = copy.deepcopy(whole)
    at = made
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return made


def exports(whole):
    """Exports that are damaged in one place."""
    for path in places(whole):
        for value in [*HOSTILE, ...] if path else HOSTILE:
            yield damaged(whole, path, value)


def test_an_export_is_read_or_refused_with_words():
    read = refused = 0
    for export in exports([TASK, OTHER]):
        try:
            for line in answers(json.dumps(export).encode(), Form.LABEL_STUDIO):
                row = json.loads(line)
                assert isinstance(row["label"], str)
                assert row.keys() & {"ticket", "id"}
            read += 1
        except TableError as error:
            assert str(error).startswith("the answers are not label-studio: ")
            refused += 1
    assert min(read, refused) > 100
    null = damaged([TASK], (0, "annotations", 0, "result", 0, "value"), None)
    with pytest.raises(TableError, match='task 0: "value" must be an object, got None'):
        answers(json.dumps(null).encode(), Form.LABEL_STUDIO)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"9" * 9_999, b"\xff", b"[NaN]", b"", b'{"a": 1', b'["\\ud800"]']
)
@pytest.mark.parametrize("form", [Form.LABEL_STUDIO, Form.CSV])
def test_bytes_that_are_no_export_are_refused(data, form):
    try:
        assert answers(data, form) == []
    except TableError:
        return
    assert form is Form.CSV


def test_a_ticket_of_many_digits_is_refused(tmp_path):
    with pytest.raises(TableError):
        answers(b"ticket,label\n" + b"9" * 9_999 + b",spam\n", Form.CSV)
    (tmp_path / "a.jsonl").write_text("[" * 100_000)
    with pytest.raises(TableError):
        Files(answers=tmp_path / "a.jsonl").look([])


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula_and_all_come_back(text):
    cell = f"{text}1"
    written = as_csv(
        [{"ticket": 7, "id": cell, cell: f"a\r{cell}", "number": -1.5, "more": [cell]}]
    )
    names, cells = csv.reader(io.StringIO(written))
    assert not any(cell.startswith(tuple(FORMULAS)) for cell in names)
    assert [cell for cell in cells if cell.startswith(tuple(FORMULAS))] == ["-1.5"]
    for id_ in (cell, f"'{cell}", f"''{cell}"):
        filled = as_csv([{"ticket": 7, "id": id_, "label": "spam"}])
        (line,) = answers(filled.encode(), Form.CSV)
        assert json.loads(line) == {"ticket": 7, "id": id_, "label": "spam"}


def test_the_command_refuses_and_writes_no_formulas(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"x": 1.0, "note": "=1+1"}\n{"x": 2.0, "note": "b"}\n')
    null = damaged([TASK], (0, "annotations", 0, "result", 0, "value"), None)
    (tmp_path / "null.json").write_text(json.dumps(null))
    model = ("--model", "m.lasec")
    options = ("--classes", "ham,spam", "--rate", "1", "--keep", "note")
    asked, told, listed = run_all(
        [
            (["ask", "rows.jsonl", *model, *options], ""),
            (["tell", "null.json", *model, "--format", "label-studio"], ""),
            (["questions", *model, "--format", "csv"], ""),
        ],
        tmp_path,
    )  # fmt: skip
    assert asked.code == 0, asked.err
    assert (told.code, told.err.count("\n")) == (2, 1), told.err
    assert '"value" must be an object' in told.err
    assert listed.out.splitlines()[1] == "0,'=1+1,,"


class Studio:
    """Answers to the requests of :class:`LabelStudio` with whatever it is given."""

    def __init__(self):
        self.reply, self.headers = b"", {}
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response_only(200)
                for name, value in place.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(place.reply)))
                self.end_headers()
                self.wfile.write(place.reply)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture(scope="module")
def studio():
    made = Studio()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_one_bad_annotation_does_not_keep_the_others_back(studio):
    questions = [Question(ticket, None, "hi", "open", 1, []) for ticket in (7, 8)]
    place = LabelStudio(studio.url, "token", project=1, model="mails")
    good, unreadable = Answer(8, "label-studio/ann@example.org", "spam"), 0
    for task in exports(TASK):
        studio.reply = json.dumps({"tasks": [task, OTHER]}).encode()
        found = place.look(questions)
        assert good in found
        assert all(isinstance(one, Answer | Unreadable) for one in found)
        unreadable += any(isinstance(one, Unreadable) for one in found)
    place.close()
    assert unreadable > 100


@pytest.mark.parametrize(
    "reply",
    [b"", b"<html>", b"null", b"[]", b"{}", b'{"tasks": null}', b'{"tasks": 3}', b"[" * 99_999],
)
def test_a_reply_that_is_none_counts_as_away(studio, reply):
    studio.reply, studio.headers = reply, {"Date": "yesterday"}
    place = LabelStudio(studio.url, "token", project=1, model="mails")
    with pytest.raises(AwayError, match="no tasks in the reply for /api/tasks"):
        place.look([Question(7, None, "hi", "open", 1, [])])
    studio.reply = json.dumps({"tasks": [TASK]}).encode()
    assert len(place.look([Question(7, None, "hi", "open", 1, [])])) == 1
    place.close()
    studio.headers = {}
