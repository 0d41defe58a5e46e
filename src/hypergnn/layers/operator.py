r"""The base class of your own operators: one method for the way to the hyperedges, one for the way back.

    m_e = to_hyperedges of x_j P        x_i' = to_vertices of m_e

Both are a mean until a subclass overrides them, with the steps of :mod:`hypergnn.functional`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hypergnn import functional
from hypergnn.functional.checks import Features
from hypergnn.layers.base import Aggregate, Layer, glorot
from hypergnn.structures.base import Direction, TwoSided

_SHARED = ("projection", "bias", "skip_projection")


class Operator(Layer):
    """Base class of layers of your own over the fast kernels.

    Override :meth:`to_hyperedges`, :meth:`to_vertices` or both. Features come projected, ``(..., rows, heads, F')``;
    heads, bias, skip connection, blocks, leading axes and checks of the shapes are taken care of.

    A subclass with parameters of its own creates them in ``__init__`` and calls ``reset_parameters()`` last. Matrices
    are drawn by Glorot's rule and vectors start at 0; override ``reset_parameters`` for anything else. Parts with
    parameters must be layers of this package, such as :class:`Dense`, which can train many trials together.

    Args:
        in_features: Features per vertex.
        out_features: Features per vertex and head in the output.
        heads: Number of projections side by side.
        aggregate: ``"concat"`` the heads or take their ``"mean"``.
        bias: Add a learned bias.
        skip: Add the input to the output, through a projection only where their widths differ.
        direction: As in :class:`HypergraphConv`. Parameters of your own serve both ways.

    Shapes:
        As :class:`HypergraphConv`.

    Example:
        >>> from hypergnn import Hypergraph
        >>> class Largest(Operator):
        ...     def to_vertices(self, messages, x, H):
        ...         return functional.to_vertices(messages, H, reduce="max")
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> Largest(16, 8, heads=2)(torch.rand(4, 16), H).shape
        torch.Size([4, 16])
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
        """Create and draw the shared parameters; a subclass that adds its own then calls ``reset_parameters``."""
        super().__init__(
            in_features,
            out_features,
            heads=heads,
            aggregate=aggregate,
            bias=bias,
            skip=skip,
            direction=direction,
        )
        if type(self).__init__ is Operator.__init__:
            self.reset_parameters()
        else:  # whose own parameters do not exist yet
            super().reset_parameters()

    def to_hyperedges(self, x: Tensor, H: TwoSided) -> Tensor:
        """The message of each hyperedge, ``(..., M, heads, F')``; the mean of its members if not overridden.

        Args:
            x: Projected features of the vertices that send, ``(..., N, heads, F')``.
            H: The hypergraph, or a block of one.
        """
        return functional.to_hyperedges(x, H, reduce="mean")

    def to_vertices(self, messages: Tensor, x: Tensor, H: TwoSided) -> Tensor:  # noqa: ARG002
        """The output of each vertex, ``(..., receivers, heads, F')``; the weighted mean of its hyperedges by default.

        Args:
            messages: What :meth:`to_hyperedges` returned.
            x: Projected features of the vertices that receive, ``(..., receivers, heads, F')``.
            H: The hypergraph, or a block of one.
        """
        return functional.to_vertices(messages, H, reduce="mean")

    def forward(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        """Apply the operator to ``x`` over ``H``, a hypergraph, a block of one, or a pair of blocks for both ways."""
        return self._with_bias(self._linear(x, H))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters: Glorot-uniform for matrices, zero for vectors."""
        super().reset_parameters(generator)
        for name, parameter in self.named_parameters(recurse=False):
            if name in _SHARED:
                continue
            if parameter.dim() < 2:
                nn.init.zeros_(parameter)
            else:
                glorot(parameter, parameter.shape[-2], parameter.shape[-1], generator)
        for name, part in self.named_children():
            if isinstance(part, Layer):
                part.reset_parameters(generator)
            elif next(part.parameters(), None) is not None:
                raise TypeError(
                    f"{name} of {type(self).__name__} must be a layer of hypergnn, because trials are trained together "
                    f"along a leading axis of the parameters; got {type(part).__name__}. Use hypergnn.layers.Dense, or "
                    "parameters of your own with hypergnn.functional.project."
                )

    def _linear(self, x: Features, H: TwoSided | tuple[TwoSided, TwoSided]) -> Tensor:
        structures = self._ways(H)
        self._check(x, structures[0].n_vertices, structures[0].device)
        outs = [self._of_one_way(x, one, number) for number, one in enumerate(structures)]
        return self._aggregated(outs[0] if len(outs) == 1 else torch.cat(outs, -1), x, structures[0].rows)

    def _of_one_way(self, x: Features, H: TwoSided, way: int) -> Tensor:
        projected = self._by_head(self._projected(x, self._of_way(self.projection, way, -1)))  # (..., N, heads, F')
        messages = self.to_hyperedges(projected, H)
        self._check_result("to_hyperedges", messages, H.n_hyperedges, "hyperedge", projected)
        out = self.to_vertices(messages, functional.of_receivers(projected, H), H)
        self._check_result("to_vertices", out, H.n_receivers, "vertex that receives", projected)
        return out.flatten(-2)

    def _check_result(self, method: str, result: object, n_rows: int, row: str, projected: Tensor) -> None:
        """Raise unless a method has returned a row per hyperedge or receiver, with the heads and features given."""
        shape = (*projected.shape[:-3], n_rows, *projected.shape[-2:])
        if isinstance(result, Tensor) and tuple(result.shape) == shape and result.dtype == projected.dtype:
            return
        got = f"{tuple(result.shape)} {result.dtype}" if isinstance(result, Tensor) else type(result).__name__
        raise ValueError(
            f"{type(self).__name__}.{method} must return {shape} {projected.dtype}, a row per {row}, then heads and "
            f"features; got {got}."
        )
