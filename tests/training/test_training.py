"""A trial gives the same result alone, in a batch, interrupted and resumed, with one worker or two."""

import importlib
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from scipy import sparse
from support import real_data
from support.forks import Program
from support.points import grouped_points

import hypergnn as hg
from hypergnn.kernels.dropout import seeded
from hypergnn.models import KINDS, Config, Network, paper_config
from hypergnn.persistence.locks import locked
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training import fit, ledger, worker, workers
from hypergnn.training.adam import Adam
from hypergnn.training.engine import train
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task

SMALL = Config(hidden=4, heads=2, patience=6, max_epochs=16)
fitting = importlib.import_module("hypergnn.training.trainer")


@pytest.fixture(scope="module")
def data():
    return grouped_points()


def plan_of(data, config):
    return Plan.of(Task.of(data, config), config)


def trials(data, config, seeds):
    return {trial.seed: trial for trial in train(plan_of(data, config), config, seeds)}


@pytest.mark.slow
@pytest.mark.parametrize("model", KINDS)
def test_a_trial_is_the_same_alone_and_in_any_company(data, model):
    config = replace(SMALL, model=model)
    alone, together = trials(data, config, [5]), trials(data, config, [3, 5, 8, 1])
    assert together[5].curves == alone[5].curves
    assert together[5].epochs == alone[5].epochs
    assert torch.equal(together[5].scores, alone[5].scores)
    assert together[3].curves != together[5].curves


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [name for name in KINDS if not KINDS[name].is_dynamic]
)  # of equals, the first is near
@pytest.mark.parametrize("centroids", ["all", "some", "none"])
def test_in_another_order_the_same_is_learned(data, model, centroids):
    H, config = data.hypergraph, replace(SMALL, model=model, dropout=0.0, attention_dropout=0.0)
    if config.is_random:
        config = replace(config, row_dropout=0.0)
    if centroids != "all":  # some vertices and hyperedges become isolated
        centroid = np.where(np.arange(60) % 7, H.centroid.numpy(), -1) if centroids == "some" else None
        kept = H.vertex.numpy() % 9 > 0
        H = hg.Hypergraph.from_incidence(
            H.vertex[kept], H.hyperedge[kept], 60, 60, weight=1 + np.arange(60) % 4, centroid=centroid
        )
    given = replace(data, hypergraph=H)
    ordered = near_together(given)
    assert (ordered.y != given.y).any()
    curves = [trials(one, config, [0])[0].curves for one in (given, ordered)]
    for name, curve in curves[0].items():
        assert curves[1][name] == pytest.approx(curve, rel=1e-4)


def test_neighbours_get_nearby_numbers(data):
    numbers = np.random.default_rng(0).permutation(60)
    ring = [[numbers[k], numbers[(k + 1) % 60]] for k in range(60)]
    H = near_together(replace(data, hypergraph=hg.Hypergraph.from_hyperedges(ring, n_vertices=60))).hypergraph
    members = H.to_scipy().tocsc().indices.reshape(60, 2)
    assert np.ptp(members.astype(int), axis=1).max() <= 4
    empty = replace(data, hypergraph=hg.Hypergraph.from_hyperedges([], n_vertices=60))
    assert near_together(empty) is empty
    looped = near_together(replace(data, self_links=data.train[:5]))
    assert set(looped.self_links) <= set(looped.train)
    assert sorted(looped.y[looped.self_links]) == sorted(data.y[data.train[:5]])


def test_every_epoch_is_counted_once(data):
    seen = []
    run = fit(data, SMALL, trials=3, batch=1, jobs=1, on_progress=seen.append)
    assert seen[-1].epochs == sum(record.epochs for record in run.records)


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_the_optimiser_is_adam(backend, monkeypatch):
    monkeypatch.setattr("hypergnn.kernels.dispatch.wanted", backend)
    ours = {"p": torch.rand(3, 5, dtype=torch.float64).requires_grad_()}
    theirs = ours["p"].detach().clone().requires_grad_()
    adam, reference = Adam(ours, 0.01, 0.1), torch.optim.Adam([theirs], lr=0.01, weight_decay=0.1)
    for _ in range(20):
        for one in (ours["p"], theirs):
            one.sin().sum().backward()
        adam.step()
        reference.step()
        reference.zero_grad()
    torch.testing.assert_close(ours["p"], theirs)


