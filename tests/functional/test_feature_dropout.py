"""Dropout of dense and sparse features."""

import pytest
import torch
from scipy import sparse
from support.structures import random

from hypergnn import Hypergraph, HypergraphConv
from hypergnn.functional import dropout
from hypergnn.structures import SparseFeatures


def words(n_rows: int = 200, n_words: int = 50):
    return random(n_rows, n_words).where(random(n_rows, n_words, seed=1) > 1.2, 0.0)


KINDS = {
    "dense": lambda x: x,
    "sparse CSR": lambda x: x.to_sparse_csr(),
    "prepared": lambda x: SparseFeatures.from_scipy(sparse.csr_array(x.numpy()), torch.float64),
}


def as_dense(x):
    if isinstance(x, SparseFeatures):
        rows, columns = x.entries.rows().long(), x.entries.members.long()
        return torch.zeros(x.shape, dtype=x.dtype).index_put((rows, columns), x.values)
    return x.to_dense()


@pytest.mark.parametrize("kind", KINDS)
def test_some_entries_become_zero_and_the_others_grow(kind):
    x = words()
    torch.manual_seed(0)
    dropped = dropout(KINDS[kind](x), 0.4)
    assert type(dropped) is type(KINDS[kind](x))
    found, stored = as_dense(dropped), x != 0
    is_left = (found != 0) & stored
    torch.testing.assert_close(found[is_left], x[is_left] / 0.6)
    assert float(is_left.sum() / stored.sum()) == pytest.approx(0.6, abs=0.05)
    assert not found[~stored].any()


@pytest.mark.parametrize("kind", KINDS)
def test_each_call_draws_anew_and_none_draws_outside_training(kind):
    x = KINDS[kind](words())
    assert not torch.equal(as_dense(dropout(x, 0.4)), as_dense(dropout(x, 0.4)))
    assert dropout(x, 0.4, training=False) is x
    assert dropout(x, 0.0) is x


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_takes_what_is_left(kind):
    H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
    layer = HypergraphConv(50, 2).double()
    dropped = dropout(KINDS[kind](words(3)), 0.5)
    torch.testing.assert_close(layer(dropped, H), layer(as_dense(dropped), H))


def test_gradients_flow_through_dense_features():
    x = torch.ones(20, 5, requires_grad=True)
    dropped = dropout(x, 0.5)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())


@pytest.mark.parametrize(
    ("x", "p", "error", "message"),
    [
        (torch.ones(2, 2), 1.0, ValueError, "p must be a number from 0 up to, but not including, 1"),
        (torch.ones(2, 2), -0.1, ValueError, "p must be a number from 0"),
        ([[1.0]], 0.5, TypeError, "x must be a torch tensor or SparseFeatures; got list"),
        (torch.eye(2).to_sparse_coo(), 0.5, TypeError, "x must be dense or sparse CSR"),
        (torch.eye(2).to_sparse_csr().requires_grad_(), 0.5, ValueError, "must not require a gradient"),
    ],
)
def test_what_cannot_be_dropped_is_refused(x, p, error, message):
    with pytest.raises(error, match=message):
        dropout(x, p)
