"""A dataset small enough to train in a moment."""

import numpy as np
from scipy import sparse

import hypergnn as hg


def grouped_points() -> hg.Dataset:
    """Sixty points in three groups, sparse features, a graph and a hypergraph."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    x = (rng.random((60, 30)) < 0.05 + 0.5 * (np.arange(30) % 3 == y[:, None])).astype(np.float32)
    H = hg.construct.from_knn(x, 4)
    order = rng.permutation(60)
    return hg.Dataset(
        name="small",
        x=sparse.csr_array(x),
        y=y,
        class_names=("a", "b", "c"),
        graph=hg.Graph.from_links(H.vertex, H.hyperedge, 60),
        hypergraph=H,
        train=np.sort(order[:12]),
        val=np.sort(order[12:30]),
        test=np.sort(order[30:]),
        source="made here",
    )
