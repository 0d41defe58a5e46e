"""Hyperedges that point: senders and receivers differ, against dense matrices; where they do not, nothing changes."""

import numpy as np
import pytest
import torch
from scipy import sparse
from support import structures
from support.structures import random
from torch.autograd import gradcheck
from torch.testing import assert_close

import hypergnn as hg
from hypergnn import functional, reference
from hypergnn.layers import SpectralConv

pytestmark = pytest.mark.usefixtures("backend")
DIRECTIONS = pytest.mark.parametrize("direction", ["forward", "backward", "both"])
LAYERS = pytest.mark.parametrize("layer", [hg.HypergraphConv, hg.HypergraphAttention])


@pytest.fixture(params=structures.DIRECTED)
def D(request):
    return structures.directed(request.param)


def dense(D):
    return [torch.from_numpy(matrix.toarray()) for matrix in D.to_scipy()]


def matrix_of(pairs, values, D):
    """One head's values, ``(n_pairs,)``, as a matrix ``(N, M)``."""
    empty = values.new_zeros(D.n_vertices, D.n_hyperedges)
    return empty.index_put((pairs.rows().long(), pairs.members.long()), values)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tails_send_and_heads_receive(D, normalization, dtype):
    (S, R), x = dense(D), random(D.n_vertices, 4)
    expected = reference.reading(R, S, D.weight, normalization) @ x
    assert_close(functional.hypergraph_conv(x.to(dtype), D, normalization=normalization), expected.to(dtype))
    expected = reference.reading(S, R, D.weight, normalization) @ x
    assert_close(functional.hypergraph_conv(x.to(dtype), D.reversed(), normalization=normalization), expected.to(dtype))


@pytest.mark.slow
def test_gradients_of_features_and_weights(D, normalization):
    x, weight = random(D.n_vertices, 2).requires_grad_(), (D.weight + 0.5).requires_grad_()

    def run(x, weight):
        return functional.hypergraph_conv(x, D, normalization=normalization, weight=weight)

    assert gradcheck(run, (x, weight))


@pytest.mark.slow
def test_attention_takes_both_incidences_and_their_degrees(D, normalization, softmax_over):
    layer = hg.HypergraphAttention(3, 2, normalization=normalization, softmax_over=softmax_over, bias=False).double()
    (S, R), x = dense(D), random(D.n_vertices, 3)
    U = reference.hyperedge_features(x, S, structures.centroids(D))
    P, a = layer.projection.detach(), torch.cat([layer.a_vertex, layer.a_hyperedge], -1)[0].detach()
    attended = [reference.attention(x, U, one, P, P, a, softmax_over, 0.2) for one in (S, R)]
    expected = reference.reading(attended[1], attended[0], D.weight, normalization) @ x @ P
    out, incidence = layer(x, D, return_attention=True)
    assert_close(out, expected)
    assert_close(matrix_of(D.tails, incidence[:, 0], D), attended[0])


@pytest.mark.slow
def test_gradients_of_attention(D, normalization, softmax_over):
    x, vectors = random(D.n_vertices, 1, 2).requires_grad_(), random(2, 1, 2, seed=5).requires_grad_()
    options = {"softmax_over": softmax_over, "negative_slope": 0.2}

    def run(x, vectors):
        both = [
            functional.attention_incidence(x, None, D, *vectors, **options, of=of) for of in ("senders", "receivers")
        ]
        return functional.hypergraph_attention(
            x, D, both[0], normalization=normalization, receiver_incidence=None if D.shares_pairs else both[1]
        )

    assert gradcheck(run, (x, vectors))


@pytest.mark.slow
def test_hyperedges_that_point_nowhere_change_no_bit(H, normalization, softmax_over):
    D, x = structures.pointing_nowhere(H), random(H.n_vertices, 5)
    assert torch.equal(*(functional.hypergraph_conv(x, one, normalization=normalization) for one in (H, D)))
    for layer in (
        hg.HypergraphConv(5, 3, heads=2, normalization=normalization, learn_weight=True),
        hg.HypergraphAttention(5, 3, heads=2, normalization=normalization, softmax_over=softmax_over),
    ):
        layer = layer.double()
        gradients = []
        for one in (H, D):
            layer.zero_grad()
            layer(x, one).square().sum().backward()
            gradients.append([p.grad for p in layer.parameters()])
        assert torch.equal(layer(x, H), layer(x, D))
        assert all(map(torch.equal, *gradients))


