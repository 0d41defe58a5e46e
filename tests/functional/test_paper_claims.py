"""What Section 3 of the paper claims, and the exact fractions that other libraries get wrong."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from support.structures import adjacency, dense, random

from hypergnn import Graph, Hypergraph, HypergraphAttention, HypergraphConv, functional

pytestmark = pytest.mark.usefixtures("backend")


def transition(H: Hypergraph, normalization: str) -> torch.Tensor:
    return functional.hypergraph_conv(torch.eye(H.n_vertices, dtype=torch.float64), H, normalization=normalization)


def random_hypergraph(seed: int, n_vertices: int = 9, n_hyperedges: int = 6) -> Hypergraph:
    rng = np.random.default_rng(seed)
    vertex, hyperedge = np.nonzero(rng.random((n_vertices, n_hyperedges)) < 0.4)
    return Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges, rng.uniform(0.1, 5, n_hyperedges))


def test_the_worked_example_is_exact():
    H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])
    third, quarter, twelfth = Fraction(1, 3), Fraction(1, 4), Fraction(1, 12)
    middle = [twelfth, third, third, quarter]
    expected = [[third, third, third, 0], middle, middle, [0, third, third, third]]
    torch.testing.assert_close(
        transition(H, "row"), torch.tensor([[float(entry) for entry in row] for row in expected], dtype=torch.float64)
    )


def test_equal_logits_and_unit_weights_make_attention_a_plain_mean():
    H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4)
    layer = HypergraphAttention(4, 4, bias=False).double()
    with torch.no_grad():
        layer.projection.copy_(torch.eye(4))
        layer.a_vertex.zero_()
        layer.a_hyperedge.zero_()
    out, attention = layer(torch.eye(4, dtype=torch.float64), H, return_attention=True)
    assert functional.vertex_degree(H, incidence=attention).flatten().tolist() == [1.0] * 4
    assert functional.hyperedge_degree(H, incidence=attention).flatten().tolist() == [2.0, 2.0]
    torch.testing.assert_close(out.sum(1), torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("seed", range(5))
def test_the_symmetric_transition_has_no_eigenvalue_above_one(seed):
    T = transition(random_hypergraph(seed), "symmetric")
    torch.testing.assert_close(T, T.T)
    eigenvalues = torch.linalg.eigvalsh(T)
    assert eigenvalues.max() <= 1 + 1e-12
    assert torch.linalg.eigvalsh(torch.eye(len(T), dtype=T.dtype) - T).min() >= -1e-12


def test_the_unnormalised_transition_has_no_such_bound():
    assert torch.linalg.eigvalsh(transition(random_hypergraph(0), "none")).max() > 2


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_the_row_normalised_transition_are_probabilities(seed):
    H = random_hypergraph(seed)
    T = transition(H, "row")
    linked = (H.vertex_degree() > 0).double()
    assert (T >= 0).all()
    torch.testing.assert_close(T.sum(1), linked)
    assert not torch.allclose(T, T.T)  # "directional and asymmetric"
    assert torch.linalg.eigvals(T).abs().max() <= 1 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["symmetric", "row"])
@pytest.mark.parametrize("factor", [7, 1e-14, 1e14])
def test_a_common_factor_of_all_weights_changes_nothing(normalization, factor):
    H = random_hypergraph(1)
    scaled = Hypergraph.from_scipy(H.to_scipy(), H.weight * factor)
    torch.testing.assert_close(transition(scaled, normalization), transition(H, normalization))
    x = random(9, 3, dtype=torch.float32)
    single = functional.hypergraph_conv(x, scaled, normalization=normalization)
    torch.testing.assert_close(single, functional.hypergraph_conv(x, H, normalization=normalization))
    heads, incidence = x.unsqueeze(1), random(H.n_incidences, 1, dtype=torch.float32).abs() * 1e-9
    attended = functional.hypergraph_attention(heads, scaled, incidence, normalization=normalization)
    torch.testing.assert_close(
        attended, functional.hypergraph_attention(heads, H, incidence, normalization=normalization)
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("softmax_over", ["hyperedges", "vertices"])
def test_the_same_holds_with_attention(seed, softmax_over):
    H = random_hypergraph(seed)
    score = random(9, 1, 1, seed=seed), random(6, 1, 1, seed=seed + 1), torch.ones(1, 1, dtype=torch.float64)
    incidence = functional.attention_incidence(*score[:2], H, score[2], score[2], softmax_over=softmax_over)
    identity = torch.eye(9, dtype=torch.float64).unsqueeze(1)
    symmetric, row = (
        functional.hypergraph_attention(identity, H, incidence, normalization=normalization)[:, 0]
        for normalization in ("symmetric", "row")
    )
    assert torch.linalg.eigvalsh(symmetric).max() <= 1 + 1e-12
    torch.testing.assert_close(symmetric, symmetric.T)
    torch.testing.assert_close(row.sum(1), (H.vertex_degree() > 0).double())


def test_the_transition_is_not_binary_before_any_attention():
    T = transition(random_hypergraph(0), "row")
    assert len(T.unique()) > 3


def test_a_heavier_hyperedge_propagates_more():
    light = Hypergraph.from_hyperedges([[0, 1], [0, 2]], n_vertices=3, weight=[1.0, 1.0])
    heavy = Hypergraph.from_hyperedges([[0, 1], [0, 2]], n_vertices=3, weight=[1.0, 4.0])
    assert transition(heavy, "row")[0, 2] > transition(light, "row")[0, 2]
    assert transition(heavy, "row")[0, 1] < transition(light, "row")[0, 1]


def test_only_vertices_of_a_common_hyperedge_exchange_anything():
    H = random_hypergraph(2)
    share = (dense(H) @ dense(H).T) > 0
    for normalization in ("symmetric", "row", "none"):
        assert ((transition(H, normalization) != 0) == share).all()


def test_graph_convolution_is_the_two_uniform_special_case():
    links = ([0, 0, 1, 2, 3], [1, 2, 2, 3, 4])
    H = Hypergraph.from_hyperedges(list(zip(*links, strict=True)), n_vertices=5)
    A = adjacency(Graph.from_links(*links, n_vertices=5))
    D_root = torch.diag(A.sum(1) ** -0.5)
    A_tilde = torch.eye(5, dtype=torch.float64) + D_root @ A @ D_root
    torch.testing.assert_close(transition(H, "symmetric"), A_tilde / 2)
    eigenvalues = torch.linalg.eigvalsh(A_tilde)
    assert eigenvalues.min() >= -1e-12
    assert eigenvalues.max() <= 2 + 1e-12
    assert torch.equal(H.hyperedge_degree(), torch.full((5,), 2.0, dtype=torch.float64))


def test_the_row_normalised_transition_factors_into_two_l1_normalisations():
    H = random_hypergraph(3)
    weighted = dense(H) * H.weight
    by_row = torch.nn.functional.normalize(weighted, p=1, dim=1)
    by_column = torch.nn.functional.normalize(dense(H), p=1, dim=0)
    torch.testing.assert_close(transition(H, "row"), by_row @ by_column.T)


@pytest.mark.parametrize("normalization", ["symmetric", "row", "none"])
def test_the_order_of_vertices_and_hyperedges_does_not_matter(normalization):
    H, rng = random_hypergraph(4), np.random.default_rng(0)
    vertex_order, hyperedge_order = rng.permutation(H.n_vertices), rng.permutation(H.n_hyperedges)
    vertices = np.ix_(vertex_order, vertex_order)
    shuffled = Hypergraph.from_scipy(H.to_scipy()[vertex_order][:, hyperedge_order], H.weight.numpy()[hyperedge_order])
    torch.testing.assert_close(transition(shuffled, normalization), transition(H, normalization)[vertices])
    layer = HypergraphAttention(3, 2, normalization=normalization).double()
    x = random(H.n_vertices, 3)
    torch.testing.assert_close(layer(x[vertex_order], shuffled), layer(x, H)[vertex_order])


@pytest.mark.slow
def test_attention_of_each_group_sums_to_one(H, softmax_over):
    x = random(H.n_vertices, 3)
    layer = HypergraphAttention(3, 2, heads=2, softmax_over=softmax_over).double()
    _, attention = layer(x, H, return_attention=True)
    if softmax_over == "hyperedges":
        sums, members = functional.vertex_degree(H, incidence=attention, weight=torch.ones_like(H.weight)), H.vertex
    else:
        sums, members = functional.hyperedge_degree(H, incidence=attention), H.hyperedge
    expected = torch.zeros_like(sums)
    expected[members.unique()] = 1
    torch.testing.assert_close(sums, expected)


def test_heads_of_a_convolution_share_the_incidence_and_those_of_an_attention_do_not():
    H, x = random_hypergraph(5), random(9, 3)
    conv = HypergraphConv(3, 2, heads=2, bias=False).double()
    first, second = conv.projection.chunk(2, dim=1)
    T = transition(H, "symmetric")
    torch.testing.assert_close(conv(x, H), torch.cat([T @ x @ first, T @ x @ second], dim=1))
    _, attention = HypergraphAttention(3, 2, heads=2).double()(x, H, return_attention=True)
    assert not torch.allclose(attention[:, 0], attention[:, 1])
