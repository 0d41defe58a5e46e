"""What the scores of some vertices depend on."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.utils import _pytree as pytree

import hypergnn as hg
from hypergnn.kernels import cross_entropy
from hypergnn.kernels.dropout import seeded
from hypergnn.models import KINDS, Config, Network
from hypergnn.structures.block import fields_of
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training import engine
from hypergnn.training.engine import Task

N, M = 50, 23
FEW = torch.tensor([48, 3, 17, 3, 49, 20])  # out of order, one of them twice, two of them isolated


def hypergraph(centred):
    rng = np.random.default_rng(1)
    hyperedges = [sorted(rng.choice(45, rng.integers(1, 4), replace=False).tolist()) for _ in range(M)]
    hyperedges[3] = hyperedges[7] = []
    centroid = rng.integers(0, N, M)
    if centred == "some":
        centroid = np.where(np.arange(M) % 2, centroid, -1)
    weight = rng.random(M) * 5 + 0.1
    return hg.Hypergraph.from_hyperedges(hyperedges, N, weight=weight, centroid=None if centred == "none" else centroid)


def task(H, *, dense=False):
    rng = np.random.default_rng(2)
    x = ((rng.random((N, 12)) < 0.3) * rng.random((N, 12))).astype(np.float32)
    graph = hg.Graph.from_links(rng.integers(0, 45, 20), rng.integers(0, 45, 20), N)
    features = torch.from_numpy(x) if dense else SparseFeatures.from_scipy(sparse.csr_array(x))
    y = torch.from_numpy(rng.integers(0, 3, N))
    return Task(features, {"graph": graph, "hypergraph": H}, y, FEW, FEW, FEW, n_features=12, n_classes=3)


def losses_and_gradients(network, x, structures, y, rows, **options):
    with seeded([7], epoch=3):
        scores = network(x if isinstance(x, SparseFeatures) else x[None], **structures, **options)
    network.zero_grad()
    losses = cross_entropy(scores, y, rows)
    losses.sum().backward()
    return [losses.detach(), *[one.grad.clone() for one in network.parameters()]]


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize(("dense", "dropout"), [(True, 0.0), (True, 0.5), (False, 0.5)])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("centred", ["all", "some", "none"])
def test_a_part_gives_the_losses_and_gradients_of_the_whole(
    centred, model, depth, dense, dropout, backend, monkeypatch
):
    monkeypatch.setattr("hypergnn.kernels.dispatch.wanted", backend)
    given = task(hypergraph(centred), dense=dense)
    config = Config(model, hidden=3, heads=2, depth=depth, skip=depth == 3, dropout=dropout, attention_dropout=dropout)
    torch.manual_seed(0)
    network = Network(config, 12, 3)
    parameters = {name: torch.nn.Parameter(one.detach()[None] + 0.1) for name, one in network.named_parameters()}
    engine._use(network, parameters)
    propagated = network.propagate(given.x, **given.structures) if dropout == 0 else None
    part = given.part(FEW, config, propagated)
    options = {"fields": part.fields, "propagated": part.propagated}
    found = losses_and_gradients(network, part.x, given.structures, part.y, part.rows, **options)
    expected = losses_and_gradients(network, given.x, given.structures, given.y, FEW)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("attended", [True, False])
def test_only_what_is_needed_is_read(attended):
    chain = [[k, k + 1] for k in range(0, 19)]
    H = hg.Hypergraph.from_hyperedges(chain, 20, centroid=[k for k, _ in chain])
    one_layer, two_layers = (
        fields_of({"hypergraph": H}, torch.tensor([10]), 20, depth=depth, attended=attended) for depth in (1, 2)
    )
    around = [8, 9, 10, 11] if attended else [9, 10, 11]  # hyperedge 8 competes for vertex 9
    assert one_layer[0].read.tolist() == around
    assert one_layer[0].wanted.tolist() == [around.index(10)]
    assert two_layers[1].read.tolist() == around
    assert two_layers[0].read.tolist() == ([6, 7, 8, 9, 10, 11, 12] if attended else [8, 9, 10, 11, 12])
    known = fields_of({"hypergraph": H}, torch.tensor([10]), 20, depth=2, attended=attended, known=True)
    assert known[0].read.tolist() == around
    assert known[0].wanted is None


def test_where_all_is_read_the_structure_is_not_copied():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
    (field,) = fields_of({"hypergraph": H}, torch.arange(3), 3, depth=1, attended=False)
    assert field.structures["hypergraph"] is H
    assert field.read is None
    assert field.wanted is None


def test_there_is_no_telling_where_hyperedges_have_the_features_of_their_members():
    assert fields_of({"hypergraph": hypergraph("some")}, FEW, N, depth=2, attended=True) is None
    shared = hg.structures.shared_graph.SharedGraph.from_hypergraph(hypergraph("all"))
    assert fields_of({"graph": shared}, FEW, N, depth=2, attended=False) is None


def test_a_part_keeps_its_places_wherever_it_goes():
    (field,) = fields_of({"hypergraph": hypergraph("all")}, torch.tensor([3, 17]), N, depth=1, attended=True)
    part = field.structures["hypergraph"]
    leaves, context = pytree.tree_flatten(part)
    for one in (part.to("cpu"), replace(part), pytree.tree_unflatten(leaves, context)):
        assert torch.equal(one.vertex_places, field.read)
        assert one.incidence_places.shape == (part.n_incidences,)


def test_a_part_of_a_convolution_has_no_centroids_that_it_does_not_read():
    (field,) = fields_of({"hypergraph": hypergraph("all")}, torch.tensor([3, 17]), N, depth=1, attended=False)
    assert field.structures["hypergraph"].centroid is None


def test_rows_of_rows_and_of_dropped_features():
    given = task(hypergraph("all")).x
    some = given.rows(torch.tensor([2, 5, 8, 11]))
    assert torch.equal(some.rows(torch.tensor([1, 3])).to_dense(), given.to_dense()[[5, 11]])
    with seeded([1], epoch=0):
        dropped = given.dropped(0.5)
    assert torch.equal(dropped.rows(torch.tensor([2, 5])).to_dense(), dropped.to_dense()[:, [2, 5]])
    with pytest.raises(ValueError, match="numbers must ascend"):
        given.rows(torch.tensor([3, 3]))
    learned = replace(some, values=some.values.clone().requires_grad_())
    with pytest.raises(ValueError, match="values must have an entry for each"):
        learned.project(torch.rand(12, 2))


def test_what_is_propagated_has_the_rows_of_the_features():
    given = task(hypergraph("all"), dense=True)
    network = Network(Config(), 12, 3).eval()
    with pytest.raises(ValueError, match="propagated must have the 50 rows of x; got 3"):
        network(given.x, **given.structures, propagated=torch.rand(3, 12))
