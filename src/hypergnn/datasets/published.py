"""Published datasets by name: citation networks, newsgroup postings, handwritten digits."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from scipy import sparse

from hypergnn._utils.checks import check_choice
from hypergnn.construct import from_knn, from_neighbourhoods
from hypergnn.datasets import linqs, newsgroups, planetoid, sources
from hypergnn.datasets.catalogue import DESCRIPTIONS, DRAWN
from hypergnn.datasets.dataset import Dataset
from hypergnn.datasets.generated import arrows
from hypergnn.datasets.planetoid import Articles
from hypergnn.datasets.splits import draw_split
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph

_CLASSES = {
    "cora": linqs.CORA_CLASSES,
    # The files only number these classes. The names follow from the class sizes in LINQS' files, which all differ;
    # docs/datasets.md says how certain each name is.
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("Diabetes Mellitus, Experimental", "Diabetes Mellitus Type 2", "Diabetes Mellitus Type 1"),
}
_DIGITS_NEIGHBOURS = 10


def available() -> tuple[str, ...]:
    """The names of all published datasets.

    Example:
        >>> available()
        ('cora', 'citeseer', 'pubmed', '20news', 'digits', 'cora-directed', 'arrows', 'wine')
    """
    return tuple(DESCRIPTIONS)


def load(
    name: str, *, data_dir: str | os.PathLike[str] | None = None, seed: int | None = None, quiet: bool = False
) -> Dataset:
    """Load a published dataset; download it if it is not available locally.

    Args:
        name: One of :func:`available`.
        data_dir: Folder with the files, searched before the cache and the network; ``HYPERGNN_DATA`` if omitted.
            ``digits``, ``wine`` and ``arrows`` have no files.
        seed: Selects the random split of ``20news``, ``digits``, ``wine`` and ``arrows``; 0 if omitted. The citation
            networks have one published split.
        quiet: Show no progress bar while downloading.

    Raises:
        ValueError: If there is no such dataset, or an option does not apply to it.
        DataNotFoundError: If no source has the files.
        DataError: If a file is damaged.

    Example:
        >>> load("digits", seed=1)
        Dataset('digits': 1797 vertices, 1797 hyperedges, 64 features, 10 classes, split 200/500/1000)
    """
    check_choice("name", name, available())
    if name in _WITHOUT_FILES:
        if data_dir is not None:
            raise ValueError(f"data_dir must be omitted for {name}, which has no files.")
        return _WITHOUT_FILES[name](0 if seed is None else seed)
    if seed is not None and name not in DRAWN:
        raise ValueError(f"seed must be omitted for {name}, whose split is published and not drawn; got {seed!r}.")
    fetched = sources.fetch(name, data_dir=data_dir, quiet=quiet)
    if name == "20news":
        return _newsgroups(*fetched.content.items(), seed=0 if seed is None else seed, source=fetched.origin)
    is_planetoid = fetched.bundle.form == "Planetoid"
    articles = planetoid.parse(name, fetched.content) if is_planetoid else linqs.parse(fetched.content)
    make = _directed_citations if name == "cora-directed" else _citations
    return make(name, articles, fetched.origin)


def _citations(name: str, articles: Articles, source: str) -> Dataset:
    graph = Graph.from_links(articles.citing, articles.cited, articles.y.size)
    return Dataset(
        name=name,
        x=articles.x,
        y=articles.y,
        class_names=_CLASSES[name],
        graph=graph,
        hypergraph=from_neighbourhoods(graph),
        train=articles.train,
        val=articles.val,
        test=articles.test,
        source=source,
        construction="neighbourhoods of the citations",
        self_links=np.unique(articles.citing[articles.citing == articles.cited]),
    )


def _directed_citations(name: str, articles: Articles, source: str) -> Dataset:
    cites = sparse.csr_array(
        (np.ones(articles.cited.size, bool), (articles.cited, articles.citing)), (articles.y.size,) * 2
    )
    return replace(
        _citations("cora", articles, source),
        name=name,
        hypergraph=from_neighbourhoods(cites, directed=True),
        construction="each article and those that cite it",
    )


def _newsgroups(item: tuple[str, bytes], *, seed: int, source: str) -> Dataset:
    postings = newsgroups.parse(*item)
    posting, word = postings.x.nonzero()
    n_postings, n_words = postings.x.shape
    train, val, test = draw_split(postings.y, seed)
    return Dataset(
        name="20news",
        x=postings.x,
        y=postings.y,
        class_names=postings.groups,
        graph=None,
        hypergraph=Hypergraph.from_incidence(posting, word, n_postings, n_words, hyperedge_names=postings.words),
        train=train,
        val=val,
        test=test,
        source=source,
        construction="words of the postings",
    )


def _digits(seed: int) -> Dataset:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    x = (images / 16).astype(np.float32)  # published as 0 to 16
    y = labels.astype(np.int64)
    train, val, test = draw_split(y, seed)
    return Dataset(
        name="digits",
        x=x,
        y=y,
        class_names=tuple("0123456789"),
        graph=None,
        hypergraph=from_knn(x, _DIGITS_NEIGHBOURS),
        train=train,
        val=val,
        test=test,
        source="scikit-learn",
        construction=f"{_DIGITS_NEIGHBOURS} nearest neighbours of the images",
    )


def _wine(seed: int) -> Dataset:
    from sklearn.datasets import load_wine

    wine = load_wine()
    x = ((wine.data - wine.data.mean(0)) / wine.data.std(0)).astype(np.float32)
    y = wine.target.astype(np.int64)
    train, val, test = draw_split(y, seed, per_class=5, n_val=45, n_test=118)
    return Dataset(
        name="wine",
        x=x,
        y=y,
        class_names=tuple(map(str, wine.target_names)),
        graph=None,
        hypergraph=from_knn(x, _DIGITS_NEIGHBOURS),
        train=train,
        val=val,
        test=test,
        source="scikit-learn",
        construction=f"{_DIGITS_NEIGHBOURS} nearest neighbours of the wines",
    )


_WITHOUT_FILES = {"digits": _digits, "arrows": arrows, "wine": _wine}
