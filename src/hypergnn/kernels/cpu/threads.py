"""Ranges of rows computed by as many threads as torch uses; results do not depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels.cpu.buffers import Array, ids_of

WORTH_A_THREAD = 1 << 23
"""Minimum number of multiplications per thread."""


@cache
def pool() -> ThreadPoolExecutor:
    """The thread pool, created on first use."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hypergnn")


if hasattr(os, "register_at_fork"):  # a forked child has none of the threads, and their queue may stay locked
    os.register_at_fork(after_in_child=pool.cache_clear)


def threads_for(work: int) -> int:
    """How many threads to use for ``work`` multiplications."""
    return 1 if work < 2 * WORTH_A_THREAD else min(torch.get_num_threads(), work // WORTH_A_THREAD)


def run_all(jobs: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """Run all jobs in this and other threads, and return their results in any order."""
    if threads == 1:
        return [job() for job in jobs]
    waiting, done = iter(jobs), []

    def work() -> None:
        for job in iter(lambda: next(waiting, None), None):
            done.append(job())

    helpers = [pool().submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # it has already started
            helper.result()
    return done


def by_group(kernel: Callable[..., None], offsets: Tensor, work: int, *arrays: Any) -> None:
    """Run a kernel over all groups, in threads if the work is large."""
    threads = threads_for(work)
    if threads == 1:
        kernel(*arrays, 0, offsets.shape[0] - 1)
        return
    run_all([partial(kernel, *arrays, *bounds) for bounds in even_ranges(ids_of(offsets), threads)], threads)


def by_range(kernel: Callable[..., Any], size: int, work: int, *arrays: Any) -> list[Any]:
    """Run a kernel over rows of equal cost, and return its result for each range of rows."""
    threads = min(threads_for(work), max(size, 1))
    if threads == 1:
        return [kernel(*arrays, 0, size)]
    bounds = [size * k // (4 * threads) for k in range(4 * threads + 1)]
    return run_all([partial(kernel, *arrays, a, b) for a, b in pairwise(bounds) if b > a], threads)


def even_ranges(offsets: Array, threads: int) -> list[tuple[int, int]]:
    """Ranges of groups with about the same number of incidences, a few per thread."""
    ends = np.linspace(0, int(offsets[-1]), 4 * threads + 1)[1:-1]
    bounds = [0, *np.searchsorted(offsets[:-1], ends).tolist(), offsets.size - 1]
    return [(a, b) for a, b in pairwise(bounds) if b > a]
