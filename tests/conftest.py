"""Settings for the whole suite."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import lasec.random

HERE = Path(__file__).parent

# A plugin, not tests: a look for examples in it would turn the cache of compiled code off.
collect_ignore = ["quick.py"]

# The first example of each test compiles code, which no deadline can know of.
settings.register_profile(
    "lasec", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lasec")


def pytest_addoption(parser):
    """How long the tests marked ``long`` are, and where their figures go."""
    group = parser.getgroup("long tests")
    group.addoption("--kills", type=int, default=250, help="kills with each database")
    group.addoption("--rows", type=int, default=200, help="questions in Label Studio")
    group.addoption("--label-studio", help="Python that has it; else an environment is made")
    group.addoption("--out", type=Path, help="folder for the figures")


# Files whose tests share nothing: each of them can run in any process, and evens out the end.
ALONE = (
    "test_blocks.py",
    "test_notebooks.py",
    "test_cli.py",
    "test_features.py",
    "test_own_method.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One process for the tests of a file: its fixtures are made and its code is compiled once.

    xdist gives out files with many tests first, and single tests last.
    """
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return nodeid if file.endswith(ALONE) else file

    return Files(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Where a test gives no seed, each learner has the seed 0, so that a failure comes again.

    Examples, pages of the docs, and tests marked ``random_seed`` get what a user gets.
    """
    here = item.path.is_relative_to(HERE) and not item.path.is_relative_to(HERE / "docs")
    with pytest.MonkeyPatch.context() as patch:
        if here and not item.get_closest_marker("random_seed"):
            patch.setattr(lasec.random.secrets, "randbits", lambda bits: 0)
        return (yield)


@pytest.fixture(scope="session")
def data_folder():
    """The real datasets, which lie beside the checkout where there are any."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real datasets are not beside this checkout")
    return folder
