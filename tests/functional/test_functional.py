"""Every equation against its dense transcription, in float64, on every awkward structure."""

from dataclasses import replace

import pytest
import torch
from support.structures import adjacency, attended, centroids, dense, hypergraph, random
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck

from hypergnn import Graph, Hypergraph, functional, kernels, reference
from hypergnn.functional.attention import attended_conv

pytestmark = pytest.mark.usefixtures("backend")

WORKED = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4, weight=[1.0, 3.0])


def positive(*shape: int) -> torch.Tensor:
    return random(*shape).abs() + 0.1


def test_degrees_equal_their_definition(H):
    W = H.weight
    torch.testing.assert_close(functional.vertex_degree(H), reference.vertex_degree(dense(H), W))
    torch.testing.assert_close(functional.hyperedge_degree(H), reference.hyperedge_degree(dense(H)))
    other = positive(H.n_hyperedges)
    torch.testing.assert_close(functional.vertex_degree(H, weight=other), reference.vertex_degree(dense(H), other))


def test_degrees_of_an_attended_incidence_are_its_sums(H):
    incidence = positive(H.n_incidences, 2)
    D = functional.vertex_degree(H, incidence=incidence)
    B = functional.hyperedge_degree(H, incidence=incidence)
    for head in range(2):
        matrix = attended(H, incidence[:, head])
        torch.testing.assert_close(D[:, head], reference.vertex_degree(matrix, H.weight))
        torch.testing.assert_close(B[:, head], reference.hyperedge_degree(matrix))


def test_conv_equals_the_transition_times_features(H, normalization):
    x = random(H.n_vertices, 3)
    expected = reference.transition(dense(H), H.weight, normalization) @ x
    torch.testing.assert_close(functional.hypergraph_conv(x, H, normalization=normalization), expected)


@pytest.mark.parametrize("width", [2, 5])
def test_projection_may_come_on_either_side(H, normalization, width):
    x, P = random(H.n_vertices, 3), random(3, width)
    out = functional.hypergraph_conv(x, H, normalization=normalization, projection=P)
    torch.testing.assert_close(out, reference.transition(dense(H), H.weight, normalization) @ x @ P)


def test_unnormalised_conv_equals_the_double_sum(H):
    x, P = random(H.n_vertices, 3), random(3, 2)
    out = functional.hypergraph_conv(x, H, normalization="none", projection=P)
    torch.testing.assert_close(out, reference.conv_sums(x, dense(H), H.weight, P))


def test_given_weights_replace_those_of_the_hypergraph(H, normalization):
    x, weight = random(H.n_vertices, 3), positive(H.n_hyperedges)
    out = functional.hypergraph_conv(x, H, normalization=normalization, weight=weight)
    torch.testing.assert_close(out, reference.transition(dense(H), weight, normalization) @ x)


@pytest.mark.slow
def test_conv_gradients_are_exact(H, normalization):
    x = random(H.n_vertices, 2).requires_grad_()
    P, weight = random(2, 3).requires_grad_(), positive(H.n_hyperedges).requires_grad_()

    def conv(x, P, weight):
        return functional.hypergraph_conv(x, H, normalization=normalization, projection=P, weight=weight)

    assert gradcheck(conv, (x, P, weight))


@pytest.mark.slow
def test_sparse_features_give_the_same(H, normalization):
    x, P = random(H.n_vertices, 4).relu(), random(4, 3).requires_grad_()
    for projection in (None, P):
        dense_out = functional.hypergraph_conv(x, H, normalization=normalization, projection=projection)
        out = functional.hypergraph_conv(x.to_sparse_csr(), H, normalization=normalization, projection=projection)
        torch.testing.assert_close(out, dense_out)
    torch.testing.assert_close(*(torch.autograd.grad(y.square().sum(), P)[0] for y in (out, dense_out)))


def test_trials_are_independent(normalization):
    H = hypergraph("more vertices than hyperedges")
    x, P, weight = random(2, H.n_vertices, 3), random(2, 3, 4), positive(2, H.n_hyperedges)
    together = functional.hypergraph_conv(x, H, normalization=normalization, projection=P, weight=weight)
    for trial in range(2):
        alone = functional.hypergraph_conv(
            x[trial], H, normalization=normalization, projection=P[trial], weight=weight[trial]
        )
        torch.testing.assert_close(together[trial], alone)


