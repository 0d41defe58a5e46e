"""Operators of one's own: equal to their equations, on blocks, for trials, compiled; refused where they are wrong."""

from functools import partial

import pytest
import torch
from support import structures
from support.own_operators import AllDeepSets, UniGAT, dense_deep_sets, dense_unigat
from support.structures import random
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call, stack_module_state
from torch.testing import assert_close

from hypergnn import functional
from hypergnn.distributed.exchange import Exchange
from hypergnn.distributed.shards import shard_of
from hypergnn.layers import Operator

pytestmark = pytest.mark.usefixtures("backend")
DENSE = {UniGAT: dense_unigat, AllDeepSets: dense_deep_sets, Operator: None}
OWN = pytest.mark.parametrize("kind", [UniGAT, AllDeepSets], ids=lambda kind: kind.__name__)


@pytest.fixture(params=[*structures.HYPERGRAPHS, *structures.DIRECTED])
def H(request):
    kind = structures.hypergraph if request.param in structures.HYPERGRAPHS else structures.directed
    return kind(request.param)


def sides(H):
    found = H.to_scipy()
    return [torch.from_numpy(one.toarray()) for one in (found if isinstance(found, tuple) else (found, found))]


def drawn(layer):
    with torch.no_grad():
        for number, parameter in enumerate(layer.parameters()):
            parameter.copy_(random(*parameter.shape, seed=number))
    return layer


@OWN
def test_an_operator_is_its_equation(H, kind):
    layer, x = drawn(kind(3, 2).double()), random(H.n_vertices, 3)
    assert_close(layer(x, H), DENSE[kind](layer, x, *sides(H), H.weight))


def test_without_methods_of_its_own_it_is_the_row_normalised_convolution(H):
    layer, x = Operator(3, 2, bias=False).double(), random(H.n_vertices, 3)
    assert_close(layer(x, H), functional.hypergraph_conv(x, H, normalization="row", projection=layer.projection))


@OWN
def test_gradients(kind):
    H = structures.hypergraph("empty hyperedge")
    layer = drawn(kind(2, 2, heads=2, skip=True).double())
    x = random(H.n_vertices, 2).requires_grad_()
    assert gradcheck(lambda x: layer(x, H), x)
    layer(x, H).square().sum().backward()
    assert all(parameter.grad.ne(0).any() for parameter in layer.parameters())


@OWN
def test_a_block_gives_the_rows_of_the_whole(kind):
    H = structures.hypergraph("more vertices than hyperedges")
    layer, x = drawn(kind(3, 2, heads=2, skip=True).double()), random(H.n_vertices, 3)
    block = H.around([3, 1])
    assert_close(layer(x[block.read], block), layer(x, H)[[3, 1]])


@OWN
def test_trials_along_a_leading_axis_are_those_alone(kind):
    H, layers = structures.hypergraph("isolated vertex"), [kind(3, 2, heads=2).double() for _ in range(3)]
    x = random(H.n_vertices, 3)
    parameters, _ = stack_module_state(layers)
    together = functional_call(layers[0], parameters, (x, H))
    assert_close(together, torch.stack([layer(x, H) for layer in layers]))


@pytest.mark.slow
@OWN
def test_it_compiles_into_one_graph(kind):
    H, layer = structures.hypergraph("isolated vertex"), kind(3, 2, heads=2)
    x = torch.rand(H.n_vertices, 3)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert_close(compiled(x, H), layer(x, H))


def test_shared_parameters_are_drawn_whatever_a_subclass_forgets(monkeypatch):
    class Forgetful(Operator):
        def __init__(self, in_features, out_features):
            super().__init__(in_features, out_features, skip=True)
            self.kind = "forgetful"

    monkeypatch.setattr(torch, "empty", lambda *shape: torch.full(shape, torch.nan))
    layer = Forgetful(3, 2)
    assert all(0 < one.abs().max() < 3 for one in (layer.projection, layer.skip_projection))
    assert layer.bias.eq(0).all()


class Largest(Operator):
    """An operator without parameters of its own."""

    def to_vertices(self, messages, x, H):
        return x + functional.to_vertices(messages, H, reduce="max")


