"""``torchrun … -m hypergnn train``: the trials of one process, also after a process was killed, and clear errors."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest
import torch
from support.forks import programs
from support.ranks import forked, started, torchrun

import hypergnn as hg
from hypergnn import distributed
from hypergnn.cli import main
from hypergnn.distributed.checkpoints import FolderCheckpoints
from hypergnn.distributed.training import _batches
from hypergnn.training.ledger import read

TRAIN = ("-m", "hypergnn", "train", "digits", "--max-epochs", "40", "--checkpoint-every", "5", "--curves")
FIELDS = ("seed", "epochs", "best_epoch", "train_accuracy", "val_accuracy", "test_accuracy", "val_loss", "test_loss")


def values(folder):
    return [tuple(getattr(one, name) for name in FIELDS) for one in read(folder).records]


def left_over(process_id):
    """Processes that a command has left behind."""
    return [one for one in psutil.process_iter(["ppid"]) if one.info["ppid"] == process_id]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A run of two trials by two processes."""
    out = tmp_path_factory.mktemp("two") / "run"
    ended = torchrun(2, *TRAIN, "--trials", "2", "--out", out, "--json")
    assert ended.returncode == 0, ended.stderr
    return out, ended


@pytest.mark.slow
def test_two_processes_train_the_trials_of_one(two):
    out, ended = two
    data = hg.datasets.load("digits")
    one = hg.training.fit(data, hg.Config(max_epochs=40), trials=2)
    for mine, yours in zip(read(out).records, one.records, strict=True):
        assert (mine.seed, mine.epochs, mine.best_epoch) == (yours.seed, yours.epochs, yours.best_epoch)
        assert mine.val_loss == pytest.approx(yours.val_loss, abs=1e-4)
        assert mine.test_accuracy == pytest.approx(yours.test_accuracy, abs=0.3)
    printed = json.loads(ended.stdout)  # once: the other process is quiet
    assert [record["seed"] for record in printed["records"]] == [0, 1]
    assert ended.stderr.count("divided among 2 processes") == 1
    assert sorted(path.name for path in out.iterdir()) == [
        "curves.jsonl",
        "model.safetensors",
        "run.json",
        "run.lock",
        "trials.jsonl",
    ]
    assert hg.load(out / "model.safetensors").network(data.features(), hypergraph=data.hypergraph).shape == (1797, 10)
    assert main(["check", str(out)]) == 0


@pytest.mark.slow
def test_a_killed_process_is_started_again_and_the_result_is_the_same(two, tmp_path):
    out = tmp_path / "run"
    options = ("--standalone", "--max-restarts", "2")
    command, variables = started(2, *TRAIN, "--trials", "2", "--out", out, "--quiet", options=options)
    with (
        open(tmp_path / "printed", "w+") as printed,  # files, because a full pipe would stop the processes
        open(tmp_path / "said", "w+") as said,
        subprocess.Popen(command, env=variables, stdout=printed, stderr=said, text=True) as process,
    ):
        try:
            assert kill_one(process, out / "checkpoint.safetensors"), (tmp_path / "said").read_text()
            process.wait(timeout=240)
        except BaseException:
            process.terminate()  # torchrun ends its processes
            raise
    assert process.returncode == 0, (tmp_path / "said").read_text()
    assert values(out) == values(two[0])
    assert (tmp_path / "printed").read_text().count("test accuracy") == 1
    assert not (out / "checkpoint.safetensors").exists()
    assert left_over(process.pid) == []


def kill_one(launcher, once):
    """Kill process 1 as soon as a file exists; return whether that happened.

    The file is there for a moment only, so the process is looked up before.
    """
    process, deadline = None, time.monotonic() + 240
    while launcher.poll() is None and time.monotonic() < deadline:
        process = process or process_one(launcher.pid)
        if process is not None and once.exists():
            os.kill(process, signal.SIGKILL)
            return True
        time.sleep(0.002 if process is not None else 0.05)
    return False


def process_one(launcher):
    """The id of process 1, once it is started."""
    for child in psutil.Process(launcher).children():
        with contextlib.suppress(psutil.Error):
            if child.environ().get("RANK") == "1":
                return child.pid
    return None