@pytest.mark.slow
@pytest.mark.parametrize("model", KINDS)
def test_both_backends_give_the_same_validation_curve(data, model, monkeypatch):
    config = replace(SMALL, model=model)
    curves = {}
    for backend in ("numba", "torch"):
        monkeypatch.setattr("hypergnn.kernels.dispatch.wanted", backend)
        curves[backend] = [trial.curves["val_loss"] for trial in trials(data, config, [0, 1, 2]).values()]
    assert curves["numba"] == [pytest.approx(curve, rel=1e-5) for curve in curves["torch"]]


def test_trials_leave_when_their_patience_is_over_and_keep_their_best_epoch(data):
    finished = trials(data, replace(SMALL, max_epochs=150, learning_rate=0.05), range(6))
    assert len({trial.epochs for trial in finished.values()}) > 1
    for trial in finished.values():
        losses = trial.curves["val_loss"]
        assert len(losses) == trial.epochs
        assert trial.best_epoch == int(np.argmin(losses))
        assert trial.epochs in (trial.best_epoch + 1 + SMALL.patience, 150)
        assert trial.loss["val"] == pytest.approx(min(losses), rel=1e-6)
        right = trial.scores.argmax(1).numpy() == data.y
        assert trial.accuracy["test"] == pytest.approx(100 * right[data.test].mean())


def test_a_trial_goes_on_as_before_when_another_leaves(data):
    config = replace(SMALL, max_epochs=150, learning_rate=0.05)
    together = trials(data, config, range(6))
    first, *_, last = sorted(together, key=lambda seed: together[seed].epochs)
    assert together[first].epochs < together[last].epochs
    assert together[last].curves == trials(data, config, [last])[last].curves


@pytest.mark.slow
@pytest.mark.parametrize("model", KINDS)
def test_every_model_learns(data, model):
    options = {"max_epochs": 50, "patience": 50, "learning_rate": 0.04, "dropout": 0.1, "attention_dropout": 0.1}
    finished = trials(data, replace(SMALL, model=model, **options), [0])
    assert finished[0].accuracy["train"] > 90
    assert finished[0].accuracy["test"] > (50 if model == "mlp" else 70)


