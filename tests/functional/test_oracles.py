"""Agreement with two independent libraries where they are right, and the places where they are not."""

import numpy as np
import pytest
import torch

from hypergnn import Hypergraph, functional

dhg = pytest.importorskip("dhg", reason="DHG is not installed")
pyg = pytest.importorskip("torch_geometric.nn", reason="PyG is not installed")


@pytest.fixture(params=range(4))
def case(request) -> tuple[Hypergraph, torch.Tensor]:
    rng = np.random.default_rng(request.param)
    vertex, hyperedge = np.nonzero(rng.random((12, 7)) < 0.3)
    H = Hypergraph.from_incidence(vertex, hyperedge, 12, 7, rng.uniform(0.2, 4.0, 7))
    return H, torch.from_numpy(rng.normal(size=(12, 5)))


def test_pyg_agrees_with_unit_weights_and_no_attention(case):
    H, x = case
    unit = Hypergraph.from_scipy(H.to_scipy())
    layer = pyg.HypergraphConv(5, 3).double()
    index = torch.stack([H.vertex, H.hyperedge]).long()
    out = functional.hypergraph_conv(x, unit, normalization="row", projection=layer.lin.weight.T)
    torch.testing.assert_close(out + layer.bias, layer(x, index, num_edges=H.n_hyperedges))


def test_pyg_leaves_the_weights_out_of_the_product():
    H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
    layer = pyg.HypergraphConv(4, 4, bias=False).double()
    with torch.no_grad():
        layer.lin.weight.copy_(torch.eye(4))
    x = torch.eye(4, dtype=torch.float64)
    theirs = layer(x, torch.stack([H.vertex, H.hyperedge]).long(), hyperedge_weight=H.weight)
    torch.testing.assert_close(theirs.sum(1), torch.tensor([1, 1 / 2, 1 / 2, 1 / 3], dtype=torch.float64))
    ours = functional.hypergraph_conv(x, H, normalization="row")
    torch.testing.assert_close(ours.sum(1), torch.ones(4, dtype=torch.float64))


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")  # DHG's products
@pytest.mark.parametrize(("layer_name", "normalization"), [("HGNNConv", "symmetric"), ("HGNNPConv", "row")])
def test_dhg_agrees_with_weights(case, layer_name, normalization):
    H, x = case
    theirs = dhg.Hypergraph(12, H.to_hyperedges(), e_weight=H.weight.tolist())
    layer = getattr(dhg.nn, layer_name)(5, 3, drop_rate=0.0, is_last=True)
    out = functional.hypergraph_conv(x.float(), H, normalization=normalization, projection=layer.theta.weight.T)
    torch.testing.assert_close(out + layer.theta.bias * bias_share(H, normalization), layer(x.float(), theirs))


def bias_share(H: Hypergraph, normalization: str) -> torch.Tensor:
    """DHG adds its bias before the propagation: row sums of the transition say how much of it arrives."""
    return functional.hypergraph_conv(torch.ones(H.n_vertices, 1), H, normalization=normalization)
