"""Explanations of mixtures and regressors: Shapley values of a row's hyperedges and of its own features."""

from itertools import permutations

import numpy as np
import pytest

import hypergnn as hg
from hypergnn.estimators.attribution import shapley

H = hg.Hypergraph.from_hyperedges(
    [[0, 1, 2, 6], [2, 3, 4, 5], [0, 6]], n_vertices=7, hyperedge_names=["tea", "nail", "milk"]
)
KNOWN = ["food", "food", None, "tools", "tools", None, "food"]
LATER = hg.Hypergraph.from_hyperedges([[0, 1], [0], [1, 2]], n_vertices=3, hyperedge_names=["tea", "nail", "saw"])


def surprising(sets):
    """Two outputs that no sum of causes gives."""
    weights = np.linspace(-1.0, 2.0, sets.shape[1])
    return np.stack([(sets @ weights) ** 2 + 1, np.sin(sets @ weights) + sets.all(1)], axis=1)


def by_definition(predict, n_causes):
    change, orders = np.zeros((n_causes, 2)), list(permutations(range(n_causes)))
    for order in orders:
        joined = np.zeros((1, n_causes), dtype=bool)
        for cause in order:
            before = predict(joined)
            joined[0, cause] = True
            change[cause] += (predict(joined) - before)[0]
    return change / len(orders)


@pytest.mark.parametrize("n_causes", [0, 1, 2, 5])
def test_few_causes_are_split_exactly(n_causes):
    base, change = shapley(surprising, n_causes)
    np.testing.assert_allclose(base, surprising(np.zeros((1, n_causes), dtype=bool))[0])
    np.testing.assert_allclose(change, by_definition(surprising, n_causes), atol=1e-12)


@pytest.mark.parametrize("most", [10, 400])
def test_many_causes_are_split_over_some_orders_and_add_up(most):
    base, change = shapley(surprising, 40, most=most)
    np.testing.assert_allclose(base + change.sum(0), surprising(np.ones((1, 40), dtype=bool))[0])


def test_causes_that_change_nothing_get_nothing():
    _, change = shapley(lambda sets: sets[:, [2, 30]].astype(float), 40)
    np.testing.assert_allclose(change.sum(1), np.isin(np.arange(40), [2, 30]))


@pytest.fixture(scope="module")
def classifier():
    return hg.HypergraphClassifier(random_state=0).fit(None, KNOWN, hypergraph=H)


@pytest.mark.slow
def test_what_speaks_for_a_class_adds_up_to_its_probability(classifier):
    why = classifier.explain(2)
    again = classifier.predict_proba(
        None,
        hypergraph=hg.Hypergraph.from_hyperedges([[0], [0], []], n_vertices=1, hyperedge_names=["tea", "nail", "milk"]),
    )
    assert why.probability == pytest.approx(again.max())
    assert sum(part.contribution for part in why.parts) == pytest.approx(why.probability)
    found = dict(zip(why.names, why.parts, strict=True))
    assert set(found) == {"tea", "nail", "bias"}
    assert found["tea"].contribution * found["nail"].contribution < 0
    other = classifier.explain(2, target=({"food", "tools"} - {why.target_name}).pop())
    assert other.probability == pytest.approx(1 - why.probability)
    assert f"; predicted is {why.target_name}" in repr(other)


@pytest.mark.slow
def test_new_hyperedges_of_later_rows_are_causes_too(classifier):
    why = classifier.explain(1, hypergraph=LATER)
    assert why.probability == pytest.approx(classifier.predict_proba(None, hypergraph=LATER)[1].max())
    assert sum(part.contribution for part in why.parts) == pytest.approx(why.probability)
    assert why.labels == ("tea", "saw (new)", "a row of which nothing is known")


def test_a_word_counts_as_feature_and_as_hyperedge():
    texts = ["ripe apple pie", "apple and plum", "steel hammer", "hammer and nail", "plum pie"] * 2
    options = {"min_df": 1, "max_df": 1.0}
    model = hg.HypergraphClassifier(construct="text", construct_options=options, random_state=0)
    why = model.fit(texts, ["fruit", "fruit", "tool", "tool", None] * 2).explain(4)
    assert why.target_name == "fruit"
    assert all(part.contribution > 0 for part in why.parts)
    assert set(why.names) == {"plum", "pie", "bias"}


def test_numbers_of_a_regressor_are_split_in_their_units():
    x = np.linspace(0, 1, 30)[:, None]
    y = np.stack([100 + 50 * x[:, 0], -x[:, 0]], axis=1)
    model = hg.HypergraphRegressor(random_state=0, max_time=0).fit(x, y)
    why = model.explain(3, output=0)
    assert sum(part.contribution for part in why.parts) == pytest.approx(why.score)
    assert why.score == pytest.approx(model.predict(x)[3, 0], rel=0.1)
    assert repr(why).startswith("vertex 3: output 0 10")
    assert "raises the prediction" in repr(why)
    with pytest.raises(ValueError, match=r"^output must be from 0 to 1; got 2\.$"):
        model.explain(3, output=2)
    assert f" {why.score:+.2f}\n" in f"{why!r}\n"  # decimals that fit its size
    axes = why.plot().axes[0]
    assert axes.get_title() == f"vertex 3: output 0 {why.score:.6g}"
    start = float(axes.get_xlabel().rpartition(" ")[2])  # the prediction for a row of which nothing is known
    assert start + sum(bar.get_width() for bar in axes.patches) == pytest.approx(why.score, rel=1e-4)
    assert len(axes.patches) == len(why.parts) - 1


def test_rows_and_classes_that_do_not_exist_are_refused(classifier):
    with pytest.raises(ValueError, match="row must be"):
        classifier.explain(7)
    with pytest.raises(ValueError, match="target must be one of the classes"):
        classifier.explain(0, target="toys")
