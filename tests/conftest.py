"""Settings for the whole suite."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first example of each test compiles code, which no deadline can know of.
settings.register_profile(
    "lasec", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lasec")


@pytest.fixture(scope="session")
def data_folder():
    """The real datasets, which lie beside the checkout where there are any."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real datasets are not beside this checkout")
    return folder
