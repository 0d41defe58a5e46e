"""Rows that come later: they join known hyperedges, bring new ones, and leave the training rows as they are."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine

import hypergnn as hg
from hypergnn import reference
from hypergnn.estimators import later as later_rows
from hypergnn.estimators.later import as_hypergraph, read_later

NAMES = ["tea", "milk", "nail", "saw"]
H = hg.Hypergraph.from_hyperedges(
    [[0, 1, 2], [1, 2], [3, 4, 5], [4, 5]], n_vertices=6, weight=[1.0, 2.0, 1.0, 0.5], hyperedge_names=NAMES
)
Y = np.array(["food", "food", None, "tools", None, "tools"], dtype=object)
X = np.random.default_rng(0).normal(size=(6, 3)) + np.array([1, 1, 1, -1, -1, -1])[:, None]
R = hg.Hypergraph.from_hyperedges(
    [[0, 1], [1, 2], [0]], n_vertices=3, weight=[1.0, 3.0, 2.0], hyperedge_names=["milk", "hammer", "saw"]
)
NEW = np.random.default_rng(1).normal(size=(3, 3))


def fitted(model="hyper-conv", **options):
    one = hg.HypergraphClassifier(model, scale=False, max_epochs=40, random_state=0, **options)
    return one.fit(X, Y, hypergraph=H)


def test_hyperedges_are_recognised_by_their_names():
    later = read_later(H, R)
    assert later.memberships.toarray().tolist() == [[0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert (later.brought.hyperedge_names.tolist(), later.brought.to_hyperedges()) == (["hammer"], [[1, 2]])
    assert later.brought.weight.tolist() == [3.0]
    numbered = read_later(
        hg.Hypergraph.from_scipy(H.to_scipy()), hg.Hypergraph.from_scipy(sparse.csr_array([[0, 1, 0, 0, 1]]))
    )
    assert numbered.memberships.toarray().tolist() == [[0, 1, 0, 0]]
    assert numbered.brought.n_hyperedges == 1
    assert read_later(H, H).brought is None


def dense(model, features):
    """The scores by the definition: tails are training rows, and new rows of what they bring; heads are all."""
    later = read_later(H, R)
    S = torch.zeros(9, 5, dtype=torch.float64)
    S[:6, :4] = torch.from_numpy(H.to_scipy().toarray())
    S[6:, 4:] = torch.from_numpy(later.brought.to_scipy().toarray())
    heads = S.clone()
    heads[6:, :4] = torch.from_numpy(later.memberships.toarray())
    W = torch.cat([H.weight, later.brought.weight])
    T = reference.reading(heads, S, W, "symmetric")
    x = torch.from_numpy(np.vstack([X, features])).double()
    for layer in model.network_.layers:
        x = torch.nn.functional.elu(T @ x @ layer.projection.double() + layer.bias.double())
    return x[6:].softmax(-1).detach().numpy()


def test_a_convolution_is_that_of_the_dense_reference():
    model = fitted()
    assert_allclose(model.predict_proba(NEW, hypergraph=R), dense(model, NEW), rtol=1e-4)


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
def test_matrices_tables_and_hypergraphs_say_the_same(model):
    one = fitted(model)
    weighted = hg.Hypergraph.from_scipy(R.to_scipy(), hyperedge_names=R.hyperedge_names)
    expected = one.predict_proba(NEW, hypergraph=weighted)
    pairs = {"row": R.vertex.tolist(), "hyperedge": R.hyperedge_names[R.hyperedge.numpy()].tolist()}
    assert_allclose(one.predict_proba(NEW, memberships=pairs), expected, rtol=1e-5)
    frame = pd.DataFrame(NEW, index=["x", "y", "z"])
    named = pd.DataFrame({"who": np.array(["x", "y", "z"])[pairs["row"]], "what": pairs["hyperedge"]})
    assert_allclose(one.predict_proba(frame, memberships=named), expected, rtol=1e-5)
    assert_array_equal(one.predict(frame, memberships=named), one.classes_[expected.argmax(1)])
    plain = hg.HypergraphClassifier(model, scale=False, max_epochs=5, random_state=0)
    plain.fit(X, Y, memberships=H.to_scipy())
    matrix = sparse.csr_array([[0, 1, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 0, 0, 1]])
    as_graph = hg.Hypergraph.from_scipy(matrix)
    assert_array_equal(plain.predict_proba(NEW, memberships=matrix), plain.predict_proba(NEW, hypergraph=as_graph))
    assert_array_equal(
        plain.predict_proba(NEW, memberships=matrix.toarray()), plain.predict_proba(NEW, hypergraph=as_graph)
    )


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_rows_depend_on_each_other_only_through_what_they_bring(model):
    one = fitted(model)
    together = one.predict_proba(NEW, hypergraph=R)
    first = hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=1, hyperedge_names=["milk", "saw"])
    assert_allclose(one.predict_proba(NEW[:1], hypergraph=first), together[:1], rtol=1e-5)
    other = NEW.copy()
    other[2] += 1
    changed = one.predict_proba(other, hypergraph=R)
    assert_allclose(changed[0], together[0], rtol=1e-5)
    assert np.abs(changed[1] - together[1]).max() > 1e-4  # it shares the new hyperedge
    assert_array_equal(one.predict(X), one.transduction_)
    again = one.predict_proba(X, hypergraph=H)  # training rows, taken as later rows
    assert_allclose(again, one.label_distributions_, rtol=1e-3)


@pytest.mark.parametrize("kind", ["plain", "trained", "regressor", "auto"])
def test_every_estimator_takes_them(kind):
    model = {
        "plain": hg.HypergraphEmbedding(steps=2),
        "trained": hg.HypergraphEmbedding(trained=True, max_epochs=5, random_state=0),
        "regressor": hg.HypergraphRegressor("hyper-conv", max_epochs=5, random_state=0),
        "auto": hg.HypergraphRegressor(max_epochs=2, max_time=0, random_state=0),
    }[kind]
    y = Y if kind == "trained" else X[:, 0]
    model.fit(X, y, hypergraph=H)
    call = model.transform if hasattr(model, "transform") else model.predict
    assert_allclose(call(X, hypergraph=H), call(X), rtol=1e-3)
    assert np.isfinite(call(NEW, hypergraph=R)).all()
    assert len(call(NEW, hypergraph=R)) == 3


@pytest.mark.slow
def test_memberships_may_be_all_there_is():
    model = hg.HypergraphClassifier("hyper-conv", random_state=0).fit(None, Y, hypergraph=H)
    assert model.transduction_.tolist() == ["food"] * 3 + ["tools"] * 3
    assert_array_equal(model.predict(None), model.transduction_)
    orders = pd.DataFrame({"customer": ["Ann", "Ann", "Bob", "Cid"], "product": ["tea", "hammer", "saw", "hammer"]})
    assert model.predict(None, memberships=orders)[:2].tolist() == ["food", "tools"]
    assert set(model.explain("Bob", memberships=orders).names) == {"saw", "bias"}
    assert_allclose(model.predict_proba(None, hypergraph=H), model.label_distributions_, rtol=1e-3)
    number = hg.HypergraphRegressor("hyper-conv", random_state=0).fit(None, [1.0, 1, np.nan, 5, 5, 5], hypergraph=H)
    assert number.predict(None)[2] < 3
    assert hg.HypergraphEmbedding().fit_transform(None, hypergraph=H).shape == (6, 4)


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
def test_explanations_of_later_rows_add_up(model):
    one = fitted(model)
    shares = one.predict_proba(NEW, hypergraph=R)
    for row in range(3):
        why = one.explain(row, X=NEW, hypergraph=R)
        assert why.target_name == one.classes_[shares[row].argmax()]
        assert_allclose(why.probability, shares[row].max(), atol=1e-5)
        assert_allclose(sum(part.contribution for part in why.parts), why.logit, atol=1e-4)
    if model != "mlp":
        assert set(one.explain(1, X=NEW, hypergraph=R, target="tools").names) == {"milk", "hammer", "bias"}
    if model == "hyper-attention":
        attention = [entry.attention for entry in why.attention if entry.layer == 0 and entry.head == 0]
        assert_allclose(sum(attention), 1, rtol=1e-5)


def test_later_rows_are_explained_by_the_rule_of_training():
    X, y = load_wine(return_X_y=True)
    model = hg.HypergraphClassifier("hyper-conv", max_epochs=20, random_state=0).fit(X[::2], y[::2])
    frame = pd.DataFrame(X[1::2], index=[f"w{number}" for number in range(89)])
    why = model.explain("w3", X=frame)
    assert_allclose(why.probability, model.predict_proba(X[1::2])[3].max(), atol=1e-5)
    assert len([part for part in why.parts if part.kind == "hyperedge"]) == 10


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": NEW, "hypergraph": R, "memberships": R.to_scipy()}, ValueError, "must not both be given"),
        ({"X": NEW[:2], "hypergraph": R}, ValueError, "one vertex for each row of X, 2; got 3"),
        ({"X": NEW, "memberships": R.to_scipy()[:2]}, ValueError, "memberships must have one row for each row of X, 3"),
        ({"X": NEW, "hypergraph": "R"}, TypeError, "hypergraph must be a Hypergraph; got str"),
        (
            {"X": NEW, "hypergraph": hg.DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=3)},
            TypeError,
            r"got DirectedHypergraph. Take H.undirected\(\)",
        ),
        (
            {"X": NEW, "memberships": R.to_scipy()},
            ValueError,
            "must have names, as those of training do .such as 'tea'",
        ),
        ({"X": NEW, "memberships": {"a": [0], "b": [1], "c": [2]}}, ValueError, r"two columns, the row and the hyper"),
        ({"X": NEW, "memberships": {"a": [7], "b": ["tea"]}}, ValueError, "memberships must name rows of X"),
        ({"X": None, "hypergraph": R}, ValueError, "X must be given: the estimator was fitted with features"),
        ({"X": None}, ValueError, "X must be given: the estimator was fitted with features"),
    ],
)
def test_later_rows_that_cannot_be_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        fitted("mlp").predict(**arguments)


def test_features_and_memberships_are_not_mixed_up():
    model = hg.HypergraphClassifier("mlp", max_epochs=2).fit(None, Y, hypergraph=H)
    with pytest.raises(ValueError, match="X must be None: the estimator was fitted without features"):
        model.predict(NEW)
    with pytest.raises(ValueError, match="row must be a number from 0 to 2; got 7"):
        fitted().explain(7, X=NEW, hypergraph=R)
    assert as_hypergraph(None, None, 3, None) is None


def test_later_rows_name_the_columns_of_training():
    orders = {"who": ["ann", "bob", "eve", "kim"], "what": ["tea", "tea", "saw", "saw"], "where": ["a", "b", "b", "b"]}
    known = {"ann": "food", "eve": "tools"}
    columns = ["what", "where"]
    settings = {"model": "hyper-conv", "max_epochs": 2, "random_state": 0}
    model = hg.HypergraphClassifier.from_events(
        orders, vertex="who", hyperedge=columns, labels=known, settings=settings
    )
    new = {"who": ["pam", "pam"], "what": ["saw", "tea"], "price": [1, 2]}
    found = as_hypergraph(None, new, None, None, model.hypergraph_)
    assert found.hyperedge_names.tolist() == [("what", "saw"), ("what", "tea")]
    assert_array_equal(read_later(model.hypergraph_, found).memberships.toarray(), [[1, 1, 0, 0]])
    assert model.predict(None, memberships=new).shape == (1,)
    with pytest.raises(ValueError, match="one of those of training, 'what', 'where'; got 'who', 'price'"):
        model.predict(None, memberships={"who": ["pam"], "price": [1]})


def test_numbers_that_a_file_held_as_text_are_recognised():
    numbered = hg.Hypergraph.from_hyperedges([[0]], n_vertices=1, hyperedge_names=[17])
    of_text = hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=1, hyperedge_names=["4", "17"])
    assert read_later(of_text, numbered).memberships.toarray().tolist() == [[0, 1]]


@pytest.mark.slow
def test_forests_take_memberships_of_later_rows():
    house = np.repeat(np.arange(10), 4)
    member = hg.Hypergraph.from_incidence(
        np.arange(40), house, 40, 10, hyperedge_names=[f"h{one}" for one in range(10)]
    )
    y = np.where(np.arange(40) % 2 == 0, house % 2, -1)
    model = hg.HypergraphClassifier(max_time=None, max_epochs=3, random_state=0).fit(None, y, hypergraph=member)
    rows = {"who": ["pam", "sam"], "house": ["h2", "h3"]}
    assert model.predict(None, memberships=rows).tolist() == [0, 1]
    assert any("forest" in name for name in model.report_.chosen)


@pytest.mark.slow
def test_explanations_call_rows_as_the_index_does():
    frame = pd.DataFrame(X, index=[f"r{number}" for number in range(6)])
    model = hg.HypergraphClassifier("hyper-conv", n_neighbors=2, max_epochs=5, random_state=0).fit(frame, Y)
    assert str(model.explain("r1")).startswith("vertex r1: class food")
    assert str(model.explain(2, X=NEW)).startswith("vertex 2: class ")
    auto = hg.HypergraphClassifier(n_neighbors=2, random_state=0).fit(frame, Y)
    assert "the sum is the probability of the class" in str(auto.explain("r1"))


def test_names_are_compared_as_text_one_by_one():
    H = hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=1, hyperedge_names=[11, "99"])
    R = hg.Hypergraph.from_hyperedges([[0], [0]], n_vertices=1, hyperedge_names=["99", "11"])
    later = read_later(H, R)
    assert later.memberships.toarray().tolist() == [[1, 1]]
    assert later.brought is None


def test_hyperedges_whose_names_are_pairs_come_again():
    weeks = [(2024, 1), (2024, 2)]
    H = hg.Hypergraph.from_hyperedges([[0], [1]], n_vertices=2, hyperedge_names=weeks)
    table = pd.DataFrame({"row": [0, 1], "week": weeks[::-1]})
    later = read_later(H, as_hypergraph(None, table, 2, None, H))
    assert later.memberships.toarray().tolist() == [[0, 1], [1, 0]]


def test_new_rows_without_memberships_are_a_guess_and_warn():
    people = pd.DataFrame({"age": [31.0, 52.0, 44.0, 29.0]}, index=["ann", "bob", "eve", "kim"])
    orders = pd.DataFrame({"who": people.index, "what": ["tea", "tea", "nail", "nail"]})
    model = hg.HypergraphClassifier("hyper-conv", max_epochs=2, random_state=0)
    model.fit(people, ["home", None, "work", None], memberships=orders)
    new = pd.DataFrame({"age": [40.0]}, index=["pam"])
    with pytest.warns(UserWarning, match="fitted with memberships, and new rows are predicted without"):
        model.predict(new)
    bought = pd.DataFrame({"what": ["nail"], "who": ["pam"]})
    with pytest.raises(ValueError, match=r"the rows are in 'who', and 'what' is the first\. Swap them"):
        model.predict(new, memberships=bought)
    model.predict(new, memberships=bought[["who", "what"]])  # warnings are errors
    alone = hg.HypergraphClassifier("hyper-conv", max_epochs=2, random_state=0)
    alone.fit(None, ["home", None, "work", None], memberships=orders.assign(who=range(4)))
    with pytest.raises(ValueError, match=r"Swap them: memberships\[\['who', 'what'\]\]"):
        alone.predict(None, memberships=bought)


def test_rows_without_names_may_share_ids_with_hyperedges():
    training = hg.Hypergraph.from_hyperedges([[0], [1], [0]], n_vertices=2, hyperedge_names=[10, 11, 12])
    only_new = pd.DataFrame({"customer": [12, 13, 13], "product": [17, 17, 18]})
    later = read_later(training, as_hypergraph(None, only_new, None, None, training))
    assert later.memberships.toarray().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert later.brought.n_hyperedges == 2
    without = pd.DataFrame({"customer": [12], "product": [None]})  # joins nothing
    assert as_hypergraph(None, without, None, None, training).n_incidences == 0
    swapped = pd.DataFrame({"product": [12, 11], "customer": [17, 18]})
    with pytest.raises(ValueError, match=r"Swap them: memberships\[\['customer', 'product'\]\]"):
        as_hypergraph(None, swapped, None, None, training)


def test_the_order_of_columns_is_checked_only_if_a_row_is_unknown(monkeypatch):
    seen = []
    real = later_rows._texts
    monkeypatch.setattr(later_rows, "_texts", lambda values: seen.append(len(values)) or real(values))
    names = np.array(["ann", "bob", "eve"])
    good = pd.DataFrame({"who": ["ann", "bob"], "what": ["tea", "nail"], "where": ["Ulm", "Bonn"]})
    as_hypergraph(None, good[["who", "what"]], 3, names)
    assert seen == []
    with pytest.raises(ValueError, match="the rows are in 'who', and 'what' is the first"):
        as_hypergraph(None, good[["what", "where", "who"]], 3, names)
    assert seen == [3, 2, 2, 2]  # the names once, then each column
    with pytest.raises(ValueError, match="memberships must name rows of X"):
        as_hypergraph(None, good.assign(who=["ann", "kim"])[["who", "what"]], 3, names)
