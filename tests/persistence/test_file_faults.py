"""Every call that changes a file fails once, or is the last of its process: the old file or the new one is left."""

import errno
import os
import sys
from contextlib import suppress

import pytest
import torch
from support.faults import DeathError, Faulty, injected, points, sampled

import hypergnn as hg
from hypergnn.persistence import files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the injector needs /proc")

OLD, NEW = b"the old content", b"the new content, which is longer"


def error_of(work):
    """The error of the disk that some work raises; ``None`` if it succeeds."""
    try:
        work()
    except OSError as error:
        return error
    return None


def fresh(folder):
    for path in folder.iterdir():
        path.unlink()
    (folder / "a.bin").write_bytes(OLD)
    return folder / "a.bin"


def test_an_atomic_write_that_fails_anywhere_leaves_the_old_file(tmp_path, tally):
    for at, part in points(lambda: files.write_atomic(fresh(tmp_path), NEW)):
        path = fresh(tmp_path)
        with injected(Faulty("error", at, part)) as faulty:
            failed = error_of(lambda path=path: files.write_atomic(path, NEW))
        assert failed is None or (failed.errno == errno.EIO and str(tmp_path) in str(failed))
        is_in_place = "replace" in faulty.calls[:at]  # only its folder could not be synced
        assert path.read_bytes() == (OLD if failed and not is_in_place else NEW)
        assert os.listdir(tmp_path) == ["a.bin"]
        tally("failing calls: atomic write")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "power"])
def test_a_process_or_machine_that_dies_in_an_atomic_write_leaves_one_of_both(tmp_path, tally, fault):
    live, after = tmp_path / "live", tmp_path / "after"
    live.mkdir()
    for at, part in points(lambda: files.write_atomic(fresh(live), NEW)):
        path = fresh(live)
        faulty = Faulty(fault, at, part)
        faulty.disk.start_with(live)
        with injected(faulty), pytest.raises(DeathError):
            files.write_atomic(path, NEW)
        if fault == "power":
            faulty.disk.restore(live, after)
            path = after / "a.bin"
        assert path.read_bytes() in (OLD, NEW)
        files.write_atomic(path, NEW)
        assert path.read_bytes() == NEW
        assert os.listdir(path.parent) == ["a.bin"], "the next write removes what the dead one left"
        tally(f"{'power cuts' if fault == 'power' else 'kills'}: atomic write")


def append_twice(folder):
    end = files.append(folder / "b.txt", b"first\n", at=0)
    files.append(folder / "b.txt", b"second\n", at=end)


@pytest.mark.parametrize(
    ("work", "is_there"),
    [
        (lambda live: files.write_atomic(live / "a.bin", NEW), lambda after: (after / "a.bin").read_bytes() == NEW),
        (lambda live: files.append(live / "b.txt", NEW, at=0), lambda after: (after / "b.txt").read_bytes() == NEW),
        (append_twice, lambda after: (after / "b.txt").read_bytes() == b"first\nsecond\n"),
        (lambda live: files.make_folder(live / "deep" / "er"), lambda after: (after / "deep" / "er").is_dir()),
    ],
    ids=["atomic write", "append", "two appends", "folder"],
)
def test_what_returned_before_a_power_cut_is_on_the_disk(tmp_path, work, is_there):
    live, after = tmp_path / "live", tmp_path / "after"
    live.mkdir()
    faulty = Faulty()
    faulty.disk.start_with(live)
    with injected(faulty):
        work(live)
        faulty.disk.restore(live, after)
    assert is_there(after)


@pytest.mark.parametrize("before", [b"", b"first\n"])
def test_an_append_that_fails_anywhere_leaves_the_file_as_it_was(tmp_path, tally, before):
    path = tmp_path / "a.txt"

    def work():
        path.write_bytes(before)
        files.append(path, b"second\n", at=len(before))

    for at, part in points(work):
        path.write_bytes(before)
        with injected(Faulty("error", at, part)):
            failed = error_of(lambda: files.append(path, b"second\n", at=len(before)))
        if failed is not None:
            assert str(path.parent) in str(failed)
            assert path.read_bytes() == before
            files.append(path, b"second\n", at=len(before))
        assert path.read_bytes() == before + b"second\n"
        tally("failing calls: append")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "power"])
def test_a_saved_network_is_the_old_or_the_new_one(tmp_path, tally, fault):
    live, after = tmp_path / "live", tmp_path / "after"
    live.mkdir()
    old, new = (hg.Network(hg.Config(hidden=2, heads=1), 3, 2) for _ in range(2))
    weights = {name: [one.state_dict()[name] for one in (old, new)] for name in new.state_dict()}

    def fresh_model():
        for path in live.iterdir():
            path.unlink()
        hg.save(old, live / "model.safetensors")
        return live / "model.safetensors"

    for at, part in points(lambda: hg.save(new, live / "model.safetensors"), most=30):
        path = fresh_model()
        faulty = Faulty(fault, at, part)
        faulty.disk.start_with(live)
        with injected(faulty), pytest.raises(DeathError):
            hg.save(new, path)
        if fault == "power":
            faulty.disk.restore(live, after)
            path = after / "model.safetensors"
        found = hg.load(path).network.state_dict()
        is_old, is_new = (
            all(torch.equal(found[name], both[which]) for name, both in weights.items()) for which in (0, 1)
        )
        assert is_old or is_new
        tally(f"{'power cuts' if fault == 'power' else 'kills'}: saved network")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_errors_of_the_disk_name_the_file(tmp_path, number):
    network = hg.Network(hg.Config(hidden=2, heads=1), 3, 2)
    for at in {at for at, _ in points(lambda: hg.save(network, tmp_path / "m.safetensors"))}:
        with injected(Faulty("error", at, number=number)):
            failed = error_of(lambda: hg.save(network, tmp_path / "m.safetensors"))
        assert failed is None or (failed.errno == number and str(tmp_path) in str(failed))


def test_every_damaged_byte_of_a_saved_network_is_refused_or_harmless(tmp_path, tally):
    path = tmp_path / "model.safetensors"
    network = hg.Network(hg.Config(hidden=2, heads=1), 3, 2)
    hg.save(network, path, class_names=["yes", "no"])
    content, weights = path.read_bytes(), network.state_dict()
    places = sampled(range(len(content)), 200)
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        found = None
        with suppress(ValueError):
            found = hg.load(path)
        if found is not None:
            assert found.class_names == ("yes", "no")
            assert all(torch.equal(found.network.state_dict()[name], one) for name, one in weights.items())
    tally("corrupt bytes: saved network", attempts=len(places), survived=len(places))


def test_every_truncation_of_a_saved_network_is_refused(tmp_path, tally):
    path = tmp_path / "model.safetensors"
    hg.save(hg.Network(hg.Config(hidden=2, heads=1), 3, 2), path)
    content = path.read_bytes()
    sizes = sampled(range(len(content)), 100)
    for size in sizes:
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"model.safetensors is damaged"):
            hg.load(path)
    tally("corrupt bytes: saved network", attempts=len(sizes), survived=len(sizes))
