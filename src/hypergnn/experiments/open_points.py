"""Tables beyond the paper on what its conclusion leaves open: other families, structures that change, weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypergnn.experiments.cells import Cell, Comparison, Elsewhere, Table
from hypergnn.experiments.paper import METHODS, NAMES, config_of
from hypergnn.models import Config

_FAMILIES = {
    "hyper-sage": "GraphSAGE with hyperedges",
    "hyper-monet": "MoNet with hyperedges",
    "dynamic-hyper-conv": "Hyper-Conv. with hyperedges that follow the features",
}


def families() -> Table:
    """Other families of networks with hyperedges plugged in, on the paper's citation networks."""
    cells = tuple(
        Cell("families", f"{dataset}/{model}", row, NAMES[dataset], dataset, config_of(dataset, model), None)
        for model, row in _FAMILIES.items()
        for dataset in ("cora", "citeseer", "pubmed")
    )
    best = {
        "cora": Elsewhere("baselines", "cora/hyper-conv"),
        "citeseer": Elsewhere("baselines", "citeseer/hyper-conv"),
        "pubmed": Elsewhere("sota", "pubmed/ours"),
    }
    comparisons = tuple(
        Comparison(f"{dataset}/{model}", other) for model in _FAMILIES for dataset, other in best.items()
    )
    note = (
        "Not in the paper, which names MoNet and GraphSAGE as families that its operators can be plugged into. The "
        "settings are those of the paper's networks; nothing was tuned. GraphSAGE pools the mean. Compared with "
        "Hyper-Conv. on Cora and Citeseer and with Hyper-Atten. on Pubmed."
    )
    return Table("families", "Beyond the paper: other families of networks", cells, comparisons, note)


def dynamic() -> Table:
    """Hyperedges that follow the features, against the fixed structure."""
    settings: dict[str, dict[str, Any]] = {
        "fixed": {"model": "hyper-conv"},
        "100": {"model": "dynamic-hyper-conv", "rebuild_every": 100},
        "25": {"model": "dynamic-hyper-conv"},
    }
    rows = {"fixed": "the given hyperedges", "100": "rebuilt every 100 epochs", "25": "rebuilt every 25 epochs"}
    datasets = ("cora", "digits", "wine")
    cells = tuple(
        Cell(
            table="dynamic",
            name=f"{dataset}/{name}",
            row=rows[name],
            column=NAMES[dataset],
            dataset=dataset,
            config=replace(_plain(dataset), **changes),
            published=None,
        )
        for name, changes in settings.items()
        for dataset in datasets
    )
    comparisons = tuple(
        Comparison(f"{dataset}/25", f"{dataset}/{other}") for dataset in datasets for other in ("fixed", "100")
    )
    note = (
        "Not in the paper, which names dynamic structures as an open point. To the given hyperedges each layer adds "
        "those of the ten nearest neighbours of each row of its input, by cosine, and of √N clusters. The input of "
        "the first layer does not change, so its hyperedges do not either. On digits and wine the given hyperedges are "
        "the ten nearest neighbours of the features themselves."
    )
    return Table("dynamic", "Beyond the paper: hyperedges that follow the features", cells, comparisons, note)


def open_points() -> Table:
    """Weights of hyperedges, and hyperedges with features of their own."""
    settings: dict[str, tuple[str, dict[str, Any]]] = {
        "equal": ("equal weights", {}),
        "idf": ("weights by inverse document frequency", {"weights": "inverse-frequency"}),
        "learned": ("learned weights", {"weights": "learned"}),
        "members": ("attention to the members of a hyperedge", {}),
        "co-occurrence": ("attention to features of the hyperedge itself", {"hyperedge_features": "co-occurrence"}),
    }
    attends = ("members", "co-occurrence")
    cells = tuple(
        Cell(
            table="open",
            name=f"{dataset}/{name}",
            row=f"{METHODS['hyper-attention' if name in attends else 'hyper-conv']} {row}",
            column=NAMES[dataset],
            dataset=dataset,
            config=replace(config_of(dataset, "hyper-attention" if name in attends else "hyper-conv"), **changes),
            published=None,
        )
        for name, (row, changes) in settings.items()
        for dataset in ("20news", "cora")
    )
    comparisons = tuple(
        Comparison(f"{dataset}/{better}", f"{dataset}/{worse}")
        for dataset in ("20news", "cora")
        for better, worse in (("learned", "equal"), ("learned", "idf"), ("idf", "equal"), ("co-occurrence", "members"))
    )
    note = (
        "Not in the paper, which gives all hyperedges the weight 1, compares vertices with the members of a hyperedge "
        "and mentions learned weights and hyperedges of another domain without a number. Inverse document frequency is "
        "`log((N + 1) / |e|)`. Attention to the members uses their mean on 20-newsgroup and the centroid on Cora; the "
        "features of the hyperedge itself are 32 numbers computed from which hyperedges share vertices with it: on "
        "20-newsgroup, embeddings of the words."
    )
    title = "Beyond the paper: learned weights, and hyperedges with features of their own"
    return Table("open", title, cells, comparisons, note)


def _plain(dataset: str) -> Config:
    """The paper's settings; measurements are not divided by the sum of their row, as counts of words are."""
    config = config_of(dataset, "hyper-conv")
    return config if dataset == "cora" else replace(config, feature_scaling="none")
