"""Settings for the whole suite."""

from hypothesis import HealthCheck, settings

# The first example of each test compiles code, which no deadline can know of.
settings.register_profile(
    "lasec", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lasec")