FAMILIES = [
    lambda: hg.HypergraphConv(5, 3, heads=2, learn_weight=True),
    lambda: hg.HypergraphAttention(5, 3, heads=2),
    lambda: hg.layers.HypergraphSAGE(5, 3, heads=2, pool="max"),
    lambda: hg.layers.HypergraphSAGE(5, 3, heads=2, pool="attention"),
    lambda: hg.layers.HypergraphMoNet(5, 3, heads=2),
    lambda: hg.layers.HypergraphDiffusion(5, 3, heads=2),
]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_and_new_vertices_of_hyperedges_that_point_nowhere_change_no_bit(H, family):
    D, x, made = structures.pointing_nowhere(H), random(H.n_vertices, 5), np.arange(H.n_vertices)[::-2]
    layer = family().double()
    assert torch.equal(layer(x, H), layer(x, D))
    attention = isinstance(layer, hg.HypergraphAttention) or getattr(layer, "weight_score", None) is not None
    blocks = [one.around(made, attention=attention) for one in (H, D)]
    assert torch.equal(*(layer(x[block.read], block) for block in blocks))
    joined = [one.joined_by(H.to_scipy())[0] for one in (H, D)]
    assert torch.equal(*(layer(torch.cat([x, x]), block) for block in joined))


@pytest.mark.slow
@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("fanout", [None, [(2, 2), (1, 2)]])
def test_batches_of_hyperedges_that_point_nowhere_change_no_bit(fanout, attention):
    H = structures.hypergraph("more vertices than hyperedges")
    x, config = random(H.n_vertices, 5), hg.Config(model="hyper-attention" if attention else "hyper-conv", hidden=3)
    network = hg.Network(config, 5, 2).double().eval()
    options = {"fanout": fanout, "depth": None if fanout else 2, "batch_size": 2, "attention": attention}
    both = [hg.NeighborLoader(one, x, **options) for one in (H, structures.pointing_nowhere(H))]
    for batches in zip(*both, strict=True):
        assert torch.equal(*(network(batch.x, hypergraph=batch.blocks) for batch in batches))


def test_the_spectral_form_of_hyperedges_that_point_nowhere_changes_no_bit(H):
    x, D = random(H.n_vertices, 3), structures.pointing_nowhere(H)
    assert torch.equal(*(functional.spectral_conv(x, one, phase=0.2) for one in (H, D)))


def dense_conv(x, S, R, weight, layer):
    return reference.reading(R, S, weight, layer.normalization) @ x @ layer.projection


def dense_attention(x, S, R, weight, layer):
    U, P = reference.hyperedge_features(x, S, [-1] * S.shape[1]), layer.projection
    a = torch.cat([layer.a_vertex, layer.a_hyperedge], -1)[0]
    T, H = (reference.attention(x, U, one, P, P, a, layer.softmax_over, 0.2) for one in (S, R))
    return reference.reading(H, T, weight, layer.normalization) @ x @ P


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("kind", "dense"), [(hg.HypergraphConv, dense_conv), (hg.HypergraphAttention, dense_attention)]
)
def test_gradients_are_those_of_dense_matrices(kind, dense, normalization, dtype):
    D = structures.directed("overlapping parts")
    assert D.centroid is None
    layer, x = kind(3, 2, normalization=normalization, bias=False).to(dtype), random(D.n_vertices, 3).to(dtype)
    S, R = (torch.from_numpy(one.toarray()).to(dtype) for one in D.to_scipy())
    results = []
    for run in (lambda x: layer(x, D), lambda x: dense(x, S, R, D.weight.to(dtype), layer)):
        layer.zero_grad()
        own = x.clone().requires_grad_()
        out = run(own)
        out.square().sum().backward()
        results.append([out.detach(), own.grad, *(parameter.grad.clone() for parameter in layer.parameters())])
    for ours, expected in zip(*results, strict=True):
        assert_close(ours, expected)


@LAYERS
def test_backward_is_forward_on_the_reverse(D, layer):
    x = random(D.n_vertices, 4)
    one = layer(4, 3, heads=2, direction="backward").double()
    other = layer(4, 3, heads=2).double()
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(x, D), other(x, D.reversed()))


