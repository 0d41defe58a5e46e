"""Names for your own networks, which training, model files and the command line then know."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

from hypergnn._utils.file_errors import FileError
from hypergnn.layers import Layer
from hypergnn.models.catalogue import KINDS, Kind
from hypergnn.models.config import Config
from hypergnn.models.own_layers import STRUCTURES

_OURS = frozenset(KINDS)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*")


class UnregisteredError(FileError):
    """A file or a setting names a kind of network that is not registered."""


def register(
    name: str,
    layer: Callable[..., Layer] | None = None,
    *,
    layers: Callable[[Config, int, int], Sequence[Layer]] | None = None,
    structures: Sequence[Literal["graph", "hypergraph"]] = ("hypergraph",),
    attention: bool = False,
) -> None:
    """Give a network of your own a name: for ``Config(model=name)``, ``training.fit``, model files and the commands.

    A name that is registered again gets the new meaning; the names of this package cannot be taken.

    Args:
        name: The name: letters, digits, and ``+``, ``.``, ``_`` or ``-`` between them.
        layer: The layer that all layers of the network are made of, called as ``layer(in_features, out_features,
            heads=…, skip=…)`` and, for the last one, without heads and skip.
        layers: In place of ``layer``, a function of the configuration, the number of features and the number of classes
            that returns all layers.
        structures: What the layers take, of ``"graph"`` and ``"hypergraph"``.
        attention: Whether the message of a vertex depends on all of its hyperedges, such as a softmax over them: blocks
            then hold all of these. ``layer`` then also takes ``dropout=``.

    Raises:
        TypeError: If the layer cannot be made that way.
        ValueError: If the name cannot be used, or a structure is unknown.

    Example:
        >>> from hypergnn.layers import Operator
        >>> class Mean(Operator):
        ...     pass
        >>> register("mean", Mean)
        >>> Config(model="mean").model
        'mean'
        >>> unregister("mean")
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name must be letters and digits, with + . _ or - between them; got {name!r}.")
    if name in _OURS:
        raise ValueError(f"name must not be that of a network of hypergnn; got {name!r}.")
    names = tuple(structures) if isinstance(structures, (list, tuple)) else (None,)
    if any(one not in STRUCTURES for one in names) or len(set(names)) < len(names):
        raise ValueError(f"structures must be among {STRUCTURES}, each once; got {structures!r}.")
    if (layer is None) == (layers is None):
        raise TypeError("layer or layers must be given, and not both.")
    if layers is not None and not callable(layers):
        raise TypeError(f"layers must be a function of configuration and sizes; got {type(layers).__name__}.")
    if layer is not None:
        _try(layer, attention)
    kind = Kind(_unused if layer is None else layer, names, has_attention=attention, layers=layers)
    KINDS[name] = kind


def unregister(name: str) -> None:
    """Remove a registered name.

    Example:
        >>> unregister("gcn")
        Traceback (most recent call last):
        ...
        ValueError: name must have been registered with register(); got 'gcn'.
    """
    if name in _OURS or name not in KINDS:
        raise ValueError(f"name must have been registered with register(); got {name!r}.")
    del KINDS[name]


def check_registered(name: object, where: str) -> None:
    """Raise if a file or a run was made with a kind of network that is not known here."""
    if isinstance(name, str) and name not in KINDS:
        raise UnregisteredError(
            where,
            f"holds a network of the kind {name!r}, which is not registered. Import the module that calls "
            f"hypergnn.models.register({name!r}, …) first; on the command line, with --import MODULE.",
        )


def _try(layer: Callable[..., Layer], attention: bool) -> None:
    """Raise unless the layer can be made as networks make it."""
    if not callable(layer):
        raise TypeError(f"layer must be a class of layers; got {type(layer).__name__}.")
    options: dict[str, Any] = {"dropout": 0.5} if attention else {}
    try:
        with torch.device("meta"):
            made = layer(3, 2, heads=2, skip=True, **options)
    except TypeError as error:
        how = "heads=…, skip=…" + (", dropout=…" if attention else "")
        raise TypeError(f"layer must be made by layer(in_features, out_features, {how}): {error}") from error
    constants = [name for name, one in vars(made).items() if isinstance(one, torch.Tensor)]
    constants += [name for name, _ in made.named_buffers()] if isinstance(made, torch.nn.Module) else []
    if constants:
        raise TypeError(
            f"layer must hold no tensors but parameters, because trials are stacked; {type(made).__name__} has "
            f"{constants[0]!r}. Make constants in its methods."
        )
    if not isinstance(made, torch.nn.Module) or not hasattr(made, "reset_parameters"):
        raise TypeError(
            f"layer must make modules with the method reset_parameters(generator), such as subclasses of "
            f"hypergnn.layers.Operator; got {type(made).__name__}."
        )


def _unused(*_: object) -> Layer:
    raise TypeError("this kind of network is made by a function of all layers.")
