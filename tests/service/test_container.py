"""The Containerfile and the compose file against what they use; there is no container here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer
import yaml

from lasec.cli.app import app
from lasec.service.app import ROUTES

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
PROMETHEUS = yaml.safe_load((DOCKER / "prometheus.yaml").read_text())
LINES = (DOCKER / "Containerfile").read_text().replace("\\\n", " ").splitlines()
SERVE = typer.main.get_command(app).commands["serve"]
OPTIONS = {name: option for option in SERVE.params for name in option.opts}


def line(word):
    (found,) = [one for one in LINES if one.startswith(word)]
    return found


def listed(word):
    """The JSON list at the end of a line."""
    return json.loads(re.search(r"\[.*\]", line(word))[0])


def packages(extra, known):
    """The packages of an extra, with those of the extras that it names."""
    found = set()
    for wanted in known[extra]:
        inner = re.fullmatch(r"lasec\[(.+)\]", wanted)
        names = inner[1].split(",") if inner else []
        found |= set().union(*(packages(name, known) for name in names)) or {wanted}
    return {re.match(r"[\w-]+", name)[0] for name in found}


def test_the_image_installs_an_extra_with_all_that_it_needs():
    extra = re.search(r'pip install .*"/src\[(\w+)\]"', line("RUN"))[1]
    project = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text())["project"]
    found = packages(extra, project["optional-dependencies"])
    assert {"typer", "starlette", "uvicorn", "httptools", "msgspec", "psycopg"} <= found
    python = re.search(r"python:(\d+\.\d+)", line("FROM"))[1]
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


def test_the_image_starts_a_command_that_exists():
    program, command, *given = listed("ENTRYPOINT")
    assert (program, command) == ("lasec", "serve")
    assert {name for name in given if name.startswith("--")} <= OPTIONS.keys()
    assert line("EXPOSE").split()[1] == str(OPTIONS["--port"].default)
    assert OPTIONS["--store"].envvar == "LASEC_STORE"


def test_the_store_is_read_from_the_environment(tmp_path):
    store = tmp_path / "from-environment.db"
    made = subprocess.run(
        [sys.executable, "-m", "lasec.cli", "serve", "--new-key", "me"], check=True, text=True,
        capture_output=True, env=os.environ | {"LASEC_STORE": str(store)}, cwd=tmp_path,
    )  # fmt: skip
    assert made.stdout.startswith("lasec_")
    assert store.exists()


def test_a_database_that_is_away_is_said_in_a_line_without_its_password(tmp_path):
    address = "postgresql://lasec:secret-word@127.0.0.1:1/lasec"
    found = subprocess.run(
        [sys.executable, "-m", "lasec.cli", "serve"], check=False, text=True, timeout=60,
        capture_output=True, env=os.environ | {"LASEC_STORE": address}, cwd=tmp_path,
    )  # fmt: skip
    assert found.returncode == 2
    assert found.stderr.startswith("lasec: the database cannot be reached: ")
    assert not re.search("Traceback|secret-word", found.stderr)


def test_the_health_check_passes_where_a_server_is_ready_and_nowhere_else(server):
    program, option, code = listed("HEALTHCHECK")
    (url,) = re.findall(r"http://[^']+", code)
    assert (urlsplit(url).port, program, option) == (OPTIONS["--port"].default, "python", "-c")
    here = urlsplit(server.url).netloc
    for address, passes in ((here, True), ("127.0.0.1:1", False), (f"{here}/nothing", False)):
        tried = code.replace(urlsplit(url).netloc, address)
        done = subprocess.run([sys.executable, "-c", tried], check=False, capture_output=True)
        assert (done.returncode == 0) == passes, (address, done.stderr)


def test_the_services_of_the_compose_file_fit_together():
    services = COMPOSE["services"]
    lasec, database = services["lasec"], services["db"]
    build = lasec["build"]
    assert (DOCKER / build["context"] / build["dockerfile"]).resolve() == DOCKER / "Containerfile"
    store = lasec["environment"]["LASEC_STORE"].replace("${POSTGRES_PASSWORD:?}", "secret")
    url, named = urlsplit(store), database["environment"]
    assert (url.scheme, url.password, url.hostname) == ("postgresql", "secret", "db")
    assert (url.username, url.path) == (named["POSTGRES_USER"], f"/{named['POSTGRES_DB']}")
    assert lasec["depends_on"]["db"]["condition"] == "service_healthy"
    assert "healthcheck" in database
    assert lasec["ports"] == [f"127.0.0.1:{OPTIONS['--port'].default}:{OPTIONS['--port'].default}"]
    mounted = [volume.split(":") for one in services.values() for volume in one.get("volumes", ())]
    for source, *_ in mounted:
        assert (DOCKER / source).exists() if "/" in source else source in COMPOSE["volumes"]


def test_prometheus_scrapes_the_service():
    (job,) = PROMETHEUS["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"lasec:{OPTIONS['--port'].default}"]}]
    assert ("GET", job.get("metrics_path", "/metrics")) in [(r.method, r.path) for r in ROUTES]
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: only the parts above were checked")
    subprocess.run(["promtool", "check", "config", str(DOCKER / "prometheus.yaml")], check=True)
