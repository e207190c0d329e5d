"""schemathesis against a real ``lasec serve``: right and wrong requests from /openapi.json.

It needs the program ``schemathesis`` (``pip install schemathesis``), which may be in an environment
of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx

from experiments.serving.databases import free_port, started
from experiments.serving.process import owner_key, serve
from lasec.client import Client

PROGRAM = "schemathesis"
# What is right for one model is not for another (its width, its columns, its classes), and the
# document cannot say so. JSON Schema also takes 5.0 for a whole number, which the API does not.
# So these may refuse a request that fits the document, with 422 and nothing else.
DEPENDS = ("create", "bring", "ask", "predict", "tell", "learn", "cancel", "lease", "hear")
ACCEPTED = '["2xx", 401, 403, 404, 409, 410, 422, 429]'
MINUTES = ("create", "bring")  # code of a new kind of model is compiled, once
# Wrong keys are counted by address, and answered by 429 after twenty: each request has its own.
HOOKS = """\
import itertools
import requests

numbers, send = itertools.count(), requests.adapters.HTTPAdapter.send


def from_another_address(self, request, **options):
    n = next(numbers)
    request.headers["X-Forwarded-For"] = f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"
    return send(self, request, **options)


requests.adapters.HTTPAdapter.send = from_another_address
"""
CONFIG = """\
hooks = "hooks"
cache.enabled = false
[dictionaries.models]
values = ["numbers", "texts"]
[dictionaries.labels]
values = ["ham", "spam"]
[dictionaries.tickets]
values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
[parameters]
"path.model" = {dictionary = "models", probability = 0.9}
"body.label" = {dictionary = "labels", probability = 0.5}
"body.labels[*]" = {dictionary = "labels", probability = 0.5}
"body.answers[*].label" = {dictionary = "labels", probability = 0.5}
"body.ticket" = {dictionary = "tickets", probability = 0.5}
"body.answers[*].ticket" = {dictionary = "tickets", probability = 0.5}
"""


def run(out: Path, examples: int, store: str = "sqlite", seed: int = 0) -> dict[str, Any]:
    """Run it with all its checks; cases and failures by check are also written to a file."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise SystemExit(f"{PROGRAM} is not here: pip install {PROGRAM}")
    out.mkdir(parents=True, exist_ok=True)
    log = out / "serve.log"
    with started(store, out) as database, _served(database.url, log) as (url, key):
        found = _checked(program, url, key, out, examples, seed)
        alive = httpx.get(f"{url}/readyz").status_code == 200
    made = {"store": store, "alive": alive} | found
    (out / f"schema_{store}.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


@contextlib.contextmanager
def _served(store: str, log: Path) -> Any:
    """A server as people start it, with a model of numbers, one of texts, and some questions."""
    log.unlink(missing_ok=True)
    port = free_port()
    server, url = serve(store, port, log), f"http://127.0.0.1:{port}"
    try:
        with Client(url, owner_key(log)) as client:
            _models(client)
        yield url, owner_key(log)
    finally:
        server.end()


def _models(client: Client) -> None:
    """One feature, so that a list of numbers made at random often fits."""
    given: dict[str, Any] = {"classes": ["ham", "spam"], "rate": 1.0, "seed": 1}
    numbers = client.create("numbers", features=1, **given)
    texts = client.create("texts", sample=[{"text": "win a prize"}], text=["text"], **given)
    for number in range(5):
        numbers.ask([float(number)], id=f"n{number}")
        texts.ask({"text": f"mail {number}"}, id=f"t{number}")


def _checked(
    program: str, url: str, key: str, out: Path, examples: int, seed: int
) -> dict[str, Any]:
    report, config = out / "report.json", out / "schemathesis.toml"
    (out / "hooks.py").write_text(HOOKS)
    config.write_text(CONFIG + "".join(_expected(name) for name in DEPENDS))
    call = [
        program, "--config-file", str(config), "run", f"{url}/openapi.json", "--checks", "all",
        "--header", f"Authorization: Bearer {key}", "--max-examples", str(examples),
        "--seed", str(seed), "--generation-database", "none", "--request-timeout", "60",
        "--report-json-path", str(report), "--report-ndjson-path", str(out / "events.ndjson"),
    ]  # fmt: skip
    env = os.environ | {"PYTHONPATH": str(out)}  # it may have an environment of its own
    subprocess.run(call, check=False, env=env)  # noqa: S603
    return _summary(json.loads(report.read_text()), examples)


def _expected(operation: str) -> str:
    made = f'[[operations]]\ninclude-operation-id = "{operation}"\n'
    made += f"checks.positive_data_acceptance.expected-statuses = {ACCEPTED}\n"
    return made + ("checks.max_response_time = 600\n" if operation in MINUTES else "")


def _summary(found: dict[str, Any], examples: int) -> dict[str, Any]:
    """What is kept of schemathesis's report."""
    return {
        "schemathesis": found["schemathesis_version"], "seed": found["seed"],
        "examples": examples, "seconds": round(found["running_time"]),
        "operations": found["operations"]["tested"], "cases": found["test_cases"]["generated"],
        "errors": len(found["errors"]),
        "failures": {one["type"]: one["count"] for one in found["failures"]},
        "phases": {name: one["status"] for name, one in found["phases"].items()},
        "warnings": {name: len(where) for name, where in found["warnings"].items() if where},
    }  # fmt: skip
