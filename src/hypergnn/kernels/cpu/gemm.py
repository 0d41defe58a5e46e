"""Products of trials in the compiled backend: tall matrices times small ones."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels import portable
from hypergnn.kernels.cpu import gemm_loops, pointwise_loops, threads
from hypergnn.kernels.cpu.buffers import array_of, new

NARROW = 16
"""Columns or rows up to which a projection is multiplied here; larger products are torch's."""
SMALL = 64
"""Rows up to which one with any number of columns is, too."""


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``(batch or 1, rows, F)`` times ``(batch, F, F')``, one trial at a time: no trial depends on its neighbours."""
    depth, width = projection.shape[1:]
    out = new(x, projection.shape[0], x.shape[1], width)
    if depth == 0:
        return out.zero_()
    if min(depth, width) > NARROW and depth > SMALL:
        return portable.matmul(x, projection, out)
    n_rows, work = x.shape[1], out.numel() * depth
    arrays = (array_of(x), array_of(projection), array_of(out))
    if work < 2 * threads.WORTH_A_THREAD:
        gemm_loops.product(*arrays, 0, n_rows)
    else:
        threads.by_range(gemm_loops.product, n_rows, work, *arrays)
    return out


def matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    """Gradient of :func:`matmul` for the projection: ``xᵀ grad`` of each trial."""
    if grad.shape[2] > NARROW:
        return portable.matmul_backward(x, grad)
    blocks = -(-x.shape[1] // pointwise_loops.BLOCK)
    rows, work = array_of(x), grad.numel() * x.shape[2]
    parts = np.empty((grad.shape[0], blocks, grad.shape[2], x.shape[2]), rows.dtype)
    if work < 2 * threads.WORTH_A_THREAD:
        pointwise_loops.narrow_gradient(rows, array_of(grad), parts, 0, blocks)
    else:
        threads.by_range(pointwise_loops.narrow_gradient, blocks, work, rows, array_of(grad), parts)
    return torch.from_numpy(parts.sum(1)).transpose(1, 2)