def test_hyperedge_features_are_centroids_or_means(H):
    x = random(H.n_vertices, 3)
    expected = reference.hyperedge_features(x, dense(H), centroids(H))
    torch.testing.assert_close(functional.hyperedge_features(x, H), expected)


def score(H, x, u, P, Q, a, softmax_over):
    """Attended incidence of two heads from unprojected features: ``P`` and ``Q`` ``(F, 2, F')``, ``a`` ``(2, 2F')``."""
    projected = torch.einsum("nf,fhd->nhd", x, P)
    return functional.attention_incidence(
        projected,
        torch.einsum("mf,fhd->mhd", u, Q),
        H,
        *a.chunk(2, dim=-1),
        softmax_over=softmax_over,
        negative_slope=0.3,
    ), projected


@pytest.mark.slow
def test_attention_equals_its_definition(H, softmax_over):
    x, u = random(H.n_vertices, 3), random(H.n_hyperedges, 5)
    P, Q, a = random(3, 2, 4), random(5, 2, 4), random(2, 8)
    incidence, _ = score(H, x, u, P, Q, a, softmax_over)
    assert incidence.shape == (H.n_incidences, 2)
    for head in range(2):
        expected = reference.attention(x, u, dense(H), P[:, head], Q[:, head], a[head], softmax_over, 0.3)
        torch.testing.assert_close(attended(H, incidence[:, head]), expected)


@pytest.mark.slow
def test_attended_conv_takes_its_degrees_from_the_attended_incidence(H, normalization, softmax_over):
    x, u = random(H.n_vertices, 3), random(H.n_hyperedges, 3)
    P, a = random(3, 2, 4), random(2, 8)
    incidence, projected = score(H, x, u, P, P, a, softmax_over)
    out = functional.hypergraph_attention(projected, H, incidence, normalization=normalization)
    for head in range(2):
        matrix = reference.attention(x, u, dense(H), P[:, head], P[:, head], a[head], softmax_over, 0.3)
        expected = reference.transition(matrix, H.weight, normalization) @ x @ P[:, head]
        torch.testing.assert_close(out[:, head], expected)


@pytest.mark.slow
@pytest.mark.parametrize("is_weighted", [True, False], ids=["own weights", "equal weights"])
def test_degrees_that_a_softmax_makes_1_need_not_be_summed(H, normalization, softmax_over, is_weighted):
    H = H if is_weighted else replace(H, weight=torch.full_like(H.weight, 3.0))
    x, u = random(H.n_vertices, 3).requires_grad_(), random(H.n_hyperedges, 3)
    P, a = random(3, 2, 4), random(2, 8).requires_grad_()
    incidence, projected = score(H, x, u, P, P, a, softmax_over)
    options = {"normalization": normalization, "softmax_over": softmax_over, "negative_slope": 0.3}
    scored = (projected, torch.einsum("nf,fhd->nhd", u, P), H, *a.chunk(2, dim=-1))
    found, same = attended_conv(*scored, **options, drop=lambda values, _: 2 * values)
    wanted = functional.hypergraph_attention(
        projected, H, incidence, normalization=normalization, dropped=2 * incidence
    )
    assert same.equal(incidence)
    torch.testing.assert_close(found, wanted)
    grads = [torch.autograd.grad(one.square().sum(), (x, a), retain_graph=True) for one in (found, wanted)]
    torch.testing.assert_close(*grads)


@pytest.mark.slow
def test_attended_conv_with_given_weights(H, normalization):
    x, incidence, weight = random(H.n_vertices, 1, 3), positive(H.n_incidences, 1), positive(H.n_hyperedges)
    out = functional.hypergraph_attention(x, H, incidence, normalization=normalization, weight=weight)
    T = reference.transition(attended(H, incidence[:, 0]), weight, normalization)
    torch.testing.assert_close(out[:, 0], T @ x[:, 0])


