"""What compiled code of scikit-learn reads from fitted estimators without looking, checked before it does.

Most estimators compute with NumPy, which checks each index. These do not: trees and forests, gradient boosting, support
vector machines, clusters, and whatever makes sparse matrices (vocabularies, one-hot codes). An estimator that is not
fitted has none of these arrays and passes. Files are checked when they are written and when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from hypergnn.persistence.allowed import OURS

Nodes = npt.NDArray[Any]
MOST_JOBS = 1024
"""The highest number of jobs that files may ask for: each may be a thread."""


def check_state(kind: type, names: list[str]) -> None:
    """Raise if one of the attributes would hide a method, a property or, in scikit-learn, a constant of its class."""
    is_ours = kind.__module__.startswith(OURS)
    for name in names:
        hidden = getattr_static(kind, name, None)
        if hasattr(type(hidden), "__get__") or (hidden is not None and not is_ours):
            raise ValueError(f"its {kind.__name__} has {name!r} among its attributes, which belongs to the class")


def check_compiled(estimator: Any) -> None:
    """Raise a ``ValueError`` unless compiled code can read the arrays of an estimator, or of one of its parts."""
    is_ours = type(estimator).__module__.startswith(OURS)  # which never use more threads than there are cores
    jobs = None if is_ours else getattr(estimator, "n_jobs", None)
    if isinstance(jobs, (int, float, np.number)) and not jobs <= MOST_JOBS:
        raise ValueError(f"its {type(estimator).__name__} must use at most {MOST_JOBS} jobs; it asks for {jobs}")
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    for kind, check in _CHECKS:
        if isinstance(estimator, kind):
            check(estimator)


def use_threads_of_this_machine(estimator: Any) -> None:
    """Forget how many threads the machine had on which an estimator was fitted."""
    if isinstance(estimator, (KMeans, MiniBatchKMeans)) and hasattr(estimator, "_n_threads"):
        estimator._n_threads = _openmp_effective_n_threads()
    if isinstance(estimator, _BinMapper):
        estimator.n_threads = _openmp_effective_n_threads()


def check_tree(n_features: int, n_classes: Any, n_outputs: int, state: dict[str, Any]) -> None:
    """Raise unless a decision tree of these sizes can have this state."""
    nodes, classes = state["nodes"], np.asarray(n_classes)
    if len(nodes) != state["node_count"] or len(state["values"]) != len(nodes):
        raise ValueError("its trees have a wrong number of nodes")
    if n_outputs < 1 or classes.shape != (n_outputs,) or classes.min() < 1:
        raise ValueError("its trees have a wrong number of classes or outputs")
    depth = _depth(nodes, ("left_child", "right_child"), nodes["left_child"] == -1)
    if int(state["max_depth"]) < depth:
        raise ValueError(f"its trees must be {state['max_depth']} levels deep; one has {depth}")
    _check_features(nodes["feature"][nodes["left_child"] != -1], n_features)


def _depth(nodes: Nodes, children: tuple[str, str], is_leaf: npt.NDArray[np.bool_]) -> int:
    """Number of levels below the root; raise unless each node but the root follows its only parent."""
    if nodes.ndim != 1 or not len(nodes):
        raise ValueError("its trees have a wrong number of nodes")
    inner = np.flatnonzero(~is_leaf)
    ends = np.stack([nodes[child][inner].astype(np.int64) for child in children])
    if ((ends <= inner) | (ends >= len(nodes))).any():
        raise ValueError("its trees have branches that lead nowhere")
    if np.unique(ends).size < ends.size:
        raise ValueError("its trees have branches that meet")
    left, right = (np.full(len(nodes), -1, dtype=np.int64) for _ in children)
    left[inner], right[inner] = ends
    level, depth = np.zeros(1, dtype=np.int64), -1
    while level.size:
        level, depth = np.concatenate([left[level], right[level]]), depth + 1
        level = level[level >= 0]
    return depth


def _check_features(numbers: npt.NDArray[Any], n_features: int) -> None:
    if ((numbers < 0) | (numbers >= n_features)).any():
        raise ValueError("its trees use features that do not exist")


def _n_features(estimator: Any) -> int:
    """How many features the rows must have; whoever predicts compares them with this number."""
    found = getattr(estimator, "n_features_in_", None)
    if not isinstance(found, (int, np.integer)) or found < 1:
        raise ValueError(f"its {type(estimator).__name__} must say how many features it reads; got {found!r}")
    return int(found)


def _must_be(estimator: Any, what: str, shape: tuple[int, ...]) -> None:
    """Raise unless an array has a shape."""
    found = np.shape(getattr(estimator, what))
    if found != shape:
        raise ValueError(f"{what} of its {type(estimator).__name__} must have shape {shape}; got {found}")


def _classes_of(estimator: Any) -> list[int]:
    """Number of classes of each output; 1 for numbers."""
    return list(map(int, np.atleast_1d(getattr(estimator, "n_classes_", 1))))


def _check_decision_tree(estimator: Any) -> None:
    if not hasattr(estimator, "tree_"):
        return
    tree = estimator.tree_
    if type(tree) is not Tree or tree.n_features != _n_features(estimator):
        raise ValueError(f"its {type(estimator).__name__} and the tree in it must read the same features")
    if estimator.n_outputs_ != tree.n_outputs or max(_classes_of(estimator)) != tree.max_n_classes:
        raise ValueError("its trees have a wrong number of classes or outputs")


def _check_forest(estimator: Any) -> None:
    if not hasattr(estimator, "estimators_"):
        return
    n_features, n_classes = _n_features(estimator), _classes_of(estimator)
    for one in estimator.estimators_:
        if not isinstance(one, BaseDecisionTree) or type(getattr(one, "tree_", None)) is not Tree:
            raise ValueError(f"its {type(estimator).__name__} must be made of trees; one is a {type(one).__name__}")
        if one.tree_.n_features != n_features:
            raise ValueError(f"its {type(estimator).__name__} and the trees in it must read the same features")
        if one.tree_.n_outputs != estimator.n_outputs_ or _classes_of(one) != n_classes:
            raise ValueError("its trees have a wrong number of classes or outputs")


def _check_predictor(predictor: Any) -> None:
    nodes = predictor.nodes
    if nodes.dtype != PREDICTOR_RECORD_DTYPE:
        raise ValueError("its trees have nodes of another kind")
    is_leaf = nodes["is_leaf"] != 0
    _depth(nodes, ("left", "right"), is_leaf)
    if (nodes["is_categorical"][~is_leaf] != 0).any():
        raise ValueError("its trees divide categories, whose numbers files cannot hold")


def _check_boosting(estimator: Any) -> None:
    if not hasattr(estimator, "_predictors"):
        return
    n_features, mapper = _n_features(estimator), estimator._bin_mapper
    if estimator._n_features != n_features or estimator._preprocessor is not None or hasattr(estimator, "_in_fit"):
        raise ValueError(f"its {type(estimator).__name__} must read its {n_features} features as they are")
    categorical = np.asarray(mapper.is_categorical_)
    if categorical.shape != (n_features,) or categorical.any() or len(mapper.bin_thresholds_) != n_features:
        raise ValueError(f"its bins must be those of {n_features} numeric features")
    for stage in estimator._predictors:
        if len(stage) != estimator.n_trees_per_iteration_:
            raise ValueError(f"its stages must have {estimator.n_trees_per_iteration_} trees; one has {len(stage)}")
        for one in stage:
            if type(one) is not TreePredictor:
                raise ValueError(f"its {type(estimator).__name__} must be made of trees; one is a {type(one).__name__}")
            _check_features(one.nodes["feature_idx"][one.nodes["is_leaf"] == 0], n_features)


def _check_support_vectors(estimator: Any) -> None:
    if not hasattr(estimator, "support_vectors_"):
        return
    if estimator._sparse is not False or estimator.kernel == "precomputed" or callable(estimator.kernel):
        raise ValueError(
            f"its {type(estimator).__name__} must be fitted on dense rows with a kernel of scikit-learn, because files "
            "cannot hold others"
        )
    is_classifier = isinstance(estimator, SVC)
    n_classes, n_vectors = len(estimator.classes_) if is_classifier else 2, len(estimator.support_vectors_)
    n_pairs = n_classes * (n_classes - 1) // 2
    _must_be(estimator, "support_", (n_vectors,))
    _must_be(estimator, "support_vectors_", (n_vectors, _n_features(estimator)))
    _must_be(estimator, "_n_support", (n_classes,))
    _must_be(estimator, "_dual_coef_", (n_classes - 1, n_vectors))
    _must_be(estimator, "_intercept_", (n_pairs,))
    for what in ("_probA", "_probB"):
        _must_be(estimator, what, (n_pairs if estimator._probA.size and is_classifier else 0,))
    counted = estimator._n_support if is_classifier else estimator._n_support[:1]
    if counted.min() < 0 or counted.astype(np.int64).sum() != n_vectors:
        raise ValueError(f"its {type(estimator).__name__} must have {n_vectors} support vectors in all")


def _check_clusters(estimator: Any) -> None:
    if not hasattr(estimator, "cluster_centers_"):
        return
    _must_be(estimator, "cluster_centers_", (estimator.n_clusters, _n_features(estimator)))
    if hasattr(estimator, "_counts"):
        _must_be(estimator, "_counts", (estimator.n_clusters,))


def _check_words(vectorizer: Any) -> None:
    if vectorizer.input != "content":
        raise ValueError(f"its {type(vectorizer).__name__} must read texts; it would read files of these names")
    words = getattr(vectorizer, "vocabulary_", {})
    if not isinstance(words, dict) or sorted(words.values()) != list(range(len(words))):
        raise ValueError("its words must be numbered from 0, each by another number")


def _check_codes(encoder: Any) -> None:
    """Raise unless the columns of one-hot codes are within their matrix."""
    if not hasattr(encoder, "categories_"):
        return
    sizes = [len(one) for one in encoder.categories_]
    if any(one.dtype.kind not in "OSU" and not _ascends(one) for one in encoder.categories_):
        raise ValueError("its categories must be sorted, each once")
    if encoder._infrequent_enabled:
        for place, numbers in enumerate(encoder._default_to_infrequent_mappings):
            if numbers is None:
                continue
            if numbers.shape != (sizes[place],) or numbers.min() < 0 or numbers.max() >= sizes[place]:
                raise ValueError("its groups of rare categories must be those of its categories")
            sizes[place] = int(numbers.max()) + 1
    dropped = encoder._drop_idx_after_grouping
    for place, number in enumerate([] if dropped is None else dropped):
        if number is not None:
            if not 0 <= number < sizes[place]:
                raise ValueError("it drops categories that do not exist")
            sizes[place] -= 1
    if list(encoder._n_features_outs) != sizes:
        raise ValueError(f"its codes must have {sizes} columns; got {encoder._n_features_outs}")


def _ascends(values: npt.NDArray[Any]) -> bool:
    known = values[:-1] if values.dtype.kind == "f" and values.size and np.isnan(values[-1]) else values
    return values.ndim == 1 and bool((known[:-1] < known[1:]).all())


def _check_linear(estimator: Any) -> None:
    if hasattr(estimator, "coef_") and np.shape(estimator.coef_)[-1:] != (_n_features(estimator),):
        raise ValueError(f"its {type(estimator).__name__} must have one coefficient per feature")


_CHECKS: list[tuple[Any, Callable[[Any], None]]] = [
    (BaseDecisionTree, _check_decision_tree),
    (BaseForest, _check_forest),
    (TreePredictor, _check_predictor),
    ((HistGradientBoostingClassifier, HistGradientBoostingRegressor), _check_boosting),
    ((SVC, SVR), _check_support_vectors),
    ((KMeans, MiniBatchKMeans), _check_clusters),
    ((CountVectorizer, HashingVectorizer), _check_words),
    (OneHotEncoder, _check_codes),
    (
        (ElasticNet, LinearRegression, LogisticRegression, Ridge, RidgeClassifier, LinearSVC, LinearSVR),
        _check_linear,
    ),
]
