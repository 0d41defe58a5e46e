"""Each system of the comparison against an independent oracle, and what they all promise."""

import importlib.util
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import hypergnn as hg
from hypergnn.datasets import Dataset
from hypergnn.experiments import paper
from hypergnn.experiments.systems import SYSTEMS, DoesNotApplyError
from hypergnn.experiments.systems.chebyshev import ChebyshevLayer
from hypergnn.experiments.systems.embedding import embedding_loss
from hypergnn.experiments.systems.iterative_classification import visit
from hypergnn.experiments.systems.learning import BestAccuracy, Patience, TwoLayers, Window, learn, of_all, seeded
from hypergnn.experiments.systems.linear import logistic_regression, shares
from hypergnn.experiments.systems.manifold import unit_rows
from hypergnn.experiments.systems.monet import MoNetLayer, degree_coordinates
from hypergnn.experiments.systems.planetoid import Contexts, SampledContexts, label_contexts, other_classes
from hypergnn.experiments.systems.reaching import Reaching
from hypergnn.experiments.systems.structure import adjacency_of, as_features, features_of, normalized
from hypergnn.experiments.systems.variance_reduction import StoredActivations, as_hyperedges
from hypergnn.experiments.systems.walks import random_walks, window_pairs
from hypergnn.models import Config

FEW = {"learning_rate": 0.05, "epochs": 40}
QUICK = {
    "mlp": FEW,
    "semi-supervised-embedding": {**FEW, "pairs": 50, "strength": 1.0},
    "deepwalk": {"walks": 200, "length": 10, "window": 3, "dimensions": 16, "inverse_penalty": 100.0},
    "planetoid": {"label_batches": 50, "graph_batches": 50, "graph_walks": 20, "epochs": 100},
    "chebyshev": FEW,
    "gcn": FEW,
    "hgnn": FEW,
    "monet": FEW,
    "variance-reduction": FEW,
    "gat": FEW,
    "ours": {"config": Config("hyper-attention", learning_rate=0.02, max_epochs=60)},
}
"""Settings that make a system quick on the small dataset."""


def small(n_classes: int = 3, seed: int = 0) -> Dataset:
    """Sixty vertices, mostly linked within their class, with noisy features; the last two have no link."""
    rng = np.random.default_rng(seed)
    n = 60
    y = np.arange(n) % n_classes
    ends = rng.integers(0, n, (2, 600))
    stays = (y[ends[0]] == y[ends[1]]) | (rng.random(600) < 0.08)
    ends = ends[:, stays & (ends < n - 2).all(axis=0)]
    graph = hg.Graph.from_links(*ends[:, :150], n_vertices=n)
    x = (np.eye(n_classes)[y].repeat(4, axis=1) * rng.random((n, 4 * n_classes)) + 0.3 * rng.random((n, 1))).round(2)
    return Dataset(
        name="small",
        x=sparse.csr_array(np.where(x > 0.25, x, 0).astype(np.float32)),
        y=y,
        class_names=tuple("abcdef"[:n_classes]),
        graph=graph,
        hypergraph=hg.Hypergraph.from_hyperedges([graph.neighbours(v).tolist() for v in range(n)], n_vertices=n),
        train=np.arange(12),
        val=np.arange(12, 30),
        test=np.arange(30, n),
        source="generated",
    )


@pytest.fixture(scope="module")
def data() -> Dataset:
    return small()


def quick(name: str):
    return SYSTEMS[name](**QUICK.get(name, {}))