@pytest.mark.slow
def test_gradients_flow_through_attention_into_both_degrees(H, normalization, softmax_over):
    u = random(H.n_hyperedges, 2)
    x, P = random(H.n_vertices, 2).requires_grad_(), random(2, 2, 2).requires_grad_()
    a, weight = random(2, 4).requires_grad_(), positive(H.n_hyperedges).requires_grad_()

    def attention(x, P, a, weight):
        incidence, projected = score(H, x, u, P, P, a, softmax_over)
        return functional.hypergraph_attention(projected, H, incidence, normalization=normalization, weight=weight)

    assert gradcheck(attention, (x, P, a, weight), fast_mode=True)


@pytest.mark.slow
def test_dropout_comes_after_the_degrees_were_taken(H, normalization):
    x, incidence = random(H.n_vertices, 1, 3), positive(H.n_incidences, 1)
    mask = (random(H.n_incidences, 1, seed=3) > 0).double() * 2
    out = functional.hypergraph_attention(x, H, incidence, normalization=normalization, dropped=incidence * mask)
    matrix, masked = attended(H, incidence[:, 0]), attended(H, (incidence * mask)[:, 0])
    D, B = reference.vertex_degree(matrix, H.weight), reference.hyperedge_degree(matrix)
    left = {"none": D**0, "row": reference._power(D, -1), "symmetric": reference._power(D, -0.5)}[normalization]
    right = reference._power(D, -0.5) if normalization == "symmetric" else D**0
    B_inverse = B**0 if normalization == "none" else reference._power(B, -1)
    T = torch.diag(left) @ masked @ torch.diag(H.weight * B_inverse) @ masked.T @ torch.diag(right)
    torch.testing.assert_close(out[:, 0], T @ x[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_attention_stays_finite(softmax_over, normalization, dtype):
    H = hypergraph("more hyperedges than vertices")
    x = random(H.n_vertices, 1, 2, dtype=dtype).requires_grad_()
    a = torch.full((1, 2), 3.0, dtype=dtype, requires_grad=True)
    u = (torch.arange(H.n_hyperedges, dtype=dtype) * 60).reshape(-1, 1, 1).expand(-1, 1, 2)
    incidence = functional.attention_incidence(x * 20, u, H, a, a, softmax_over=softmax_over)
    out = functional.hypergraph_attention(x, H, incidence, normalization=normalization)
    grads = torch.autograd.grad(out.square().sum(), (x, a))
    assert out.isfinite().all()
    assert all(grad.isfinite().all() for grad in grads)


def test_isolated_vertices_and_empty_hyperedges_receive_exactly_nothing(normalization):
    H = Hypergraph.from_hyperedges([[0, 1], []], n_vertices=3)
    x = torch.rand(3, 2, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)
    out = functional.hypergraph_conv(x, H, normalization=normalization, weight=weight)
    out.sum().backward()
    assert out[2].tolist() == [0.0, 0.0]
    assert x.grad[2].tolist() == [0.0, 0.0]
    assert weight.grad.isfinite().all()
    assert weight.grad[1] == 0


@pytest.mark.slow
def test_graph_conv_equals_the_renormalised_adjacency(graph, normalization):
    x, P = random(graph.n_vertices, 3), random(3, 2)
    T = reference.graph_transition(adjacency(graph), normalization)
    torch.testing.assert_close(functional.graph_conv(x, graph, normalization=normalization), T @ x)
    for width in (2, 4):
        P = random(3, width)
        out = functional.graph_conv(x, graph, normalization=normalization, projection=P)
        torch.testing.assert_close(out, T @ x @ P)
    sparse = functional.graph_conv(x.to_sparse_csr(), graph, normalization=normalization, projection=P)
    torch.testing.assert_close(sparse, out)


def test_graph_attention_runs_over_neighbours_and_the_vertex_itself(graph):
    x, P, a = random(graph.n_vertices, 3), random(3, 2, 4), random(2, 8)
    projected = torch.einsum("nf,fhd->nhd", x, P)
    attention = functional.attention_links(projected, graph, *a.chunk(2, dim=-1), negative_slope=0.3)
    out = functional.graph_attention(projected, graph, attention)
    neighbours = adjacency(graph) + torch.eye(graph.n_vertices)
    for head in range(2):
        Q = P[:, head]
        T = reference.attention(x, x, neighbours, Q, Q, a[head], "hyperedges", 0.3)
        torch.testing.assert_close(out[:, head], T @ x @ Q)


@pytest.mark.slow
def test_graph_gradients_are_exact(graph):
    x, a = random(graph.n_vertices, 2, 2).requires_grad_(), random(2, 4).requires_grad_()

    def attention(x, a):
        return functional.graph_attention(x, graph, functional.attention_links(x, graph, *a.chunk(2, dim=-1)))

    assert gradcheck(attention, (x, a))
    assert gradcheck(lambda x: functional.graph_conv(x, graph), (x.flatten(1).detach().requires_grad_(),))


def test_mean_of_both_transitions_shares_one_projection(normalization):
    H, graph = hypergraph("isolated vertex"), Graph.from_links([0, 1], [1, 4], n_vertices=5)
    x = random(5, 3)
    T_graph = reference.graph_transition(adjacency(graph), normalization)
    T = (T_graph + reference.transition(dense(H), H.weight, normalization)) / 2
    torch.testing.assert_close(functional.mean_conv(x, graph, H, normalization=normalization), T @ x)
    for width in (2, 4):
        P = random(3, width)
        out = functional.mean_conv(x, graph, H, normalization=normalization, projection=P)
        torch.testing.assert_close(out, T @ x @ P)


def test_mean_of_both_attentions(normalization):
    H, graph = hypergraph("isolated vertex"), Graph.from_links([0, 1], [1, 4], n_vertices=5)
    x, incidence = random(5, 1, 3), positive(H.n_incidences, 1)
    attention = positive(graph.target.shape[0], 1)
    out = functional.mean_attention(x, graph, H, attention, incidence, normalization=normalization)
    T_graph = torch.zeros(5, 5, dtype=torch.float64)
    T_graph[graph.target.long(), graph.source.long()] = attention[:, 0]
    T_hypergraph = reference.transition(attended(H, incidence[:, 0]), H.weight, normalization)
    torch.testing.assert_close(out[:, 0], (T_graph + T_hypergraph) / 2 @ x[:, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_dtype_of_the_features_is_kept(dtype):
    x = random(4, 3, dtype=dtype)
    assert functional.hypergraph_conv(x, WORKED).dtype == dtype
    heads = x.unsqueeze(1)
    a = random(1, 3, dtype=dtype)
    incidence = functional.attention_incidence(heads, functional.hyperedge_features(x, WORKED)[:, None], WORKED, a, a)
    assert incidence.dtype == dtype
    assert functional.hypergraph_attention(heads, WORKED, incidence).dtype == dtype


def test_attended_trials_are_independent(normalization):
    H = hypergraph("more hyperedges than vertices")
    x, incidence, mask = random(2, 3, 2, 4), positive(2, H.n_incidences, 2), positive(2, H.n_incidences, 2)
    together = functional.hypergraph_attention(x, H, incidence, normalization=normalization, dropped=incidence * mask)
    for trial in range(2):
        alone = functional.hypergraph_attention(
            x[trial], H, incidence[trial], normalization=normalization, dropped=(incidence * mask)[trial]
        )
        torch.testing.assert_close(together[trial], alone)


@pytest.mark.parametrize("width", [2, 9])
def test_the_projection_comes_on_the_cheaper_side(monkeypatch, width):
    widths = []

    def counting(x, *given, **scalings):
        widths.append(x.shape[-1])
        return transition(x, *given, **scalings)

    transition = kernels.transition
    monkeypatch.setattr(kernels, "transition", counting)
    functional.hypergraph_conv(random(4, 5), WORKED, projection=random(5, width))
    assert set(widths) == {min(width, 5)}


def test_sparse_features_of_no_vertex_are_projected_to_none():
    with torch.no_grad():
        assert functional.project(torch.zeros(0, 3).to_sparse_csr(), torch.rand(3, 2)).shape == (0, 2)


@pytest.mark.parametrize("shape", [(4, 2), (3, 4, 2)])
def test_unsound_sparse_features_are_refused_by_every_projection(shape):
    outside = (torch.tensor([0, 1, 2]), torch.tensor([0, 9]), torch.ones(2), (2, 4))
    x = torch.sparse_csr_tensor(*outside, check_invariants=False)
    with pytest.raises(ValueError, match="column indices of x"):
        functional.project(x, torch.rand(shape))


def test_sparse_features_are_never_made_dense(monkeypatch):
    x = torch.eye(4).to_sparse_csr()
    monkeypatch.setattr(torch.Tensor, "to_dense", None)
    assert functional.hypergraph_conv(x, WORKED, projection=torch.rand(4, 2)).shape == (4, 2)
    assert functional.graph_conv(x, Graph.from_links([0], [1], n_vertices=4), projection=torch.rand(4, 9)).shape == (
        4,
        9,
    )


def attention_arguments(**changes):
    arguments = {
        "x": torch.rand(4, 2, 3),
        "x_hyperedge": torch.rand(2, 2, 3),
        "H": WORKED,
        "a_vertex": torch.rand(2, 3),
        "a_hyperedge": torch.rand(2, 3),
    }
    return arguments | changes


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: functional.hypergraph_conv([[1.0]], WORKED), TypeError, r"x must be a torch tensor; got list"),
        (
            lambda: functional.hypergraph_conv(torch.ones(4, 2).long(), WORKED),
            TypeError,
            r"floating-point.*int64.*float",
        ),
        (lambda: functional.vertex_degree(WORKED, weight=torch.ones(3)), ValueError, r"weight must have shape \(2,\)"),
        (lambda: functional.vertex_degree(WORKED, weight=[1.0, 2.0]), TypeError, r"weight must be a torch tensor"),
        (lambda: functional.vertex_degree(None), TypeError, r"H must be a Hypergraph or a Block; got NoneType"),
        (
            lambda: functional.hyperedge_degree(WORKED, incidence=torch.ones(9, 1)),
            ValueError,
            r"incidence must have shape \(6, 1\), one entry per incidence and head; got \(9, 1\)",
        ),
        (
            lambda: functional.vertex_degree(WORKED, incidence=torch.ones(6, 1), weight=torch.ones(2).double()),
            TypeError,
            r"weight must have the dtype of x",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, projection=[[1.0]]),
            TypeError,
            r"projection must be a torch tensor; got list",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, projection=torch.tensor(1.0)),
            ValueError,
            r"projection must have shape \(2, 1\), one row per feature of x; got \(\)",
        ),
        (
            lambda: functional.graph_attention(None, Graph.from_links([0], [1], 4), None),
            TypeError,
            r"x must be a torch",
        ),
        (lambda: functional.hypergraph_conv(torch.rand(4, 2).to_sparse(), WORKED), TypeError, r"dense or sparse CSR"),
        (lambda: functional.hypergraph_conv(torch.rand(3, 2), WORKED), ValueError, r"one row per vertex; got \(3, 2\)"),
        (
            lambda: functional.hypergraph_conv(torch.rand(4), WORKED),
            ValueError,
            r"shape \(\.\.\., 4, features\).*\(4,\)",
        ),
        (lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED.to("meta")), ValueError, r"x is on cpu.*on meta"),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, normalization="sym"),
            ValueError,
            r"normalization must be one of 'symmetric', 'row', 'none'; got 'sym'",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, weight=torch.ones(3)),
            ValueError,
            r"weight must have shape \(2,\), one entry per hyperedge; got \(3,\)",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, weight=torch.ones(2).double()),
            TypeError,
            r"weight must have the dtype of x, torch.float32; got torch.float64",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, weight=[1.0, 2.0]),
            TypeError,
            r"weight must be a torch tensor; got list",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, projection=torch.rand(3, 2)),
            ValueError,
            r"projection must have shape \(2, 2\), one row per feature of x; got \(3, 2\)",
        ),
        (
            lambda: functional.hypergraph_conv(torch.rand(4, 2), WORKED, projection=torch.rand(2, 2, device="meta")),
            ValueError,
            r"projection must be on the device of x, cpu; got meta",
        ),
        (
            lambda: functional.attention_incidence(**attention_arguments(softmax_over="both")),
            ValueError,
            r"softmax_over must be one of 'hyperedges', 'vertices'; got 'both'",
        ),
        (
            lambda: functional.attention_incidence(**attention_arguments(x=torch.rand(4, 3))),
            ValueError,
            r"x must have shape \(\.\.\., 4, heads, features\); got \(4, 3\)",
        ),
        (
            lambda: functional.attention_incidence(**attention_arguments(x_hyperedge=torch.rand(4, 2, 3))),
            ValueError,
            r"x_hyperedge must have shape \(\.\.\., 2, .*one row per hyperedge",
        ),
        (
            lambda: functional.attention_incidence(**attention_arguments(x_hyperedge=torch.rand(2, 2, 4))),
            ValueError,
            r"x_hyperedge must have shape \(2, 3\), the heads and features of x",
        ),
        (
            lambda: functional.attention_incidence(**attention_arguments(a_vertex=torch.rand(3))),
            ValueError,
            r"a_vertex must have shape \(2, 3\), one entry per head and feature",
        ),
        (
            lambda: functional.hypergraph_attention(torch.rand(4, 2, 3), WORKED, torch.rand(5, 2)),
            ValueError,
            r"incidence must have shape \(6, 2\), one entry per incidence and head; got \(5, 2\)",
        ),
        (
            lambda: functional.hypergraph_attention(torch.rand(4, 2, 3), WORKED, torch.rand(6, 2).double()),
            TypeError,
            r"incidence must have the dtype of x",
        ),
        (
            lambda: functional.hypergraph_attention(
                torch.rand(4, 1, 3), WORKED, torch.rand(6, 1), dropped=torch.ones(6, 2)
            ),
            ValueError,
            r"dropped must have shape \(6, 1\), one entry per incidence and head",
        ),
        (
            lambda: functional.graph_attention(
                torch.rand(4, 1, 3), Graph.from_links([0], [1], n_vertices=4), torch.rand(2, 1)
            ),
            ValueError,
            r"attention must have shape \(6, 1\), one entry per directed link and head",
        ),
        (
            lambda: functional.mean_conv(torch.rand(4, 2), Graph.from_links([0], [1], n_vertices=3), WORKED),
            ValueError,
            r"graph and hypergraph must have the same vertices; got 3 and 4",
        ),
    ],
)
def test_bad_input_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize(
    ("batch", "trials"), [((5,), (1,)), ((1,), (5,)), ((2, 3), (3,)), ((2, 1), (2, 3)), ((), (2, 3))]
)
def test_trials_of_features_and_projections_are_broadcast(batch, trials):
    H = hypergraph("more hyperedges than vertices")
    x, projection = random(*batch, H.n_vertices, 4), random(*trials, 4, 3)
    out = functional.hypergraph_conv(x, H, projection=projection)
    torch.testing.assert_close(out, functional.hypergraph_conv(x @ projection, H))