@pytest.mark.slow
@LAYERS
@pytest.mark.parametrize("aggregate", ["concat", "mean"])
def test_both_directions_have_projections_of_their_own(D, layer, aggregate):
    x, both = random(D.n_vertices, 4), layer(4, 3, heads=2, direction="both", aggregate=aggregate, skip=True).double()
    torch.nn.init.normal_(both.bias)
    halves = []
    for number, structure in enumerate((D, D.reversed())):
        one = layer(4, 3, heads=2, bias=False).double()
        for name, parameter in one.named_parameters():
            whole = getattr(both, name)
            parameter.data = whole.data.chunk(2, -1 if name == "projection" else 0)[number]
        halves.append(one(x, structure))
    out = torch.cat(halves, -1)
    if aggregate == "mean":
        out = out.reshape(D.n_vertices, 4, 3).mean(1)
    skipped = x @ both.skip_projection if both.skip_projection is not None else x
    assert_close(both(x, D), out + skipped + both.bias)


@pytest.mark.slow
@LAYERS
@DIRECTIONS
def test_blocks_give_the_rows_of_the_whole(D, layer, direction):
    one, x = layer(4, 3, heads=2, direction=direction, skip=True).double(), random(D.n_vertices, 4)
    made = [2, 0]
    block = D.around(made, attention=layer is hg.HypergraphAttention, direction=direction)
    read = (block[0] if direction == "both" else block).read
    assert_close(one(x[read], block), one(x, D)[made])


@LAYERS
def test_new_vertices_join_heads(D, layer):
    one, x = layer(4, 3, heads=2, skip=True).double(), random(D.n_vertices, 4)
    (block,) = D.joined_by(D.to_scipy()[1])
    assert_close(one(torch.cat([x, x]), block), one(x, D))


def memberships(D, direction):
    """Those of the vertices themselves, as if they came again."""
    tails, heads = D.to_scipy()
    both = D.undirected().to_scipy()
    return {"forward": heads, "backward": tails, "both": (tails, heads), "undirected": both}[direction]


@pytest.mark.slow
@LAYERS
@pytest.mark.parametrize("direction", ["backward", "both", "undirected"])
def test_new_vertices_join_what_a_layer_of_their_direction_reads(D, layer, direction):
    one, x = layer(4, 3, heads=2, skip=True, direction=direction).double(), random(D.n_vertices, 4)
    (block,) = D.joined_by(memberships(D, direction), direction=direction)
    assert_close(one(torch.cat([x, x]), block), one(x, D))


def test_new_vertices_join_a_network_of_both_directions():
    D = structures.directed("overlapping parts")
    network = hg.Network(hg.Config(model="hyper-attention", hidden=3, heads=2, direction="both"), 4, 3).double().eval()
    x, blocks = random(D.n_vertices, 4), D.joined_by(memberships(D, "both"), depth=2, direction="both")
    assert_close(network(torch.cat([x, x]), hypergraph=blocks), network(x, hypergraph=D))


@pytest.mark.parametrize("made_for", ["forward", "backward", "undirected"])
def test_blocks_of_hyperedges_that_point_serve_only_the_direction_they_were_made_for(made_for):
    D = structures.directed("overlapping parts")
    block, x = D.around([0, 1], direction=made_for), torch.rand(D.n_vertices, 4)
    for direction in ("forward", "backward", "undirected"):
        layer = hg.HypergraphConv(4, 2, direction=direction)
        if direction == made_for:
            torch.testing.assert_close(layer(x[block.read], block), layer(x, D)[block.made])
        else:
            with pytest.raises(ValueError, match=f"got one for '{made_for}'"):
                layer(x[block.read], block)


@LAYERS
def test_an_undirected_layer_takes_the_blocks_of_an_undirected_hypergraph(layer):
    H = structures.hypergraph("more vertices than hyperedges")
    one, x = layer(4, 3, direction="undirected").double(), random(H.n_vertices, 4)
    block = H.around([2, 0], attention=layer is hg.HypergraphAttention)
    assert_close(one(x[block.read], block), one(x, H)[[2, 0]])
    (joined,) = H.joined_by(H.to_scipy())
    assert_close(one(torch.cat([x, x]), joined), one(x, H))
    (batch,) = hg.NeighborLoader(H, x, depth=1, direction="undirected", attention=layer is hg.HypergraphAttention)
    assert_close(one(batch.x, batch.blocks[0]), one(x, H)[batch.vertices])


