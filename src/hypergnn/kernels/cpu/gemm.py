"""Products of trials in the compiled backend: tall matrices times small ones."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hypergnn.kernels import portable
from hypergnn.kernels.cpu import gemm_loops, pointwise_loops, threads
from hypergnn.kernels.cpu.buffers import Array, array_of, new
from hypergnn.kernels.cpu.jit import Kernel

NARROW = 16
"""Columns up to which every projection is multiplied here, and its gradient is summed column by column."""
DEEP = 1 << 11
"""Rows up to which wider projections are, too: 32 of their columns fit into the second cache. Torch does the rest."""
LARGE = 1 << 17
"""Numbers of a wider projection up to which its gradient is computed here."""
BLOCKS = 32
"""The most blocks of rows whose gradients are added up at the end."""


def matmul(x: Tensor, projection: Tensor) -> Tensor:
    """``(batch or 1, rows, F)`` times ``(batch, F, F')``, one trial at a time: no trial depends on its neighbours."""
    depth, width = projection.shape[1:]
    out = new(x, projection.shape[0], x.shape[1], width)
    if depth == 0 or width == 0:
        return out.zero_()
    if depth > DEEP and width > NARROW:
        return portable.matmul(x, projection, out)
    n_rows, work = x.shape[1], out.numel() * depth
    arrays = (array_of(x), array_of(projection), array_of(out))
    _run(gemm_loops.product, n_rows, work, *arrays)
    return out


def matmul_backward(x: Tensor, grad: Tensor) -> Tensor:
    """Gradient of :func:`matmul` for the projection: ``xᵀ grad`` of each trial."""
    (trials, n_rows, width), depth = grad.shape, x.shape[2]
    if width > NARROW:
        return _tall_product(x, grad) if depth * width <= LARGE else portable.matmul_backward(x, grad)
    blocks, rows = -(-n_rows // pointwise_loops.BLOCK), array_of(x)
    parts = np.empty((trials, blocks, width, depth), rows.dtype)
    _run(pointwise_loops.narrow_gradient, blocks, grad.numel() * depth, rows, array_of(grad), parts)
    return torch.from_numpy(parts.sum(1)).transpose(1, 2)


def _tall_product(x: Tensor, grad: Tensor) -> Tensor:
    (trials, n_rows, width), depth = grad.shape, x.shape[2]
    blocks, rows = min(BLOCKS, -(-n_rows // gemm_loops.TALL)), array_of(x)
    parts = np.empty((trials, blocks, depth, width), rows.dtype)
    _run(gemm_loops.tall_product, blocks, grad.numel() * depth, rows, array_of(grad), parts)
    return torch.from_numpy(parts[:, 0] if blocks == 1 else parts.sum(1))


def _run(kernel: Kernel, size: int, work: int, *arrays: Array) -> None:
    """Run a kernel over rows or blocks of equal cost, in threads if the work is large."""
    if work < 2 * threads.WORTH_A_THREAD:
        kernel(*arrays, 0, size)
    else:
        threads.by_range(kernel, size, work, *arrays)
