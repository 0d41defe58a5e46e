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


def complex_transition(D, phase):
    S, R = dense(D)
    H = torch.where(R > 0, 1.0 + 0j, S * np.exp(-2j * np.pi * phase))
    B, degree = (H.abs() > 0).sum(0).double(), ((H.abs() > 0).double() @ D.weight)
    inverse = torch.where(B > 0, 1 / B.clamp(min=1), 0.0)
    root = torch.where(degree > 0, degree.clamp(min=1e-9) ** -0.5, 0.0)
    return (root[:, None] * H * (D.weight * inverse)) @ (H.conj().T * root)


@pytest.mark.slow
@pytest.mark.parametrize("phase", [0.0, 0.1, 0.25, 0.5])
def test_the_spectral_form_is_hermitian_with_eigenvalues_from_0_to_1(D, phase):
    T = functional.spectral_conv(torch.eye(D.n_vertices, dtype=torch.float64), D, phase=phase)
    assert_close(T, complex_transition(D, phase))
    assert_close(T, T.conj().T.resolve_conj())
    eigenvalues = torch.linalg.eigvalsh(T)
    assert eigenvalues.min() > -1e-12
    assert eigenvalues.max() < 1 + 1e-12
    z = torch.complex(random(D.n_vertices, 2), random(D.n_vertices, 2, seed=3))
    assert_close(functional.spectral_conv(z, D, phase=phase), T @ z)


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
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, message):
    with pytest.raises(ValueError, match=message):
        run()


def test_memberships_of_new_vertices_must_fit():
    with pytest.raises(ValueError, match="must have 1 columns"):
        hg.DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=2).joined_by(sparse.csr_array((1, 2)))
