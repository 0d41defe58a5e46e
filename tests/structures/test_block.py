"""Blocks give exactly the rows that the whole gives."""

import numpy as np
import pytest
import torch
from support import structures
from torch.utils import _pytree as pytree

import hypergnn as hg
from hypergnn import functional
from hypergnn.structures.shared_graph import SharedGraph

N = structures.N_SCATTERED
FEW = [48, 3, 17, 49, 20]  # out of order, two of them isolated


@pytest.fixture(params=["all", "some", "none"])
def centred(request):
    return structures.scattered(request.param)


def both(layer, structure, block):
    """Rows of some vertices and gradients, from the whole and from a block."""
    torch.manual_seed(0)
    x = torch.rand(2, N, 6, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(2, block.n_receivers, layer.width, dtype=torch.float64)
    found = []
    for out in (layer(x, structure)[:, block.made], layer(x[:, block.read], block)):
        inputs = (x, *(one for one in layer.parameters() if one.requires_grad))
        found.append([out, *torch.autograd.grad((out * weights).sum(), inputs)])
    return found


@pytest.mark.parametrize("skip", [True, False])
def test_a_convolution_of_a_block_is_that_of_the_whole(centred, normalization, backend, skip):  # noqa: ARG001
    layer = hg.HypergraphConv(6, 3, heads=2, normalization=normalization, skip=skip).double()
    block = centred.around(FEW)
    assert block.made.tolist() == FEW
    torch.testing.assert_close(*both(layer, centred, block))


def test_learned_weights_of_a_block(centred, normalization):
    layer = hg.HypergraphConv(6, 3, learn_weight=True, normalization=normalization).double()
    torch.nn.init.normal_(layer.weight_score)
    torch.testing.assert_close(*both(layer, centred, centred.around(FEW, attention=True)))
    if normalization == "symmetric":
        with pytest.raises(ValueError, match="must hold all hyperedges of its senders, whose degrees"):
            both(layer, centred, centred.around(FEW))


def test_attention_over_a_block_is_that_over_the_whole(centred, normalization, softmax_over, backend):  # noqa: ARG001
    options = {"normalization": normalization, "softmax_over": softmax_over}
    layer = hg.HypergraphAttention(6, 3, heads=2, skip=True, **options).double()
    block = centred.around(FEW, attention=True)
    if (softmax_over, normalization) == ("vertices", "symmetric"):
        with pytest.raises(ValueError, match="a block needs softmax_over='hyperedges' or normalization='row'"):
            layer(torch.rand(block.n_vertices, 6, dtype=torch.float64), block)
    else:
        torch.testing.assert_close(*both(layer, centred, block))


def test_attention_wants_a_block_made_for_it(centred):
    block = centred.around(FEW)
    with pytest.raises(ValueError, match=r"make the block with around\(vertices, attention=True\)"):
        hg.HypergraphAttention(6, 3)(torch.rand(block.n_vertices, 6), block)


@pytest.mark.parametrize("layer", [hg.GraphConv, hg.GraphAttention])
def test_a_block_of_a_graph(layer, backend):  # noqa: ARG001
    rng = np.random.default_rng(2)
    graph = hg.Graph.from_links(rng.integers(0, 45, 60), rng.integers(0, 45, 60), N)
    torch.testing.assert_close(*both(layer(6, 3, heads=2, skip=True).double(), graph, graph.around(FEW)))


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention"])
def test_networks_take_a_block_per_layer(centred, model):
    attention = model == "hyper-attention"
    last = centred.around(FEW, attention=attention)
    first = centred.around(last.read, attention=attention)
    x, network = torch.rand(N, 6), hg.models.Network(hg.models.Config(model=model), 6, 3).eval()
    found = network(x[first.read], hypergraph=[first, last])
    torch.testing.assert_close(found, network(x, hypergraph=centred)[FEW])
    with pytest.raises(ValueError, match="hypergraph must have 2 blocks, one per layer; got 1"):
        network(x[last.read], hypergraph=[last])


@pytest.mark.parametrize("attention", [True, False])
def test_only_what_is_needed_is_read(attention):
    chain = [[k, k + 1] for k in range(0, 19)]
    H = hg.Hypergraph.from_hyperedges(chain, 20, centroid=[k for k, _ in chain])
    block = H.around([10], attention=attention)
    around = [8, 9, 10, 11] if attention else [9, 10, 11]  # hyperedge 8 competes for vertex 9
    assert block.read.tolist() == around
    assert block.rows.tolist() == [around.index(10)]
    assert block.n_hyperedges == (4 if attention else 2)


def test_a_block_of_everything_is_the_whole(H):
    block = H.around(range(H.n_vertices))
    if H.n_incidences and block.n_vertices == H.n_vertices:
        assert block.receivers is block.senders
        assert block.to("cpu").receivers is not None
    x = structures.random(H.n_vertices, 3)
    torch.testing.assert_close(functional.hypergraph_conv(x, block), functional.hypergraph_conv(x, H))


def test_a_block_of_everything_in_another_order(centred, normalization, backend):  # noqa: ARG001
    layer = hg.HypergraphConv(6, 3, heads=2, normalization=normalization, skip=True).double()
    block = centred.around(np.random.default_rng(3).permutation(N))
    torch.testing.assert_close(*both(layer, centred, block))


def test_degrees_are_those_of_the_whole():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4, weight=[1.0, 3.0, 5.0])
    block = H.around([0])
    assert functional.vertex_degree(block).tolist() == [1.0]
    assert block._sender_degree.tolist() == [1.0, 4.0]
    centred = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2], [2, 3]], n_vertices=4, centroid=[0, 1, 2])
    block = centred.around([0], attention=True)
    assert block.n_incidences == 3, "vertex 2, in the second hyperedge, is not read"
    assert functional.hyperedge_degree(block).tolist() == [2.0, 2.0]


