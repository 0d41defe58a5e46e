"""Any valid structure gives finite outputs and gradients equal to the reference."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.structures import attended, centroids, dense, random

from hypergnn import Hypergraph, functional, reference

NORMALIZATIONS = st.sampled_from(["symmetric", "row", "none"])


@st.composite
def hypergraphs(draw: st.DrawFn) -> Hypergraph:
    """Few or many vertices and hyperedges, from no incidence to all of them, with weights and centroids or without."""
    n_vertices, n_hyperedges = draw(st.sampled_from([(1, 1), (1, 9), (2, 12), (5, 5), (9, 2), (7, 0), (12, 1)]))
    density = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vertex, hyperedge = np.nonzero(rng.random((n_vertices, n_hyperedges)) < density)
    order = rng.permutation(vertex.size)
    weight = rng.uniform(0.01, 100, n_hyperedges) if draw(st.booleans()) else None
    centroid = rng.integers(-1, n_vertices, n_hyperedges) if draw(st.booleans()) else None
    return Hypergraph.from_incidence(vertex[order], hyperedge[order], n_vertices, n_hyperedges, weight, centroid)


def assert_same(out: torch.Tensor, expected: torch.Tensor, inputs: tuple[torch.Tensor, ...]) -> None:
    upstream = random(*out.shape, seed=5)
    grads, expected_grads = (
        torch.autograd.grad((y * upstream).sum(), inputs, allow_unused=True, materialize_grads=True)
        for y in (out, expected)
    )
    for mine, theirs in [(out, expected), *zip(grads, expected_grads, strict=True)]:
        assert mine.isfinite().all()
        torch.testing.assert_close(mine, theirs)


@settings(deadline=None, max_examples=60)
@given(H=hypergraphs(), normalization=NORMALIZATIONS)
def test_convolution(H, normalization):
    x, P = random(H.n_vertices, 2).requires_grad_(), random(2, 3).requires_grad_()
    weight = H.weight.clone().requires_grad_()
    out = functional.hypergraph_conv(x, H, normalization=normalization, projection=P, weight=weight)
    assert_same(out, reference.transition(dense(H), weight, normalization) @ x @ P, (x, P, weight))


@settings(deadline=None, max_examples=60)
@given(H=hypergraphs(), normalization=NORMALIZATIONS, softmax_over=st.sampled_from(["hyperedges", "vertices"]))
def test_attention(H, normalization, softmax_over):
    x, P, a = random(H.n_vertices, 2).requires_grad_(), random(2, 2).requires_grad_(), random(4).requires_grad_()
    projected = (x @ P).unsqueeze(1)
    u = functional.hyperedge_features(x @ P, H).unsqueeze(1)
    incidence = functional.attention_incidence(projected, u, H, a[None, :2], a[None, 2:], softmax_over=softmax_over)
    out = functional.hypergraph_attention(projected, H, incidence, normalization=normalization).squeeze(1)
    U = reference.hyperedge_features(x, dense(H), centroids(H))
    matrix = reference.attention(x, U, dense(H), P, P, a, softmax_over, 0.2)
    torch.testing.assert_close(attended(H, incidence[:, 0]), matrix)
    assert_same(out, reference.transition(matrix, H.weight, normalization) @ x @ P, (x, P, a))


def test_a_hyperedge_may_hold_everything():
    n = 50_000
    vertex = np.concatenate([np.arange(n), [0, 1]])
    hyperedge = np.concatenate([np.zeros(n, dtype=int), [1, 1]])
    H = Hypergraph.from_incidence(vertex, hyperedge, n, 2)
    x = torch.arange(n, dtype=torch.float64).unsqueeze(1).requires_grad_()
    out = functional.hypergraph_conv(x, H, normalization="row")
    out.sum().backward()
    mean = (n - 1) / 2
    torch.testing.assert_close(
        out[[0, 1, 2, n - 1]].flatten(), torch.tensor([(mean + 0.5) / 2] * 2 + [mean] * 2).double()
    )
    assert x.grad.isfinite().all()