@pytest.mark.parametrize("aggregate", ["concat", "mean"])
def test_directions(aggregate):
    D = structures.directed("overlapping parts")
    x, made = random(D.n_vertices, 3), [2, 0]
    backward, forward = (drawn(Largest(3, 2, direction=one).double()) for one in ("backward", "forward"))
    assert_close(backward(x, D), forward(x, D.reversed()))
    both = drawn(Largest(3, 2, heads=2, direction="both", aggregate=aggregate, skip=True).double())
    block = D.around(made, direction="both")
    assert both(x, D).shape == (D.n_vertices, both.width)
    assert_close(both(x[block[0].read], block), both(x, D)[made])
    with pytest.raises(ValueError, match="direction='forward' needs a block made with"):
        forward(x[block[1].read], block[1])


def test_parameters_of_its_own_are_drawn_from_the_generator():
    first, second = (UniGAT(3, 2, heads=2) for _ in range(2))
    for layer in (first, second):
        layer.reset_parameters(torch.Generator().manual_seed(3))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert first.a_vertex.ne(0).all()
    deep = AllDeepSets(3, 2)
    with torch.no_grad():
        deep.update.projection.fill_(7)
    deep.reset_parameters(torch.Generator().manual_seed(3))
    assert deep.update.projection.abs().max() < 7


def test_steps_reduce(H):
    x = random(2, H.n_vertices, 2, 3)
    S, R = sides(H)
    assert_close(functional.to_hyperedges(x, H), torch.einsum("ie,tihf->tehf", S, x))
    mean = S / S.sum(0).clamp(min=1)
    assert_close(functional.to_hyperedges(x, H, reduce="mean"), torch.einsum("ie,tihf->tehf", mean, x))
    m = random(2, H.n_hyperedges, 2, 3)
    weighted = R * H.weight
    share = weighted / torch.where(weighted.sum(1) > 0, weighted.sum(1), 1)[:, None]
    assert_close(functional.to_vertices(m, H), torch.einsum("ie,tehf->tihf", R, m))
    assert_close(functional.to_vertices(m, H, reduce="mean"), torch.einsum("ie,tehf->tihf", share, m))
    for i in range(R.shape[0]):
        own = R[i].nonzero()[:, 0]
        largest = m[:, own].amax(1) if len(own) else torch.zeros(2, 2, 3, dtype=m.dtype)
        assert_close(functional.to_vertices(m, H, reduce="max")[:, i], largest)


def test_values_of_incidences(H):
    x, m = random(H.n_vertices, 2, 3), random(H.n_hyperedges, 2, 3)
    for of, dense, step, rows, equation in (
        ("senders", sides(H)[0], functional.to_hyperedges, x, "ieh,ihf->ehf"),
        ("receivers", sides(H)[1], functional.to_vertices, m, "ieh,ehf->ihf"),
    ):
        vertex, hyperedge = functional.incidences(H, of)
        values = random(vertex.shape[0], 2)
        wide = torch.zeros(*dense.shape, 2, dtype=x.dtype).index_put((vertex, hyperedge), values)
        assert_close(step(rows, H, values=values), torch.einsum(equation, wide, rows))


@pytest.mark.slow
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("with_values", [True, False])
def test_both_ways_in_one_step(H, heads, width, with_values):
    width = min(width, heads)
    x, (S, R) = random(2, H.n_vertices, heads, 3), sides(H)
    left, middle, right = (random(size, width, seed=k) for k, size in enumerate((R.shape[0], S.shape[1], S.shape[0])))
    values, wide = {}, []
    for name, of, dense in (("values", "senders", S), ("receiver_values", "receivers", R)):
        vertex, hyperedge = functional.incidences(H, of)
        one = random(vertex.shape[0], heads, seed=len(wide)) if with_values else torch.ones(len(vertex), heads).double()
        wide.append(torch.zeros(*dense.shape, heads, dtype=x.dtype).index_put((vertex, hyperedge), one))
        values |= {name: one} if with_values else {}
    found = functional.propagate(x, H, left=left, middle=middle, right=right, **values)
    expected = torch.einsum("ieh,jeh,tjhf->tihf", wide[1] * middle, wide[0], x * right[..., None])
    assert_close(found, expected * left[..., None])


