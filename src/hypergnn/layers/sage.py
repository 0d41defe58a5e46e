r"""GraphSAGE on hypergraphs: a vertex adds what it pools from its hyperedges to a projection of itself.

    m_e = mean of x_j P over the senders j of e        x_i' = x_i Q + pool of m_e over the hyperedges e of i

The pool is a weighted mean, the largest entry of each feature, or a mean weighted by attention. New vertices need no
retraining: nothing belongs to a single vertex.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from hypergnn import functional, kernels
from hypergnn._utils.checks import check_choice
from hypergnn.functional.checks import Features
from hypergnn.functional.means import hyperedge_mean
from hypergnn.functional.projection import project
from hypergnn.layers.base import Aggregate, Layer, glorot
from hypergnn.structures.base import Direction, TwoSided

Pool = Literal["mean", "max", "attention"]


class HypergraphSAGE(Layer):
    """`GraphSAGE <https://arxiv.org/abs/1706.02216>`_ with hyperedges in place of neighbours.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        pool: How a vertex pools its hyperedges: their ``"mean"`` weighted by ``W``, the ``"max"`` of each feature, or
            their mean weighted by ``"attention"``.
        heads: Number of projections side by side.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        negative_slope: Slope of LeakyReLU below 0 in the attention.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.
        direction: As in :class:`HypergraphConv`.

    Shapes:
        As :class:`HypergraphConv`.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> HypergraphSAGE(16, 8, pool="max")(torch.rand(4, 16), H).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        pool: Pool = "mean",
        heads: int = 1,
        aggregate: Aggregate = "concat",
        negative_slope: float = 0.2,
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
        check_choice("pool", pool, ("mean", "max", "attention"))
        self.pool = pool
        self.negative_slope = negative_slope
        self.own_projection = nn.Parameter(torch.empty(in_features, self.width))
        self.a_vertex, self.a_hyperedge = self._score_vector(), self._score_vector()
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        super().reset_parameters(generator)
        glorot(self.own_projection, self.in_features, self.out_features, generator)
        for vector in (self.a_vertex, self.a_hyperedge):
            if vector is not None:
                glorot(vector, 2 * self.out_features, 1, generator)

    def _score_vector(self) -> nn.Parameter | None:
        """Half of the weight vector of each head's attention, if there is one."""
        shape = (self.n_ways * self.heads, self.out_features)
        return nn.Parameter(torch.empty(shape)) if self.pool == "attention" else None

    def forward(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        """Pool the hyperedges of each vertex of ``H``, a hypergraph or a block of one."""
        return self._with_bias(self._linear(x, H))

    def _linear(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        structures = self._ways(H)
        self._check(x, structures[0].n_vertices, structures[0].device)
        outs = [self._pooled(x, one, number) for number, one in enumerate(structures)]
        rows = structures[0].rows
        own = project(x, self.own_projection)
        pooled = self._aggregated(outs[0] if len(outs) == 1 else torch.cat(outs, -1), x, rows)
        return pooled + (own if rows is None else own.index_select(-2, rows))

    def _pooled(self, x: Features, H: TwoSided, way: int) -> Tensor:
        """What each receiver pools, ``(..., receivers, heads * F')``."""
        projection = self._of_way(self.projection, way, -1)
        if self.pool == "mean":
            return functional.hypergraph_conv(x, H, normalization="row", projection=projection)
        projected = self._projected(x, projection)
        message = hyperedge_mean(projected, H)  # m_e  (..., M, heads * F')
        if self.pool == "max":
            return kernels.segment_max(message, by=H.receivers)
        vectors = [self._of_way(one, way, -2) for one in (self.a_vertex, self.a_hyperedge) if one is not None]
        by_head, own = self._by_head(message), self._by_head(projected)
        incidence = functional.attention_incidence(
            own, by_head, H, *vectors, negative_slope=self.negative_slope, of="receivers"
        )
        return kernels.segment_sum(by_head, by=H.receivers, values=incidence).flatten(-2)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, pool={self.pool!r}"
