"""Classify handwritten digits from 20 labels per class: without structure, with convolution and with attention.

Each digit and its nearest neighbours form a hyperedge. Run with ``python examples/digits.py``; it takes a few seconds.
"""

import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, elu

import hypergnn as hg


class Network(nn.Module):
    """The paper's two-layer network: 8 heads with 8 hidden units each, then one head with a score per class."""

    def __init__(self, layer: type[hg.HypergraphConv] | type[hg.HypergraphAttention], n_features: int) -> None:
        """Create both layers."""
        super().__init__()
        self.first = layer(n_features, 8, heads=8)
        self.second = layer(64, 10)

    def forward(self, x: Tensor, H: hg.Hypergraph) -> Tensor:
        """Return the score of each class for each vertex."""
        x = elu(self.first(dropout(x, 0.2, self.training), H))
        return self.second(dropout(x, 0.2, self.training), H)


def train(model: nn.Module, x: Tensor, H: hg.Hypergraph, y: Tensor, labelled: Tensor, epochs: int) -> float:
    """Train on the labelled digits and return the accuracy on all others, in percent."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=3e-4)
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        cross_entropy(model(x, H)[labelled], y[labelled]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = (model(x, H).argmax(1) == y)[~labelled]
    return 100 * float(correct.float().mean())


def main(epochs: int = 60) -> None:
    torch.set_num_threads(1)  # such small tensors are slower on several threads
    images, classes = load_digits(return_X_y=True)
    nearest = kneighbors_graph(images, n_neighbors=8, include_self=True)  # row i: digit i and its neighbours
    everyone = np.arange(len(images))
    structures = {
        "no structure": hg.Hypergraph.from_hyperedges(everyone[:, None], len(images)),
        "hypergraph": hg.Hypergraph.from_scipy(nearest.T.tocsr(), centroid=everyone),
    }
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(classes)
    rng = np.random.default_rng(0)
    chosen = np.concatenate([rng.choice(np.flatnonzero(classes == c), 20, replace=False) for c in range(10)])
    labelled = torch.zeros(len(y), dtype=torch.bool)
    labelled[chosen] = True
    print(f"{len(y)} digits, {len(chosen)} labelled; {structures['hypergraph']}")
    for name, layer, structure in [
        ("no structure", hg.HypergraphConv, "no structure"),
        ("hypergraph convolution", hg.HypergraphConv, "hypergraph"),
        ("hypergraph attention", hg.HypergraphAttention, "hypergraph"),
    ]:
        torch.manual_seed(0)
        start = time.perf_counter()
        accuracy = train(Network(layer, x.shape[1]), x, structures[structure], y, labelled, epochs)
        print(f"{name:24} {accuracy:5.1f} % correct   {time.perf_counter() - start:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
