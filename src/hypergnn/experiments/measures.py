"""Numbers of the paper that need no trials: the sizes of the datasets, and the time of a forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hypergnn.datasets import Dataset
from hypergnn.models import Network, paper_config
from hypergnn.structures.sparse_features import SparseFeatures

ROUNDS = 50
"""Forward passes of each network. They alternate, and the median is reported."""


def counts(data: Dataset) -> dict[str, float]:
    """The numbers of the table ``datasets`` for one dataset, by the names of their cells.

    Example:
        >>> import hypergnn as hg
        >>> counts(hg.datasets.load("digits"))
        {'digits/nodes': 1797, 'digits/features': 64, 'digits/classes': 10}
    """
    found = {
        "nodes": data.hypergraph.n_vertices,
        "edges": None if data.graph is None else data.graph.n_links,
        "features": data.n_features,
        "classes": data.n_classes,
    }
    return {f"{data.name}/{name}": number for name, number in found.items() if number is not None}


def times(data: Dataset, rounds: int = ROUNDS) -> dict[str, float]:
    """Milliseconds of one forward pass of Hyper-Conv. on one thread: ours, and PyG's if it is installed.

    Args:
        data: The dataset, with sparse features.
        rounds: Forward passes of each network.

    Returns:
        The numbers of the table ``timing`` by the names of its cells.
    """
    network = Network(paper_config(data.name), data.n_features, data.n_classes).eval()
    words = data.scaled("row")
    sparse, dense = SparseFeatures.from_scipy(words), torch.from_numpy(words.toarray())
    passes: dict[str, Callable[[], Tensor]] = {
        "hypergnn": lambda: network(sparse, hypergraph=data.hypergraph),
        "dense": lambda: network(dense, hypergraph=data.hypergraph),
    }
    if (pyg := _pyg_network(network, data)) is not None:
        passes["pyg"] = lambda: pyg(dense)
    found = _medians(passes, rounds)
    if "pyg" in found:
        found |= {"ratio": found["pyg"] / found["hypergnn"], "dense-ratio": found["pyg"] / found["dense"]}
    return {f"{data.name}/{name}": round(number, 4) for name, number in found.items()}


def _medians(passes: dict[str, Callable[[], Tensor]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each. They alternate, so that other load on the processor affects all of them."""
    taken: dict[str, list[float]] = {name: [] for name in passes}
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for _ in range(rounds + 1):
                for name, run in passes.items():
                    start = time.perf_counter()
                    run()
                    taken[name].append(1000 * (time.perf_counter() - start))
    finally:
        torch.set_num_threads(before)
    return {name: median(own[1:]) for name, own in taken.items()}  # the first pass warms up


def _pyg_network(network: Network, data: Dataset) -> Callable[[Tensor], Tensor] | None:
    """The same two layers in PyG, with its own parameters; ``None`` if it is not installed."""
    try:
        from torch_geometric.nn import HypergraphConv
    except ImportError:
        return None
    H = data.hypergraph.undirected()
    index = torch.from_numpy(np.stack([H._vertex_ids.numpy(), H._hyperedge_ids.numpy()]).astype(np.int64))
    width = network.config.heads * network.config.hidden
    first: Any = HypergraphConv(data.n_features, width)
    second: Any = HypergraphConv(width, data.n_classes)

    def run(x: Tensor) -> Tensor:
        hidden = torch.nn.functional.elu(first(x, index, num_edges=H.n_hyperedges))
        return torch.nn.functional.elu(second(hidden, index, num_edges=H.n_hyperedges))

    return run
