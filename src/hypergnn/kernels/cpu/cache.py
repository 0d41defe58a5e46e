"""Compiled kernels on disk: machine code with a checksum, in a folder that only the user can write to.

numba's own cache reads whatever its files hold, so that a torn file ends every later run. Here a file is used if its
checksum is right. Otherwise it is removed, and the kernel compiled again. A checksum guards against damage; only the
permissions of the folder guard against others, because the content is executable.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import warnings
from pathlib import Path
from typing import Any

from numba.core.serialize import dumps

from hypergnn.persistence.files import write_atomic

_FORM = b"hypergnn kernel 1"
_said: set[str] = set()


class KernelFiles:
    """The compiled forms of one kernel, a file for each signature and kind of processor.

    It takes the place of the cache file in a cache of numba's.

    Args:
        folder: Where the files are; made when the first one is written.
        name: How their names begin.
        stamp: What they must have been compiled from; others are replaced.
    """

    def __init__(self, folder: Path, name: str, stamp: str) -> None:
        """Note where the files are."""
        self.folder, self.name, self.stamp = folder, name, stamp

    def load(self, key: Any) -> Any:
        """What was saved for this signature; ``None`` if there is nothing, or nothing to trust."""
        path = self._path(key)
        try:
            if not is_private(self.folder):
                return None
            with open(path, "rb") as file:
                content = file.read() if _is_own(os.fstat(file.fileno())) else b""
        except OSError:
            return None
        form, stamp, checksum, payload = [*content.split(b"\n", 3), b"", b"", b""][:4]
        if form == _FORM and stamp != self.stamp.encode():
            return None  # compiled from other sources
        if form != _FORM or checksum != _checksum(stamp, key, payload):
            path.unlink(missing_ok=True)
            _say(f"a file of the kernel cache in {self.folder} was damaged; its kernel is compiled again.")
            return None
        return pickle.loads(payload)  # bytes that this user has written

    def save(self, key: Any, data: Any) -> None:
        """Write what was compiled for this signature, if the folder can be used."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_private(self.folder):
                stamp, payload = self.stamp.encode(), dumps(data)
                header = b"\n".join([_FORM, stamp, _checksum(stamp, key, payload), b""])
                write_atomic(self._path(key), header + payload)
        except OSError as error:
            _say(
                f"the kernel cache in {self.folder} cannot be written ({error}); kernels are compiled in each process."
            )

    def flush(self) -> None:
        """Remove all files of this kernel."""
        for path in self.folder.glob(f"{self.name}.*.kernel"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return self.folder / f"{self.name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.kernel"


def is_private(folder: Path) -> bool:
    """Whether a folder is the user's own and nobody else can write to it; says so if not.

    Raises:
        OSError: If there is no such folder.
    """
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and _is_own(found):
        return True
    _say(
        f"the kernel cache in {folder} is not used: others can write to it. Remove it, or make it your own (chmod 700)."
    )
    return False


def _is_own(found: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # permissions are another matter on Windows, where profiles are private
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _checksum(stamp: bytes, key: Any, payload: bytes) -> bytes:
    digest = hashlib.sha256(stamp + b"\n" + repr(key).encode() + b"\n")
    digest.update(payload)
    return digest.hexdigest().encode()


def _say(text: str) -> None:
    """Warn, once for each folder and reason."""
    if text not in _said:
        _said.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
