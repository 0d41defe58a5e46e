"""Batch normalisation of the columns, over the vertices, for networks of random propagation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from hypergnn.kernels import Dropout, is_transformed, matmul, matmul_gradient, seeded_dropout

_LEAST = 1e-5
_MOMENTUM = 0.1
_BLOCK = 1 << 18
"""Entries that are normalised, dropped and multiplied before the next ones: they stay in a cache."""


class BatchNorm(nn.Module):
    """Columns centred, divided by their standard deviation, scaled and shifted, as in `Ioffe and Szegedy
    <https://arxiv.org/abs/1502.03167>`_.

    In training, means and variances are those of the given rows; in evaluation, their running means over the training
    steps outside ``torch.func``. These are parameters without a gradient, so that each of several trials has its own
    and files hold them. They start at 0 and are divided by the share of data in them, so that they are right from the
    first step on; torch's start at 0 and 1, which tiny variances need many steps to forget.

    Args:
        width: Number of columns.

    Shapes:
        ``x`` ``(..., N, width)`` → ``(..., N, width)``; parameters may have the leading axes of ``x``.

    Example:
        >>> import torch
        >>> BatchNorm(1)(torch.tensor([[1.0], [3.0]])).flatten().detach().round(decimals=3)
        tensor([-1.,  1.])
    """  # noqa: D205

    def __init__(self, width: int) -> None:
        """Create the parameters."""
        super().__init__()
        self.scale = nn.Parameter(torch.empty(width))
        self.shift = nn.Parameter(torch.empty(width))
        self.mean = nn.Parameter(torch.empty(width), requires_grad=False)
        self.variance = nn.Parameter(torch.empty(width), requires_grad=False)
        self.share = nn.Parameter(torch.empty(1), requires_grad=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with the identity; nothing is drawn."""
        for parameter in self.parameters():
            nn.init.constant_(parameter, 1.0 if parameter is self.scale else 0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x``; in training, also update the running means."""
        if self.training:
            mean = x.mean(-2)  # (..., width)
            centred = x - mean.unsqueeze(-2)
            variance = centred.square().mean(-2)  # several times as fast as torch.var
            if x.shape[-2] and not is_transformed():  # a transformed function may change no parameter
                self._update(mean, variance)
        else:
            mean, variance = self.running()
            centred = x - mean.unsqueeze(-2)
        factor = self.scale * (variance + _LEAST).rsqrt()
        return torch.addcmul(self.shift.unsqueeze(-2), centred, factor.unsqueeze(-2))

    def running(self) -> tuple[Tensor, Tensor]:
        """Mean and variance of evaluation: 0 and 1 before the first training step."""
        share = self.share.detach()
        is_new = share == 0
        share = share + is_new
        return self.mean.detach() / share, self.variance.detach() / share + is_new

    def product(self, x: Tensor, projection: Tensor, dropout: Dropout) -> Tensor:
        """In training: ``x``, which has no gradient, normalised and dropped, times ``projection`` ``(trials, F, F')``.

        Computed block by block, so that nothing of the size of ``x`` is made.
        """
        if not x.shape[-2]:
            return x @ projection
        mean = x.mean(-2)
        variance = torch.zeros_like(mean)
        for rows in _blocks(x):
            variance += (x[..., rows, :] - mean.unsqueeze(-2)).square_().sum(-2)
        variance /= x.shape[-2]
        self._update(mean, variance)
        factor = self.scale * (variance + _LEAST).rsqrt()
        made: Tensor = _Product.apply(x, mean, factor, self.shift, projection, dropout)  # type: ignore[no-untyped-call]
        return made

    @torch.no_grad()
    def _update(self, mean: Tensor, variance: Tensor) -> None:
        for running, value in ((self.mean, mean), (self.variance, variance), (self.share, torch.ones_like(self.share))):
            extra = value.dim() - running.dim()  # axes of x before those of the parameters
            value = value.flatten(0, extra - 1).mean(0) if extra > 0 else value
            running.mul_(1 - _MOMENTUM).add_(value, alpha=_MOMENTUM)


class _Product(torch.autograd.Function):
    """``dropout((x - mean) factor + shift) P``; the backward pass computes each block of rows again."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mean: Tensor, factor: Tensor, shift: Tensor, projection: Tensor, dropout: Dropout
    ) -> Tensor:
        ctx.save_for_backward(x, mean, factor, shift, projection)
        ctx.dropout = dropout
        out = x.new_empty(*x.shape[:-1], projection.shape[-1])  # (trials, N, F')
        for rows in _blocks(x):
            normalized = (x[:, rows] - mean[:, None]).mul_(factor[:, None]).add_(shift[:, None])
            out[:, rows] = matmul(_dropped(normalized, dropout, rows), projection)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, factor, shift, projection = ctx.saved_tensors
        back = projection.transpose(1, 2).contiguous()
        by_factor, by_shift, by_projection = (torch.zeros_like(one) for one in (factor, shift, projection))
        for rows in _blocks(x):
            centred, come = x[:, rows] - mean[:, None], grad[:, rows].contiguous()
            dropped = _dropped((centred * factor[:, None]).add_(shift[:, None]), ctx.dropout, rows)
            by_projection += matmul_gradient(dropped, come)
            change = _dropped(matmul(come, back), ctx.dropout, rows)
            by_shift += change.sum(-2)
            by_factor += change.mul_(centred).sum(-2)
        return None, None, by_factor, by_shift, by_projection, None


def _dropped(block: Tensor, dropout: Dropout, rows: slice) -> Tensor:
    """The dropout of some rows of the whole."""
    places = torch.arange(rows.start, rows.stop, dtype=torch.int32, device=block.device)
    return seeded_dropout(block, dropout._replace(places=places))


def _blocks(x: Tensor) -> Iterator[slice]:
    n_rows, step = x.shape[-2], max(1, _BLOCK // max(1, x.shape[-1]))
    for low in range(0, n_rows, step):
        yield slice(low, min(low + step, n_rows))
