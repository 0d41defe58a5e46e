"""Crash-safe files: atomic writes, and appends that are on disk when the function returns.

Every change of a file goes through a function of ``os`` as this module names it, so that tests can let each call fail.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_SAFE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG)
_LINK = "must not be a symbolic link: what it points to would be changed. Put the file itself here"
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}\.tmp", re.DOTALL)
_LONGEST = 50  # characters of a name that its temporary file repeats


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block ends; if the block fails, ``path`` stays unchanged.

    Readers see either the old content or the new, never a part of it, and the new content is on disk when the block
    ends. The file keeps the mode and, if this process may set it, the owner of the one that it replaces. If ``path`` is
    a symbolic link, the file that it points to is replaced. A process killed inside the block leaves a hidden file
    ``.<name>.<digits>.tmp`` beside ``path``, which the next write to ``path`` removes.

    Raises:
        OSError: If the file cannot be written, or ``path`` is a folder or a device. Only if the very last step fails,
            the flush of the folder, is the new file in place: it may then be gone after a power cut.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder, "a.txt")) as file:
        ...         _ = file.write(b"whole")
        ...     Path(folder, "a.txt").read_text()
        'whole'
    """
    target = Path(os.path.realpath(path))
    with naming(target):
        old = _status(target)
        remove_left_overs(target.parent, target.name)
        part, descriptor = _create_beside(target, old)
        is_open = True
        try:
            with cast(BinaryIO, io.BufferedWriter(_File(descriptor, "wb"))) as file:
                yield file
                file.flush()
                os.fsync(descriptor)
                if fcntl is not None:  # while the lock of the temporary file is held, so that nobody removes it
                    os.replace(part, target)
                    is_open = False
            if is_open:
                os.replace(part, target)
                is_open = False
        finally:
            if is_open:
                with suppress(FileNotFoundError):
                    os.unlink(part)
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
        path: The file; not a symbolic link, because the file that it points to could be any.
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
    with naming(path), _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK) as descriptor:
        if (size := os.fstat(descriptor).st_size) != at:
            raise OSError(f"{path} must be {at} bytes long; got {size}. Another program has changed it: open it again.")
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
            if at == 0:
                sync_folder(Path(path).parent)
        except BaseException:
            os.ftruncate(descriptor, at)
            raise
    return at + len(data)


def cut(path: str | os.PathLike[str], size: int) -> int:
    """Truncate a file to ``size`` bytes if it is longer; a missing file counts as empty.

    Returns:
        The number of bytes removed.

    Raises:
        OSError: If the file cannot be written, or is a symbolic link.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("whole, torn")
        ...     cut(Path(folder, "a.txt"), 5), Path(folder, "a.txt").read_text()
        (6, 'whole')
    """
    if not os.path.lexists(path):
        return 0
    refuse_link(path)
    surplus = os.stat(path).st_size - size
    if surplus > 0:
        with naming(path), _opened(path, os.O_RDWR | _NO_LINK) as descriptor:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
    return max(surplus, 0)


