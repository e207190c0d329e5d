"""Settings for the whole suite."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import lasec.random

HERE = Path(__file__).parent

# The first example of each test compiles code, which no deadline can know of.
settings.register_profile(
    "lasec", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lasec")


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