@pytest.mark.parametrize("of", ["senders", "receivers"])
def test_products_of_both_ends_of_an_incidence(H, of):
    x, m = random(2, H.n_vertices, 2, 3), random(H.n_hyperedges, 2, 3, seed=1)
    vertex, hyperedge = functional.incidences(H, of)
    dense = torch.einsum("tihf,ehf->tieh", x, m)
    assert_close(functional.pair_product(x, m, H, of=of), dense[:, vertex, hyperedge])


@pytest.mark.slow
def test_products_of_incidences_have_gradients_of_any_order():
    H = structures.directed("overlapping parts")
    x = random(H.n_vertices, 2, 3).requires_grad_()
    m = random(2, H.n_hyperedges, 2, 3, seed=1).requires_grad_()
    for of in ("senders", "receivers"):
        step = partial(functional.pair_product, H=H, of=of)
        assert gradcheck(step, (x, m))
        assert gradgradcheck(step, (x, m))
        assert gradcheck(lambda x, step=step: step(x, m.detach()), x)


def test_products_of_a_block_are_those_of_the_whole():
    H = structures.hypergraph("more vertices than hyperedges")
    block, x = H.around([3, 1]), random(H.n_vertices, 2, 3)
    whole = functional.pair_product(x, functional.to_hyperedges(x, H), H)
    of_made = torch.cat([whole[functional.incidences(H)[0] == vertex] for vertex in block.made])
    messages = functional.to_hyperedges(x[block.read], block)
    assert_close(functional.pair_product(x[block.made], messages, block, of="receivers"), of_made)


def test_attention_of_both_kinds(H):
    ours, theirs = random(H.n_vertices, 2), random(H.n_hyperedges, 2)
    S, R = sides(H)
    for of, dense, step, dim in (
        ("receivers", R, functional.softmax_over_hyperedges, 1),
        ("senders", S, functional.softmax_over_members, 0),
    ):
        vertex, hyperedge = functional.incidences(H, of)
        score = nn.functional.leaky_relu(ours[:, None] + theirs[None], 0.2)
        masked = score.masked_fill(dense[..., None] == 0, -torch.inf).softmax(dim)
        assert_close(step(ours, theirs, H), masked[vertex, hyperedge])


class Wide(Operator):
    def to_vertices(self, messages, x, H):
        return super().to_vertices(messages, x, H).flatten(-2)


class Narrow(Operator):
    def to_hyperedges(self, x, H):
        return super().to_hyperedges(x, H)[..., :1]


class Nothing(Operator):
    def to_vertices(self, messages, x, H):  # noqa: ARG002
        return None


class Foreign(Operator):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.linear = nn.Linear(2, 2)
        self.reset_parameters()


