"""Whether the intervals of the service cover, while answers come late, get lost, or are skipped.

Many small streams through one service. Answers wait a while; some never come, and some people do
not know. What is skipped at random costs width, not coverage; the worst case is reported beside.
Rows before the first label have no prediction, and are in no estimate.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import lasec
from lasec.service import NewModel, Service
from lasec.service.bodies import AnswerBody, AskBody, CancelBody, QuestionBody, TellBody
from lasec.service.figures import accuracy
from lasec.service.operations import Rows

ROWS, WIDTH, GROUP = 1_000, 5, 20
LOST, SKIPPED, DELAY = 0.05, 0.05, 5  # of the questions; groups of rows


def run(streams: int, out: Path) -> dict[str, Any]:
    """The share of streams whose interval covers; also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    service = Service(":memory:")
    service.start()
    service.new_key("t", "all", "owner")
    found = [_stream(service, seed) for seed in range(streams)]
    service.stop()
    covered, worst, width, lost = np.array(found, dtype=float).T
    made = {
        "streams": streams, "covered": float(covered.mean()),
        "covered at worst": float(worst.mean()), "mean width": float(width.mean()),
        "lost a stream": float(lost.mean()),
    }  # fmt: skip
    (out / "coverage.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


def _stream(service: Service, seed: int) -> tuple[bool, bool, float, int]:
    """One stream: whether it was covered, also at worst, the width, and how many were lost."""
    X, y = lasec.streams.switching(ROWS, dimension=WIDTH, every=400, noise=0.05, seed=seed)
    labels, rng = np.where(y > 0, "b", "a"), np.random.default_rng(seed)
    new = NewModel(
        name=f"s{seed}", classes=["a", "b"], features=WIDTH, rate=0.2, seed=seed, alarms=False
    )
    model = service.do_now(service.create("t", new))
    waiting: list[tuple[int, int]] = []
    right: list[bool] = []
    for group in range(ROWS // GROUP):
        first = group * GROUP
        rows = Rows.of_numbers(X[first : first + GROUP])
        replies = service.do_now(service.ask(model, rows, AskBody([])))
        right += correct(replies, labels)
        asked = [reply["ticket"] for reply in replies if reply["asked"]]
        waiting += [(group + int(rng.integers(1, DELAY)), ticket) for ticket in asked]
        _answer(service, model, [t for due, t in waiting if due == group], labels, rng)
    _answer(service, model, [t for due, t in waiting if due >= ROWS // GROUP], labels, rng)
    figures = service.do_now(lambda tx, now, known: accuracy(model)).all
    truth = float(np.mean(right[: figures.rows]))
    return (
        figures.low <= truth <= figures.high, figures.worst_low <= truth <= figures.worst_high,
        figures.high - figures.low, figures.lost,
    )  # fmt: skip


def correct(replies: list[dict[str, Any]], labels: Any) -> list[bool]:
    """Whether each prediction is right; a row without one is left out.

    >>> correct([{"ticket": 0, "prediction": None}, {"ticket": 1, "prediction": "b"}], ["b", "b"])
    [True]
    """
    said = ((reply["ticket"], reply["prediction"]) for reply in replies)
    return [bool(label == labels[ticket]) for ticket, label in said if label is not None]


def _answer(service: Service, model: Any, due: list[int], labels: Any, rng: Any) -> None:
    """Answer what is due; some answers are lost, and some people do not know."""
    chances = rng.random(len(due))
    gone = [t for t, chance in zip(due, chances, strict=True) if chance < LOST + SKIPPED]
    kept = [t for t in due if t not in gone]
    rng.shuffle(kept)
    if gone:
        service.do_now(service.cancel(model, CancelBody([QuestionBody(ticket=t) for t in gone])))
    if kept:
        answers = [AnswerBody(label=str(labels[t]), ticket=t) for t in kept]
        service.do_now(service.tell(model, TellBody(answers)))
