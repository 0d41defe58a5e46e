"""Sampled blocks: unbiased for linear propagation, exact without sampling, consistent with attention."""

import numpy as np
import pytest
import torch
from support import structures
from torch.utils import _pytree as pytree

import hypergnn as hg
from hypergnn.functional import hypergraph_conv, propagate, to_hyperedges, to_vertices
from hypergnn.loader.sampling import Sampler

DRAWS = 200


def random_hypergraph(seed, n_vertices, sizes, *, weights="unit"):
    """Hyperedges of the given sizes; weights that are all 1, or differ by up to a factor of thousands."""
    draw = np.random.default_rng(seed)
    edges = [draw.choice(n_vertices, size, replace=False).tolist() for size in sizes]
    weight = None if weights == "unit" else draw.lognormal(0, float(weights), len(edges))
    return hg.Hypergraph.from_hyperedges(edges, n_vertices, weight)


STRUCTURES = {
    "small": lambda: random_hypergraph(0, 9, [3, 4, 2, 5, 3]),
    "weighted": lambda: random_hypergraph(1, 12, [3, 4, 2, 5, 3, 6, 2], weights=0.5),
    "weights that differ by thousands": lambda: random_hypergraph(2, 15, [4] * 14, weights=3),
    "a vertex in every hyperedge": lambda: hg.Hypergraph.from_hyperedges([[0, k, k + 1] for k in range(1, 19)], 20),
    "a hyperedge of all vertices": lambda: random_hypergraph(3, 25, [25, 3, 3, 2, 4, 3]),
    "hubs, weighted": lambda: random_hypergraph(4, 30, [30, 28, 3, 3, 2, 4, 15], weights=1),
    "isolated vertices, empty hyperedges": lambda: hg.Hypergraph.from_hyperedges([[0, 2], [], [2, 3, 5], [2]], 9),
    "more hyperedges than vertices": lambda: random_hypergraph(5, 8, [3] * 40, weights=0.7),
    "more vertices than hyperedges": lambda: random_hypergraph(6, 60, [12, 20, 9]),
    "single-vertex hyperedges": lambda: random_hypergraph(7, 10, [1, 1, 1, 5, 6, 1], weights=1),
}


def standard_errors(draws, full):
    """How many standard errors the mean of some draws is away from what it should be, at most."""
    draws = torch.stack(draws)
    error = draws.std(0) / len(draws) ** 0.5
    distance = (draws.mean(0) - full).abs()
    assert bool((distance[error < 1e-12] < 1e-9).all())  # what does not vary must be exact
    return float((distance / error.clamp(min=1e-12))[error >= 1e-12].max()) if bool((error >= 1e-12).any()) else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURES)
