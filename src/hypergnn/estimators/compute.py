"""What estimators compute with: features as tensors, devices and threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch
from scipy import sparse

from hypergnn.functional.checks import Features
from hypergnn.structures.sparse_features import SparseFeatures


def as_features(matrix: Any) -> Features:
    """A matrix in the form that networks take."""
    return SparseFeatures.from_scipy(matrix) if sparse.issparse(matrix) else torch.tensor(matrix, dtype=torch.float32)


def n_rows_of(rows: Any) -> int:
    """The number of rows of a table, a matrix or a list."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def available(device: Any) -> torch.device:
    """A device of torch, or raise if this machine has no such device."""
    try:
        found = torch.device("cpu" if device is None else device)
        if found.type == "meta":
            raise ValueError("device must be one that computes; got 'meta', whose tensors have no values.")
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        text = str(error).splitlines()[0]
        raise ValueError(f"device must be one that torch can use here, e.g. 'cpu'; got {device!r}: {text}") from error
    return found


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use this number of torch's threads; one by default, -1 for all cores.

    More only wait on small data. What training computes does not depend on their number.
    """
    n_jobs = capped(n_jobs)
    cores = os.cpu_count() or 1
    wanted = 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    before = torch.get_num_threads()
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def capped(n_jobs: int | None) -> int | None:
    """A number of threads, at most that of the cores, or raise; ``None`` and negative numbers stay what they are.

    Example:
        >>> capped(-1), capped(None), capped(10**9) == os.cpu_count()
        (-1, None, True)
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a whole number other than 0 (-1: all cores) or None; got {n_jobs!r}.")
    return None if n_jobs is None else int(min(n_jobs, os.cpu_count() or 1))


@contextmanager
def all_threads(n_jobs: int | None) -> Iterator[None]:
    """Use this number of threads of torch, of linear algebra and of OpenMP; as :func:`threads` otherwise.

    If another process uses the cores, threads that wait for each other make small steps many times slower.
    """
    from threadpoolctl import threadpool_limits

    with threads(n_jobs):
        wanted = torch.get_num_threads()
        with threadpool_limits(limits=wanted):
            yield


def one_thread() -> AbstractContextManager[None]:
    """Use one thread of torch."""
    return threads(None)
