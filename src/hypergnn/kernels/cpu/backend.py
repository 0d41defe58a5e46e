"""The compiled backend for CPUs: what :class:`~hypergnn.kernels.dispatch.Backend` asks for, and what only it fuses."""

from hypergnn.kernels.cpu.attention import (
    attend,
    attend_gradients,
    head_scores,
    head_scores_gradients,
    incidence_dot,
    row_dots,
    scale_rows,
    segment_softmax,
    segment_total,
    spread,
    transition_gradients,
    value_sums,
)
from hypergnn.kernels.cpu.gemm import matmul, matmul_backward
from hypergnn.kernels.cpu.pointwise import (
    adam,
    cross_entropy,
    cross_entropy_gradient,
    elu_dropout,
    elu_dropout_gradient,
    inverse,
    inverse_gradient,
    relu_dropout,
    relu_dropout_gradient,
    seeded_dropout,
)
from hypergnn.kernels.cpu.pooling import segment_argmax
from hypergnn.kernels.cpu.segment import dropped_sum, gather, segment_sum, transition

__all__ = [
    "adam",
    "attend",
    "attend_gradients",
    "cross_entropy",
    "cross_entropy_gradient",
    "dropped_sum",
    "elu_dropout",
    "elu_dropout_gradient",
    "gather",
    "head_scores",
    "head_scores_gradients",
    "incidence_dot",
    "inverse",
    "inverse_gradient",
    "matmul",
    "matmul_backward",
    "relu_dropout",
    "relu_dropout_gradient",
    "row_dots",
    "scale_rows",
    "seeded_dropout",
    "segment_argmax",
    "segment_softmax",
    "segment_sum",
    "segment_total",
    "spread",
    "transition",
    "transition_gradients",
    "value_sums",
]
