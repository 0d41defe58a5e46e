"""Files that survive a crash: written whole or not at all, on the disk when a function returns, one owner at a time."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # Locked bytes cannot be read by others: one far behind the process id is taken.
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _forget_locks() -> None:
        # A lock lives as long as anybody has its file open: a child must not outlive its parent with it.
        for descriptor in _held:
            os.close(descriptor)
        _held.clear()

    os.register_at_fork(after_in_child=_forget_locks)

_held: set[int] = set()
"""Descriptors of the locks that this process holds."""


class LockedError(OSError):
    """Somebody else holds the lock; the message names the process."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends, and leaves no trace if the block fails.

    Others see the old content or the new one, never a part, and the new one is on the disk when the block has ended. A
    process killed meanwhile may leave a hidden file beside ``path``, named ``.<name>.<digits>.tmp``.

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
    """Write a whole file as :func:`replacing` does.

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
    """Add ``data`` to the end of a file, made if missing; it is on the disk when the function returns.

    If the function raises, the file is as it was before; if the process dies, a part of ``data`` may stand in it.

    Args:
        path: The file.
        data: What to add.
        at: The size that the file must have before, so that nothing is ever added to a broken end.

    Returns:
        The new size of the file.

    Raises:
        OSError: If the file has another size than ``at``, or cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     append(Path(folder, "a.txt"), b"second", at=append(Path(folder, "a.txt"), b"first ", at=0))
        12
    """
    with open(path, "ab", buffering=0) as file:
        if (size := file.tell()) != at:
            raise OSError(f"{path} must be {at} bytes long; got {size}. Something else has changed it: open it anew.")
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
    """Cut a file off after ``size`` bytes; what stands before them is not touched. A missing file is an empty one.

    Returns:
        How many bytes were cut off.

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
    """Have the names of the files in ``folder`` on the disk; their content is a matter of its own.

    Example:
        >>> sync_folder(".")
    """
    if sys.platform == "win32":  # which knows no such request
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock that only one holder can have, among all processes and within one; the death of the process ends it.

    The file stays when the lock is released: taking it away would let two processes hold two files of one name.

    Args:
        path: The file to lock, made if missing; it holds the process id of the last owner.

    Raises:
        LockedError: If the lock is held already.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder, "lock")):
        ...     int(Path(folder, "lock").read_text()) == os.getpid()
        True
    """
    with open(path, "a+", encoding="ascii") as file:
        try:
            _lock(file.fileno())
        except (BlockingIOError, PermissionError) as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            whose = "this process" if holder == str(os.getpid()) else "another process"
            raise LockedError(
                f"{Path(path).parent} must be open only once; {whose}, process id {holder}, has it open. "
                "Wait until it is done, end it, or take another folder."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        _held.add(file.fileno())
        try:
            yield
        finally:
            _held.discard(file.fileno())
