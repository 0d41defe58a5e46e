"""Other families over hyperedges: GraphSAGE, MoNet, diffusion, against literal versions and their originals."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from support import structures
from support.structures import random
from torch.autograd import gradcheck
from torch.testing import assert_close

import hypergnn as hg
from hypergnn import kernels, reference
from hypergnn.layers import HypergraphDiffusion, HypergraphMoNet, HypergraphSAGE

pytestmark = pytest.mark.usefixtures("backend")
POOLS = pytest.mark.parametrize("pool", ["mean", "max", "attention"])


@pytest.fixture(params=[*structures.HYPERGRAPHS, *structures.DIRECTED])
def H(request):
    kind = structures.hypergraph if request.param in structures.HYPERGRAPHS else structures.directed
    return kind(request.param)


def sides(H):
    found = H.to_scipy()
    return [torch.from_numpy(one.toarray()) for one in (found if isinstance(found, tuple) else (found, found))]


@POOLS
def test_sage_is_its_equation(H, pool):
    layer, x = HypergraphSAGE(3, 2, pool=pool, bias=False).double(), random(H.n_vertices, 3)
    vectors = [one for one in (layer.a_vertex, layer.a_hyperedge) if one is not None]
    a = torch.cat(vectors, -1)[0] if vectors else None
    expected = reference.sage(x, *sides(H), H.weight, layer.projection, layer.own_projection, pool, a, 0.2)
    assert_close(layer(x, H), expected)


@POOLS
def test_gradients_of_sage(pool):
    H = structures.hypergraph("empty hyperedge")
    layer, x = HypergraphSAGE(2, 2, pool=pool, heads=2).double(), random(H.n_vertices, 2).requires_grad_()
    assert gradcheck(lambda x: layer(x, H), x)
    layer(x, H).square().sum().backward()
    assert all(parameter.grad.ne(0).any() for parameter in layer.parameters())


def with_biases(layer):
    for bias in (layer.message_bias, layer.update_bias):
        torch.nn.init.normal_(bias)
    return layer


def test_diffusion_is_its_equation(H):
    layer, x = with_biases(HypergraphDiffusion(3, 2, heads=2, bias=False).double()), random(H.n_vertices, 3)
    there_and_back = [layer.projection, layer.update_projection, layer.back_projection]
    biases = [layer.message_bias, layer.update_bias]
    expected = reference.diffusion(x, *sides(H), H.weight, there_and_back, biases, layer.own_projection)
    assert_close(layer(x, H), expected)


def test_gradients_of_diffusion():
    H = structures.hypergraph("empty hyperedge")
    layer, x = with_biases(HypergraphDiffusion(2, 2, heads=2).double()), random(H.n_vertices, 2).requires_grad_()
    assert gradcheck(lambda x: layer(x, H), x)
    layer(x, H).square().sum().backward()
    assert all(parameter.grad.ne(0).any() for parameter in layer.parameters())


def test_diffusion_tells_a_vertex_from_its_surroundings():
    H, x = structures.hypergraph("unit weights"), torch.eye(4)
    layer = HypergraphDiffusion(4, 3)
    both = hg.functional.hypergraph_conv(x, H, normalization="row")[1:3]
    assert_close(both[0], both[1])  # the same hyperedges: a convolution cannot tell these vertices apart
    assert not torch.allclose(layer(x, H)[1], layer(x, H)[2])


def dense_coordinates(H):
    S, R = sides(H)
    count, size = R.sum(1).clamp(min=1) ** -0.5, S.sum(0).clamp(min=1) ** -0.5
    return torch.stack([count[:, None].expand(R.shape), size.expand(R.shape)], -1)


def test_monet_is_its_equation(H):
    layer, x = HypergraphMoNet(3, 2, kernels=2, bias=False).double(), random(H.n_vertices, 3)
    torch.nn.init.uniform_(layer.spread, 0.5, 2)
    P = list(layer.projection.reshape(3, 2, 2).unbind(1))
    expected = reference.monet(x, *sides(H), H.weight, P, dense_coordinates(H), layer.mean, layer.spread)
    assert_close(layer(x, H), expected)


@pytest.mark.parametrize("direction", ["forward", "both"])
@pytest.mark.parametrize(
    "make",
    [
        *(
            lambda pool=pool, **options: HypergraphSAGE(4, 2, pool=pool, **options)
            for pool in ("mean", "max", "attention")
        ),
        lambda **options: HypergraphMoNet(4, 2, **options),
        lambda **options: HypergraphDiffusion(4, 2, **options),
        lambda **options: hg.layers.Operator(4, 2, **options),
    ],
)
def test_layers_work_under_autocast(make, direction):
    D = structures.directed("overlapping parts")
    layer, x = make(heads=2, skip=True, direction=direction), torch.rand(D.n_vertices, 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x, D)
        found.float().sum().backward()
    assert_close(found.float(), layer(x, D), rtol=0.1, atol=0.1)


def test_monet_does_not_depend_on_the_unit_of_the_weights(H):
    layer, x = HypergraphMoNet(3, 2).double(), random(H.n_vertices, 3)
    is_directed = isinstance(H, hg.DirectedHypergraph)
    degrees = ("_sender_degree", "_receiver_degree") if is_directed else ("_vertex_degree",)
    scaled = replace(H, weight=H.weight * 10, **{name: getattr(H, name) * 10 for name in degrees})
    assert_close(layer(x, scaled), layer(x, H))


def test_gradients_of_monet():
    H = structures.hypergraph("isolated vertex")
    layer, x = HypergraphMoNet(2, 2, heads=2).double(), random(H.n_vertices, 2).requires_grad_()
    u = random(H.n_incidences, 2, seed=4).requires_grad_()
    assert gradcheck(lambda x, u: layer(x, H, u), (x, u))
    layer(x, H).square().sum().backward()
    assert all(parameter.grad.ne(0).any() for parameter in layer.parameters())


def test_monet_of_a_graph_is_pygs():
    pyg = pytest.importorskip("torch_geometric.nn", reason="PyG is not installed")
    source, target, n = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 0, 3, 1]), 5
    arcs = sparse.csr_array((np.ones(5), (source, target)), (n, n))
    H = hg.construct.from_neighbourhoods(arcs, directed=True, centroid=False)
    theirs = pyg.GMMConv(3, 2, dim=2, kernel_size=3, bias=False).double()
    torch.nn.init.zeros_(theirs.root.weight)
    ours = HypergraphMoNet(3, 2, kernels=3, bias=False).double()
    ours.load_state_dict({"projection": theirs.g, "mean": theirs.mu, "spread": theirs.sigma})
    u, x = random(5, 2), random(n, 3)
    edges = {(s, t): k for k, (s, t) in enumerate(zip(source.tolist(), target.tolist(), strict=True))}
    order = [edges[e, i] for i, e in zip(H.heads.rows().tolist(), H.heads.members.tolist(), strict=True)]
    expected = theirs(x, torch.from_numpy(np.stack([source, target])), u)
    assert_close(ours(x, H, u[order]), expected)


def test_sage_of_a_graph_is_pygs():
    pyg = pytest.importorskip("torch_geometric.nn", reason="PyG is not installed")
    source, target, n = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 0, 3, 1]), 5
    H = hg.construct.from_neighbourhoods(
        sparse.csr_array((np.ones(5), (source, target)), (n, n)), directed=True, centroid=False
    )
    x, index = random(n, 3), torch.from_numpy(np.stack([source, target]))
    for pool in ("mean", "max"):
        theirs = pyg.SAGEConv(3, 3, aggr=pool, bias=False).double()
        if pool == "max":  # PyG pools before it projects
            theirs.lin_l.weight.data.copy_(torch.eye(3))
        ours = HypergraphSAGE(3, 3, pool=pool, bias=False).double()
        ours.load_state_dict({"projection": theirs.lin_l.weight.T, "own_projection": theirs.lin_r.weight.T})
        assert_close(ours(x, H), theirs(x, index))


def around(graph):
    """A hyperedge from each vertex to its neighbours and itself: the graph as a directed hypergraph."""
    return hg.construct.from_neighbourhoods(graph, directed=True)


def test_gcn_is_the_special_case_of_a_hyperedge_from_each_vertex(graph):
    D, x = around(graph), random(graph.n_vertices, 3)
    ours, theirs = (kind(3, 2, normalization="row").double() for kind in (hg.HypergraphConv, hg.GraphConv))
    ours.load_state_dict(theirs.state_dict())
    assert_close(ours(x, D), theirs(x, graph))
    root = hg.functional.vertex_degree(D).rsqrt().unsqueeze(-1)  # of neighbours and the vertex itself
    symmetric = hg.functional.propagate(x.unsqueeze(-2), D, left=root, right=root).squeeze(-2)
    assert_close(symmetric, hg.functional.graph_conv(x, graph, normalization="symmetric"))


@pytest.mark.parametrize("heads", [1, 3])
def test_gat_is_the_special_case_of_a_hyperedge_from_each_vertex(graph, heads):
    D, x = around(graph), random(graph.n_vertices, 3)
    theirs = hg.GraphAttention(3, 2, heads=heads).double()
    ours = HypergraphSAGE(3, 2, pool="attention", heads=heads).double()
    named = {"a_vertex": theirs.a_target, "a_hyperedge": theirs.a_source, "bias": theirs.bias}
    ours.load_state_dict(
        {**named, "projection": theirs.projection, "own_projection": torch.zeros_like(ours.own_projection)}
    )
    assert_close(ours(x, D), theirs(x, graph))


def test_monet_with_one_wide_kernel_is_the_mean_of_the_neighbours(graph):
    D, x = around(graph), random(graph.n_vertices, 3)
    monet = HypergraphMoNet(3, 2, kernels=1, bias=False).double()
    torch.nn.init.constant_(monet.spread, 1e9)
    gcn = hg.GraphConv(3, 2, normalization="row", bias=False).double()
    gcn.load_state_dict({"projection": monet.projection})
    assert_close(monet(x, D), gcn(x, graph))


@pytest.mark.parametrize(
    "layer",
    [
        *(lambda i, o, p=p, **k: HypergraphSAGE(i, o, pool=p, **k) for p in ("mean", "max", "attention")),
        HypergraphMoNet,
        HypergraphDiffusion,
    ],
)
def test_blocks_and_directions(layer):
    D, x = structures.directed("overlapping parts"), random(4, 3)
    one = layer(3, 2, heads=2, direction="both", skip=True).double()
    block = D.around([2, 0], direction="both")
    assert_close(one(x[block[0].read], block), one(x, D)[[2, 0]])
    H = structures.hypergraph("more vertices than hyperedges")
    one, x = layer(3, 2).double(), random(H.n_vertices, 3)
    block = H.around([3, 1])
    assert_close(one(x[block.read], block), one(x, H)[[3, 1]])


@pytest.mark.slow
def test_the_largest_entry_of_a_group(H):
    x = random(2, H.n_vertices, 3).requires_grad_()
    found = kernels.segment_max(x, by=H.senders.T)
    S = sides(H)[0]
    for e in range(H.n_hyperedges):
        members = S[:, e].nonzero()[:, 0]
        expected = x[:, members].amax(1) if len(members) else torch.zeros(2, 3, dtype=x.dtype)
        assert_close(found[:, e], expected)
    assert gradcheck(lambda x: kernels.segment_max(x, by=H.senders.T), x)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hyper-sage", "hyper-monet"])
def test_networks_of_these_layers_learn(model):
    from hypergnn.training import fit

    result = fit(hg.datasets.load("digits"), hg.Config(model=model, max_epochs=60, dropout=0.2), trials=1, jobs=1)
    assert result.records[0].test_accuracy > 80


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: HypergraphSAGE(2, 2, pool="sum"), "pool must be one of"),
        (lambda: HypergraphMoNet(2, 2, normalization="symmetric"), "normalization must be one of"),
        (
            lambda: HypergraphMoNet(2, 2)(torch.ones(4, 2), structures.hypergraph("unit weights"), torch.ones(2, 2)),
            "coordinates must have shape",
        ),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, message):
    with pytest.raises(ValueError, match=message):
        run()
