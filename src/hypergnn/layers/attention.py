"""Layers that learn their transition: hypergraph attention and GAT*."""

from __future__ import annotations

from typing import Literal, overload

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn._utils.checks import check_choice, check_number, check_size
from hypergnn.functional.attention import (
    SOFTMAX_OVER,
    SoftmaxOver,
    attend_over_vertices,
    attended_conv,
    attention_scores,
)
from hypergnn.functional.checks import Features, check_features, check_graph
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization
from hypergnn.functional.shares import shares_over_vertices, transition_by_shares
from hypergnn.kernels.dropout import dropout
from hypergnn.layers.base import Aggregate, Layer, glorot
from hypergnn.structures.base import Direction, TwoSided
from hypergnn.structures.block import Block, GraphBlock
from hypergnn.structures.graph import Graph


class AttentionLayer(Layer):
    """Base of the attention layers: the slope of LeakyReLU, and dropout."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int,
        aggregate: Aggregate,
        negative_slope: float,
        dropout: float,
        bias: bool,
        skip: bool,
        direction: Direction = "forward",
    ) -> None:
        """Create the shared parameters; a subclass adds its own and then calls ``reset_parameters``."""
        super().__init__(
            in_features,
            out_features,
            heads=heads,
            aggregate=aggregate,
            bias=bias,
            skip=skip,
            direction=direction,
        )
        self.negative_slope = check_number("negative_slope", negative_slope)
        self.dropout = check_number("dropout", dropout, below=1)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, negative_slope={self.negative_slope}, dropout={self.dropout}"

    def _score_vector(self) -> nn.Parameter:
        """Half of the weight vector ``a`` of each head."""
        return nn.Parameter(torch.empty(self.n_ways * self.heads, self.out_features))

    def _reset_score_vectors(self, *vectors: Tensor, generator: torch.Generator | None) -> None:
        for vector in vectors:
            glorot(vector, 2 * self.out_features, 1, generator)

    def _project(self, x: Features, way: int = 0) -> Tensor:
        """``x P``, ``(..., N, heads, F')``."""
        return self._by_head(self._projected(x, self._of_way(self._mapping(), way, -1)))

    def _drop(self, x: Tensor, of: object) -> Tensor:
        return dropout(x, self.dropout, of) if self.training else x


class HypergraphAttention(AttentionLayer):
    """Hypergraph attention of `Bai, Zhang and Torr <https://arxiv.org/abs/1901.08150>`_.

    The incidence becomes ``H_ie = softmax_e LeakyReLU(a·[x_i P ‖ u_e P])`` and takes the place of ``H`` everywhere in
    the convolution, in ``D`` and ``B`` as well.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        heads: Number of attentions side by side, each with its own projection.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        normalization: As in :class:`HypergraphConv`; the paper uses ``"row"`` with attention.
        softmax_over: The ``"hyperedges"`` of each vertex, or the ``"vertices"`` of each hyperedge.
        negative_slope: Slope of LeakyReLU below 0.
        dropout: In training, probability of dropping an entry of the attended incidence, after ``D`` and ``B`` were
            taken, and of the projected features that are propagated.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.
        hyperedge_features: Features per hyperedge if hyperedges live in a domain of their own; they then get a
            projection of their own into the space in which both are compared.
        direction: As in :class:`HypergraphConv`.

    Shapes:
        ``x`` ``(..., N, in_features)``, ``x_hyperedge`` ``(..., M, hyperedge_features or in_features)`` → as
        :class:`HypergraphConv`; attention ``(..., n_incidences, heads)`` in the order of ``H.vertex`` and
        ``H.hyperedge``.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> out, attention = HypergraphAttention(16, 8, heads=4)(torch.rand(4, 16), H, return_attention=True)
        >>> out.shape, attention.shape
        (torch.Size([4, 32]), torch.Size([5, 4]))
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        normalization: Normalization = "row",
        softmax_over: SoftmaxOver = "hyperedges",
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        bias: bool = True,
        skip: bool = False,
        hyperedge_features: int | None = None,
        direction: Direction = "forward",
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
            direction=direction,
        )
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_choice("softmax_over", softmax_over, SOFTMAX_OVER)
        self.normalization = normalization
        self.softmax_over = softmax_over
        self.hyperedge_projection = None
        if hyperedge_features is not None:
            check_size("hyperedge_features", hyperedge_features, minimum=1)
            self.hyperedge_projection = nn.Parameter(
                torch.empty(hyperedge_features, self.n_ways * heads * out_features)
            )
        self.a_vertex = self._score_vector()
        self.a_hyperedge = self._score_vector()
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        super().reset_parameters(generator)
        if self.hyperedge_projection is not None:
            glorot(self.hyperedge_projection, self.hyperedge_projection.shape[0], self.out_features, generator)
        self._reset_score_vectors(self.a_vertex, self.a_hyperedge, generator=generator)

    @overload
    def forward(
        self,
        x: Features,
        H: TwoSided | tuple[TwoSided, TwoSided],
        x_hyperedge: Tensor | None = None,
        return_attention: Literal[False] = False,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Features,
        H: TwoSided | tuple[TwoSided, TwoSided],
        x_hyperedge: Tensor | None = None,
        *,
        return_attention: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self,
        x: Features,
        H: TwoSided | tuple[TwoSided, TwoSided],
        x_hyperedge: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Convolve ``x`` over ``H``, a hypergraph, a block of one or a pair of blocks, with a learned incidence.

        Args:
            x: Features of the vertices.
            H: The hypergraph.
            x_hyperedge: Features of the hyperedges; by default those of the centroid, else the mean of the members.
            return_attention: Whether to return the learned incidence of the senders as well; not for both directions.
        """
        if return_attention and self.n_ways > 1:
            raise ValueError("return_attention needs one direction; make the layer with direction='forward'.")
        attended = self._attended(x, H, x_hyperedge)
        out = self._with_bias(self._joined(attended, x, H))
        return (out, attended[0][1]) if return_attention else out

    def _linear(
        self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided], x_hyperedge: Tensor | None = None
    ) -> Tensor:
        return self._joined(self._attended(x, H, x_hyperedge), x, H)

    def _joined(
        self, attended: list[tuple[Tensor, Tensor]], x: Features, H: TwoSided | tuple[TwoSided, TwoSided]
    ) -> Tensor:
        """The directions side by side, heads aggregated."""
        outs = [out for out, _ in attended]
        rows = (H[0] if isinstance(H, tuple) else H).rows
        return self._aggregated(outs[0] if len(outs) == 1 else torch.cat(outs, -1), x, rows)

    def _attended(
        self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided], x_hyperedge: Tensor | None
    ) -> list[tuple[Tensor, Tensor]]:
        """Of each direction, the heads side by side and the attended incidence, ``(..., n_incidences, heads)``."""
        structures = self._ways(H)
        self._check(x, structures[0].n_vertices, structures[0].device)
        return [self._attended_way(x, one, x_hyperedge, number) for number, one in enumerate(structures)]

    def _attended_way(self, x: Features, H: TwoSided, x_hyperedge: Tensor | None, way: int) -> tuple[Tensor, Tensor]:
        if isinstance(H, Block):
            self._check_block(H)
        projected = self._project(x, way)  # x P  (..., N, heads, F')
        of_hyperedges = self._project_hyperedges(x_hyperedge, H, way)  # u P  (..., M, heads, F')
        vectors = (self._of_way(self.a_vertex, way, -2), self._of_way(self.a_hyperedge, way, -2))
        scored = (projected, of_hyperedges, H, *vectors)
        if self.softmax_over == "vertices" and self.normalization == "row":
            out, incidence = self._by_shares(projected, *attention_scores(*scored), H)
            return out.flatten(-2), incidence
        out, incidence = attended_conv(
            *scored,
            normalization=self.normalization,
            softmax_over=self.softmax_over,
            negative_slope=self.negative_slope,
            dropped=self._drop(projected, of=H),
            drop=self._drop,
        )
        return out.flatten(-2), incidence

    def _by_shares(
        self, projected: Tensor, vertex_score: Tensor, hyperedge_score: Tensor, H: TwoSided
    ) -> tuple[Tensor, Tensor]:
        """``T x P`` and the attended incidence, by shares: degrees over the vertices may round to 0."""
        incidence = attend_over_vertices(vertex_score, hyperedge_score, H, H.senders, self.negative_slope)
        pairs = H.senders if H.shares_pairs else H.receivers
        if not H.shares_pairs and H.rows is not None:
            vertex_score = vertex_score.index_select(-2, H.rows)
        scored = (vertex_score, hyperedge_score, pairs, H.weight, self.negative_slope, H.parts)
        shares = shares_over_vertices(*scored)  # D^-1 H W
        propagated = self._drop(projected, of=H)
        drawn = self._drop(torch.ones_like(incidence), of=H.senders)  # of both factors H, the same entries
        if not H.shares_pairs:
            shares = self._drop(shares, of=pairs)
            return transition_by_shares(propagated, H, incidence * drawn, shares), incidence
        return transition_by_shares(propagated, H, incidence * drawn, shares * drawn), incidence

    def _check_block(self, block: Block) -> None:
        if self.softmax_over == "hyperedges":
            return
        if not block.shares_pairs:
            raise ValueError(
                "new vertices, and blocks of a directed hypergraph, need softmax_over='hyperedges': over the vertices, "
                "each row would depend on vertices that the block does not make."
            )
        if self.normalization == "symmetric":
            raise ValueError(
                "a block needs softmax_over='hyperedges' or normalization='row': it does not hold all members of the "
                "hyperedges that the degrees of its senders are sums over."
            )

    def _project_hyperedges(self, x_hyperedge: Tensor | None, H: TwoSided, way: int) -> Tensor | None:
        """Given hyperedge features in the space of the projected vertices, ``(..., M, heads, F')``."""
        own = self.projection if self.hyperedge_projection is None else self.hyperedge_projection
        projection = self._of_way(own, way, -1)
        if x_hyperedge is None:
            if self.hyperedge_projection is not None:
                raise ValueError(
                    f"x_hyperedge must be given, {projection.shape[-2]} features per hyperedge, because the layer was "
                    "made with hyperedge_features."
                )
            return None
        check_features(
            x_hyperedge, H.n_hyperedges, H.device, name="x_hyperedge", rows="hyperedge", width=projection.shape[-2]
        )
        self._check_parameters("x_hyperedge", x_hyperedge)
        return self._by_head(self._projected(x_hyperedge, projection))

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        text = f"{super().extra_repr()}, normalization={self.normalization!r}, softmax_over={self.softmax_over!r}"
        if self.hyperedge_projection is not None:
            text += f", hyperedge_features={self.hyperedge_projection.shape[0]}"
        return text


