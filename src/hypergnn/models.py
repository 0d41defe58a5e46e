"""The networks of the paper: layers of one kind, each with dropout before it and ELU after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from hypergnn import layers
from hypergnn.checks import check_choice, check_number, check_size
from hypergnn.features import SparseFeatures
from hypergnn.field import Field, Structures
from hypergnn.functional.projection import Features, n_entries
from hypergnn.graph import Graph
from hypergnn.hypergraph import Hypergraph
from hypergnn.layers import Layer
from hypergnn.randomness import activate, dropout
from hypergnn.shared_graph import SharedGraph


class Kind(NamedTuple):
    """A kind of network: its layer, and the structures that its layers take."""

    layer: Callable[..., Layer]
    structures: tuple[Literal["graph", "hypergraph"], ...]
    has_attention: bool = False


KINDS = {
    "hyper-conv": Kind(layers.HypergraphConv, ("hypergraph",)),
    "hyper-attention": Kind(layers.HypergraphAttention, ("hypergraph",), has_attention=True),
    "gcn": Kind(layers.GraphConv, ("graph",)),
    "gat": Kind(layers.GraphAttention, ("graph",), has_attention=True),
    "gcn+hyper-conv": Kind(layers.MeanConv, ("graph", "hypergraph")),
    "gat+hyper-attention": Kind(layers.MeanAttention, ("graph", "hypergraph"), has_attention=True),
    "mlp": Kind(layers.Dense, ()),
}
"""The networks by the names that the command line knows."""


@dataclass(frozen=True)
class Config:
    """All that decides what a trial gives, apart from its data and its seed. The defaults are the paper's, for Cora.

    Example:
        >>> Config(model="gat", hidden=16).changed()
        {'model': 'gat', 'hidden': 16}
    """

    model: str = "hyper-conv"
    """One of :data:`KINDS`."""
    hidden: int = 8
    """Features of each head in all layers but the last."""
    heads: int = 8
    """Heads of all layers but the last, concatenated; the last has one."""
    depth: int = 2
    """Number of layers."""
    skip: bool = False
    """Whether all layers but the last have a skip connection: with two layers, the first."""
    dropout: float = 0.6
    """Dropout of the input of each layer. How the paper's words on dropout are read: ``docs/paper_map.md``."""
    attention_dropout: float = 0.6
    """Dropout of the learned transition and of the features it propagates; without effect where nothing is learned."""
    feature_scaling: Literal["row", "none"] = "row"
    """Whether each vertex's features are divided by their sum."""
    learning_rate: float = 0.005
    weight_decay: float = 3e-4
    """The factor λ of the L2 penalty."""
    patience: int = 100
    """Epochs without a new lowest validation loss after which a trial ends."""
    max_epochs: int = 1000
    """Epochs after which a trial ends in any case; the paper names no such limit."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be."""
        check_choice("model", self.model, tuple(KINDS))
        check_choice("feature_scaling", self.feature_scaling, ("row", "none"))
        for name in ("hidden", "heads", "depth", "patience", "max_epochs"):
            check_size(name, getattr(self, name), minimum=1)
        for name in ("dropout", "attention_dropout"):
            check_number(name, getattr(self, name), below=1)
        if self.learning_rate <= 0 or self.weight_decay < 0:
            raise ValueError("learning_rate must be positive and weight_decay at least 0.")

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        default = Config()
        return {name: value for name, value in asdict(self).items() if value != getattr(default, name)}


_PAPER: dict[str, dict[str, Any]] = {
    "cora": {},
    "citeseer": {},
    "pubmed": {"learning_rate": 0.01, "weight_decay": 1e-3},
    "20news": {},
}
"""Where the paper's settings for a dataset differ from those for Cora."""


def paper_config(dataset: str, model: str = "hyper-conv") -> Config:
    """The paper's settings for a dataset; for data that is not in the paper, those for Cora.

    Example:
        >>> paper_config("pubmed").learning_rate
        0.01
    """
    return replace(Config(model=model), **_PAPER.get(dataset, {}))


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


def config_from(settings: dict[str, Any]) -> Config:
    """A configuration from what :func:`dataclasses.asdict` made of one, or raise if it has settings unknown here."""
    unknown = settings.keys() - {field.name for field in fields(Config)}
    if unknown:
        raise ValueError(f"unknown settings {', '.join(sorted(unknown))}: made by another version?")
    return Config(**settings)
