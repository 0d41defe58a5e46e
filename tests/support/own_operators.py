"""Dense versions of the operators of the benchmark, as a user writes them."""

import torch
from torch import nn
from torch.nn.functional import relu

from benchmarks.own_operators import AllDeepSets, UniGAT

__all__ = ["AllDeepSets", "UniGAT", "dense_deep_sets", "dense_unigat"]


def dense_unigat(layer, x, S, R, weight):  # noqa: ARG001
    """One head, written with matrices, for senders ``S`` and receivers ``R``."""
    P, n_hyperedges = x @ layer.projection, S.shape[1]
    m = (S / S.sum(0).clamp(min=1)).T @ P
    scores = nn.functional.leaky_relu((P @ layer.a_vertex[0])[:, None] + (m @ layer.a_hyperedge[0])[None], 0.2)
    alpha = torch.zeros(R.shape[0], n_hyperedges, dtype=x.dtype)
    for i in range(R.shape[0]):
        own = R[i].nonzero()[:, 0]
        alpha[i, own] = scores[i, own].softmax(0)
    return alpha @ m + layer.bias


def dense_deep_sets(layer, x, S, R, weight):
    """The same for the other."""
    gathered = (S / S.sum(0).clamp(min=1)).T @ relu(x @ layer.projection)
    m = relu(gathered @ layer.update.projection + layer.update.bias)
    degree = (R * weight).sum(1)
    share = (R * weight) / torch.where(degree > 0, degree, 1)[:, None]
    return relu(share @ m) @ layer.out.projection + layer.out.bias + layer.bias
