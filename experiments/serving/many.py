"""Many models in one service: memory of each, CPU time of an ask, and the time of a start."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.text.large import resident
from lasec.service import NewModel, Service
from lasec.service.bodies import AskBody
from lasec.service.operations import Rows

WIDTH, ASKS = 50, 2_000


def run(models: int, out: Path) -> dict[str, Any]:
    """Measure with one model and with so many; the figures are also written to a file."""
    out.mkdir(parents=True, exist_ok=True)
    url = str(out / "many.db")
    service = Service(url)
    service.start()
    service.new_key("t", "all", "owner")
    _create(service, 0)
    one, before = _ask(service), resident()
    for number in range(1, models):
        _create(service, number)
    memory = 1e6 * (resident() - before) / (models - 1)
    many = _ask(service)
    file = len(service.models["t", "m0"].desk.packing()())
    service.stop()
    began = time.monotonic()
    again = Service(url)
    again.start()
    seconds = time.monotonic() - began
    again.stop()
    made = {
        "models": models, "features": WIDTH, "kB a model": memory / 1024, "kB a file": file / 1024,
        "us of CPU an ask, 1 model": one, f"us of CPU an ask, {models} models": many,
        "seconds of a start": seconds,
    }  # fmt: skip
    (out / "many.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


def _create(service: Service, number: int) -> None:
    new = NewModel(name=f"m{number}", classes=["a", "b"], features=WIDTH, seed=number)
    service.do_now(service.create("t", new))


def _ask(service: Service) -> float:
    """Microseconds of CPU time for an ask of one row, commit included."""
    model = service.models["t", "m0"]
    rows = [Rows.of_numbers(x[None]) for x in np.random.default_rng(0).normal(size=(ASKS, WIDTH))]
    began = time.process_time()
    for each in rows:
        service.do_now(service.ask(model, each, AskBody([])))
    return 1e6 * (time.process_time() - began) / ASKS
