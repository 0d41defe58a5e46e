"""What all layers share: a projection per head, the aggregation of heads, a bias and a skip connection."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from hypergnn._utils.checks import check_choice, check_flag, check_size
from hypergnn.functional.checks import Features, check_features, check_hypergraph
from hypergnn.functional.projection import project, to_dense
from hypergnn.kernels.dropout import activate
from hypergnn.structures.base import DIRECTIONS, Direction, TwoSided, ways

Aggregate = Literal["concat", "mean"]


class Layer(nn.Module):
    """A transition around one projection: ``X' = T X P``, plus a skip connection and a bias.

    A subclass computes :meth:`_linear`; ``forward`` adds the bias to it. A network adds bias, activation and dropout in
    one step instead, so both compute the same.
    """

    structures: ClassVar[tuple[str, ...]] = ("hypergraph",)
    """Which structures ``forward`` takes after ``x``, of ``"graph"`` and ``"hypergraph"``, in this order."""
    _identity: float | None = None  # the share of the identity in the projection, in deep networks

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        heads: int,
        aggregate: Aggregate,
        bias: bool,
        skip: bool,
        direction: Direction = "forward",
    ) -> None:
        """Create the shared parameters; a subclass adds its own and then calls ``reset_parameters``."""
        super().__init__()
        check_choice("aggregate", aggregate, ("concat", "mean"))
        check_flag("bias", bias)
        check_flag("skip", skip)
        self.in_features = check_size("in_features", in_features, minimum=1)
        self.out_features = check_size("out_features", out_features, minimum=1)
        self.heads = check_size("heads", heads, minimum=1)
        self.aggregate = aggregate
        self.skip = skip
        check_choice("direction", direction, DIRECTIONS)
        self.direction = direction
        self.n_ways = 2 if direction == "both" else 1
        width = self.width
        self.projection = nn.Parameter(torch.empty(in_features, self.n_ways * heads * out_features))
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self.skip_projection = nn.Parameter(torch.empty(in_features, width)) if skip and in_features != width else None

    @property
    def width(self) -> int:
        """Number of output features: of all heads and directions together, or of their mean."""
        return self.n_ways * self.heads * self.out_features if self.aggregate == "concat" else self.out_features

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters: Glorot-uniform for each head, zero for the bias."""
        glorot(self.projection, self.in_features, self.out_features, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.skip_projection is not None:
            glorot(self.skip_projection, self.in_features, self.width, generator)

    def extra_repr(self) -> str:
        """Sizes and options, as ``print(layer)`` shows them."""
        text = f"{self.in_features}, {self.out_features}, heads={self.heads}, aggregate={self.aggregate!r}"
        text = f"{text}, bias={self.bias is not None}, skip={self.skip}"
        return text if self.direction == "forward" else f"{text}, direction={self.direction!r}"

    def _linear(self, x: Features, *structures: Any) -> Tensor:
        """The output without the bias, ``(..., N, width)``: ``T X P``, heads aggregated, plus the skip connection."""
        raise NotImplementedError

    def _activated(self, x: Features, *structures: Any) -> Tensor:
        """ELU of the output."""
        return activate(self._linear(x, *structures), self.bias, rate=0.0)

    def _with_bias(self, linear: Tensor) -> Tensor:
        return linear if self.bias is None else linear + self.bias.unsqueeze(-2)

    def _ways(self, H: TwoSided | tuple[TwoSided, TwoSided], *, reads: bool = True) -> tuple[TwoSided, ...]:
        """The structures that the layer propagates over: one, or one for each direction.

        Without ``reads``, their content is checked later.
        """
        for one in H if isinstance(H, tuple) else (H,):
            check_hypergraph(one, reads=reads)
        return ways(H, self.direction)

    def _projected(self, x: Features, projection: Tensor) -> Tensor:
        """``x P`` in the dtype of the parameters, even under autocast."""
        return project(x, projection).to(self.projection.dtype)

    def _mapping(self) -> Tensor:
        """The projection; with an identity mapping, its mean with the identity."""
        if self._identity is None:
            return self.projection
        identity = torch.eye(self.in_features, dtype=self.projection.dtype, device=self.projection.device)
        return torch.lerp(self.projection, identity, self._identity)

    def _of_way(self, parameter: Tensor, number: int, dim: int) -> Tensor:
        """The part of a parameter that belongs to one direction."""
        return parameter if self.n_ways == 1 else parameter.chunk(self.n_ways, dim)[number]

    def _aggregated(self, out: Tensor, x: Features, rows: Tensor | None = None) -> Tensor:
        """Aggregate the heads of ``out``, ``(..., N, heads * F')``, and add the skip connection of rows of ``x``.

        The result has the dtype of the parameters, even under autocast.
        """
        out = out.to(self.projection.dtype)
        if self.aggregate == "mean":
            out = out.reshape(*out.shape[:-1], self.n_ways * self.heads, self.out_features).mean(-2)  # (..., N, width)
        return out + self._skipped(x, rows) if self.skip else out

    def _skipped(self, x: Features, rows: Tensor | None = None) -> Tensor:
        """The skip connection of rows of ``x``, ``(..., rows, width)``."""
        skipped = to_dense(x) if self.skip_projection is None else project(x, self.skip_projection)
        return skipped if rows is None else skipped.index_select(-2, rows)

    def _by_head(self, out: Tensor) -> Tensor:
        return out.reshape(*out.shape[:-1], self.heads, self.out_features)  # (..., N, heads, F')

    def _check(self, x: Features, n_vertices: int | None = None, device: torch.device | None = None) -> None:
        check_features(x, n_vertices, device, width=self.in_features)
        self._check_parameters("x", x)

    def _check_parameters(self, name: str, x: Features) -> None:
        own = self.projection
        if x.dtype != own.dtype:
            raise TypeError(
                f"{name} must have the dtype of the layer, {own.dtype}; got {x.dtype}. Convert one with .to()."
            )
        if x.device != own.device:
            raise ValueError(
                f"{name} must be on the device of the layer, {own.device}; got {x.device}. Move one with .to()."
            )


def glorot(parameter: Tensor, fan_in: int, fan_out: int, generator: torch.Generator | None) -> None:
    """Draw a parameter from Glorot's uniform distribution."""
    bound = (6 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(parameter, -bound, bound, generator=generator)
