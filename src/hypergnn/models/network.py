"""The networks of the paper: layers of one kind, each with dropout before it and ELU after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from hypergnn.functional.checks import Features, check_features
from hypergnn.functional.mutual_information import DIMENSIONS, cached_co_occurrence
from hypergnn.functional.pairwise import AnyGraph
from hypergnn.functional.projection import drop, project
from hypergnn.kernels.dropout import activate, dropout
from hypergnn.layers import DynamicHypergraphConv, Layer
from hypergnn.models import own_layers, random_propagation, residual
from hypergnn.models.batch_norm import BatchNorm
from hypergnn.models.catalogue import KINDS
from hypergnn.models.config import Config
from hypergnn.models.pair_norm import pair_norm
from hypergnn.models.requirements import check_structures
from hypergnn.structures.base import TwoSided
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.frequency import weighted_by_inverse_frequency
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.sparse_features import uncompiled

Step = tuple[Any, ...]
"""The structures that one layer takes."""
OWN_LAYERS = {kind.layer for kind in KINDS.values()}  # others, subclasses among them, are called as modules


class Network(nn.Module):
    """A network of layers of one kind: all but the last with several heads, the last with a score per class.

    Args:
        config: What it is made of.
        n_features: Features of each vertex.
        n_classes: Number of scores.
        linear_output: Whether the last layer has no ELU after it, as a regression needs it.
        layers: Any layers in place of those that ``config`` names, which then only gives the dropout and the weights of
            the hyperedges. The sizes may be omitted where the layers know them.

    Raises:
        ValueError: If ``config`` has settings that given layers leave without effect.

    Example:
        >>> from hypergnn import Hypergraph, HypergraphConv
        >>> from hypergnn.layers import Dense
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> Network(Config(), n_features=5, n_classes=3)(torch.rand(4, 5), hypergraph=H).shape
        torch.Size([4, 3])
        >>> network = Network(Config(dropout=0.5), layers=[Dense(5, 8), HypergraphConv(8, 8), HypergraphConv(8, 3)])
        >>> network(torch.rand(4, 5), hypergraph=H).shape
        torch.Size([4, 3])
    """

    def __init__(
        self,
        config: Config,
        n_features: int | None = None,
        n_classes: int | None = None,
        *,
        linear_output: bool = False,
        layers: Sequence[nn.Module] | None = None,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__()
        self.linear_output = linear_output
        self.config = config
        self.is_named = layers is None
        """Whether ``config`` names its layers, so that a file can hold it."""
        self.ends, self.norms = nn.ModuleDict(), nn.ModuleList()
        n_features, n_classes = own_layers.sizes(layers, n_features, n_classes)
        self.n_features = n_features
        self.n_classes = n_classes
        if layers is not None:
            own_layers.check_settings(config)
        kind = KINDS[config.model]
        given = layers if layers is not None or kind.layers is None else own_layers.made(config, n_features, n_classes)
        self.has_own_layers = given is not None
        if given is not None:
            self.layers = nn.ModuleList(own_layers.checked(given))
            taken = [own_layers.structures_of(layer) for layer in self.layers]
            self.structures = own_layers.all_of(taken, None if layers is not None else kind.structures)
            self.is_uniform = all(one == self.structures for one in taken)
            return
        self.structures, self.is_uniform = kind.structures, True
        options: dict[str, Any] = {"dropout": config.attention_dropout} if kind.has_attention else {}
        if kind.has_direction:
            options["direction"] = config.direction
        if config.weights == "learned":
            options["learn_weight"] = True
        if config.hyperedge_features == "co-occurrence":
            options["hyperedge_features"] = DIMENSIONS
        if config.pool != "mean":
            options["pool"] = config.pool
        if config.is_random:
            self.layers = nn.ModuleList(random_propagation.dense_layers(config, n_features, n_classes))
            self.norms = nn.ModuleList(random_propagation.norms(config, n_features))
            return
        if config.is_residual:
            self.layers, self.ends = residual.build(config, n_features, n_classes, options)
            return
        n_ways = 2 if config.direction == "both" else 1
        widths = [n_features, *[n_ways * config.hidden * config.heads] * (config.depth - 1)]
        hidden = [
            kind.layer(width, config.hidden, heads=config.heads, skip=config.skip, **options) for width in widths[:-1]
        ]
        if n_ways > 1:
            options["aggregate"] = "mean"  # a score per class, whatever the number of directions
        self.layers = nn.ModuleList([*hidden, kind.layer(widths[-1], n_classes, **options)])

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new parameters."""
        for layer in (*self.layers, *self.ends.values()):
            cast(Layer, layer).reset_parameters(generator)
        for norm in self.norms:
            cast(BatchNorm, norm).reset_parameters()

    def decays(self) -> dict[str, float]:
        """The L2 penalty of each parameter by name: between the dense ends of a deep network it is another.

        Example:
            >>> deep = Config(residual="initial", depth=1, weight_decay=0.001, layer_decay=0.02)
            >>> decays = Network(deep, n_features=5, n_classes=3).decays()
            >>> decays["ends.first.projection"], decays["layers.0.projection"]
            (0.001, 0.02)
        """
        config = self.config
        own = config.layer_decay if config.is_residual else config.weight_decay
        at_ends = {id(parameter) for parameter in self.ends.parameters()}
        return {
            name: config.weight_decay if id(parameter) in at_ends else own
            for name, parameter in self.named_parameters()
        }

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
        return network.eval()

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
        check_features(x, None, None)
        return self._scores(x, self._steps({"graph": graph, "hypergraph": hypergraph}, self.n_steps))

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
        if self._form is not None:
            steps = self._steps({"graph": graph, "hypergraph": hypergraph}, self.n_steps)
            return cast(Tensor, self._form.scores(self, x, steps, hidden=True))
        if len(self.layers) == 1:
            return x
        steps = self._steps({"graph": graph, "hypergraph": hypergraph}, len(self.layers) - 1)
        return self._scores(x, steps)

    def weighted(self, H: Any) -> Any:
        """A structure with the weights that the configuration gives the hyperedges: make blocks and loaders of it.

        Called with a hypergraph, the network uses them by itself.

        Args:
            H: A hypergraph, which gets the weights; blocks, which must have them; or a graph, which has none.

        Raises:
            ValueError: If blocks are those of a hypergraph with other weights.

        Example:
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0], [0, 1, 2]], n_vertices=3)
            >>> Network(Config(weights="inverse-frequency"), n_features=5, n_classes=3).weighted(H).weight
            tensor([1.3863, 0.2877], dtype=torch.float64)
        """
        if self.config.weights != "inverse-frequency":
            return H
        if isinstance(H, (list, tuple)):
            return [self.weighted(one) for one in H]
        if not isinstance(H, TwoSided) or H.has_inverse_frequency:
            return H
        if isinstance(H, (Hypergraph, DirectedHypergraph)):
            return _by_inverse_frequency(H)
        raise ValueError(
            f"hypergraph must have the weights of Config(weights='inverse-frequency'); got a {type(H).__name__} of a "
            "hypergraph with others. Make it of network.weighted(H)."
        )

    @property
    def _form(self) -> ModuleType | None:
        """What computes the scores if it is not layer after layer."""
        if self.has_own_layers:
            return None
        if self.config.is_random:
            return random_propagation
        return residual if self.config.is_residual else None

    @property
    def n_steps(self) -> int:
        """How many transitions follow each other: the number of blocks that the network takes."""
        return len(self.layers) if self._form is None else self.config.n_steps

    def _steps(self, given: Mapping[str, Any], n_layers: int) -> list[Step]:
        """The structures of each layer."""
        check_structures(self.config.model, given, needed=self.structures)
        by_structure = []
        for name in self.structures:
            one = given[name]
            if isinstance(one, Tensor):
                raise TypeError(
                    f"{name} must be a structure or a list of its blocks; got a tensor. Make one of it first."
                )
            blocks = list(one) if isinstance(one, (list, tuple)) else [self.weighted(one)] * n_layers
            if len(blocks) not in (n_layers, self.n_steps):
                raise ValueError(f"{name} must have {n_layers} blocks, one per layer; got {len(blocks)}.")
            _check_chain(name, blocks)
            self.weighted(blocks)
            by_structure.append(blocks[:n_layers])
            if self.config.hyperedge_features == "co-occurrence" and not self.has_own_layers:
                dtype = next(self.parameters()).dtype
                by_structure.append([cached_co_occurrence(block).to(dtype) for block in blocks[:n_layers]])
        return list(zip(*by_structure, strict=True)) if by_structure else [()] * n_layers

    def _scores(self, x: Features, steps: Sequence[Step], known: Tensor | None = None) -> Tensor:
        """The output of as many layers as there are steps.

        Args:
            x: Features of the vertices that the first step reads.
            steps: The structures of each layer.
            known: ``T X`` of the first layer, if that is known; ``x`` are then the rows that the first step makes. With
                random propagation, the mean of the powers.
        """
        if self._form is not None:
            return cast(Tensor, self._form.scores(self, x, steps, **({} if known is None else {"known": known})))
        rate = self.config.dropout if self.training else 0.0
        x = drop(x, self.config.first_dropout if self.training else 0.0, of=steps[0])
        for number, (layer, structures) in enumerate(zip(self.layers, steps, strict=False)):
            is_last = number + 1 == len(steps)
            next_rate, next_rows = (0.0, None) if is_last else (rate, steps[number + 1])
            if len(structures) > 0 and not self.is_uniform:
                x, structures = own_layers.given_to(layer, x, dict(zip(self.structures, structures, strict=True)))
            if self.linear_output and number + 1 == len(self.layers):
                x = own_layers.called(number, layer, x, structures)
            elif number == 0 and known is not None:
                own = cast(Layer, layer)
                linear = own._aggregated(project(known, own.projection), x)
                x = activate(linear, own.bias, next_rate, of=next_rows)
            elif self.config.norm == "pair" and not self.has_own_layers and number + 1 < len(self.layers):
                x = activate(pair_norm(layer(x, *structures)), None, next_rate, of=next_rows)
            elif type(layer) not in OWN_LAYERS or own_layers.has_hooks(layer):
                x = dropout(elu(own_layers.called(number, layer, x, structures)), next_rate, of=next_rows)
            elif next_rate == 0:
                x = cast(Layer, layer)._activated(x, *structures)
            else:
                own = cast(Layer, layer)
                x = activate(own._linear(x, *structures), own.bias, next_rate, of=next_rows)
        return cast(Tensor, x)


