"""What executors compute, without Spark: blocks, hubs, propagation and layers, on several blocks in this process."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import hypergnn as hg
from hypergnn.persistence.models import SavedModel
from hypergnn.spark import blocks, building, hops, messages
from hypergnn.spark.inference import alone, inference_of
from hypergnn.spark.numbering import labels, n_blocks_for, spark_hash
from hypergnn.spark.programs import Propagation


def by_label(table, label):
    return table.filter(pa.compute.equal(table["to"], label))


class Simulated:
    """Blocks of a hypergraph in this process, in the very steps that Spark runs."""

    def __init__(self, H, n_blocks, hubs=()):
        self.labels = labels(n_blocks)
        vertex, hyperedge = H.vertex.numpy(), H.hyperedge.numpy()
        pairs = pa.table(
            {
                "vertex": [f"v{one:03}" for one in vertex],
                "hyperedge": hyperedge,
                "weight": H.weight.numpy()[hyperedge],
                "block": hyperedge % n_blocks,
            }
        )
        self.block = np.array([one % n_blocks for one in vertex])
        is_hub = np.isin(vertex, hubs)
        degree = H.vertex_degree().numpy()
        found = {}
        for number in range(n_blocks):
            own = [one for one in hubs if one % n_blocks == number]
            if own:
                keys = pa.array([f"v{one:03}" for one in own])
                numbers = np.array([list(hubs).index(one) for one in own])
                found[number] = building.Hubs(keys, keys, degree[own], numbers)
        rng = np.random.default_rng(0)
        side = building.VertexSide(self.labels, found)
        made = []
        for number, label in enumerate(self.labels):
            rows = rng.permutation(np.flatnonzero((self.block == number) & ~is_hub))  # Spark promises no order
            made.append(side((pa.scalar(label),), pairs.take(rows), None))
        made = pa.concat_tables(made)
        is_slot = pa.compute.is_in(made["name"], pa.array(building.TO_HYPEREDGES))
        self.vertices, slots = made.filter(pa.compute.invert(is_slot)), made.filter(is_slot)
        of_hubs = pairs.filter(pa.array(is_hub))
        number = [list(hubs).index(one) for one in vertex[is_hub]]
        of_hubs = of_hubs.append_column("hub", pa.array(number, pa.int32()))
        parts = []
        for number, label in enumerate(self.labels):
            own = of_hubs.filter(pa.compute.equal(of_hubs["block"], number))
            parts.append(building.HyperedgeSide()((pa.scalar(label),), by_label(slots, label), own))
        self.hyperedges = pa.concat_tables(parts)
        self.n_blocks = n_blocks

    def run(self, program, x, width=None):
        """The rows of ``x``, one per vertex of the whole, after the program."""
        names = [f"v{one:03}" for one in range(len(x))]
        block = np.arange(len(x)) % self.n_blocks
        features = pa.table({"vertex": names, "values": list(x)})
        begin = hops.Begin(program, self.labels, str(x.dtype), width)
        keys = [(pa.scalar(label),) for label in self.labels]
        last = pa.concat_tables(
            begin(key, features.filter(pa.array(block == number)), by_label(self.vertices, key[0].as_py()))
            for number, key in enumerate(keys)
        )
        problems = messages.read(last).get(messages.PROBLEM)
        if problems:
            return problems[0].tobytes().decode()
        arrived = last
        for number in range(program.rounds):
            combine = hops.Combine(program, number, self.labels)
            back = self._hop(combine, last, self.hyperedges)
            state = last.filter(pa.compute.starts_with(last["name"], hops.STATE))
            arrived = pa.concat_tables([back, state])
            if number + 1 < program.rounds:
                last = self._hop(hops.Proceed(program, number, self.labels), arrived, self.vertices)
        end = hops.End(program, ("vertex", "out"), str(x.dtype))
        made = self._hop(end, arrived, self.vertices)
        rows = dict(zip(made["vertex"].to_pylist(), made["out"].to_pylist(), strict=True))
        return np.array([rows[name] for name in names])

    def _hop(self, step, sent, stored):
        keys = [(pa.scalar(label),) for label in self.labels]
        return pa.concat_tables(
            step(key, by_label(sent, key[0].as_py()), by_label(stored, key[0].as_py())) for key in keys
        )


def skewed(seed=0, n=40, m=25):
    """A weighted hypergraph with a vertex in nearly all hyperedges, a large hyperedge and isolated vertices."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n, m)) < 0.1
    dense[3, :20], dense[:30, 5], dense[-2:] = True, True, False
    vertex, hyperedge = np.nonzero(dense)
    return hg.Hypergraph.from_incidence(vertex, hyperedge, n, m, weight=rng.random(m) + 0.5)


