import os
import threading

import pytest

from hypergnn.persistence import locks


def test_a_lock_has_one_holder_and_is_free_afterwards(tmp_path):
    path = tmp_path / "lock"
    with locks.locked(path):
        again = locks.locked(path)
        with pytest.raises(locks.LockedError, match=f"this process, process id {os.getpid()}, has it open"):
            again.__enter__()
        assert int(path.read_text()) == os.getpid()
    with locks.locked(path):
        pass


def test_a_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), locks.locked(tmp_path / "lock"):
        raise RuntimeError
    with locks.locked(tmp_path / "lock"):
        pass


def test_a_lock_may_be_released_by_another_thread(tmp_path):
    lock = locks.locked(tmp_path / "lock")
    lock.__enter__()
    thread = threading.Thread(target=lock.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with locks.locked(tmp_path / "lock"):
        pass


def test_a_forked_child_neither_keeps_nor_releases_the_lock(tmp_path):
    path = tmp_path / "lock"
    with locks.locked(path):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:  # the child holds nothing, so this is refused by the lock of the parent
            try:
                with locks.locked(path):
                    os.write(writer, b"the child has it")
            except locks.LockedError as error:
                os.write(writer, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert f"another process, process id {os.getpid()}, has it open" in os.read(reader, 1000).decode()
        with pytest.raises(locks.LockedError):
            locks.locked(path).__enter__()
        reader_of_life, held = os.pipe()
        child = os.fork()
        if not child:
            os.close(held)
            os.read(reader_of_life, 1)  # lives until the parent closes its end
            os._exit(0)
    with locks.locked(path):
        pass
    for descriptor in (reader, writer, reader_of_life, held):
        os.close(descriptor)
    os.waitpid(child, 0)


def test_a_forked_child_may_leave_the_block(tmp_path):
    held = locks.locked(tmp_path / "lock")
    held.__enter__()
    child = os.fork()
    if not child:
        try:
            held.__exit__(None, None, None)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(locks.LockedError):
        locks.locked(tmp_path / "lock").__enter__()
    held.__exit__(None, None, None)
