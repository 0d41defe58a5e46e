"""Layers over a graph and a hypergraph at once: the mean of both transitions with one projection."""

from __future__ import annotations

from typing import Literal, overload

import torch
from torch import Tensor

from hypergnn import functional
from hypergnn._utils.checks import check_choice
from hypergnn.functional.attention import attended_conv
from hypergnn.functional.checks import Features, check_graph, check_same_rows
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization
from hypergnn.functional.pairwise import AnyGraph
from hypergnn.layers.attention import AttentionLayer
from hypergnn.layers.base import Aggregate, Layer
from hypergnn.structures.base import TwoSided
from hypergnn.structures.block import GraphBlock
from hypergnn.structures.graph import Graph


class MeanConv(Layer):
    """Mean of a graph's and a hypergraph's transition with one projection: ``X' = (T_graph + T_hypergraph)/2 X P``.

    Arguments as for :class:`HypergraphConv`.

    Example:
        >>> from hypergnn import Graph, Hypergraph
        >>> graph, H = Graph.from_links([0], [1], n_vertices=3), Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
        >>> MeanConv(16, 8)(torch.rand(3, 16), graph, H).shape
        torch.Size([3, 8])
    """

    structures = ("graph", "hypergraph")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        normalization: Normalization = "symmetric",
        bias: bool = True,
        skip: bool = False,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.normalization = normalization
        self.reset_parameters()

    def forward(self, x: Features, graph: AnyGraph, H: TwoSided) -> Tensor:
        """Convolve ``x`` over ``graph`` and ``H`` at once, or over blocks of them."""
        return self._with_bias(self._linear(x, graph, H))

    def _linear(self, x: Features, graph: AnyGraph, H: TwoSided) -> Tensor:
        check_graph(graph, may_be_shared=True)
        (H,) = self._ways(H)
        self._check(x, graph.n_vertices, graph.device)
        return self._aggregated(self._propagate(x, graph, H, projection=self._mapping()), x, graph.rows)

    def _propagate(self, x: Features, graph: AnyGraph, H: TwoSided, projection: Tensor | None = None) -> Tensor:
        """``T X`` or ``T X P``."""
        return functional.mean_conv(x, graph, H, normalization=self.normalization, projection=projection)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, normalization={self.normalization!r}"


class MeanAttention(AttentionLayer):
    """Mean of a graph's and a hypergraph's attention with one projection: ``X' = (T_graph + T_hypergraph)/2 X P``.

    Arguments as for :class:`HypergraphAttention`.

    Example:
        >>> from hypergnn import Graph, Hypergraph
        >>> graph, H = Graph.from_links([0], [1], n_vertices=3), Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
        >>> MeanAttention(16, 8)(torch.rand(3, 16), graph, H).shape
        torch.Size([3, 8])
    """

    structures = ("graph", "hypergraph")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        normalization: Normalization = "row",
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        bias: bool = True,
        skip: bool = False,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(
            in_features,
            out_features,
            heads=heads,
            aggregate=aggregate,
            negative_slope=negative_slope,
            dropout=dropout,
            bias=bias,
            skip=skip,
        )
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.normalization = normalization
        self.a_target = self._score_vector()
        self.a_source = self._score_vector()
        self.a_vertex = self._score_vector()
        self.a_hyperedge = self._score_vector()
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        super().reset_parameters(generator)
        vectors = (self.a_target, self.a_source, self.a_vertex, self.a_hyperedge)
        self._reset_score_vectors(*vectors, generator=generator)

    @overload
    def forward(
        self, x: Features, graph: Graph | GraphBlock, H: TwoSided, return_attention: Literal[False] = False
    ) -> Tensor: ...

    @overload
    def forward(
        self, x: Features, graph: Graph | GraphBlock, H: TwoSided, return_attention: Literal[True]
    ) -> tuple[Tensor, Tensor, Tensor]: ...

    def forward(
        self, x: Features, graph: Graph | GraphBlock, H: TwoSided, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Attend over ``graph`` and ``H`` at once; optionally return both attentions, the graph's first."""
        linear, attention, incidence = self._attended(x, graph, H)
        out = self._with_bias(linear)
        return (out, attention, incidence) if return_attention else out

    def _linear(self, x: Features, graph: Graph | GraphBlock, H: TwoSided) -> Tensor:
        return self._attended(x, graph, H)[0]

    def _attended(self, x: Features, graph: Graph | GraphBlock, H: TwoSided) -> tuple[Tensor, Tensor, Tensor]:
        """The output without the bias, and both attentions."""
        check_graph(graph)
        (H,) = self._ways(H)
        check_same_rows(graph, H)
        self._check(x, graph.n_vertices, graph.device)
        projected = self._project(x)  # (..., N, heads, F')
        slope = self.negative_slope
        attention = functional.attention_links(projected, graph, self.a_target, self.a_source, negative_slope=slope)
        scored = (projected, None, H, self.a_vertex, self.a_hyperedge)
        propagated = self._drop(projected, of=graph)
        of_graph = functional.graph_attention(propagated, graph, self._drop(attention, of=graph.links))
        of_hypergraph, incidence = attended_conv(
            *scored,
            normalization=self.normalization,
            negative_slope=slope,
            dropped=propagated,
            drop=self._drop,
        )
        out = (of_graph + of_hypergraph) / 2
        return self._aggregated(out.flatten(-2), x, graph.rows), attention, incidence

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, normalization={self.normalization!r}"
