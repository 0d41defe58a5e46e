import json
import logging
import multiprocessing
import os
import random
import subprocess
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy
import torch

from hypergnn.persistence.locks import LockedError
from hypergnn.training import environment as environments
from hypergnn.training import ledger as ledgers
from hypergnn.training.ledger import Ledger, read, read_curves
from hypergnn.training.records import TrialRecord

CONFIGURATION = {"dataset": "cora", "model": {"name": "gcn", "hidden": 8, "sizes": (8, 8)}, "lr": 0.005}
HERE = {"hypergnn": "0", "cpu": "a cpu"}
N_VALUES = 5000

# New processes are forked from one that has already imported torch.
spawner = multiprocessing.get_context("forkserver")
spawner.set_forkserver_preload(["hypergnn.training.ledger"])


@pytest.fixture(autouse=True)
def _steady(monkeypatch):
    """A fixed environment, so that no test in this process has to detect one."""
    monkeypatch.setattr(ledgers, "environment", lambda: dict(HERE))


def record(seed, /, **fields):
    times = {"epochs": 100 + seed, "best_epoch": seed, "seconds": 0.5}
    return TrialRecord(**{"seed": seed, **times, "test_accuracy": 80.0 + seed / 1000, **fields})


def curves(seed, n_values=3):
    return {"val_loss": [round(1 / (1 + seed + epoch), 6) for epoch in range(n_values)], "train_loss": [0.5, None]}


def fill(folder, seeds, *, n_values=3):
    with Ledger.open(folder, CONFIGURATION) as ledger:
        for seed in seeds:
            ledger.append(record(seed), curves=curves(seed, n_values))
    return folder


def write_for_ever(folder, done):
    """Append trial after trial and report each that is on the disk: what another process does until it is killed."""
    with Ledger.open(folder, CONFIGURATION) as ledger:
        for seed in ledger.missing(range(10**6)):
            ledger.append(record(seed), curves=curves(seed, N_VALUES))
            done.send(seed)


