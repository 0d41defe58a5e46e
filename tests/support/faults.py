"""A fault injector: the functions of ``os`` as ``persistence.files`` sees them, one call of which fails or is the last.

Three kinds of fault, at every call that changes a file:

- ``error``: the call raises ``OSError``. The program goes on, and must say so and leave everything as it was.
- ``kill``: the process dies at the call: every later call raises as well, so that nothing is cleaned up. A write may
  have written any part of its bytes.
- ``power``: the machine loses power at the call. Only what was synced is left: the content of a file up to its last
  ``fsync``, and the names of a folder at its last ``fsync``.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypergnn.persistence import files, locks
from support import tally

CHANGES = ("open", "write", "fsync", "replace", "ftruncate", "unlink", "mkdir", "rmdir", "rename", "fchmod", "fchown")


class DeathError(BaseException):
    """The process has died: nothing that catches ordinary errors sees it."""


class Faulty:
    """Stands for the module ``os``; counts the calls that change files, and lets one of them fail.

    Attributes:
        calls: The names of the calls so far.
        written: How many bytes each call was asked to write; 0 for other calls.
    """

    def __init__(self, fault: str = "none", at: int = -1, part: int = 0, number: int = errno.EIO) -> None:
        self.fault, self.at, self.part, self.number = fault, at, part, number
        self.calls: list[str] = []
        self.written: list[int] = []
        self.is_dead = False
        self.disk = Disk()

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)
        return self._watched(name, function) if name in CHANGES else function

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self.is_dead:
                raise DeathError
            self.calls.append(name)
            self.written.append(len(arguments[1]) if name == "write" else 0)
            if len(self.calls) - 1 == self.at:
                self._fail(name, function, arguments)
            result = None if name == "fsync" else function(*arguments)  # a sync takes time, and changes nothing here
            self.disk.note(name, arguments)
            return result

        return call

    def _fail(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if self.fault != "error":
            self.is_dead = True
        if name == "write" and self.part:
            function(arguments[0], bytes(arguments[1])[: self.part])
        if self.is_dead:
            raise DeathError
        raise OSError(self.number, os.strerror(self.number))


class Disk:
    """What a disk holds after a power cut: synced content by inode, and synced names by folder."""

    def __init__(self) -> None:
        self.content: dict[int, bytes] = {}
        self.names: dict[str, dict[str, int]] = {}
        self.open: dict[int, int] = {}  # descriptors of synced files, so that no other file gets their inode

    def start_with(self, root: Path) -> None:
        """Everything below a folder is on the disk."""
        for folder, _, names in os.walk(root):
            self._sync_folder(folder)
            for name in names:
                self._sync_file(Path(folder, name))

    def note(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Follow a call that succeeded."""
        if name == "rename":  # of a folder: what is synced of it is there under both names, its parent tells which
            old, new = map(str, arguments)
            if old in self.names:
                self.names[new] = self.names[old]
        if name != "fsync":
            return
        path = os.readlink(f"/proc/self/fd/{arguments[0]}")
        status = os.fstat(arguments[0])
        if stat.S_ISDIR(status.st_mode):
            self._sync_folder(path)
        else:
            self._sync_file(Path(path))

    def _sync_file(self, path: Path) -> None:
        inode = os.stat(path).st_ino
        self.content[inode] = path.read_bytes()
        if inode not in self.open:
            self.open[inode] = os.open(path, os.O_RDONLY)

    def close(self) -> None:
        """Give the descriptors back."""
        for descriptor in self.open.values():
            os.close(descriptor)
        self.open.clear()

    def _sync_folder(self, folder: str) -> None:
        self.names[folder] = {name: os.stat(Path(folder, name)).st_ino for name in os.listdir(folder)}

    def restore(self, root: Path, target: Path) -> None:
        """Write what the disk holds of ``root`` to the folder ``target``. A file that was never synced is empty."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name, inode in self.names.get(str(root), {}).items():
            if str(root / name) in self.names or (root / name).is_dir():
                self.restore(root / name, target / name)
            else:
                (target / name).write_bytes(self.content.get(inode, b""))


@contextmanager
def injected(faulty: Faulty) -> Iterator[Faulty]:
    """Within the block, files and locks use the faulty functions."""
    real, files.os, locks.os = files.os, faulty, faulty
    try:
        yield faulty
    finally:
        files.os = locks.os = real
        faulty.disk.close()


def points(work: Callable[[], object], *, most: int = 0) -> list[tuple[int, int]]:
    """Every point at which a fault is worth injecting: each call, and for a write each number of bytes written.

    Writes of more than 300 bytes are cut at some hundred places.

    Args:
        work: What to count the calls of.
        most: About how many cuts of writes to take, evenly spread, unless the counts are recorded; 0 for all.
    """
    with injected(Faulty()) as watched:
        work()
    whole = [(at, 0) for at in range(len(watched.calls))]
    cuts = []
    for at, size in enumerate(watched.written):
        cuts += [(at, part) for part in (range(1, size + 1) if size <= 300 else range(1, size + 1, size // 100))]
    return whole + sampled(cuts, most)


def sampled(choices: Sequence[Any], most: int) -> list[Any]:
    """About ``most`` of the choices, evenly spread; all of them if ``most`` is 0 or the counts are recorded."""
    step = max(1, len(choices) // most) if most and tally.VARIABLE not in os.environ else 1
    return list(choices[::step])
