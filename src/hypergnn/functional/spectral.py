r"""The spectral form of a directed hypergraph: an incidence whose phase says which way a hyperedge points.

    T = D^-1/2 H W B^-1 H* D^-1/2        H_ie = 1 in the head of e, exp(-2πiq) in its tail only, 0 elsewhere

``T`` is Hermitian with eigenvalues from 0 to 1, ``D`` and ``B`` count the members of tail and head. It is applied as
real sums over the incidences, and never written out. With phase 0 it is the symmetric convolution of the undirected
hypergraph.
"""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import torch
from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_number
from hypergnn.functional.checks import check_features, check_hypergraph
from hypergnn.functional.convolution import scalings
from hypergnn.structures.base import TwoSided
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence


def spectral_conv(x: Tensor, H: TwoSided, *, phase: float = 0.25) -> Tensor:
    """Convolution with a complex incidence, ``D^-1/2 H W B^-1 H* D^-1/2 X``.

    Args:
        x: Vertex features, ``(..., N, F)``, real or complex.
        H: A directed hypergraph; an undirected one has phase 0 everywhere.
        phase: ``q``, in turns: a tail is multiplied by ``exp(-2πiq)``. 0 forgets the direction, 1/4 makes the step from
            tail to head imaginary. At least 0 and less than 1.

    Returns:
        ``(..., N, F)``, complex.

    Example:
        >>> H = DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=2)
        >>> spectral_conv(torch.tensor([[2.0], [0.0]]), H, phase=0.25).imag.tolist()
        [[0.0], [1.0]]
    """
    check_hypergraph(H)
    if not isinstance(H, (DirectedHypergraph, Hypergraph)):
        raise TypeError(f"H must be a DirectedHypergraph or a Hypergraph; got {type(H).__name__}.")
    check_number("phase", phase, below=1)
    real = x.real if isinstance(x, Tensor) and x.is_complex() else x
    check_features(real, H.n_vertices, H.device)
    if real.dtype == torch.bfloat16:
        raise TypeError(
            "x must be float32 or float64, because torch has no complex bfloat16; convert it with x.float()."
        )
    if real.layout != torch.strided:
        raise TypeError("x must be dense, because its result is complex; convert it with x.to_dense().")
    whole, turn = H.derived(("phases", phase, real.dtype), lambda: _phases(H, phase, real.dtype))
    left, middle, right = scalings(whole, "symmetric", real.dtype)
    parts = torch.stack([real, x.imag if x.is_complex() else torch.zeros_like(real)], -2)  # (..., N, 2, F)
    gathered = _turned(_unit(right) * parts, whole.senders.T, turn * turn.new_tensor([1.0, -1.0]))  # H* D^-1/2 X
    given = _turned(_unit(middle) * gathered, whole.receivers, turn)  # H W B^-1 …  (..., N, 2, F)
    scaled = _unit(left) * given
    return torch.complex(scaled[..., 0, :], scaled[..., 1, :])


def _turned(parts: Tensor, by: Incidence, turn: Tensor) -> Tensor:
    """Sums of complex rows ``(..., members, 2, F)``, each multiplied by the phase of its pair."""
    twice = torch.cat([parts, parts], -2)  # (..., members, 4, F): by cosine, by cosine, by sine, by sine
    sums = kernels.segment_sum(twice, by, turn.repeat_interleave(2, -1))
    cosine, sine = sums[..., :2, :], sums[..., 2:, :]
    return torch.stack([cosine[..., 0, :] - sine[..., 1, :], cosine[..., 1, :] + sine[..., 0, :]], -2)


def _unit(factor: Tensor | None) -> Tensor | float:
    """A factor ``(1, rows, 1)`` of each row, for rows ``(..., 2, F)``."""
    return 1.0 if factor is None else factor[0].unsqueeze(-1)


def _phases(H: Hypergraph | DirectedHypergraph, phase: float, dtype: torch.dtype) -> tuple[Hypergraph, Tensor]:
    """The undirected hypergraph, and cosine and sine of the phase of each of its pairs, ``(n_incidences, 2)``."""
    whole = H if isinstance(H, Hypergraph) else H.undirected()
    turn = torch.tensor([[1.0, 0.0]], dtype=dtype, device=H.device).repeat(whole.n_incidences, 1)
    if isinstance(H, DirectedHypergraph):
        key = whole._vertex_ids.cpu().numpy().astype(np.int64) * H.n_hyperedges + whole._hyperedge_ids.cpu().numpy()
        head = H.heads.rows().cpu().numpy().astype(np.int64) * H.n_hyperedges + H.heads.members.cpu().numpy()
        is_tail = torch.from_numpy(~np.isin(key, head)).to(H.device)
        turn[is_tail] = torch.tensor([cos(2 * pi * phase), -sin(2 * pi * phase)], dtype=dtype, device=H.device)
    return whole, turn
