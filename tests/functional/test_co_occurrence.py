"""Features of hyperedges from the hyperedges that they share vertices with."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import hypergnn as hg
from hypergnn.functional import co_occurrence
from hypergnn.functional.mutual_information import cached_co_occurrence


def shared_words(seed=0, n_vertices=60, n_hyperedges=9):
    rng = np.random.default_rng(seed)
    group = np.arange(n_hyperedges) % 3
    incidence = rng.random((n_vertices, n_hyperedges)) < 0.05 + 0.6 * (np.arange(n_vertices)[:, None] % 3 == group)
    return hg.Hypergraph.from_hyperedges([np.flatnonzero(one).tolist() for one in incidence.T], n_vertices)


def information(H):
    """Positive pointwise mutual information, entry by entry."""
    found = np.zeros((H.n_hyperedges, H.n_hyperedges))
    members = [set(one) for one in H.to_hyperedges()]
    for e, first in enumerate(members):
        for f, second in enumerate(members):
            if first & second:
                found[e, f] = max(0.0, np.log(H.n_vertices * len(first & second) / (len(first) * len(second))))
    return torch.from_numpy(found)


def test_inner_products_are_the_leading_part_of_the_mutual_information():
    H = shared_words()
    u = co_occurrence(H, 4).double()
    values, vectors = torch.linalg.eigh(information(H))
    leading = vectors[:, -4:] * values[-4:] @ vectors[:, -4:].T
    scale = leading.diagonal().sum() / (u * u).sum()
    assert_close(u @ u.T * scale, leading, atol=1e-5, rtol=1e-5)
    assert_close((u * u).sum(1).mean(), torch.tensor(1.0).double(), atol=1e-5, rtol=1e-5)


def test_hyperedges_that_occur_together_get_similar_features():
    u = co_occurrence(shared_words(), 3)
    similarity = torch.cosine_similarity(u[:, None], u[None], dim=-1)
    same = torch.arange(9)[:, None] % 3 == torch.arange(9) % 3
    assert similarity[same].min() > similarity[~same].max()


def test_many_hyperedges_are_embedded_like_few(monkeypatch):
    H = shared_words(n_hyperedges=40)
    dense = co_occurrence(H, 3)
    monkeypatch.setattr("hypergnn.functional.mutual_information._DENSE", 0)
    assert_close(co_occurrence(shared_words(n_hyperedges=40), 3), dense, atol=1e-4, rtol=1e-4)


def test_it_is_computed_once_and_does_not_depend_on_numbers():
    H = shared_words()
    assert cached_co_occurrence(H, 3) is cached_co_occurrence(H, 3)
    before = co_occurrence(H, 3).clone()
    co_occurrence(H, 3).zero_()
    assert torch.equal(co_occurrence(H, 3), before), "what is handed out is not what is cached"
    order = np.random.default_rng(1).permutation(9)
    other = hg.Hypergraph.from_hyperedges([H.to_hyperedges()[e] for e in order], H.n_vertices)
    assert_close(co_occurrence(other, 3), co_occurrence(H, 3)[order], atol=1e-4, rtol=1e-4)


def test_features_beyond_the_rank_are_zero():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [0, 1], []], n_vertices=4)
    u = co_occurrence(H, 5)
    assert u.shape == (3, 5)
    assert u[0].equal(u[1])
    assert u[2].eq(0).all()
    assert u[:, 1:].eq(0).all()
    assert co_occurrence(hg.Hypergraph.from_hyperedges([], n_vertices=4)).shape == (0, 32)


def test_bad_input():
    with pytest.raises(ValueError, match="dimensions must be"):
        co_occurrence(shared_words(), 0)
    with pytest.raises(TypeError, match="H must be a Hypergraph"):
        co_occurrence(hg.DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=2))
