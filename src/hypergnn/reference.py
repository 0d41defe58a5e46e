"""The paper's equations transcribed literally with dense matrices, slow and simple. Only tests import this.

The letters are those of the paper: ``H`` is the ``(N, M)`` incidence matrix, binary or attended; ``W`` the ``(M,)``
diagonal of hyperedge weights; ``X`` is ``(N, F)``; ``P`` is ``(F, F')``. One head, no batch. The paper does not say
what to do with a degree of 0; here its inverse is 0.
"""

from __future__ import annotations

import torch
from torch import Tensor


def vertex_degree(H: Tensor, W: Tensor) -> Tensor:
    """Eq. 1: ``D_ii = Σ_e W_ee H_ie``."""
    N, M = H.shape
    return torch.stack([sum((W[e] * H[i, e] for e in range(M)), H.new_zeros(())) for i in range(N)])


def hyperedge_degree(H: Tensor) -> Tensor:
    """Eq. 2: ``B_ee = Σ_i H_ie``."""
    N, M = H.shape
    if M == 0:
        return H.new_zeros(0)
    return torch.stack([sum((H[i, e] for i in range(N)), H.new_zeros(())) for e in range(M)])


def conv_sums(X: Tensor, H: Tensor, W: Tensor, P: Tensor) -> Tensor:
    """Eq. 3 before ``σ``: ``x_i' = Σ_j Σ_e H_ie H_je W_ee x_j P``."""
    N, M = H.shape
    rows = []
    for i in range(N):
        total = X.new_zeros(X.shape[1])
        for j in range(N):
            for e in range(M):
                total = total + H[i, e] * H[j, e] * W[e] * X[j]
        rows.append(total @ P)
    return torch.stack(rows)


def transition(H: Tensor, W: Tensor, normalization: str) -> Tensor:
    """``T`` of Eq. 4 (``"none"``), Eq. 5 (``"symmetric"``) or Eq. 6 (``"row"``), ``(N, N)``."""
    D, B = vertex_degree(H, W), hyperedge_degree(H)
    W = torch.diag(W)
    if normalization == "none":
        return H @ W @ H.T
    B_inverse = torch.diag(_power(B, -1))
    if normalization == "symmetric":
        D_root = torch.diag(_power(D, -0.5))
        return D_root @ H @ W @ B_inverse @ H.T @ D_root
    return torch.diag(_power(D, -1)) @ H @ W @ B_inverse @ H.T


def reading(R: Tensor, H: Tensor, W: Tensor, normalization: str) -> Tensor:
    """``T`` with the incidence ``R`` ``(rows, M)`` of new vertices on its left, ``(rows, N)``; not in the paper."""
    D, D_new, B = vertex_degree(H, W), vertex_degree(R, W), hyperedge_degree(H)
    W = torch.diag(W)
    if normalization == "none":
        return R @ W @ H.T
    B_inverse = torch.diag(_power(B, -1))
    if normalization == "symmetric":
        return torch.diag(_power(D_new, -0.5)) @ R @ W @ B_inverse @ H.T @ torch.diag(_power(D, -0.5))
    return torch.diag(_power(D_new, -1)) @ R @ W @ B_inverse @ H.T


def spectral(S: Tensor, R: Tensor, W: Tensor, phase: float) -> Tensor:
    """The Hermitian transition of tails ``S`` and heads ``R``, ``D^-1/2 H W B^-1 H* D^-1/2``; not in the paper.

    ``H_ie`` is 1 in the head of ``e``, ``exp(-2πi·phase)`` in its tail only, 0 elsewhere; ``D`` and ``B`` count both.
    """
    turn = torch.exp(torch.tensor(-2j * torch.pi * phase, dtype=torch.complex128)).to(torch.complex(S, S).dtype)
    H = torch.where(R > 0, torch.ones_like(turn), S * turn)
    is_member = ((S + R) > 0).to(S.dtype)
    D_root = torch.diag(_power(vertex_degree(is_member, W), -0.5)).to(H.dtype)
    B_inverse = torch.diag(_power(hyperedge_degree(is_member), -1))
    return D_root @ H @ (torch.diag(W) @ B_inverse).to(H.dtype) @ H.conj().T @ D_root


def attention(
    X: Tensor, U: Tensor, H: Tensor, P: Tensor, Q: Tensor, a: Tensor, softmax_over: str, slope: float
) -> Tensor:
    """Eqs. 7 and 8: the attended incidence ``(N, M)``, non-zero only where ``H`` is.

    ``U`` ``(M, ·)`` are the features of the hyperedges and ``Q`` their projection, which is ``P`` in the paper.
    """
    N, M = H.shape
    score = {}
    for i in range(N):
        for e in range(M):
            if H[i, e]:
                similarity = a @ torch.cat([X[i] @ P, U[e] @ Q])
                score[i, e] = torch.exp(similarity if similarity > 0 else slope * similarity)
    rows = []
    for i in range(N):
        row = []
        for e in range(M):
            if (i, e) not in score:
                row.append(X.new_zeros(()))
            elif softmax_over == "hyperedges":
                row.append(score[i, e] / sum(score[i, k] for k in range(M) if (i, k) in score))
            else:
                row.append(score[i, e] / sum(score[k, e] for k in range(N) if (k, e) in score))
        rows.append(torch.stack(row) if row else X.new_zeros(0))
    return torch.stack(rows)