def test_the_systems_are_the_rows_of_the_table():
    assert [one.title for one in SYSTEMS.values()] == [*paper._QUOTED, "Ours"]
    assert list(SYSTEMS) == [one.name for one in SYSTEMS.values()]


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_seed_gives_the_same_result_twice_and_test_labels_are_never_read(data, name):
    system, state = quick(name), torch.random.get_rng_state()
    found = system.fit(data, seed=1)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found[data.test].argmax(axis=1) == data.y[data.test]).mean() > 0.7  # chance: 0.33

    y = data.y.copy()
    y[data.test] = np.roll(y[data.test], 1)
    np.testing.assert_array_equal(system.fit(replace(data, y=y), seed=1), found)
    if system.is_deterministic:
        np.testing.assert_array_equal(system.fit(data, seed=2), found)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_settings_of_a_dataset_are_those_with_the_best_validation_accuracy(name):
    grids = defaultdict(list)
    for line in (Path(__file__).parents[2] / "results" / "systems_grid.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["system"] == name:
            grids[entry["dataset"]].append(entry)
    for dataset, entries in grids.items():
        best = max(entries, key=lambda entry: entry["val_accuracy"])["settings"]  # the first of equal ones
        chosen = SYSTEMS[name].for_dataset(dataset)
        assert {key: getattr(chosen, key) for key in best} == best


# Oracles


def dense_transition(data: Dataset) -> np.ndarray:
    loops = data.graph.to_scipy().toarray() + np.eye(data.x.shape[0])
    scale = loops.sum(axis=1) ** -0.5
    return scale[:, None] * loops * scale


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "gcn"])
def test_training_is_that_of_dense_matrices_and_torch(data, name):
    T = torch.eye(60) if name == "mlp" else torch.from_numpy(dense_transition(data)).float()
    layer = hg.layers.Dense if name == "mlp" else hg.GraphConv
    with seeded(3):
        first, second = (layer(*sizes, bias=False).projection.detach().clone() for sizes in ((12, 16), (16, 3)))
    for one in (first, second):
        one.requires_grad_()
    x, y, train = torch.from_numpy(data.scaled("row").toarray()), torch.from_numpy(data.y), torch.from_numpy(data.train)
    adam = torch.optim.Adam([first, second], lr=0.01)
    for _ in range(15):
        adam.zero_grad()
        scores = T @ (T @ x @ first).relu() @ second
        (torch.nn.functional.cross_entropy(scores[train], y[train]) + 5e-4 / 2 * first.square().sum()).backward()
        adam.step()
    expected = (T @ (T @ x @ first).relu() @ second).softmax(-1).detach()
    found = SYSTEMS[name](dropout=0.0, epochs=15).fit(data, seed=3)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_manifold_regularization_is_the_least_squares_solution_of_the_stacked_system(data):
    x = unit_rows(data.x).toarray()
    np.testing.assert_allclose(np.linalg.norm(x[:, :-1], axis=1), 1)
    A = data.graph.to_scipy().toarray()
    lengths, vectors = np.linalg.eigh(np.diag(A.sum(axis=1)) - A)
    root = np.sqrt(lengths.clip(min=0))[:, None] * vectors.T  # rootᵀ root = L
    n, labelled = len(x), len(data.train)
    ridge = np.eye(x.shape[1])[:-1] * np.sqrt(0.01)
    left = np.concatenate([x[data.train] / np.sqrt(labelled), ridge, np.sqrt(50.0) / n * root @ x])
    right = np.zeros((len(left), 3))
    right[:labelled] = np.eye(3)[data.y[data.train]] / np.sqrt(labelled)
    expected = softmax(x @ np.linalg.lstsq(left, right, rcond=None)[0], axis=1)
    system = SYSTEMS["manifold-regularization"](ambient=0.01, intrinsic=50.0)
    np.testing.assert_allclose(system.fit(data, 0), expected, atol=1e-6)
    dense = replace(data, x=data.x.toarray())
    np.testing.assert_allclose(system.fit(dense, 0), expected, atol=1e-6)