def start(folder):
    receiver, sender = spawner.Pipe(duplex=False)
    process = spawner.Process(target=write_for_ever, args=(folder, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver


def kill(process):
    process.kill()
    process.join()
    assert process.exitcode == -9


def first(receiver):
    """What the other process reports first; it may take its time, but not for ever."""
    assert receiver.poll(60), "the other process neither writes nor ends"
    return receiver.recv()


def received(receiver):
    seeds = []
    try:
        while receiver.poll():
            seeds.append(receiver.recv())
    except EOFError:
        pass
    return seeds


# What a run folder holds


def test_a_run_is_read_back_as_it_was_written(tmp_path):
    fill(tmp_path / "deep" / "run", [3, 0, 10])
    with Ledger.open(tmp_path / "deep" / "run", CONFIGURATION) as ledger:
        for run in (ledger, read(ledger.folder)):
            assert run.records == (record(0), record(3), record(10))
            assert run.seeds == {0, 3, 10}
            assert run.missing([10, 4, 3, 2]) == [4, 2]
            assert [run.curves(seed) for seed in (0, 3, 10)] == [curves(0), curves(3), curves(10)]
            assert run.configuration == json.loads(json.dumps(CONFIGURATION))


def test_appended_records_are_visible_at_once_and_read_back_unchanged(tmp_path):
    with Ledger.open(tmp_path, CONFIGURATION) as ledger:
        ledger.append(record(0, val_loss=np.float64(0.25)), curves={"a": np.float32([0.1, 1 / 3])})
        ledger.append(record(1))
        run = read(tmp_path)
        assert run.records == ledger.records == (record(0, val_loss=0.25), record(1))
        assert run.curves(0) == ledger.curves(0)
        assert run.curves(1) == ledger.curves(1) == {}
        assert np.float32(run.curves(0)["a"]).tolist() == np.float32([0.1, 1 / 3]).tolist()
        with pytest.raises(ValueError, match=r"that of a finished trial of .*; got 2"):
            run.curves(2)


def checked(body):
    """The line of a JSON object with its checksum: CRC-32 of all bytes before it."""
    return body[:-1] + b',"check":"%08x"}\n' % zlib.crc32(body[:-1])


def test_the_lines_are_compact_checked_and_in_the_order_of_finishing(tmp_path):
    with Ledger.open(tmp_path, CONFIGURATION) as ledger:
        ledger.append(record(7, val_loss=0.5), curves={"val_loss": [np.float32(0.1), 2]})
        ledger.append(record(2))
    assert (tmp_path / "trials.jsonl").read_bytes() == (
        checked(b'{"seed":7,"epochs":107,"best_epoch":7,"seconds":0.5,"test_accuracy":80.007,"val_loss":0.5}')
        + checked(b'{"seed":2,"epochs":102,"best_epoch":2,"seconds":0.5,"test_accuracy":80.002}')
    )
    assert (tmp_path / "curves.jsonl").read_bytes() == checked(b'{"seed":7,"val_loss":[0.100000001,2.0]}')


def test_curves_are_read_alone_without_those_of_unfinished_trials(tmp_path):
    fill(tmp_path, [3, 0])
    with open(tmp_path / "curves.jsonl", "ab") as file:
        file.write(b'{"seed":4,"val_loss":[1.0]}\n{"se')
    assert read_curves(tmp_path, [0, 3, 9]) == {0: curves(0), 3: curves(3)}
    assert read_curves(tmp_path / "nowhere", [0]) == {}


OLD_LINE = (
    b'{"seed":0,"epochs":279,"best_epoch":178,"seconds":1.234,"train_accuracy":97.857,"val_accuracy":79.2,'
    b'"test_accuracy":82.5,"train_loss":0.71,"val_loss":1.02,"test_loss":1.01}\n'
)


def test_lines_of_earlier_versions_load_and_are_written_with_a_checksum(tmp_path):
    folder = fill(tmp_path / "old", [])
    (folder / "trials.jsonl").write_bytes(OLD_LINE)
    (found,) = read(folder).records
    assert (found.best_epoch, found.train_accuracy, found.val_loss, found.test_loss) == (178, 97.857, 1.02, 1.01)
    with Ledger.open(tmp_path / "new", CONFIGURATION) as ledger:
        ledger.append(found)
    assert (tmp_path / "new" / "trials.jsonl").read_bytes() == checked(OLD_LINE.strip())


def test_keys_of_later_versions_are_ignored(tmp_path):
    folder = fill(tmp_path, [])
    (folder / "trials.jsonl").write_bytes(OLD_LINE.replace(b'"seed":0', b'"seed":0,"new":[1]'))
    assert read(folder).records[0].seed == 0


# What is refused


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({}, ValueError, "already has a record of seed 1"),
        ({"seed": 2, "val_loss": float("nan")}, ValueError, r'record\["val_loss"\] must be finite; got nan. Give None'),
        ({"seed": 2, "test_loss": float("inf")}, ValueError, r'record\["test_loss"\] must be finite; got inf'),
        ({"seed": 2, "val_loss": np.float32(1)}, TypeError, r'record\["val_loss"\] must be of JSON.* type float32.'),
    ],
)
def test_a_record_that_is_refused_leaves_no_trace(tmp_path, fields, error, message):
    with Ledger.open(tmp_path, CONFIGURATION) as ledger:
        ledger.append(record(1), curves=curves(1))
        before = (tmp_path / "trials.jsonl").read_bytes(), (tmp_path / "curves.jsonl").read_bytes()
        with pytest.raises(error, match=message):
            ledger.append(record(1, **fields), curves=curves(2))
        assert before == ((tmp_path / "trials.jsonl").read_bytes(), (tmp_path / "curves.jsonl").read_bytes())
        assert ledger.records == (record(1),)


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (None, TypeError, "seed must be a whole number; got None"),
        (True, TypeError, "seed must be a whole number; got True"),
        (-1, ValueError, "seed must be at least 0; got -1"),
    ],
)
def test_a_record_must_have_a_seed(seed, error, message):
    with pytest.raises(error, match=message):
        record(0, seed=seed)


