"""Weights that a configuration gives the hyperedges: the same wherever a network is called."""

import pytest
import torch
from support import structures
from support.points import grouped_points

import hypergnn as hg
from hypergnn.construct import weighted_by_inverse_frequency
from hypergnn.models import Config, ControlVariates, Ensemble, Network, infer

N = structures.N_SCATTERED
CONFIG = Config(weights="inverse-frequency", hidden=2, heads=2, feature_scaling="none")
H = structures.scattered("some")


@pytest.fixture
def x():
    return torch.rand(N, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def network():
    return Network(CONFIG, 6, 3).eval()


@pytest.fixture
def expected(network, x):
    """The scores of a network with the same parameters, of a hypergraph with these weights."""
    plain = Network(Config(hidden=2, heads=2), 6, 3).eval()
    plain.load_state_dict(network.state_dict())
    return plain(x, hypergraph=weighted_by_inverse_frequency(H)).detach()


def test_a_network_gives_the_weights_itself(network, expected, x):
    assert torch.equal(network(x, hypergraph=H).detach(), expected)
    assert network.weighted(H) is network.weighted(H)
    assert network.weighted(network.weighted(H)) is network.weighted(H)
    torch.testing.assert_close(infer(network, H, x, batch_size=7), expected)
    torch.testing.assert_close(Ensemble.of([network])(x, hypergraph=H).softmax(-1), expected.softmax(-1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # torch's own look
def test_a_compiled_network_makes_the_weights_beside_its_graph(network, expected, x):
    compiled = torch.compile(network, backend="eager")
    torch.testing.assert_close(compiled(x, hypergraph=H).detach(), expected)
    in_one_graph = torch.compile(network, fullgraph=True, backend="eager")
    torch.testing.assert_close(in_one_graph(x, hypergraph=network.weighted(H)).detach(), expected)


def test_blocks_must_have_the_weights(network, expected, x):
    blocks = [network.weighted(H).around(range(N)), network.weighted(H).around(range(N))]
    torch.testing.assert_close(network(x, hypergraph=blocks).detach(), expected)
    for other in ([H.around(range(N))] * 2, H.around(range(N))):
        with pytest.raises(ValueError, match=r"got a Block of a hypergraph with others. Make it of network.weighted"):
            network(x, hypergraph=other)
    with pytest.raises(TypeError, match=r"H must be a Hypergraph; got DirectedHypergraph"):
        Network(CONFIG, 3, 2)(torch.rand(4, 3), hypergraph=structures.directed("overlapping parts"))


def test_loaders_must_have_the_weights(network, x):
    loader = hg.NeighborLoader(network.weighted(H), x, batch_size=9, fanout=[(1, 1), (1, 1)])
    assert all(network(batch.x, hypergraph=batch.blocks).isfinite().all() for batch in loader)
    ControlVariates(network, loader)
    other = hg.NeighborLoader(H, x, batch_size=9, fanout=[(1, 1), (1, 1)])
    with pytest.raises(ValueError, match=r"Make it of network\.weighted"):
        network(other.batch(0).x, hypergraph=other.batch(0).blocks)
    with pytest.raises(ValueError, match=r"loader must be made of network\.weighted"):
        ControlVariates(network, other)


def test_predictions_and_explanations_are_those_of_the_network():
    data = grouped_points()
    network = Network(CONFIG, data.n_features, data.n_classes).eval()
    x = torch.from_numpy(data.x.toarray())
    with torch.no_grad():
        scores = network(x, hypergraph=data.hypergraph)
    torch.testing.assert_close(torch.from_numpy(hg.training.predict(network, data)), scores.softmax(-1))
    for given in ((data,), (data.hypergraph,)):
        own = {} if given[0] is data else {"x": x}
        explained = hg.explain(network, *given, 5, target=1, **own)
        assert explained.score == pytest.approx(float(scores[5, 1]), rel=1e-4, abs=1e-5)
