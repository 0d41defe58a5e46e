"""Models as files: a network with its settings, and what else is known of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from hypergnn._utils.checks import Names
from hypergnn.models import Network, config_from
from hypergnn.persistence import name_tensors, tensor_files

FORMAT = 1
_KIND = "Network"
_NAMES = "vertex_names"


@dataclass(frozen=True)
class SavedModel:
    """A network with what is known of it."""

    network: Network
    class_names: tuple[str, ...]
    about: Mapping[str, Any]
    """What :func:`save` was told of it."""
    vertex_names: Names | None = None
    """What the vertices were called that it was trained on, if that is known."""
    hypergraph: Mapping[str, Any] | None = None
    """How the hypergraph was made that it was trained on, if that is known."""
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
    """Write a network to a file, in one step: the file is the old one or the new one, never half of one.

    Args:
        network: The network.
        path: The file, by custom ``*.safetensors``.
        class_names: Names of the classes, in the order of the scores, kept as text; their numbers if omitted.
        about: Anything else worth knowing, as JSON holds it.
        vertex_names: Names of the vertices that it was trained on, such as ``H.vertex_names``.
        hypergraph: How the hypergraph was made that it was trained on, as JSON holds it.

    Raises:
        TypeError: If ``network`` is no network, or JSON cannot hold ``about`` or ``hypergraph``.
        ValueError: If there is not one name per score.

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
            f"network must be a hypergnn.models.Network; got {type(network).__name__}. For other modules save their "
            "state_dict(), e.g. with safetensors.torch.save_file."
        )
    names = list(map(str, range(network.n_classes) if class_names is None else class_names))
    if len(names) != network.n_classes:
        raise ValueError(f"class_names must have {network.n_classes} names, one per score; got {len(names)}.")
    header: dict[str, Any] = {
        "config": asdict(network.config),
        "n_features": network.n_features,
        "class_names": names,
        "about": _as_json("about", about or {}),
        "hypergraph": None if hypergraph is None else _as_json("hypergraph", hypergraph),
    }
    tensors = network.state_dict()
    if vertex_names is not None:
        tensors[_NAMES], header[_NAMES] = name_tensors.to_tensor(np.asarray(vertex_names))
    tensor_files.write(path, _KIND, FORMAT, header, tensors)


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a network that :func:`save` has written.

    Raises:
        ValueError: If the file is not such a file, is damaged, or was written by a version with another format.

    Example:
        >>> load("model.safetensors")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'model.safetensors'
    """
    header, tensors = tensor_files.read(path, _KIND, FORMAT)
    try:
        names = name_tensors.from_tensor(tensors.pop(_NAMES).clone(), header[_NAMES]) if _NAMES in header else None
        network = _network(header, tensors)
        class_names = tuple(map(str, header["class_names"]))
        about = dict(header["about"])
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} {_misfit(header['version'])}: {' '.join(what.split())}") from error
    return SavedModel(network, class_names, about, names, header.get("hypergraph"), header["version"])


def _as_json(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``value`` if JSON can hold it, or raise."""
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a dictionary of what JSON can hold, text, numbers, lists and dictionaries: {error}. "
            "Convert arrays with .tolist() and other things with str()."
        ) from error
    return dict(value)


def _misfit(version: str) -> str:
    """What a file is that has the right checksum but not the content that :func:`load` looks for."""
    from hypergnn import __version__

    if version == __version__:
        return "is not what hypergnn.save writes, though it says that this version wrote it"
    return f"does not fit this version of hypergnn, but {version}"


def _network(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Network:
    """The network that a file describes; its sizes are believed only if the tensors have them."""
    config = config_from(header["config"])
    if config.depth > len(tensors):
        raise ValueError(f"there must be tensors for {config.depth} layers; got {len(tensors)} in all.")
    own = {name: tensor.clone() for name, tensor in tensors.items()}
    return Network.from_parameters(config, header["n_features"], len(header["class_names"]), own)