@pytest.mark.slow
@DIRECTIONS
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_networks_take_a_block_per_layer(direction, model):
    D = structures.directed("overlapping parts")
    network = hg.Network(hg.Config(model=model, hidden=3, heads=2, direction=direction), 4, 3).double().eval()
    x, attention = random(D.n_vertices, 4), model == "hyper-attention"
    last = D.around([1], attention=attention, direction=direction)
    read = (last[0] if direction == "both" else last).read
    first = D.around(read, attention=attention, direction=direction)
    x_read = x[(first[0] if direction == "both" else first).read]
    assert_close(network(x_read, hypergraph=[first, last]), network(x, hypergraph=D)[[1]])


@pytest.mark.slow
@pytest.mark.parametrize("phase", [0.0, 0.1, 0.25, 0.5])
def test_the_spectral_form_is_hermitian_with_eigenvalues_from_0_to_1(D, phase):
    T = functional.spectral_conv(torch.eye(D.n_vertices, dtype=torch.float64), D, phase=phase)
    assert_close(T, reference.spectral(*dense(D), D.weight, phase))
    assert_close(T, T.conj().T.resolve_conj())
    eigenvalues = torch.linalg.eigvalsh(T)
    assert eigenvalues.min() > -1e-12
    assert eigenvalues.max() < 1 + 1e-12
    z = torch.complex(random(D.n_vertices, 2), random(D.n_vertices, 2, seed=3))
    assert_close(functional.spectral_conv(z, D, phase=phase), T @ z)
    assert_close(functional.spectral_conv(z.to(torch.complex64), D, phase=phase), (T @ z).to(torch.complex64))


def test_without_a_phase_the_direction_is_forgotten(D):
    x = random(D.n_vertices, 3)
    expected = functional.hypergraph_conv(x, D.undirected())
    assert_close(functional.spectral_conv(x, D, phase=0.0), expected + 0j)
    assert_close(functional.spectral_conv(x, D.undirected(), phase=0.3), expected + 0j)


@pytest.mark.slow
def test_gradients_of_the_spectral_form(D):
    assert gradcheck(lambda x: functional.spectral_conv(x, D, phase=0.2), random(D.n_vertices, 2).requires_grad_())
    layer = SpectralConv(2, 3, heads=2, skip=True).double()
    assert layer(random(D.n_vertices, 2), D).shape == (D.n_vertices, layer.width)
    assert gradcheck(lambda x: layer(x, D), random(D.n_vertices, 2).requires_grad_())


def test_the_direction_alone_tells_sources_from_sinks():
    D = hg.DirectedHypergraph.from_hyperedges([([0, 1], [2, 3])], n_vertices=4)
    x = torch.ones(4, 1)
    assert functional.hypergraph_conv(x, D, normalization="row").flatten().tolist() == [0, 0, 1, 1]
    assert functional.hypergraph_conv(x, D.undirected(), normalization="row").flatten().tolist() == [1, 1, 1, 1]


