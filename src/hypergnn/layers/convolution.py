"""Layers whose transition is fixed by the structure: hypergraph convolution, GCN*, their mean, and none at all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn._utils.checks import check_choice
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization, activated_conv, check_hypergraph
from hypergnn.functional.pairwise import check_graph
from hypergnn.functional.projection import Features, project
from hypergnn.layers.base import Aggregate, Finish, Layer
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph


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

    Shapes:
        ``x`` ``(..., N, in_features)``, dense or sparse CSR → ``(..., N, heads * out_features)`` or, with ``"mean"``,
        ``(..., N, out_features)``.

    Example:
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
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.normalization = normalization
        self.weight_score = nn.Parameter(torch.empty(in_features, 1)) if learn_weight else None
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters; learned weights start at the weights of the hypergraph."""
        super().reset_parameters(generator)
        if self.weight_score is not None:
            nn.init.zeros_(self.weight_score)

    def hyperedge_weight(self, x: Features, H: Hypergraph) -> Tensor | None:
        """The learned weights, ``(..., M)``, for these features; ``None`` without ``learn_weight``."""
        if self.weight_score is None:
            return None
        score = functional.hyperedge_features(project(x, self.weight_score), H).squeeze(-1)  # u_e·θ  (..., M)
        return H.weight.to(score.dtype) * (5 * (score / 5).tanh()).exp()

    def propagate(self, x: Features, H: Hypergraph) -> Tensor:
        """``T X``."""
        return functional.hypergraph_conv(x, H, normalization=self.normalization, weight=self.hyperedge_weight(x, H))

    def forward(
        self, x: Features, H: Hypergraph, *, finish: Finish = "bias", propagated: Tensor | None = None
    ) -> Tensor:
        """Convolve ``x`` over ``H``; only project where ``propagated``, which is ``T X``, is known."""
        check_hypergraph(H)
        self._check(x, H.n_vertices, H.device)
        is_plain = self.weight_score is None and self.aggregate == "concat" and not self.skip
        if propagated is not None:
            out = project(propagated, self.projection)
        elif finish == "elu" and is_plain:
            return activated_conv(x, H, self.normalization, self.projection, self.bias)
        else:
            weight = self.hyperedge_weight(x, H)
            out = functional.hypergraph_conv(
                x, H, normalization=self.normalization, projection=self.projection, weight=weight
            )
        return self._finish(out, x, finish)

    def read(
        self, x: Features, H: Hypergraph, x_new: Features, readers: Hypergraph, *, finish: Finish = "bias"
    ) -> Tensor:
        """What new rows get that read the hyperedges of ``H``: see :func:`~hypergnn.functional.hypergraph_read`."""
        self._check(x, H.n_vertices, H.device)
        self._check(x_new, readers.n_vertices, readers.device)
        projected = project(x, self.projection)  # X P  (..., N, heads * F')
        weight = self.hyperedge_weight(x, H)
        out = functional.hypergraph_read(projected, H, readers, normalization=self.normalization, weight=weight)
        return self._finish(out, x_new, finish)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        learns = self.weight_score is not None
        return f"{super().extra_repr()}, normalization={self.normalization!r}, learn_weight={learns}"


class GraphConv(Layer):
    """Graph convolution with the renormalisation trick, the paper's GCN*: ``X' = D̃^-1/2 (A + I) D̃^-1/2 X P``.

    Arguments as for :class:`HypergraphConv`.

    Example:
        >>> graph = Graph.from_links([0, 1], [1, 2], n_vertices=3)
        >>> GraphConv(16, 8)(torch.rand(3, 16), graph).shape
        torch.Size([3, 8])
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
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.normalization = normalization
        self.reset_parameters()

    def propagate(self, x: Features, graph: Graph | SharedGraph) -> Tensor:
        """``T X``."""
        return functional.graph_conv(x, graph, normalization=self.normalization)

    def forward(
        self, x: Features, graph: Graph | SharedGraph, *, finish: Finish = "bias", propagated: Tensor | None = None
    ) -> Tensor:
        """Convolve ``x`` over ``graph``; only project where ``propagated``, which is ``T X``, is known."""
        check_graph(graph, may_be_shared=True)
        self._check(x, graph.n_vertices, graph.device)
        if propagated is not None:
            out = project(propagated, self.projection)
        else:
            out = functional.graph_conv(x, graph, normalization=self.normalization, projection=self.projection)
        return self._finish(out, x, finish)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, normalization={self.normalization!r}"


class MeanConv(Layer):
    """Mean of a graph's and a hypergraph's transition with one projection: ``X' = (T_graph + T_hypergraph)/2 X P``.

    Arguments as for :class:`HypergraphConv`.

    Example:
        >>> graph, H = Graph.from_links([0], [1], n_vertices=3), Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
        >>> MeanConv(16, 8)(torch.rand(3, 16), graph, H).shape
        torch.Size([3, 8])
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
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.normalization = normalization
        self.reset_parameters()

    def propagate(self, x: Features, graph: Graph | SharedGraph, H: Hypergraph) -> Tensor:
        """``T X``."""
        return functional.mean_conv(x, graph, H, normalization=self.normalization)

    def forward(
        self,
        x: Features,
        graph: Graph | SharedGraph,
        H: Hypergraph,
        *,
        finish: Finish = "bias",
        propagated: Tensor | None = None,
    ) -> Tensor:
        """Convolve ``x`` over ``graph`` and ``H`` at once; only project where ``propagated``, ``T X``, is known."""
        check_graph(graph, may_be_shared=True)
        self._check(x, graph.n_vertices, graph.device)
        if propagated is not None:
            out = project(propagated, self.projection)
        else:
            out = functional.mean_conv(x, graph, H, normalization=self.normalization, projection=self.projection)
        return self._finish(out, x, finish)

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

    def forward(self, x: Features, *, finish: Finish = "bias") -> Tensor:
        """Project ``x``."""
        return self._finish(project(x, self.projection), x, finish)
