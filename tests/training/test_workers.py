"""Workers may be killed, crash, stop, hang or run out of memory: the run ends, and with the same records."""

import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch
from support.forks import Program, in_a_fork
from support.points import grouped_points

from hypergnn.models import Config
from hypergnn.training import fit, processes, worker, workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are processes on Linux only")

SMALL = Config(hidden=4, heads=2, patience=6, max_epochs=16)
TESTS = Path(__file__).parents[1]
train = worker.train


@pytest.fixture(scope="module")
def data():
    return grouped_points()


@pytest.fixture(scope="module")
def undisturbed(data):
    return comparable(fit(data, SMALL, trials=6, jobs=1))


@pytest.fixture
def quick(monkeypatch):
    """A worker without a sign of life is given up after a second, not after a minute."""
    monkeypatch.setattr(processes, "CHECK", 0.05)
    monkeypatch.setattr(processes, "SILENT_CHECKS", 20)


def comparable(result):
    return [replace(record, seconds=0.0) for record in result.records]


@pytest.fixture(autouse=True)
def _others():
    """Children of this process that other tests have started, such as the fork server of multiprocessing."""
    others[:] = psutil.Process().children(recursive=True)


others = []


def children():
    return [child for child in psutil.Process().children(recursive=True) if child not in others]


def killing(when, how=lambda: os.kill(os.getpid(), signal.SIGKILL)):
    """A function in place of ``train`` that ends its process in the second epoch, if ``when`` says so of its seeds."""

    def deadly(plan, config, seeds, *, on_epoch):
        def tell(epoch, running):
            on_epoch(epoch, running)
            if epoch == 1 and when(seeds):
                how()

        return train(plan, config, seeds, on_epoch=tell)

    return deadly


def once(path):
    """True the first time that any process asks."""

    def is_first(_):
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    return is_first


