"""Crash-safe files: atomic writes, appends that are on disk when the function returns, and exclusive locks."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class LockedError(OSError):
    """The lock is already held; the message names the process that holds it."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block ends; if the block fails, ``path`` stays unchanged.

    Readers see either the old content or the new, never a part of it, and the new content is on disk when the block
    ends. A process killed inside the block may leave a hidden file ``.<name>.<digits>.tmp`` beside ``path``.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder, "a.txt")) as file:
        ...         _ = file.write(b"whole")
        ...     Path(folder, "a.txt").read_text()
        'whole'
    """
    target = Path(path).resolve()
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(target.parent)


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file atomically, as :func:`replacing` does.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomic(Path(folder, "a.txt"), b"whole")
        ...     Path(folder, "a.txt").read_text()
        'whole'
    """
    with replacing(path) as file:
        file.write(data)


def append(path: str | os.PathLike[str], data: bytes, *, at: int) -> int:
    """Append ``data`` to a file, created if missing; the data is on disk when the function returns.

    If the function raises, the file is unchanged. If the process dies, the file may end in a part of ``data``.

    Args:
        path: The file.
        data: The bytes to append.
        at: The size that the file must have before, so that nothing is appended to an incomplete record.

    Returns:
        The new size of the file.

    Raises:
        OSError: If the size of the file is not ``at``, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     append(Path(folder, "a.txt"), b"second", at=append(Path(folder, "a.txt"), b"first ", at=0))
        12
    """
    with open(path, "ab", buffering=0) as file:
        if (size := file.tell()) != at:
            raise OSError(f"{path} must be {at} bytes long; got {size}. Another program has changed it: open it again.")
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(at)
            raise
    if at == 0:
        sync_folder(Path(path).parent)
    return at + len(data)


def cut(path: str | os.PathLike[str], size: int) -> int:
    """Truncate a file to ``size`` bytes if it is longer; a missing file counts as empty.

    Returns:
        The number of bytes removed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("whole, torn")
        ...     cut(Path(folder, "a.txt"), 5), Path(folder, "a.txt").read_text()
        (6, 'whole')
    """
    surplus = os.path.getsize(path) - size if os.path.exists(path) else 0
    if surplus <= 0:
        return 0
    with open(path, "r+b", buffering=0) as file:
        file.truncate(size)
        os.fsync(file.fileno())
    return surplus


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flush the file names in ``folder`` to disk; the content of the files is synced separately.

    Example:
        >>> sync_folder(".")
    """
    if sys.platform == "win32":  # Windows cannot sync a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