H4 = structures.hypergraph("unit weights")
X4 = torch.ones(H4.n_vertices, 3)
M4 = torch.ones(H4.n_hyperedges, 1, 3)


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: Wide(3, 2)(X4, H4), ValueError, r"Wide\.to_vertices must return \(\d+, 1, 2\) .* got \(\d+, 2\)"),
        (lambda: Narrow(3, 2)(X4, H4), ValueError, r"Narrow\.to_hyperedges must return \(\d+, 1, 2\)"),
        (lambda: Nothing(3, 2)(X4, H4), ValueError, r"Nothing\.to_vertices must return .* got NoneType"),
        (lambda: Foreign(3, 2), TypeError, r"linear of Foreign must be a layer of hypergnn.*got Linear"),
        (lambda: functional.to_vertices(X4[:, None], H4, reduce="least"), ValueError, "messages|reduce must be"),
        (
            lambda: functional.to_hyperedges(X4[:, None], H4, values=torch.ones(2, 1)),
            ValueError,
            r"values must have shape .* one entry per incidence and head",
        ),
        (
            lambda: functional.to_hyperedges(X4[:, None], H4, values=torch.ones(2, 1), reduce="mean"),
            ValueError,
            "values must be omitted with reduce='mean'",
        ),
        (lambda: functional.to_hyperedges(X4, H4), ValueError, "x must have shape .* heads, features"),
        (
            lambda: functional.propagate(X4[:, None], H4, values=torch.ones(2, 1)),
            ValueError,
            "values and receiver_values must be given together",
        ),
        (lambda: functional.propagate(X4[:, None], H4, left=torch.ones(2, 1)), ValueError, "left must have shape"),
        (lambda: functional.softmax_over_members(X4[:2], X4, H4), ValueError, "vertex_score must have shape"),
        (lambda: functional.head_score(X4[:, None], torch.ones(2, 3)), ValueError, "vector must have shape"),
        (lambda: functional.incidences(H4, "both"), ValueError, "of must be one of"),
        (lambda: functional.pair_product(X4[:, None], M4, H4, of="both"), ValueError, "of must be one of"),
        (lambda: functional.pair_product(X4[:2, None], M4, H4), ValueError, r"x must have shape .* one row per vertex"),
        (
            lambda: functional.pair_product(X4[:, None], M4[:1], H4),
            ValueError,
            r"messages must have shape .* one row per hyperedge",
        ),
        (lambda: functional.pair_product(X4[:, None], M4[..., :2], H4), ValueError, "the heads and features of x"),
        (lambda: functional.pair_product(X4[:, None], M4.double(), H4), TypeError, "messages must have the dtype of x"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_steps_add_up_the_sums_of_all_processes(monkeypatch):
    monkeypatch.setattr(Exchange, "add", lambda _, sums: 2 * sums)  # as if another process had the same vertices again
    H = structures.hypergraph("more vertices than hyperedges")
    shard = shard_of(H, [0] * H.n_vertices, 0, 1)
    x, scores = random(H.n_vertices, 2, 3), (random(H.n_vertices, 2), random(H.n_hyperedges, 2))
    values = random(H.n_incidences, 2)
    for options in ({}, {"reduce": "mean"}, {"values": values}):
        assert_close(functional.to_hyperedges(x, shard, **options), 2 * functional.to_hyperedges(x, H, **options))
    for options in ({}, {"values": values, "receiver_values": values}):
        assert_close(functional.propagate(x, shard, **options), 2 * functional.propagate(x, H, **options))
    assert_close(functional.softmax_over_members(*scores, shard), functional.softmax_over_members(*scores, H) / 2)
    with pytest.raises(ValueError, match='reduce="max" needs all members of a hyperedge in one process; got a shard'):
        functional.to_hyperedges(x, shard, reduce="max")


@pytest.mark.parametrize("softmax", [functional.softmax_over_hyperedges, functional.softmax_over_members])
def test_scores_must_be_floating_point_tensors(softmax):
    H = structures.hypergraph("unit weights")
    sizes = (H.n_vertices, H.n_hyperedges)
    with pytest.raises(TypeError, match=r"vertex_score must be float32, float64 or bfloat16; got torch.int64"):
        softmax(*(torch.zeros(size, 1, dtype=torch.int64) for size in sizes), H)
    with pytest.raises(TypeError, match="vertex_score must be a torch tensor; got list"):
        softmax(*([0.0] * size for size in sizes), H)
    with pytest.raises(TypeError, match="hyperedge_score must be a torch tensor; got list"):
        softmax(torch.zeros(H.n_vertices, 1), [0.0] * H.n_hyperedges, H)


def test_head_scores_are_of_floating_point_tensors():
    with pytest.raises(TypeError, match="x must be a torch tensor; got list"):
        functional.head_score([[1.0]], torch.ones(2, 4))
    with pytest.raises(TypeError, match=r"x must be float32, float64 or bfloat16; got torch.int64"):
        functional.head_score(torch.ones(3, 2, 4).long(), torch.ones(2, 4).long())
    with pytest.raises(ValueError, match=r"x must have shape \(..., rows, heads, features\); got \(2, 4\)"):
        functional.head_score(torch.ones(2, 4), torch.ones(2, 4))
