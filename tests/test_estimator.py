"""The estimators are scikit-learn's in every respect that it checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import hypergnn as hg

QUICK = {"max_epochs": 50}


@parametrize_with_checks(
    [
        hg.HypergraphClassifier(),
        hg.HypergraphClassifier("hyper-attention", hidden=4, heads=2),
        hg.HypergraphClassifier(construct="clusters"),
        hg.HypergraphClassifier(construct="attributes"),
        hg.HypergraphEmbedding(),
        hg.HypergraphEmbedding(trained=True, **QUICK),
    ]
)
@pytest.mark.filterwarnings("ignore:Estimator's parameters changed:FutureWarning")
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)