# Lost workers are replaced


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("number", ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGHUP"])
def test_a_lost_worker_is_replaced_and_the_records_are_the_same(
    data, undisturbed, tmp_path, monkeypatch, caplog, tally, number, batch
):
    def die():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(getattr(signal, number), signal.SIG_DFL) if number != "SIGKILL" else None
        os.kill(os.getpid(), getattr(signal, number))

    monkeypatch.setattr(worker, "train", killing(once(tmp_path / "done"), die))
    result = fit(data, SMALL, trials=6, jobs=2, batch=batch, out=tmp_path / "run")
    assert comparable(result) == undisturbed
    assert result.failures == ()
    assert number in caplog.text
    assert f"exit code -{int(getattr(signal, number))}" in caplog.text
    assert not children()
    tally("lost workers: killed or crashed")


@pytest.mark.slow
def test_a_worker_killed_from_outside_is_replaced(data, undisturbed, tmp_path, tally):
    killed = []

    def kill(_):
        if len(killed) < 3 and (found := multiprocessing.active_children()):
            killed.append(found[0].pid)
            os.kill(found[0].pid, signal.SIGKILL)

    result = fit(data, replace(SMALL, max_epochs=16), trials=6, jobs=2, batch=3, on_progress=kill, out=tmp_path)
    assert killed
    assert comparable(result) == undisturbed
    assert not children()
    tally("lost workers: killed or crashed", attempts=len(killed), survived=len(killed))


@pytest.mark.slow
def test_a_seed_that_kills_its_worker_twice_is_reported_and_the_others_finish(data, undisturbed, monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "train", killing(lambda seeds: 3 in seeds))
    result = fit(data, SMALL, trials=6, jobs=2, batch=3, out=tmp_path)
    assert comparable(result) == [record for record in undisturbed if record.seed != 3]
    (failure,) = result.failures
    assert (failure.seed, failure.exit_code) == (3, -9)
    assert "lack of memory" in failure.cause
    assert repr(result).endswith(", 1 failed)")
    assert not children()
    monkeypatch.setattr(worker, "train", train)
    assert comparable(fit(data, SMALL, trials=6, jobs=2, out=tmp_path)) == undisturbed, "the next call tries it again"


@pytest.mark.slow
def test_a_deadly_seed_that_is_left_alone_does_not_kill_the_run(data, monkeypatch, tmp_path):
    fit(data, SMALL, trials=3, jobs=2, out=tmp_path)
    monkeypatch.setattr(worker, "train", killing(lambda seeds: 3 in seeds))
    result = fit(data, SMALL, trials=4, jobs=2, out=tmp_path)
    assert [failure.seed for failure in result.failures] == [3]
    assert len(result.records) == 3


def test_if_no_trial_can_be_trained_that_is_an_error(data, monkeypatch):
    monkeypatch.setattr(worker, "train", killing(lambda _: True))
    with pytest.raises(
        ChildProcessError, match=r"no trial could be trained:\n  seed 0: its worker was killed by SIGKI"
    ):
        fit(data, SMALL, trials=2, jobs=2, batch=1)
    assert not children()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_without_memory_fewer_trials_are_trained_together(data, undisturbed, monkeypatch, caplog, tally, jobs, error):
    def narrow(plan, config, seeds, *, on_epoch):
        if len(seeds) > 2:
            raise error("no memory left")
        return train(plan, config, seeds, on_epoch=on_epoch)

    monkeypatch.setattr(worker, "train", narrow)
    assert comparable(fit(data, SMALL, trials=6, jobs=jobs, batch=6 // jobs)) == undisturbed
    assert "a worker ran out of memory; training again: seeds 0, 1, 2" in caplog.text
    tally("lost workers: out of memory")


def test_if_no_more_processes_can_be_started_the_others_go_on(data, undisturbed, monkeypatch, caplog, tally):
    start, started = processes.Processes._start, []

    def limited(team):
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(start(team))
        return started[0]

    monkeypatch.setattr(processes.Processes, "_start", limited)
    assert comparable(fit(data, SMALL, trials=6, jobs=2, batch=2)) == undisturbed
    assert "no further worker could be started" in caplog.text
    tally("lost workers: fork refused")


# Workers that never answer


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_stopped_worker_is_replaced(data, undisturbed, monkeypatch, tmp_path, caplog, tally):
    def stop():
        os.kill(os.getpid(), signal.SIGSTOP)

    monkeypatch.setattr(worker, "train", killing(once(tmp_path / "done"), stop))
    assert comparable(fit(data, SMALL, trials=6, jobs=2, batch=3)) == undisturbed
    assert "sent nothing and used no processor time for" in caplog.text
    assert not children()
    tally("lost workers: stopped or deadlocked")


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_deadlocked_worker_is_replaced(data, undisturbed, monkeypatch, tmp_path, tally):
    """As after a fork while another thread held a lock."""
    lock = threading.Lock()
    lock.acquire()
    monkeypatch.setattr(worker, "train", killing(once(tmp_path / "done"), lock.acquire))
    assert comparable(fit(data, SMALL, trials=6, jobs=2, batch=3)) == undisturbed
    tally("lost workers: stopped or deadlocked")


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_worker_that_deadlocks_before_it_takes_a_batch_is_replaced(data, undisturbed, monkeypatch, tmp_path, tally):
    lock, is_first, real = threading.Lock(), once(tmp_path / "done"), processes.keep_freed_memory
    lock.acquire()
    monkeypatch.setattr(processes, "keep_freed_memory", lambda: lock.acquire() if is_first(0) else real())
    assert comparable(fit(data, SMALL, trials=6, jobs=2, batch=3)) == undisturbed
    tally("lost workers: stopped or deadlocked")


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_worker_that_stops_within_a_message_blocks_nobody(data, undisturbed, monkeypatch, tmp_path, tally):
    send, is_first = processes._Connection.send, once(tmp_path / "done")

    def torn(self, message):
        if isinstance(message, tuple) or not is_first(0):
            return send(self, message)
        self._socket.sendall((1000).to_bytes(8, "little") + b"part")
        os.kill(os.getpid(), signal.SIGSTOP)

    monkeypatch.setattr(processes._Connection, "send", torn)
    assert comparable(fit(data, SMALL, trials=6, jobs=2, batch=3)) == undisturbed
    tally("lost workers: stopped or deadlocked")


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_long_epoch_is_a_sign_of_life(data, monkeypatch, tmp_path, caplog):
    def compute():
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass

    monkeypatch.setattr(worker, "train", killing(once(tmp_path / "done"), compute))
    fit(data, SMALL, trials=2, jobs=2, batch=1)
    assert not caplog.text


def test_while_the_parent_is_stopped_no_time_passes_for_its_workers(monkeypatch):
    one = processes._Process.__new__(processes._Process)
    one.pid, one._checked, one._silent, one._used = os.getpid(), 0.0, 0, float("inf")
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    now[0] = 10_000.0  # as after Ctrl-Z and fg
    assert not one.is_silent()
    assert one._silent == 1


# Nothing waits for a connection that another process holds open


@pytest.mark.slow
def test_a_loss_is_noticed_although_another_process_has_inherited_the_connection(
    data, undisturbed, monkeypatch, tmp_path, tally
):
    """A process that the user forks holds copies of both ends, so neither side sees the other close."""
    pair, bystanders = socket.socketpair, []

    def pair_and_fork():
        ends = pair()
        reader, writer = os.pipe()
        bystanders.append((os.fork(), reader, writer))
        if not bystanders[-1][0]:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
        return ends

    monkeypatch.setattr(socket, "socketpair", pair_and_fork)
    monkeypatch.setattr(worker, "train", killing(once(tmp_path / "done")))
    start = time.monotonic()
    try:
        assert comparable(fit(data, SMALL, trials=6, jobs=2, batch=3)) == undisturbed
        assert time.monotonic() - start < 30
    finally:
        for _, _, writer in reversed(bystanders):
            os.close(writer)
        for pid, reader, _ in bystanders:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reader)
    assert not children()
    tally("lost workers: connection held open by another process")


@pytest.mark.slow
def test_fits_in_several_threads_do_not_disturb_each_other(data, undisturbed, monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "train", killing(once(tmp_path / "done")))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(comparable(fit(data, SMALL, trials=6, jobs=2, batch=2))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == [undisturbed] * 3
    assert not children()


@pytest.fixture
def connections(monkeypatch):
    """The sockets that workers are connected by; this process may have others, of other libraries."""
    made, pair = set(), socket.socketpair

    def noted():
        ends = pair()
        made.update(os.fstat(end.fileno()).st_ino for end in ends)
        return ends

    monkeypatch.setattr(socket, "socketpair", noted)
    return made


def n_open(connections):
    """How many of these sockets this process holds."""
    return len(connections & {inode(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")})


def inode(path):
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def test_a_worker_holds_no_connection_of_its_parent(data, connections, monkeypatch):
    def count(*_, **__):
        raise ValueError(f"{n_open(connections)} of {len(connections)}")

    monkeypatch.setattr(worker, "train", count)
    with pytest.raises(ValueError, match=r"^1 of [2468]\n"):
        fit(data, SMALL, trials=4, jobs=4, batch=1)


@pytest.mark.slow
def test_a_process_that_the_user_forks_holds_no_connection_and_no_lock(data, connections):
    found = []

    def fork(progress):
        if progress.running == 2:
            with processes._forking:  # as if another thread was just starting a worker
                found.append(in_a_fork(lambda: (n_open(connections), processes._forking.acquire(timeout=1))))
            raise KeyboardInterrupt

    fit(data, replace(SMALL, max_epochs=10**6, patience=10**6), trials=2, jobs=2, batch=1, on_progress=fork)
    assert found == [(0, True)]
    assert len(connections) >= 4


@pytest.mark.slow
def test_descriptors_and_processes_are_given_back(data, monkeypatch):
    fit(data, SMALL, trials=2, jobs=2, batch=1)
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(worker, "train", killing(lambda seeds: 1 in seeds))
    for _ in range(3):
        fit(data, SMALL, trials=2, jobs=2, batch=1)
    assert len(os.listdir("/proc/self/fd")) == before
    assert not children()


# The parent ends


def parent(data, workers_are):
    """Train for ever in two workers, and print their ids."""

    def show(progress):
        if progress.running == 2:
            pids = [child.pid for child in multiprocessing.active_children()]
            if workers_are == "stopped":
                os.kill(pids[0], signal.SIGSTOP)
            print(*pids, flush=True)

    config = Config(max_epochs=10_000_000, patience=10_000_000, hidden=4, heads=2)
    fit(data, config, trials=4, jobs=2, batch=1, on_progress=show)


@pytest.mark.slow
@pytest.mark.parametrize("workers_are", ["running", "stopped"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(data, workers_are, number, tally):
    with Program(parent, data, workers_are) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        process.send_signal(number)
        process.wait(60)
    deadline = time.monotonic() + 20
    while any(map(_is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(_is_alive, pids))
    tally("parent killed: no worker outlives it")


def _is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE  # an orphan is reaped by the init process
    except psutil.NoSuchProcess:
        return False


def test_what_an_exit_code_says():
    causes = {code: processes._described(code).cause for code in (None, 0, 3, -9, -11, -15, -64)}
    assert causes[None] == "is gone, for an unknown reason"
    assert causes[0] == causes[3] == "ended before its work was done"
    assert "lack of memory" in causes[-9]
    assert "compiled code" in causes[-11]
    assert "another program" in causes[-15]


def test_threads_stop_with_the_generator(data, monkeypatch):
    monkeypatch.setattr(workers, "_can_fork", lambda _: False)

    def interrupt(progress):
        if progress.running:
            raise KeyboardInterrupt

    before = threading.active_count()
    result = fit(
        data, replace(SMALL, max_epochs=10**6, patience=10**6), trials=4, jobs=2, batch=1, on_progress=interrupt
    )
    assert result.interrupted
    assert threading.active_count() == before


THREADS = """if True:
    import logging, sys, torch
    from support.points import grouped_points
    from hypergnn.kernels import dispatch
    from hypergnn.models import Config
    from hypergnn.training import fit
    dispatch.wanted = sys.argv[1]
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
    torch.set_num_threads(4)
    x = torch.rand(600, 600, requires_grad=True)
    (x @ x).sin().sum().backward()  # starts the threads of torch
    print(fit(grouped_points(), Config(hidden=64, heads=8, max_epochs=4), trials=4, jobs=2, batch=2))
    (x @ x).sin().sum().backward()
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_workers_can_be_forked_although_torch_has_started_threads(backend):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    environment.pop("OMP_NUM_THREADS", None)
    command = [sys.executable, "-c", THREADS, backend]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.startswith("Result(4 trials"), done.stdout


@pytest.mark.slow
def test_more_workers_than_trials_have_nothing_to_do(data, undisturbed):
    assert comparable(fit(data, SMALL, trials=6, jobs=10**9)) == undisturbed
