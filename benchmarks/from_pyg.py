"""A two-layer model for Cora written for PyG, and the same model after its imports were changed: epochs of training.

    python -m benchmarks.from_pyg

The features are dense bags of words, as PyG's loaders give them, with dropout before both layers. Processor time of
one core, so that other programs disturb little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, elu
from torch.nn.functional import dropout as torch_dropout

import hypergnn as hg
from benchmarks.measuring import Contestant, Say, Work, interleave, prepare, ratios
from hypergnn.datasets import Dataset

Drop = Callable[..., Any]
MODELS: dict[str, dict[str, Any]] = {
    "convolution": {},
    "attention": {"use_attention": True, "attention_mode": "edge", "heads": 8},
}


class Model(nn.Module):
    """The paper's sizes: 64 hidden features, in 8 heads with attention."""

    def __init__(self, layer: type[nn.Module], drop: Drop, n_features: int, n_classes: int, **options: Any) -> None:
        """Create the layers."""
        super().__init__()
        heads = options.get("heads", 1)
        self.first = layer(n_features, 64 // heads, **options)
        self.second = layer(64, n_classes, **(options | {"heads": 1}))
        self.drop = drop

    def forward(self, x: Tensor, hyperedge_index: Tensor) -> Tensor:
        """Scores of the classes. The features of a hyperedge are those of the article that it is around."""
        for layer in (self.first, self.second):
            x = self.drop(x, p=0.6, training=self.training)
            attr = x if layer.use_attention else None
            x = elu(layer(x, hyperedge_index, hyperedge_attr=attr))
        return x


def training(data: Dataset, layer: type[nn.Module], drop: Drop, name: str) -> Work:
    """Epochs of training."""
    torch.manual_seed(0)
    model = Model(layer, drop, data.n_features, data.n_classes, **MODELS[name])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=3e-4)
    x, y, train = data.features("row").to_dense(), torch.from_numpy(data.y).long(), torch.from_numpy(data.train)
    index = torch.stack([data.hypergraph.undirected().vertex.long(), data.hypergraph.undirected().hyperedge.long()])

    def work(times: int) -> None:
        for _ in range(times):
            optimizer.zero_grad()
            cross_entropy(model(x, index)[train], y[train]).backward()
            optimizer.step()

    return work


def measure(name: str, say: Say, *, repetitions: int = 10, seconds: float = 0.5) -> dict[str, Any]:
    """Seconds per epoch with PyG's layer, with ours, and with our dropout as well, in turns."""
    from torch_geometric.nn import HypergraphConv as PyGHypergraphConv

    data = hg.datasets.load("cora")
    works: dict[str, tuple[type[nn.Module], Drop]] = {
        "both imports": (hg.pyg.HypergraphConv, hg.pyg.dropout),
        "PyG": (PyGHypergraphConv, torch_dropout),
        "import of the layer": (hg.pyg.HypergraphConv, torch_dropout),
    }
    contestants = [Contestant(title, training(data, *parts, name), threads=1) for title, parts in works.items()]
    ours, *others = [prepare(one, seconds=seconds, all_threads=1) for one in contestants]
    return interleave(ours, others, repetitions=repetitions, say=say, clock=time.process_time)


if __name__ == "__main__":
    for model in MODELS:
        measured = measure(model, lambda _: None)["peers"]
        milliseconds = {peer: 1000 * min(pair["theirs"]) for peer, pair in measured.items()}
        milliseconds["both imports"] = 1000 * min(time for pair in measured.values() for time in pair["ours"])
        times = ", ".join(f"{peer} {time:.1f} ms" for peer, time in milliseconds.items())
        print(f"{model}: {times}; {ratios(measured['PyG']).median:.1f} times as fast as PyG")
