"""The plan, computed once before training, changes no loss, no gradient and no score."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from support.structures import N_SCATTERED as N
from support.structures import scattered

import hypergnn as hg
from hypergnn.functional.projection import drop, project, to_dense
from hypergnn.kernels import cross_entropy
from hypergnn.kernels.dropout import seeded
from hypergnn.models import KINDS, Config, Network
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training import engine, fit, plan
from hypergnn.training.plan import Plan, Task

FEW = torch.tensor([48, 3, 17, 3, 49, 20])  # out of order, one of them twice, two of them isolated


def task(H, *, dense=False, shared=False):
    rng = np.random.default_rng(2)
    x = ((rng.random((N, 12)) < 0.3) * rng.random((N, 12))).astype(np.float32)
    graph = hg.Graph.from_links(rng.integers(0, 45, 20), rng.integers(0, 45, 20), N)
    if shared:
        graph = SharedGraph.from_hypergraph(H)
    features = torch.from_numpy(x) if dense else SparseFeatures.from_scipy(sparse.csr_array(x))
    y = torch.from_numpy(rng.integers(0, 3, N))
    return Task(features, {"graph": graph, "hypergraph": H}, y, FEW, FEW, FEW, n_features=12, n_classes=3)


def losses_and_gradients(network, run, y, rows, places=None):
    with seeded([7], 3, places):
        scores = run()
    network.zero_grad()
    losses = cross_entropy(scores, y, rows)
    losses.sum().backward()
    return [losses.detach(), *[one.grad.clone() for one in network.parameters()]]


def of_trials(x):
    return x if isinstance(x, SparseFeatures) else x[None]


def assert_a_part_is_the_whole(given, config):
    torch.manual_seed(0)
    network = Network(config, 12, 3)
    parameters = {name: torch.nn.Parameter(one.detach()[None] + 0.1) for name, one in network.named_parameters()}
    engine._use(network, parameters)
    part = Plan.of(given, config).training
    near = losses_and_gradients(
        network, lambda: network._scores(of_trials(part.x), part.steps, part.known), part.y, part.rows, part.places
    )
    whole = losses_and_gradients(network, lambda: network(of_trials(given.x), **given.structures), given.y, FEW)
    torch.testing.assert_close(near, whole, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("dense", "dropout"), [(True, 0.0), (True, 0.5), (False, 0.5)])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("centred", ["all", "some", "none"])
def test_a_part_gives_the_losses_and_gradients_of_the_whole(centred, model, depth, dense, dropout, backend):  # noqa: ARG001
    skip = depth == 3 and KINDS[model].form == "layers"
    config = Config(model, hidden=3, heads=2, depth=depth, skip=skip, dropout=dropout, attention_dropout=dropout)
    assert_a_part_is_the_whole(task(scattered(centred), dense=dense), config)


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name, kind in KINDS.items() if kind.can_be_deep])
def test_a_part_of_a_deep_network_gives_the_losses_and_gradients_of_the_whole(model, backend):  # noqa: ARG001
    config = Config(model, hidden=3, heads=2, depth=3, residual="initial", dropout=0.5, attention_dropout=0.5)
    assert_a_part_is_the_whole(task(scattered("some"), dense=True), config)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("model", ["gcn", "gcn+hyper-conv"])
def test_a_part_of_a_graph_whose_links_are_not_listed(model, depth, backend):  # noqa: ARG001
    config = Config(model, hidden=3, heads=2, depth=depth, dropout=0.5)
    assert_a_part_is_the_whole(task(scattered("all"), shared=True), config)


@pytest.mark.parametrize("model", ["hyper-conv", "gcn", "gcn+hyper-conv"])
def test_the_first_transition_is_precomputed_where_that_saves_time(model):
    config = Config(model)
    assert Plan.of(task(scattered("all"), dense=True), config).validation.known is not None
    assert Plan.of(task(scattered("all"), dense=True), config).training.known is None, "features are dropped"
    assert Plan.of(task(scattered("all"), dense=True), replace(config, dropout=0.0)).training.known is not None
    assert Plan.of(task(scattered("all"), dense=True), replace(config, depth=1)).validation.known is None
    wide = SparseFeatures.from_scipy(sparse.eye_array(N, 400, format="csr"))
    assert Plan.of(replace(task(scattered("all")), x=wide, n_features=400), config).validation.known is None


def test_a_whole_structure_is_not_copied():
    H = scattered("all")
    everything = replace(task(H), train=torch.arange(N))
    assert all(step[0] is H for step in Plan.of(everything, Config()).training.steps)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fit_makes_one_plan_for_all_batches_and_workers(jobs, monkeypatch, tmp_path):
    made = tmp_path / "made"
    whole, fields = plan._known_transition, plan.receptive_field

    def noting(function, name):
        def noted(*given, **options):
            with made.open("a") as file:
                file.write(f"{name}\n")
            return function(*given, **options)

        return noted

    monkeypatch.setattr(plan, "_known_transition", noting(whole, "transition"))
    monkeypatch.setattr(plan, "receptive_field", noting(fields, "field"))
    fit(hg.datasets.load("digits"), Config(max_epochs=2), trials=4, batch=1, jobs=jobs)
    assert sorted(made.read_text().split()) == ["field", "field", "transition"], (
        "one field for the training loss, one for the validation loss"
    )


def test_rows_of_rows_and_of_dropped_features():
    given = task(scattered("all")).x
    some = given.select_rows(torch.tensor([2, 5, 8, 11]))
    assert torch.equal(to_dense(some.select_rows(torch.tensor([1, 3]))), to_dense(given)[[5, 11]])
    with seeded([1], epoch=0):
        dropped = drop(given, 0.5)
    assert torch.equal(to_dense(dropped.select_rows(torch.tensor([2, 5]))), to_dense(dropped)[:, [2, 5]])
    with pytest.raises(ValueError, match="rows must ascend"):
        given.select_rows(torch.tensor([3, 3]))
    learned = replace(some, values=some.values.clone().requires_grad_())
    with pytest.raises(ValueError, match="values must have an entry for each"):
        project(learned, torch.rand(12, 2))