def draws(network: Network, x: Features, steps: Sequence[Step], known: Tensor | None) -> list[Tensor]:
    """The scores of each draw of a training step: one, except in random propagation."""
    if network._form is random_propagation:
        return random_propagation.draws(network, x, steps, known)
    return [network._scores(x, steps, known)]


def followed(network: Network, x: Features, steps: Sequence[Step]) -> list[Step]:
    """The steps with hyperedges that follow what each layer gets, in place of those that are given.

    Args:
        network: A network in evaluation mode.
        x: Features of all vertices.
        steps: The given structures of each layer.
    """
    found: list[Step] = []
    with torch.no_grad():
        for layer, structures in zip(network.layers, steps, strict=True):
            own = cast(DynamicHypergraphConv, layer)
            found.append((own.follow(x, *structures),))
            x = own._activated(x, *found[-1])
    return found


@uncompiled
def _by_inverse_frequency(H: Any) -> Any:
    return H.derived("inverse frequency", lambda: weighted_by_inverse_frequency(H))


def _check_chain(name: str, blocks: Sequence[Any]) -> None:
    """Raise unless each block reads the vertices that the one before it makes."""
    if torch.compiler.is_compiling():
        return
    for number, (first, second) in enumerate(pairwise(map(own_layers.one_way, blocks))):
        if first is second or not (hasattr(first, "made") and hasattr(second, "read")):
            continue
        if not torch.equal(first.made, second.read):
            raise ValueError(
                f"block {number + 1} of {name} must read the vertices that block {number} makes, in that order: make "
                "the last one first, then the one before it with around(block.read)."
            )
