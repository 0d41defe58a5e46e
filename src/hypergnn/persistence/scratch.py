"""Matrices in temporary files, for data larger than memory: they are mapped, and removed with the process."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def matrix(n_rows: int, n_columns: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A matrix of zeros in a temporary file (in ``TMPDIR``), whose space on the disk is reserved.

    Without the reservation, a disk that fills up later would end the process with a signal at a write into the matrix.

    Raises:
        OSError: If the disk has no room for it; the error names the folder.

    Example:
        >>> matrix(2, 3, np.float32).shape
        (2, 3)
    """
    kind = np.dtype(dtype)
    if n_rows == 0 or n_columns == 0:
        return np.empty((n_rows, n_columns), kind)
    with tempfile.TemporaryFile() as file:  # the mapping outlives the name
        _reserve(file.fileno(), n_rows * n_columns * kind.itemsize)
        return np.memmap(file, kind, "r+", 0, (n_rows, n_columns))


def _reserve(descriptor: int, size: int) -> None:
    os.ftruncate(descriptor, size)
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno in _CANNOT:  # a file system that cannot reserve
            return
        raise OSError(
            error.errno, f"{os.strerror(error.errno or 0)} for a temporary file of {size} bytes", tempfile.gettempdir()
        ) from error