@pytest.mark.parametrize("hubs", [(), (3, 4)], ids=["plain", "hubs"])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_blocks_propagate_what_the_whole_does(n_blocks, hubs, normalization):
    H = skewed()
    x = torch.rand(40, 6, dtype=torch.float64)
    expected = x
    for _ in range(2):
        expected = hg.functional.hypergraph_conv(expected, H, normalization=normalization)
    found = Simulated(H, n_blocks, hubs).run(Propagation(normalization, 2), x.numpy())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-12)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_any_hypergraph_propagates_over_any_number_of_blocks(seed, n_blocks):
    H = skewed(seed, n=37, m=21)
    x = torch.rand(37, 2, dtype=torch.float64)
    expected = hg.functional.hypergraph_conv(x, H, normalization="row")
    found = Simulated(H, n_blocks, hubs=(3,)).run(Propagation("row", 1), x.numpy())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-12)


def saved(model, *, n_features=6, seed=0, linear_output=False, **options):
    torch.manual_seed(seed)
    config = hg.Config(model=model, hidden=4, heads=3, **options)
    network = hg.Network(config, n_features, 3, linear_output=linear_output).eval()
    with torch.no_grad():
        for layer in network.layers:
            layer.bias.uniform_(-1, 1)
    return SavedModel(network, ("a", "b", "c"), {})


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp"])
@pytest.mark.parametrize(
    "options",
    [{}, {"skip": True, "depth": 3}, {"feature_scaling": "none"}, {"linear_output": True}],
    ids=["plain", "skip", "unscaled", "regression"],
)
@pytest.mark.parametrize("width", [6, 30], ids=["widens", "narrows"])
def test_blocks_score_what_the_network_does(model, options, width):
    H, loaded = skewed(), saved(model, n_features=width, **options)
    x = torch.rand(40, width) - 0.2
    scaled = x / x.abs().sum(1, keepdim=True) if loaded.network.config.feature_scaling == "row" else x
    with torch.no_grad():
        expected = loaded.network(scaled, hypergraph=H).numpy()
    program, _ = inference_of(loaded)
    np.testing.assert_allclose(Simulated(H, 3).run(program, x.numpy(), width), expected, atol=1e-5)


def test_convolutions_score_with_hubs_as_well():
    H, loaded = skewed(), saved("hyper-conv", feature_scaling="none")
    x = torch.rand(40, 6)
    program, _ = inference_of(loaded)
    with torch.no_grad():
        expected = loaded.network(x, hypergraph=H).numpy()
    np.testing.assert_allclose(Simulated(H, 3, hubs=(3, 4)).run(program, x.numpy(), 6), expected, atol=1e-5)


@pytest.mark.parametrize("normalization", ["symmetric", "none"])
def test_attention_has_every_normalization(normalization):
    H, loaded = skewed(), saved("hyper-attention", feature_scaling="none")
    for layer in loaded.network.layers:
        layer.normalization = normalization
    x = torch.rand(40, 6)
    with torch.no_grad():
        expected = loaded.network(x, hypergraph=H).numpy()
    np.testing.assert_allclose(alone(inference_of(loaded)[0], H, x.numpy()), expected, atol=1e-4)


def test_networks_of_other_kinds_are_refused():
    with pytest.raises(
        ValueError, match="must be one of hyper-conv, hyper-attention, mlp to predict on Spark; got gcn"
    ):
        inference_of(saved("gcn"))
    with pytest.raises(ValueError, match="must follow hyperedges forward"):
        inference_of(saved("hyper-conv", direction="both"))
    learned = saved("hyper-conv")
    learned.network.layers[0] = hg.HypergraphConv(6, 12, learn_weight=True)
    with pytest.raises(ValueError, match="must be plain convolutions or attentions"):
        inference_of(learned)


def test_a_network_that_computes_something_else_is_noticed():
    strange = saved("hyper-conv")
    strange.network.layers[0].register_forward_hook(lambda *given: given[-1] * 2)
    with pytest.raises(ValueError, match="settings that cannot be computed on Spark yet"):
        inference_of(strange)


