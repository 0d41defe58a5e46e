"""Trials on a real Dask cluster and a real Ray, each started once: equal to local ones, also when workers are lost."""

import builtins
import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import psutil
import pytest
import torch
from joblib._parallel_backends import ThreadingBackend

import hypergnn as hg
from hypergnn.training import elsewhere
from hypergnn.training.here import one_thread
from hypergnn.training.plan import Plan, Task

CONFIG = hg.Config(max_epochs=5, hidden=4, heads=2)
LONGER = hg.Config(max_epochs=40)


@pytest.fixture(scope="module")
def data():
    return hg.datasets.load("digits")


@pytest.fixture(scope="module")
def local(data):
    return results(hg.training.fit(data, CONFIG, trials=5, jobs=1))


def results(run):
    return [(one.seed, one.epochs, one.val_loss, one.test_accuracy) for one in run.records]


class Faulty(ThreadingBackend):
    """Workers that are lost, some of them: joblib sees an error of its connection."""

    fails = ()
    calls = 0

    def submit(self, func, callback=None):
        number, Faulty.calls = Faulty.calls, Faulty.calls + 1
        return super().submit(lost if number in Faulty.fails else func, callback)


class FaultyList(Faulty):
    """The same without results one by one, as some backends are."""

    supports_return_generator = False


def lost():
    raise ConnectionError("the worker is gone")


@pytest.fixture
def faulty():
    joblib.register_parallel_backend("faulty", Faulty)
    joblib.register_parallel_backend("faulty list", FaultyList)

    def use(fails, name="faulty"):
        Faulty.fails, Faulty.calls = fails, 0
        return joblib.parallel_config(backend=name, n_jobs=2)

    return use


def test_processes_of_this_machine_are_left_to_the_own_pool():
    assert not elsewhere.is_elsewhere()
    for backend in ("loky", "threading", "multiprocessing"):
        with joblib.parallel_config(backend=backend):
            assert not elsewhere.is_elsewhere()


