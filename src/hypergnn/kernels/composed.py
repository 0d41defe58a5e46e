"""The fused operators, written with elementary ones: for any device and for gradients of any order."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import elu, leaky_relu, relu

from hypergnn.kernels import ops
from hypergnn.structures.incidence import Incidence


def dropped_sum(x: Tensor, values: Tensor, keys: Tensor, rate: float, by: Incidence) -> Tensor:
    """:data:`~hypergnn.kernels.ops.segment_sum` with dropout of the values, each trial its own."""
    own = values.expand(keys.shape[0], -1).contiguous()
    dropped = ops.seeded_dropout(own, rate, keys, None).unsqueeze(-1)
    return ops.segment_sum(x.unsqueeze(2), dropped, by).squeeze(2)  # type: ignore[no-any-return]


def transition(
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
    """``left R middle Sᵀ right x`` and ``Sᵀ right x``.

    Shapes: ``x`` ``(batch, senders, heads, F)``, scalings ``(batch or 1, rows, heads or 1)``; or ``x`` ``(batch,
    senders, F)``. Values are those of the senders' pairs, and of the receivers' where these differ.
    """
    if x.dim() == 3:
        out, sums = transition(
            x.unsqueeze(2), left, middle, right, values, receiver_values, learned, senders, receivers
        )
        return out.squeeze(2), sums
    sums = ops.segment_sum(scaled(x, right), values, senders.T)  # Sᵀ right x  (batch, M, heads, F)
    back = values if receiver_values is None else receiver_values
    return scaled(ops.segment_sum(scaled(sums, middle), back, receivers), left), sums


def value_sums(values: Tensor, weight: Tensor | None, by: Incidence) -> Tensor:
    """``Σ_p weight_m values_p`` of each group, ``(batch, groups, heads)``, from weights ``(batch or 1, members)``."""
    batch, _, heads = values.shape
    if weight is None:
        weight = values.new_ones(1, by.n_columns)
    per_head = weight[..., None, None].expand(batch, weight.shape[1], heads, 1)
    return ops.segment_sum(per_head, values, by).squeeze(-1)  # type: ignore[no-any-return]


def inverse(degree: Tensor, root: bool, least: float) -> Tensor:
    """``1 / degree``, or its root; 0 where there is no more than the least. The mask comes before the division."""
    present = degree > least
    return torch.where(present, torch.where(present, degree, 1).pow(-0.5 if root else -1.0), 0)


def scaled(x: Tensor, factor: Tensor | None) -> Tensor:
    """``x`` ``(batch, rows, heads, F)`` times a factor of each row, ``(batch or 1, rows, heads or 1)``."""
    return x if factor is None else factor.unsqueeze(-1) * x


def attend(ours: Tensor, theirs: Tensor, slope: float, by: Incidence) -> Tensor:
    """Softmax per group of LeakyReLU of both ends' scores, ``(batch, groups or members, heads)``."""
    offsets, members, position = by[:3]
    groups = torch.repeat_interleave(offsets.diff(), output_size=members.shape[0])
    scores = ours.index_select(1, groups) + theirs.index_select(1, members)
    if position is not None:
        scores = torch.empty_like(scores).index_copy(1, position.long(), scores)
    softmax: Tensor = ops.segment_softmax(leaky_relu(scores, slope), by)
    return softmax


def head_scores(x: Tensor, vectors: Tensor) -> Tensor:
    """``(k, batch, n, heads)`` from ``x`` ``(batch, n, heads, F)`` and ``vectors`` ``(batch, k, heads, F)``."""
    return torch.stack([(x * vector.unsqueeze(1)).sum(-1) for vector in vectors.unbind(1)])


def elu_dropout(x: Tensor, bias: Tensor | None, rate: float, keys: Tensor | None, places: Tensor | None) -> Tensor:
    """ELU of ``x`` ``(trials, ..., N, F)`` plus ``bias``, then dropout if there are keys.

    The bias is ``(trials, F)``. Without an axis of trials ``x`` is ``(N, F)`` and the bias ``(F,)``.
    """
    activated = elu(_with_bias(x, bias))
    return activated if keys is None else ops.seeded_dropout(activated, rate, keys, places)


def relu_dropout(x: Tensor, bias: Tensor | None, rate: float, keys: Tensor | None, places: Tensor | None) -> Tensor:
    """The same with ReLU."""
    activated = relu(_with_bias(x, bias))
    return activated if keys is None else ops.seeded_dropout(activated, rate, keys, places)


def _with_bias(x: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return x
    return x + (bias.reshape(bias.shape[0], *[1] * (x.dim() - 2), bias.shape[1]) if x.dim() > 2 else bias)


def cross_entropy(scores: Tensor, classes: Tensor, rows: Tensor) -> Tensor:
    """Mean cross-entropy of each trial over some rows, ``(trials,)``, of scores ``(trials, N, classes)``."""
    shares = scores.index_select(1, rows).log_softmax(-1)  # (trials, rows, classes)
    own = classes.index_select(0, rows).expand(shares.shape[0], -1).unsqueeze(-1)
    return -shares.gather(-1, own).mean(dim=(1, 2))
