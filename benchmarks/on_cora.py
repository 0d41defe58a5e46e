"""The paper's networks on Cora: training with an evaluation after each epoch, and the forward pass alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.nn.functional import cross_entropy

import hypergnn as hg
from benchmarks.measuring import Contestant, Say, Work, interleave, prepare
from benchmarks.peers import DHG, Network, Peer, PyG, TorchSparse
from benchmarks.settings import Settings
from hypergnn.datasets import Dataset
from hypergnn.models import Config
from hypergnn.models import Network as OurNetwork


def train_conv(settings: Settings, say: Say, *, trials: int) -> dict[str, Any]:
    """Hyper-Conv: ``trials`` of our trials together against one of each peer, per trial and epoch."""
    peers: list[Peer] = [PyG(), TorchSparse(), DHG()]
    return _train(settings, say, trials, "hyper-conv", peers)


def train_attention(settings: Settings, say: Say, *, trials: int) -> dict[str, Any]:
    """Hyper-Attention against PyG, the only peer that has it."""
    return _train(settings, say, trials, "hyper-attention", [PyG()])


def forward_conv(settings: Settings, say: Say) -> dict[str, Any]:
    """Scores of Hyper-Conv, without dropout and gradients."""
    data = _cora()
    network = OurNetwork(Config(), data.n_features, data.n_classes).eval()
    x = data.features("row")

    @torch.no_grad()
    def ours(times: int) -> None:
        for _ in range(times):
            network(x, hypergraph=data.hypergraph)

    peers: list[Peer] = [PyG(), TorchSparse(), DHG()]
    others = [Contestant(peer.name, peer_forward(peer, data)) for peer in peers]
    return _compare(Contestant("ours", ours), others, settings, say, unit="forward pass")


def our_training(data: Dataset, model: str, trials: int) -> Work:
    """Train with the public function; preparation and the final evaluation are included in the time."""

    def work(epochs: int) -> None:
        hg.training.fit(data, Config(model=model, max_epochs=epochs, patience=epochs + 1), trials=trials)

    return work


def peer_training(peer: Peer, data: Dataset, *, attention: bool) -> Work:
    """Train one network in the loop that a user of the peer would write."""
    x, structure = peer.features(data), peer.structure(data.hypergraph.undirected())
    y, train, val = (torch.from_numpy(part).long() for part in (data.y, data.train, data.val))
    config = Config()

    def work(epochs: int) -> None:
        network = Network(peer, data.n_features, data.n_classes, attention=attention)
        optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
        best = float("inf")
        for _ in range(epochs):
            network.train()
            optimizer.zero_grad()
            cross_entropy(network(x, structure)[train], y[train]).backward()
            optimizer.step()
            network.eval()
            with torch.no_grad():
                best = min(best, cross_entropy(network(x, structure)[val], y[val]).item())

    return work


def peer_forward(peer: Peer, data: Dataset) -> Work:
    """Compute scores with a peer's network."""
    x, structure = peer.features(data), peer.structure(data.hypergraph.undirected())
    network = Network(peer, data.n_features, data.n_classes).eval()

    @torch.no_grad()
    def work(times: int) -> None:
        for _ in range(times):
            network(x, structure)

    return work


def _train(settings: Settings, say: Say, trials: int, model: str, peers: list[Peer]) -> dict[str, Any]:
    data, least = _cora(), settings.least_epochs
    attention = model == "hyper-attention"
    # Five times as many epochs, since preparation and evaluation count: a trial of the paper has hundreds of epochs.
    ours = Contestant("ours", our_training(data, model, trials), trials, 5 * least, threads=settings.threads)
    others = [
        Contestant(peer.name, peer_training(peer, data, attention=attention), least=least, threads=None)
        for peer in peers
    ]
    return {"trials": trials, **_compare(ours, others, settings, say, unit="epoch of a trial")}


def _compare(ours: Contestant, others: list[Contestant], settings: Settings, say: Say, *, unit: str) -> dict[str, Any]:
    say("warming up")
    ready, *peers = (prepare(one, seconds=settings.seconds, all_threads=settings.threads) for one in (ours, *others))
    return {"unit": unit, **interleave(ready, peers, repetitions=settings.repetitions, say=say)}


@cache
def _cora() -> Dataset:
    return hg.datasets.load("cora", quiet=True)