def test_label_propagation_is_the_dense_solution(data):
    A = data.graph.to_scipy().toarray()
    unknown = np.setdiff1d(np.arange(58), data.train)  # the last two are linked to none
    left = np.diag(A.sum(axis=1)) - A
    Y = np.eye(3)[data.y[data.train]]
    expected = np.linalg.solve(left[np.ix_(unknown, unknown)], A[np.ix_(unknown, data.train)] @ Y)
    found = SYSTEMS["label-propagation"](class_mass=False).fit(data, 0)
    np.testing.assert_allclose(found[unknown], expected, atol=1e-12)
    np.testing.assert_allclose(found[data.train], Y)
    np.testing.assert_allclose(found[58:], np.tile(Y.mean(axis=0), (2, 1)))

    scaled = expected * (Y.mean(axis=0) / expected.sum(axis=0))
    normalised = SYSTEMS["label-propagation"](class_mass=True).fit(data, 0)
    np.testing.assert_allclose(normalised[unknown], scaled / scaled.sum(axis=1, keepdims=True), atol=1e-12)


def test_the_embedding_loss_is_that_of_its_equation():
    rng = np.random.default_rng(0)
    h, near, far = rng.random((7, 3)), rng.integers(0, 7, (2, 9)), rng.integers(0, 7, (2, 5))
    distances = [np.linalg.norm(h[pairs[0]] - h[pairs[1]], axis=1) for pairs in (near, far)]
    expected = (distances[0] ** 2).mean() + (np.maximum(0, 0.7 - distances[1]) ** 2).mean()
    found = embedding_loss(torch.from_numpy(h), torch.from_numpy(near), torch.from_numpy(far), 0.7)
    assert float(found) == pytest.approx(expected, abs=1e-6)


def against_the_rest(inverse_penalty):
    return OneVsRestClassifier(LogisticRegression(C=inverse_penalty, solver="liblinear"))


@pytest.mark.parametrize("classes", [[0, 1, 2], [0, 2], [1]])
def test_logistic_regression_is_that_of_scikit_learn(classes):
    rng = np.random.default_rng(0)
    x, y = rng.random((30, 4)), np.resize(classes, 30)
    found = shares(logistic_regression(x, y, 3, 2.0)(x))
    expected = np.zeros((30, 3))
    expected[:, classes] = 1 if len(classes) == 1 else against_the_rest(2.0).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(found, expected, atol=1e-3 if len(classes) == 2 else 1e-9)


def test_walks_follow_links_and_pairs_are_near_in_them(data):
    A = data.graph.to_scipy()
    walks = random_walks(A, np.arange(58), 6, np.random.default_rng(0))
    assert A.toarray()[walks[:, :-1], walks[:, 1:]].all()
    pairs = window_pairs(np.array([[1, 2, 3, 4]]), 2)
    expected = [(a, b) for a in range(1, 5) for b in range(1, 5) if abs(a - b) <= 2]
    assert sorted(map(tuple, pairs.tolist())) == expected


@pytest.mark.slow
def test_deepwalk_classifies_embeddings_of_its_walks(data):
    system = quick("deepwalk")
    rng = np.random.default_rng(5)
    start = np.concatenate([rng.permutation(60) for _ in range(system.walks)])
    embedding = system.embedded(random_walks(data.graph.to_scipy(), start, system.length, rng), 60, seed=5)
    expected = against_the_rest(100.0).fit(embedding[data.train], data.y[data.train])
    np.testing.assert_allclose(system.fit(data, 5), expected.predict_proba(embedding), atol=1e-6)


