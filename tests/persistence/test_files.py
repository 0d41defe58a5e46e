import os
import resource
import signal
import stat
import threading

import pytest
from support.forks import in_a_fork

import hypergnn as hg
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


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o400])
def test_the_mode_of_the_old_file_stays(tmp_path, mode):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(mode)
    with files.replacing(path) as file:
        file.write(b"new")
        (part,) = (one for one in tmp_path.iterdir() if one != path)
        assert stat.S_IMODE(part.stat().st_mode) == mode, "nor is it wider while it is written"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def test_a_saved_network_stays_private(tmp_path):
    path = tmp_path / "model.safetensors"
    path.touch(mode=0o600)
    hg.save(hg.Network(hg.Config(), 3, 2), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022])
def test_new_files_honour_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        files.write_atomic(tmp_path / "atomic", b"")
        files.append(tmp_path / "appended", b"", at=0)
    finally:
        os.umask(before)
    for name in ("atomic", "appended"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may give files away")
def test_the_owner_of_the_old_file_stays(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    files.write_atomic(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_link_stays_and_the_file_that_it_points_to_is_replaced(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.bin").write_bytes(b"old")
    (tmp_path / "link").symlink_to("deep/a.bin")
    files.write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "a.bin").read_bytes() == b"new"


def test_folders_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"must be a regular file or a new name: .*pipe"):
        files.write_atomic(tmp_path / "pipe", b"")
    with pytest.raises(IsADirectoryError):
        files.write_atomic(tmp_path, b"")
    assert os.listdir(tmp_path) == ["pipe"]


def test_pipes_are_not_read_or_appended_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="must be a regular file"):
        files.read_regular(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"must be a regular file|No such device"):
        files.append(tmp_path / "pipe", b"", at=0)


def test_a_link_is_neither_appended_to_nor_cut(tmp_path):
    (tmp_path / "thesis").write_bytes(b"years of work")
    (tmp_path / "trials.jsonl").symlink_to("thesis")
    (tmp_path / "broken").symlink_to("nowhere")
    for name in ("trials.jsonl", "broken"):
        with pytest.raises(OSError, match=f"must not be a symbolic link: .*{name}"):
            files.append(tmp_path / name, b"more", at=13)
        with pytest.raises(OSError, match=f"must not be a symbolic link: .*{name}"):
            files.cut(tmp_path / name, 5)
    assert (tmp_path / "thesis").read_bytes() == b"years of work"
    assert not (tmp_path / "nowhere").exists()


def test_a_name_of_full_length_can_be_written(tmp_path):
    path = tmp_path / ("é" * 127)
    files.write_atomic(path, b"whole")
    assert path.read_bytes() == b"whole"


LEFT_OVER = f".a.bin.{'0123456789abcdef'}.tmp"


def test_the_next_write_removes_what_a_dead_writer_left(tmp_path):
    others = [f".b.bin.{'0' * 16}.tmp", ".a.bin.tmp", ".a.bin.backup.tmp", "a.bin.0123456789abcdef.tmp"]
    for name in (LEFT_OVER, *others):
        (tmp_path / name).write_bytes(b"part")
    files.write_atomic(tmp_path / "a.bin", b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted(["a.bin", *others])


def test_a_link_in_place_of_a_left_over_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"years of work")
    (tmp_path / LEFT_OVER).symlink_to("precious")
    files.write_atomic(tmp_path / "a.bin", b"whole")
    assert (tmp_path / "precious").read_bytes() == b"years of work"


def test_writers_do_not_remove_the_files_of_living_ones(tmp_path):
    path = tmp_path / "a.bin"
    with files.replacing(path) as slow:
        slow.write(b"slow")
        in_a_fork(lambda: files.write_atomic(path, b"quick, in another process"))
        files.write_atomic(path, b"quick")
        assert len(os.listdir(tmp_path)) == 2
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_file_of_a_killed_process_is_removed(tmp_path):
    path = tmp_path / "a.bin"

    def die():
        with files.replacing(path) as file:
            file.write(b"part")
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_a_fork(die)
    assert len(os.listdir(tmp_path)) == 1
    files.write_atomic(path, b"whole")
    assert os.listdir(tmp_path) == ["a.bin"]


def test_many_writers_at_once_all_succeed(tmp_path):
    path, errors = tmp_path / "a.bin", []

    def write(number):
        try:
            for _ in range(40):
                files.write_atomic(path, bytes([number]) * 1000)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(set(path.read_bytes())) == 1
    assert os.listdir(tmp_path) == ["a.bin"]


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
        with pytest.raises(OSError, match=r"too large: '.*a.txt'"):
            files.append(path, b"second\n", at=6)
        with pytest.raises(OSError, match=r"too large: '.*b.bin'"):
            files.write_atomic(tmp_path / "b.bin", b"more than ten bytes")
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
