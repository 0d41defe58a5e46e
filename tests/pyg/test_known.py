"""What is used again is never out of date, and nothing outlives the tensor that it was made of."""

import gc
import weakref

import pytest
import torch
from support.structures import random

from hypergnn.pyg import Dropout, HypergraphConv, dropout, known
from hypergnn.structures import Hypergraph, SparseFeatures


def index():
    return torch.tensor([[0, 1, 2, 1, 2, 3], [0, 0, 0, 1, 1, 1]])


def words(share=0.02):
    x = torch.rand(400, 300, generator=torch.Generator().manual_seed(0))
    return x.where(x < share, 0.0)


@pytest.fixture
def made(monkeypatch):
    """The hypergraphs that are made."""
    calls, make = [], Hypergraph.from_incidence
    monkeypatch.setattr(Hypergraph, "from_incidence", lambda *given: calls.append(1) or make(*given))
    return calls


def test_a_structure_is_made_once_for_all_layers(made):
    ids, x = index(), torch.randn(4, 3)
    for layer in (HypergraphConv(3, 2), HypergraphConv(3, 5, use_attention=True)):
        for _ in range(3):
            layer(x, ids)
    assert len(made) == 1
    layer(torch.randn(5, 3), ids)  # another vertex
    assert len(made) == 2


def test_a_structure_with_the_same_weights_is_made_once():
    structure = known.structure_of(ids := index(), 4, may_repeat=False)
    first = known.with_weight(structure, torch.tensor([1.0, 3.0]))
    assert known.with_weight(structure, torch.tensor([1.0, 3.0])) is first
    assert known.with_weight(structure, torch.tensor([1.0, 2.0])) is not first
    assert first.weight.tolist() == [1.0, 3.0]
    assert first.vertex_degree().tolist() == [1.0, 4.0, 4.0, 3.0]
    assert ids is not None


CHANGES = {
    "torch": lambda ids: ids[1].fill_(0),
    "data": lambda ids: ids.data[1].fill_(0),
    "NumPy": lambda ids: ids.numpy()[1].fill(0),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_structure_follows_changes_in_place(how):
    ids, x, layer = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]]), torch.randn(4, 3), HypergraphConv(3, 2)
    before = layer(x, ids)
    CHANGES[how](ids)
    torch.testing.assert_close(layer(x, ids), layer(x, ids.clone()))
    assert not torch.equal(layer(x, ids), before)


def test_weights_follow_changes_in_place():
    ids, x, layer, weight = index(), torch.randn(4, 3), HypergraphConv(3, 2), torch.tensor([1.0, 3.0])
    before = layer(x, ids, weight)
    weight[1] = 0.5
    torch.testing.assert_close(layer(x, ids, weight), layer(x, ids, weight.clone()))
    assert not torch.equal(layer(x, ids, weight), before)


@pytest.mark.slow
def test_a_structure_dies_with_its_index():
    ids = index()
    found = weakref.ref(known.structure_of(ids, 4, may_repeat=False).H)
    gc.collect()
    assert found() is not None
    del ids
    gc.collect()
    assert found() is None


@pytest.mark.slow
def test_sparse_features_die_with_the_dense_ones():
    x = words()
    found = weakref.ref(known.sparse_if_few(x))
    assert isinstance(found(), SparseFeatures)
    del x
    gc.collect()
    assert found() is None


@pytest.mark.slow
def test_what_a_loop_makes_again_and_again_does_not_pile_up():
    layer = HypergraphConv(300, 2)
    sizes = []
    for _ in range(5):
        ids, x = torch.tensor([[0, 1], [0, 0]]), words()
        layer(x, ids).sum().backward()
        del ids, x
        gc.collect()
        sizes.append((len(known._indices), len(known._features)))
    assert len(set(sizes)) == 1


def test_words_are_multiplied_sparsely():
    x = words()
    found = known.sparse_if_few(x)
    assert isinstance(found, SparseFeatures)
    assert known.sparse_if_few(x) is found
    torch.testing.assert_close(found.values.sum(), x.sum())


@pytest.mark.parametrize("options", [{}, {"use_attention": True, "heads": 2}], ids=["convolution", "attention"])
def test_sparse_and_dense_products_agree_with_gradients(options):
    x, layer = words().double(), HypergraphConv(300, 4, **options).double()
    ids = torch.stack([torch.arange(400).repeat(2), torch.randint(0, 50, (800,))])
    ids = ids.unique(dim=1)
    found = []
    for given in (x, x.clone().requires_grad_()):
        out = layer(given, ids)
        found.append((out.detach(), *torch.autograd.grad(out.sin().sum(), list(layer.parameters()))))
    assert isinstance(known.sparse_if_few(x), SparseFeatures)
    for sparse, dense in zip(*found, strict=True):
        torch.testing.assert_close(sparse, dense)


def test_features_follow_changes_in_place():
    x, layer, ids = words(), HypergraphConv(300, 2), index()
    ids = torch.stack([torch.arange(400), torch.arange(400) % 7])
    for _ in range(2):
        before = layer(x, ids)
    x[:, 5] = 3.0
    torch.testing.assert_close(layer(x, ids), layer(x.clone(), ids))
    assert not torch.equal(layer(x, ids), before)
    x.data = words(0.05)
    torch.testing.assert_close(layer(x, ids), layer(x.clone(), ids))


@pytest.mark.parametrize(
    "x",
    [
        words().requires_grad_(),
        torch.ones(400, 300),
        words()[:10],
        words().to(torch.bfloat16),
        words(0.2),
        torch.nn.Parameter(words(), requires_grad=False),
    ],
    ids=["gradient", "no zeros", "small", "bfloat16", "too many", "parameter"],
)
def test_other_features_stay_dense(x):
    for _ in range(3):
        assert known.sparse_if_few(x) is x


def test_inference_mode_is_no_trap():
    x, layer, ids = words(), HypergraphConv(300, 2), torch.stack([torch.arange(400), torch.arange(400) % 7])
    with torch.inference_mode():
        expected = [layer(x, ids) for _ in range(3)][-1]
        inside = words()
        torch.testing.assert_close(layer(inside, ids), expected)
    out = layer(x, ids)
    out.sum().backward()
    torch.testing.assert_close(out.detach(), expected.clone())


def test_dropout_of_words_is_sparse_and_that_of_other_features_dense():
    x = words()
    dropped = dropout(x, 0.5)
    assert isinstance(dropped, SparseFeatures)
    kept = dropped.values != 0
    torch.testing.assert_close(dropped.values[kept], 2 * known.sparse_if_few(x).values[kept])
    assert 0.4 < float(kept.float().mean()) < 0.6
    assert not torch.equal(dropout(x, 0.5).values, dropped.values)
    assert isinstance(Dropout(0.5)(x), SparseFeatures)
    assert Dropout(0.5).eval()(x) is x
    dense = random(400, 300).requires_grad_()
    assert dropout(dense, 0.5).requires_grad
    assert dropout(dense, 0.5, training=False) is dense
    layer = HypergraphConv(300, 2)
    layer(dropped, torch.stack([torch.arange(400), torch.arange(400) % 7])).sum().backward()
    assert layer.lin.weight.grad.abs().sum() > 0
