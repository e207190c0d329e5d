"""Workflows, forms and metadata agree with the Makefile and with pyproject.toml."""

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import lasec

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
pytestmark = pytest.mark.skipif(
    not GITHUB.is_dir(), reason="the workflows are not part of the sdist"
)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
EVERY = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
GOAL = re.compile(r"(?<!\w)make((?: +[\w-]+(?![\w=-]))+)")  # but for its variables


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path):
    """The steps of all jobs, as dicts."""
    return [step for job in load(path)["jobs"].values() for step in job.get("steps", ())]


def targets():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(" ".join(re.findall(r"^([\w -]+):(?!=)", text, re.MULTILINE)).split())


def goals(text):
    return {goal for names in GOAL.findall(text) for goal in names.split()}


def installed(text):
    return re.findall(r"--group ([\w-]+)", text)


@EVERY
def test_every_command_of_a_workflow_exists(path):
    commands = "\n".join(step.get("run", "") for step in steps(path))
    assert goals(commands) <= targets()
    assert set(installed(commands)) <= PROJECT["dependency-groups"].keys()
    for name in re.findall(r"(?<![\w/-])((?:tests|\.ci)/[\w/.-]+)", commands):
        assert (ROOT / name).exists(), name


@EVERY
def test_actions_are_pinned_by_commit_and_permissions_are_few(path):
    uses = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    for action, comment in uses:
        if action.startswith("./"):
            assert (ROOT / action).exists()
            continue
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    workflow = load(path)
    assert workflow["permissions"] == {"contents": "read"}
    granted = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    assert granted == ([{"id-token": "write"}] if path.name == "release.yml" else [])


def test_each_action_has_one_version():
    found = {}
    for path in WORKFLOWS:
        for name, version in re.findall(r"uses: ([\w/-]+)@(.*)", path.read_text(encoding="utf-8")):
            assert found.setdefault(name, version) == version


def test_the_tested_versions_of_python_are_those_that_are_declared():
    classified = [
        name.removeprefix("Programming Language :: Python :: ")
        for name in PROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    ci = load(GITHUB / "workflows" / "ci.yml")["jobs"]
    assert ci["test"]["strategy"]["matrix"]["python"] == classified
    low, high = (
        int(minor) for minor in re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
    )
    assert classified == [f"3.{minor}" for minor in range(low, high)]
    assert PROJECT["tool"]["mypy"]["python_version"] == classified[0]


def test_one_check_waits_for_all_jobs():
    jobs = load(GITHUB / "workflows" / "ci.yml")["jobs"]
    assert set(jobs["passed"]["needs"]) == jobs.keys() - {"passed"}


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_an_issue_form_has_what_github_asks_for(name):
    form = load(GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in fields}) == len(fields)
    assert all(part["attributes"]["label"] for part in fields)
    assert fields[0]["validations"]["required"]


@pytest.mark.parametrize(
    "name", ["CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"]
)
def test_pages_name_targets_and_files_that_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"`([^`]+)`", text))
    assert goals(code) <= targets()
    for file in re.findall(r"^([\w./-]+\.(?:md|py|toml|txt|cff|yml|yaml))$", code, re.MULTILINE):
        assert (ROOT / file).exists(), file


def test_no_file_can_hide_a_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()) == targets()


def test_coverage_is_that_of_the_rooms_below_the_kernel():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["lasec"])
    above = " | ".join(layers[: layers.index("kernel") + 1]).split(" | ")
    omitted = PROJECT["tool"]["coverage"]["run"]["omit"]
    rooms = {re.sub(r"\.py$|/\*$", "", name.removeprefix("*/lasec/")) for name in omitted}
    assert rooms == {*above, "__init__"} - {"tables"}


def test_the_citation_is_of_this_version():
    citation = load(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type"} <= citation.keys()
    assert citation["version"] == lasec.__version__
    assert citation["license"] in PROJECT["project"]["license"]


def test_every_operator_and_number_is_changed_once():
    place = ROOT / ".ci" / "mutate.py"
    specification = importlib.util.spec_from_file_location("mutate", place)
    mutate = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(mutate)
    source = 'def f(x, y):\n    """2 + 2"""\n    return x <= 0.5 and not y * 3 == x\n'
    found = dict(mutate.mutants(source))
    assert set(found) == {
        "3:11: x <= 0.5 or not y * 3 == x", "3:11: x < 0.5", "3:16: 1.5",
        "3:24: not not y * 3 == x", "3:28: y * 3 != x", "3:28: y / 3", "3:32: 4",
    }  # fmt: skip
    assert all(ast.unparse(ast.parse(source)) != changed for changed in found.values())
    for module, tests in mutate.MODULES.items():
        assert (ROOT / "src" / "lasec" / module).is_file()
        assert all((ROOT / name).is_file() for name in tests)
