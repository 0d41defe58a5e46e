"""A layer whose hyperedges have a learned, non-linear update of their own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import project
from hypergnn.kernels.dropout import activate
from hypergnn.layers.base import Aggregate, Layer, glorot
from hypergnn.structures.base import Direction, TwoSided


class HypergraphDiffusion(Layer):
    """Messages to the hyperedges, a non-linear update there, and messages back.

    ``X' = X A + D^-1 H W σ(B^-1 Hᵀ σ(X P + b) U + c) V``: each hyperedge makes of the mean of its members what it has
    learned to, and each vertex adds the mean of its hyperedges to what it makes of its own features, as in networks of
    sets (`Chien et al. <https://arxiv.org/abs/2106.13264>`_) and of equivariant diffusion (`Wang et al.
    <https://arxiv.org/abs/2207.06680>`_). Unlike a convolution, it can tell a vertex from its surroundings, so it also
    serves data whose classes are mixed within hyperedges. ``σ`` is ELU.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        heads: Number of projections side by side; the update of the hyperedges sees all of them.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.
        direction: As for :class:`HypergraphConv`.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> HypergraphDiffusion(16, 8)(torch.rand(4, 16), H).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        bias: bool = True,
        skip: bool = False,
        direction: Direction = "forward",
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(
            in_features,
            out_features,
            heads=heads,
            aggregate=aggregate,
            bias=bias,
            skip=skip,
            direction=direction,
        )
        inner = heads * out_features
        self.message_bias = nn.Parameter(torch.empty(self.n_ways * inner))
        self.update_projection = nn.Parameter(torch.empty(inner, self.n_ways * inner))
        self.update_bias = nn.Parameter(torch.empty(self.n_ways * inner))
        self.back_projection = nn.Parameter(torch.empty(inner, self.n_ways * inner))
        self.own_projection = nn.Parameter(torch.empty(in_features, self.width))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters: Glorot-uniform, zero for biases."""
        super().reset_parameters(generator)
        inner = self.heads * self.out_features
        glorot(self.update_projection, inner, inner, generator)
        glorot(self.back_projection, inner, inner, generator)
        glorot(self.own_projection, self.in_features, self.width, generator)
        for bias in (self.message_bias, self.update_bias):
            nn.init.zeros_(bias)

    def forward(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        """Diffuse ``x`` over ``H``, a hypergraph, a block of one, or a pair of blocks for both directions."""
        return self._with_bias(self._linear(x, H))

    def _linear(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        structures = self._ways(H)
        self._check(x, structures[0].n_vertices, structures[0].device)
        outs = [self._diffused(x, one, number) for number, one in enumerate(structures)]
        rows = structures[0].rows
        own = project(x, self.own_projection)  # X A  (..., N, width)
        diffused = self._aggregated(outs[0] if len(outs) == 1 else torch.cat(outs, -1), x, rows)
        return diffused + (own if rows is None else own.index_select(-2, rows))

    def _diffused(self, x: Features, H: TwoSided, way: int) -> Tensor:
        """What the hyperedges of each vertex send, ``(..., N, heads * F')``."""
        message = self._projected(x, self._of_way(self.projection, way, -1))  # X P  (..., N, heads * F')
        message = activate(message, self._of_way(self.message_bias, way, -1), 0.0)
        pooled = functional.hyperedge_mean(message, H)  # B^-1 Sᵀ …  (..., M, heads * F')
        update = self._projected(pooled, self._of_way(self.update_projection, way, -1))
        update = activate(update, self._of_way(self.update_bias, way, -1), 0.0)
        return functional.vertex_mean(self._projected(update, self._of_way(self.back_projection, way, -1)), H)
