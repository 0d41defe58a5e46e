"""Layers whose transition is fixed by the structure: hypergraph convolution, GCN*, and none at all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn._utils.checks import check_choice, check_flag
from hypergnn.functional.checks import Features, check_graph
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization, activated_conv
from hypergnn.functional.pairwise import AnyGraph
from hypergnn.functional.projection import project
from hypergnn.layers.base import Aggregate, Layer
from hypergnn.structures.base import Direction, TwoSided


class HypergraphConv(Layer):
    """Hypergraph convolution of `Bai, Zhang and Torr <https://arxiv.org/abs/1901.08150>`_.

    ``X' = D^-1/2 H W B^-1 Hᵀ D^-1/2 X P`` (``"symmetric"``), ``D^-1 H W B^-1 Hᵀ X P`` (``"row"``) or ``H W Hᵀ X P``
    (``"none"``).

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        heads: Number of projections side by side.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        normalization: Which transition.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.
        learn_weight: Multiply each hyperedge's weight by ``exp(u_e·θ)``, softly bounded to ``exp(±5)``, where ``u_e``
            are the features of its centroid or the mean of its members, and ``θ`` starts at 0: positive, trained by
            gradient descent, and defined for hyperedges never seen in training.
        direction: In a directed hypergraph, follow hyperedges ``"forward"`` from tails to heads, ``"backward"``, or
            ``"both"`` ways, each with a projection of its own, or as if they were ``"undirected"``. The results of
            both ways are aggregated as the heads are.

    Shapes:
        ``x`` ``(..., N, in_features)``, dense or sparse CSR → ``(..., N, heads * out_features)`` or, with ``"mean"``,
        ``(..., N, out_features)``; concatenated, both directions have twice as many features.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> HypergraphConv(16, 8, heads=4)(torch.rand(4, 16), H).shape
        torch.Size([4, 32])
    """

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
        learn_weight: bool = False,
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
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_flag("learn_weight", learn_weight)
        self.normalization = normalization
        self.weight_score = nn.Parameter(torch.empty(in_features, 1)) if learn_weight else None
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters; learned weights start at the weights of the hypergraph."""
        super().reset_parameters(generator)
        if self.weight_score is not None:
            nn.init.zeros_(self.weight_score)

    def hyperedge_weight(self, x: Features, H: TwoSided) -> Tensor | None:
        """The learned weights, ``(..., M)``, for these features; ``None`` without ``learn_weight``."""
        if self.weight_score is None:
            return None
        score = functional.hyperedge_features(project(x, self.weight_score), H).squeeze(-1)  # u_e·θ  (..., M)
        score = score.to(self.weight_score.dtype)  # whatever autocast has multiplied in
        return H.weight.to(score.dtype) * (5 * (score / 5).tanh()).exp()

    def forward(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        """Convolve ``x`` over ``H``, a hypergraph, a block of one, or a pair of blocks for both directions."""
        return self._with_bias(self._linear(x, H))

    def _linear(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        structures = self._ways(H, reads=False)
        self._check(x, structures[0].n_vertices, structures[0].device)
        outs = [
            self._propagate(x, one, projection=self._of_way(self._mapping(), number, -1))
            for number, one in enumerate(structures)
        ]
        return self._aggregated(outs[0] if len(outs) == 1 else torch.cat(outs, -1), x, structures[0].rows)

    def _activated(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        has_more = self.weight_score is not None or self.aggregate != "concat" or self.skip or self.n_ways > 1
        if has_more or self._identity is not None or len(x.shape) > 3:
            return super()._activated(x, H)
        (structure,) = self._ways(H)
        self._check(x, structure.n_vertices, structure.device)
        return activated_conv(x, structure, self.normalization, self.projection, self.bias)

    def _propagate(self, x: Features, H: TwoSided, projection: Tensor | None = None) -> Tensor:
        """``T X`` or ``T X P``."""
        weight = self.hyperedge_weight(x, H)
        return functional.hypergraph_conv(x, H, normalization=self.normalization, projection=projection, weight=weight)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        learns = self.weight_score is not None
        return f"{super().extra_repr()}, normalization={self.normalization!r}, learn_weight={learns}"


class GraphConv(Layer):
    """Graph convolution with the renormalisation trick, the paper's GCN*: ``X' = D̃^-1/2 (A + I) D̃^-1/2 X P``.

    Arguments as for :class:`HypergraphConv`.

    Example:
        >>> from hypergnn import Graph
        >>> graph = Graph.from_links([0, 1], [1, 2], n_vertices=3)
        >>> GraphConv(16, 8)(torch.rand(3, 16), graph).shape
        torch.Size([3, 8])
    """

    structures = ("graph",)

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

    def forward(self, x: Features, graph: AnyGraph) -> Tensor:
        """Convolve ``x`` over ``graph``, or over a block of one."""
        return self._with_bias(self._linear(x, graph))

    def _linear(self, x: Features, graph: AnyGraph) -> Tensor:
        check_graph(graph, may_be_shared=True)
        self._check(x, graph.n_vertices, graph.device)
        return self._aggregated(self._propagate(x, graph, projection=self._mapping()), x, graph.rows)

    def _propagate(self, x: Features, graph: AnyGraph, projection: Tensor | None = None) -> Tensor:
        """``T X`` or ``T X P``."""
        return functional.graph_conv(x, graph, normalization=self.normalization, projection=projection)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, normalization={self.normalization!r}"


class Dense(Layer):
    """No transition: each vertex by itself, ``X' = X P``, as in a multilayer perceptron.

    Arguments as for :class:`HypergraphConv`.

    Example:
        >>> Dense(16, 8, heads=2)(torch.rand(3, 16)).shape
        torch.Size([3, 16])
    """

    structures = ()

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        bias: bool = True,
        skip: bool = False,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        self.reset_parameters()

    def forward(self, x: Features) -> Tensor:
        """Project ``x``."""
        return self._with_bias(self._linear(x))

    def _linear(self, x: Features) -> Tensor:
        self._check(x)
        return self._aggregated(project(x, self.projection), x)
