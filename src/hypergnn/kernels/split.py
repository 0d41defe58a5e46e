"""Sums of hyperedges whose vertices are divided among processes: each sums its own, and the sums are added up.

With ``L`` the sum of the losses of all processes, the gradient of a completed sum is the sum of the gradients that the
processes have for it: the way back is the same exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from hypergnn.kernels import composed, dispatch, ops
from hypergnn.structures.incidence import Incidence


class Adds(Protocol):
    """What adds up the sums of all processes: the ``parts`` of a structure."""

    def add(self, sums: Tensor) -> Tensor:
        """The sums over all processes, ``(batch, M, ...)``; ``sums`` may be overwritten."""


class _Total(torch.autograd.Function):
    """The sums of all processes; so is the gradient."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor, parts: Adds) -> Tensor:
        ctx.parts = parts
        return parts.add(sums.clone(memory_format=torch.contiguous_format))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return total(grad, ctx.parts), None


def total(sums: Tensor, parts: Adds) -> Tensor:
    """The sums of all processes, ``(batch, M, ...)``, with a gradient."""
    _refuse_tracing()
    completed: Tensor = _Total.apply(sums, parts)  # type: ignore[no-untyped-call]
    return completed


class _FixedTransition(torch.autograd.Function):
    """``left R middle Sᵀ right x`` with factors that are not learned; nothing is stored for the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *given: Any) -> Tensor:
        ctx.given = given
        left, middle, right, senders, receivers, parts = given
        sums = parts.add(_gather(x, senders.T, inner=right))  # (batch, M, 1, F)
        if middle is not None:
            sums.mul_(middle.unsqueeze(-1))
        return _gather(sums, receivers, outer=left)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        left, middle, right, senders, receivers, parts = ctx.given
        back = (right, middle, left, receivers, senders, parts)
        return _FixedTransition.apply(grad, *back), *[None] * len(back)  # type: ignore[no-untyped-call]


def transition(parts: Adds) -> Callable[..., tuple[Tensor, Tensor]]:
    """The step :func:`hypergnn.kernels.composed.transition` with the sums of all processes between its two sums."""

    def step(
        x: Tensor,
        left: Tensor | None,
        middle: Tensor | None,
        right: Tensor | None,
        values: Tensor | None,
        receiver_values: Tensor | None,
        learned: bool,
        senders: Incidence,
        receivers: Incidence,
    ) -> tuple[Tensor, Tensor]:
        _refuse_tracing()
        if x.dim() == 3:
            factors = (left, middle, right, values, receiver_values, learned, senders, receivers)
            out, sums = step(x.unsqueeze(2), *factors)
            return out.squeeze(2), sums
        if values is None and not learned:
            fixed = (left, middle, right, senders, receivers, parts)
            made: Tensor = _FixedTransition.apply(x.contiguous(), *fixed)  # type: ignore[no-untyped-call]
            return made, made.new_empty(0)
        sums = total(ops.segment_sum(composed.scaled(x, right), values, senders.T), parts)  # (batch, M, heads, F)
        back = values if receiver_values is None else receiver_values
        return composed.scaled(ops.segment_sum(composed.scaled(sums, middle), back, receivers), left), sums

    return step


def _gather(x: Tensor, by: Incidence, *, inner: Tensor | None = None, outer: Tensor | None = None) -> Tensor:
    """Rows summed per group, scaled before or after."""
    if dispatch.is_compiled(x.device.type, x.dtype):
        gathered: Tensor = dispatch.compiled.backend.gather(x, by, None, inner=inner, outer=outer)
        return gathered
    return composed.scaled(ops.segment_sum(composed.scaled(x, inner), None, by), outer)


def _refuse_tracing() -> None:
    if torch.compiler.is_compiling() or ops.is_transformed():
        raise NotImplementedError(
            "a shard cannot be compiled, exported or transformed by torch.func: its processes exchange sums. Use the "
            "whole hypergraph for that."
        )
