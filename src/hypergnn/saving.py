"""Models as files: a network with its settings, and what else is known of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hypergnn import storage
from hypergnn.models import Network, config_from

FORMAT = 1
_KIND = "Network"


@dataclass(frozen=True)
class SavedModel:
    """A network with what is known of it."""

    network: Network
    class_names: tuple[str, ...]
    about: Mapping[str, Any]
    """What :func:`save` was told of it."""


def save(
    network: Network,
    path: str | os.PathLike[str],
    *,
    class_names: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write a network to a file, in one step: the file is the old one or the new one, never half of one.

    Args:
        network: The network.
        path: The file, by custom ``*.safetensors``.
        class_names: Names of the classes, in the order of the scores; their numbers if omitted.
        about: Anything else worth knowing, as JSON holds it.

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
    names = [str(number) for number in range(network.n_classes)] if class_names is None else list(class_names)
    if len(names) != network.n_classes:
        raise ValueError(f"class_names must have {network.n_classes} names, one per score; got {len(names)}.")
    header = {
        "config": asdict(network.config),
        "n_features": network.n_features,
        "class_names": names,
        "about": dict(about or {}),
    }
    storage.write(path, _KIND, FORMAT, header, network.state_dict())


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a network that :func:`save` has written.

    Raises:
        ValueError: If the file is not such a file, is damaged, or was written by a version with another format.
    """
    header, state = storage.read(path, _KIND, FORMAT)
    try:
        network = Network(config_from(header["config"]), header["n_features"], len(header["class_names"]))
        network.load_state_dict(state)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path} does not fit this version of hypergnn, but {header['version']}: {error}") from error
    network.eval()
    return SavedModel(network, tuple(header["class_names"]), header["about"])
