"""Exclusive locks: one holder among all processes and within each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypergnn.persistence.files import naming


class LockedError(OSError):
    """The lock is already held; the message names the process that holds it."""


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold an exclusive lock: one holder among all processes and within each; it ends when the process dies.

    A forked child does not inherit the lock. The lock file stays when the lock is released: deleting it would let two
    processes lock two files of the same name.

    Args:
        path: The file to lock, created if missing; it holds the process id of the last holder.

    Raises:
        LockedError: If the lock is already held.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder, "lock")):
        ...     int(Path(folder, "lock").read_text()) == os.getpid()
        True
    """
    from filelock import FileLock, Timeout

    # One context for all threads: a run may be opened in one thread and closed in another.
    lock = FileLock(path, timeout=0, thread_local=False, fallback_to_soft=False, on_acquired=_write_process_id)
    try:
        with naming(path):
            lock.acquire()
    except Timeout as error:
        holder = _read_process_id(path)
        whose = "this process" if holder == str(os.getpid()) else "another process"
        raise LockedError(
            f"{Path(path).parent} can be open only once; {whose}, process id {holder}, has it open. "
            "Wait until it finishes, stop it, or choose another folder."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _write_process_id(descriptor: int) -> None:
    """Write the process id behind the first byte, which Windows lets nobody else read while it is locked."""
    content = f" {os.getpid()}".encode()
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, content)
    os.ftruncate(descriptor, len(content))


def _read_process_id(path: str | os.PathLike[str]) -> str:
    with open(path, "rb", buffering=0) as file:
        file.seek(1)
        return file.read().decode("ascii", errors="replace") or "unknown"
