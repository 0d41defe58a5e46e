"""The layer of MoNet on hypergraphs: its projections and Gaussian kernels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hypergnn._utils.checks import check_choice, check_size
from hypergnn.functional.checks import Features
from hypergnn.functional.monet import monet_conv
from hypergnn.layers.base import Aggregate, Layer
from hypergnn.structures.base import Direction, TwoSided


class HypergraphMoNet(Layer):
    """`MoNet <https://arxiv.org/abs/1611.08402>`_ with incidences in place of links.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        kernels: Number of Gaussian kernels.
        dimensions: Number of pseudo-coordinates of each incidence; 2 if they come from the degrees.
        heads: Number of outputs side by side, each with kernels of its own.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        normalization: ``"row"`` divides by the degree of the vertex, ``"none"`` does not.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.
        direction: As in :class:`HypergraphConv`.

    Shapes:
        ``x`` as :class:`HypergraphConv`; pseudo-coordinates ``(n_incidences, dimensions)`` in the order of
        ``H.receivers``.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> HypergraphMoNet(16, 8, kernels=3)(torch.rand(4, 16), H).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        kernels: int = 3,
        dimensions: int = 2,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        normalization: str = "row",
        bias: bool = True,
        skip: bool = False,
        direction: Direction = "forward",
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(
            in_features,
            out_features,
            heads=check_size("heads", heads, minimum=1),
            aggregate=aggregate,
            bias=bias,
            skip=skip,
            direction=direction,
        )
        check_choice("normalization", normalization, ("row", "none"))
        self.normalization = normalization
        self.kernels = check_size("kernels", kernels, minimum=1)
        self.dimensions = check_size("dimensions", dimensions, minimum=1)
        n_kernels = self.n_ways * heads * kernels
        self.projection = nn.Parameter(torch.empty(in_features, n_kernels * out_features))
        self.mean = nn.Parameter(torch.empty(n_kernels, dimensions))
        self.spread = nn.Parameter(torch.empty(n_kernels, dimensions))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters; the kernels start within the range of coordinates that come from degrees."""
        super().reset_parameters(generator)
        nn.init.uniform_(self.mean, 0, 1, generator=generator)
        nn.init.ones_(self.spread)

    def forward(
        self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided], coordinates: Tensor | None = None
    ) -> Tensor:
        """Convolve ``x`` over ``H``, a hypergraph or a block of one.

        Args:
            x: Features of the vertices.
            H: The hypergraph.
            coordinates: Pseudo-coordinates of each incidence of the receivers; by default the inverse square roots of
                the number of hyperedges of the vertex and of the number of vertices of the hyperedge.
        """
        return self._with_bias(self._linear(x, H, coordinates))

    def _linear(
        self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided], coordinates: Tensor | None = None
    ) -> Tensor:
        structures = self._ways(H)
        self._check(x, structures[0].n_vertices, structures[0].device)
        if coordinates is not None and len(structures) > 1:
            raise ValueError("coordinates need one direction; make the layer with direction='forward'.")
        outs = [self._of_one_way(x, one, number, coordinates) for number, one in enumerate(structures)]
        return self._aggregated(outs[0] if len(outs) == 1 else torch.cat(outs, -1), x, structures[0].rows)

    def _of_one_way(self, x: Features, H: TwoSided, way: int, given: Tensor | None) -> Tensor:
        projected = self._projected(x, self._of_way(self.projection, way, -1))
        mean, spread = (self._of_way(one, way, -2) for one in (self.mean, self.spread))
        by_kernel = projected.reshape(
            *projected.shape[:-1], mean.shape[-2], self.out_features
        )  # (..., N, heads * kernels, F')
        u = None if given is None else self._checked(given, H, projected.dtype)
        out = monet_conv(by_kernel, H, mean, spread, coordinates=u, normalization=self.normalization)
        by_head = out.reshape(*out.shape[:-2], self.heads, self.kernels, self.out_features).sum(-2)
        return by_head.flatten(-2)  # (..., receivers, heads * F')

    def _checked(self, coordinates: Tensor, H: TwoSided, dtype: torch.dtype) -> Tensor:
        shape = (H.receivers.n_pairs, self.dimensions)
        if coordinates.shape != shape or coordinates.dtype != dtype:
            raise ValueError(
                f"coordinates must have shape {shape}, one row per incidence, and dtype {dtype}; got "
                f"{tuple(coordinates.shape)} and {coordinates.dtype}."
            )
        return coordinates

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, kernels={self.kernels}, dimensions={self.dimensions}"