def test_the_mean_of_sampled_convolutions_is_the_full_one(name):
    H = STRUCTURES[name]()
    x = torch.rand(H.n_vertices, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    made, sampler = np.arange(H.n_vertices), Sampler(H)
    found = {"row": [], "symmetric": [], "none": []}
    for number in range(DRAWS):
        block = sampler.block(made, (2, 3), 5, number)
        for normalization, draws in found.items():
            draws.append(hypergraph_conv(x[block.read], block, normalization=normalization))
    for normalization, draws in found.items():
        assert standard_errors(draws, hypergraph_conv(x, H, normalization=normalization)) < 4, normalization


@pytest.mark.parametrize("normalization", ["row", "symmetric"])
def test_two_sampled_layers_are_unbiased_as_well(normalization):
    H = STRUCTURES["hubs, weighted"]()
    x = torch.rand(H.n_vertices, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    full = hypergraph_conv(hypergraph_conv(x, H, normalization=normalization), H, normalization=normalization)
    made, sampler, draws = np.array([7, 3, 29]), Sampler(H), []
    for number in range(DRAWS):
        first, second = sampler.blocks(made, [(2, 2), (2, 3)], 0, number)
        hidden = hypergraph_conv(x[first.read], first, normalization=normalization)
        draws.append(hypergraph_conv(hidden, second, normalization=normalization))
    assert standard_errors(draws, full[made]) < 4


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_steps_of_own_operators_are_unbiased_as_well(reduce):
    H = STRUCTURES["hubs, weighted"]()
    x = torch.rand(H.n_vertices, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def there_and_back(x, H):
        messages = to_hyperedges(x, H, reduce=reduce)
        return to_vertices(messages * H.weight.view(-1, 1, 1) if reduce == "sum" else messages, H, reduce=reduce)

    sampler, made = Sampler(H), np.arange(H.n_vertices)
    blocks = [sampler.block(made, (2, 3), 5, number) for number in range(DRAWS)]
    draws = [there_and_back(x[block.read], block) for block in blocks]
    assert standard_errors(draws, there_and_back(x, H)) < 4
    full = hypergraph_conv(x.squeeze(1), H, normalization="none" if reduce == "sum" else "row")
    torch.testing.assert_close(there_and_back(x, H).squeeze(1), full)


@pytest.mark.parametrize("heads", [1, 2])
def test_both_ways_in_one_step_are_those_of_two_steps(heads):
    H = STRUCTURES["hubs, weighted"]()
    draw = torch.Generator().manual_seed(0)
    x = torch.rand(H.n_vertices, heads, 2, dtype=torch.float64, generator=draw)
    sampler, made, draws = Sampler(H), np.arange(H.n_vertices), []
    for number in range(DRAWS):
        block = sampler.block(made, (2, 3), 5, number)
        left = torch.rand(block.n_receivers, heads, dtype=torch.float64, generator=draw)
        messages = to_hyperedges(x[block.read], block) * block.weight.view(-1, 1, 1)
        both = propagate(x[block.read], block, left=left, middle=block.weight.unsqueeze(-1))
        torch.testing.assert_close(both, left.unsqueeze(-1) * to_vertices(messages, block))
        middle = (block.weight / block.hyperedge_degree()).unsqueeze(-1)
        draws.append(propagate(x[block.read], block, middle=middle))
    assert standard_errors(draws, propagate(x, H, middle=(H.weight / H.hyperedge_degree()).unsqueeze(-1))) < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "hubs, weighted", "more hyperedges than vertices"])
@pytest.mark.parametrize("normalization", ["row", "none"])
def test_gaussian_kernels_are_unbiased_as_well(name, normalization):
    H = STRUCTURES[name]()
    x = torch.rand(H.n_vertices, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sampler, made = Sampler(H), np.arange(H.n_vertices)
    layer = hg.layers.HypergraphMoNet(3, 2, kernels=2, normalization=normalization).double()
    with torch.no_grad():
        blocks = [sampler.block(made, (2, 3), 5, number) for number in range(DRAWS)]
        assert standard_errors([layer(x[one.read], one) for one in blocks], layer(x, H)) < 4


def test_hyperedges_are_drawn_by_weight():
    H = hg.Hypergraph.from_hyperedges([[0, 1], [0, 2], [0, 3], [0, 4]], 5, weight=[1.0, 2.0, 3.0, 94.0])
    counts, sampler = np.zeros(5), Sampler(H)
    for number in range(600):
        block = sampler.block(np.array([0]), (2, 9), number)
        counts[block.read.numpy()] += 1
    assert counts[4] == 600  # 94 of 100: sure to be among two
    np.testing.assert_allclose(counts[1:4] / 600, [1 / 6, 2 / 6, 3 / 6], atol=0.06)


def test_members_are_drawn_evenly_without_repetition():
    H = hg.Hypergraph.from_hyperedges([list(range(8))], 8)
    counts, sampler = np.zeros(8), Sampler(H)
    for number in range(400):
        block = sampler.block(np.array([0]), (1, 3), number)
        members = block.read.numpy()[block.senders.back_members.numpy()]
        assert len(set(members.tolist())) == members.size == 3
        counts[members] += 1
    np.testing.assert_allclose(counts / 400, 3 / 8, atol=0.08)


def test_vertices_share_the_draw_of_a_hyperedge():
    H = hg.Hypergraph.from_hyperedges([list(range(50))], 50)
    block = Sampler(H).block(np.arange(20), (1, 5), 0)
    assert (block.n_hyperedges, block.senders.n_pairs) == (1, 5)


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("name", STRUCTURES)
def test_senders_are_numbered_as_hyperedges_use_them(name, attention):
    H = STRUCTURES[name]()
    made = np.arange(H.n_vertices)[::-1].copy()
    for block in Sampler(H, attention=attention).blocks(made, [(2, 3), (3, 2)], 7):
        used = block.senders.back_members.numpy()
        known = np.maximum.accumulate(np.concatenate([[-1], used]))
        assert bool((used <= known[:-1] + 1).all())  # known already, or the next number
        for pairs in (block.senders, block.receivers):  # read as those of a stranger: sorted, and alike both ways
            type(pairs)(*(None if one is None else one.clone() for one in pairs)).check()
        assert len(set(block.read.tolist())) == block.n_vertices
        assert torch.equal(block.read if block.rows is None else block.read[block.rows], block.made)


def equal(one, other):
    """Compare all tensors of two blocks."""
    for mine, yours in zip(pytree.tree_leaves(one), pytree.tree_leaves(other), strict=True):
        assert (mine is None) == (yours is None)
        assert mine is None or torch.equal(mine, yours.to(mine.dtype))
    assert one.attention == other.attention


@pytest.mark.parametrize("centred", ["all", "some", "none"])
@pytest.mark.parametrize("attention", [False, True])
def test_without_sampling_the_blocks_are_those_around_the_vertices(centred, attention):
    H, few = structures.scattered(centred), np.array([48, 3, 17, 49, 20])
    block = Sampler(H, attention=attention).block(few, None, 0)
    equal(block, H.around(few, attention=attention))
    assert not block.is_sampled


def test_a_fan_out_beyond_all_degrees_is_exact(H, normalization):
    x = torch.rand(H.n_vertices, 4, dtype=torch.float64)
    block = Sampler(H).block(np.arange(H.n_vertices), (99, 99), 0)
    full = hypergraph_conv(x, H, normalization=normalization)
    torch.testing.assert_close(hypergraph_conv(x[block.read], block, normalization=normalization), full)


@pytest.mark.parametrize("name", structures.HYPERGRAPHS)
def test_attention_with_a_fan_out_beyond_all_degrees_is_exact(name):
    H = structures.hypergraph(name)
    layer = hg.HypergraphAttention(4, 3, heads=2).double()
    x = torch.rand(H.n_vertices, 4, dtype=torch.float64)
    for made in (np.arange(H.n_vertices), np.array([H.n_vertices - 1])):
        block = Sampler(H, attention=True).block(made, (99, 99), 0)
        torch.testing.assert_close(layer(x[block.read], block), layer(x, H)[made])


def test_attention_comes_closer_with_larger_fan_outs():
    H = STRUCTURES["hubs, weighted"]()
    layer = hg.HypergraphAttention(4, 3).double()
    x = torch.rand(H.n_vertices, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    full, sampler, errors = layer(x, H), Sampler(H, attention=True), []
    for fanout in ((1, 2), (3, 8), (6, 24)):
        blocks = [sampler.block(np.arange(30), fanout, number) for number in range(20)]
        errors.append(float(sum((layer(x[one.read], one) - full).abs().mean() for one in blocks).detach()))
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]


@pytest.mark.parametrize("name", structures.DIRECTED)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_directed_hypergraphs(name, direction):
    H = structures.directed(name)
    loader = hg.NeighborLoader(H, torch.rand(H.n_vertices, 4), fanout=[(99, 99)], direction=direction, shuffle=False)
    batch, layer = loader.batch(0), hg.HypergraphConv(4, 2, direction=direction)
    x = torch.cat([loader._rows.take(np.array([one])) for one in range(H.n_vertices)])
    torch.testing.assert_close(layer(batch.x, batch.blocks[0]), layer(x, H))


def test_gradients_of_a_sampled_block():
    H = STRUCTURES["hubs, weighted"]()
    block = Sampler(H).block(np.arange(5), (2, 2), 0)
    x = torch.rand(block.n_vertices, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: hypergraph_conv(x, block), x)


def test_blocks_are_sound():
    H = STRUCTURES["hubs, weighted"]()
    for attention in (False, True):
        block = Sampler(H, attention=attention).block(np.array([4, 9, 1]), (2, 3), 0)
        for pairs in (block.senders, block.receivers):
            type(pairs)(*(None if one is None else one.clone() for one in pairs)).check()
        block.check()
        assert "sampled" in repr(block)


def test_learned_weights_need_all_hyperedges():
    H = STRUCTURES["small"]()
    layer = hg.HypergraphConv(2, 2, learn_weight=True, normalization="row")
    block = Sampler(H).block(np.arange(3), (1, 1), 0)
    with pytest.raises(ValueError, match="got a sampled block"):
        layer(torch.rand(block.n_vertices, 2), block)


def test_damage_is_noticed_where_it_is_drawn_from():
    H = STRUCTURES["small"]()
    wrong = H.incidence._replace(members=torch.full_like(H.incidence.members, 77))
    damaged = hg.Hypergraph(wrong, H.weight, H._vertex_degree, H._hyperedge_degree)
    for fanout in ((2, 2), None):
        with pytest.raises(ValueError, match="the structure is damaged"):
            Sampler(damaged).block(np.arange(3), fanout, 0)
