"""A long stream through the service: whether memory and journal stay bounded."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from lasec.service import NewModel, Service
from lasec.service.bodies import AnswerBody, AskBody, TellBody
from lasec.service.operations import Rows

WIDTH, GROUP, PARTS = 20, 100, 10


def run(rows: int, out: Path) -> dict[str, Any]:
    """Ask about so many rows, and look ten times; the figures are also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    store = out / "long.db"
    service = Service(str(store))
    service.start()
    service.new_key("t", "all", "owner")
    new = NewModel(name="m", classes=["a", "b"], features=WIDTH, rate=0.1, seed=1, alarms=False)
    model = service.do_now(service.create("t", new))
    rng, looks = np.random.default_rng(0), []
    for _ in range(PARTS):
        began = time.process_time()
        for _ in range(rows // PARTS // GROUP):
            _group(service, model, rng.normal(size=(GROUP, WIDTH)))
        looks.append(_look(service, store, 1e6 * (time.process_time() - began) * PARTS / rows))
    service.stop()
    made = {"rows": rows, "looks": looks}
    (out / "long.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


def _group(service: Service, model: Any, X: Any) -> None:
    """Ask about some rows, and tell the labels that are queried."""
    said = service.do_now(service.ask(model, Rows.of_numbers(X), AskBody([])))
    answers = [
        AnswerBody(label="b" if x[0] > 0 else "a", ticket=reply["ticket"])
        for x, reply in zip(X, said, strict=True)
        if reply["asked"]
    ]
    if answers:
        service.do_now(service.tell(model, TellBody(answers)))


def _look(service: Service, store: Path, cost: float) -> dict[str, float]:
    """Memory, journal, size of the file, and CPU time of a row."""
    ((lines,),) = service.store.read("SELECT count(*) FROM journal")
    ((questions,),) = service.store.read("SELECT count(*) FROM questions")
    return {
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "journal": lines,
        "questions": questions, "file MB": store.stat().st_size / 2**20, "us a row": cost,
    }  # fmt: skip
