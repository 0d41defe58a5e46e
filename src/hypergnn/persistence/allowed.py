"""The classes whose objects files may hold. What is not listed here is refused by name."""

from __future__ import annotations

from importlib import import_module

OURS = ("hypergnn.estimators.", "hypergnn.construct.")
"""Modules of this package whose classes files may hold."""

_PUBLIC = {
    "sklearn.cluster": ["KMeans", "MiniBatchKMeans"],
    "sklearn.decomposition": ["PCA", "TruncatedSVD"],
    "sklearn.dummy": ["DummyClassifier", "DummyRegressor"],
    "sklearn.ensemble": [
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ],
    "sklearn.feature_extraction.text": ["CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"],
    "sklearn.impute": ["SimpleImputer"],
    "sklearn.linear_model": [
        "ElasticNet",
        "ElasticNetCV",
        "Lasso",
        "LassoCV",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
    ],
    "sklearn.multioutput": ["MultiOutputClassifier", "MultiOutputRegressor"],
    "sklearn.naive_bayes": ["BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"],
    "sklearn.pipeline": ["Pipeline"],
    "sklearn.preprocessing": [
        "KBinsDiscretizer",
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "RobustScaler",
        "StandardScaler",
    ],
    "sklearn.svm": ["SVC", "SVR", "LinearSVC", "LinearSVR"],
    "sklearn.tree": ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"],
    # Parts of the classes above.
    "sklearn.ensemble._hist_gradient_boosting.binning": ["_BinMapper"],
    "sklearn.ensemble._hist_gradient_boosting.predictor": ["TreePredictor"],
}
SKLEARN = {f"{module}:{name}" for module, names in _PUBLIC.items() for name in names}
LOSSES = ("HalfSquaredError", "HalfBinomialLoss", "HalfMultinomialLoss", "AbsoluteError", "HalfPoissonLoss")
NEIGHBOURS = ("NearestNeighbors", "KNeighborsClassifier", "KNeighborsRegressor")
"""Of these the rows are stored, and the search is built again."""


def class_named(name: str) -> type:
    """The class of this name, ``module:class``, or raise unless files may hold it."""
    module, _, own = name.partition(":")
    if name not in SKLEARN and not module.startswith(OURS):
        raise ValueError(f"it holds a {name}, which files must not hold")
    try:
        found = getattr(import_module(module), own, None)
    except ImportError:
        found = None
    if not isinstance(found, type) or (name not in SKLEARN and found.__module__ != module):
        raise ValueError(f"it holds a {name}, which this version does not have")
    return found


def name_of(kind: type) -> str | None:
    """The name under which files hold objects of a class; ``None`` if they must not."""
    if kind.__module__.startswith(OURS) and "." not in kind.__qualname__:
        return f"{kind.__module__}:{kind.__qualname__}"
    parts = kind.__module__.split(".")
    homes = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((name for home in homes if (name := f"{home}:{kind.__qualname__}") in SKLEARN), None)