def test_the_engine_trains_as_plain_torch_does(data):
    config = replace(SMALL, dropout=0.0, feature_scaling="none", max_epochs=15, weight_decay=0.01)
    network = Network(config, data.n_features, data.n_classes)
    network.reset_parameters(torch.Generator().manual_seed(2))
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    y, chosen = torch.from_numpy(data.y), torch.from_numpy(data.train)
    losses = []
    for _ in range(15):
        loss = torch.nn.functional.cross_entropy(
            network(data.features(), hypergraph=data.hypergraph)[chosen], y[chosen]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert trials(data, config, [1, 2])[2].curves["train_loss"] == pytest.approx(losses, rel=1e-4)


def test_dropout_is_drawn_for_each_seed_and_epoch(data):
    config = replace(SMALL, dropout=0.6, max_epochs=10, patience=10)
    task, network = Task.of(data, config), Network(config, data.n_features, data.n_classes)
    network.reset_parameters(torch.Generator().manual_seed(2))
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    losses = []
    for epoch in range(10):
        with seeded([2], epoch):
            scores = network(task.x, hypergraph=data.hypergraph)  # (1, N, n_classes)
        loss = torch.nn.functional.cross_entropy(scores[0, task.train], task.y[task.train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert trials(data, config, [1, 2])[2].curves["train_loss"] == pytest.approx(losses, rel=1e-4)


@pytest.mark.slow
def test_the_number_of_workers_and_the_size_of_batches_change_nothing(data):
    runs = [
        fit(data, SMALL, trials=6, jobs=jobs, batch=batch)
        for jobs, batch in [(1, None), (2, None), (2, 1), (1, 6), (2, 4)]
    ]
    for run in runs[1:]:
        assert [without_time(record) for record in run.records] == [without_time(record) for record in runs[0].records]


def without_time(record):
    return replace(record, seconds=0.0)


def test_an_interrupted_run_is_resumed(data, tmp_path):
    whole = fit(data, SMALL, trials=6, out=tmp_path / "whole")
    fit(data, SMALL, trials=2, out=tmp_path / "parts")
    seen = []
    resumed = fit(data, SMALL, trials=6, out=tmp_path / "parts", on_progress=lambda progress: seen.append(progress))
    assert [without_time(one) for one in resumed.records] == [without_time(one) for one in whole.records]
    assert seen[0].done == 2
    assert seen[-1].done == seen[-1].total == 6
    assert fit(data, SMALL, trials=3, out=tmp_path / "parts").records == resumed.records[:3]


def test_another_configuration_in_the_same_folder_is_refused(data, tmp_path):
    fit(data, SMALL, trials=1, out=tmp_path)
    with pytest.raises(ValueError, match=r"config\.hidden: 4 in the run, 5 now"):
        fit(data, replace(SMALL, hidden=5), trials=1, out=tmp_path)


def test_the_best_model_is_saved_and_reproduces_its_record(data, tmp_path):
    run = fit(data, SMALL, trials=4, out=tmp_path)
    saved = hg.load(tmp_path / "model.safetensors")
    best = min(run.records, key=lambda record: record.val_loss)
    assert saved.about["seed"] == best.seed
    assert saved.class_names == ("a", "b", "c")
    scores = saved.network(data.features(normalize="row"), hypergraph=data.hypergraph)
    accuracy = 100 * float((scores.argmax(1).numpy() == data.y)[data.test].mean())
    assert accuracy == pytest.approx(best.test_accuracy)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_loses_no_finished_trial(data, tmp_path, jobs):
    def interrupt(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    run = fit(data, SMALL, trials=6, batch=1, jobs=jobs, out=tmp_path, curves=True, on_progress=interrupt)
    assert run.interrupted
    assert len(run.records) == 2
    assert not multiprocessing.active_children()
    assert not fit(data, SMALL, trials=6, out=tmp_path).interrupted


@pytest.mark.timing
def test_trials_together_cost_less_than_one_after_another():
    """At most 0.7 of the time for 32 trials of hyper-conv on Cora; medians of interleaved rounds."""
    cora = real_data.load("cora")
    config = replace(paper_config("cora"), max_epochs=12)  # so long that starting the workers hardly counts
    plan = plan_of(cora, config)
    torch.set_num_threads(os.cpu_count())  # torch's own default

    def one_after_another():
        return [trial for seed in range(32) for trial in train(plan, config, [seed])]

    def together():
        return fit(cora, config, trials=32).records

    seconds = {one_after_another: [], together: []}
    for _ in range(3):
        for way, times in seconds.items():
            start = time.perf_counter()
            assert len(way()) == 32
            times.append(time.perf_counter() - start)
    assert np.median(seconds[together]) <= 0.7 * np.median(seconds[one_after_another])


@pytest.mark.parametrize(("config", "kind"), [({}, "validation"), ({"max_epochs": 1}, "validation")])
def test_training_that_diverges_stops_with_a_sentence(data, config, kind, tmp_path):
    match = (
        rf"training has diverged: the {kind} loss of seed 0 is nan in epoch 0\. Use a smaller learning_rate than 1e\+30"
    )
    with pytest.raises(ValueError, match=match):
        fit(data, replace(SMALL, learning_rate=1e30, **config), trials=1, out=tmp_path)
    assert not ledger.read(tmp_path).records


def test_training_without_validation_that_diverges_stops_too(data):
    config = replace(SMALL, learning_rate=1e30)
    task = replace(Task.of(data, config), val=torch.empty(0, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"training has diverged: the training loss of seed 4 is nan in epoch 1"):
        next(train(Plan.of(task, config), config, [4]))
    with pytest.raises(ValueError, match=r"training has diverged: the final loss of seed 4 is nan in epoch 0"):
        next(train(Plan.of(task, config), replace(config, max_epochs=1), [4]))


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_training_reaches_the_caller(data, jobs, monkeypatch):
    broken = replace(data, y=np.full(60, 2))
    object.__setattr__(broken, "class_names", ("a",))
    monkeypatch.setattr(sys.modules["hypergnn.training.trainer"], "near_together", lambda _: broken)
    with pytest.raises((RuntimeError, IndexError)):
        fit(data, SMALL, trials=2, batch=1, jobs=jobs)


class _UnreadableError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.slow
@pytest.mark.parametrize("error", [ValueError("wrong"), _UnreadableError(1, 2), ValueError(lambda: 0)])
def test_every_error_of_a_worker_reaches_the_caller(data, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(workers, "_warm_up", lambda *_: None)
    monkeypatch.setattr(worker, "train", fail)
    kinds = ValueError if str(error) == "wrong" else (RuntimeError, _UnreadableError)  # Dask makes every error readable
    with pytest.raises(kinds, match=r"wrong|a worker failed|in fail|1 and 2"):
        fit(data, SMALL, trials=2, batch=1, jobs=2)


@pytest.mark.slow
def test_workers_end_with_their_parent_and_do_not_hold_its_lock(data, tmp_path):
    def show(_):
        print(*[child.pid for child in multiprocessing.active_children()], flush=True)

    def train_for_long():
        config = Config(max_epochs=10_000_000, patience=10_000_000)
        fit(data, config, trials=4, jobs=2, batch=1, out=tmp_path / "run", on_progress=show)

    with Program(train_for_long) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.kill()
    with locked(tmp_path / "run" / ledger.LOCK):
        pass
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.slow
@pytest.mark.parametrize("fork", [True, False])
def test_processes_and_threads_give_the_same(data, monkeypatch, fork):
    alone = fit(data, SMALL, trials=4, jobs=1, batch=1)
    monkeypatch.setattr(workers, "_can_fork", lambda _: fork)
    together = fit(data, SMALL, trials=4, jobs=2, batch=2)
    assert [without_time(one) for one in together.records] == [without_time(one) for one in alone.records]


def test_settings_of_the_paper():
    assert paper_config("cora", "gat") == Config(model="gat", learning_rate=0.005, weight_decay=3e-4, hidden=8, heads=8)
    assert (paper_config("pubmed").learning_rate, paper_config("pubmed").weight_decay) == (0.01, 1e-3)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda _: Config(model="gnn"), r"model must be one of 'hyper-conv', .*; got 'gnn'"),
        (lambda _: Config(depth=0), r"depth must be at least 1; got 0"),
        (lambda _: Config(dropout=1.0), r"dropout must be a number from 0 up to, but not including, 1"),
        (lambda _: Config(learning_rate=0), r"learning_rate must be positive"),
        (lambda _: Config(learning_rate=float("nan")), r"learning_rate must be a number from 0 .*; got nan"),
        (lambda _: Config(learning_rate=float("inf")), r"learning_rate must be a number from 0 .*; got inf"),
        (lambda _: Config(weight_decay=float("nan")), r"weight_decay must be a number from 0 .*; got nan"),
        (lambda _: Config(weight_decay=-1), r"weight_decay must be a number from 0 .*; got -1"),
        (lambda data: fit(data, trials=0), r"trials must be at least 1; got 0"),
        (lambda data: fit(data, curves=True), r"out must be given with curves"),
        (lambda data: fit(replace(data, graph=None), Config(model="gcn")), r"'gcn' needs a graph, and small has none"),
        (
            lambda data: Network(Config(), 30, 3)(data.features()),
            r"the model 'hyper-conv' needs a hypergraph",
        ),
    ],
)
def test_bad_settings_are_refused(data, call, match):
    with pytest.raises(ValueError, match=match):
        call(data)


def test_without_validation_vertices_a_trial_runs_all_epochs_and_uses_its_last_parameters(data):
    config = replace(SMALL, patience=2, max_epochs=8)
    task = replace(Task.of(data, config), val=torch.empty(0, dtype=torch.int64), test=torch.empty(0, dtype=torch.int64))
    plan = Plan.of(task, config)
    trial = next(train(plan, config, [4]))
    longer = next(train(plan, replace(config, max_epochs=9), [4]))
    assert (trial.epochs, trial.best_epoch, len(trial.curves["train_loss"])) == (8, 7, 8)
    assert trial.curves["val_loss"] == []
    assert trial.curves["train_loss"] == longer.curves["train_loss"][:8]
    assert not torch.equal(trial.scores, longer.scores)
    assert np.isnan([trial.accuracy["val"], trial.accuracy["test"], trial.loss["val"]]).all()


@pytest.mark.parametrize("model", KINDS)
def test_networks_take_batches_of_features(data, model):
    network = Network(replace(SMALL, model=model), data.n_features, 3).eval()
    x = torch.rand(2, 60, data.n_features)
    structures = {"graph": data.graph, "hypergraph": data.hypergraph}
    expected = torch.stack([network(one, **structures) for one in x])
    torch.testing.assert_close(network(x, **structures), expected)


def test_sparse_features_allow_larger_batches(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 29))
    few = sparse.csr_array(np.eye(300, 50_000, dtype=np.float32))
    nothing = torch.empty(0, dtype=torch.int64)
    rest = (torch.zeros(300, dtype=torch.int64), *[nothing] * 3)
    batches = [
        fitting._fitting_batch(Task(x, {}, *rest, n_features=50_000, n_classes=2), Config(), jobs=1)
        for x in (SparseFeatures.from_scipy(few), torch.from_numpy(few.toarray()))
    ]
    assert batches == [2, 1], "each trial has its own parameters for all 50 000 features"


def test_batch_normalised_trials_share_what_is_worth_sharing():
    x, nothing = torch.rand(3000, 100), torch.empty(0, dtype=torch.int64)
    task = Task(x, {}, torch.zeros(3000, dtype=torch.int64), *[nothing] * 3, n_features=100, n_classes=2)
    config = Config("hyper-grand", hidden=8, heads=1)
    worth = [fitting._fitting_batch(task, replace(config, norm=norm), jobs=1) for norm in ("none", "batch")]
    assert worth[0] > worth[1] == fitting.WORTH_SHARING // (3000 * 100), "each draw propagates all columns"


@pytest.mark.slow
def test_a_first_fit_imports_no_symbolic_algebra_and_adds_no_warning_filter():
    code = """if True:
        import sys, warnings, numpy as np, sklearn.neighbors, hypergnn as hg
        from hypergnn.kernels.dispatch import is_compiled
        rows = np.random.default_rng(0).normal(size=(60, 3))
        is_compiled("cpu", hg.HypergraphConv(1, 1).projection.dtype)  # imports numba
        before = list(map(repr, warnings.filters))
        hg.HypergraphClassifier(max_epochs=2, random_state=0).fit(rows, rows[:, 0] > 0)
        print("sympy" in sys.modules, list(map(repr, warnings.filters)) == before)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("skip", ["no", 1, None])
def test_flags_are_true_or_false(skip):
    with pytest.raises(TypeError, match=r"skip must be True or False; got"):
        Config(skip=skip)
