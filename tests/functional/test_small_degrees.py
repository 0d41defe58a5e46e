"""Attention that is very small: what a vertex receives depends on ratios, and is exact however small the degree is."""

import itertools

import pytest
import torch

from hypergnn import Hypergraph, HypergraphAttention, functional

GAPS = [0, 10, 39, 40, 41, 42, 43, 44, 60, 80, 87, 90, 100, 103, 104, 105, 120, 150, 200]


def layer_with(gap, dtype, weight=None, **options):
    """A layer and features for which vertex 0 scores lower than all others by ``gap``."""
    H = Hypergraph.from_hyperedges([[0, 1], [0, 2, 3]], n_vertices=5, weight=weight)
    layer = HypergraphAttention(2, 1, softmax_over="vertices", bias=False, **options).to(dtype)
    with torch.no_grad():
        layer.projection.copy_(torch.tensor([[1.0], [1.0]]))
        layer.a_vertex.fill_(1.0)
        layer.a_hyperedge.zero_()
    x = torch.tensor([[0.5, 0.5], [gap / 2 + 1, gap / 2], [gap, 1.0], [gap / 4, gap / 4], [1, 1]], dtype=dtype)
    return layer, x.requires_grad_(), H


@pytest.mark.slow
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("weight", [None, [1.0, 3.0], [1e-15, 1e15]])
def test_the_layer_equals_the_one_in_double_precision(gap, weight):
    found, expected = [], []
    for dtype, kept in ((torch.float32, found), (torch.float64, expected)):
        layer, x, H = layer_with(gap, dtype, weight)
        out = layer(x, H)
        out.square().sum().backward()
        kept += [out.detach().double(), x.grad.double(), layer.a_vertex.grad.double()]
    assert all(one.isfinite().all() for one in found)
    scale = max(gap, 1)
    for mine, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=2e-4, atol=2e-5 * scale**2)
    assert found[0][0].abs() > 0.5
    assert found[0][4] == 0


@pytest.mark.parametrize("gap", [0, 3, 43, 200])
@pytest.mark.parametrize("weight", [None, [1.0, 3.0]])
def test_the_layer_in_double_precision_is_the_equation(gap, weight):
    layer, x, H = layer_with(gap, torch.float64, weight)
    out, incidence = layer(x, H, return_attention=True)
    matrix = torch.zeros(5, 2, dtype=torch.float64).index_put((H.vertex.long(), H.hyperedge.long()), incidence[:, 0])
    weighted = matrix * H.weight
    shares = weighted / weighted.sum(1, keepdim=True).clamp(min=1e-300)  # D^-1 H W
    torch.testing.assert_close(out, shares @ matrix.T @ x.sum(1, keepdim=True))


@pytest.mark.slow
def test_between_the_gaps_nothing_jumps():
    outs = []
    for gap in torch.linspace(35, 110, 300).tolist():
        layer, x, H = layer_with(0, torch.float32)
        with torch.no_grad():
            layer.projection.copy_(torch.tensor([[1.0], [0.0]]))
            x[:, 0] = torch.tensor([1.0, 2.0, 3.0, 2.5, 1.0])
            layer.a_vertex.fill_(gap)
            outs.append(float(layer(x, H)[0]))
    assert max(abs(a - b) for a, b in itertools.pairwise(outs)) < 0.02
    assert min(outs) > 1.9


def test_dropout_drops_the_same_entries_of_both_factors():
    layer, x, H = layer_with(1, torch.float64, dropout=0.5)
    torch.manual_seed(3)
    out, incidence = layer(x, H, return_attention=True)
    torch.manual_seed(3)
    propagated = torch.nn.functional.dropout(layer._project(x), 0.5)
    dropped = torch.nn.functional.dropout(incidence, 0.5)
    expected = functional.hypergraph_attention(propagated, H, incidence, dropped=dropped)
    torch.testing.assert_close(out, expected.flatten(-2))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("size", [1e-36, 1e-25, 1e-19, 1.0, 1e15])
@pytest.mark.parametrize("weight", [None, [1e-15, 1e15, 1.0]])
def test_a_factor_of_the_incidence_changes_nothing(size, weight):
    H = Hypergraph.from_hyperedges([[0, 1], [0, 2, 3], [3]], n_vertices=5, weight=weight)
    torch.manual_seed(0)
    x, incidence = torch.rand(5, 2, 3), torch.rand(6, 2) + 0.1
    expected = functional.hypergraph_attention(x.double(), H, incidence.double())
    small = (size * incidence).requires_grad_()
    out = functional.hypergraph_attention(x, H, small)
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-5)
    (slope,) = torch.autograd.grad(out.square().sum(), small)
    assert (slope * size).isfinite().all()
