import os
import resource
import stat

import pytest

from hypergnn.persistence import files


@pytest.fixture
def events(monkeypatch):
    """What is brought to the disk and what is renamed, in order: inode and size, or the two names."""
    seen = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor):
        status = os.fstat(descriptor)
        seen.append(("folder", status.st_ino) if stat.S_ISDIR(status.st_mode) else (status.st_ino, status.st_size))
        real_fsync(descriptor)

    def replace(source, target):
        seen.append(("replace", os.path.basename(target)))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    return seen


def test_an_atomic_write_syncs_the_content_then_renames_then_syncs_the_folder(tmp_path, events):
    path = tmp_path / "a.bin"
    path.write_bytes(b"the old content, which is longer")
    files.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert events == [(path.stat().st_ino, 3), ("replace", "a.bin"), ("folder", tmp_path.stat().st_ino)]
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_atomic_write_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        files.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_atomic_write_keeps_to_the_rights_that_the_user_wants(tmp_path):
    files.write_atomic(tmp_path / "atomic", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_append_syncs_all_its_bytes_and_the_name_of_a_new_file(tmp_path, events):
    path = tmp_path / "a.txt"
    assert files.append(path, b"first\n", at=0) == 6
    assert files.append(path, b"second\n", at=6) == 13
    inode = path.stat().st_ino
    assert events == [(inode, 6), ("folder", tmp_path.stat().st_ino), (inode, 13)]
    assert path.read_bytes() == b"first\nsecond\n"


@pytest.mark.parametrize("at", [3, 5])
def test_append_refuses_a_file_of_another_size_and_leaves_it(tmp_path, at):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1234")
    with pytest.raises(OSError, match=f"must be {at} bytes long; got 4"):
        files.append(path, b"more", at=at)
    assert path.read_bytes() == b"1234"


def test_a_disk_that_is_full_in_the_middle_of_a_line_leaves_no_part_of_it(tmp_path):
    path = tmp_path / "a.txt"
    files.append(path, b"first\n", at=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            files.append(path, b"second\n", at=6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"first\n"


def test_cut_takes_away_the_end_only_and_syncs(tmp_path, events):
    path = tmp_path / "a.txt"
    assert files.cut(path, 0) == 0
    path.write_bytes(b"123456")
    assert files.cut(path, 6) == 0
    assert events == []
    assert files.cut(path, 4) == 2
    assert path.read_bytes() == b"1234"
    assert events == [(path.stat().st_ino, 4)]


def test_a_lock_is_held_once_and_free_afterwards(tmp_path):
    path = tmp_path / "lock"
    with files.locked(path):
        again = files.locked(path)
        with pytest.raises(files.LockedError, match=f"this process, process id {os.getpid()}, has it open"):
            again.__enter__()
        assert path.read_text() == str(os.getpid())
    with files.locked(path):
        pass


def test_a_lock_is_free_after_an_error_under_it(tmp_path):
    with pytest.raises(RuntimeError), files.locked(tmp_path / "lock"):
        raise RuntimeError
    with files.locked(tmp_path / "lock"):
        pass
