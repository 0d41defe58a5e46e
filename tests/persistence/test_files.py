import os
import resource
import stat
import threading

import pytest

from hypergnn.persistence import files


@pytest.fixture
def events(monkeypatch):
    """What is synced and what is renamed, in order: inode and size, or the new name."""
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


def test_an_atomic_write_respects_the_umask(tmp_path):
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
def test_append_refuses_a_file_of_another_size_and_does_not_change_it(tmp_path, at):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1234")
    with pytest.raises(OSError, match=f"must be {at} bytes long; got 4"):
        files.append(path, b"more", at=at)
    assert path.read_bytes() == b"1234"


def test_a_disk_that_fills_up_within_a_line_leaves_no_part_of_it(tmp_path):
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


def test_cut_removes_only_the_end_and_syncs(tmp_path, events):
    path = tmp_path / "a.txt"
    assert files.cut(path, 0) == 0
    path.write_bytes(b"123456")
    assert files.cut(path, 6) == 0
    assert events == []
    assert files.cut(path, 4) == 2
    assert path.read_bytes() == b"1234"
    assert events == [(path.stat().st_ino, 4)]


def test_a_lock_has_one_holder_and_is_free_afterwards(tmp_path):
    path = tmp_path / "lock"
    with files.locked(path):
        again = files.locked(path)
        with pytest.raises(files.LockedError, match=f"this process, process id {os.getpid()}, has it open"):
            again.__enter__()
        assert int(path.read_text()) == os.getpid()
    with files.locked(path):
        pass


def test_a_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), files.locked(tmp_path / "lock"):
        raise RuntimeError
    with files.locked(tmp_path / "lock"):
        pass


def test_a_lock_may_be_released_by_another_thread(tmp_path):
    lock = files.locked(tmp_path / "lock")
    lock.__enter__()
    thread = threading.Thread(target=lock.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with files.locked(tmp_path / "lock"):
        pass


def test_a_forked_child_neither_keeps_nor_releases_the_lock(tmp_path):
    path = tmp_path / "lock"
    with files.locked(path):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:  # the child holds nothing, so this is refused by the lock of the parent
            try:
                with files.locked(path):
                    os.write(writer, b"the child has it")
            except files.LockedError as error:
                os.write(writer, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert f"another process, process id {os.getpid()}, has it open" in os.read(reader, 1000).decode()
        with pytest.raises(files.LockedError):
            files.locked(path).__enter__()
        reader_of_life, held = os.pipe()
        child = os.fork()
        if not child:
            os.close(held)
            os.read(reader_of_life, 1)  # lives until the parent closes its end
            os._exit(0)
    with files.locked(path):
        pass
    for descriptor in (reader, writer, reader_of_life, held):
        os.close(descriptor)
    os.waitpid(child, 0)


def test_a_forked_child_may_leave_the_block(tmp_path):
    held = files.locked(tmp_path / "lock")
    held.__enter__()
    child = os.fork()
    if not child:
        try:
            held.__exit__(None, None, None)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(files.LockedError):
        files.locked(tmp_path / "lock").__enter__()
    held.__exit__(None, None, None)
