"""Files of estimators with the right checksum and the wrong content: none may crash, hang or be taken for sound."""

import json
import struct
import warnings

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.utils import all_estimators

import hypergnn as hg
from hypergnn.persistence import tensor_files
from hypergnn.persistence.allowed import NEIGHBOURS, SKLEARN, class_named
from hypergnn.persistence.object_reader import Reader
from hypergnn.persistence.object_writer import Writer

X, Y = load_wine(return_X_y=True)
X, Y = X[::3], Y[::3]
NAMES = sorted(name.partition(":")[2] for name in SKLEARN if "._" not in name) + list(NEIGHBOURS)
CLASSES = {name: kind for name, kind in all_estimators() if name in NAMES}
TEXTS = ["ripe apple pie", "apple and plum", "plum pie", "steel hammer", "hammer and nail", "steel nail"]
LABELS = [0, 0, 0, 1, 1, 1]


def made(name):
    kind = CLASSES[name]
    own = {
        "n_estimators": 3,
        "max_iter": 3,
        "n_clusters": 2,
        "cv": 2,
        "l1_ratios": (0,),
        "use_legacy_attributes": False,
    }
    if name.startswith("MultiOutput"):
        return kind(CLASSES["DecisionTree" + name[11:]]())
    if name == "Pipeline":
        return kind([("scale", CLASSES["StandardScaler"]()), ("bayes", CLASSES["GaussianNB"]())])
    return kind(**{key: own[key] for key in kind._get_param_names() if key in own})


def fitted(name):
    if "Vectorizer" in name:
        return made(name).fit(TEXTS), TEXTS
    if name.startswith("Label"):
        return made(name).fit(Y), Y
    if name in ("OneHotEncoder", "OrdinalEncoder"):
        return made(name).fit(np.stack([Y, Y % 2], axis=1)), np.stack([Y, Y % 2], axis=1)
    if name.startswith("MultiOutput"):
        return made(name).fit(X, np.stack([Y, Y % 2], axis=1)), X
    rows = abs(X)
    return made(name).fit(rows, Y), rows


def result(model, rows):
    for method in ("predict", "transform"):
        if hasattr(model, method):
            found = getattr(model, method)(rows)
            return found.toarray() if sparse.issparse(found) else found
    return model.kneighbors(rows)[1]


def written(value):
    writer = Writer()
    return json.loads(json.dumps(writer.write(value, "it"))), writer.tensors


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_every_class_that_files_may_hold_comes_back_fitted_or_not(name):
    model, rows = fitted(name)
    again = Reader(written(model)[1]).read(written(model)[0])
    close = assert_allclose if name == "PCA" else assert_array_equal  # its arrays come back in another order of memory
    close(result(again, rows), result(model, rows))
    blank = made(name)
    node, tensors = written(blank)
    assert Reader(tensors).read(node).get_params().keys() == blank.get_params().keys()


SPECIAL = ("MultiOutputClassifier", "ComplementNB", "MultinomialNB")  # several outputs, or no negative features
CLASSIFIERS = [name for name in NAMES if hasattr(CLASSES[name], "predict_proba") and name not in SPECIAL]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_corrected_and_smoothed_comes_back(name, tmp_path):
    rows = abs(X)
    options = {"probability": True} if name == "SVC" else {}
    model = hg.CorrectAndSmooth(made(name).set_params(**options), random_state=0).fit(rows, Y)
    hg.save(model, tmp_path / "model.safetensors")
    assert_array_equal(hg.load(tmp_path / "model.safetensors").predict_proba(rows), model.predict_proba(rows))


def altered(model, path, change):
    """What a reader makes of an estimator, an attribute of which was changed in the file."""
    owner = model
    *way, last = path
    for step in way:
        owner = owner[step] if isinstance(step, int) else vars(owner)[step]
    before = vars(owner)[last]
    node, tensors = None, None
    try:
        vars(owner)[last] = change(before)
        writer = Writer()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hypergnn.persistence.object_writer.check_compiled", lambda _: None)
            node = json.loads(json.dumps(writer.write(model, "it")))
        tensors = writer.tensors
    finally:
        vars(owner)[last] = before
    return Reader(tensors).read(node)


def field(name, value):
    def change(nodes):
        nodes = nodes.copy()
        nodes[name] = value
        return nodes

    return change


