"""Control variates: unbiased for linear propagation, less variance, exact as long as activations do not change."""

import numpy as np
import pytest
import torch
from scipy import sparse

import hypergnn as hg
from hypergnn.models import ControlVariates, control_variates

DRAWS = 200


@pytest.fixture
def H():
    draw = np.random.default_rng(4)
    edges = [draw.choice(30, size, replace=False).tolist() for size in (30, 28, 3, 3, 2, 4, 15)]
    return hg.Hypergraph.from_hyperedges(edges, 30, draw.lognormal(0, 1, 7))


@pytest.fixture
def x():
    return torch.rand(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def positive(**options):
    """A network in double precision with positive parameters: its ELU changes nothing, so that it is linear."""
    network = hg.Network(hg.Config(hidden=2, heads=2, dropout=0.0, **options), 5, 3).double()
    with torch.no_grad():
        for place, parameter in enumerate(network.parameters()):
            parameter.copy_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(place)) + 0.5)
    return network


def changed(network):
    """The same network some steps later."""
    with torch.no_grad():
        for place, parameter in enumerate(network.parameters()):
            parameter.mul_(1 + 0.2 * torch.rand(parameter.shape, generator=torch.Generator().manual_seed(place)))


def test_the_mean_stays_and_the_variance_falls(H, x):
    network = positive()
    loader = hg.NeighborLoader(H, x, fanout=[(1, 1), (1, 1)], shuffle=False, prefetch=0)
    variates = ControlVariates(network, loader)
    variates.refresh()
    changed(network)
    full = network(x, hypergraph=H).detach()
    with torch.no_grad():
        batches = [loader.batch(0, epoch) for epoch in range(DRAWS)]
        plain = torch.stack([network(batch.x, hypergraph=batch.blocks) for batch in batches])
        varied = torch.stack([variates(batch) for batch in batches])
    for draws in (plain, varied):
        error = draws.std(0) / DRAWS**0.5
        assert bool(((draws.mean(0) - full).abs() < 4 * error + 1e-9).all())
    assert float(varied.var(0).sum()) < 0.05 * float(plain.var(0).sum())


@pytest.mark.parametrize("options", [{}, {"skip": True}, {"depth": 3}, {"depth": 1}])
@pytest.mark.parametrize("in_parts", [False, True])
def test_what_does_not_change_is_exact(H, x, options, in_parts, monkeypatch):
    if in_parts:
        monkeypatch.setattr(control_variates, "AT_ONCE", 0)
    network = hg.Network(hg.Config(hidden=2, heads=2, dropout=0.0, **options), 5, 3).double()
    full = network(x, hypergraph=H).detach()
    fanout = [(1, 1)] * network.config.depth
    loader = hg.NeighborLoader(H, x.numpy(), fanout=fanout, batch_size=11)
    variates = ControlVariates(network, loader)
    torch.testing.assert_close(variates.refresh(), full)
    for batch in loader:
        torch.testing.assert_close(variates(batch), full[batch.vertices])


def test_gradients_are_those_of_the_sampled_difference(H, x):
    network = positive()
    loader = hg.NeighborLoader(H, x, fanout=[(9, 99), (9, 99)], shuffle=False)
    variates = ControlVariates(network, loader)
    variates.refresh()
    changed(network)
    found, expected = (
        torch.autograd.grad(scores.square().sum(), list(network.parameters()))
        for scores in (variates(loader.batch(0)), network(x, hypergraph=H))
    )
    torch.testing.assert_close(found, expected)


def test_dropout_and_sparse_features(H, x):
    kept = sparse.csr_array(np.where(x.numpy() > 0.5, x.numpy(), 0))
    network = hg.Network(hg.Config(hidden=2, heads=2, dropout=0.5), 5, 3, linear_output=True).double()
    whole = torch.from_numpy(kept.toarray())
    loader = hg.NeighborLoader(H, kept, fanout=[(9, 99), (9, 99)], shuffle=False)
    variates = ControlVariates(network, loader)
    torch.testing.assert_close(variates.refresh(), network.eval()(whole, hypergraph=H).detach())
    batch = loader.batch(0)
    torch.testing.assert_close(variates(batch), network(whole, hypergraph=H))
    network.train()
    torch.manual_seed(0)
    once = variates(batch)
    torch.manual_seed(0)
    torch.testing.assert_close(once, network(batch.x, hypergraph=batch.blocks))
    assert not torch.allclose(once, variates(batch))


def test_directed_hypergraphs(x):
    H = hg.DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2, 3, 5], [4, 0, 1])], n_vertices=30)
    network = hg.Network(hg.Config(direction="backward", dropout=0.0), 5, 3).double()
    loader = hg.NeighborLoader(H, x, fanout=[(1, 1), (1, 1)], direction="backward")
    variates = ControlVariates(network, loader)
    variates.refresh()
    batch = loader.batch(0)
    torch.testing.assert_close(variates(batch), network(x, hypergraph=H)[batch.vertices])


def test_bad_input(H, x):
    loader = hg.NeighborLoader(H, x.float(), fanout=[(1, 1), (1, 1)])
    with pytest.raises(ValueError, match="network must be made of HypergraphConv layers"):
        ControlVariates(hg.Network(hg.Config("hyper-attention"), 5, 3), loader)
    with pytest.raises(ValueError, match="a fan-out for each of the 3 layers of the network; got 2"):
        ControlVariates(hg.Network(hg.Config(depth=3), 5, 3), loader)
    with pytest.raises(RuntimeError, match="call refresh"):
        ControlVariates(hg.Network(hg.Config(), 5, 3), loader)(loader.batch(0))


BAD = {
    "control_variates needs batch_size and a fanout": {"batch_size": None, "fanout": None},
    "control_variates needs batch_size and a fanout that samples": {"fanout": (None, None)},
    "control_variates needs the model hyper-conv": {"model": "hyper-attention"},
    "control_variates must be True or False": {"control_variates": 1},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_settings(words):
    usual = {"control_variates": True, "batch_size": 5, "fanout": ((1, 1), (1, 1))}
    with pytest.raises((TypeError, ValueError), match=words):
        hg.Config(**{**usual, **BAD[words]})
