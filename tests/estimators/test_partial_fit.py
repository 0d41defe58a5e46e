"""Estimators that go on learning with rows and hyperedges that come later."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

import hypergnn as hg

X, Y = load_wine(return_X_y=True)
FEW = np.where(np.arange(len(Y)) % 5 == 0, Y, -1)
ORDER = np.random.default_rng(0).permutation(len(Y))
FIRST, LATER = ORDER[:120], ORDER[120:]


def made(**options):
    return hg.HypergraphClassifier(
        "hyper-conv", **{"max_epochs": 20, "hidden": 4, "heads": 2, "random_state": 0, **options}
    )


def orders(*pairs):
    return pd.DataFrame(pairs, columns=["customer", "product"])


FIRST_ORDERS = orders(("ann", "tea"), ("bob", "tea"), ("bob", "milk"), ("eve", "nail"), ("kim", "nail"))
LABELS = pd.Series({"ann": "private", "bob": None, "eve": "trade", "kim": None})


def shop(**options):
    H = hg.construct.from_table(FIRST_ORDERS, vertex="customer", hyperedge="product")
    return made(**options).fit(None, LABELS.to_numpy(), hypergraph=H)


@pytest.mark.slow
@pytest.mark.parametrize("construct", ["knn", "clusters", "attributes"])
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
def test_rows_that_came_later_become_training_rows(model, construct):
    one = hg.HypergraphClassifier(model, construct=construct, max_epochs=5, hidden=2, heads=2, random_state=0)
    one.partial_fit(X[FIRST], FEW[FIRST]).partial_fit(X[LATER], FEW[LATER])
    assert one.hypergraph_.n_vertices == len(X)
    assert one.transduction_.shape == (len(X),)
    assert (one.predict(X[ORDER]) == one.transduction_).all()
    assert one.predict(X[:3] + 0.01).shape == (3,)


def test_training_goes_on_from_the_last_parameters():
    one = made(max_epochs=60).partial_fit(X[FIRST], FEW[FIRST])
    first = one.loss_curve_[0]
    parameters = {name: value.clone() for name, value in one.network_.state_dict().items()}
    one.set_params(max_epochs=1, learning_rate=1e-12).partial_fit(X[LATER], FEW[LATER])
    for name, value in one.network_.state_dict().items():
        assert (value - parameters[name]).abs().max() < 1e-9
    assert one.loss_curve_[0] < 0.8 * first


def test_neighbours_are_found_again_among_all_rows():
    one = made(max_epochs=1).fit(X[FIRST], FEW[FIRST])
    scales = one._relation._scales
    one.partial_fit(X[LATER], FEW[LATER])
    whole = hg.construct.from_knn(scales.positions(X[ORDER]), 10)
    assert one.hypergraph_.to_hyperedges() == whole.to_hyperedges()
    assert one._relation._scales is scales


def test_a_first_call_is_a_fit():
    one, other = made().partial_fit(X, FEW), made().fit(X, FEW)
    assert (one.label_distributions_ == other.label_distributions_).all()


def test_later_labels_teach():
    one = made(max_epochs=100).partial_fit(X[FIRST], np.where(Y[FIRST] == 2, -1, FEW[FIRST]), classes=[0, 1, 2])
    assert one.classes_.tolist() == [0, 1, 2]
    assert (one.transduction_ != 2).all()
    one.partial_fit(X[LATER], Y[LATER])
    assert (one.transduction_ == Y[ORDER]).mean() > 0.9


def test_hyperedges_are_known_by_name_and_new_ones_join():
    one = shop()
    one.partial_fit(None, ["private", None], memberships=orders(("ida", "tea"), ("leo", "milk"), ("leo", "cake")))
    H = one.hypergraph_
    assert H.vertex_names.tolist() == ["ann", "bob", "eve", "kim", "ida", "leo"]
    assert H.hyperedge_names.tolist() == ["tea", "milk", "nail", "cake"]
    assert H.to_hyperedges() == [[0, 1, 4], [1, 5], [2, 3], [5]]
    assert set(one.predictions_) == set(H.vertex_names)
    assert one.predict(None, memberships=orders(("new", "cake"), ("new", "screw"))).shape == (1,)
    assert one.explain("leo").vertex_name == "leo"


def test_a_known_name_is_the_known_row():
    one = shop()
    one.partial_fit(None, [None, "trade"], memberships=orders(("ann", "cake"), ("kim", "cake"), ("kim", "nail")))
    H = one.hypergraph_
    assert H.vertex_names.tolist() == ["ann", "bob", "eve", "kim"]
    assert H.to_hyperedges() == [[0, 1], [1], [2, 3], [0, 3]]
    assert one._codes.tolist() == [0, -1, 1, 1]  # ann's label stays


def test_features_of_a_known_row_are_replaced():
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0]}, index=["ann", "bob", "eve"])
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], 3, vertex_names=list(table.index), hyperedge_names=["p", "q"])
    one = made(scale=False).fit(table, ["x", None, "y"], hypergraph=H)
    later = pd.DataFrame({"age": [9.0, 7.0]}, index=["kim", "bob"])
    one.partial_fit(later, memberships=pd.DataFrame({"row": ["kim", "bob"], "edge": ["q", "r"]}))
    assert one._features.ravel().tolist() == [1.0, 7.0, 3.0, 9.0]
    assert one.hypergraph_.to_hyperedges() == [[0, 1], [1, 2, 3], [1]]


def test_a_matrix_of_memberships_grows_by_columns():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
    one = made().fit(np.eye(3), ["x", None, "y"], hypergraph=H)
    one.partial_fit(np.ones((2, 3)), memberships=sparse.csr_array([[0, 1, 1], [0, 0, 1]]))
    assert one.hypergraph_.to_hyperedges() == [[0, 1], [1, 2, 3], [3, 4]]
    assert one.hypergraph_.hyperedge_names is None


def test_texts_come_later():
    one = made(construct="text", construct_options={"min_df": 1, "max_df": 1.0})
    one.fit(["ripe apple pie", "apple and plum", "steel hammer", "hammer and nail"], ["fruit", None, "tool", None])
    one.partial_fit(["plum pie", "unknown words"], None)
    assert one.hypergraph_.n_vertices == 6
    assert one.predict(["plum pie"]).tolist() == ["fruit"]


def test_weights_of_later_rows_count():
    even, heavy = (made().fit(X[FIRST], FEW[FIRST]) for _ in range(2))
    even.partial_fit(X[LATER], Y[LATER])
    heavy.partial_fit(X[LATER], Y[LATER], sample_weight=np.full(LATER.size, 50.0))
    assert heavy._sample_weight.tolist() == [1.0] * 120 + [50.0] * LATER.size
    assert not np.allclose(even.label_distributions_, heavy.label_distributions_)


def test_a_saved_classifier_goes_on(tmp_path):
    one = shop()
    hg.save(one, tmp_path / "shop.safetensors")
    again = hg.load(tmp_path / "shop.safetensors")
    later = orders(("ida", "tea"), ("ida", "cake"))
    for model in (one, again):
        model.partial_fit(None, ["private"], memberships=later)
    assert (one.label_distributions_ == again.label_distributions_).all()
    hg.save(again, tmp_path / "shop.safetensors")
    assert hg.load(tmp_path / "shop.safetensors").predictions_ == one.predictions_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [7] * 58}, r"y must hold known classes, 0, 1, 2; got 7"),
        ({"y": [0]}, r"y must have one entry per row of X, 58; got 1"),
        ({"classes": [0, 1]}, r"classes must be those of the first call, \[0, 1, 2\]"),
        ({"X": X[LATER][:, :5]}, r"X has 5 features, but HypergraphClassifier is expecting 13"),
        ({"sample_weight": [1.0]}, r"sample_weight must have shape \(58,\)"),
        ({"memberships": np.ones((3, 2))}, r"memberships must have one row for each row of X, 58; got 3"),
    ],
)
def test_a_refused_call_changes_nothing(change, message):
    one = made(max_epochs=2).fit(X[FIRST], FEW[FIRST])
    before = dict(vars(one))
    with pytest.raises(ValueError, match=message):
        one.partial_fit(**{"X": X[LATER], "y": FEW[LATER], **change})
    assert vars(one) == before


def test_a_failing_callback_changes_nothing():
    one = made(max_epochs=2).fit(X[FIRST], FEW[FIRST])

    def fails(*_):
        raise RuntimeError("stop")

    one.set_params(on_epoch=fails)
    before = dict(vars(one))
    with pytest.raises(RuntimeError, match="stop"):
        one.partial_fit(X[LATER], FEW[LATER])
    assert vars(one) == before


def test_a_mixture_has_nothing_to_continue():
    assert not hasattr(hg.HypergraphClassifier(), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as found:
        hg.HypergraphClassifier().partial_fit(X, Y)
    assert "'auto' mixes several models" in str(found.value.__cause__)


def test_another_model_and_unnamed_rows_are_refused():
    with pytest.raises(ValueError, match="model must stay 'hyper-conv'"):
        made(max_epochs=1).fit(X, FEW).set_params(model="mlp").partial_fit(X, FEW)
    with pytest.raises(ValueError, match=r"later rows must have names, as those of training do \(such as 'ann'\)"):
        shop(max_epochs=1).partial_fit(
            None, hypergraph=hg.Hypergraph.from_hyperedges([[0]], 1, hyperedge_names=["tea"])
        )


def test_a_regressor_goes_on():
    rng = np.random.default_rng(0)
    points = rng.random((80, 2))
    targets = points.sum(1)
    one = hg.HypergraphRegressor("hyper-conv", max_epochs=60, hidden=4, heads=2, random_state=0, weight_decay=0.0)
    one.partial_fit(points[:40], np.where(np.arange(40) % 2, targets[:40], np.nan))
    mean = one._targets.mean.copy()
    one.partial_fit(points[40:], np.where(np.arange(40) % 2, targets[40:], np.nan))
    assert one.transduction_.shape == (80,)
    assert (one._targets.mean == mean).all()
    assert np.corrcoef(one.transduction_, targets)[0, 1] > 0.9
    assert one.partial_fit(points[:1] + 0.5).transduction_.shape == (81,)
    with pytest.raises(ValueError, match="y must have one entry per row of X and 1 outputs"):
        one.partial_fit(points[:2], [1.0])


AGES = pd.DataFrame({"age": [1.0, 2.0, 8.0, 9.0]}, index=["ann", "bob", "eve", "kim"])


@pytest.mark.slow
@pytest.mark.parametrize("construct", ["knn", "clusters", "attributes"])
def test_rows_are_recognised_by_the_index_of_their_table(construct):
    one = made(construct=construct, n_neighbors=1).fit(AGES, ["x", None, "y", None])
    assert list(one.predictions_) == list(AGES.index)
    later = pd.DataFrame({"age": [7.5, 3.0]}, index=["bob", "leo"])
    one.partial_fit(later, ["y", None])
    assert one.hypergraph_.vertex_names.tolist() == ["ann", "bob", "eve", "kim", "leo"]
    assert one.hypergraph_.n_vertices == 5
    assert one._codes.tolist() == [0, 1, 1, -1, -1]
    assert (one.predict(AGES.loc[["kim"]]) == one.predictions_["kim"]).all()
    assert one.explain("leo").vertex_name == "leo"
    one.partial_fit(pd.DataFrame({"age": [4.0]}))  # without a name, its number is its name
    assert one.hypergraph_.vertex_names.tolist()[5:] == [5]


def test_an_index_that_slicing_has_left_is_no_name():
    table = pd.DataFrame({"age": np.arange(8.0)})
    one = made(n_neighbors=1).fit(table[table["age"] > 3], ["x", None, None, "y"])
    assert one.hypergraph_.vertex_names is None
    one.partial_fit(table[table["age"] < 5][2:])
    assert one.hypergraph_.n_vertices == 7
    ids = table.rename_axis("customer")
    one = made(n_neighbors=1).fit(ids[:4], ["x", None, None, "y"])  # customers 0 to 3: names all the same
    one.partial_fit(ids[2:6])
    assert one.hypergraph_.n_vertices == 6


def test_ids_of_memberships_that_are_numbers_are_recognised():
    first = pd.DataFrame({"customer": [0, 1, 1, 2], "product": ["tea", "tea", "nail", "nail"]})
    one = made().fit(None, ["x", None, "y"], memberships=first)
    one.partial_fit(None, memberships=pd.DataFrame({"customer": [2, 7], "product": ["cake", "cake"]}))
    assert one.hypergraph_.vertex_names.tolist() == [0, 1, 2, 7]
    assert one.hypergraph_.to_hyperedges() == [[0, 1], [1, 2], [2, 3]]
    one.partial_fit(None, memberships=pd.DataFrame({"customer": [0, 1], "product": ["cake", "cake"]}))
    assert one.hypergraph_.n_vertices == 4


def test_customers_of_events_are_recognised():
    events = {"customer": [0, 1, 1, 2], "product": ["tea", "tea", "nail", "nail"]}
    customers = pd.DataFrame({"customer": [2, 1, 0], "age": [1.0, 2.0, 3.0]})
    one = hg.HypergraphClassifier.from_events(
        events,
        vertex="customer",
        hyperedge="product",
        features=customers,
        labels={0: "x", 2: "y"},
        settings={"model": "hyper-conv", "max_epochs": 2, "random_state": 0},
    )
    later = pd.DataFrame({"age": [5.0, 6.0]}, index=pd.Index([1, 9], name="customer"))
    pairs = pd.DataFrame({"customer": [1, 9], "product": ["tea", "tea"]})
    one.partial_fit(later, memberships=pairs)
    assert one.hypergraph_.vertex_names.tolist() == [2, 1, 0, 9]
    assert one.hypergraph_.to_hyperedges() == [[1, 2, 3], [0, 1]]


def test_a_known_row_that_comes_again_has_its_earlier_hyperedges_too():
    one = shop(max_epochs=50)
    again = one.predict_proba(None, memberships=orders(("bob", "milk"), ("new", "milk")))
    both = one.predict_proba(None, memberships=orders(("x", "milk"), ("x", "tea"), ("new", "milk")))
    np.testing.assert_allclose(again, both, rtol=1e-6)
    why = one.explain("bob", memberships=orders(("bob", "nail")))
    assert set(why.names) == {"tea", "milk", "nail", "bias"}


def timed(times, names, n=2):
    return hg.Hypergraph.from_hyperedges([[0, 1]] * len(times), n, hyperedge_names=names, time=times)


def test_times_stay_and_new_hyperedges_bring_theirs():
    one = made().fit(np.eye(2), ["x", "y"], hypergraph=timed([5, 6], ["p", "q"]))
    one.partial_fit(np.eye(2), hypergraph=timed([9, 7], ["q", "r"]))  # q is known and stays what it was
    assert one.hypergraph_.time.tolist() == [5, 6, 7]
    assert one.hypergraph_.window(6).hyperedge_names.tolist() == ["q", "r"]
    one.partial_fit(np.ones((1, 2)))
    assert one.hypergraph_.time.tolist() == [5, 6, 7]
    before = one.hypergraph_
    with pytest.raises(ValueError, match="time must be given for all hyperedges, new and old"):
        one.partial_fit(np.eye(2), hypergraph=hg.Hypergraph.from_hyperedges([[0]], 2, hyperedge_names=["s"]))
    assert one.hypergraph_ is before


def test_names_and_times_survive_a_file(tmp_path):
    one = made(n_neighbors=1).fit(AGES, ["x", None, "y", None])
    hg.save(one, tmp_path / "model")
    again = hg.load(tmp_path / "model")
    again.partial_fit(pd.DataFrame({"age": [7.5]}, index=["bob"]))
    assert again.hypergraph_.n_vertices == 4
