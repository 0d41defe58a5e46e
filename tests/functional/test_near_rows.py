"""Nearest rows are the first by (similarity, number), found in parts and whatever the number of threads."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.structures import hypergraph, random

import hypergnn as hg
from hypergnn.functional import following
from hypergnn.functional.near_rows import clusters_of_rows, nearest_rows


def test_rows_are_searched_in_parts(monkeypatch):
    H = hypergraph("more vertices than hyperedges")
    x = random(H.n_vertices, 3)
    whole = following(x, H)
    monkeypatch.setattr("hypergnn.functional.near_rows._AT_ONCE", 2 * H.n_vertices)
    assert following(x, H).to_hyperedges() == whole.to_hyperedges()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 6), st.sampled_from([1, 3]))
def test_equally_near_rows_come_by_number(seed, n_rows, k, largest):
    x = np.random.default_rng(seed).integers(0, largest + 1, (n_rows, 3)).astype(float)
    length = np.sqrt((x * x).sum(1, keepdims=True))
    rows = x / np.where(length > 0, length, 1)
    similarity = (rows[:, None] * rows).sum(-1)
    np.fill_diagonal(similarity, np.inf)
    expected = np.argsort(-similarity, axis=1, kind="stable")[:, : k + 1]
    np.testing.assert_array_equal(nearest_rows(torch.from_numpy(x).float(), k).numpy(), expected)


def test_hyperedges_do_not_depend_on_the_number_of_threads():
    x = torch.randn(300, 40, generator=torch.Generator().manual_seed(0)).round()
    before = torch.get_num_threads()
    try:
        found = []
        for n in (1, 3):
            torch.set_num_threads(n)
            found.append((nearest_rows(x, 5), clusters_of_rows(x, 9)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_a_row_between_two_centres_joins_the_first():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    assert clusters_of_rows(x, 2).tolist() == clusters_of_rows(x.double(), 2).tolist()
    assert len(set(clusters_of_rows(x, 2)[2:].tolist())) == 1


def test_rows_that_cannot_be_followed_are_refused():
    H = hg.Hypergraph.from_hyperedges([[0, 1]], 2)
    with pytest.raises(ValueError, match="x must be finite, because hyperedges follow it"):
        following(torch.tensor([[1.0], [torch.nan]]), H)
    with pytest.raises(TypeError, match="rows of different members of a batch are not neighbours"):
        following(torch.ones(4, 1), hg.batch([H, H]))
