"""The networks of the paper: layers of one kind, each with dropout before it and ELU after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from hypergnn.functional.projection import Features, n_entries
from hypergnn.kernels.dropout import activate, dropout
from hypergnn.layers import Layer
from hypergnn.models.catalogue import KINDS
from hypergnn.models.config import Config
from hypergnn.structures.block import Field, Structures
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.structures.sparse_features import SparseFeatures


class Network(nn.Module):
    """A network of layers of one kind: all but the last with several heads, the last with a score per class.

    Hooks on its layers see ELU of what these compute, but where dropout follows in the same step: there, the bare sums.

    Args:
        config: What it is made of.
        n_features: Features of each vertex.
        n_classes: Number of scores.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> Network(Config(), n_features=5, n_classes=3)(torch.rand(4, 5), hypergraph=H).shape
        torch.Size([4, 3])
    """

    def __init__(self, config: Config, n_features: int, n_classes: int) -> None:
        """Create and draw the parameters."""
        super().__init__()
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

    def propagate(self, x: Features, **structures: Structures) -> Tensor | None:
        """``T X`` of the first layer, where nothing of ``T`` is learned and it pays to know the product.

        It pays if it has no more entries than ``X`` and ``T`` have together, as with dense features it always does, and
        if another layer follows: the last is computed for some vertices only.
        """
        kind = KINDS[self.config.model]
        given = [structures[name] for name in kind.structures]
        if (
            self.config.depth == 1
            or kind.has_attention
            or not given
            or x.shape.numel() > n_entries(x) + sum(one.n_terms for one in given)
        ):
            return None
        first = cast(Any, self.layers[0])
        with torch.no_grad():
            return cast(Tensor, first.propagate(x, *given))

    def forward(
        self,
        x: Features,
        graph: Graph | SharedGraph | None = None,
        hypergraph: Hypergraph | None = None,
        *,
        propagated: Tensor | None = None,
        fields: Sequence[Field] | None = None,
    ) -> Tensor:
        """Scores of the classes, ``(..., N, n_classes)``; structures that the kind does not take may be omitted.

        Args:
            x: Features.
            graph: The graph.
            hypergraph: The hypergraph.
            propagated: What :meth:`propagate` gives for ``x``, if that is known; of no use while features are dropped.
            fields: What each layer reads and makes, where only some scores are wanted; ``x`` are then the features of
                what the first reads.
        """
        wanted = KINDS[self.config.model].structures
        given = {"graph": graph, "hypergraph": hypergraph}
        for name in wanted:
            if given[name] is None:
                raise ValueError(f"a {name} must be given to the model {self.config.model!r}; got none.")
        if self.training and self.config.dropout > 0:
            propagated = None
        if propagated is not None and propagated.shape[-2] != x.shape[-2]:
            raise ValueError(f"propagated must have the {x.shape[-2]} rows of x; got {propagated.shape[-2]}.")
        seen = [Field(cast(Any, given), None, None)] * len(self.layers) if fields is None else fields
        x = self._drop(x, seen[0].read)
        for number, layer in enumerate(cast(list[Layer], list(self.layers))):
            known = {} if propagated is None else {"propagated": propagated}
            structures = [seen[number].structures[name] for name in wanted]
            is_last, rows = number + 1 == len(seen), seen[number].wanted
            rate, places = (0.0, None) if is_last or not self.training else (self.config.dropout, seen[number + 1].read)
            if rate == 0 and rows is None:
                x = layer(x, *structures, finish="elu", **known)
            else:
                x = activate(layer(x, *structures, finish="bare", **known), layer.bias, rate, places, rows)
            propagated = None
        return cast(Tensor, x)

    def hidden(self, x: Features, *, hypergraph: Hypergraph) -> Tensor | SparseFeatures:
        """What the last layer gets, without dropout, of a network that takes a hypergraph or nothing."""
        for layer in self.layers[:-1]:
            x = self._layer(layer, x, hypergraph)
        return x

    def read(
        self, x: Features, hypergraph: Hypergraph, x_new: Features, readers: Hypergraph, *, hidden: bool = False
    ) -> Tensor | SparseFeatures:
        """Scores of new rows that read the hyperedges of the hypergraph, ``(rows, n_classes)``, without dropout.

        Args:
            x: Features of the vertices.
            hypergraph: The hypergraph.
            x_new: Features of the new rows.
            readers: The new rows as vertices, with the same hyperedges: see
                :func:`~hypergnn.functional.hypergraph_read`.
            hidden: Whether to stop before the last layer.
        """
        for layer in self.layers[:-1] if hidden else self.layers:
            if KINDS[self.config.model].structures:
                x_new = cast(Any, layer).read(x, hypergraph, x_new, readers, finish="elu")
                x = x if layer is self.layers[-1] else self._layer(layer, x, hypergraph)
            else:
                x_new = self._layer(layer, x_new, hypergraph)
        return x_new

    def _layer(self, layer: nn.Module, x: Features, hypergraph: Hypergraph) -> Tensor:
        structures = [hypergraph] if KINDS[self.config.model].structures else []
        return cast(Tensor, layer(x, *structures, finish="elu"))

    def _drop(self, x: Features, places: Tensor | None) -> Features:
        if not self.training:
            return x
        if isinstance(x, SparseFeatures):
            return x.dropped(self.config.dropout)
        if x.layout == torch.sparse_csr:
            values = dropout(x.values(), self.config.dropout)
            return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)
        return dropout(x, self.config.dropout, places)