def test_torch_sees_into_a_block(centred):
    block = centred.around(FEW, attention=True)
    leaves, context = pytree.tree_flatten(block)
    again = pytree.tree_unflatten(leaves, context)
    assert again.attention
    assert torch.equal(again.receivers.members, block.receivers.members)
    layer, x = hg.HypergraphAttention(6, 3), torch.rand(block.n_vertices, 6)
    torch.testing.assert_close(layer(x, again), layer(x, block))


def test_vertices_that_are_not_there_are_refused(centred):
    with pytest.raises(ValueError, match=r"vertices must hold ids from 0 to 49 \(n_vertices=50\); got 50"):
        centred.around([50])


def test_a_shared_graph_makes_some_vertices_and_reads_all(centred):
    graph = SharedGraph.from_hypergraph(centred)
    x = torch.rand(N, 4)
    part = graph.around(FEW)
    torch.testing.assert_close(functional.graph_conv(x, part), functional.graph_conv(x, graph)[FEW])


def test_a_part_of_a_shared_graph_is_not_cut_again(centred):
    part = SharedGraph.from_hypergraph(centred).around(FEW)
    for call in (lambda: part.around([3]), lambda: part.neighbours(3)):
        with pytest.raises(ValueError, match="knows the links of some vertices only"):
            call()


def test_symmetric_attention_wants_the_degrees_of_all_senders(centred):
    block = centred.around(FEW)
    incidence = torch.rand(block.n_incidences, 1)
    with pytest.raises(ValueError, match="whose degrees are sums over them"):
        functional.hypergraph_attention(torch.rand(block.n_vertices, 1, 2), block, incidence, normalization="symmetric")


def test_blocks_that_do_not_fit_each_other_are_refused(centred):
    graph = hg.Graph.from_links([3, 17], [4, 5], N)
    with pytest.raises(ValueError, match=r"must have the same vertices|must read and make the same vertices"):
        functional.mean_conv(torch.rand(2, 4), graph.around([3]), centred.around([3]))
    first, last = centred.around([3, 17]), centred.around([20])
    network = hg.models.Network(hg.models.Config(), 6, 3)
    with pytest.raises(ValueError, match="block 1 of hypergraph must read the vertices that block 0 makes"):
        network(torch.rand(first.n_vertices, 6), hypergraph=[first, last])


def test_a_mask_is_not_taken_for_ids(centred):
    with pytest.raises(TypeError, match=r"Use numpy\.flatnonzero\(mask\) for a mask"):
        centred.around(np.arange(N) < 3)