def test_a_record_that_lacks_a_field_is_an_error_with_file_and_line(tmp_path):
    path = fill(tmp_path, [0]) / "trials.jsonl"
    path.write_bytes(path.read_bytes() + b'{"seed":1,"epochs":9,"best_epoch":3,"seconds":1.0}\n')
    message = r"trials.jsonl, line 2: a trial must have .*; that of seed 1 lacks test_accuracy. Remove the line"
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": [0.5, float("nan")]}, r'curves\["loss"\]\[1\] must be finite; got nan'),
        ({"seed": [0.5]}, "must not be named 'seed'"),
    ],
)
def test_curves_that_are_refused_leave_no_record(tmp_path, given, message):
    with Ledger.open(tmp_path, CONFIGURATION) as ledger, pytest.raises(ValueError, match=message):
        ledger.append(record(0), curves=given)
    assert read(tmp_path).records == ()
    assert not (tmp_path / "curves.jsonl").exists()


def test_a_closed_ledger_takes_nothing_and_still_shows_all(tmp_path):
    with Ledger.open(tmp_path, CONFIGURATION) as ledger:
        ledger.append(record(0))
    ledger.close()
    assert ledger.records == (record(0),)
    with pytest.raises(ValueError, match="must be open for writing; it is closed"):
        ledger.append(record(1))


def test_another_configuration_is_refused_with_one_line_for_each_change(tmp_path):
    fill(tmp_path, [0])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    changed = {"dataset": "cora", "model": {"name": "gat", "hidden": 16, "sizes": [8, 8], "skip": True}}
    with pytest.raises(ValueError, match="configuration must be that of the run") as caught:
        Ledger.open(tmp_path, changed)
    assert str(caught.value).splitlines()[1:] == [
        "  lr: 0.005 in the run, missing now",
        "  model.hidden: 8 in the run, 16 now",
        "  model.name: 'gcn' in the run, 'gat' now",
        "  model.skip: missing in the run, True now",
        "Use another folder for the new configuration, or continue with the old one.",
    ]
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    Ledger.open(tmp_path, CONFIGURATION).close()  # the lock was released


def test_a_folder_with_other_files_is_refused_and_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"has 'thesis.tex' but no run.json. Use another folder"):
        Ledger.open(tmp_path, CONFIGURATION)
    assert os.listdir(tmp_path) == ["thesis.tex"]
    with pytest.raises(ValueError, match="is a file"):
        Ledger.open(tmp_path / "thesis.tex", CONFIGURATION)
    with pytest.raises(ValueError, match=r"folder must hold a run; .* has no run.json"):
        read(tmp_path)


def test_a_run_can_start_after_a_killed_start(tmp_path):
    (tmp_path / "run.lock").write_text("1")
    (tmp_path / ".run.json.0123.tmp").write_text('{"form')
    fill(tmp_path, [0])
    assert sorted(os.listdir(tmp_path)) == ["curves.jsonl", "run.json", "run.lock", "trials.jsonl"]


def test_temporary_files_of_a_killed_writer_are_removed_when_the_run_is_opened(tmp_path):
    fill(tmp_path, [0])
    (tmp_path / f".model.safetensors.{'0' * 16}.tmp").write_bytes(b"part")
    (tmp_path / ".model.safetensors.mine.tmp").write_bytes(b"not one of them")
    read(tmp_path)
    assert len(os.listdir(tmp_path)) == 6, "reading must not change anything"
    fill(tmp_path, [])
    assert sorted(set(os.listdir(tmp_path)) - {"curves.jsonl", "run.json", "run.lock", "trials.jsonl"}) == [
        ".model.safetensors.mine.tmp"
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 1', "run.json must describe a run; it is corrupt"),
        ("[]", "run.json must describe a run; it is corrupt"),
        ('{"format": 2, "configuration": {}, "environments": [{}]}', "run.json must have format 1; got 2"),
    ],
)
def test_a_run_that_cannot_be_understood_is_refused(tmp_path, content, message):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        Ledger.open(tmp_path, CONFIGURATION)
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


