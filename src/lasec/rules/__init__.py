"""How a model predicts and learns: one paper per file."""

from lasec.rules.arow import AROW
from lasec.rules.budget import BudgetPerceptron
from lasec.rules.kernel_second_order import KernelSecondOrder
from lasec.rules.modified import ModifiedPerceptron
from lasec.rules.one_vs_rest import OneVsRest
from lasec.rules.perceptron import Perceptron
from lasec.rules.probit import Probit
from lasec.rules.ridge import Ridge
from lasec.rules.second_order import SecondOrder
from lasec.rules.shifting import ShiftingPerceptron
from lasec.rules.tracker.lenses import Lenses
from lasec.rules.tracker.sparse_tracking import SparseTracking
from lasec.rules.tracker.tracking import Tracking

__all__ = [
    "AROW",
    "BudgetPerceptron",
    "KernelSecondOrder",
    "Lenses",
    "ModifiedPerceptron",
    "OneVsRest",
    "Perceptron",
    "Probit",
    "Ridge",
    "SecondOrder",
    "ShiftingPerceptron",
    "SparseTracking",
    "Tracking",
]
