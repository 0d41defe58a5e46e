"""Models as files: numbers in safetensors, everything else as JSON in its header. Nothing in them can be executed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from hypergnn.files import write_atomic
from hypergnn.models import Network, config_from

FORMAT = 1
_KEY, _SUM = "hypergnn", "sha256"


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
    from safetensors.torch import save as to_bytes

    from hypergnn import __version__

    if not isinstance(network, Network):
        raise TypeError(
            f"network must be a hypergnn.models.Network; got {type(network).__name__}. For other modules save their "
            "state_dict(), e.g. with safetensors.torch.save_file."
        )
    names = [str(number) for number in range(network.n_classes)] if class_names is None else list(class_names)
    if len(names) != network.n_classes:
        raise ValueError(f"class_names must have {network.n_classes} names, one per score; got {len(names)}.")
    header = {
        "format": FORMAT,
        "version": __version__,
        "config": asdict(network.config),
        "n_features": network.n_features,
        "class_names": names,
        "about": dict(about or {}),
    }
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    text = json.dumps(header)
    write_atomic(Path(path), to_bytes(state, metadata={_KEY: text, _SUM: _checksum(text, state)}))


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a network that :func:`save` has written.

    Raises:
        ValueError: If the file is not such a file, is damaged, or was written by a version with another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or not a model file: {error}.") from error
    if _KEY not in metadata:
        raise ValueError(f"{path} is a safetensors file, but not one that hypergnn has written.")
    if _checksum(metadata[_KEY], state) != metadata.get(_SUM):
        raise ValueError(f"{path} is damaged: its content does not have the checksum that stands in it.")
    header = json.loads(metadata[_KEY])
    if header["format"] != FORMAT:
        raise ValueError(
            f"{path} has format {header['format']}, written by hypergnn {header['version']}; this version reads "
            f"format {FORMAT}. Use that version, or train again."
        )
    try:
        network = Network(config_from(header["config"]), header["n_features"], len(header["class_names"]))
        network.load_state_dict(state)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path} does not fit this version of hypergnn, but {header['version']}: {error}") from error
    network.eval()
    return SavedModel(network, tuple(header["class_names"]), header["about"])


def _checksum(header: str, state: Mapping[str, Tensor]) -> str:
    """Of all that a file says, in the order of the names: damage that leaves it readable changes this."""
    digest = hashlib.sha256(header.encode())
    for name in sorted(state):
        digest.update(f"{name} {tuple(state[name].shape)}".encode())
        digest.update(state[name].contiguous().numpy().tobytes())
    return digest.hexdigest()