ATTACKS = {
    "forest over other features": ("RandomForestClassifier", ["n_features_in_"], lambda _: 2, "the same features"),
    "forest over no features": ("RandomForestRegressor", ["n_features_in_"], lambda _: None, "how many features"),
    "forest of more classes": ("ExtraTreesClassifier", ["n_classes_"], lambda _: 10**6, "number of classes"),
    "forest of something else": ("ExtraTreesRegressor", ["estimators_"], lambda _: [fitted("Ridge")[0]], "of trees"),
    "tree over other features": ("DecisionTreeClassifier", ["n_features_in_"], lambda _: 99, "the same features"),
    "tree of more outputs": ("ExtraTreeRegressor", ["n_outputs_"], lambda _: 99, "classes or outputs"),
    "stages over other features": (
        "HistGradientBoostingClassifier",
        ["_n_features"],
        lambda _: 2 * 10**9,
        "its 13 features as they are",
    ),
    "stages of other sizes": ("HistGradientBoostingRegressor", ["n_trees_per_iteration_"], lambda _: 7, "7 trees"),
    "features beyond the rows": (
        "HistGradientBoostingRegressor",
        ["_predictors", 0, 0, "nodes"],
        field("feature_idx", 10**9),
        "features that do not exist",
    ),
    "categories without a table": (
        "HistGradientBoostingClassifier",
        ["_predictors", 0, 0, "nodes"],
        field("is_categorical", 1),
        "divide categories",
    ),
    "no nodes": ("HistGradientBoostingClassifier", ["_predictors", 0, 0, "nodes"], lambda n: n[:0], "number of nodes"),
    "branches that meet": (
        "HistGradientBoostingRegressor",
        ["_predictors", 0, 0, "nodes"],
        lambda nodes: field("right", nodes["left"])(nodes),
        "branches that meet",
    ),
    "bins of categories": (
        "HistGradientBoostingClassifier",
        ["_bin_mapper", "is_categorical_"],
        np.ones_like,
        "13 numeric features",
    ),
    "more support vectors": ("SVC", ["support_"], lambda one: np.resize(one, 10**6), "support_ of its SVC"),
    "wider support vectors": (
        "SVR",
        ["support_vectors_"],
        lambda one: one[:, :4].copy(),
        "support_vectors_ of its SVR",
    ),
    "counts of support vectors": ("SVC", ["_n_support"], lambda one: one * 1000, "support vectors in all"),
    "coefficients of fewer": ("SVC", ["_dual_coef_"], lambda one: one[:1].copy(), "_dual_coef_ of its SVC"),
    "fewer intercepts": ("SVC", ["_intercept_"], lambda one: one[:1].copy(), "_intercept_ of its SVC"),
    "another machine": ("SVC", ["_impl"], lambda _: "one_class", "belongs to the class"),
    "wider centres": ("KMeans", ["cluster_centers_"], lambda one: one[:, :2].copy(), "cluster_centers_ of its KMeans"),
    "fewer counts": ("MiniBatchKMeans", ["_counts"], lambda one: one[:1].copy(), "_counts of its MiniBatchKMeans"),
    "words beyond the table": (
        "CountVectorizer",
        ["vocabulary_"],
        lambda one: {**one, "pie": 10**8},
        "numbered from 0",
    ),
    "texts as files": ("TfidfVectorizer", ["input"], lambda _: "filename", "must read texts"),
    "no columns": ("HashingVectorizer", ["n_features"], lambda _: 0, "n_features"),
    "codes beyond the table": ("OneHotEncoder", ["_n_features_outs"], lambda _: [1, 1], r"must have \[3, 2\] columns"),
    "categories in disorder": ("OneHotEncoder", ["categories_"], lambda one: [one[0][::-1], one[1]], "must be sorted"),
    "dropped categories": (
        "OneHotEncoder",
        ["_drop_idx_after_grouping"],
        lambda _: np.array([9, None], dtype=object),
        "drops categories",
    ),
    "fewer coefficients": ("ElasticNet", ["coef_"], lambda one: one[:2].copy(), "one coefficient per feature"),
    "more jobs": ("KNeighborsClassifier", ["n_jobs"], lambda _: 10**9, "at most 1024 jobs"),
    "other answers": ("KNeighborsClassifier", ["_y"], lambda one: one + 10**9, "out of bounds"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("attack", ATTACKS)
def test_what_compiled_code_would_read_is_checked(attack):
    name, path, change, message = ATTACKS[attack]
    model, _ = fitted(name)
    if path[0] not in vars(model):
        vars(model)[path[0]] = None
    with pytest.raises((ValueError, IndexError), match=message):
        altered(model, path, change)


def test_a_tree_must_have_nodes_and_its_depth():
    tree = fitted("DecisionTreeClassifier")[0].tree_
    (n_features, n_classes, n_outputs), state = tree.__reduce__()[1:]
    for changes, message in (
        ({"max_depth": 0}, "levels deep"),
        ({"nodes": state["nodes"][:0], "values": state["values"][:0], "node_count": 0}, "number of nodes"),
    ):
        node, tensors = written([n_features, n_classes, n_outputs, {**state, **changes}])
        with pytest.raises(ValueError, match=message):
            Reader(tensors).read({"id": 0, "tree": node})
    node, tensors = written([n_features, n_classes, -1, state])
    with pytest.raises(ValueError, match="classes or outputs"):
        Reader(tensors).read({"id": 0, "tree": node})


@pytest.mark.parametrize("place", [-(10**9), -1, 625, 10**9])
def test_random_numbers_continue_where_there_are_some(place):
    node, tensors = written(np.random.RandomState(0))
    node["random_state"]["tuple"][2] = place
    with pytest.raises(ValueError, match="must continue from 0 to 624"):
        Reader(tensors).read(node)


def test_threads_are_those_of_this_machine():
    again = altered(fitted("KMeans")[0], ["_n_threads"], lambda _: 10**9)
    assert again._n_threads < 10**4


def test_attributes_do_not_hide_methods():
    node, tensors = written(fitted("Ridge")[0])
    node["state"].append(["predict", 5])
    with pytest.raises(ValueError, match="its Ridge has 'predict' among its attributes"):
        Reader(tensors).read(node)


def test_texts_must_fill_their_arrays():
    with pytest.raises(ValueError, match="which are far shorter"):
        Reader({}).read({"id": 0, "texts": ["a"], "dtype": "<U500000000", "shape": [1]})


def test_what_cannot_be_read_is_not_written(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hg.CorrectAndSmooth(CLASSES["SVC"](probability=True)).fit(X, Y)
        model.estimator_ = CLASSES["SVC"](probability=True).fit(sparse.csr_array(X), Y)
    with pytest.raises(
        TypeError, match=r"CorrectAndSmooth\.estimator_ cannot be stored: its SVC must be fitted on dense"
    ):
        hg.save(model, tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()


def test_every_name_is_of_a_class():
    assert all(isinstance(class_named(name), type) for name in SKLEARN)
    assert set(NAMES) == set(CLASSES)


def test_modules_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="which this version does not have"):
        class_named("hypergnn.estimators.nowhere:Nothing")


def test_parameters_must_be_finite(tmp_path):
    network = hg.Network(hg.Config(hidden=2), 3, 2)
    node, tensors = written(network)
    damaged = {name: torch.full_like(one, 255) for name, one in tensors.items()}  # bytes of NaN
    with pytest.raises(ValueError, match="parameters that are not finite"):
        Reader(damaged).read(node)
    with torch.no_grad():
        next(network.parameters()).fill_(float("nan"))
    with pytest.raises(ValueError, match="must have finite parameters"):
        written(network)
    hg.save(network, tmp_path / "network.safetensors")
    with pytest.warns(UserWarning, match="holds parameters that are not finite"):
        hg.load(tmp_path / "network.safetensors")


@pytest.mark.parametrize(
    "node",
    [
        {"id": 1, "array": "0", "dtype": "|u1", "shape": [float("inf")]},
        {"id": 1, "hypergraph": [10**15, 1], "arrays": [{"array": "0", "dtype": "|u1", "shape": [-1]}] * 2 + [None] * 2}
        | {"names": [None, None]},
    ],
)
def test_every_damage_is_a_value_error(node, tmp_path):
    model = hg.HypergraphClassifier("mlp", max_epochs=1).fit(X, Y)
    path = tmp_path / "model.safetensors"
    hg.save(model, path)
    header, tensors = tensor_files.read(path, "Estimator", 1)
    tensors = {name: one.clone() for name, one in tensors.items()} | {"0": torch.zeros(1, dtype=torch.uint8)}
    tree = [["extra", node], *json.loads(tensors["tree"].numpy().tobytes())]
    tensors["tree"] = torch.tensor(list(json.dumps(tree).encode()), dtype=torch.uint8)
    about = {name: header[name] for name in ("class", "scikit-learn")}
    tensor_files.write(path, "Estimator", 1, about, tensors)
    with pytest.raises(ValueError, match="is not a valid file of an estimator"):
        hg.load(path)


def test_a_header_that_is_too_deep_is_damage(tmp_path):
    header = json.dumps({"__metadata__": {"hypergnn": "[" * 100_000, "sha256": "x"}}).encode()
    (tmp_path / "deep.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match="is damaged"):
        hg.load(tmp_path / "deep.safetensors")
