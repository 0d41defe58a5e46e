"""The operators behind the equations, in every grouping, against dense products."""

import gc
import re
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
from support.structures import attended, dense, hypergraph, random
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck

from hypergnn import Hypergraph, kernels
from hypergnn.kernels import (
    Dropout,
    activated_transition,
    attend,
    composed,
    cross_entropy,
    dispatch,
    elu_dropout,
    head_scores,
    inverse,
    matmul,
    ops,
    portable,
    relu_dropout,
    segment_softmax,
    segment_sum,
    transition,
    value_sums,
)
from hypergnn.kernels.cpu import (
    backend,
    dropped_loops,
    fused,
    gemm,
    gemm_loops,
    jit,
    large_groups,
    segment,
    segment_loops,
    simd,
    threads,
)

pytestmark = pytest.mark.usefixtures("backend")


def test_sums_equal_dense_products(H):
    x, u = random(H.n_vertices, 3), random(H.n_hyperedges, 3)
    torch.testing.assert_close(segment_sum(x, by=H.incidence.T), dense(H).T @ x)
    torch.testing.assert_close(segment_sum(u, by=H.incidence), dense(H) @ u)


def test_sums_with_values_equal_dense_products_per_trial_and_head(H):
    x, u = random(2, H.n_vertices, 4, 3), random(2, H.n_hyperedges, 4, 3)
    values = random(2, H.n_incidences, 4)
    to_hyperedges = segment_sum(x, by=H.incidence.T, values=values)
    to_vertices = segment_sum(u, by=H.incidence, values=values)
    for trial in range(2):
        for head in range(4):
            matrix = attended(H, values[trial, :, head])
            torch.testing.assert_close(to_hyperedges[trial, :, head], matrix.T @ x[trial, :, head])
            torch.testing.assert_close(to_vertices[trial, :, head], matrix @ u[trial, :, head])


def test_trials_may_share_features_or_values():
    H = hypergraph("more vertices than hyperedges")
    x, values = random(H.n_vertices, 2, 3), random(5, H.n_incidences, 2)
    shared = segment_sum(x, by=H.incidence.T, values=values)
    torch.testing.assert_close(shared[3], segment_sum(x, by=H.incidence.T, values=values[3]))
    assert segment_sum(random(5, H.n_vertices, 3), by=H.incidence.T).shape == (5, H.n_hyperedges, 3)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["vertices", "hyperedges"])
def test_gradients_of_sums_are_exact_twice(side):
    H = hypergraph("empty hyperedge")
    by = H.incidence if side == "vertices" else H.incidence.T
    x = random(2, H.n_hyperedges if side == "vertices" else H.n_vertices, 2, 3).requires_grad_()
    values = random(2, H.n_incidences, 2).requires_grad_()
    assert gradcheck(lambda x, values: segment_sum(x, by, values), (x, values))
    assert gradgradcheck(lambda x, values: segment_sum(x, by, values), (x, values))


def test_softmax_equals_dense_softmax_forward_and_backward(H, softmax_over):
    by = H.incidence if softmax_over == "hyperedges" else H.incidence.T
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


@pytest.mark.slow
@pytest.mark.parametrize("side", ["vertices", "hyperedges"])
def test_gradients_of_the_softmax_are_exact_twice(side):
    H = hypergraph("more hyperedges than vertices")
    logits = random(2, H.n_incidences, 2).requires_grad_()
    by = H.incidence if side == "vertices" else H.incidence.T
    assert gradcheck(lambda logits: segment_softmax(logits, by), logits)
    assert gradgradcheck(lambda logits: segment_softmax(logits, by), logits)


@pytest.mark.parametrize("batch", [1, 3])
def test_products_of_trials(batch):
    x, projection = random(batch, 5, 4).requires_grad_(), random(3, 4, 2).requires_grad_()
    torch.testing.assert_close(matmul(x, projection), x @ projection)
    torch.testing.assert_close(matmul(x[0], projection), x[0] @ projection)
    assert gradcheck(matmul, (x, projection))


@pytest.mark.slow
def test_softmax_survives_huge_logits():
    H = hypergraph("unit weights")
    logits = torch.tensor([[1e30], [-1e30], [5e4], [1e30], [1e30], [0.0]])
    softmax = segment_softmax(logits, by=H.incidence)
    assert softmax.flatten().tolist() == [1.0, 0.0, 1.0, 0.5, 0.5, 1.0]


def test_inner_products_come_in_chunks(monkeypatch):
    H = hypergraph("more hyperedges than vertices")
    rows, members = random(1, H.n_hyperedges, 2, 3), random(1, H.n_vertices, 2, 3)
    whole = ops.incidence_dot(rows, members, H.incidence.T)
    monkeypatch.setattr(portable, "CHUNK", 12)
    torch.testing.assert_close(ops.incidence_dot(rows, members, H.incidence.T), whole)
    expected = (rows[:, H.hyperedge] * members[:, H.vertex]).sum(-1)
    torch.testing.assert_close(whole, expected)


def fixed_transition(x, pairs, left, middle, right):
    return transition(x, pairs, pairs, left=left, middle=middle, right=right)


def activated(x, pairs, left, middle, right, bias):
    return activated_transition(x, pairs, pairs, left=left, middle=middle, right=right, bias=bias)


KEYS = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)


