"""Model files: a network with its settings, class names and origin."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from hypergnn._utils.checks import Names
from hypergnn._utils.file_errors import FileError
from hypergnn.models import Ensemble, Network, check_registered, config_from
from hypergnn.persistence import name_tensors, tensor_files

FORMAT = 1
_KIND = "Network"
_NAMES = "vertex_names"


@dataclass(frozen=True)
class SavedModel:
    """A network loaded from a file, with what the file says about it."""

    network: Network
    class_names: tuple[str, ...]
    about: Mapping[str, Any]
    """The dictionary passed to :func:`save`."""
    vertex_names: Names | None = None
    """The names of the vertices that it was trained on, if known."""
    hypergraph: Mapping[str, Any] | None = None
    """How the hypergraph that it was trained on was built, if known."""
    version: str = ""
    """The version of hypergnn that wrote the file."""


def save(
    network: Network,
    path: str | os.PathLike[str],
    *,
    class_names: Iterable[Any] | None = None,
    about: Mapping[str, Any] | None = None,
    vertex_names: Names | None = None,
    hypergraph: Mapping[str, Any] | None = None,
) -> None:
    """Write a network to a file atomically: the file is the old one or the new one, never a part of either.

    Args:
        network: The network.
        path: The file, by convention ``*.safetensors``.
        class_names: Names of the classes in the order of the scores, stored as text; their numbers if omitted.
        about: Anything else to store, in JSON types.
        vertex_names: Names of the vertices that it was trained on, such as ``H.vertex_names``.
        hypergraph: How the hypergraph that it was trained on was built, in JSON types.

    Raises:
        TypeError: If ``network`` is not a network or is made of given layers, or JSON cannot hold ``about`` or
            ``hypergraph``.
        ValueError: If ``class_names`` does not have one name per score.

    Example:
        >>> import tempfile
        >>> from hypergnn.models import Config
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(Network(Config(), 5, 2), f"{folder}/model.safetensors", class_names=["yes", "no"])
        ...     load(f"{folder}/model.safetensors").class_names
        ('yes', 'no')
    """
    if not isinstance(network, Network):
        raise TypeError(
            f"network must be a hypergnn.models.Network; got {type(network).__name__}. For other modules, save the "
            "state_dict(), e.g. with safetensors.torch.save_file."
        )
    if not network.is_named:
        raise TypeError(
            "network must be made by its configuration, because a file holds names of layers and no code; got one made "
            "of given layers. Register them with hypergnn.models.register(name, layers=…) and make it by "
            "Network(Config(model=name), …), or save the state_dict()."
        )
    names = list(map(str, range(network.n_classes) if class_names is None else class_names))
    if len(names) != network.n_classes:
        raise ValueError(f"class_names must have {network.n_classes} names, one per score; got {len(names)}.")
    header: dict[str, Any] = {
        "config": network.config.settings(),
        "n_features": network.n_features,
        "class_names": names,
        "about": _as_json("about", about or {}),
        "hypergraph": None if hypergraph is None else _as_json("hypergraph", hypergraph),
    }
    if network.linear_output:
        header["linear_output"] = True
    if isinstance(network, Ensemble):
        header["members"] = network.n_members
    tensors = network.state_dict()
    if vertex_names is not None:
        tensors[_NAMES], header[_NAMES] = name_tensors.to_tensor(np.asarray(vertex_names))
    tensor_files.write(path, _KIND, FORMAT, header, tensors)


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a network written by :func:`save`.

    Raises:
        UnregisteredError: If the file holds a network of your own whose name is not registered.
        ValueError: If the file is not a model file, is damaged, or has another format.

    Example:
        >>> load("model.safetensors")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'model.safetensors'
    """
    header, tensors = tensor_files.read(path, _KIND, FORMAT)
    config = header.get("config")
    check_registered(config.get("model") if isinstance(config, dict) else None, str(path))
    try:
        names = name_tensors.from_tensor(tensors.pop(_NAMES).clone(), header[_NAMES]) if _NAMES in header else None
        network = _network(header, tensors)
        class_names = tuple(map(str, header["class_names"]))
        about = dict(header["about"])
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise FileError(path, f"{_misfit(header['version'])}: {' '.join(what.split())}") from error
    if not all(bool(one.isfinite().all()) for one in network.parameters()):
        warnings.warn(f"{path} holds parameters that are not finite; so are its predictions.", stacklevel=2)
    return SavedModel(network, class_names, about, names, header.get("hypergraph"), header["version"])


def _as_json(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``value`` if JSON can hold it, or raise."""
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a dictionary of JSON types (text, numbers, lists, dictionaries): {error}. "
            "Convert arrays with .tolist() and other values with str()."
        ) from error
    return dict(value)


def _misfit(version: str) -> str:
    """What is wrong with a file that has the right checksum but not the content of a model file."""
    from hypergnn import __version__

    if version == __version__:
        return "is not a valid model file, although it names this version of hypergnn"
    return f"was written by hypergnn {version} and does not fit this version"


def _network(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Network:
    """The network that a file describes; its sizes must agree with the tensors."""
    config = config_from(header["config"])
    if config.depth > len(tensors):
        raise ValueError(f"there must be tensors for {config.depth} layers; got {len(tensors)} tensors.")
    own = {name: tensor.clone() for name, tensor in tensors.items()}
    sizes = (header["n_features"], len(header["class_names"]))
    is_linear = header.get("linear_output", False) is True
    if "members" not in header:
        return Network.from_parameters(config, *sizes, own, linear_output=is_linear)
    if any(tensor.shape[:1] != (header["members"],) for tensor in own.values()):
        raise ValueError(f"each tensor must have {header['members']} entries, one per member.")
    return Ensemble.from_parameters(config, *sizes, own, linear_output=is_linear)
