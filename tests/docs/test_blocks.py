"""Every block of the README and the docs runs, and prints what the page says it prints.

``python`` blocks run in one namespace a page; a ``text`` block after one is what it prints.
``console`` blocks run in a shell: lines after ``$`` are commands, the others what they print, and
``...`` in those stands for anything. Both run in order, in one empty folder a page. ``sh`` blocks
hold long commands, of which it is seen that they exist and have the options that are given.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

import warm

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```(python|console)\n(.*?)^```\n(?:\n?^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
LONG = re.compile(r"^```(?:sh|bash)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
DATA = ROOT.parent / "shared" / "data"
REAL = re.compile(r"LASEC_DATA")  # such a page needs the real data


# What a command without a terminal says each minute; whether it takes that long, a page can't tell.
PROGRESS = re.compile(r"lasec: (\S+: +\d+ %  [\d,]+ rows  |about [\d:]+ to go)")


def blocks(page):
    """(line, kind, code, expected output or None) for each block, in order."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        yield text[: match.start()].count("\n") + 1, *match.groups()


@pytest.fixture
def place(tmp_path, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path)
    warm.on_path(first := tmp_path_factory.mktemp("bin"))
    folders = [str(first), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    if DATA.is_dir():
        monkeypatch.setenv("LASEC_DATA", str(DATA))
    yield tmp_path
    for file in tmp_path.glob("*.pid"):  # a server that a page left behind, because a block failed
        with suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(blocks(page))], ids=lambda page: page.name
)
def test_blocks_run_and_print_what_they_say(page, place):
    if REAL.search(page.read_text()) and not DATA.is_dir():
        pytest.skip("this page reads real data, and there is no folder of it")
    namespace = {"__name__": "page"}
    for line, kind, code, expected in blocks(page):
        where = f"{page.name}, line {line}"
        if kind == "console":
            run_console(code, where)
            continue
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
        assert printed.getvalue() == (expected or ""), where


def run_console(block, where):
    """Run the commands of a block one after the other, and compare what each prints."""
    for command, expected in re.findall(
        r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE
    ):
        if command.startswith("pip install"):  # the wheel is installed where it is tested
            continue
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=600
        )
        pattern = ".*".join(map(re.escape, expected.strip().split("...")))
        lines = (line.rstrip() for line in (done.stdout + done.stderr).splitlines())
        printed = "\n".join(line for line in lines if not PROGRESS.match(line))
        assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"{where}: {command}\n{printed}"


def long_commands():
    """(module, command, options) of each command in the docs that takes too long to run."""
    found = set()
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for block in LONG.findall(page.read_text()):
            for text in block.replace("\\\n", " ").splitlines():
                match = re.match(
                    r"(?:\w+=\S+ )*python -m (experiments|benchmarks) ([\w-]+)(.*)", text
                )
                if match:
                    options = tuple(re.findall(r"(--[\w-]+)", match[3].split("#")[0]))
                    found.add((match[1], match[2], options))
    return sorted(found)


@pytest.mark.parametrize(("module", "command", "options"), long_commands())
def test_long_commands_exist_with_their_options(module, command, options):
    app = pytest.importorskip(f"{module}.__main__").app
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, "--help"])
    assert done.exit_code == 0, done.output
    assert not [option for option in options if option not in done.output]


def test_the_readme_has_an_example():
    assert any(expected for _, _, _, expected in blocks(ROOT / "README.md"))