FLAT = hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
POINTED = hg.DirectedHypergraph.from_hyperedges([([0, 1], [2])], n_vertices=3)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: hg.HypergraphConv(2, 2, direction="sideways"), "direction must be one of"),
        (lambda: hg.HypergraphConv(2, 2, direction="both")(torch.ones(3, 2), FLAT), "needs a DirectedHypergraph"),
        (
            lambda: hg.HypergraphConv(2, 2)(torch.ones(2, 2), POINTED.around([2], direction="backward")),
            "one for 'backward'",
        ),
        (
            lambda: hg.HypergraphConv(2, 2)(torch.ones(3, 2), POINTED.around([0, 1, 2], direction="both")),
            "a pair of blocks is for a layer with direction='both'",
        ),
        (lambda: hg.Config(model="gcn", direction="both"), "needs one of the models hyper-conv, hyper-attention"),
        (
            lambda: hg.HypergraphAttention(2, 2, direction="both")(torch.ones(3, 2), POINTED, return_attention=True),
            "return_attention needs one direction",
        ),
        (
            lambda: functional.hypergraph_attention(torch.ones(3, 1, 2), POINTED, torch.ones(2, 1)),
            "receiver_incidence must be given",
        ),
        (lambda: functional.spectral_conv(torch.ones(3, 2), POINTED, phase=1.5), "phase must be a number"),
        (
            lambda: hg.HypergraphConv(2, 2, direction="both")(torch.ones(3, 2), FLAT.around([0])),
            "direction='both' needs a DirectedHypergraph, .* got a Block whose hyperedges have no direction",
        ),
        (lambda: POINTED.joined_by(POINTED.to_scipy()[0], direction="up"), "direction must be one of"),
        (
            lambda: POINTED.joined_by((sparse.csr_array((1, 1)), sparse.csr_array((2, 1))), direction="both"),
            "memberships must have a row per new vertex in both matrices; got 1 and 2 rows",
        ),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, message):
    with pytest.raises(ValueError, match=message):
        run()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda: functional.spectral_conv(torch.ones(3, 2), FLAT.around([0])),
            "H must be a DirectedHypergraph or a Hypergraph; got Block",
        ),
        (
            lambda: POINTED.joined_by(POINTED.to_scipy()[0], direction="both"),
            "memberships must be a pair of SciPy sparse matrices for direction='both'",
        ),
    ],
)
def test_what_is_of_another_kind_is_one_clear_error(run, message):
    with pytest.raises(TypeError, match=message):
        run()


def test_memberships_of_new_vertices_must_fit():
    with pytest.raises(ValueError, match="must have 1 columns"):
        hg.DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=2).joined_by(sparse.csr_array((1, 2)))


def test_the_spectral_form_of_a_hypergraph_without_vertices_is_empty():
    H = hg.DirectedHypergraph.from_hyperedges([([], [])], n_vertices=0)
    assert hg.functional.spectral_conv(torch.zeros(0, 3), H).shape == (0, 3)


@pytest.mark.parametrize("settings", [{}, {"residual": "initial"}], ids=["layers", "residual"])
def test_pairs_of_blocks_must_follow_each_other(settings):
    D = structures.directed("overlapping parts")
    config = hg.Config(direction="both", hidden=2, heads=2, **settings)
    network = hg.Network(config, 4, 3, linear_output=not settings).double().eval()
    x, made = random(D.n_vertices, 4), [0]
    last = D.around(made, direction="both")
    first = D.around(last[0].read, direction="both")
    whole = network(x, hypergraph=D)[made]
    assert_close(network(x[first[0].read], hypergraph=[first, last]), whole)
    network.layers[0].register_forward_hook(lambda *_: None)
    assert_close(network(x[first[0].read], hypergraph=[first, last]), whole)
    other = D.around(last[0].read.flip(0), direction="both")
    with pytest.raises(ValueError, match="block 1 of hypergraph must read the vertices that block 0 makes"):
        network(x[other[0].read], hypergraph=[other, last])


def test_the_blocks_of_both_directions_must_be_of_the_same_vertices():
    D = structures.directed("overlapping parts")
    layer = hg.HypergraphConv(4, 2, direction="both").double()
    pairs = [D.around(made, direction="both") for made in ([0], [1], [0, 1])]
    with pytest.raises(ValueError, match="the blocks of both directions must read and make the same vertices"):
        layer(random(pairs[0][0].n_vertices, 4), (pairs[0][0], pairs[1][1]))
    with pytest.raises(ValueError, match="the blocks of both directions must read and make the same vertices"):
        layer(random(pairs[0][0].n_vertices, 4), (pairs[0][0], pairs[2][1]))


@pytest.mark.parametrize("direction", ["backward", "undirected", "both"])
@pytest.mark.parametrize(
    "settings",
    [{"residual": "initial"}, {"model": "hyper-grand", "steps": 2}, {"model": "gcn+hyper-conv"}],
    ids=["residual", "random propagation", "mean"],
)
def test_networks_refuse_blocks_of_another_direction(settings, direction):
    D = structures.directed("overlapping parts")
    network = hg.Network(hg.Config(hidden=2, heads=2, **settings), 4, 3).double().eval()
    graph = hg.Graph.from_links([0, 1], [1, 2], n_vertices=D.n_vertices)
    blocks = [D.around(range(D.n_vertices), direction=direction)] * 2
    with pytest.raises(ValueError, match="direction"):
        network(random(D.n_vertices, 4), graph=graph, hypergraph=blocks)
