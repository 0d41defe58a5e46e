"""Plain scikit-learn classifiers, each with the preprocessing that its users would choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from benchmarks.practice_data import Data

Rival = tuple[str, Any, Callable[[int], Any], bool]
"""Name, rows, a function from the seed to a classifier, and whether it sees the unlabelled rows."""


def encoded(data: Data) -> Any:
    """The rows as numbers: scaled, words one-hot, gaps filled, texts as tf-idf, memberships as they are."""
    if data.X is None and data.hypergraph is not None:
        return sparse.csr_array(data.hypergraph.to_scipy())
    if isinstance(data.X, list):
        return sparse.csr_array(TfidfVectorizer(stop_words="english", min_df=2).fit_transform(data.X))
    if sparse.issparse(data.X):
        return data.X
    if not isinstance(data.X, pd.DataFrame):
        return StandardScaler().fit_transform(data.X)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    is_number = make_column_selector(dtype_include=np.number)
    is_word = make_column_selector(dtype_exclude=np.number)
    return make_column_transformer((numbers, is_number), (words, is_word)).fit_transform(data.X)


def rivals(data: Data) -> Iterator[Rival]:
    """Yield every classifier; with a hypergraph, some also with the memberships beside the features."""
    x = encoded(data)
    yield from _on(x, "")
    if data.hypergraph is not None and data.X is not None and not _same(x, data):
        both = sparse.hstack([sparse.csr_array(x), data.hypergraph.to_scipy()], format="csr")
        yield from (one for one in _on(both, ", memberships too") if one[0].startswith(("logistic", "naive", "random")))


def _same(x: Any, data: Data) -> bool:
    """Whether the features are the memberships."""
    H = data.hypergraph
    return bool(sparse.issparse(x) and H is not None and x.shape == (H.n_vertices, H.n_hyperedges))


def _on(x: Any, suffix: str) -> Iterator[Rival]:
    is_sparse = sparse.issparse(x)
    dense = TruncatedSVD(min(50, x.shape[1] - 1), random_state=0).fit_transform(x) if is_sparse else x
    counts = is_sparse and (x.data >= 0).all()
    bayes = MultinomialNB if counts else GaussianNB
    yield f"logistic regression{suffix}", x, lambda _: LogisticRegression(max_iter=1000), False
    yield f"naive Bayes{suffix}", x if counts or not is_sparse else x.toarray(), lambda _: bayes(), False
    yield f"random forest{suffix}", x, lambda seed: RandomForestClassifier(random_state=seed), False
    yield "gradient boosting", dense, lambda seed: HistGradientBoostingClassifier(random_state=seed), False
    yield "kNN", x, lambda _: KNeighborsClassifier(5, metric="cosine" if is_sparse else "minkowski"), False
    yield "LabelSpreading", dense, lambda _: LabelSpreading(kernel="knn"), True
    yield "self-training", x, lambda _: SelfTrainingClassifier(LogisticRegression(max_iter=1000)), True