def hyperedge_features(X: Tensor, H: Tensor, centroids: list[int]) -> Tensor:
    """Features of each hyperedge: those of its centroid, or the mean of its members if the centroid is -1."""
    rows = []
    for e, centroid in enumerate(centroids):
        members = [X[i] for i in range(H.shape[0]) if H[i, e]]
        if centroid >= 0:
            rows.append(X[centroid])
        else:
            rows.append(torch.stack(members).mean(0) if members else X.new_zeros(X.shape[1]))
    return torch.stack(rows) if rows else X.new_zeros(0, X.shape[1])


def graph_transition(A: Tensor, normalization: str) -> Tensor:
    """Eq. 10, the renormalisation trick, with ``Ã = A + I``; or its row-normalised or plain form."""
    A_loops = A + torch.eye(len(A), dtype=A.dtype)
    D = A_loops.sum(1)
    if normalization == "none":
        return A_loops
    if normalization == "symmetric":
        return torch.diag(D**-0.5) @ A_loops @ torch.diag(D**-0.5)
    return torch.diag(1 / D) @ A_loops


def sage(
    X: Tensor, S: Tensor, R: Tensor, W: Tensor, P: Tensor, Q: Tensor, pool: str, a: Tensor, slope: float
) -> Tensor:
    """GraphSAGE over hyperedges; not in the paper. ``S`` and ``R`` are the incidences of senders and receivers."""
    messages = _messages(X @ P, S)
    rows = []
    for i in range(R.shape[0]):
        own = [e for e in range(R.shape[1]) if R[i, e]]
        if not own:
            rows.append(X.new_zeros(P.shape[1]))
        elif pool == "max":
            rows.append(torch.stack([messages[e] for e in own]).amax(0))
        else:
            weight = [W[e] for e in own]
            if pool == "attention":
                scores = [a @ torch.cat([X[i] @ P, messages[e]]) for e in own]
                weight = [torch.exp(s if s > 0 else slope * s) for s in scores]
            shares = torch.stack(weight) / sum(weight)
            rows.append(sum((s * messages[e] for s, e in zip(shares, own, strict=True)), X.new_zeros(P.shape[1])))
    return torch.stack(rows) + X @ Q


def monet(
    X: Tensor, S: Tensor, R: Tensor, W: Tensor, P: list[Tensor], u: Tensor, mean: Tensor, spread: Tensor
) -> Tensor:
    """MoNet over hyperedges, divided by the degree; not in the paper. ``u`` ``(N, M, d)`` are pseudo-coordinates."""
    degree = vertex_degree(R, W)
    rows = []
    for i in range(R.shape[0]):
        total = X.new_zeros(P[0].shape[1])
        for k in range(len(P)):
            messages = _messages(X @ P[k], S)
            for e in range(R.shape[1]):
                if R[i, e]:
                    distance = (((u[i, e] - mean[k]) / spread[k]) ** 2).sum()
                    total = total + torch.exp(-distance / 2) * W[e] * messages[e]
        rows.append(total / degree[i] if degree[i] > 0 else total)
    return torch.stack(rows)


def diffusion(X: Tensor, S: Tensor, R: Tensor, W: Tensor, P: list[Tensor], b: list[Tensor], A: Tensor) -> Tensor:
    """Diffusion with a learned update of the hyperedges; not in the paper. ``P`` goes there, updates and comes back."""
    messages = torch.nn.functional.elu(X @ P[0] + b[0])
    updates = [torch.nn.functional.elu(mean @ P[1] + b[1]) @ P[2] for mean in _messages(messages, S)]
    rows = []
    for i in range(R.shape[0]):
        total, degree = X.new_zeros(P[2].shape[1]), X.new_zeros(())
        for e in range(R.shape[1]):
            if R[i, e]:
                total, degree = total + W[e] * updates[e], degree + W[e]
        rows.append(total / degree if degree else total)
    return torch.stack(rows) + X @ A


def _messages(X: Tensor, S: Tensor) -> list[Tensor]:
    """The mean of the senders of each hyperedge."""
    found = []
    for e in range(S.shape[1]):
        senders = [X[j] for j in range(S.shape[0]) if S[j, e]]
        found.append(torch.stack(senders).mean(0) if senders else X.new_zeros(X.shape[1]))
    return found


def _power(diagonal: Tensor, exponent: float) -> Tensor:
    """A power of a diagonal matrix, with 0 for entries of 0."""
    return torch.stack([d**exponent if d > 0 else torch.zeros_like(d) for d in diagonal]) if len(diagonal) else diagonal