def refuse_link(path: str | os.PathLike[str]) -> None:
    """Raise ``OSError`` if a path is a symbolic link.

    Example:
        >>> refuse_link("nowhere")
    """
    if os.path.islink(path):
        raise OSError(errno.ELOOP, _LINK, str(path))


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Read a file; refuse folders, devices and pipes, which might never end.

    Example:
        >>> read_regular("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    with naming(path), _opened(path, os.O_RDONLY) as descriptor, open(descriptor, "rb", closefd=False) as file:
        return file.read()


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise the usual ``OSError`` unless a path is a file that can be read: a pipe might never answer.

    Example:
        >>> check_regular("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    with naming(path), _opened(path, os.O_RDONLY):
        pass


Identity = tuple[int, int, int]


def identity_of(path: str | os.PathLike[str]) -> Identity | None:
    """What distinguishes a file from one that has replaced it: size, time of the last change, inode; ``None`` if gone.

    Example:
        >>> identity_of("nowhere") is None
        True
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def check_identity(path: str | os.PathLike[str], known: Identity) -> None:
    """Raise a ``ValueError`` unless a file is still the one that was pickled by its name."""
    if identity_of(path) != known:
        raise ValueError(f"{path} was replaced or changed after the loader had been pickled. Make the loader again.")


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and its missing parents; their names are on disk when the function returns.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     make_folder(Path(folder, "a", "b"))
        ...     Path(folder, "a", "b").is_dir()
        True
    """
    path = Path(path)
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        with suppress(FileExistsError):  # made by another process meanwhile
            os.mkdir(one)
    for one in missing or [path]:  # its name may not be on disk yet, if another process has just made it
        sync_folder(one.parent)


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder of files that becomes ``path`` when the block ends: complete or not there, and on disk.

    A process killed inside the block leaves a hidden folder ``.<name>.<digits>.tmp`` beside ``path``, which the next
    call for the same ``path`` removes.

    Args:
        path: The folder, which must not exist or be empty.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with new_folder(Path(folder, "both")) as aside:
        ...         write_atomic(aside / "a.txt", b"a")
        ...     os.listdir(Path(folder, "both"))
        ['a.txt']
    """
    target = Path(os.path.realpath(path))
    make_folder(target.parent)
    with naming(target):
        _remove_left_folders(target)
        aside, descriptor = _create_folder_beside(target)
        try:
            yield aside
            sync_folder(aside)
            os.rename(aside, target)
        except BaseException:
            _remove_folder(aside)
            raise
        finally:
            if descriptor is not None:
                os.close(descriptor)
        sync_folder(target.parent)


def _create_folder_beside(target: Path) -> tuple[Path, int | None]:
    """Create a temporary folder, locked until the descriptor is closed, where folders can be locked."""
    while True:
        aside = target.with_name(f".{target.name[:_LONGEST]}.{secrets.token_hex(8)}.tmp")
        os.mkdir(aside)
        if fcntl is None:
            return aside, None
        try:
            descriptor = os.open(aside, os.O_RDONLY | _SAFE)
        except FileNotFoundError:  # another writer took it for a left-over
            continue
        except OSError:
            _remove_folder(aside)
            raise
        if _lock(descriptor) is not False and os.path.exists(aside):
            return aside, descriptor
        os.close(descriptor)


def _remove_left_folders(target: Path) -> None:
    """Remove the temporary folders that dead writers of a folder left; living ones hold a lock on theirs."""
    if fcntl is None:
        return
    with suppress(OSError):
        for found in os.listdir(target.parent):
            of, one = _TEMPORARY.fullmatch(found), target.parent / found
            if of and of[1] == target.name[:_LONGEST] and os.path.isdir(one) and not os.path.islink(one):
                descriptor = os.open(one, os.O_RDONLY | _SAFE)
                try:
                    if _lock(descriptor):
                        _remove_folder(one)
                finally:
                    os.close(descriptor)


def _remove_folder(folder: Path) -> None:
    """Remove a folder of files, as far as that is possible."""
    with suppress(OSError):
        for name in os.listdir(folder):
            os.unlink(folder / name)
        os.rmdir(folder)


def remove_left_overs(folder: str | os.PathLike[str], name: str | None = None) -> None:
    """Remove the temporary files that dead writers left in a folder. Living writers hold a lock on theirs.

    Args:
        folder: The folder; one that cannot be listed is left as it is.
        name: Only the temporary files of this file.

    Example:
        >>> remove_left_overs(".", "nowhere.txt")
    """
    with suppress(OSError):  # such as a folder that may be written but not listed
        for found in os.listdir(folder):
            of = _TEMPORARY.fullmatch(found)
            if of and (name is None or of[1] == name[:_LONGEST]):
                with suppress(OSError), _opened(Path(folder, found), os.O_RDWR | _NO_LINK) as descriptor:
                    if _lock(descriptor):
                        os.unlink(Path(folder, found))


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flush the file names in ``folder`` to disk; the content of the files is synced separately.

    Does nothing if the system cannot do so: on Windows, for a folder that this process may not read, and on file
    systems that refuse it.

    Example:
        >>> sync_folder(".")
    """
    if sys.platform == "win32":
        return
    with naming(folder):
        try:
            descriptor = os.open(folder, os.O_RDONLY | _SAFE)
        except PermissionError:
            return
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)


# Details of files that are written


class _File(io.FileIO):
    """A file that is written through ``os`` as this module names it."""

    def write(self, data: Any) -> int:
        return os.write(self.fileno(), data)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path to errors of the disk that do not name one, such as those of ``write`` and ``fsync``."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _OF_THE_DISK:
            error.filename = str(path)
        raise


@contextmanager
def _opened(path: str | os.PathLike[str], flags: int) -> Iterator[int]:
    """Open a regular file; refuse everything else."""
    try:
        descriptor = os.open(path, flags | _SAFE, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "must be a regular file", str(path))
        yield descriptor
    finally:
        os.close(descriptor)


def _status(target: Path) -> os.stat_result | None:
    """The status of a file that is to be replaced; ``None`` if there is none."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "must be a regular file or a new name", str(target))
    return status


def _create_beside(target: Path, old: os.stat_result | None) -> tuple[Path, int]:
    """Create a temporary file, locked until it is closed, with mode and owner of the file that it will replace."""
    while True:
        part = target.with_name(f".{target.name[:_LONGEST]}.{secrets.token_hex(8)}.tmp")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o666 if old is None else 0o600)
        except FileNotFoundError as error:  # it would name the temporary file
            raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(target)) from error
        try:
            if old is not None and hasattr(os, "fchmod"):
                with suppress(PermissionError):
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)
        except OSError:
            os.close(descriptor)
            os.unlink(part)
            raise
        if _lock(descriptor) is not False and os.path.exists(part):  # else another writer took it for a left-over
            return part, descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Whether the file could be locked; ``None`` if the system or the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
