"""What the steps refuse, each with one sentence: tensors that compiled loops cannot read as they are."""

import math
import warnings

import pytest
import torch

from hypergnn import DirectedHypergraph, Graph, Hypergraph, functional

H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3], []], 6)
X, MESSAGES, VALUES = torch.rand(6, 2, 3), torch.rand(3, 2, 3), torch.rand(6, 2)
SCORES, OF_HYPEREDGES = torch.rand(6, 2), torch.rand(3, 2)
SOFTMAX = (functional.softmax_over_hyperedges, functional.softmax_over_members)


def nested():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([X, X])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: functional.to_hyperedges(torch._neg_view(X), H), "x must not be a view with the negative bit"),
        (lambda: functional.propagate(nested(), H), "x must be a rectangular tensor; got a nested one"),
        (lambda: functional.to_hyperedges(X.to(torch.float8_e4m3fn), H), "x must not be float8_e4m3fn"),
        (lambda: functional.to_hyperedges(X.to_mkldnn(), H), "x must be dense"),
        (lambda: functional.to_hyperedges(X, H, values=torch._neg_view(VALUES)), "values must not be a view"),
        (
            lambda: functional.to_hyperedges(X, H, values=VALUES.to_sparse()),
            "values must be dense; got torch.sparse_coo",
        ),
        (lambda: functional.to_vertices(MESSAGES, H, values=VALUES.to_sparse_csr()), "values must be dense"),
        (lambda: functional.propagate(X, H, left=[[1.0]] * 6), "left must be a torch tensor; got list"),
        (lambda: functional.propagate(X, H, middle=torch.rand(3, 2).to_sparse()), "middle must be dense"),
        (lambda: functional.propagate(X, H, right=nested()), "right must be a rectangular tensor"),
        (lambda: functional.of_receivers(X, None), "H must be a Hypergraph or a Block; got NoneType"),
        (lambda: functional.of_receivers(None, H), "x must be a torch tensor; got NoneType"),
        (lambda: functional.spectral_conv(X[:, 0].bfloat16(), H), "x must be float32 or float64"),
    ],
)
def test_tensors_that_loops_cannot_read_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("softmax", SOFTMAX)
def test_scores_must_be_plain_numbers_where_the_structure_is(softmax):
    for scores in (torch._neg_view(SCORES), SCORES.to_sparse(), SCORES.to(torch.float8_e4m3fn), SCORES.half()):
        with pytest.raises(TypeError, match="vertex_score must"):
            softmax(scores, OF_HYPEREDGES, H)
    with pytest.raises(ValueError, match="hyperedge_score is on cpu but the structure is on meta"):
        softmax(SCORES, OF_HYPEREDGES, H.to("meta"))


@pytest.mark.parametrize("slope", [math.nan, math.inf, "x", None, True])
@pytest.mark.parametrize("softmax", SOFTMAX)
def test_slopes_must_be_finite(softmax, slope):
    with pytest.raises(ValueError, match="negative_slope must be a finite number"):
        softmax(SCORES, OF_HYPEREDGES, H, negative_slope=slope)
    halves = torch.rand(2, 3), torch.rand(2, 3)
    with pytest.raises(ValueError, match="negative_slope must be a finite number"):
        functional.attention_incidence(X, None, H, *halves, negative_slope=slope)
    with pytest.raises(ValueError, match="negative_slope must be a finite number"):
        functional.attention_links(X, Graph.from_links([0], [1], 6), *halves, negative_slope=slope)


def test_directed_hyperedges_must_be_a_list():
    directed = DirectedHypergraph.from_hyperedges([([0], [1])], 2)
    for call in (directed.add, lambda given: DirectedHypergraph.from_hyperedges(given, 2)):
        with pytest.raises(TypeError, match=r"hyperedges must be a list of pairs.*; got NoneType"):
            call(None)
