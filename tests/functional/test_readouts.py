"""Sums, means and maxima over the members of a batch."""

import pytest
import torch
from support.structures import HYPERGRAPHS, hypergraph, random

import hypergnn as hg
from hypergnn.functional import readout

REDUCE = ["sum", "mean", "max"]


def members():
    empty = hg.Hypergraph.from_hyperedges([], n_vertices=0)
    return [empty, *[hypergraph(name) for name in HYPERGRAPHS], empty]


def expected(x, reduce):
    if x.shape[-2] == 0:
        return x.new_zeros(*x.shape[:-2], x.shape[-1])
    return {"sum": x.sum(-2), "mean": x.mean(-2), "max": x.amax(-2)}[reduce]


@pytest.mark.slow
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize("before", [(), (2,), (2, 3)])
def test_each_member_gets_one_row(reduce, before):
    parts = [random(*before, one.n_vertices, 4, seed=place) for place, one in enumerate(members())]
    assert any(part.shape[-2] == 0 for part in parts)
    out = readout(torch.cat(parts, -2), hg.batch(members()), reduce=reduce)
    torch.testing.assert_close(out, torch.stack([expected(part, reduce) for part in parts], -2))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("reduce", REDUCE)
def test_gradients_are_right(reduce):
    H = hg.batch(members()[:4])
    x = random(H.n_vertices, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: readout(x, H, reduce=reduce), (x,))


def test_a_layer_ends_a_network_that_classifies_hypergraphs():
    H = hg.batch([hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], 4), hg.Hypergraph.from_hyperedges([[0, 1]], 2)])
    conv, pool, x = hg.HypergraphConv(3, 2), hg.Readout("max"), torch.randn(6, 3)
    assert repr(pool) == "Readout(reduce='max')"
    torch.testing.assert_close(pool(conv(x, H), H), readout(conv(x, H), H, reduce="max"))
    pool(conv(x, H), H).sum().backward()
    assert conv.projection.grad.abs().sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("reduce", REDUCE)
def test_it_compiles_and_exports(reduce):
    H, pool = hg.batch(members()[:4]), hg.Readout(reduce)
    x = random(H.n_vertices, 3)
    torch.testing.assert_close(torch.compile(pool, fullgraph=True, backend="aot_eager")(x, H), pool(x, H))
    torch.testing.assert_close(torch.export.export(pool, (x, H)).module()(x, H), pool(x, H))


def test_sparse_features_may_be_read_out():
    H, x = hg.batch([hypergraph("isolated vertex")] * 2), random(10, 3).relu()
    torch.testing.assert_close(readout(x.to_sparse_csr(), H), readout(x, H))


def test_what_does_not_fit_is_refused():
    H = hg.batch([hypergraph("isolated vertex")])
    with pytest.raises(ValueError, match="reduce must be one of"):
        readout(torch.ones(5, 2), H, reduce="median")
    with pytest.raises(TypeError, match=r"H must be a HypergraphBatch; got Hypergraph. Make one with hypergnn.batch"):
        readout(torch.ones(5, 2), hypergraph("isolated vertex"))
    with pytest.raises(ValueError, match="x must have shape"):
        readout(torch.ones(4, 2), H)
    with pytest.raises(ValueError, match="reduce must be one of"):
        hg.Readout("median")
