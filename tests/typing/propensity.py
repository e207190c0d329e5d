"""Checked by mypy, not run: a deterministic query does not pass for a random one.

``warn_unused_ignores`` makes the ignored line an error as soon as it is accepted.
"""

from lasec.queries import Always, MarginSampling, Uniform, VarianceThreshold
from lasec.rules import AROW, BudgetPerceptron, ModifiedPerceptron, Perceptron, Ridge, SecondOrder
from lasec.rules.gaussian import Gaussian
from lasec.types import Query, RandomQuery, Rule

always: RandomQuery = Always()
coin: RandomQuery = MarginSampling()
uniform: RandomQuery = Uniform()
any_query: Query = VarianceThreshold()
threshold: RandomQuery = VarianceThreshold()  # type: ignore[assignment]

second_order: Rule[Gaussian] = SecondOrder()
ridge: Rule[Gaussian] = Ridge()
arow: Rule[Gaussian] = AROW()
perceptron: Rule[Gaussian] = Perceptron()  # type: ignore[assignment]
modified: Rule[Gaussian] = ModifiedPerceptron()  # type: ignore[assignment]
budget: Rule[Gaussian] = BudgetPerceptron()  # type: ignore[assignment]
