"""``torch.func`` and forward-mode derivatives transform every layer, on both backends."""

import pytest
import torch
from scipy.sparse import csr_array
from support.structures import directed, graph, hypergraph
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from hypergnn import GraphAttention, GraphConv, HypergraphAttention, HypergraphConv, SharedGraph, functional
from hypergnn.kernels.dropout import dropout, seeded
from hypergnn.layers import (
    DynamicHypergraphConv,
    HypergraphDiffusion,
    HypergraphMoNet,
    HypergraphSAGE,
    SpectralConv,
)
from hypergnn.structures import SparseFeatures

pytestmark = pytest.mark.usefixtures("backend")

H = hypergraph("isolated vertex")
D = directed("overlapping parts")
LAYERS = {
    "convolution": (lambda: HypergraphConv(3, 2, heads=2), H),
    "row": (lambda: HypergraphConv(3, 2, normalization="row", aggregate="mean", skip=True), H),
    "learned weights": (lambda: HypergraphConv(3, 2, learn_weight=True), H),
    "attention": (lambda: HypergraphAttention(3, 2, heads=2), H),
    "over vertices": (lambda: HypergraphAttention(3, 2, softmax_over="vertices"), H),
    "symmetric attention": (lambda: HypergraphAttention(3, 2, normalization="symmetric"), H),
    "block": (lambda: HypergraphAttention(3, 2), H.around([1, 3], attention=True)),
    "graph": (lambda: GraphConv(3, 2), graph("triangle and pair")),
    "graph attention": (lambda: GraphAttention(3, 2, heads=2), graph("triangle and pair")),
    "shared graph": (lambda: GraphConv(3, 2), SharedGraph.from_hypergraph(H)),
    "both directions": (lambda: HypergraphAttention(3, 2, direction="both"), D),
    "spectral": (lambda: SpectralConv(3, 2), D),
    "mean of hyperedges": (lambda: HypergraphSAGE(3, 2), D),
    "maximum of hyperedges": (lambda: HypergraphSAGE(3, 2, pool="max"), H),
    "attention to hyperedges": (lambda: HypergraphSAGE(3, 2, pool="attention"), H),
    "kernels": (lambda: HypergraphMoNet(3, 2), D),
    "diffusion": (lambda: HypergraphDiffusion(3, 2), H),
}


@pytest.fixture(params=list(LAYERS))
def layer(request):
    """A function of features, the features, and a direction."""
    make, structure = LAYERS[request.param]
    torch.manual_seed(0)
    own, n = make().double(), structure.n_vertices
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.normal_()
    return lambda x: own(x, structure).tanh(), torch.randn(n, 3).double(), torch.randn(n, 3).double()


def numerical(function, x, direction, step=1e-6):
    with torch.no_grad():
        return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


@pytest.mark.slow
def test_forward_derivatives_are_those_of_a_small_step(layer):
    function, x, direction = layer
    expected = numerical(function, x, direction)
    assert expected.abs().max() > 1e-3
    out, tangent = jvp(function, (x,), (direction,))
    torch.testing.assert_close(out, function(x))
    torch.testing.assert_close(tangent, expected, atol=1e-7, rtol=1e-5)
    for mode in (torch.enable_grad(), torch.no_grad()):
        with forward_ad.dual_level(), mode:
            found = forward_ad.unpack_dual(function(forward_ad.make_dual(x, direction))).tangent
        torch.testing.assert_close(found, tangent)


@pytest.mark.slow
def test_gradients_of_torch_func_are_those_of_autograd(layer):
    function, x, _direction = layer
    own = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(function(own).square().sum(), own)
    torch.testing.assert_close(grad(lambda x: function(x).square().sum())(x), expected)
    out, pull = vjp(function, x)
    torch.testing.assert_close(pull(2 * out)[0], expected)


@pytest.mark.slow
def test_jacobians_agree(layer):
    function, x, direction = layer
    backward = jacrev(function)(x)
    torch.testing.assert_close(jacfwd(function)(x), backward)
    along = torch.tensordot(backward, direction, 2)
    torch.testing.assert_close(along, numerical(function, x, direction), atol=1e-7, rtol=1e-5)
    torch.testing.assert_close(torch.autograd.functional.jacobian(function, x), backward)
    with pytest.raises(NotImplementedError, match=r"use torch\.func\.jacrev"):
        torch.autograd.functional.jacobian(function, x, vectorize=True)


@pytest.mark.slow
def test_second_derivatives_agree(layer):
    function, x, direction = layer

    def along(t):
        return function(x + t * direction).square().sum()

    found = hessian(along)(torch.zeros((), dtype=torch.float64))
    t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(along(t), t, create_graph=True)
    torch.testing.assert_close(found, torch.autograd.grad(slope, t)[0])


@pytest.mark.slow
def test_features_can_be_mapped(layer):
    function, x, direction = layer
    many = torch.stack([x, direction, x - direction])
    torch.testing.assert_close(vmap(function)(many), torch.stack([function(one) for one in many]))
    each = vmap(grad(lambda x: function(x).square().sum()))(many)
    torch.testing.assert_close(each[1], grad(lambda x: function(x).square().sum())(direction))


def test_hyperedges_that_follow_are_chosen_by_values():
    layer, x = DynamicHypergraphConv(3, 2, neighbours=1, clusters=2).double(), torch.randn(5, 3).double()
    direction, followed = torch.randn(5, 3).double(), layer.follow(x, H)
    expected = jacrev(lambda x: layer(x, followed))(x)
    for transform in (jacrev, jacfwd):
        torch.testing.assert_close(transform(lambda x: layer(x, H))(x), expected)
    tangent = jvp(lambda x: layer(x, H), (x,), (direction,))[1]
    torch.testing.assert_close(tangent, torch.tensordot(expected, direction, 2))
    with pytest.raises(ValueError, match=r"x must not be mapped by torch\.func\.vmap"):
        vmap(lambda x: layer(x, H))(torch.stack([x, direction]))


def test_parameters_can_be_mapped():
    layer, x = HypergraphConv(3, 2).double(), torch.randn(5, 3).double()
    stacked = {name: torch.stack([one, 2 * one]) for name, one in layer.named_parameters()}
    found = vmap(lambda parameters: functional_call(layer, parameters, (x, H)))(stacked)
    torch.testing.assert_close(found[0], layer(x, H))
    sparse = SparseFeatures.from_scipy(csr_array(x.numpy()), torch.float64)
    found = grad(lambda projection: functional.project(sparse, projection).square().sum())(layer.projection)
    torch.testing.assert_close(found, 2 * x.T @ x @ layer.projection)


def test_seeded_dropout_cannot_be_transformed():
    x = torch.rand(1, 5, 3)
    with seeded([1], epoch=0), pytest.raises(RuntimeError, match=r"cannot be transformed.*call eval\(\) first"):
        jvp(lambda x: dropout(x, 0.5), (x,), (x,))


@pytest.mark.slow
def test_what_was_cached_before_a_transformation_is_not_replaced_by_it():
    own = hypergraph("isolated vertex")
    layer, x = HypergraphAttention(3, 2, normalization="symmetric"), torch.rand(5, 3)
    grad(lambda x: layer(x, own).sum())(x)
    before = layer(x, own)
    jvp(lambda x: layer(x, own), (x,), (x,))
    torch.testing.assert_close(layer(x, own), before)