class GraphAttention(AttentionLayer):
    """Graph attention, the paper's GAT*: softmax over the neighbours of each vertex and itself.

    Arguments as for :class:`HypergraphAttention`; the transition is the attention itself, so there is no choice of
    normalization.

    Example:
        >>> from hypergnn import Graph
        >>> graph = Graph.from_links([0, 1], [1, 2], n_vertices=3)
        >>> GraphAttention(16, 8, heads=2)(torch.rand(3, 16), graph).shape
        torch.Size([3, 16])
    """

    structures = ("graph",)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int = 1,
        aggregate: Aggregate = "concat",
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
        self.a_target = self._score_vector()
        self.a_source = self._score_vector()
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        super().reset_parameters(generator)
        self._reset_score_vectors(self.a_target, self.a_source, generator=generator)

    @overload
    def forward(self, x: Features, graph: Graph | GraphBlock, return_attention: Literal[False] = False) -> Tensor: ...

    @overload
    def forward(
        self, x: Features, graph: Graph | GraphBlock, return_attention: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self, x: Features, graph: Graph | GraphBlock, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend over the links of ``graph``; optionally return the attention, ``(..., n_directed_links, heads)``."""
        linear, attention = self._attended(x, graph)
        out = self._with_bias(linear)
        return (out, attention) if return_attention else out

    def _linear(self, x: Features, graph: Graph | GraphBlock) -> Tensor:
        return self._attended(x, graph)[0]

    def _attended(self, x: Features, graph: Graph | GraphBlock) -> tuple[Tensor, Tensor]:
        """The output without the bias, and the attention."""
        check_graph(graph)
        self._check(x, graph.n_vertices, graph.device)
        projected = self._project(x)  # (..., N, heads, F')
        attention = functional.attention_links(
            projected, graph, self.a_target, self.a_source, negative_slope=self.negative_slope
        )
        dropped = self._drop(projected, of=graph)
        out = functional.graph_attention(dropped, graph, self._drop(attention, of=graph.links))
        return self._aggregated(out.flatten(-2), x, graph.rows), attention