def test_sampled_batches_are_refused_there(data, faulty, tmp_path):
    with faulty([]), pytest.raises(ValueError, match=r"batch_size must be omitted inside joblib\.parallel_config"):
        hg.training.fit(data, hg.Config(batch_size=50), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_workers_that_are_threads_restore_the_number_of_threads():
    found, both_inside, first_is_out = [], threading.Barrier(2), threading.Event()

    def work(is_first):
        with one_thread():
            found.append(torch.get_num_threads())
            both_inside.wait()
            if not is_first:
                first_is_out.wait()
        first_is_out.set()

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with ThreadPoolExecutor(2) as pool:
            for one in [pool.submit(work, is_first) for is_first in (True, False)]:
                one.result(timeout=60)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(before)
    assert found == [1, 1]


def test_a_worker_frees_the_data_of_a_run_that_is_over(data, monkeypatch):
    monkeypatch.setattr(elsewhere, "IDLE", 0.05)
    plan = Plan.of(Task.of(data, CONFIG), CONFIG)
    _, trials = elsewhere.train_there(elsewhere._packed(plan), "a run", CONFIG, 0, [3])
    assert [one.seed for one in trials] == [3]
    deadline = time.monotonic() + 60
    while elsewhere._plans and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not elsewhere._plans


@pytest.mark.parametrize("name", ["faulty", "faulty list"])
def test_all_trials_are_those_of_this_process(data, local, faulty, name, tmp_path):
    with faulty([], name):
        assert elsewhere.is_elsewhere()
        run = hg.training.fit(data, CONFIG, trials=5, batch=2, jobs=2, out=tmp_path / "run")
    assert results(run) == local
    assert Faulty.calls == 3
    assert results(hg.training.fit(data, CONFIG, trials=5, out=tmp_path / "run")) == local  # nothing left to train


@pytest.mark.parametrize("fails", [[0], [1], [0, 1], [0, 1, 2]])
def test_a_lost_batch_is_trained_again(data, local, faulty, fails, caplog):
    with faulty(fails):
        run = hg.training.fit(data, CONFIG, trials=5, batch=2, jobs=2)
    assert results(run) == local
    assert run.failures == ()
    assert "ConnectionError: the worker is gone; training again" in caplog.text


@pytest.mark.slow
def test_a_trial_whose_worker_is_always_lost_fails_alone(data, local, faulty, monkeypatch):
    real = elsewhere.train_there

    def fatal(packed, token, config, number, seeds):
        if 3 in seeds:
            raise ConnectionError("the worker is gone")
        return real(packed, token, config, number, seeds)

    monkeypatch.setattr(elsewhere, "train_there", fatal)
    with faulty([]):
        run = hg.training.fit(data, CONFIG, trials=5, batch=2, jobs=2)
    assert results(run) == [one for one in local if one[0] != 3]
    assert [str(one) for one in run.failures] == [
        "seed 3: its worker of joblib was lost: ConnectionError: the worker is gone"
    ]


def test_an_error_of_the_training_is_raised_with_its_place(data, faulty):
    diverging = hg.Config(max_epochs=5, learning_rate=1e30)
    with faulty([]), pytest.raises(ValueError, match="training has diverged") as caught:
        hg.training.fit(data, diverging, trials=2, batch=1, jobs=2)
    assert any("In a worker" in note for note in caught.value.__notes__)


def test_an_interrupt_stops_it_and_keeps_what_is_finished(data, faulty, tmp_path):
    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with faulty([]):
        run = hg.training.fit(data, CONFIG, trials=6, batch=1, jobs=1, out=tmp_path / "run", on_progress=stop)
    assert run.interrupted
    assert len(run.records) >= 2


def ensemble(n_jobs, **options):
    return hg.HypergraphClassifier("hyper-conv", max_epochs=5, n_estimators=3, n_jobs=n_jobs, random_state=0, **options)


@pytest.mark.slow
def test_the_networks_of_an_estimator_are_trained_by_the_workers(data, faulty):
    x, y = data.x[:150], data.y[:150]
    here = ensemble(2).fit(x, y).label_distributions_.tolist()
    for n_jobs, calls in ((2, 2), (1, 0), (None, 2)):  # None: as many as parallel_config says
        with faulty([]):
            assert ensemble(n_jobs).fit(x, y).label_distributions_.tolist() == here
        assert Faulty.calls == calls
    with faulty([]):
        ensemble(2, on_epoch=lambda *_: None).fit(x, y)
    assert Faulty.calls == 0
    with faulty([0]):
        assert ensemble(2).fit(x, y).label_distributions_.tolist() == here
    with faulty(range(99)), pytest.raises(ChildProcessError, match="the worker is gone"):
        ensemble(2).fit(x, y)


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        yield cluster


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "print", print)  # Ray replaces it when it starts, and leaves it so
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        register_ray()
        yield ray
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("dask")
class TestDask:
    def test_the_trials_are_the_local_ones(self, data, local, tmp_path):
        with joblib.parallel_config(backend="dask"):
            assert elsewhere.n_workers_elsewhere() == 2
            run = hg.training.fit(data, CONFIG, trials=5, batch=2, out=tmp_path / "run")
        assert results(run) == local
        assert (tmp_path / "run" / "model.safetensors").exists()

    def test_a_killed_worker_is_replaced(self, data, dask):
        killer = Killer(lambda: [next(iter(dask.workers.values())).process.process.pid])
        with joblib.parallel_config(backend="dask"):
            run = hg.training.fit(data, LONGER, trials=6, batch=1, on_progress=killer)
        assert killer.killed
        assert results(run) == results(hg.training.fit(data, LONGER, trials=6))

    def test_scores_of_estimators_are_the_local_ones(self, data):
        from sklearn.model_selection import cross_val_score

        model = hg.HypergraphClassifier(model="hyper-conv", max_epochs=5, random_state=0)
        x, y = data.x[:150], data.y[:150]
        with joblib.parallel_config(backend="dask"):
            there = cross_val_score(model, x, y, cv=2, n_jobs=2)
            together = ensemble(2).fit(x, y)
        assert together.label_distributions_.tolist() == ensemble(1).fit(x, y).label_distributions_.tolist()
        assert there.tolist() == cross_val_score(model, x, y, cv=2).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of ray itself
@pytest.mark.usefixtures("ray")
class TestRay:
    def test_the_trials_are_the_local_ones(self, data, local):
        with joblib.parallel_config(backend="ray"):
            assert elsewhere.n_workers_elsewhere() == 2
            assert results(hg.training.fit(data, CONFIG, trials=5, batch=2)) == local

    def test_a_killed_worker_is_replaced(self, data):
        killer = Killer(actors)
        with joblib.parallel_config(backend="ray"):
            run = hg.training.fit(data, LONGER, trials=4, batch=1, on_progress=killer)
        assert killer.killed
        assert results(run) == results(hg.training.fit(data, LONGER, trials=4))


def actors():
    """Processes of Ray's pool, among those that come and go."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "PoolActor" in " ".join(process.cmdline()):
                found.append(process.pid)
    return found


class Killer:
    """Kills a worker, once, as soon as a trial is finished: so there is one, and it has more to do."""

    def __init__(self, pids):
        self.pids, self.killed = pids, False

    def __call__(self, progress):
        if progress.done and not self.killed:
            os.kill(self.pids()[0], signal.SIGKILL)
            self.killed = True
