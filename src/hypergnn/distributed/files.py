"""Shards as files: divided once, and each process loads only its own.

A folder holds

| file | content |
|---|---|
| ``shards.json`` | format, number of shards, sizes of the whole, the cut, and what the data is, if there are features |
| ``shard-0.safetensors``, … | what one process holds: incidences, degrees, routes; rows of the features and classes |
| ``names.safetensors`` | names of the vertices, if they have any; only model files need them |

The folder is written under another name and renamed, so it is complete or not there.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn._utils.checks import Names, check_size
from hypergnn.datasets import Dataset
from hypergnn.distributed.division import Division
from hypergnn.distributed.exchange import Exchange, Route
from hypergnn.distributed.groups import agreed, check_same, rank_and_size
from hypergnn.distributed.heads import FORMAT, HEAD, SPLIT, Head, check_data_of, read_head
from hypergnn.distributed.partitioning import as_processes, cut, partition
from hypergnn.distributed.shards import Shard, digest
from hypergnn.models import Config
from hypergnn.persistence import name_tensors, tensor_files
from hypergnn.persistence.files import new_folder, write_atomic
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence
from hypergnn.training.description import describe
from hypergnn.training.order import near_together

NAMES = "names.safetensors"
_KIND = "Shard"


@dataclass(frozen=True)
class ShardedDataset:
    """What one process holds of a dataset."""

    head: Head
    shard: Shard
    x: Any
    """Features of its vertices, an array or CSR."""
    y: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]
    """Which of its rows are training vertices; ``val`` and ``test`` are those for validation and test."""
    val: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]
    entries_before: int
    """Stored features of the processes before this one."""


def save_shards(
    data: Hypergraph | Dataset, path: str | os.PathLike[str], n: int, *, process: npt.ArrayLike | None = None
) -> Head:
    """Divide a hypergraph or a dataset among ``n`` processes and write a folder with a file for each.

    Args:
        data: The hypergraph, or a dataset with features, classes and a split.
        path: The folder, which must not exist or be empty.
        n: Number of processes.
        process: The process of each vertex, ``(N,)``; that of :func:`partition` if omitted.

    Example:
        >>> import tempfile
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     head = save_shards(H, f"{folder}/two", n=2)
        ...     head.n, load_shard(f"{folder}/two", number=0).n_processes
        (2, 2)
    """
    check_size("n", n, minimum=1)
    H, dataset = (data.hypergraph, data) if isinstance(data, Dataset) else (data, None)
    if not isinstance(H, Hypergraph):
        raise TypeError(f"data must be a Hypergraph or a Dataset with one; got {type(H).__name__}.")
    processes = None if process is None else as_processes(process, H.n_vertices, n)
    about = None if dataset is None else _described(dataset)
    return _save(H, dataset, Path(path), n, processes, about, H.vertex_names)


def save_for_training(data: Dataset, path: str | os.PathLike[str], n: int) -> Head:
    """Do as :func:`save_shards`, with the vertices in the order in which one process trains.

    Dropout then drops the same entries of dense features, hidden features and attention as in one process.
    """
    check_hypergraph_of(data)
    ordered = near_together(data)
    H: Any = ordered.hypergraph
    return _save(H, ordered, Path(path), n, None, _described(data), data.hypergraph.vertex_names)


def check_hypergraph_of(data: Dataset) -> None:
    """Raise unless the hyperedges of a dataset do not point."""
    if not isinstance(data.hypergraph, Hypergraph):
        raise TypeError(
            f"several processes need an undirected hypergraph; {data.name} has a {type(data.hypergraph).__name__}."
        )


def _save(
    H: Hypergraph, dataset: Dataset | None, folder: Path, n: int, process: Any, about: Any, names: Names | None
) -> Head:
    _check_new(folder)
    processes = partition(H, n) if process is None else process
    with new_folder(folder) as aside:
        _write_all(H, dataset, aside, processes, n)
        if names is not None:
            stored, how = name_tensors.to_tensor(names)
            tensor_files.write(aside / NAMES, "Names", FORMAT, {"how": how}, {"names": stored})
        head = _head(H, processes, n, f"{digest(H)}-{aside.name}", about)
        write_atomic(aside / HEAD, json.dumps(head, indent=2).encode() + b"\n")
    return read_head(folder)


def load_shard(path: str | os.PathLike[str], *, number: int | None = None, group: Any = None) -> Shard:
    """Load the shard of this process from a folder that :func:`save_shards` has written; nothing else is read.

    Args:
        path: The folder.
        number: Whose shard; that of this process if omitted, which needs a process group.
        group: The process group; all processes if omitted.

    Raises:
        ValueError: If there are not as many processes as shards, or processes have different folders.

    Example:
        >>> load_shard("nowhere", number=0)
        Traceback (most recent call last):
        ...
        ValueError: path must be a folder written by save_shards; nowhere has no shards.json.
    """
    return _load(path, number, group)[1]


def load_data(path: str | os.PathLike[str], *, number: int | None = None, group: Any = None) -> ShardedDataset:
    """Load what this process holds of a dataset that was divided by :func:`save_shards`.

    Args:
        path: The folder.
        number: Whose part; that of this process if omitted.
        group: The process group; all processes if omitted.
    """
    head, shard, tensors = _load(path, number, group, has_data=True)
    assert head.data is not None
    return ShardedDataset(
        head,
        shard,
        _features(tensors, head.data["description"]["features"]),
        y=tensors["y"].numpy(),
        train=tensors["train"].numpy(),
        val=tensors["val"].numpy(),
        test=tensors["test"].numpy(),
        entries_before=int(tensors["entries_before"]),
    )


def read_names(folder: Path) -> Names | None:
    """The names of the vertices of the whole, if they have any."""
    if not (folder / NAMES).is_file():
        return None
    content = tensor_files.read(folder / NAMES, "Names", FORMAT)
    try:
        return name_tensors.from_tensor(content.tensors["names"], content.header["how"])
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, IndexError) as error:
        raise ValueError(f"{folder / NAMES} is damaged, or not a file of hypergnn: {error!r}.") from error


def _check_new(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        raise ValueError(f"path must be new, or an empty folder; {folder} exists. Use another name, or remove it.")


def _write_all(H: Hypergraph, dataset: Dataset | None, folder: Path, process: Any, n: int) -> None:
    division = Division(H, process, n)
    content = f"{digest(H)}-{folder.name}"  # files of two divisions never fit each other
    entries_before = 0
    for number in range(n):
        shard = Shard._of(H, division.part(number), number, n, None)
        tensors = _as_tensors(shard)
        if dataset is not None:
            tensors |= _rows_of(dataset, shard, entries_before)
            entries_before += _n_entries(tensors)
        about = {"content": content, "number": number, "shards": n, "routes": _counts(shard.parts)}
        about |= {"vertices": H.n_vertices, "hyperedges": H.n_hyperedges}
        tensor_files.write(folder / f"shard-{number}.safetensors", _KIND, FORMAT, about, tensors)


def _head(H: Hypergraph, process: Any, n: int, content: str, about: Any) -> dict[str, Any]:
    found = cut(H, process)
    return {
        "format": FORMAT,
        "shards": n,
        "content": content,
        "sizes": {"vertices": H.n_vertices, "hyperedges": H.n_hyperedges, "incidences": H.n_incidences},
        "cut": {"hyperedges": found.hyperedges, "copies": found.copies, "balance": found.balance},
        "data": about,
    }


def _described(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "class_names": list(dataset.class_names),
        "feature_names": None if dataset.feature_names is None else list(dataset.feature_names),
        "construction": dataset.construction,
        "source": dataset.source,
        "encoding": None if dataset.encoding is None else dict(dataset.encoding),
        "split": {name: int(getattr(dataset, name).size) for name in SPLIT},
        "description": describe(dataset, Config())["data"],
    }


def _as_tensors(shard: Shard) -> dict[str, Tensor]:
    pairs, there, back = shard.incidence, shard.parts.there, shard.parts.back
    tensors: dict[str, Tensor | None] = {
        "offsets": pairs.offsets,
        "members": pairs.members,
        "back_offsets": pairs.back_offsets,
        "back_members": pairs.back_members,
        "back_position": pairs.back_position,
        "weight": shard.weight,
        "vertex_degree": shard._vertex_degree,
        "hyperedge_degree": shard._hyperedge_degree,
        "vertices": shard.vertices,
        "hyperedges": shard.hyperedges,
        "places": shard.places,
        "centroid": shard.centroid,
        "has_centroid": shard.has_centroid,
        "there_sent": there.sent,
        "there_received": there.received,
        "back_sent": back.sent,
        "back_received": back.received,
    }
    return {name: one for name, one in tensors.items() if one is not None}


def _counts(parts: Exchange) -> dict[str, Any]:
    return {
        name: {"sent": route.n_sent, "received": route.n_received, "most": route.most}
        for name, route in (("there", parts.there), ("back", parts.back))
    }


def _rows_of(dataset: Dataset, shard: Shard, entries_before: int) -> dict[str, Tensor]:
    """The features, classes and split of the vertices of a shard."""
    rows = shard.vertices.numpy()
    x = dataset.x[rows]
    sparse = hasattr(x, "indptr")
    parts = {"x_offsets": x.indptr, "x_columns": x.indices, "x": x.data} if sparse else {"x": x}
    parts |= {"y": dataset.y[rows], "entries_before": np.array([entries_before])}
    for name in SPLIT:
        parts[name] = np.flatnonzero(np.isin(rows, getattr(dataset, name)))
    return {name: torch.from_numpy(np.ascontiguousarray(one)) for name, one in parts.items()}


def _n_entries(tensors: dict[str, Tensor]) -> int:
    return tensors["x"].numel()


def _features(tensors: dict[str, Tensor], n_features: int) -> Any:
    from scipy import sparse

    if "x_offsets" not in tensors:
        return tensors["x"].numpy()
    parts = (tensors["x"].numpy(), tensors["x_columns"].numpy(), tensors["x_offsets"].numpy())
    return sparse.csr_array(parts, shape=(tensors["y"].shape[0], n_features))


def _load(
    path: Any, number: int | None, group: Any, *, has_data: bool = False
) -> tuple[Head, Shard, dict[str, Tensor]]:
    """The head, the shard and all that its file holds; raise unless it holds data, if it must."""
    if number is not None:
        head = _fitting_head(path, None, has_data)
        if check_size("number", number) >= head.n:
            raise ValueError(f"number must be from 0 to {head.n - 1}; got {number}.")
        return head, *_load_one(head, number, group)
    rank, size = rank_and_size(group)
    head = agreed(lambda: _fitting_head(path, size, has_data), group=group)
    agreed(lambda: check_same("the folder of shards", head.content, group), group=group)
    return head, *agreed(lambda: _load_one(head, rank, group), group=group)


def _fitting_head(path: Any, size: int | None, has_data: bool) -> Head:
    head = read_head(path)
    if has_data and head.data is None:
        raise ValueError(f"{path} must hold a dataset; it holds a hypergraph only. Divide a Dataset with save_shards.")
    if size is not None and size != head.n:
        raise ValueError(
            f"{head.folder} must have a shard for each of {size} processes; it has {head.n}. Start "
            f"{head.n} processes, or divide the data again with save_shards(…, n={size})."
        )
    return head


def _load_one(head: Head, number: int, group: Any) -> tuple[Shard, dict[str, Tensor]]:
    path = head.folder / f"shard-{number}.safetensors"
    content = tensor_files.read(path, _KIND, FORMAT)
    about = content.header
    if about.get("content") != head.content or about.get("number") != number:
        raise ValueError(f"{path} must belong to {head.folder / HEAD}; it is of another division. Write both again.")
    try:
        shard = _from_tensors(content.tensors, about, number, head.n, group)
        shard._comes_from(str(path))
        shard.check()
        if (about["vertices"], about["hyperedges"]) != (head.sizes["vertices"], head.sizes["hyperedges"]):
            raise ValueError(f"it must have the sizes that {HEAD} says")
        if head.data is not None:
            check_data_of(content.tensors, head.data, shard.n_vertices)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, IndexError, RuntimeError) as error:
        raise ValueError(f"{path} is damaged, or not a file of hypergnn: {error!r}.") from error
    return shard, content.tensors


def _from_tensors(stored: dict[str, Tensor], about: dict[str, Any], number: int, n: int, group: Any) -> Shard:
    names = ("offsets", "members", "back_offsets", "back_members", "back_position")
    offsets, members, *back = (stored[name] for name in names)
    routes = [
        Route(
            stored[f"{name}_sent"],
            stored[f"{name}_received"],
            tuple(about["routes"][name]["sent"]),
            tuple(about["routes"][name]["received"]),
            int(about["routes"][name]["most"]),
        )
        for name in ("there", "back")
    ]
    return Shard(
        Incidence(offsets, members, None, *back),
        weight=stored["weight"],
        _vertex_degree=stored["vertex_degree"],
        _hyperedge_degree=stored["hyperedge_degree"],
        vertices=stored["vertices"],
        hyperedges=stored["hyperedges"],
        places=stored["places"],
        centroid=stored.get("centroid"),
        has_centroid=stored.get("has_centroid"),
        n_all_vertices=int(about["vertices"]),
        n_all_hyperedges=int(about["hyperedges"]),
        process=number,
        n_processes=n,
        parts=Exchange(routes[0], routes[1], group),
    )
