"""The maximum of rows over groups in the compiled backend."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn.kernels.cpu import pooling_loops, threads
from hypergnn.kernels.cpu.buffers import array_of, ids_of, new
from hypergnn.structures.incidence import Incidence


def segment_argmax(x: Tensor, by: Incidence) -> Tensor:
    """The member with the largest entry, ``(batch, groups, features)`` int64; -1 for an empty group."""
    shape = (x.shape[0], by.n_rows, x.shape[2])
    out = torch.empty(shape, dtype=torch.int64)
    arrays = (array_of(x), ids_of(by.offsets), ids_of(by.members), array_of(new(x, *shape)), out.numpy())
    threads.by_group(pooling_loops.largest_members, by.offsets, by.n_pairs * x.shape[0] * x.shape[2], *arrays)
    return out
