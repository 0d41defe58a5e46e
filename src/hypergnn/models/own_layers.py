"""Networks made of any layers: their sizes, the structures that each layer takes, and what it must return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module

from hypergnn.functional.checks import Features
from hypergnn.functional.projection import select_rows
from hypergnn.layers import Layer
from hypergnn.models.catalogue import KINDS
from hypergnn.models.config import Config

STRUCTURES = ("graph", "hypergraph")
"""The structures that layers may take, in the order in which they take them."""


_OF_LAYERS = frozenset(
    {
        "model",
        "hidden",
        "heads",
        "depth",
        "skip",
        "attention_dropout",
        "direction",
        "residual",
        "alpha",
        "theta",
        "layer_decay",
        "norm",
        "activation",
        "steps",
        "draws",
        "row_dropout",
        "consistency",
        "temperature",
        "hyperedge_features",
        "rebuild_every",
        "pool",
    }
)
"""Settings that decide what layers are made, or how they are combined."""


def check_settings(config: Config) -> None:
    """Raise if a setting has no effect on a network of given layers."""
    changed = config.changed()
    without = [name for name in changed if name in _OF_LAYERS or changed[name] == "learned"]
    if without:
        raise ValueError(
            f"{without[0]} must be left at its default with given layers, on which it has no effect; got "
            f"{changed[without[0]]!r}."
        )


def sizes(layers: Sequence[nn.Module] | None, n_features: int | None, n_classes: int | None) -> tuple[int, int]:
    """Number of features and of scores: as given, else those of the first and the last layer."""
    if layers is not None and len(layers) == 0:
        raise ValueError("layers must hold at least one layer; got none.")
    first, last = (None, None) if layers is None else (layers[0], layers[-1])
    features = getattr(first, "in_features", None) if n_features is None else n_features
    classes = getattr(last, "width", None) if n_classes is None else n_classes
    for name, size, known in (("n_features", features, "in_features"), ("n_classes", classes, "width")):
        if not isinstance(size, int):
            of = "" if layers is None else f": the layer has no attribute {known}"
            raise TypeError(f"{name} must be given, a whole number{of}.")
    return features, classes  # type: ignore[return-value]


def made(config: Config, n_features: int, n_classes: int) -> Sequence[nn.Module]:
    """The layers from the function that a model was registered with; its errors are raised again with its name."""
    make: Any = KINDS[config.model].layers
    try:
        found: Sequence[nn.Module] = make(config, n_features, n_classes)
        return found
    except (ValueError, TypeError):
        raise
    except Exception as error:
        raise RuntimeError(f"the layers of {config.model!r} cannot be made: {type(error).__name__}: {error}") from error


def checked(layers: Iterable[nn.Module]) -> list[nn.Module]:
    """The layers, or raise unless they are modules that fit each other."""
    try:
        found = list(layers)
    except TypeError as error:
        raise TypeError(f"layers must be a list of modules; got {type(layers).__name__}.") from error
    if not found:
        raise ValueError("layers must hold at least one layer; got none.")
    for number, layer in enumerate(found):
        if not isinstance(layer, nn.Module):
            raise TypeError(f"layers must be modules of torch; layer {number} is a {type(layer).__name__}.")
    for number in range(len(found) - 1):
        width, expected = getattr(found[number], "width", None), getattr(found[number + 1], "in_features", None)
        if None not in (width, expected) and width != expected:
            raise ValueError(
                f"layer {number + 1} must take the {width} features that layer {number} makes; got "
                f"in_features={expected}."
            )
    return found


def structures_of(layer: nn.Module) -> tuple[str, ...]:
    """Which structures a layer takes, in their order: its attribute ``structures``, or as registered.

    Example:
        >>> from hypergnn.layers import Dense, GraphConv, HypergraphConv
        >>> structures_of(GraphConv(3, 2)), structures_of(HypergraphConv(3, 2)), structures_of(Dense(3, 2))
        (('graph',), ('hypergraph',), ())
    """
    registered = _registered(layer)
    own = getattr(layer, "structures", ("hypergraph",)) if registered is None else registered
    if not set(own) <= set(STRUCTURES):
        raise ValueError(f"structures of {type(layer).__name__} must be among {STRUCTURES}; got {own!r}.")
    return tuple(own)


def _registered(layer: nn.Module) -> tuple[str, ...] | None:
    """What a layer was registered to take, if its class says nothing itself."""
    if "structures" in vars(layer) or "structures" in vars(type(layer)):
        return None
    return next((kind.structures for kind in KINDS.values() if kind.layer is type(layer)), None)


def all_of(taken: Iterable[Sequence[str]], registered: tuple[str, ...] | None) -> tuple[str, ...]:
    """The structures that all layers together take: those that their kind was registered with, if it was.

    Example:
        >>> all_of([(), ("hypergraph",), ("graph",)], None)
        ('graph', 'hypergraph')
    """
    used = {name for one in taken for name in one}
    if registered is None:
        return tuple(name for name in STRUCTURES if name in used)
    if not used <= set(registered):
        missing = ", ".join(sorted(used - set(registered)))
        raise ValueError(f"structures of register() must name all that the layers take; {missing} is missing.")
    return registered


def given_to(layer: nn.Module, x: Features, structures: Mapping[str, Any]) -> tuple[Features, tuple[Any, ...]]:
    """What a layer gets of all structures; without any, only the rows that a block makes."""
    taken = tuple(structures[name] for name in structures_of(layer))
    if taken:
        return x, taken
    return select_rows(x, getattr(one_way(next(iter(structures.values()))), "rows", None)), ()


def one_way(structure: Any) -> Any:
    """A structure, or the first of a pair of blocks, both of which read and make the same vertices."""
    return structure[0] if isinstance(structure, tuple) else structure


def called(number: int, layer: nn.Module, x: Features, structures: Sequence[Any]) -> Tensor:
    """The output of a layer, or raise unless it has a row per vertex and the features that the layer promises."""
    out: Any = layer(x, *structures)
    if torch.compiler.is_compiling():
        return out  # type: ignore[no-any-return]
    rows = getattr(one_way(structures[0]), "n_receivers", x.shape[-2]) if structures else x.shape[-2]
    width = layer.width if isinstance(layer, Layer) else None
    if isinstance(out, Tensor) and out.dim() >= 2 and out.shape[-2] == rows and width in (None, out.shape[-1]):
        return out
    got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
    shape = f"(..., {rows}, {'features' if width is None else width})"
    raise ValueError(f"layer {number}, {type(layer).__name__}, must return {shape}, a row per vertex; got {got}.")


def has_hooks(layer: nn.Module) -> bool:
    """Whether the layer has hooks, which run only if it is called as a module."""
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
