"""Code that was compiled on this machine: found again, never stale, of nobody else, not needed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

import lasec

TESTS, SOURCE = Path(__file__).parents[1], Path(lasec.__file__).parents[1]
LOOK = "from lasec.kernel.jit.folder import folder; folder()"  # compiles nothing
ASK = """
import lasec
from ownrule import Averaging
learner = lasec.Learner(Averaging(0.1), dimension=2)
print(learner.tell(learner.ask([1.0, 2.0]).ticket, -1).updated)
"""
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""
PLACES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
NOBODY = 65534
COMPILES = "lasec: compiling Averaging.look, some seconds, once"
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are of POSIX")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can chown")


def process(code, above, beside=TESTS, variable="NUMBA_CACHE_DIR"):
    """What a process writes to stderr that has this folder above its compiled code."""
    env = {key: value for key, value in os.environ.items() if key not in PLACES}
    env |= {variable: str(above), "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, beside)))}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env
    )
    assert done.stdout == ("True\n" if "ownrule" in code else "")
    return done.stderr


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder above one with the code of a rule."""
    above = tmp_path_factory.mktemp("compiled")
    assert COMPILES in process(ASK, above)
    return above


@pytest.fixture
def kept(compiled, tmp_path):
    """A copy of it: the folder of the code."""
    return copytree(compiled, tmp_path / "above") / "lasec-compiled"


def test_a_second_process_finds_what_the_first_has_compiled(kept):
    assert process(ASK, kept.parent) == ""


def test_a_rule_that_was_changed_is_compiled_again(kept, tmp_path):
    source = (TESTS / "ownrule.py").read_text()
    (tmp_path / "ownrule.py").write_text(source + "\nCHANGED = True\n")
    assert COMPILES in process(ASK, kept.parent, tmp_path)
    assert process(ASK, kept.parent, tmp_path) == ""


def test_a_rule_whose_source_is_in_no_file_is_compiled_in_each_process(tmp_path):
    """Nothing could tell when it has changed."""
    source = (TESTS / "ownrule.py").read_text()
    code = source + ASK.replace("from ownrule import Averaging", "# ownrule")
    for _ in range(2):
        assert COMPILES in process(code, tmp_path)


@pytest.mark.parametrize("variable", PLACES)
def test_files_of_others_stay(tmp_path, variable):
    """Old code is removed, and nothing else is, whatever its age."""
    folder = tmp_path / "lasec-compiled"
    folder.mkdir(mode=0o700)
    mine, old = folder / "rows.o", folder / f"lasec_{'ab' * 12}-0.68.1-x86-64-v3.o"
    link = folder / f"lasec_{'cd' * 12}-{'0' * 12}.o"
    for path in (mine, old):
        path.write_text("years of work")
        os.utime(path, (0, 0))
    link.symlink_to(mine)
    process(LOOK, tmp_path, variable=variable)
    assert mine.exists()
    assert link.is_symlink()
    assert not old.exists()


@posix
def test_code_that_others_can_have_planted_is_not_run(kept):
    """Others can write to the folder, or put another one in its place."""
    above = kept.parent
    above.chmod(0o777)
    said = process(ASK, above)
    assert f"other users can get at {above} (mode 777)" in said
    assert said.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder" in said
    assert COMPILES in said
    above.chmod(0o1777)
    kept.chmod(0o755)
    assert f"other users can get at {kept} (mode 755)" in process(LOOK, above)
    kept.chmod(0o700)
    assert process(ASK, above) == ""


@root
@pytest.mark.parametrize("owned", ["lasec-compiled", ""])
def test_code_that_another_user_has_planted_is_not_run(kept, owned):
    """Of a folder in /tmp that another user has made first; root can open all of them."""
    kept.parent.chmod(0o1777)
    path = kept.parent / owned
    os.chown(path, NOBODY, NOBODY)
    said = process(ASK, kept.parent)
    assert f"{path} belongs to another user" in said
    assert COMPILES in said


@posix
def test_a_link_in_the_place_of_the_folder_is_not_followed(kept, tmp_path):
    kept.symlink_to(kept.rename(tmp_path / "elsewhere"))
    assert f"{kept} is a symbolic link" in process(LOOK, kept.parent)


@posix
def test_the_folder_is_for_this_user_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        (tmp_path / "above").mkdir(mode=0o755)
        assert process(LOOK, tmp_path / "above") == ""
    finally:
        os.umask(before)
    assert (tmp_path / "above" / "lasec-compiled").stat().st_mode & 0o777 == 0o700


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


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def obstruct(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [empty, halve, scramble, flip, obstruct])
def test_damaged_files_are_replaced_or_passed_over(kept, damage):
    """A crash of the machine can leave such files behind, and no process would work any more."""
    damaged = list(kept.glob("*.o"))
    assert damaged
    for path in damaged:
        damage(path)
    assert COMPILES in process(ASK, kept.parent)
    assert (process(ASK, kept.parent) == "") == (damage is not obstruct)


@posix
def test_on_a_full_disk_it_works_all_the_same(tmp_path):
    assert COMPILES in process(FULL + ASK, tmp_path)
    assert not list(tmp_path.rglob("*.o"))


def test_where_nothing_can_be_written_it_works_all_the_same():
    assert COMPILES in process(ASK, os.devnull)


def test_code_is_named_by_digests(kept):
    assert all(
        re.fullmatch(r"lasec_[0-9a-f]{24}-[0-9a-f]{12}\.o", path.name) for path in kept.iterdir()
    )
