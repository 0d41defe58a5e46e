"""Product with a symmetric matrix that consists of square blocks along its diagonal: one dense product per block."""

from __future__ import annotations

from itertools import pairwise
from math import isqrt, prod
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

NARROW = 12
"""Features below which the transposed product is the faster one: twice as fast for four."""


def block_product(x: Tensor, blocks: Tensor, offsets: Tensor) -> Tensor:
    """``C x`` with the block-diagonal, symmetric matrix ``C``, each trial computed by itself.

    Args:
        x: ``(..., rows, features)``.
        blocks: The entries of all blocks, one block after the other.
        offsets: Where each block's entries begin in ``blocks``, and where the last ones end.

    Example:
        >>> blocks, offsets = torch.tensor([2.0, 0.0, 1.0, 1.0, 0.0]), torch.tensor([0, 1, 5])
        >>> block_product(torch.tensor([[1.0], [2.0], [3.0]]), blocks, offsets).flatten()
        tensor([2., 3., 2.])
    """
    flat = x.reshape(prod(x.shape[:-2]), *x.shape[-2:])
    product: Tensor = _block_product(flat, blocks.to(x.dtype), offsets)
    return product.reshape(x.shape)


@custom_op("hypergnn::block_product", mutates_args=())
def _block_product(x: Tensor, blocks: Tensor, offsets: Tensor) -> Tensor:
    is_narrow = x.shape[-1] < NARROW
    if is_narrow:
        x = x.transpose(1, 2)  # xᵀ C is (C x)ᵀ, as C is symmetric
    x = x.contiguous()
    out = torch.empty_like(x)
    row = 0
    for first, last in pairwise(offsets.tolist()):
        size = isqrt(last - first)
        block = blocks[first:last].view(size, size)
        for trial in range(x.shape[0]):  # a block stays in the cache for all trials
            if is_narrow:
                torch.mm(x[trial, :, row : row + size], block, out=out[trial, :, row : row + size])
            else:
                torch.mm(block, x[trial, row : row + size], out=out[trial, row : row + size])
        row += size
    return out.transpose(1, 2).contiguous() if is_narrow else out


@_block_product.register_fake
def _(x: Tensor, blocks: Tensor, offsets: Tensor) -> Tensor:  # noqa: ARG001 (torch fixes the signature)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _save_blocks(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs[1:])


def _backward_block_product(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return _block_product(grad, *ctx.saved_tensors), None, None


_block_product.register_autograd(_backward_block_product, setup_context=_save_blocks)
