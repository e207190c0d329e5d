"""When to ask for a label: each query rule turns a margin into a probability."""

from lasec.queries.always import Always
from lasec.queries.budgeted import Budgeted
from lasec.queries.margin_sampling import MarginSampling
from lasec.queries.two_prices import TwoPrices
from lasec.queries.uncertainty_sampling import UncertaintySampling
from lasec.queries.uniform import Uniform
from lasec.queries.variance_threshold import VarianceThreshold

__all__ = [
    "Always",
    "Budgeted",
    "MarginSampling",
    "TwoPrices",
    "UncertaintySampling",
    "Uniform",
    "VarianceThreshold",
]  # fmt: skip