def test_a_wrong_number_of_features_is_a_problem_and_not_a_crash():
    program, _ = inference_of(saved("hyper-conv"))
    found = Simulated(skewed(), 2).run(program, np.ones((40, 5), np.float32), width=6)
    assert found.startswith("the model takes 6 features per vertex; got 5.")


def block_of(*ids):
    keys = pa.array(ids)
    n = len(ids)
    own = np.zeros(n)
    return blocks.VertexBlock(keys, keys, np.arange(n + 1), np.arange(n), own, own, np.array([0, n]))


@pytest.mark.parametrize(
    ("ids", "values", "problem"),
    [
        (["a", None], [[1.0], [2.0]], "no null ids of vertices"),
        (["a", "b"], [[1.0], None], "without nulls; that of 'b' is not"),
        (["a", "b"], [[1.0], [None]], "without nulls; that of 'b' is not"),
        (["a", "b"], [[1.0, 2.0], [3.0]], "vertex 'b' has 1 numbers, vertex 'a' has 2"),
        (["a"], [[1.0]], "a row for each vertex of the hypergraph; vertex 'b' has none"),
        (["a", "b", "a"], [[1.0]] * 3, "one row per vertex; vertex 'a' has several"),
        (["a", "b", "z", "z"], [[1.0]] * 4, "one row per vertex; vertex 'z' has several"),
    ],
)
def test_features_that_do_not_fit_are_named(ids, values, problem):
    features = pa.table({"vertex": ids, "values": pa.array(values, pa.list_(pa.float32()))})
    assert problem in hops.arranged(features, block_of("a", "b"), "float32")


def test_features_come_in_the_order_of_the_block_and_isolated_vertices_last():
    features = pa.table({"vertex": ["z", "b", "a"], "values": pa.array([[9.0], [2.0], [1.0]], pa.list_(pa.float32()))})
    x, extra = hops.arranged(features, block_of("a", "b"), "float32")
    assert x.ravel().tolist() == [1, 2, 9]
    assert extra.to_pylist() == ["z"]


def test_a_block_is_the_same_whatever_order_its_pairs_come_in():
    pairs = pa.table({"vertex": ["b", "a", "c"], "hyperedge": [2, 1, 3], "block": [1, 1, 1]})
    side = building.VertexSide(labels(2), {})
    one, other = (side((pa.scalar(labels(2)[0]),), pairs.take(order), None) for order in ([0, 1, 2], [2, 1, 0]))
    assert one.equals(other)


def test_long_sums_in_single_precision_keep_their_digits():
    x = np.random.default_rng(0).random((200_000, 1)).astype(np.float32)
    offsets = np.array([0, 3, 200_003])
    members = np.concatenate([[5, 6, 7], np.arange(200_000)])
    found = blocks.segment_sums(offsets, members, x)
    exact = [x[5:8].astype(np.float64).sum(), x.astype(np.float64).sum()]
    np.testing.assert_allclose(found[:, 0], exact, rtol=3e-7)


def test_large_arrays_travel_in_parts_and_arrive_in_order(monkeypatch):
    monkeypatch.setattr(messages, "_BYTES", 64)
    array = np.arange(60.0).reshape(20, 3)
    rows = messages.table(messages.written(0, "sums", 4, array))
    assert rows.num_rows > 5
    shuffled = rows.take(np.random.default_rng(0).permutation(rows.num_rows))
    np.testing.assert_array_equal(messages.read(shuffled)["sums"][4], array)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 3), (4,)])
def test_arrays_of_any_shape_arrive(shape):
    array = np.zeros(shape, np.float32)
    found = messages.read(messages.table(messages.written(0, "x", 1, array)))["x"][1]
    assert found.shape == shape
    assert found.dtype == np.float32


def test_each_block_has_a_partition_of_its_own():
    for n_blocks in (1, 2, 7, 50):
        assert [spark_hash(one) % n_blocks for one in labels(n_blocks)] == list(range(n_blocks))


def test_blocks_are_neither_too_many_nor_too_large():
    assert n_blocks_for(0, 4) == 2  # Spark would shuffle a single one
    assert n_blocks_for(10**6, 4) == 4
    assert 10**10 / n_blocks_for(10**10, 4) < 10**7
