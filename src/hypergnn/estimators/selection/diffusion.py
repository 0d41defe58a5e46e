"""Values that some rows have, spread to the others over the hyperedges, in time and memory of the incidences."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from hypergnn.estimators.later import Later
from hypergnn.functional import hypergraph_conv
from hypergnn.structures.hypergraph import Hypergraph

Array = npt.NDArray[Any]


def reweighted(H: Hypergraph, weight: Array) -> Hypergraph:
    """The same hypergraph with its weights multiplied by others."""
    weights = torch.from_numpy(np.asarray(weight, dtype=np.float64)) * H.weight
    return Hypergraph._of(H.incidence, weights, H.centroid, H.vertex_names, H.hyperedge_names)


def rarity(H: Hypergraph) -> Array:
    """How much it says to be in a hyperedge, ``(M,)``: 1 + the logarithm of how rare it is, as the idf of words.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2, 3], [0]], n_vertices=4)
        >>> rarity(H).round(2).tolist()
        [1.0, 2.39]
    """
    size = H.hyperedge_degree().numpy()
    return np.asarray(1 + np.log(H.n_vertices / np.maximum(size, 1)))


def diffuse(values: Array, H: Hypergraph, reach: float) -> Array:
    """``(1 - reach) Σ_t reach^t T^t values`` with the row-normalised transition ``T``, ``(N, K)``."""
    fixed = torch.tensor(values, dtype=torch.float32)
    steps = n_steps(reach)
    out = fixed
    with torch.no_grad():
        for _ in range(steps):
            out = torch.lerp(fixed, hypergraph_conv(out, H, normalization="row"), reach)
    return np.asarray(out.double().numpy())


def n_steps(reach: float) -> int:
    """Steps after which what is left is a few percent.

    Example:
        >>> n_steps(0.5), n_steps(0.9)
        (5, 29)
    """
    return int(np.ceil(np.log(0.05) / np.log(reach)))


def received(values: Array, H: Hypergraph, later: Later) -> Array:
    """What new rows receive of values that the rows have, ``(new rows, K)``."""
    (block,) = later.blocks(H, 1)
    x = torch.tensor(values, dtype=torch.float32)
    with torch.no_grad():
        extended = torch.cat([x, x.new_zeros(later.n_rows, x.shape[1])])
        return np.asarray(hypergraph_conv(extended, block, normalization="row").double().numpy())