def test_unequal_trials_are_refused():
    H = hypergraph("more hyperedges than vertices")
    with pytest.raises(RuntimeError, match="3"):
        functional.hypergraph_conv(random(3, H.n_vertices, 4), H, projection=random(5, 4, 3))


def test_a_structure_first_met_without_gradients_can_be_learned_on():
    H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    x = torch.rand(4, 2, requires_grad=True)
    with torch.inference_mode():
        functional.hypergraph_conv(x, H)
    functional.hypergraph_conv(x, H).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("hyperedges", [[[0, 1, 2], [2, 3]], []])
def test_a_structure_first_attended_without_gradients_can_be_learned_on(hyperedges):
    H = Hypergraph.from_hyperedges(hyperedges, n_vertices=4)
    x, incidence = torch.rand(4, 2, 3, requires_grad=True), torch.rand(H.n_incidences, 2, requires_grad=True)
    with torch.inference_mode():
        functional.hypergraph_attention(x, H, incidence)
    functional.hypergraph_attention(x, H, incidence).sum().backward()
    assert x.grad is not None


@pytest.mark.slow
def test_weights_of_trials_count_as_such_even_if_all_are_alike():
    H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    x, incidence, weight = torch.rand(4, 2, 3), torch.rand(H.n_incidences, 2), torch.rand(6, 2)
    for given in (weight, torch.ones(6, 2)):
        assert functional.hypergraph_attention(x, H, incidence, weight=given).shape == (6, 4, 2, 3)
    mapped = torch.vmap(lambda one: functional.hypergraph_attention(x, H, incidence, weight=one))(weight)
    torch.testing.assert_close(mapped, functional.hypergraph_attention(x, H, incidence, weight=weight))


def test_attention_to_tensors_without_entries_has_its_shape():
    with FakeTensorMode():
        H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        assert functional.hypergraph_attention(torch.rand(4, 2, 3), H, torch.rand(5, 2)).shape == (4, 2, 3)