@pytest.mark.parametrize("name", ["trials.jsonl", "curves.jsonl"])
def test_files_that_are_links_are_refused_and_what_they_point_to_is_not_touched(tmp_path, name):
    outside = tmp_path / "outside"
    outside.write_bytes(b'{"seed":0,"epochs":1')
    folder = fill(tmp_path / "run", [])
    (folder / name).symlink_to(outside)
    with pytest.raises(OSError, match=f"must not be a symbolic link: .*{name}"):
        fill(folder, [1])
    assert outside.read_bytes() == b'{"seed":0,"epochs":1'


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "curves.jsonl"])
def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path, name):
    folder = fill(tmp_path, [0])
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(OSError, match="must be a regular file"):
        read(folder)
    with pytest.raises(OSError, match="must be a regular file"):
        fill(folder, [1])


def test_a_line_that_was_changed_is_an_error_unless_it_is_the_last(tmp_path, caplog):
    path = fill(tmp_path, [0, 1, 2]) / "trials.jsonl"
    rows = path.read_bytes().splitlines(keepends=True)
    changed = [row.replace(b'"test_accuracy":80', b'"test_accuracy":90') for row in rows]
    path.write_bytes(b"".join([rows[0], changed[1], rows[2]]))
    with pytest.raises(ValueError, match=r"trials.jsonl, line 2: it does not match its checksum: .* delete the line"):
        fill(tmp_path, [1])
    path.write_bytes(b"".join([rows[0], rows[1], changed[2]]))
    assert read(tmp_path).seeds == {0, 1}
    fill(tmp_path, [2])
    assert "removed" in caplog.text
    assert path.read_bytes() == b"".join(rows)


# The environment


def test_a_changed_environment_is_added_and_an_unchanged_one_is_not(tmp_path, monkeypatch):
    versions = iter(["1", "1", "2", "3", "1"])
    monkeypatch.setattr(ledgers, "environment", lambda: {"torch": next(versions)})
    steps = [(0, ["1"]), (1, ["1"]), (2, ["1", "2"]), (None, ["1", "2"]), (3, ["1", "2", "1"])]
    for seed, expected in steps:  # None: opened without adding a record
        with Ledger.open(tmp_path, CONFIGURATION) as ledger:
            if seed is not None:
                ledger.append(record(seed))
        assert [entry["torch"] for entry in read(tmp_path).environments] == expected


