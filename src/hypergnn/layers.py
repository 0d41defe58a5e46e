"""The paper's operators with parameters: thin modules over :mod:`hypergnn.functional`.

Each computes ``Aggregate_k(T_k X P_k) + b``, plus ``X`` itself with a skip connection. Activation and dropout of the
input are the model's. Parameters may carry a leading axis of trials, as ``torch.func.functional_call`` gives them.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn.checks import check_choice, check_features, check_size
from hypergnn.functional import NORMALIZATIONS, SOFTMAX_OVER, Features, Normalization, SoftmaxOver, project
from hypergnn.graph import Graph
from hypergnn.hypergraph import Hypergraph
from hypergnn.randomness import dropout

Aggregate = Literal["concat", "mean"]


class Layer(nn.Module):
    """What the layers share: a projection per head, the aggregation of heads, a bias and a skip connection."""

    def __init__(
        self, in_features: int, out_features: int, *, heads: int, aggregate: Aggregate, bias: bool, skip: bool
    ) -> None:
        """Create the shared parameters; a subclass adds its own and then calls ``reset_parameters``."""
        super().__init__()
        check_choice("aggregate", aggregate, ("concat", "mean"))
        self.in_features = check_size("in_features", in_features, minimum=1)
        self.out_features = check_size("out_features", out_features, minimum=1)
        self.heads = check_size("heads", heads, minimum=1)
        self.aggregate = aggregate
        self.skip = skip
        width = self.width
        self.projection = nn.Parameter(torch.empty(in_features, heads * out_features))
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self.skip_projection = nn.Parameter(torch.empty(in_features, width)) if skip and in_features != width else None

    @property
    def width(self) -> int:
        """Number of output features: of all heads together, or of their mean."""
        return self.heads * self.out_features if self.aggregate == "concat" else self.out_features

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters: Glorot-uniform for each head, zero for the bias."""
        _glorot(self.projection, self.in_features, self.out_features, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.skip_projection is not None:
            _glorot(self.skip_projection, self.in_features, self.width, generator)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        text = f"{self.in_features}, {self.out_features}, heads={self.heads}, aggregate={self.aggregate!r}"
        return f"{text}, bias={self.bias is not None}, skip={self.skip}"

    def _check(self, x: Features, structure: Hypergraph | Graph) -> None:
        check_features(x, structure.n_vertices, structure.device, width=self.in_features)
        self._check_parameters("x", x)

    def _check_parameters(self, name: str, x: Features) -> None:
        own = self.projection
        if x.dtype != own.dtype:
            raise TypeError(
                f"{name} must have the dtype of the layer, {own.dtype}; got {x.dtype}. Convert one by .to()."
            )
        if x.device != own.device:
            raise ValueError(
                f"{name} must be on the device of the layer, {own.device}; got {x.device}. Move one by .to()."
            )

    def _by_head(self, out: Tensor) -> Tensor:
        return out.reshape(*out.shape[:-1], self.heads, self.out_features)  # (..., N, heads, F')

    def _finish(self, out: Tensor, x: Features) -> Tensor:
        """Aggregate the heads of ``out``, ``(..., N, heads, F')``, and add bias and skip connection."""
        out = out.flatten(-2) if self.aggregate == "concat" else out.mean(-2)  # (..., N, width)
        if self.bias is not None:
            out = out + self.bias.unsqueeze(-2)
        if self.skip_projection is not None:
            out = out + project(x, self.skip_projection)
        elif self.skip:
            out = out + functional.to_dense(x)
        return out


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

    def forward(self, x: Features, H: Hypergraph) -> Tensor:
        """Convolve ``x`` over ``H``."""
        self._check(x, H)
        weight = self.hyperedge_weight(x, H)
        out = functional.hypergraph_conv(
            x, H, normalization=self.normalization, projection=self.projection, weight=weight
        )
        return self._finish(self._by_head(out), x)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        learns = self.weight_score is not None
        return f"{super().extra_repr()}, normalization={self.normalization!r}, learn_weight={learns}"


class HypergraphAttention(Layer):
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

    Shapes:
        ``x`` ``(..., N, in_features)``, ``x_hyperedge`` ``(..., M, hyperedge_features or in_features)`` → as
        :class:`HypergraphConv`; attention ``(..., n_incidences, heads)`` in the order of ``H.vertex`` and
        ``H.hyperedge``.

    Example:
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
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_choice("softmax_over", softmax_over, SOFTMAX_OVER)
        self.normalization = normalization
        self.softmax_over = softmax_over
        self.negative_slope = negative_slope
        self.dropout = _check_rate(dropout)
        self.hyperedge_projection = None
        if hyperedge_features is not None:
            check_size("hyperedge_features", hyperedge_features, minimum=1)
            self.hyperedge_projection = nn.Parameter(torch.empty(hyperedge_features, heads * out_features))
        self.a_vertex = nn.Parameter(torch.empty(heads, out_features))
        self.a_hyperedge = nn.Parameter(torch.empty(heads, out_features))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        super().reset_parameters(generator)
        if self.hyperedge_projection is not None:
            _glorot(self.hyperedge_projection, self.hyperedge_projection.shape[0], self.out_features, generator)
        _glorot(self.a_vertex, 2 * self.out_features, 1, generator)
        _glorot(self.a_hyperedge, 2 * self.out_features, 1, generator)

    def forward(
        self, x: Features, H: Hypergraph, x_hyperedge: Tensor | None = None, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Convolve ``x`` over ``H`` with a learned incidence; optionally return that incidence too."""
        self._check(x, H)
        projected = self._by_head(project(x, self.projection))  # x P  (..., N, heads, F')
        incidence = functional.attention_incidence(
            projected,
            self._project_hyperedges(projected, x_hyperedge, H),
            H,
            self.a_vertex,
            self.a_hyperedge,
            softmax_over=self.softmax_over,
            negative_slope=self.negative_slope,
        )  # (..., n_incidences, heads)
        drops = self.training and self.dropout > 0
        out = functional.hypergraph_attention(
            dropout(projected, self.dropout) if drops else projected,
            H,
            incidence,
            normalization=self.normalization,
            mask=dropout(torch.ones_like(incidence), self.dropout) if drops else None,
        )
        out = self._finish(out, x)
        return (out, incidence) if return_attention else out

    def _project_hyperedges(self, projected: Tensor, x_hyperedge: Tensor | None, H: Hypergraph) -> Tensor:
        """Hyperedge features in the space of the projected vertices, ``(..., M, heads, F')``."""
        projection = self.projection if self.hyperedge_projection is None else self.hyperedge_projection
        if x_hyperedge is None:
            if self.hyperedge_projection is not None:
                raise ValueError(
                    f"x_hyperedge must be given, {projection.shape[-2]} features per hyperedge, because the layer was "
                    "made with hyperedge_features."
                )
            return self._by_head(functional.hyperedge_features(projected.flatten(-2), H))
        check_features(
            x_hyperedge, H.n_hyperedges, H.device, name="x_hyperedge", rows="hyperedge", width=projection.shape[-2]
        )
        self._check_parameters("x_hyperedge", x_hyperedge)
        return self._by_head(project(x_hyperedge, projection))

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        text = f"{super().extra_repr()}, normalization={self.normalization!r}, softmax_over={self.softmax_over!r}"
        if self.hyperedge_projection is not None:
            text += f", hyperedge_features={self.hyperedge_projection.shape[0]}"
        return f"{text}, negative_slope={self.negative_slope}, dropout={self.dropout}"


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

    def forward(self, x: Features, graph: Graph) -> Tensor:
        """Convolve ``x`` over ``graph``."""
        self._check(x, graph)
        out = functional.graph_conv(x, graph, normalization=self.normalization, projection=self.projection)
        return self._finish(self._by_head(out), x)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, normalization={self.normalization!r}"


class GraphAttention(Layer):
    """Graph attention, the paper's GAT*: softmax over the neighbours of each vertex and itself.

    Arguments as for :class:`HypergraphAttention`; the transition is the attention itself, so there is no choice of
    normalization.

    Example:
        >>> graph = Graph.from_links([0, 1], [1, 2], n_vertices=3)
        >>> GraphAttention(16, 8, heads=2)(torch.rand(3, 16), graph).shape
        torch.Size([3, 16])
    """

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
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        self.negative_slope = negative_slope
        self.dropout = _check_rate(dropout)
        self.a_target = nn.Parameter(torch.empty(heads, out_features))
        self.a_source = nn.Parameter(torch.empty(heads, out_features))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        super().reset_parameters(generator)
        _glorot(self.a_target, 2 * self.out_features, 1, generator)
        _glorot(self.a_source, 2 * self.out_features, 1, generator)

    def forward(self, x: Features, graph: Graph, return_attention: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Attend over the links of ``graph``; optionally return the attention, ``(..., n_directed_links, heads)``."""
        self._check(x, graph)
        projected = self._by_head(project(x, self.projection))  # (..., N, heads, F')
        attention = functional.attention_links(
            projected, graph, self.a_target, self.a_source, negative_slope=self.negative_slope
        )
        drops = self.training and self.dropout > 0
        out = functional.graph_attention(
            dropout(projected, self.dropout) if drops else projected,
            graph,
            dropout(attention, self.dropout) if drops else attention,
        )
        out = self._finish(out, x)
        return (out, attention) if return_attention else out

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, negative_slope={self.negative_slope}, dropout={self.dropout}"


def _glorot(parameter: Tensor, fan_in: int, fan_out: int, generator: torch.Generator | None) -> None:
    bound = (6 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(parameter, -bound, bound, generator=generator)


def _check_rate(rate: float) -> float:
    if not 0 <= rate < 1:
        raise ValueError(f"dropout must be a probability from 0 up to, but not including, 1; got {rate}.")
    return float(rate)
