"""``explain``: run the model once, record the inputs of its layers, and split the score of the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from hypergnn._utils.checks import Names, find_named
from hypergnn.datasets import Dataset
from hypergnn.explanations.explanation import Attended, Explanation
from hypergnn.explanations.parts import EXPLAINED, Call, Part, Way, attention_of, parts_of, ways_of
from hypergnn.functional.checks import Features
from hypergnn.functional.mutual_information import cached_co_occurrence
from hypergnn.kernels import elu_dropout
from hypergnn.layers import Layer
from hypergnn.loader.receptive_field import Structure
from hypergnn.models import KINDS, Ensemble, Network, check_structures
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.block import Block
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.structures.sparse_features import SparseFeatures
from hypergnn.training.plan import Task
from hypergnn.training.prediction import in_order

_LABELS = {
    "skip": "its own features (skip connection)",
    "bias": "bias (the same for all)",
    "itself": "its own features",
}


def _kind_of(layer: Layer) -> str:
    """The kind of network that a layer belongs to, or raise for layers whose parts explain cannot tell."""
    if type(layer) not in EXPLAINED:
        known = ", ".join(kind.__name__ for kind in EXPLAINED)
        raise TypeError(f"explain supports only these layers: {known}; got {type(layer).__name__}.")
    return next(name for name, kind in KINDS.items() if type(layer) is kind.layer)


@dataclass(frozen=True)
class _Question:
    """A model with the inputs to explain."""

    model: Network | Layer
    x: Features
    structures: Mapping[str, Structure | Block]
    class_names: Sequence[str]
    x_hyperedge: Tensor | None

    @property
    def kind(self) -> str:
        """The kind of the network, or of the networks that use this layer."""
        kinds = [_kind_of(cast(Layer, one)) for one in self._layers]
        return kinds[0]

    @property
    def _layers(self) -> Sequence[Any]:
        return list(self.model.layers) if isinstance(self.model, Network) else [self.model]

    @property
    def takes(self) -> tuple[str, ...]:
        """The structures that the model takes."""
        return KINDS[self.kind].structures

    def names(self, what: str) -> Names | None:
        """The names of the vertices or hyperedges, if they have names."""
        return getattr(self.structures.get("hypergraph"), f"{what}_names", None)


def explain(
    model: SavedModel | Network | Layer,
    H: Dataset | Hypergraph | DirectedHypergraph | Block | None,
    vertex: Any,
    x: Any = None,
    graph: Graph | SharedGraph | None = None,
    *,
    target: str | int | None = None,
    x_hyperedge: Tensor | None = None,
) -> Explanation:
    """Explain why a model gives a vertex its class: the contribution of each hyperedge, link, skip connection and bias.

    The contributions add up to the logit, the score before the last ELU of the network, up to floating-point rounding.
    Attention is taken as given: the explanation does not follow how the features shaped it, nor how earlier layers
    computed the features that the last layer propagates.

    Args:
        model: A network, a model loaded with :func:`hypergnn.load`, or a single layer.
        H: A dataset, whose features are scaled and ordered as in training; or a hypergraph, directed or not, together
            with ``x``; or a block that makes all vertices that it reads, such as the first of ``joined_by(…,
            depth=2)``, for new vertices; or ``None``, for a model that takes only a graph.
        vertex: The name or number of the vertex.
        x: With a hypergraph, the features as the network takes them: a tensor, an array or a SciPy sparse matrix.
        graph: With a hypergraph, the graph, if the model takes one.
        target: The class to explain, by name or number; the predicted class if omitted.
        x_hyperedge: Features of the hyperedges, for a single attention layer that takes them.

    Raises:
        ValueError: If the vertex or class does not exist, or features or structures are missing or do not fit.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, hyperedge_names=["chess", "choir"])
        >>> layer = hg.HypergraphConv(1, 2, normalization="row")
        >>> with torch.no_grad():
        ...     _ = layer.projection.copy_(torch.tensor([[1.0, 2.0]]))
        >>> explain(layer, H, 1, x=torch.tensor([[1.0], [2.0], [6.0]]))
        vertex 1: class 1, score 5.5000
        + speaks for the class, - against it; the sum is the score of the class
        <BLANKLINE>
        because of               contribution
        choir                         +4.0000
        chess                         +1.5000
        bias (the same for all)       +0.0000
        sum                           +5.5000
    """
    asked = _question(model, H, x, graph, x_hyperedge)
    number = find_named("vertex", vertex, asked.names("vertex"), asked.x.shape[-2])
    with torch.no_grad(), _evaluating(asked.model):
        scores, calls = _run(asked)
        row = scores[number]  # (n_classes,)
        chosen, predicted = _find_class(target, asked.class_names, row), int(row.argmax())
        gives_classes = isinstance(asked.model, Network) and not asked.model.linear_output
        hidden = calls[-2].layer if len(calls) > 1 and calls[-2].layer.aggregate == "concat" else None
        parts = parts_of(calls[-1], number, chosen, 1 if hidden is None else hidden.n_ways * hidden.heads)
        bias = calls[-1].layer.bias
        logit = calls[-1].out[number, chosen] + (0.0 if bias is None else bias[chosen])
        attention = tuple(_attention(calls, number, asked))
        probabilities = row.softmax(-1).tolist() if gives_classes else None
    return Explanation(
        vertex=number,
        vertex_name=_name("vertex", number, asked),
        target=chosen,
        target_name=str(asked.class_names[chosen]),
        logit=float(logit),
        score=float(row[chosen]),
        activation="ELU" if gives_classes else None,
        probability=None if probabilities is None else probabilities[chosen],
        predicted=predicted,
        predicted_name=str(asked.class_names[predicted]),
        predicted_probability=None if probabilities is None else probabilities[predicted],
        parts=tuple(parts),
        names=tuple(_part_name(part, asked) for part in parts),
        labels=tuple(_label(part, asked) for part in parts),
        attention=attention,
    )


def _question(model: Any, H: Any, x: Any, graph: Graph | SharedGraph | None, x_hyperedge: Tensor | None) -> _Question:
    """Check and combine the arguments of ``explain``."""
    network = model.network if isinstance(model, SavedModel) else model
    if isinstance(network, Ensemble) or (isinstance(network, Network) and network._form is not None):
        raise TypeError(
            "model must be a single network of layers one after the other; explain cannot split the scores of an "
            "ensemble, of random propagation or of a network with an initial residual."
        )
    if not isinstance(network, (Network, Layer)):
        raise TypeError(
            f"model must be a network, a loaded model or a layer of hypergnn; got {type(model).__name__}. "
            "For a HypergraphClassifier, call its explain(row)."
        )
    if H is not None and not isinstance(H, (Dataset, Hypergraph, DirectedHypergraph, Block)):
        raise TypeError(f"H must be a Hypergraph, a DirectedHypergraph or a Dataset; got {type(H).__name__}.")
    if isinstance(H, Block) and H.rows is not None:
        raise ValueError("H must make all vertices that it reads; got a block that makes some of them.")
    if isinstance(H, Dataset):
        if x is not None or graph is not None:
            raise ValueError("x and graph must be omitted with a Dataset, which contains them.")
    elif x is None:
        raise ValueError("x must be given with a hypergraph, one row of features per vertex; or pass a Dataset.")
    like = next(network.parameters())
    features = _features_of(model, H, like) if isinstance(H, Dataset) else _as_features(x, like)
    own = (H.graph, H.hypergraph) if isinstance(H, Dataset) else (graph, H)
    structures = dict(zip(("graph", "hypergraph"), own, strict=True))
    given = {name: one.to(like.device) for name, one in structures.items() if one is not None}
    asked = _Question(network, features, given, _class_names(model, H), x_hyperedge)
    check_structures(asked.kind, given)
    return asked


def _class_names(model: Any, H: Any) -> tuple[str, ...]:
    if isinstance(model, SavedModel):
        return model.class_names
    n_classes = model.n_classes if isinstance(model, Network) else model.width
    if isinstance(H, Dataset) and H.n_classes == n_classes:
        return H.class_names
    return tuple(map(str, range(n_classes)))


def _features_of(model: Any, data: Dataset, like: Tensor) -> Features:
    """Features scaled and ordered as in training; unchanged for a single layer."""
    if isinstance(model, Layer):
        return _as_features(data.x, like)
    ordered, network = (in_order(data, model), model.network) if isinstance(model, SavedModel) else (data, model)
    return Task.of(ordered, network.config, like.device).x


def _as_features(x: Any, like: Tensor) -> Features:
    if isinstance(x, (Tensor, SparseFeatures)):
        return x
    if hasattr(x, "tocsr"):
        return SparseFeatures.from_scipy(x.tocsr(), like.dtype).to(like.device)
    return torch.as_tensor(np.asarray(x), dtype=like.dtype, device=like.device)


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Switch to evaluation mode, and restore the mode of every module afterwards."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


def _run(asked: _Question) -> tuple[Tensor, list[Call]]:
    """The scores, ``(N, n_classes)``, and the call of each layer."""
    given = tuple(asked.structures[name] for name in asked.takes)
    if isinstance(asked.model, Layer):
        own = {} if asked.x_hyperedge is None else {"x_hyperedge": asked.x_hyperedge}
        linear = asked.model._linear(asked.x, *given, **own)
        return asked.model._with_bias(linear), [Call(asked.model, asked.x, given, asked.x_hyperedge, linear)]
    return run_network(asked.model, asked.x, given)


def run_network(network: Network, x: Features, structures: Sequence[Structure | Block]) -> tuple[Tensor, list[Call]]:
    """The scores of a network without dropout, ``(N, n_classes)``, and the call of each layer.

    Args:
        network: The network.
        x: Features, scaled as in training.
        structures: The structures that its layers take.
    """
    if network.config.norm != "none" and not network.has_own_layers:
        raise ValueError(f"model must have no norm to be explained; got norm={network.config.norm!r}.")
    calls, of_hyperedges, structures = [], None, [network.weighted(one) for one in structures]
    if network.config.hyperedge_features == "co-occurrence":
        of_hyperedges = cached_co_occurrence(cast(Hypergraph, structures[-1])).to(x.dtype)
    given = (*structures, *([] if of_hyperedges is None else [of_hyperedges]))
    for layer in cast(list[Layer], list(network.layers)):
        linear = layer._linear(x, *given)
        calls.append(Call(layer, x, tuple(structures), of_hyperedges, linear))
        is_linear = network.linear_output and layer is network.layers[-1]
        x = layer._with_bias(linear) if is_linear else elu_dropout(linear, layer.bias)
    return cast(Tensor, x), calls


def _find_class(target: str | int | None, class_names: Sequence[str], scores: Tensor) -> int:
    if target is None:
        return int(scores.argmax())
    if target in class_names:
        return class_names.index(target)
    if isinstance(target, int) and 0 <= target < len(class_names):
        return target
    known = ", ".join(map(repr, class_names[:10]))
    raise ValueError(f"target must be a class, one of {known}, or its number; got {target!r}.")


def _attention(calls: Sequence[Call], vertex: int, asked: _Question) -> Iterator[Attended]:
    for number, call in enumerate(calls):
        for way in ways_of(call):
            found = _attended(call, way, vertex, asked)
            for head in range(call.layer.heads):
                for kind, one, row in sorted(found, key=lambda entry: -entry[2][head]):
                    name = _name("hyperedge" if kind == "hyperedge" else "vertex", one, asked)
                    yield Attended(number, head, kind, name, row[head], way.direction)


def _attended(call: Call, way: Way, vertex: int, asked: _Question) -> list[tuple[str, int, list[float]]]:
    """What the vertex attends to in one layer and direction: its kind, its number, and the attention of each head."""
    links, incidence, _ = attention_of(call, way)
    found: list[tuple[str, int, list[float]]] = []
    if incidence is not None and way.H is not None:
        found += [("hyperedge", *pair) for pair in _of_vertex(vertex, way.H.receivers, incidence)]
    if links is not None:
        graph: Any = asked.structures["graph"]
        pairs = _of_vertex(vertex, graph.links, links)
        found += [("itself" if end == vertex else "link", end, row) for end, row in pairs]
    return found


def _of_vertex(vertex: int, pairs: Incidence, attention: Tensor) -> Iterator[tuple[int, list[float]]]:
    """The other ends of a vertex's incidences or links, and the attention to each, head by head."""
    own = slice(*pairs.offsets[vertex : vertex + 2].tolist())
    return zip(pairs.members[own].tolist(), attention[own].tolist(), strict=True)


def _part_name(part: Part, asked: _Question) -> Any:
    if part.number is None:
        return part.kind
    return _name("hyperedge" if part.kind == "hyperedge" else "vertex", part.number, asked)


def _label(part: Part, asked: _Question) -> str:
    """The part in words."""
    if part.number is None or part.kind not in ("hyperedge", "link"):
        return _LABELS[part.kind]
    if part.kind == "link":
        return f"link to {_name('vertex', part.number, asked)}"
    label = hyperedge_in_words(asked.structures["hypergraph"], part.number)
    return label if part.direction is None else f"{label}, {part.direction}"


def hyperedge_in_words(H: Any, number: int) -> str:
    """The name of a hyperedge; without names, what it is around or its number."""
    if H.hyperedge_names is not None:
        return str(H.hyperedge_names[number : number + 1].tolist()[0])
    centroid = -1 if H.centroid is None else int(H.centroid[number])
    if centroid < 0:
        return f"hyperedge {number}"
    names = H.vertex_names
    return f"neighbours of {centroid if names is None else names[centroid : centroid + 1].tolist()[0]}"


def _name(what: str, number: int, asked: _Question) -> Any:
    names = asked.names(what)
    return number if names is None else names[number : number + 1].tolist()[0]
