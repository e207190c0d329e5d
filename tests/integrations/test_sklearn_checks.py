"""scikit-learn's own checks of an estimator, on every classifier; none is left out."""

from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from lasec.sklearn import (
    ActiveClassifier,
    AROWClassifier,
    LASECClassifier,
    PerceptronClassifier,
    SOPClassifier,
    TrackerClassifier,
)

ALL = [
    TrackerClassifier(),
    LASECClassifier(),
    SOPClassifier(),
    PerceptronClassifier(),
    AROWClassifier(),
    ActiveClassifier(SGDClassifier(random_state=0)),
    ActiveClassifier(LogisticRegression()),
]


@parametrize_with_checks(ALL)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
