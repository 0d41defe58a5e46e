"""The spectral convolution of a directed hypergraph."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergnn import functional
from hypergnn._utils.checks import check_number
from hypergnn.functional.checks import Features, check_hypergraph
from hypergnn.layers.base import Aggregate, Layer
from hypergnn.structures.base import TwoSided


class SpectralConv(Layer):
    """Convolution with a complex incidence, real and imaginary part side by side: ``X' = [Re(T X P) ‖ Im(T X P)]``.

    ``T = D^-1/2 H W B^-1 H* D^-1/2`` of :func:`hypergnn.functional.spectral_conv`: the real part joins the vertices of
    a hyperedge as an undirected hypergraph does, the imaginary part says which way it points.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in each part of the output.
        phase: ``q``: a tail is multiplied by ``exp(-2πiq)``.
        heads: Number of projections side by side.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.

    Shapes:
        ``x`` ``(..., N, in_features)`` → ``(..., N, 2 * heads * out_features)`` or, with ``"mean"``,
        ``(..., N, 2 * out_features)``.

    Example:
        >>> from hypergnn import DirectedHypergraph
        >>> H = DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2], [3])], n_vertices=4)
        >>> SpectralConv(16, 8)(torch.rand(4, 16), H).shape
        torch.Size([4, 16])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        phase: float = 0.25,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        bias: bool = True,
        skip: bool = False,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        self.phase = check_number("phase", phase, below=1)
        self.reset_parameters()

    @property
    def width(self) -> int:
        """Number of output features of both parts."""
        return 2 * super().width

    def forward(self, x: Features, H: TwoSided) -> Tensor:
        """Convolve ``x`` over ``H``."""
        return self._with_bias(self._linear(x, H))

    def _linear(self, x: Features, H: TwoSided) -> Tensor:
        check_hypergraph(H)
        self._check(x, H.n_vertices, H.device)
        out = functional.spectral_conv(self._projected(x, self.projection), H, phase=self.phase)
        if self.aggregate == "mean":
            out = self._by_head(out).mean(-2)
        linear = torch.cat([out.real, out.imag], -1)
        return linear + self._skipped(x) if self.skip else linear

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, phase={self.phase}"
