"""Every rule and every query, in settings that differ from the defaults."""

import math
import os

import lasec
from lasec.mercer import RBF, Polynomial
from lasec.queries import (
    Always,
    Budgeted,
    MarginSampling,
    UncertaintySampling,
    Uniform,
    VarianceThreshold,
)
from lasec.rules import (
    AROW,
    BudgetPerceptron,
    KernelSecondOrder,
    ModifiedPerceptron,
    Perceptron,
    Probit,
    Ridge,
    SecondOrder,
    ShiftingPerceptron,
    Tracking,
)

GAUSSIAN = (SecondOrder(0.0, 2.0), SecondOrder(0.1, 0.5), Ridge(3.0), AROW(0.7), Probit(5.0, 0.02))
RULES = (
    *GAUSSIAN,
    Perceptron(),
    ShiftingPerceptron(0.3),
    ModifiedPerceptron(True),
    ModifiedPerceptron(False),
    BudgetPerceptron(5),
    KernelSecondOrder(RBF(20.0), drift=0.1, ridge=0.5, budget=6),
    KernelSecondOrder(Polynomial(2, 0.5), drift=0.0, ridge=2.0, budget=30),
    Tracking(slots=3, patience=5, prior=100.0),
)
QUERIES = (
    Always(),
    Budgeted(rate=0.3),
    Budgeted(rate=0.3, inner=MarginSampling(0.2), audit=0.1),
    MarginSampling(0.2),
    MarginSampling(math.inf),
    UncertaintySampling(3.0),
    Uniform(0.4),
    VarianceThreshold(0.3),
)
# Each pair is compiled by itself, which takes seconds: so these are each rule with three queries,
# such that each query meets four rules or more. LASEC_PAIRS=all is every rule with every query.
PAIRS = [
    (rule, query)
    for i, rule in enumerate(RULES)
    for j, query in enumerate(QUERIES)
    if (j - i) % len(QUERIES) in (0, 2, 5) or os.environ.get("LASEC_PAIRS") == "all"
]


def build(rule, dimension, query=QUERIES[0], **options):
    return lasec.Learner(rule, query, dimension=dimension, **options)