def test_deepwalk_says_what_it_needs(data, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gensim.models.word2vec", None)
    with pytest.raises(ImportError, match=r"DeepWalk needs gensim.*\[systems\]"):
        quick("deepwalk").fit(data, 0)


@pytest.mark.parametrize("neighbours", ["count", "share"])
def test_iterative_classification_visits_one_vertex_after_the_other(data, neighbours):
    """The same with two classifiers of scikit-learn, asked vertex by vertex."""
    A, x = data.graph.to_scipy().toarray(), data.x.toarray()
    if neighbours == "share":
        A = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    local = against_the_rest(1.0).fit(x[data.train], data.y[data.train])
    labels = local.predict(x)
    labels[data.train] = data.y[data.train]

    def seen(vertices):
        return np.hstack([x[vertices], A[vertices] @ np.eye(3)[labels]])

    both = against_the_rest(1.0).fit(seen(data.train), data.y[data.train])
    rng, expected = np.random.default_rng(7), both.predict_proba(seen(np.arange(60)))
    for _ in range(2):
        for vertex in rng.permutation(np.arange(12, 60)):
            expected[vertex] = both.predict_proba(seen([vertex]))[0]
            labels[vertex] = expected[vertex].argmax()
    found = SYSTEMS["ica"](neighbours=neighbours, inverse_penalty=1.0, iterations=2).fit(data, seed=7)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_without_iterations_scores_are_those_of_the_first_labels(data):
    A, own, labels = data.graph.to_scipy(), np.zeros((60, 3)), data.y.copy()
    np.testing.assert_array_equal(visit(A, own, np.eye(3), labels, []), A @ np.eye(3)[labels])


def test_a_step_on_contexts_follows_the_gradient():
    """The cross-entropy of a softmax over all vertices, pair by pair."""
    rng = np.random.default_rng(0)
    contexts = Contexts(5, 3)
    contexts.weight, contexts.bias = torch.from_numpy(rng.random((5, 3))), torch.from_numpy(rng.random(5))
    own, pairs = torch.from_numpy(rng.random((5, 3))), rng.integers(0, 5, (20, 2))
    leaves = [one.clone().requires_grad_() for one in (own, contexts.weight, contexts.bias)]
    scores = leaves[0][pairs[:, 0]] @ leaves[1].T + leaves[2]
    torch.nn.functional.cross_entropy(scores, torch.from_numpy(pairs[:, 1]), reduction="sum").backward()
    contexts.descend(own, pairs, np.empty((20, 0), np.int64), 0.1)
    for found, leaf in zip((own, contexts.weight, contexts.bias), leaves, strict=True):
        torch.testing.assert_close(found, leaf.detach() - 0.1 * leaf.grad)


@pytest.mark.slow
def test_a_step_on_drawn_contexts_follows_the_gradient():
    rng = np.random.default_rng(0)
    contexts = SampledContexts(5, 3)
    contexts.weight = torch.from_numpy(rng.random((5, 3)))
    own, pairs, drawn = torch.from_numpy(rng.random((5, 3))), rng.integers(0, 5, (20, 2)), rng.integers(0, 5, (20, 2))
    leaves = [one.clone().requires_grad_() for one in (own, contexts.weight)]
    near = (leaves[0][pairs[:, 0]] * leaves[1][pairs[:, 1]]).sum(-1)
    far = (leaves[0][pairs[:, :1]] * leaves[1][drawn]).sum(-1)
    (-torch.nn.functional.logsigmoid(near).sum() - torch.nn.functional.logsigmoid(-far).sum()).backward()
    contexts.descend(own, pairs, drawn, 0.1)
    for found, leaf in zip((own, contexts.weight), leaves, strict=True):
        torch.testing.assert_close(found, leaf.detach() - 0.1 * leaf.grad)


def test_drawn_contexts_of_labels_are_of_another_class():
    train, y = np.array([4, 7, 9, 11, 2]), np.zeros(12, np.int64)
    y[[7, 11, 2]] = 1, 1, 2
    found = other_classes(np.array([4, 7, 9, 11, 2]), train, y, 40, np.random.default_rng(0))
    assert [set(row) for row in found.tolist()] == [{7, 11, 2}, {4, 9, 2}, {7, 11, 2}, {4, 9, 2}, {4, 9, 7, 11}]


def test_contexts_of_labels_are_of_the_same_class():
    train, y = np.array([4, 7, 9, 11]), np.array([0, 1, 0, 1])
    pairs = next(label_contexts(train, y, 50, np.random.default_rng(0)))
    assert pairs.shape == (50, 2)
    assert set(map(tuple, pairs.tolist())) == {(a, b) for own in ((4, 9), (7, 11)) for a in own for b in own}
    assert not list(label_contexts(train, np.zeros(4, int), 50, np.random.default_rng(0)))


@pytest.mark.slow
@pytest.mark.parametrize("negative", [0, 2])
def test_planetoid_without_validation_vertices_or_links(data, negative):
    alone = replace(data, val=data.val[:0], graph=hg.Graph.from_links([], [], n_vertices=60))
    system = SYSTEMS["planetoid"](negative=negative, label_batches=2, graph_batches=2, epochs=2)
    assert system.fit(alone, 0).shape == (60, 3)
    found = replace(quick("planetoid"), negative=negative).fit(data, 1)
    assert (found[data.test].argmax(axis=1) == data.y[data.test]).mean() > 0.7


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_chebyshev_is_pygs(data, order):
    from torch_geometric.nn import ChebConv

    A, x = data.graph.to_scipy(), torch.rand(60, 5, generator=torch.Generator().manual_seed(0))
    layer = ChebyshevLayer(5, 4, order)
    other = ChebConv(5, 4, K=order + 1, bias=False)
    with torch.no_grad():
        for own, part in zip(other.lins, layer.projection.chunk(order + 1, -1), strict=True):
            own.weight.copy_(part.T)
    links = torch.from_numpy(np.stack(A.nonzero())).long()
    expected = other(x, links, lambda_max=torch.tensor(2.0))
    isolated = slice(0, 58)  # PyG's Laplacian has no 1 on the diagonal of a vertex without links
    found = layer(x, as_features(-normalized(A)))
    torch.testing.assert_close(found[isolated], expected[isolated], rtol=1e-4, atol=1e-5)


def test_chebyshev_keeps_the_loops_of_the_data(data):
    looped = replace(data, self_links=[3, 7])
    A = adjacency_of(looped, "Chebyshev", loops=True)
    assert (A - adjacency_of(looped, "Chebyshev")).nonzero()[0].tolist() == [3, 7]
    one, other = (quick("chebyshev").fit(one, 0) for one in (data, looped))
    assert not np.allclose(one, other)


def test_monet_is_pygs(data):
    from torch_geometric.nn import GMMConv

    x, u = torch.rand(60, 5), degree_coordinates(data.graph)
    layer, other = MoNetLayer(5, 4, kernels=3), GMMConv(5, 4, dim=2, kernel_size=3, root_weight=False)
    with torch.no_grad():
        layer.bias.uniform_()
        for mine, its in ((layer.projection, "g"), (layer.mean, "mu"), (layer.spread, "sigma"), (layer.bias, "bias")):
            getattr(other, its).copy_(mine)
    links = torch.stack([data.graph.source, data.graph.target]).long()
    expected = other((x, None), links, layer.coordinates(u).tanh(), size=(60, 60))
    torch.testing.assert_close(layer(x, data.graph, u), expected, rtol=1e-4, atol=1e-5)


def test_graph_attention_is_pygs(data):
    from torch_geometric.nn import GATConv

    x = torch.rand(60, 5)
    layer, other = hg.GraphAttention(5, 4, heads=3, aggregate="mean"), GATConv(5, 4, heads=3, concat=False)
    with torch.no_grad():
        other.lin.weight.copy_(layer.projection.T)
        other.att_dst.copy_(layer.a_target.reshape(1, 3, 4))
        other.att_src.copy_(layer.a_source.reshape(1, 3, 4))
    links = torch.stack([data.graph.source, data.graph.target]).long()
    torch.testing.assert_close(layer(x, data.graph), other(x, links), rtol=1e-4, atol=1e-5)


def test_hypergraph_convolution_is_that_of_dhg(data):
    import dhg

    H = data.hypergraph
    members = [H.vertex[H.hyperedge == number].tolist() for number in range(60)]
    other = dhg.Hypergraph(60, members, merge_op="sum")
    layer, x = hg.HypergraphConv(5, 4), torch.rand(60, 5)
    expected = other.smoothing_with_HGNN(x @ layer.projection)
    torch.testing.assert_close(layer(x, H), expected + layer.bias, rtol=1e-4, atol=1e-5)


def test_links_as_hyperedges_propagate_as_the_adjacency_matrix(data):
    A, x = data.graph.to_scipy(), torch.rand(60, 2)
    found = hg.functional.hypergraph_conv(x, as_hyperedges(A), normalization="none")
    np.testing.assert_allclose(found, A @ x.numpy(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("fanout", [1, 2])
def test_control_variates_are_those_of_the_equation(data, fanout):
    T, A = dense_transition(data), data.graph.to_scipy().toarray()
    rng = np.random.default_rng(0)
    stored, now, noisy = (rng.random((60, 2)).astype(np.float32) for _ in range(3))
    loader = hg.NeighborLoader(
        as_hyperedges(data.graph.to_scipy()), data.x, vertices=[3, 58, 0, 17], fanout=[(fanout, 1)]
    )
    seen = set()
    for epoch in range(60):
        (block,) = loader.batch(0, epoch).blocks
        drawn = np.zeros((4, 60))
        drawn[:, block.read.numpy()] = hg.functional.hypergraph_conv(
            torch.eye(block.n_vertices), block, normalization="none"
        ).bool()
        made = block.made.numpy()
        assert (drawn <= A[made]).all()
        assert (drawn.sum(axis=1) == np.minimum(A[made].sum(axis=1), fanout)).all()
        seen |= {(vertex, u) for vertex, row in zip(made, drawn, strict=True) for u in np.flatnonzero(row)}
        n = A[made].sum(axis=1, keepdims=True) / fanout
        expected = T[made] @ stored + np.diag(T)[made, None] * (noisy - stored)[made]
        expected += (np.maximum(n, 1) * drawn * T[made]) @ (now - stored)
        expected += (np.sqrt(np.maximum(n, 1)) * drawn * T[made]) @ (noisy - now)
        own = StoredActivations(sparse.csr_array(T), torch.from_numpy(stored.copy()))
        h, mean = (torch.from_numpy(one)[block.read] for one in (noisy, now))
        np.testing.assert_allclose(own.estimate(block, h, mean), expected, atol=1e-5)
        np.testing.assert_array_equal(own.stored[block.read], now[block.read])
        exact = StoredActivations(sparse.csr_array(T), torch.from_numpy(now.copy())).estimate(block, mean, mean)
        np.testing.assert_allclose(exact, T[made] @ now, atol=1e-5)
    assert seen == {(vertex, u) for vertex in (3, 58, 0, 17) for u in np.flatnonzero(A[vertex])}, "all are drawn"


@pytest.mark.slow
def test_ours_is_the_trial_that_fit_runs(data):
    system = quick("ours")
    (record,) = hg.training.fit(data, system.config, trials=1, jobs=1).records
    right = system.fit(data, 0).argmax(axis=1) == data.y
    assert 100 * right[data.test].mean() == pytest.approx(record.test_accuracy)
    assert 100 * right[data.val].mean() == pytest.approx(record.val_accuracy)
    assert SYSTEMS["ours"].for_dataset("citeseer").config.skip
    assert SYSTEMS["ours"].for_dataset("unheard of").config.model == "hyper-attention"


# Stopping, and data that a system cannot take


@pytest.mark.parametrize(("by_both", "best"), [(True, 1), (False, 2)])
def test_patience_predicts_with_the_lowest_loss_or_the_last_epoch_that_is_best_in_both(by_both, best):
    patience, network = Patience(2, by_both=by_both), torch.nn.Linear(1, 1)
    seen = [(1.0, 0.5), (0.9, 0.7), (0.85, 0.6), (0.97, 0.6), (0.98, 0.6)]
    over = []
    for number, (loss, accuracy) in enumerate(seen):
        torch.nn.init.constant_(network.weight, number)
        over.append(patience.is_over(loss, accuracy, network))
    assert over == [False, False, False, False, True]
    patience.restore(network)
    assert network.weight.item() == best


def test_the_best_accuracy_decides_which_parameters_predict():
    best, network = BestAccuracy(), torch.nn.Linear(1, 1)
    for number, accuracy in enumerate([0.5, 0.7, 0.7, 0.6]):
        torch.nn.init.constant_(network.weight, number)
        assert not best.is_over(1.0, accuracy, network)
    best.restore(network)
    assert network.weight.item() == 1


@pytest.mark.parametrize("kind", ["none", "graph", "attention", "hypergraph"])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_what_is_reached_has_the_scores_and_the_gradient_of_the_whole(data, kind, is_sparse):
    layer, structure = {
        "none": (hg.layers.Dense, None),
        "graph": (hg.GraphConv, data.graph),
        "attention": (hg.GraphAttention, data.graph),
        "hypergraph": (hg.HypergraphConv, data.hypergraph),
    }[kind]
    network = TwoLayers(layer(12, 4), layer(4, 3), 0.0)
    x = features_of(data if is_sparse else replace(data, x=data.x.toarray()))
    scores, rows = Reaching(network, x, structure), torch.tensor([7, 2, 40])
    gradients = []
    for found in (scores(None)[rows], scores(rows)):
        network.zero_grad()
        found.square().sum().backward()
        gradients.append([one.grad.clone() for one in network.parameters()])
    torch.testing.assert_close(*gradients)
    network.eval()
    torch.testing.assert_close(scores(rows), scores(None)[rows])
    network.train()
    network.dropout = 0.5
    assert not torch.equal(scores(rows), scores(rows)), "each step drops others"
    assert scores(rows).shape == (3, 3)


def test_training_without_validation_vertices_runs_for_all_epochs(data):
    alone = replace(data, val=data.val[:0])
    found = SYSTEMS["mlp"](epochs=3).fit(alone, 0)
    assert found.shape == (60, 3)
    with seeded(0):
        network = TwoLayers(hg.layers.Dense(12, 4), hg.layers.Dense(4, 3), 0.0)
        options = {"groups": network.decayed(0.0), "learning_rate": 0.01, "epochs": 30, "stopping": Window(1)}
        assert learn(network, of_all(lambda: network(features_of(data))), data, **options).shape == (60, 3)


def test_a_system_that_needs_links_says_so_where_there_are_too_many(data, monkeypatch):
    shared = replace(data, graph=hg.structures.SharedGraph.from_hypergraph(data.hypergraph))
    together = data.hypergraph.to_scipy() @ data.hypergraph.to_scipy().T != 0
    assert (adjacency_of(shared, "MoNet") != 0).nnz == together.nnz - 60  # without loops
    monkeypatch.setattr("hypergnn.training.pairwise.MOST_LINKS", 10)
    for one in (shared, replace(data, graph=None)):
        with pytest.raises(DoesNotApplyError, match="MoNet does not apply to small: it needs a list of links"):
            SYSTEMS["monet"]().fit(one, 0)
    assert SYSTEMS["gcn"](epochs=1).fit(shared, 0).shape == (60, 3)


def test_the_tool_tunes_without_test_labels(data, tmp_path, monkeypatch):
    path = Path(__file__).parents[2] / "tools" / "tune_systems.py"
    spec = importlib.util.spec_from_file_location("tune_systems", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    seen = []
    monkeypatch.setattr(tool.hg.datasets, "load", lambda name: (seen.append(name), data)[1])
    out = tmp_path / "grid.jsonl"
    command = ["tune", "--systems", "label-propagation", "--datasets", "small", "--out", str(out)]
    monkeypatch.setattr("sys.argv", command)
    tool.main()
    tool.main()
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["settings"] for line in lines] == [{"class_mass": False}, {"class_mass": True}]
    assert (tool.without_test_labels(data).y[data.test] == -1).all()
