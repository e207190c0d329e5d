"""scikit-learn's own checks of an estimator, on every classifier; none is left out."""

from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from lasec.rules import AROW, Perceptron
from lasec.sklearn import (
    ActiveClassifier,
    LASECClassifier,
    RuleClassifier,
    TrackerClassifier,
)

ALL = [
    TrackerClassifier(),
    LASECClassifier(),
    RuleClassifier(),
    RuleClassifier(Perceptron()),
    RuleClassifier(AROW(), learn_from="labels"),
    ActiveClassifier(SGDClassifier(random_state=0)),
    ActiveClassifier(LogisticRegression()),
]


@parametrize_with_checks(ALL)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
