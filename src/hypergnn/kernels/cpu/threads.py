"""Ranges of rows dealt to threads, as many as torch has; what one of them computes does not depend on how many."""

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
"""Multiplications that a thread must have to do to be worth waking."""


@cache
def pool() -> ThreadPoolExecutor:
    """The threads, made when they are first wanted."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hypergnn")


if hasattr(os, "register_at_fork"):  # a child has none of the threads, and may find their queue locked for ever
    os.register_at_fork(after_in_child=pool.cache_clear)


def threads_for(work: int) -> int:
    """How many threads so many multiplications are worth."""
    return 1 if work < 2 * WORTH_A_THREAD else min(torch.get_num_threads(), work // WORTH_A_THREAD)


def run_all(jobs: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """Run all jobs, this thread among the others; what they return, in any order."""
    if threads == 1:
        return [job() for job in jobs]
    waiting, done = iter(jobs), []

    def work() -> None:
        for job in iter(lambda: next(waiting, None), None):
            done.append(job())

    helpers = [pool().submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # it has begun
            helper.result()
    return done


def by_group(kernel: Callable[..., None], offsets: Tensor, work: int, *arrays: Any) -> None:
    """Run a kernel over all groups."""
    threads = threads_for(work)
    if threads == 1:
        kernel(*arrays, 0, offsets.shape[0] - 1)
        return
    run_all([partial(kernel, *arrays, *bounds) for bounds in even_ranges(ids_of(offsets), threads)], threads)


def by_range(kernel: Callable[..., Any], size: int, work: int, *arrays: Any) -> list[Any]:
    """Run a kernel over rows that are equally long; what it returned for each range of them."""
    threads = min(threads_for(work), max(size, 1))
    if threads == 1:
        return [kernel(*arrays, 0, size)]
    bounds = [size * k // (4 * threads) for k in range(4 * threads + 1)]
    return run_all([partial(kernel, *arrays, a, b) for a, b in pairwise(bounds) if b > a], threads)


def even_ranges(offsets: Array, threads: int) -> list[tuple[int, int]]:
    """Ranges of groups with about as many incidences, a few for each thread."""
    ends = np.linspace(0, int(offsets[-1]), 4 * threads + 1)[1:-1]
    bounds = [0, *np.searchsorted(offsets[:-1], ends).tolist(), offsets.size - 1]
    return [(a, b) for a, b in pairwise(bounds) if b > a]
