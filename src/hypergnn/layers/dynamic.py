r"""Hypergraph convolution over hyperedges that follow the features.

    T = D^-1/2 H W B^-1 Hᵀ D^-1/2        H: the given hyperedges, nearest neighbours and clusters of the rows of X

The members are chosen by the rows that the layer gets. Gradients flow through the features, as always, and not through
the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from hypergnn import functional
from hypergnn._utils.checks import check_choice, check_size
from hypergnn.functional.checks import Features
from hypergnn.functional.convolution import NORMALIZATIONS, Normalization
from hypergnn.functional.projection import project
from hypergnn.layers.base import Aggregate, Layer
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.sparse_features import SparseFeatures, uncompiled


@dataclass(frozen=True)
class Followed:
    """Hypergraphs with the hyperedges that follow some features: one for all trials, or one for each."""

    each: tuple[Hypergraph, ...]

    @property
    def n_receivers(self) -> int:
        """Number of vertices."""
        return self.each[0].n_vertices

    def of_trials(self, numbers: Sequence[int]) -> Followed:
        """Those of some trials."""
        if len(self.each) == 1:
            return self
        each = tuple(self.each[one] for one in numbers)
        return Followed(each)


class DynamicHypergraphConv(Layer):
    """Hypergraph convolution whose hyperedges are those given and others that follow its input.

    Every vertex gets a hyperedge with its nearest neighbours among the rows of ``x``, by cosine, and every cluster of
    rows is a hyperedge. Both have the weight 1.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        neighbours: Nearest neighbours in the hyperedge around each vertex; 0 for none of these hyperedges.
        clusters: Number of clusters; the square root of the number of vertices if omitted, 0 for none.
        heads: Number of projections side by side.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        normalization: As in :class:`HypergraphConv`.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.

    Shapes:
        ``x`` ``(trials or none, N, in_features)`` → as :class:`HypergraphConv`.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> DynamicHypergraphConv(16, 8, neighbours=1)(torch.rand(4, 16), H).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        neighbours: int = 10,
        clusters: int | None = None,
        heads: int = 1,
        aggregate: Aggregate = "concat",
        normalization: Normalization = "symmetric",
        bias: bool = True,
        skip: bool = False,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, aggregate=aggregate, bias=bias, skip=skip)
        check_choice("normalization", normalization, NORMALIZATIONS)
        self.neighbours = check_size("neighbours", neighbours)
        self.clusters = None if clusters is None else check_size("clusters", clusters)
        self.normalization = normalization
        self.reset_parameters()

    @uncompiled
    def follow(self, x: Features, H: Hypergraph) -> Followed:
        """The given hyperedges and those that follow ``x``, for each trial, to be used in place of ``H``.

        Pass the result as ``H`` to use the same hyperedges in several calls.
        """
        if not isinstance(H, Hypergraph):
            raise TypeError(
                f"H must be a whole Hypergraph, because its hyperedges depend on all vertices; got {type(H).__name__}. "
                "Use undirected() of a directed one; new vertices and blocks need another layer."
            )
        follow = partial(functional.following, H=H, neighbours=self.neighbours, clusters=self.clusters)
        if isinstance(x, SparseFeatures):
            x = replace(x, keys=None)  # dropout does not change whom a vertex is near to
        if isinstance(x, SparseFeatures) or x.dim() == 2:
            return Followed((follow(x),))
        if x.dim() != 3:
            raise ValueError(f"x must have shape (trials or none, N, features); got {tuple(x.shape)}.")
        return Followed(tuple(map(follow, x)))

    def forward(self, x: Features, H: Hypergraph | Followed) -> Tensor:
        """Convolve ``x`` over ``H`` and the hyperedges that follow ``x``."""
        return self._with_bias(self._linear(x, H))

    def _linear(self, x: Features, H: Hypergraph | Followed) -> Tensor:
        followed = H if isinstance(H, Followed) else self.follow(x, H)
        structures = followed.each
        self._check(x, structures[0].n_vertices, structures[0].device)
        projected = project(x, self.projection)
        if len(structures) == 1:
            out = functional.hypergraph_conv(projected, structures[0], normalization=self.normalization)
            return self._aggregated(out, x)
        if projected.dim() != 3 or projected.shape[0] != len(structures):
            raise ValueError(f"x must have {len(structures)} trials, as its hyperedges; got {tuple(projected.shape)}.")
        outs = [
            functional.hypergraph_conv(one, own, normalization=self.normalization)
            for one, own in zip(projected, structures, strict=True)
        ]
        return self._aggregated(torch.stack(outs), x)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        return f"{super().extra_repr()}, neighbours={self.neighbours}, clusters={self.clusters}"
