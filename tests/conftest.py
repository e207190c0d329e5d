"""Settings for the whole suite."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first example of each test compiles code, which no deadline can know of.
settings.register_profile(
    "lasec", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lasec")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of one file with the same parameters run in one process, which compiles once."""
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}-{item.callspec.id}"))


@pytest.fixture(scope="session")
def data_folder():
    """The real datasets, which lie beside the checkout where there are any."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real datasets are not beside this checkout")
    return folder
