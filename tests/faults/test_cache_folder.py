"""The folder of compiled loops: nothing of others is removed from it, or run out of it."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

import lasec

SOURCE = Path(lasec.__file__).parents[1]
LOOK = "import lasec.kernel.engine"  # looks for the folder, and compiles nothing
ASK = "import lasec; lasec.Perceptron(2).ask([1.0, 2.0])"
HITS = f"""
{ASK}
import sys
from lasec.kernel import engine
print(sum(engine._ASK.kept.stats.cache_hits.values()), file=sys.stderr)
"""
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
"""
PLACES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
PART = f"kernel_{'ab' * 20}"
NOBODY = 65534
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are of POSIX")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can chown")


def process(code, above, variable="NUMBA_CACHE_DIR"):
    """What a process writes to stderr that has this folder above its cache."""
    env = {key: value for key, value in os.environ.items() if key not in PLACES}
    env |= {variable: str(above), "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env
    )
    return done.stderr


def age(*paths):
    """Let these be as old as forty days."""
    for path in paths:
        os.utime(path, (0, path.lstat().st_mtime - 40 * 24 * 3600), follow_symlinks=False)


@pytest.mark.parametrize("variable", PLACES)
@pytest.mark.parametrize("name", ["lasec", "lasec-compiled"])
def test_folders_of_the_user_stay(tmp_path, variable, name):
    """Also where they are in a folder with lasec's own name for its cache."""
    (tmp_path / name).mkdir(mode=0o700)
    mine = [tmp_path / name / inner for inner in ("results", ".git", "ab" * 12)]
    for path in mine:
        path.mkdir()
        (path / "rows.nbi").write_text("years of work")
    age(*mine)
    assert process(LOOK, tmp_path, variable) == ""
    assert [(path / "rows.nbi").read_text() for path in mine] == ["years of work"] * 3
    made = {path for path in (tmp_path / "lasec-compiled").iterdir() if path not in mine}
    assert len(made) == 1


@posix
def test_only_what_lasec_has_made_is_removed(tmp_path):
    home, elsewhere = tmp_path / "lasec-compiled", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "rows.nbi").write_text("years of work")
    left = [home / f"{number:024x}" for number in range(10)]
    for folder in left:
        (folder / PART).mkdir(parents=True)
        for name in ("made-by-lasec", f"{PART}/rows.ask-1.nbi", f"{PART}/rows.ask-1.1.nbc"):
            (folder / name).touch()
    home.chmod(0o700)
    removed, fresh, text, inner_text, part, unmarked, file, parts, folder, name = left
    (text / "notes.txt").touch()
    (inner_text / PART / "notes.txt").touch()
    (part / "kernel").mkdir()
    (unmarked / "made-by-lasec").unlink()
    (file / PART / "linked.nbi").symlink_to(elsewhere / "rows.nbi")
    (parts / f"kernel_{'cd' * 20}").symlink_to(elsewhere)
    folder.rename(elsewhere / folder.name)
    folder.symlink_to(elsewhere / folder.name)
    left[-1] = name.rename(home / "results")
    age(*(path for path in left if path != fresh))
    before = sorted(tmp_path.rglob("*"))
    process(LOOK, tmp_path)
    after = sorted(tmp_path.rglob("*"))
    assert not removed.exists()
    assert [p for p in before if p not in after and not p.is_relative_to(removed)] == []


class Planted:
    """A pickle that makes a file when it is read."""

    def __init__(self, proof):
        self.proof = proof

    def __reduce__(self):
        return (os.mkdir, (str(self.proof),))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder above a cache in which there is something."""
    above = tmp_path_factory.mktemp("compiled")
    process(ASK, above)
    return above


@pytest.fixture
def planted(compiled, tmp_path):
    """A copy of it, where each index runs code of an attacker; the folder of the loops in it."""
    above = copytree(compiled, tmp_path / "above")
    indices = list(above.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(pickle.dumps(Planted(tmp_path / "proof")))
    return next(path for path in indices[0].parents if re.fullmatch("[0-9a-f]{24}", path.name))


@posix
def test_code_that_others_can_have_planted_is_not_run(planted, tmp_path):
    """The same index in a folder that nobody else can write to is run: it is numba's pickle."""
    above, proof = tmp_path / "above", tmp_path / "proof"
    above.chmod(0o777)
    said = process(ASK, above)
    assert not proof.exists()
    assert f"other users can get at {above} (mode 777)" in said
    assert said.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder" in said
    above.chmod(0o1777)
    for path in (planted, planted.parent):
        path.chmod(0o755)
        assert f"other users can get at {path} (mode 755)" in process(LOOK, above)
        path.chmod(0o700)
    process(ASK, above)
    assert proof.exists()


@root
@pytest.mark.parametrize("owned", ["loops", "home", "above"])
def test_code_that_another_user_has_planted_is_not_run(planted, tmp_path, owned):
    """Of a folder in /tmp that another user has made first; root can open all of them."""
    above = tmp_path / "above"
    above.chmod(0o1777)
    path = {"loops": planted, "home": planted.parent, "above": above}[owned]
    os.chown(path, NOBODY, NOBODY)
    assert f"{path} belongs to another user" in process(ASK if owned == "loops" else LOOK, above)
    assert not (tmp_path / "proof").exists()


@posix
def test_a_link_in_the_place_of_the_folder_is_not_followed(planted, tmp_path):
    home = planted.parent.rename(tmp_path / "elsewhere")
    planted.parent.symlink_to(home)
    assert f"{planted.parent} is a symbolic link" in process(LOOK, tmp_path / "above")


@posix
def test_the_folder_is_for_this_user_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        (tmp_path / "above").mkdir(mode=0o755)
        assert process(LOOK, tmp_path / "above") == ""
    finally:
        os.umask(before)
    (loops,) = (tmp_path / "above" / "lasec-compiled").iterdir()
    assert [path.stat().st_mode & 0o777 for path in (loops.parent, loops)] == [0o700, 0o700]


@root
def test_a_folder_of_the_users_own_group_is_as_good_as_the_users(tmp_path):
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o775)
    assert process(LOOK, above) == ""
    os.chown(above, 0, NOBODY)
    assert f"other users can get at {above}" in process(LOOK, above)


def empty(path):
    path.write_bytes(b"")


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scramble(path):
    path.write_bytes(b"\x17" * 3_000)


def remove(path):
    path.unlink()


def obstruct(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [empty, halve, scramble, remove, obstruct])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_files_are_replaced_or_passed_over(compiled, tmp_path, kind, damage):
    """A crash of the machine can leave such files behind, and no process would work any more."""
    above = copytree(compiled, tmp_path / "above")
    damaged = list(above.rglob(f"*.{kind}"))
    assert damaged
    for path in damaged:
        damage(path)
    assert process(ASK, above) == process(ASK, above) == ""
    if damage is not obstruct:
        whole = [path.stat().st_size for path in damaged if path.exists()]
        assert max(whole) > 100
        assert process(HITS, above) == "1\n"


@posix
def test_on_a_full_disk_it_works_all_the_same(tmp_path):
    assert process(FULL + ASK, tmp_path) == ""
    assert not list(tmp_path.rglob("*.nbc"))
