"""Features of hyperedges from their co-occurrence: hyperedges that share vertices get similar ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import check_size, check_structure
from hypergnn.structures.hypergraph import Hypergraph

DIMENSIONS = 32
"""Features of a hyperedge that networks use."""
_DENSE = 512
"""Hyperedges up to which the eigenvectors are computed of a dense matrix."""


def co_occurrence(H: Hypergraph, dimensions: int = DIMENSIONS) -> Tensor:
    """Embedding of each hyperedge by the hyperedges that it shares vertices with, ``(M, dimensions)`` float32.

    The leading eigenvectors, scaled by the roots of their eigenvalues, of the positive pointwise mutual information of
    two hyperedges: ``log(N |e ∩ f| / (|e| |f|))`` where that is positive, else 0. If the hyperedges are the words of
    texts, these are embeddings of words. They depend on the structure alone.

    Args:
        H: The hypergraph.
        dimensions: Number of features; those beyond the rank are 0.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1], [0, 1], [2, 3], [2, 3]], n_vertices=4)
        >>> u = co_occurrence(H, 2)
        >>> bool((u[0] @ u[1] > u[0] @ u[2]).item())
        True
    """
    return cached_co_occurrence(H, dimensions).clone()


def cached_co_occurrence(H: Hypergraph, dimensions: int = DIMENSIONS) -> Tensor:
    """What :func:`co_occurrence` gives, always the same tensor, which must not be changed."""
    check_structure("H", H, Hypergraph, "from_hyperedges(…), or use undirected() of a directed one")
    check_size("dimensions", dimensions, minimum=1)
    H.check()
    found: Tensor = H.derived(
        ("co-occurrence", dimensions), lambda: torch.from_numpy(_embedding(H.to("cpu"), dimensions)).to(H.device)
    )
    return found


def _embedding(H: Hypergraph, dimensions: int) -> npt.NDArray[np.float32]:
    information = _positive_information(H)
    n_hyperedges = H.n_hyperedges
    made = np.zeros((n_hyperedges, dimensions), np.float32)
    if n_hyperedges == 0 or information.nnz == 0:
        return made
    if n_hyperedges <= max(_DENSE, 2 * dimensions):
        values, vectors = np.linalg.eigh(information.toarray())
    else:
        from scipy.sparse.linalg import eigsh

        start = np.full(n_hyperedges, n_hyperedges**-0.5)
        values, vectors = eigsh(information, k=dimensions, which="LA", v0=start)
    order = np.argsort(-values)[:dimensions]
    order = order[values[order] > 1e-9 * values.max()]
    vectors = vectors[:, order] * _signs(vectors[:, order])
    made[:, : order.size] = vectors * np.sqrt(values[order])
    return made / max(float(np.sqrt((made**2).sum(1).mean())), 1e-12)


def _positive_information(H: Hypergraph) -> sparse.csr_array:
    """Positive pointwise mutual information of hyperedges, ``(M, M)``, where they share vertices."""
    incidence = H.to_scipy().astype(np.float64)
    shared: Any = sparse.coo_array(incidence.T @ incidence)
    size = H.hyperedge_degree().cpu().numpy()
    first, second = shared.coords
    information = np.log(H.n_vertices * shared.data / (size[first] * size[second]))
    return sparse.csr_array((information.clip(min=0), (first, second)), shared.shape)


def _signs(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Signs that make the largest entry of each column positive, so that they do not depend on the solver."""
    largest = np.abs(vectors).argmax(0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