@pytest.mark.slow
def test_shards_for_another_number_of_processes_are_refused_by_one_process(tmp_path):
    distributed.save_shards(hg.datasets.load("digits"), tmp_path / "three", 3)
    out = tmp_path / "run"
    ended = forked(2, main, ["train", "--shards", str(tmp_path / "three"), "--out", str(out)])
    assert ended.returncode != 0
    lines = [line for line in ended.stderr.splitlines() if line.startswith("hypergnn: ")]
    assert lines == [
        f"hypergnn: {tmp_path / 'three'} must have a shard for each of 2 processes; it has 3. Start 3 processes, or "
        "divide the data again with save_shards(…, n=2)."
    ]
    assert not out.exists()


def train_in_a_folder_of_its_own(folder, out):
    os.chdir(folder / os.environ["RANK"])
    return main(["train", "--shards", "shards", "--out", str(out), "--max-epochs", "2"])


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["another division", "a missing file"])
def test_processes_with_different_files_stop_with_one_error(fault, tmp_path):
    data = hg.datasets.load("digits")
    (tmp_path / "0").mkdir()
    distributed.save_shards(data, tmp_path / "0" / "shards", 2)
    if fault == "another division":
        (tmp_path / "1").mkdir()
        distributed.save_shards(data, tmp_path / "1" / "shards", 2)
        expected = "the folder of shards must be the same in all 2 processes; that of process 1 differs"
    else:
        shutil.copytree(tmp_path / "0", tmp_path / "1")
        (tmp_path / "1" / "shards" / "shard-1.safetensors").unlink()
        expected = "shard-1.safetensors"
    ended = forked(2, train_in_a_folder_of_its_own, tmp_path, tmp_path / "run")
    assert ended.returncode != 0
    errors = ended.stderr
    lines = [line for line in errors.splitlines() if line.startswith("hypergnn: ")]
    of_first = [line for line in lines if fault == "another division" or line.startswith("hypergnn: process 1 has")]
    assert len(of_first) == 1, errors  # what process 0 says: whose file it is, wherever that process runs
    assert all(expected in line for line in lines)
    assert "Traceback" not in errors
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_port_in_use_is_one_clear_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        variables = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", **meeting}
        ended = programs(main, ["train", "digits", "--out", str(tmp_path / "run")], environments=[variables])
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if line.startswith("hypergnn: ")]
    assert len(lines) == 1
    assert f"the processes must be able to meet at 127.0.0.1:{port}; they cannot" in lines[0]
    assert "--master-port" in lines[0]
    assert not (tmp_path / "run").exists()