def test_the_environment_is_that_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "environment", environments.environment)
    with Ledger.open(tmp_path, CONFIGURATION) as ledger:
        (found,) = ledger.environments
    assert found["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert found["numpy"] == np.__version__
    assert found["scipy"] == scipy.__version__
    assert found["cores"] == os.cpu_count()
    assert all(found[key] for key in ("hypergnn", "python", "cpu", "platform"))


def test_the_commit_is_known_in_a_checkout_only(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)

    assert environments._commit(tmp_path) is None
    git("init", "--quiet")
    (tmp_path / "a.txt").write_text("a")
    git("add", "a.txt")
    git("commit", "--quiet", "--message", "first")
    git("tag", "-a", "v1", "-m", "v1")
    head = git("rev-parse", "HEAD").stdout.strip()
    assert environments._commit(tmp_path) == head
    (tmp_path / "a.txt").write_text("b")
    assert environments._commit(tmp_path) == f"{head}-dirty"
    (tmp_path / "folder").mkdir()
    assert environments._commit(tmp_path / "folder") is None, "a package installed inside somebody's checkout"


# Nothing is lost


def test_curves_then_record_are_on_the_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def fsync(descriptor):
        synced.append((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size))
        real(descriptor)

    with Ledger.open(fill(tmp_path, [0]), CONFIGURATION) as ledger:
        monkeypatch.setattr(os, "fsync", fsync)
        ledger.append(record(1), curves=curves(1))
    files = [(tmp_path / name).stat() for name in ("curves.jsonl", "trials.jsonl")]
    assert synced == [(status.st_ino, status.st_size) for status in files]


@pytest.mark.parametrize("failing", [1, 2])
def test_after_a_disk_failure_the_record_can_be_appended_again(tmp_path, monkeypatch, failing):
    real, calls = os.fsync, iter(range(1, 10))

    def fsync(descriptor):
        if next(calls) == failing:
            raise OSError("input/output error")
        real(descriptor)

    with Ledger.open(fill(tmp_path, [0]), CONFIGURATION) as ledger:
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="input/output error"):
            ledger.append(record(1), curves={"val_loss": [9.0]})
        assert ledger.records == read(tmp_path).records == (record(0),)
        ledger.append(record(1), curves=curves(1))
    assert read(tmp_path).records == (record(0), record(1))
    assert read(tmp_path).curves(1) == curves(1), "the last ones count"


@pytest.mark.slow
@pytest.mark.parametrize("ending", [b"", b"\n", b"\0\0\0"], ids=["cut", "cut but for the newline", "zeros"])
def test_a_line_torn_at_any_byte_is_repaired_with_a_warning(tmp_path, caplog, ending):
    whole = fill(tmp_path / "whole", [0, 1, 2])
    trials, drawn = ((whole / name).read_bytes() for name in ("trials.jsonl", "curves.jsonl"))
    folder = fill(tmp_path / "run", [])
    keep = trials.rindex(b"\n", 0, -1) + 1
    for size in range(keep + 1, len(trials)):
        torn = trials[:size] + ending
        if torn == trials:
            continue
        (folder / "trials.jsonl").write_bytes(torn)
        (folder / "curves.jsonl").write_bytes(drawn)
        assert read(folder).records == (record(0), record(1))
        assert (folder / "trials.jsonl").read_bytes() == torn, "reading must not repair"
        caplog.clear()
        with Ledger.open(folder, CONFIGURATION) as ledger:
            assert (folder / "trials.jsonl").read_bytes() == trials[:keep]
            assert f"trials.jsonl: removed {len(torn) - keep} bytes" in caplog.text
            assert ledger.missing(range(3)) == [2]
            ledger.append(record(2), curves=curves(2))
        assert (folder / "trials.jsonl").read_bytes() == trials
        assert (folder / "curves.jsonl").read_bytes() == drawn, "curves without a record must go as well"


@pytest.mark.slow
def test_curves_torn_at_any_byte_are_repaired(tmp_path):
    whole = fill(tmp_path / "whole", [0, 1])
    trials, drawn = ((whole / name).read_bytes() for name in ("trials.jsonl", "curves.jsonl"))
    first_trial, first_curves = trials.index(b"\n") + 1, drawn.index(b"\n") + 1
    folder = fill(tmp_path / "run", [])
    for size in range(first_curves, len(drawn) + 1):
        (folder / "trials.jsonl").write_bytes(trials[:first_trial])
        (folder / "curves.jsonl").write_bytes(drawn[:size])
        assert read(folder).curves(0) == curves(0)
        with pytest.raises(ValueError, match="that of a finished trial"):
            read(folder).curves(1)
        fill(folder, [1])
        assert (folder / "curves.jsonl").read_bytes() == drawn


def test_a_whole_run_is_opened_in_silence(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="hypergnn")
    fill(fill(tmp_path, [0, 1]), [2])
    assert not caplog.records


