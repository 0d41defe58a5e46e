"""The networks of the paper: layers of one kind, each with dropout before it and ELU after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import elu
from torch.nn.modules import module

from hypergnn.functional.checks import Features
from hypergnn.functional.pairwise import AnyGraph
from hypergnn.functional.projection import drop, project
from hypergnn.kernels.dropout import activate, dropout
from hypergnn.layers import Layer
from hypergnn.models.catalogue import KINDS
from hypergnn.models.config import Config
from hypergnn.models.requirements import check_structures
from hypergnn.structures.base import TwoSided

Step = tuple[Any, ...]
"""The structures that one layer takes."""
_OWN_LAYERS = {kind.layer for kind in KINDS.values()}  # others, subclasses among them, are called as modules


class Network(nn.Module):
    """A network of layers of one kind: all but the last with several heads, the last with a score per class.

    Args:
        config: What it is made of.
        n_features: Features of each vertex.
        n_classes: Number of scores.
        linear_output: Whether the last layer has no ELU after it, as a regression needs it.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> Network(Config(), n_features=5, n_classes=3)(torch.rand(4, 5), hypergraph=H).shape
        torch.Size([4, 3])
    """

    def __init__(self, config: Config, n_features: int, n_classes: int, *, linear_output: bool = False) -> None:
        """Create and draw the parameters."""
        super().__init__()
        self.linear_output = linear_output
        self.config = config
        self.n_features = n_features
        self.n_classes = n_classes
        kind = KINDS[config.model]
        options = {"dropout": config.attention_dropout} if kind.has_attention else {}
        widths = [n_features, *[config.hidden * config.heads] * (config.depth - 1)]
        hidden = [
            kind.layer(width, config.hidden, heads=config.heads, skip=config.skip, **options) for width in widths[:-1]
        ]
        self.layers = nn.ModuleList([*hidden, kind.layer(widths[-1], n_classes, **options)])

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        for layer in self.layers:
            cast(Layer, layer).reset_parameters(generator)

    @classmethod
    def empty(cls, config: Config, n_features: int, n_classes: int, *, linear_output: bool = False) -> Network:
        """A network whose parameters are yet to be given; it draws no random numbers.

        Example:
            >>> Network.empty(Config(), n_features=5, n_classes=3).layers[0].projection.device
            device(type='meta')
        """
        with torch.device("meta"):
            return cls(config, n_features, n_classes, linear_output=linear_output)

    @classmethod
    def from_parameters(
        cls,
        config: Config,
        n_features: int,
        n_classes: int,
        parameters: Mapping[str, Tensor],
        *,
        linear_output: bool = False,
    ) -> Network:
        """A network with given parameters, in evaluation mode."""
        network = cls.empty(config, n_features, n_classes, linear_output=linear_output)
        network.load_state_dict(dict(parameters), assign=True)
        return network.requires_grad_().eval()

    def forward(
        self,
        x: Features,
        graph: AnyGraph | Sequence[AnyGraph] | None = None,
        hypergraph: TwoSided | Sequence[TwoSided] | None = None,
    ) -> Tensor:
        """Scores of the classes, ``(..., N, n_classes)``.

        Args:
            x: Features of the vertices, or of those that the first block reads.
            graph: The graph, or a list of blocks, one per layer; may be omitted if the network takes none.
            hypergraph: The hypergraph, or a list of blocks, one per layer; may be omitted if the network takes none.
        """
        return self._scores(x, self._steps({"graph": graph, "hypergraph": hypergraph}, len(self.layers)))

    def hidden(
        self,
        x: Features,
        graph: AnyGraph | Sequence[AnyGraph] | None = None,
        hypergraph: TwoSided | Sequence[TwoSided] | None = None,
    ) -> Features:
        """What the last layer gets: the features after all layers but the last; arguments as for ``forward``.

        A list of blocks may leave out the last one.

        Example:
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
            >>> Network(Config(), n_features=5, n_classes=3).hidden(torch.rand(4, 5), hypergraph=H).shape
            torch.Size([4, 64])
        """
        if len(self.layers) == 1:
            return x
        steps = self._steps({"graph": graph, "hypergraph": hypergraph}, len(self.layers) - 1)
        return self._scores(x, steps)

    def _steps(self, given: Mapping[str, Any], n_layers: int) -> list[Step]:
        """The structures of each layer."""
        check_structures(self.config.model, given)
        by_structure = []
        for name in KINDS[self.config.model].structures:
            one = given[name]
            blocks = list(one) if isinstance(one, (list, tuple)) else [one] * n_layers
            if len(blocks) not in (n_layers, len(self.layers)):
                raise ValueError(f"{name} must have {n_layers} blocks, one per layer; got {len(blocks)}.")
            _check_chain(name, blocks)
            by_structure.append(blocks[:n_layers])
        return list(zip(*by_structure, strict=True)) if by_structure else [()] * n_layers

    def _scores(self, x: Features, steps: Sequence[Step], known: Tensor | None = None) -> Tensor:
        """The output of as many layers as there are steps.

        Args:
            x: Features of the vertices that the first step reads.
            steps: The structures of each layer.
            known: ``T X`` of the first layer, if that is known; ``x`` are then the rows that the first step makes.
        """
        rate = self.config.dropout if self.training else 0.0
        x = drop(x, rate, of=steps[0])
        for number, (layer, structures) in enumerate(zip(self.layers, steps, strict=False)):
            is_last = number + 1 == len(steps)
            next_rate, next_rows = (0.0, None) if is_last else (rate, steps[number + 1])
            if self.linear_output and number + 1 == len(self.layers):
                x = layer(x, *structures)
            elif number == 0 and known is not None:
                own = cast(Layer, layer)
                linear = own._aggregated(project(known, own.projection), x)
                x = activate(linear, own.bias, next_rate, of=next_rows)
            elif type(layer) not in _OWN_LAYERS or _has_hooks(layer):
                x = dropout(elu(layer(x, *structures)), next_rate, of=next_rows)
            elif next_rate == 0:
                x = cast(Layer, layer)._activated(x, *structures)
            else:
                own = cast(Layer, layer)
                x = activate(own._linear(x, *structures), own.bias, next_rate, of=next_rows)
        return cast(Tensor, x)


def _check_chain(name: str, blocks: Sequence[Any]) -> None:
    """Raise unless each block reads the vertices that the one before it makes."""
    if torch.compiler.is_compiling():
        return
    for number, (first, second) in enumerate(pairwise(blocks)):
        if first is second or not (hasattr(first, "made") and hasattr(second, "read")):
            continue
        if not torch.equal(first.made, second.read):
            raise ValueError(
                f"block {number + 1} of {name} must read the vertices that block {number} makes, in that order: make "
                "the last one first, then the one before it with around(block.read)."
            )


def _has_hooks(layer: nn.Module) -> bool:
    """Whether somebody wants to see what the layer gets or returns: then it is called as a module."""
    return bool(
        layer._forward_hooks
        or layer._forward_pre_hooks
        or layer._backward_hooks
        or layer._backward_pre_hooks
        or module._global_forward_hooks
        or module._global_forward_pre_hooks
        or module._global_backward_hooks
        or module._global_backward_pre_hooks
    )