def alone(monkeypatch):
    """Make this process one that torchrun has started, alone."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "--jobs", "2"], "--jobs must be omitted under torchrun"),
        (["digits", "--shards", "here"], "--shards must not be combined with DATASET"),
        (["--shards", "here", "--batch-size", "9"], "--shards must be omitted with --batch-size"),
        (["digits", "--batch-size", "9", "--batch", "2"], "--batch must be omitted with --batch-size"),
        (["digits", "--batch-size", "9", "--resume-from", "nowhere"], "nowhere"),
        (["--shards", "nowhere"], "path must be a folder written by save_shards; nowhere has no shards.json"),
        (["digits", "--model", "mlp", "--trials", "0"], "trials must be at least 1"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    alone(monkeypatch)
    assert main(["train", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "gcn"], "the model must need a hypergraph only, .*; got 'gcn'"),
        (["--model", "hyper-grand"], "; got model='hyper-grand' with random propagation. Choose other settings"),
        (["--trials", "0"], "trials must be at least 1"),
    ],
)
def test_a_run_that_cannot_be_trained_leaves_no_shards(arguments, message, monkeypatch, capsys, tmp_path):
    alone(monkeypatch)
    assert main(["train", "digits", *arguments, "--out", str(tmp_path / "run")]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def _with_settings_of_its_own(shards):
    """Train with settings that differ by process, then with some that all must refuse; return how many were refused."""
    with distributed.start():
        data, rank = distributed.load_data(shards), distributed.rank_and_size()[0]
        for settings in ({"config": hg.Config(hidden=4 + rank)}, {"trials": 1 + rank}, {"trials": 0}):
            try:
                distributed.fit(data, **{"config": hg.Config(max_epochs=1), **settings})
            except distributed.OtherProcessError:
                assert rank == 1
            except ValueError as error:
                assert rank == 0
                print(error)
            else:
                return 1
    return 0


@pytest.mark.slow
def test_processes_with_different_settings_stop_with_one_error(tmp_path):
    distributed.save_shards(hg.datasets.load("digits"), tmp_path / "shards", 2)
    ended = forked(2, _with_settings_of_its_own, tmp_path / "shards")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    expected = "the settings must be the same in all 2 processes; that of process 1 differs"
    assert [line.startswith(expected) for line in lines] == [True, True, False], lines
    assert "trials must be at least 1" in lines[2]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "val"])
def test_an_empty_part_of_the_split_is_refused(part, tmp_path):
    data = hg.datasets.load("digits")
    distributed.save_shards(replace(data, **{part: getattr(data, part)[:0]}), tmp_path / "shards", 1)
    with distributed.start(), pytest.raises(ValueError, match=f"digits must have .* vertices; {part} is empty"):
        distributed.fit(distributed.load_data(tmp_path / "shards"), hg.Config(), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_shards_of_other_data_are_not_used(monkeypatch, capsys, tmp_path):
    alone(monkeypatch)
    other = hg.datasets.load("digits", seed=3)
    distributed.save_shards(other, tmp_path / "run-shards-1", 1)
    assert main(["train", "digits", "--max-epochs", "1", "--out", str(tmp_path / "run")]) == 2
    assert "it holds those of other data" in capsys.readouterr().err


def test_shards_are_for_several_processes(capsys):
    assert main(["train", "--shards", "here"]) == 2
    assert "--shards must be used by several processes" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "mlp", "hyper-sage"])
def test_one_process_trains_as_fit_does(model, tmp_path):
    data, config = hg.datasets.load("digits"), hg.Config(model=model, max_epochs=3, hidden=4, heads=2)
    from hypergnn.distributed.files import save_for_training

    save_for_training(data, tmp_path / "shards", 1)
    with distributed.start():
        there = distributed.fit(distributed.load_data(tmp_path / "shards"), config, trials=2, batch=2)
    for mine, yours in zip(there.records, hg.training.fit(data, config, trials=2, jobs=1).records, strict=True):
        assert mine.val_loss == pytest.approx(yours.val_loss, abs=1e-6)


def state(seeds, value):
    """Trials in training, as checkpoints see them: a row of tensors for each."""
    tensors = [{"p": torch.arange(len(seeds) * 2.0).view(-1, 2) + value + place} for place in range(4)]
    return SimpleNamespace(
        seeds=seeds,
        parameters=tensors[0],
        best=tensors[1],
        optimizer=SimpleNamespace(means=tensors[2], squares=tensors[3], steps=9),
        best_loss=[0.5 + seed for seed in seeds],
        best_epoch=list(seeds),
        seconds=[1.0] * len(seeds),
        curves=[{"train_loss": [float(seed)] * 9, "val_loss": [0.5 + seed] * 9} for seed in seeds],
    )


def test_a_batch_continues_without_the_trials_that_have_finished(tmp_path):
    checkpoints, saved, found = FolderCheckpoints(tmp_path, 1), state([3, 5], 10.0), state([5], 0.0)
    with distributed.start():
        checkpoints.save(saved, 9)
        left = SimpleNamespace(to_train=lambda: [5, 7, 8])
        assert _batches(left, checkpoints, 2) == [[5], [7, 8]]
        assert checkpoints.load(found) == 9
        assert checkpoints.load(state([7], 0.0)) == 0
    assert (found.best_loss, found.best_epoch, found.curves) == ([5.5], [5], saved.curves[1:])
    for part in ("parameters", "best"):
        assert torch.equal(getattr(found, part)["p"], getattr(saved, part)["p"][1:])


def test_sparse_features_drop_other_entries_in_each_process():
    from scipy import sparse

    from hypergnn.functional.projection import drop, project
    from hypergnn.kernels.dropout import seeded
    from hypergnn.structures.sparse_features import SparseFeatures

    whole = SparseFeatures.from_scipy(sparse.csr_array(torch.ones(6, 8).numpy()))
    half = SparseFeatures.from_scipy(sparse.csr_array(torch.ones(3, 8).numpy()))
    later = SparseFeatures(half.entries, half.values, shift=24)
    found = []
    for x in (whole, half, later):
        with seeded([5], epoch=2):
            found.append(project(drop(x, 0.5), torch.eye(8).unsqueeze(0)))
    torch.testing.assert_close(torch.cat([found[1], found[2]], 1), found[0])