@pytest.mark.parametrize("name", ["trials.jsonl", "curves.jsonl"])
@pytest.mark.parametrize("row", [b'{"seed":1,"lo', b"", b"[1]", b'{"seed":"1"}', b'{"loss":1}', b'{"seed":1,"\xff":1}'])
def test_a_corrupt_line_in_the_middle_is_an_error_with_file_and_line(tmp_path, name, row):
    path = fill(tmp_path, [0, 1, 2]) / name
    rows = path.read_bytes().split(b"\n")
    rows[1] = row
    for corrupt in (b"\n".join(rows), b"\n".join(rows[:2]) + b"\n" + rows[2][:5]):
        path.write_bytes(corrupt)
        with pytest.raises(ValueError, match=f"{name}, line 2: it must (be a JSON object|have a seed)"):
            Ledger.open(tmp_path, CONFIGURATION)
        with pytest.raises(ValueError, match=f"{name}, line 2: "):
            read(tmp_path)
        assert path.read_bytes() == corrupt


def test_two_records_of_one_seed_are_an_error(tmp_path):
    path = fill(tmp_path, [0, 1]) / "trials.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(
        ValueError, match=r"trials.jsonl, line 3: each seed must have one record; seed 0 already has one"
    ):
        Ledger.open(tmp_path, CONFIGURATION)


# Several processes


def test_a_second_opening_is_refused_until_the_first_is_closed(tmp_path):
    refused = pytest.raises(LockedError, match=f"this process, process id {os.getpid()}, has it open")
    with Ledger.open(tmp_path, CONFIGURATION), refused:
        Ledger.open(tmp_path, CONFIGURATION)
    Ledger.open(tmp_path, CONFIGURATION).close()


@pytest.mark.slow
def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path):
    process, receiver = start(tmp_path)
    first(receiver)
    with pytest.raises(LockedError, match=f"another process, process id {process.pid}, has it open. Wait"):
        Ledger.open(tmp_path, CONFIGURATION)
    kill(process)
    Ledger.open(tmp_path, CONFIGURATION).close()


@pytest.mark.slow
def test_kill_9_ten_times_loses_nothing_and_repeats_nothing(tmp_path, tally):
    chance = random.Random(0)
    folder, finished = tmp_path / "run", []
    for _ in range(10):
        process, receiver = start(folder)
        finished.append(first(receiver))
        time.sleep(chance.uniform(0, 0.03))
        kill(process)
        finished += received(receiver)
        run = read(folder)
        assert run.seeds >= set(finished), "a trial that was reported is there"
        assert len(run.seeds) <= len(finished) + 1, "one more may have been killed between the disk and the report"
        finished = sorted(run.seeds)
        tally("kills: run folder")
    n_trials = len(finished) + 1
    assert finished == list(range(n_trials - 1))
    fill(folder, [n_trials - 1], n_values=N_VALUES)
    undisturbed = fill(tmp_path / "undisturbed", range(n_trials), n_values=N_VALUES)
    for name in ("trials.jsonl", "curves.jsonl"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes()


@pytest.mark.slow
def test_a_run_can_be_read_while_it_is_written(tmp_path):
    process, receiver = start(tmp_path)
    first(receiver)
    sizes, deadline = {0}, time.monotonic() + 30
    while len(sizes) < 6:
        assert time.monotonic() < deadline
        run = read(tmp_path)
        assert run.records == tuple(record(seed) for seed in range(len(run.records)))
        assert run.curves(len(run.records) - 1) == curves(len(run.records) - 1, N_VALUES)
        assert len(run.records) >= max(sizes)
        sizes.add(len(run.records))
    assert process.is_alive()
    kill(process)


def test_no_path_of_this_machine_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "environment", environments.environment)
    fill(tmp_path, [0])
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    assert str(Path.home()) not in text
    assert str(tmp_path) not in text
