"""The operators behind the equations, in every grouping, against dense products."""

import pytest
import torch
from structures import attended, dense, hypergraph, random
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck

from hypergnn.kernels import matmul, operators, segment_softmax, segment_sum, torch_backend

pytestmark = pytest.mark.usefixtures("backend")


def test_sums_equal_dense_products(H):
    x, u = random(H.n_vertices, 3), random(H.n_hyperedges, 3)
    torch.testing.assert_close(segment_sum(x, by=H.hyperedges), dense(H).T @ x)
    torch.testing.assert_close(segment_sum(u, by=H.vertices), dense(H) @ u)


def test_sums_with_values_equal_dense_products_per_trial_and_head(H):
    x, u = random(2, H.n_vertices, 4, 3), random(2, H.n_hyperedges, 4, 3)
    values = random(2, H.n_incidences, 4)
    to_hyperedges = segment_sum(x, by=H.hyperedges, values=values)
    to_vertices = segment_sum(u, by=H.vertices, values=values)
    for trial in range(2):
        for head in range(4):
            matrix = attended(H, values[trial, :, head])
            torch.testing.assert_close(to_hyperedges[trial, :, head], matrix.T @ x[trial, :, head])
            torch.testing.assert_close(to_vertices[trial, :, head], matrix @ u[trial, :, head])


def test_trials_may_share_features_or_values():
    H = hypergraph("more vertices than hyperedges")
    x, values = random(H.n_vertices, 2, 3), random(5, H.n_incidences, 2)
    shared = segment_sum(x, by=H.hyperedges, values=values)
    torch.testing.assert_close(shared[3], segment_sum(x, by=H.hyperedges, values=values[3]))
    assert segment_sum(random(5, H.n_vertices, 3), by=H.hyperedges).shape == (5, H.n_hyperedges, 3)


@pytest.mark.parametrize("side", ["vertices", "hyperedges"])
def test_gradients_of_sums_are_exact_twice(side):
    H = hypergraph("empty hyperedge")
    by = getattr(H, side)
    x = random(2, H.n_hyperedges if side == "vertices" else H.n_vertices, 2, 3).requires_grad_()
    values = random(2, H.n_incidences, 2).requires_grad_()
    assert gradcheck(lambda x, values: segment_sum(x, by, values), (x, values))
    assert gradgradcheck(lambda x, values: segment_sum(x, by, values), (x, values))


def test_softmax_equals_dense_softmax_forward_and_backward(H, softmax_over):
    by = H.vertices if softmax_over == "hyperedges" else H.hyperedges
    logits = random(H.n_incidences, 2).requires_grad_()
    upstream = random(H.n_incidences, 2, seed=1)
    softmax = segment_softmax(logits, by=by)
    expected = torch.zeros_like(logits)
    for head in range(2):
        absent = torch.where(dense(H) > 0, 0.0, -torch.inf)
        matrix = attended(H, logits[:, head]) + absent
        matrix = matrix.softmax(1 if softmax_over == "hyperedges" else 0)
        expected = expected.index_put(
            (torch.arange(H.n_incidences), torch.tensor(head)), matrix[H.vertex.long(), H.hyperedge.long()]
        )
    torch.testing.assert_close(softmax, expected)
    (grad,) = torch.autograd.grad((softmax * upstream).sum(), logits)
    (expected_grad,) = torch.autograd.grad((expected * upstream).sum(), logits)
    torch.testing.assert_close(grad, expected_grad)


@pytest.mark.parametrize("side", ["vertices", "hyperedges"])
def test_gradients_of_the_softmax_are_exact_twice(side):
    H = hypergraph("more hyperedges than vertices")
    logits = random(2, H.n_incidences, 2).requires_grad_()
    assert gradcheck(lambda logits: segment_softmax(logits, getattr(H, side)), logits)
    assert gradgradcheck(lambda logits: segment_softmax(logits, getattr(H, side)), logits)


@pytest.mark.parametrize("batch", [1, 3])
def test_products_of_trials(batch):
    x, projection = random(batch, 5, 4).requires_grad_(), random(3, 4, 2).requires_grad_()
    torch.testing.assert_close(matmul(x, projection), x @ projection)
    torch.testing.assert_close(matmul(x[0], projection), x[0] @ projection)
    assert gradcheck(matmul, (x, projection))


def test_softmax_survives_huge_logits():
    H = hypergraph("unit weights")
    logits = torch.tensor([[1e30], [-1e30], [5e4], [1e30], [1e30], [0.0]])
    softmax = segment_softmax(logits, by=H.vertices)
    assert softmax.flatten().tolist() == [1.0, 0.0, 1.0, 0.5, 0.5, 1.0]


def test_inner_products_come_in_chunks(monkeypatch):
    H = hypergraph("more hyperedges than vertices")
    rows, members = random(1, H.n_hyperedges, 2, 3), random(1, H.n_vertices, 2, 3)
    whole = operators.incidence_dot(rows, members, *H.hyperedges)
    monkeypatch.setattr(torch_backend, "CHUNK", 12)
    torch.testing.assert_close(operators.incidence_dot(rows, members, *H.hyperedges), whole)
    expected = (rows[:, H.hyperedge] * members[:, H.vertex]).sum(-1)
    torch.testing.assert_close(whole, expected)


@pytest.mark.slow
def test_torch_accepts_the_operators():
    H = hypergraph("more vertices than hyperedges")
    x, values = random(2, H.n_vertices, 2, 3).requires_grad_(), random(2, H.n_incidences, 2).requires_grad_()
    opcheck(operators.segment_sum.traced, (x, values, *H.hyperedges))
    opcheck(operators.segment_sum.traced, (x, None, *H.hyperedges))
    opcheck(operators.incidence_dot.traced, (random(2, H.n_hyperedges, 2, 3), x, *H.hyperedges))
    opcheck(operators.segment_softmax.traced, (values, H.hyperedges.offsets, H.hyperedges.position))
    opcheck(operators.segment_total.traced, (values, H.hyperedges.offsets, H.hyperedges.position))
    opcheck(operators.matmul.traced, (random(2, 5, 6).requires_grad_(), random(2, 6, 4).requires_grad_()))
    opcheck(operators.seeded_dropout.traced, (values, 0.4, torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)))
    opcheck(operators.segment_softmax.traced, (values, H.vertices.offsets, H.vertices.position))