@pytest.mark.slow
@pytest.mark.parametrize("with_values", [True, False])
@pytest.mark.parametrize("features", [1, 3, 8, 23, 45])
def test_a_transition_is_two_sums_and_three_scalings(H, with_values, features):
    heads = 9 if with_values else 1
    left, middle, right = random(2, H.n_vertices, heads), random(H.n_hyperedges, 1, seed=1), random(H.n_vertices, heads)
    x, values = random(2, H.n_vertices, heads, features), random(2, H.n_incidences, heads, seed=2)
    scalings = {"left": left, "middle": middle, "right": right}
    if with_values:
        found = transition(x, H.incidence, H.incidence, values=values, **scalings)
    else:
        found = transition(x.squeeze(-2), H.incidence, H.incidence, **scalings).unsqueeze(-2)
    for trial in range(2):
        for head in range(heads):
            matrix = attended(H, values[trial, :, head]) if with_values else dense(H)
            rows = right[:, head, None] * x[trial, :, head]
            expected = left[trial, :, head, None] * (matrix @ (middle * (matrix.T @ rows)))
            torch.testing.assert_close(found[trial, :, head], expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("features", [16, 23, 56, 120])
@pytest.mark.parametrize("with_values", [True, False])
def test_a_column_of_a_sum_does_not_depend_on_its_neighbours(with_values, features, dtype):
    H = hypergraph("more vertices than hyperedges")
    x, values = random(2, H.n_vertices, features).to(dtype), random(2, H.n_incidences, 1, seed=1).to(dtype)

    def summed(x):
        return (
            segment_sum(x.unsqueeze(2), H.incidence.T, values).squeeze(2)
            if with_values
            else segment_sum(x, H.incidence.T)
        )

    sums = summed(x)
    for trial in range(2):
        matrix = (attended(H, values[trial, :, 0]) if with_values else dense(H).to(dtype)).T
        torch.testing.assert_close(sums[trial], matrix @ x[trial])
    for first in range(features - 7):
        assert torch.equal(summed(x[..., first : first + 8].contiguous()), sums[..., first : first + 8])


def receivers_of(H):
    """Three receivers: one in every hyperedge, one in every second, one in none."""
    hyperedges = [[0, 1] if place % 2 == 0 else [0] for place in range(H.n_hyperedges)]
    return Hypergraph.from_hyperedges(hyperedges, n_vertices=3)


@pytest.mark.parametrize("with_values", [True, False])
def test_receivers_need_not_be_senders(H, with_values):
    R, heads = receivers_of(H), 9 if with_values else 1
    left, middle, right = random(2, 3, heads), random(H.n_hyperedges, 1, seed=1), random(H.n_vertices, heads)
    x, sent = random(2, H.n_vertices, heads, 3), random(2, H.n_incidences, heads, seed=2)
    received = random(2, R.n_incidences, heads, seed=3)
    scalings = {"left": left, "middle": middle, "right": right}
    if with_values:
        found = transition(x, H.incidence, R.incidence, values=sent, receiver_values=received, **scalings)
    else:
        found = transition(x.squeeze(-2), H.incidence, R.incidence, **scalings).unsqueeze(-2)
    for trial in range(2):
        for head in range(heads):
            S = attended(H, sent[trial, :, head]) if with_values else dense(H)
            matrix = attended(R, received[trial, :, head]) if with_values else dense(R)
            rows = right[:, head, None] * x[trial, :, head]
            expected = left[trial, :, head, None] * (matrix @ (middle * (S.T @ rows)))
            torch.testing.assert_close(found[trial, :, head], expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["more vertices than hyperedges", "empty hyperedge"])
def test_gradients_of_both_sides_are_exact_twice(name):
    H = hypergraph(name)
    R = receivers_of(H)
    x = random(2, H.n_vertices, 3, 2).requires_grad_()
    sent, received = (random(2, one.n_incidences, 3).requires_grad_() for one in (H, R))
    left, right = (random(2, n, 3, seed=n).requires_grad_() for n in (3, H.n_vertices))
    middle = random(2, H.n_hyperedges, 3, seed=3).requires_grad_()

    def run(x, sent, received, left, middle, right):
        scalings = {"left": left, "middle": middle, "right": right}
        return transition(x, H.incidence, R.incidence, values=sent, receiver_values=received, **scalings)

    given = (x, sent, received, left, middle, right)
    assert gradcheck(run, given)
    assert gradgradcheck(run, given)
    constant = [one.detach() for one in given[1:]]
    assert gradcheck(lambda x: run(x, *constant), x)
    single = [one.detach()[..., :1] for one in given[3:]]
    assert gradcheck(lambda x: run(x, None, None, *single), x[..., 0])
    weight = random(H.n_hyperedges, 1).requires_grad_()
    assert gradcheck(lambda x, weight: run(x, None, None, None, weight, None), (x.detach()[..., 0], weight))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_of_a_transition_are_exact_twice(shared):
    H = hypergraph("empty hyperedge")
    trials, heads = (1, 1) if shared else (2, 3)
    x, values = random(2, H.n_vertices, 3, 2).requires_grad_(), random(trials, H.n_incidences, 3).requires_grad_()
    left, right = (random(trials, H.n_vertices, heads, seed=seed).requires_grad_() for seed in (1, 2))
    middle = random(trials, H.n_hyperedges, heads, seed=3).requires_grad_()

    def run(x, values, left, middle, right):
        return transition(x, H.incidence, H.incidence, values=values, left=left, middle=middle, right=right)

    assert gradcheck(run, (x, values, left, middle, right))
    assert gradgradcheck(run, (x, values, left, middle, right))
    constant = (left.detach(), middle.detach(), right.detach())
    assert gradcheck(lambda x: run(x, values.detach(), *constant), x)
    assert gradgradcheck(lambda x: run(x, None, left.detach()[..., :1], middle.detach()[..., :1], None), x[..., 0])


@pytest.mark.slow
@pytest.mark.parametrize("side", ["vertices", "hyperedges"])
def test_attention_is_a_softmax_of_leaky_sums_with_exact_gradients(side):
    H = hypergraph("more vertices than hyperedges")
    by = H.incidence if side == "vertices" else H.incidence.T
    vertex, hyperedge = random(2, H.n_vertices, 3).requires_grad_(), random(2, H.n_hyperedges, 3).requires_grad_()
    ours, theirs = (vertex, hyperedge) if side == "vertices" else (hyperedge, vertex)
    score = vertex[:, H.vertex] + hyperedge[:, H.hyperedge]
    expected = segment_softmax(torch.where(score > 0, score, 0.2 * score), by)
    torch.testing.assert_close(attend(ours, theirs, by, 0.2), expected)
    assert gradcheck(lambda ours, theirs: attend(ours, theirs, by, 0.2), (ours, theirs))
    assert gradgradcheck(lambda ours, theirs: attend(ours, theirs, by, 0.2), (ours, theirs))


@pytest.mark.parametrize(("heads", "features"), [(3, 2), (9, 8), (1, 45)])
def test_scores_of_heads_are_inner_products_with_exact_gradients(heads, features):
    x = random(2, 5, heads, features).requires_grad_()
    one, other = (random(2, heads, features, seed=seed).requires_grad_() for seed in (1, 2))
    for found, vector in zip(head_scores(x, one, other), (one, other), strict=True):
        torch.testing.assert_close(found, (x * vector.unsqueeze(1)).sum(-1))
    if heads == 3:
        assert gradcheck(head_scores, (x, one, other))
        assert gradgradcheck(head_scores, (x, one, other))


@pytest.mark.parametrize("features", [1, 8, 11])
def test_gradients_of_many_heads_are_those_of_few(monkeypatch, features):
    """Eight heads take another path through the compiled loops than the ninth."""
    H = hypergraph("more vertices than hyperedges")
    x, values = random(2, H.n_vertices, 9, features), random(2, H.n_incidences, 9, seed=1).abs()
    left, middle = random(2, H.n_vertices, 9, seed=2), random(1, H.n_hyperedges, 9, seed=3)
    vectors, weight = random(2, 9, features, seed=4), random(H.n_hyperedges, seed=5).abs()

    def gradients():
        given = [one.clone().requires_grad_() for one in (x, values, left, middle, vectors)]
        x_, values_, left_, middle_, vectors_ = given
        out = transition(x_, H.incidence, H.incidence, values=values_, left=left_, middle=middle_)
        (score,) = head_scores(x_, vectors_)
        parts = [out, value_sums(values_, H.incidence, weight), value_sums(values_, H.incidence.T)]
        parts += [attend(score, middle_.expand(2, -1, -1), H.incidence, 0.2)]
        parts += [attend(middle_.expand(2, -1, -1), score, H.incidence.T, 0.2)]
        return torch.autograd.grad(sum((one * random(*one.shape, seed=6)).sum() for one in parts), given)

    found = gradients()
    monkeypatch.setattr(dispatch, "wanted", "torch")
    for one, other in zip(found, gradients(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("activated", [elu_dropout, relu_dropout])
@pytest.mark.parametrize("dropout", [None, Dropout(0.4, KEYS)])
def test_activation_with_dropout_and_its_gradients(dropout, activated):
    activation = torch.nn.functional.elu if activated is elu_dropout else torch.relu
    x, bias = (3 * random(2, 8, 5)).requires_grad_(), random(2, 5).requires_grad_()
    expected = activation((x + bias.unsqueeze(1)).detach())
    if dropout is not None:
        expected = portable.seeded_dropout(expected, *dropout)
    torch.testing.assert_close(activated(x, bias, dropout), expected)
    torch.testing.assert_close(activated(x + bias.unsqueeze(1), None, dropout), expected)
    assert gradcheck(lambda x, bias: activated(x, bias, dropout), (x, bias))
    assert gradgradcheck(lambda x, bias: activated(x, bias, dropout), (x, bias))
    assert gradcheck(lambda x: activated(x, None, dropout), x)


def test_the_gradient_of_relu_with_dropout_is_exact_when_it_is_differentiated_again():
    x = random(2, 8, 5).requires_grad_()
    found = [
        torch.autograd.grad(relu_dropout(x, None, Dropout(0.4, KEYS)).sum(), x, create_graph=again)[0]
        for again in (False, True)
    ]
    torch.testing.assert_close(*found, rtol=1e-14, atol=0)
    broken = torch.tensor([[torch.nan, 1.0, -1.0]], requires_grad=True)
    assert torch.autograd.grad(relu_dropout(broken).sum(), broken)[0].tolist() == [[1.0, 1.0, 0.0]]  # as torch


@pytest.mark.parametrize("activated", [elu_dropout, relu_dropout])
@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_some_rows_are_dropped_as_they_are_among_all(backend, activated, monkeypatch):
    monkeypatch.setattr(dispatch, "wanted", backend)
    rows = torch.tensor([0, 3, 4, 9], dtype=torch.int32)
    x, bias = random(2, 10, 7).requires_grad_(), random(2, 7).requires_grad_()
    whole = activated(x, bias, Dropout(0.4, KEYS)).index_select(1, rows)
    part = activated(x.index_select(1, rows), bias, Dropout(0.4, KEYS, rows))
    torch.testing.assert_close(part, whole)
    found, expected = (torch.autograd.grad(one.square().sum(), (x, bias)) for one in (part, whole))
    torch.testing.assert_close(found, expected)


def test_single_precision_exponentials_are_accurate():
    x = torch.cat([-torch.logspace(-8, 2.5, 4001), torch.tensor([0.0, -0.0, 5.0, -torch.inf])])[None]
    torch.testing.assert_close(elu_dropout(x), torch.nn.functional.elu(x.double()).float(), rtol=3e-7, atol=0)
    H = Hypergraph.from_hyperedges([[k, k + 1] for k in range(0, 4000, 2)], n_vertices=4000)
    logits = x[0, :4000, None]
    exact = segment_softmax(logits.double(), by=H.incidence.T)
    torch.testing.assert_close(segment_softmax(logits, by=H.incidence.T).double(), exact, rtol=5e-7, atol=1e-37)


@pytest.mark.slow
def test_dropout_within_a_sum_is_that_of_its_values():
    H = hypergraph("more hyperedges than vertices")
    x, values = random(2, H.n_hyperedges, 3).requires_grad_(), random(H.n_incidences).requires_grad_()
    dropped = portable.seeded_dropout(values.detach().expand(2, -1).contiguous(), 0.4, KEYS, None)
    dropout = Dropout(0.4, KEYS)
    expected = segment_sum(x.unsqueeze(2), H.incidence, dropped.unsqueeze(2)).squeeze(2)
    torch.testing.assert_close(segment_sum(x, H.incidence, values, dropout), expected)
    assert gradcheck(lambda x, values: segment_sum(x, H.incidence, values, dropout), (x, values))
    assert gradgradcheck(lambda x, values: segment_sum(x, H.incidence, values, dropout), (x, values))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("width", [3, 16, 19])
@pytest.mark.parametrize("n_groups", [40, pytest.param(3000, marks=pytest.mark.slow)])
def test_few_sums_of_many_rows_are_the_same_sums(monkeypatch, n_groups, width, dtype):
    generator = torch.Generator().manual_seed(0)
    some = [torch.randint(0, 20_000, (700,), generator=generator).unique().tolist() for _ in range(n_groups)]
    groups = [sorted({0, *one}) for one in some]  # vertex 0 is in all of them
    H = Hypergraph.from_hyperedges([[], *groups], n_vertices=20_000)
    x, values = torch.rand(2, H.n_vertices, width, dtype=dtype), torch.rand(H.n_incidences, dtype=dtype)
    expected = composed.dropped_sum(x.double(), values.double(), KEYS, 0.4, H.incidence.T)
    monkeypatch.setattr(segment, "CACHED", 4000 * width)
    walked, walk = [], dropped_loops.scatter_dropped
    monkeypatch.setattr(dropped_loops, "scatter_dropped", lambda *given: walked.append(walk(*given)) or walked[-1])

    def dropped_sum(threads):
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        return segment_sum(x, H.incidence.T, values, Dropout(0.4, KEYS))

    alone = dropped_sum(1)
    torch.testing.assert_close(alone.double(), expected, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    torch.testing.assert_close(dropped_sum(3), alone, rtol=0, atol=0)
    one = segment_sum(x[1:], H.incidence.T, values, Dropout(0.4, KEYS[1:]))
    torch.testing.assert_close(one, alone[1:], rtol=0, atol=0)
    if kernels._steps(x) is fused:
        assert walked
        assert any(walked) == (n_groups > large_groups.PIECE)  # then the row of vertex 0 is too long


CLASSES, ROWS = torch.tensor([2, 0, 1, 1]), torch.tensor([3, 0])


@pytest.mark.slow
def test_cross_entropy_is_the_mean_of_some_rows_for_each_trial():
    scores = random(2, 4, 3).requires_grad_()
    expected = [torch.nn.functional.cross_entropy(trial[ROWS], CLASSES[ROWS]) for trial in scores]
    torch.testing.assert_close(cross_entropy(scores, CLASSES, ROWS), torch.stack(expected))
    assert gradcheck(lambda scores: cross_entropy(scores, CLASSES, ROWS), scores)
    assert gradgradcheck(lambda scores: cross_entropy(scores, CLASSES, ROWS), scores)
    for rows, classes in (([4], CLASSES), ([-5], CLASSES), ([0], [3, 0, 0, 0])):
        with pytest.raises((IndexError, RuntimeError)):
            cross_entropy(scores, torch.as_tensor(classes), torch.tensor(rows))
    large = torch.tensor([[[1e4, 0.0, -1e4]]])
    assert cross_entropy(large, torch.tensor([1]), torch.tensor([0])).item() == 1e4
    assert cross_entropy(large / 0, torch.tensor([1]), torch.tensor([0])).isnan().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heads", [1, 8])
def test_nan_is_propagated(dtype, heads):
    H = Hypergraph.from_hyperedges([[0, 1], [2, 3]], n_vertices=4)
    for place in (0, 1):
        logits = torch.ones(4, heads, dtype=dtype)
        logits[place] = torch.nan
        for softmax in (
            segment_softmax(logits, H.incidence.T),
            attend(torch.zeros(2, heads, dtype=dtype), logits, H.incidence.T, 0.2),
        ):
            assert softmax[:2].isnan().all()
            assert (softmax[2:] == 0.5).all()
    assert elu_dropout(torch.full((1, 3, 8), torch.nan, dtype=dtype)).isnan().all()
    assert relu_dropout(torch.full((1, 3, 8), torch.nan, dtype=dtype)).isnan().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_beyond_the_caches_have_the_same_sums(dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(20_000, 64, generator=generator, dtype=dtype)
    assert x.nbytes > simd.FAR
    ids = torch.randint(20_000, (3000, 5), generator=generator)
    H = Hypergraph.from_hyperedges([sorted(set(one)) for one in ids.tolist()], n_vertices=20_000)
    expected = torch.stack([x[list(set(one))].sum(0) for one in ids.tolist()])
    torch.testing.assert_close(segment_sum(x, H.incidence.T), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "features"), [(8, 8), (9, 8), (1, 7)])
def test_transitions_of_rows_that_no_cache_holds_have_the_same_gradients(monkeypatch, heads, features):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(40_000, (40_000, 3), generator=generator)
    H = Hypergraph.from_hyperedges([sorted(set(one)) for one in ids.tolist()], n_vertices=40_000)
    rows, columns = (H.n_vertices, heads, features), (H.n_hyperedges, heads)
    shapes = (rows, (H.n_incidences, heads), (rows[0], heads), columns)
    given = [torch.rand(shape, generator=generator).requires_grad_() for shape in shapes]
    assert given[0].nbytes > simd.FAR

    def gradients():
        x, values, left, middle = given
        out = transition(x, H.incidence, H.incidence, values=values, left=left, middle=middle, right=left)
        return torch.autograd.grad(out.square().sum(), given)

    found = gradients()
    monkeypatch.setattr(dispatch, "wanted", "torch")
    torch.testing.assert_close(found, gradients(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("trials", "features"), [(0, 3), (2, 0)])
def test_zero_trials_and_zero_features_are_allowed(trials, features):
    H = hypergraph("empty hyperedge")
    by, values = H.incidence.T, random(trials, H.n_incidences, 2)
    x = random(trials, H.n_vertices, features)
    assert segment_sum(x, by).shape == (trials, H.n_hyperedges, features)
    dropout = Dropout(0.4, KEYS[:trials])
    assert segment_sum(x, by, random(H.n_incidences), dropout).shape == (trials, H.n_hyperedges, features)
    headed = x.unsqueeze(2).expand(-1, -1, 2, -1)
    assert segment_sum(headed, by, values).shape == (trials, H.n_hyperedges, 2, features)
    assert kernels.seeded_dropout(headed, dropout).shape == headed.shape
    for activate in (kernels.elu_dropout, kernels.relu_dropout):
        given = x.clone().requires_grad_()
        activate(given, None, dropout).sum().backward()
        assert given.grad.shape == x.shape
    learned = values.clone().requires_grad_()
    transition(headed, H.incidence, H.incidence, values=learned).sum().backward()
    assert learned.grad.eq(0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 23, 32, 40, 72])
def test_a_row_of_a_product_does_not_depend_on_its_neighbours(width, dtype):
    x, projection = random(1, 29, 21).to(dtype), random(2, 21, width).to(dtype)
    product = backend.matmul(x, projection)
    torch.testing.assert_close(product, x @ projection)
    for first, last in ((0, 1), (3, 9), (10, 29)):
        assert torch.equal(backend.matmul(x[:, first:last], projection), product[:, first:last])


@pytest.mark.parametrize("width", [1, 2, 3, 5, 6])
def test_a_product_of_few_columns_is_written_into_its_own_rows_only(width):
    x, projection = random(2, 20, 9), random(2, 9, width)
    out = torch.full((2, 20, width), 7.0, dtype=x.dtype)
    for first, last in ((11, 11), (11, 13), (2, 10)):
        gemm_loops.product(x.numpy(), projection.numpy(), out.numpy(), first, last)
    torch.testing.assert_close(out[:, 2:10], (x @ projection)[:, 2:10])
    torch.testing.assert_close(out[:, 11:13], (x @ projection)[:, 11:13])
    rest = torch.cat([out[:, :2], out[:, 10:11], out[:, 13:]], 1)
    assert rest.eq(7).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize(("depth", "width"), [(1, 17), (9, 23), (21, 32), (64, 72)])
@pytest.mark.parametrize("n_rows", [0, 1, 511, 2600])
def test_a_gradient_of_a_product_does_not_depend_on_other_trials_or_threads(n_rows, depth, width, dtype, monkeypatch):
    x, grad = random(3, n_rows, depth).to(dtype), random(3, n_rows, width).to(dtype)
    monkeypatch.setattr(gemm, "BLOCKS", 4)
    found = backend.matmul_backward(x, grad)
    tolerance = {} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-3}
    torch.testing.assert_close(found, x.mT @ grad, **tolerance)
    product = backend.matmul(x, grad[:, :depth].contiguous()) if n_rows > depth else None
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    if product is not None:
        assert torch.equal(backend.matmul(x, grad[:, :depth].contiguous()), product)
    assert torch.equal(backend.matmul_backward(x[1:2], grad[1:2])[0], found[1])
    shared = backend.matmul_backward(x[1:2], grad)
    assert torch.equal(shared[1], found[1])
    torch.testing.assert_close(shared, x[1:2].mT @ grad, **tolerance)


@pytest.mark.parametrize(("depth", "width"), [(0, 3), (3, 0), (3, 64), (40, 48), (64, 7), (70, 40), (2060, 20)])
def test_products_of_any_size(depth, width, monkeypatch):
    x, projection = random(2, 700, depth).requires_grad_(), random(2, depth, width).requires_grad_()
    monkeypatch.setattr(gemm, "LARGE", 3000)
    product = matmul(x, projection)
    torch.testing.assert_close(product, x @ projection)
    grad = random(2, 700, width)
    found, expected = (torch.autograd.grad(one, (x, projection), grad) for one in (product, x @ projection))
    torch.testing.assert_close(found, expected)


def test_wrong_sizes_are_refused():
    H = hypergraph("more hyperedges than vertices")
    x, values = random(H.n_vertices, 1, 3), random(H.n_incidences, 1)

    def propagate(x, by, values):
        return transition(x, by.T, by.T, values=values)

    for call in (segment_sum, propagate):
        with pytest.raises(ValueError, match=f"x must have {H.n_vertices} rows"):
            call(x[1:], H.incidence.T, values)
        with pytest.raises(ValueError, match=f"each of {H.n_incidences} incidences"):
            call(x, H.incidence.T, values[1:])
        with pytest.raises(TypeError, match=r"the dtype of x, torch\.float64"):
            call(x, H.incidence.T, values.float())
        with pytest.raises(ValueError, match=f"each of {H.n_incidences} incidences"):
            call(x, H.incidence.T, torch.cat([values, values]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dropout_is_the_same_to_the_bit_in_both_backends(dtype):
    x = random(2, 1003).to(dtype)
    for rate in (0.1, 0.6, 0.999):
        found = [one.seeded_dropout(x, rate, KEYS, None) for one in (backend, portable)]
        assert torch.equal(*found)
        some = torch.tensor([1, 4], dtype=torch.int32)
        for one in (backend, portable):
            assert torch.equal(one.seeded_dropout(x[:, some], rate, KEYS, some), found[0][:, some])


@pytest.mark.parametrize("width", [1, 7, 64, 5000])
def test_dropout_of_some_rows_equals_dropout_of_all(width):
    x, some = random(2, 90, width), torch.arange(1, 90, 3, dtype=torch.int32)
    for one in (backend, portable):
        whole = one.seeded_dropout(x, 0.6, KEYS, None)
        assert torch.equal(one.seeded_dropout(x[:, some], 0.6, KEYS, some), whole[:, some])


@pytest.mark.parametrize("heads", [1, 3, 9])
def test_attention_of_groups_of_any_size_is_that_of_plain_torch(heads, monkeypatch):
    sizes = [0, 1, 1023, 3000, 0, 1024, 1025, 5, 2, 700, 700]
    H = Hypergraph.from_hyperedges([list(range(size)) for size in sizes], n_vertices=3000)
    ours, theirs = random(2, H.n_hyperedges, heads).float(), 3 * random(2, H.n_vertices, heads).float()
    found = attend(ours, theirs, H.incidence.T, 0.2)
    monkeypatch.setattr(dispatch, "wanted", "torch")
    torch.testing.assert_close(found, attend(ours, theirs, H.incidence.T, 0.2), rtol=1e-5, atol=1e-8)


@pytest.fixture
def skewed():
    """A hyperedge with half of all incidences, and a vertex that is in all hyperedges."""
    rng = torch.Generator().manual_seed(0)
    others = [[0, *torch.randint(1, 20_000, (3,), generator=rng).unique().tolist()] for _ in range(5000)]
    return Hypergraph.from_hyperedges([list(range(20_000)), *others], n_vertices=20_001)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(skewed, monkeypatch):
    x, values = torch.rand(2, skewed.n_vertices, 3, 9), torch.rand(2, skewed.n_incidences, 3)
    left, middle = torch.rand(skewed.n_vertices, 3), torch.rand(skewed.n_hyperedges, 1)
    sparse_x = torch.rand(2, skewed.n_vertices, 9)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)

    def everything():
        given = [one.clone().requires_grad_() for one in (x, values, left, middle)]
        out = transition(given[0], skewed.incidence, skewed.incidence, values=given[1], left=given[2], middle=given[3])
        attention = attend(given[0][..., 0], torch.zeros(2, skewed.n_hyperedges, 3), skewed.incidence, 0.2)
        plain = segment_sum(given[0][..., 0], skewed.incidence.T)
        dropped = segment_sum(sparse_x, skewed.incidence.T, values[0, :, 0].contiguous(), Dropout(0.5, KEYS))
        active = elu_dropout(given[0] - 0.5, left[:2, :1].expand(2, 9), Dropout(0.5, KEYS))
        some = torch.arange(5, skewed.n_vertices - 3, 3, dtype=torch.int32)
        chosen = elu_dropout(given[0][..., 0, :].index_select(1, some), None, Dropout(0.5, KEYS, some))
        left_out = kernels.seeded_dropout(given[1], Dropout(0.5, KEYS))
        (scores,) = head_scores(given[0], torch.rand(2, 3, 9, generator=torch.Generator().manual_seed(1)))
        narrow = matmul(given[0][..., 0, :].contiguous(), torch.ones(2, 9, 4))
        made = [out, attention, plain, dropped, active, chosen, left_out, scores, narrow]
        return [*made, *torch.autograd.grad(sum(one.square().sum() for one in made), given)]

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = everything()
        torch.set_num_threads(5)
        together = everything()
    finally:
        torch.set_num_threads(before)
    if kernels._steps(x) is fused:
        assert all(torch.equal(one, other) for one, other in zip(alone, together, strict=True))
    monkeypatch.setattr(dispatch, "wanted", "torch")
    double = transition(
        x.double(),
        skewed.incidence,
        skewed.incidence,
        values=values.double(),
        left=left.double(),
        middle=middle.double(),
    )
    torch.testing.assert_close(alone[0], double.float(), rtol=1e-4, atol=1e-4)


def test_kernels_compile_without_a_cache_folder(monkeypatch):
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert jit.compiled(lambda x: x + 1)(1) == 2


def test_compiled_code_is_cached_until_a_source_changes():
    assert segment_loops.gather._cache._cache_file.stamp == jit._sources()
    assert len(jit._sources()) == 64
    folder = Path(jit.__file__).parent
    compiled = {
        path.stem for path in folder.glob("*.py") if re.search("^@(compiled|inlined|intrinsic)", path.read_text(), re.M)
    }
    assert compiled <= set(jit.SOURCES)


def test_the_backend_is_chosen_by_device_and_dtype(monkeypatch):
    assert not dispatch.is_compiled("cuda", torch.float32)
    assert not dispatch.is_compiled("cpu", torch.bfloat16)
    monkeypatch.setattr(dispatch, "wanted", "auto")
    assert dispatch.is_compiled("cpu", torch.float64)
    monkeypatch.setattr(dispatch, "wanted", "fast")
    with pytest.raises(ValueError, match="HYPERGNN_BACKEND must be one of auto, numba, torch; got 'fast'"):
        dispatch.is_compiled("cpu", torch.float32)


@pytest.mark.slow
@pytest.mark.parametrize("values_need_grad", [True, False])
def test_values_are_summed_over_either_side(H, values_need_grad):
    values = random(2, H.n_incidences, 9).abs()
    for by, is_turned in ((H.incidence, False), (H.incidence.T, True)):
        n_members = H.n_vertices if is_turned else H.n_hyperedges
        weight = random(n_members).abs()
        weighted, plain = value_sums(values, by, weight), value_sums(values, by)
        for head in range(9):
            matrix = attended(H, values[1, :, head])
            matrix = matrix.T if is_turned else matrix
            torch.testing.assert_close(weighted[1, :, head], matrix @ weight)
            torch.testing.assert_close(plain[1, :, head], matrix.sum(1))
        if H.n_incidences and values_need_grad:
            small = values[:, :, :2].clone().requires_grad_()
            assert gradcheck(lambda values, by=by, weight=weight: value_sums(values, by, weight), small)
            assert gradgradcheck(lambda values, by=by, weight=weight: value_sums(values, by, weight), small)
        elif H.n_incidences:
            own = random(2, n_members).abs().requires_grad_()
            assert gradcheck(lambda weight, by=by: value_sums(values[:, :, :2], by, weight), own)


@pytest.mark.parametrize("root", [True, False])
def test_the_inverse_of_no_degree_is_nothing(root):
    degree = torch.tensor([[0.25, 4.0, 0.0, 1e-200]], dtype=torch.float64).requires_grad_()
    inverted = inverse(degree, root=root, least=1e-100)
    assert inverted.tolist() == ([[2.0, 0.5, 0.0, 0.0]] if root else [[4.0, 0.25, 0.0, 0.0]])
    (grad,) = torch.autograd.grad(inverted.sum(), degree)
    assert grad.tolist() == ([[-4.0, -1 / 16, 0.0, 0.0]] if root else [[-16.0, -1 / 16, 0.0, 0.0]])
    some = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda degree: inverse(degree, root=root, least=1e-100), some)


def test_large_groups_are_split_among_all_threads(skewed, monkeypatch):
    pieces = []
    monkeypatch.setattr(threads, "run_all", lambda jobs, _: pieces.append(len(jobs)) or [job() for job in jobs])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    backend.gather(torch.rand(1, skewed.n_vertices, 1, 64), skewed.incidence.T)
    assert len(pieces) == 2
    assert pieces[1] >= 20_000 // large_groups.PIECE / 2


@pytest.fixture
def giants():
    """Three hyperedges with very many members, two with many, and three with few."""
    rng = torch.Generator().manual_seed(0)
    small = [torch.randint(0, 9000, (size,), generator=rng).unique().tolist() for size in (1, 2, 5, 80, 120)]
    return Hypergraph.from_hyperedges([*small, range(9000), range(10, 3010), range(0, 9000, 2)], n_vertices=9001)


@pytest.fixture
def walked(monkeypatch):
    """The large groups of each sum that was computed by reading rows in order, with a cache of size 0."""
    found, walk = [], segment._walk
    monkeypatch.setattr(large_groups, "CACHE", 0)
    monkeypatch.setattr(segment, "_walk", lambda *given: found.append(given[2]) or walk(*given))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("room", [1, 2, 4, 1 << 20], ids="sums at hand: {}".format)
@pytest.mark.parametrize("width", [1, 8, 13])
def test_large_groups_are_summed_by_walking_the_rows(giants, walked, width, room, dtype, monkeypatch):
    x, right = random(2, giants.n_vertices, width, dtype=dtype), random(2, giants.n_vertices, 1, dtype=dtype)
    left, middle = random(1, giants.n_vertices, 1, dtype=dtype), random(2, giants.n_hyperedges, 1, dtype=dtype)
    given = (giants.incidence, left, middle, right)
    monkeypatch.setattr(large_groups, "SUMS", room * dtype.itemsize * width)
    far = fixed_transition(x, *given)
    if dispatch.is_compiled("cpu", dtype):
        assert [found.groups.size for found in walked] == [min(room, 5)]
        assert walked[0].n_giants == min(room, 3)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(threads, "threads_for", lambda _: 3)
    assert torch.equal(fixed_transition(x, *given), far)
    monkeypatch.setattr(large_groups, "CACHE", 1 << 30)
    close = {"rtol": 1e-4, "atol": 1e-3} if dtype == torch.float32 else {}
    torch.testing.assert_close(far, fixed_transition(x, *given), **close)


def test_learned_weights_are_summed_by_walking_the_rows(giants, walked):
    x, weight = random(giants.n_vertices, 2).requires_grad_(), random(giants.n_hyperedges, 1).abs().requires_grad_()
    matrix = dense(giants)
    found = transition(x, giants.incidence, giants.incidence, middle=weight)
    wanted = matrix @ (weight * (matrix.T @ x))
    torch.testing.assert_close(found, wanted)
    grads = [torch.autograd.grad(one.square().sum(), (x, weight)) for one in (found, wanted)]
    torch.testing.assert_close(*grads)
    if dispatch.is_compiled("cpu", x.dtype):
        assert len(walked) == 2, "once forward and once backward"


@pytest.mark.usefixtures("walked")
def test_long_sums_keep_what_they_add(monkeypatch):
    monkeypatch.setattr(dispatch, "wanted", "numba")
    n = 1_000_000
    H = Hypergraph.from_incidence(torch.arange(n), torch.zeros(n, dtype=torch.int64), n, 1)
    total = segment_sum(torch.full((n, 1), 0.1), by=H.incidence.T)
    there = fixed_transition(torch.full((n, 8), 0.1), H.incidence, None, torch.full((1, 1, 1), 1 / n), None)
    torch.testing.assert_close(total, torch.tensor([[n * 0.1]]), rtol=1e-4, atol=0)
    torch.testing.assert_close(there[:1], torch.full((1, 8), 0.1), rtol=1e-4, atol=0)


def test_large_groups_are_cached_with_their_structure(monkeypatch):
    monkeypatch.setattr(large_groups, "CACHE", 0)
    H = Hypergraph.from_hyperedges([range(100), range(40)], n_vertices=100)
    by = H.incidence.T
    found = large_groups.large_groups(by, 4)
    assert found.groups.tolist() == [0]
    assert found.most == large_groups.LARGE
    assert large_groups.large_groups(by, 4) is found
    assert large_groups.large_groups(by, 8) is found, "rows of another width share the same groups"
    forgotten = weakref.ref(by.offsets)
    del H, by
    gc.collect()
    assert forgotten() is None
    few = Hypergraph.from_hyperedges([range(100), *[[k % 100] for k in range(900)]], n_vertices=100)
    assert large_groups.large_groups(few.incidence.T, 4) is None


@pytest.mark.parametrize("trials", [(), (1,), (3,)])
@pytest.mark.parametrize("bias", [None, (), "own"])
def test_a_transition_and_its_activation_in_one_step_are_those_in_two(H, trials, bias):
    x, left = random(*trials, H.n_vertices, 5), random(1, H.n_vertices, 1)
    middle, right = random(1, H.n_hyperedges, 1), random(1, H.n_vertices, 1)
    added = None if bias is None else random(*(trials if bias else ()), 5)
    given = (H.incidence, left, middle, right)
    in_two = elu_dropout(fixed_transition(x, *given), added)
    torch.testing.assert_close(activated(x, *given, added), in_two)
    learned = activated(x.requires_grad_(), *given, added)
    torch.testing.assert_close(learned, in_two)
    assert learned.requires_grad


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [1, 7, 64])
def test_many_rows_are_activated_with_the_bits_of_two_steps(dtype, width, monkeypatch):
    rng = torch.Generator().manual_seed(0)
    members = [torch.randint(0, 3000, (4,), generator=rng).unique().tolist() for _ in range(2000)]
    H = Hypergraph.from_hyperedges(members, n_vertices=3000)
    x, bias = torch.randn(3, 3000, width, generator=rng, dtype=dtype), torch.randn(3, width, dtype=dtype)
    given = (H.incidence, torch.rand(1, 3000, 1, dtype=dtype), None, None)
    in_one, in_two = activated(x, *given, bias), elu_dropout(fixed_transition(x, *given), bias)
    assert torch.equal(in_one, in_two)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(threads, "threads_for", lambda _: 2)
    assert torch.equal(activated(x, *given, bias), in_two)


def test_rows_without_an_axis_of_trials_get_that_of_their_bias(H):
    x, bias = random(H.n_vertices, 4), random(3, 4)
    factors = (H.incidence, None, None, None)
    wanted = torch.nn.functional.elu(fixed_transition(x, *factors) + bias.unsqueeze(1))
    torch.testing.assert_close(activated(x, *factors, bias), wanted)
    torch.testing.assert_close(elu_dropout(fixed_transition(x, *factors), bias), wanted)
    with pytest.raises(ValueError, match="bias must have 4 entries"):
        elu_dropout(x, random(5))


def test_a_transition_with_a_giant_is_activated_once(skewed):
    x, bias = torch.rand(skewed.n_vertices, 3) - 2, torch.rand(3)
    found = activated(x, skewed.incidence, None, None, None, bias)
    torch.testing.assert_close(found, elu_dropout(fixed_transition(x, skewed.incidence, None, None, None), bias))


def test_weights_of_one_may_be_omitted(H):
    values, ones = random(2, H.n_incidences, 3).requires_grad_(), torch.ones(H.n_hyperedges, dtype=torch.float64)
    found, wanted = value_sums(values, H.incidence), value_sums(values, H.incidence, ones)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(*[torch.autograd.grad(one.square().sum(), values) for one in (found, wanted)])


@pytest.mark.slow
def test_torch_accepts_the_fused_operators():
    H = hypergraph("more vertices than hyperedges")
    x, values = random(2, H.n_vertices, 2, 3).requires_grad_(), random(2, H.n_incidences, 2).requires_grad_()
    left, middle = random(2, H.n_vertices, 2).requires_grad_(), random(1, H.n_hyperedges, 1).requires_grad_()
    by = H.incidence.T
    sides, R = (*H.incidence, *H.incidence), receivers_of(H)
    opcheck(fused.transition.traced, (x, left, middle, None, values, None, True, *sides))
    opcheck(fused.transition.traced, (x, None, None, left.detach(), None, None, False, *sides))
    received = random(2, R.n_incidences, 2).requires_grad_()
    opcheck(fused.transition.traced, (x, None, middle, left, values, received, True, *H.incidence, *R.incidence))
    scores = random(2, H.n_hyperedges, 2).requires_grad_(), random(2, H.n_vertices, 2).requires_grad_()
    opcheck(fused.attend.traced, (*scores, 0.2, *by))
    opcheck(fused.head_scores.traced, (x, random(2, 3, 2, 3).requires_grad_()))
    opcheck(fused.elu_dropout.traced, (x, random(2, 3).requires_grad_(), 0.4, KEYS, None))
    rows = torch.arange(H.n_vertices, dtype=torch.int32)
    opcheck(fused.elu_dropout.traced, (x[:, :, 0].detach().requires_grad_(), None, 0.4, KEYS, rows))
    opcheck(fused.elu_dropout.traced, (x, None, 0.0, None, None))
    opcheck(fused.relu_dropout.traced, (x, random(2, 3).requires_grad_(), 0.4, KEYS, None))
    opcheck(fused.relu_dropout.traced, (x[:, :, 0].detach().requires_grad_(), None, 0.4, KEYS, rows))
    opcheck(fused.value_sums.traced, (values, random(1, H.n_vertices), *by))
    opcheck(fused.value_sums.traced, (values, None, *by))
    opcheck(fused.inverse.traced, (values, True, 0.1))
    shared = values.detach()[0, :, 0].clone().requires_grad_()
    opcheck(fused.dropped_sum.traced, (x[:, :, 0].detach().clone().requires_grad_(), shared, KEYS, 0.4, *by))
    opcheck(fused.transition.traced, (x[:, :, 0].detach().clone().requires_grad_(), *[None] * 5, False, *sides))
    opcheck(fused.cross_entropy.traced, (x[:, :, 0].detach().clone().requires_grad_(), CLASSES, ROWS))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("width", [2, 64])
def test_results_are_laid_out_as_compiled_programs_expect(width):
    """Which the fake kernels promise: contiguous."""
    x, grad = random(1, 40, 5), random(1, 40, width)
    assert torch.ops.hypergnn.matmul_backward(x, grad).is_contiguous()
    assert torch.ops.hypergnn.matmul(x, random(1, 5, width)).is_contiguous()


@pytest.mark.slow
def test_torch_accepts_the_operators():
    H = hypergraph("more vertices than hyperedges")
    x, values = random(2, H.n_vertices, 2, 3).requires_grad_(), random(2, H.n_incidences, 2).requires_grad_()
    opcheck(ops.segment_sum.traced, (x, values, *H.incidence.T))
    opcheck(ops.segment_sum.traced, (x, None, *H.incidence.T))
    opcheck(ops.incidence_dot.traced, (random(2, H.n_hyperedges, 2, 3), x, *H.incidence.T))
    opcheck(ops.segment_softmax.traced, (values, *H.incidence.T))
    opcheck(ops.segment_total.traced, (values, *H.incidence.T))
    opcheck(ops.matmul.traced, (random(2, 5, 6).requires_grad_(), random(2, 6, 4).requires_grad_()))
    opcheck(ops.seeded_dropout.traced, (values, 0.4, torch.tensor([[1, 2], [3, 4]], dtype=torch.int32), None))
    opcheck(ops.segment_softmax.traced, (values, *H.incidence))


FORKS = """
import multiprocessing
import torch
from hypergnn import Hypergraph, functional
from hypergnn.kernels.cpu import threads

H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5)
x = torch.ones(5, 8)
torch.set_num_threads(2)
threads.WORTH_A_THREAD = 1
expected, pool = functional.hypergraph_conv(x, H), threads.pool()

def compute(connection):
    connection.send((threads.pool() is pool, functional.hypergraph_conv(x, H).tolist()))

near, far = multiprocessing.Pipe()
child = multiprocessing.get_context("fork").Process(target=compute, args=(far,), daemon=True)
child.start()
assert near.poll(60)
shared, found = near.recv()
assert not shared  # the lock of the pool's queue may be held by a thread that the child lacks
assert found == expected.tolist()
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numba"], indirect=True)
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_kernels_run_in_a_process_forked_by_the_user():
    """In a process of its own: torch's threads, once started, do not survive a fork."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], check=True, timeout=120)
