"""A run folder that somebody else made: reading it never ends in a hang, a crash or a changed file."""

import json
import os
import shutil
import subprocess

import pytest

from hypergnn.cli import main
from hypergnn.training import ledger as ledgers
from hypergnn.training.ledger import Ledger, read
from hypergnn.training.records import TrialRecord

CONFIGURATION = {"model": "gcn"}


@pytest.fixture(autouse=True)
def _steady(monkeypatch):
    monkeypatch.setattr(ledgers, "environment", lambda: {"cpu": "a cpu"})


def record(seed):
    return TrialRecord(seed=seed, epochs=3, best_epoch=1, seconds=0.5, test_accuracy=80.0)


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    with Ledger.open(folder, CONFIGURATION) as ledger:
        for seed in range(3):
            ledger.append(record(seed), curves={"val_loss": [2.0, 1.0, 3.0]})
    (tmp_path / "precious").write_bytes(b"years of work")
    return folder


def message_of(look):
    """The sentence with which a file is refused; ``None`` if it is accepted. Other errors are failures."""
    try:
        look()
    except (ValueError, OSError) as error:
        return str(error)
    return None


HOSTILE_LINES = {
    "nested lists": b"[" * 100_000,
    "nested objects": b'{"seed":' * 50_000,
    "a huge number": b'{"seed":' + b"9" * 5000 + b"}",
    "a number that is too large for a float": b'{"seed":9,"epochs":1,"best_epoch":0,"seconds":1e999,"test_accuracy":1}',
    "not a number": b'{"seed":9,"epochs":1,"best_epoch":0,"seconds":NaN,"test_accuracy":1}',
    "a seed that is a list": b'{"seed":[1]}',
    "a negative seed": b'{"seed":-1,"epochs":1,"best_epoch":0,"seconds":1,"test_accuracy":1}',
    "a checksum that is a list": b'{"seed":9,"check":[1]}',
    "a wrong checksum": b'{"seed":9,"epochs":1,"best_epoch":0,"seconds":1,"test_accuracy":1,"check":"00000000"}',
    "half of a pair": b'{"seed":9,"\\ud800":1}',
    "zeros": b"\0" * 4096,
    "bytes that are no text": bytes(range(256)).replace(b"\n", b""),
    "a key twice": b'{"seed":9,"seed":10}',
    "code": b"__import__('os').system('true')",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trials.jsonl", "curves.jsonl"])
@pytest.mark.parametrize("row", HOSTILE_LINES.values(), ids=HOSTILE_LINES.keys())
def test_a_hostile_line_is_refused_or_ignored(run, name, row, tally, capsys):
    path = run / name
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + row + b"\n" + b"".join(rest))
    before = path.read_bytes()
    for look in (lambda: read(run), lambda: Ledger.open(run, CONFIGURATION).close()):
        assert name in (message_of(look) or name)
    assert main(["check", str(run)]) in (0, 1)
    printed = capsys.readouterr().out
    assert len(printed) < 5000
    if path.read_bytes() != before:  # curves without a record at the end may be removed, and nothing else
        assert name == "curves.jsonl"
    tally("hostile files: run folder")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def link(path):
    path.unlink()
    path.symlink_to(path.parents[1] / "precious")


def broken_link(path):
    path.unlink()
    path.symlink_to(path.parents[1] / "nowhere")


def loop(path):
    path.unlink()
    path.symlink_to(path.name)


def folder(path):
    path.unlink()
    path.mkdir()


def head(content):
    return lambda path: path.write_text(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "curves.jsonl", "run.lock"])
@pytest.mark.parametrize("damage", [pipe, link, broken_link, loop, folder], ids=lambda one: one.__name__)
def test_what_is_no_file_is_refused(run, name, damage, tally, capsys):
    damage(run / name)
    for look in (
        lambda: read(run),
        lambda: Ledger.open(run, CONFIGURATION).close(),
        lambda: main(["check", str(run)]),
    ):
        message_of(look)
    capsys.readouterr()
    assert (run.parent / "precious").read_bytes() == b"years of work"
    assert not (run.parent / "nowhere").exists()
    tally("hostile files: run folder")


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        "null",
        '{"format": 1, "configuration": [], "environments": {}}',
        '{"format": 1, "configuration": {}, "environments": []}',
        '{"format": [1], "configuration": {}, "environments": [1]}',
        json.dumps({"format": 1, "configuration": {"model": "gcn"}, "environments": ["no object"]}),
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_hostile_description_is_refused(run, content, tally, capsys):
    (run / "run.json").write_text(content, encoding="latin-1")
    for look in (lambda: read(run), lambda: Ledger.open(run, CONFIGURATION).close()):
        message = message_of(look)
        assert message is None or "run.json" in message or "configuration" in message
    assert main(["check", str(run)]) in (0, 1)
    capsys.readouterr()
    tally("hostile files: run folder")


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0 or not shutil.which("mount"), reason="only root may mount")
def test_a_disk_that_is_really_full_loses_nothing(tmp_path, tally):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this system does not let tests mount")
    try:
        acknowledged, full = [], 0
        with Ledger.open(disk / "run", CONFIGURATION) as ledger:
            for seed in range(400):
                long = {"val_loss": [1.0 + seed] * 90}
                message = message_of(lambda seed=seed, long=long: ledger.append(record(seed), curves=long))
                if message is None:
                    acknowledged.append(seed)
                    continue
                assert "No space left on device: '" in message
                assert read(disk / "run").seeds == set(acknowledged)
                full += 1
                if full == 100:
                    break
        assert full
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        with Ledger.open(disk / "run", CONFIGURATION) as ledger:
            assert ledger.seeds == set(acknowledged)
            ledger.append(record(1000), curves={"val_loss": [1.0] * 90})
        assert read(disk / "run").seeds == {*acknowledged, 1000}
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    tally("full disks: a real one", attempts=full, survived=full)
