"""What a folder of shards says about itself, and whether the rows of a shard fit that."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from scipy import sparse
from torch import Tensor

from hypergnn._utils.checks import check_size, check_sparse
from hypergnn._utils.pairs import check_range
from hypergnn.persistence.files import read_regular

FORMAT = 1
HEAD = "shards.json"
SPLIT = ("train", "val", "test")


@dataclass(frozen=True)
class Head:
    """What ``shards.json`` says."""

    folder: Path
    n: int
    """Number of shards."""
    content: str
    """What distinguishes the hypergraph and its division from others."""
    cut: dict[str, Any]
    data: dict[str, Any] | None
    """Name, classes and description of the dataset; ``None`` if only a hypergraph was divided."""
    sizes: dict[str, int]


def read_head(path: str | os.PathLike[str]) -> Head:
    """What a folder of shards says about itself.

    Raises:
        ValueError: If there is no such folder, or its ``shards.json`` is damaged or of another format.
    """
    folder = Path(path)
    if not (folder / HEAD).is_file():
        raise ValueError(f"path must be a folder written by save_shards; {folder} has no {HEAD}.")
    try:
        found = json.loads(read_regular(folder / HEAD))
        form = found["format"]
        head = _as_head(folder, found) if form == FORMAT else None
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ValueError(f"{folder / HEAD} is damaged: {error!r}. Write the shards again.") from error
    if head is None:
        raise ValueError(f"{folder / HEAD} must have format {FORMAT}; got {form!r}. Write the shards again.")
    return head


def _as_head(folder: Path, found: dict[str, Any]) -> Head:
    n = check_size("shards", found["shards"], minimum=1)
    sizes = {name: check_size(name, found["sizes"][name]) for name in ("vertices", "hyperedges", "incidences")}
    for name, kinds in (("content", str), ("cut", dict), ("data", (dict, type(None)))):
        _check_kind(name, found[name], kinds)
    if found["data"] is not None:
        _check_data(found["data"])
    return Head(folder, n, found["content"], found["cut"], found["data"], sizes)


def _check_data(data: dict[str, Any]) -> None:
    """Raise unless the description of a dataset has everything that training needs."""
    nothing = type(None)
    kinds: dict[str, Any] = {
        "name": str,
        "class_names": list,
        "feature_names": (list, nothing),
        "construction": (str, nothing),
        "source": str,
        "description": dict,
    }
    for name, kind in kinds.items():
        _check_kind(name, data[name], kind)
    _check_kind("encoding", data.get("encoding"), (dict, nothing))
    n_features = check_size("features", data["description"]["features"])
    if data["feature_names"] is not None and len(data["feature_names"]) != n_features:
        raise ValueError(f"feature_names must be {n_features}, one per feature; got {len(data['feature_names'])}.")
    for name in SPLIT:
        check_size(name, data["split"][name])


def _check_kind(name: str, value: object, kinds: Any) -> None:
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be of another type than {type(value).__name__}")


def check_data_of(tensors: Mapping[str, Tensor], data: dict[str, Any], n_rows: int) -> None:
    """Raise unless features, classes and split of a shard fit its vertices and what the head says of the data.

    Args:
        tensors: What the file of the shard holds.
        data: What the head says.
        n_rows: Number of vertices of the shard.
    """
    y, n_classes = tensors["y"], len(data["class_names"])
    if y.dtype != torch.int64 or tuple(y.shape) != (n_rows,):
        raise ValueError(f"y must be {n_rows} classes; got {y.dtype} {tuple(y.shape)}")
    check_range("y", y + 1, n_classes + 1)  # -1 for none
    for name in SPLIT:
        ids = tensors[name]
        if ids.dtype != torch.int64 or ids.ndim != 1 or bool((ids.diff() <= 0).any()):
            raise ValueError(f"{name} must be rows in ascending order; got {ids.dtype} {tuple(ids.shape)}")
        check_range(name, ids, n_rows)
        if bool((y[ids] < 0).any()):
            raise ValueError(f"the vertices of {name} must have classes")
    before = tensors["entries_before"]
    if before.dtype != torch.int64 or tuple(before.shape) != (1,) or int(before) < 0:
        raise ValueError("entries_before must be a whole number of at least 0")
    _check_features(tensors, n_rows, data["description"]["features"])


def _check_features(tensors: Mapping[str, Tensor], n_rows: int, n_features: int) -> None:
    x = tensors["x"]
    if x.dtype != torch.float32 or not bool(x.isfinite().all()):
        raise ValueError(f"x must be finite numbers of type float32; got {x.dtype}")
    if "x_offsets" not in tensors:
        if tuple(x.shape) != (n_rows, n_features):
            raise ValueError(f"x must have shape {(n_rows, n_features)}; got {tuple(x.shape)}")
        return
    columns, offsets = tensors["x_columns"], tensors["x_offsets"]
    if any(one.dtype not in (torch.int32, torch.int64) for one in (columns, offsets)):
        raise ValueError(f"the indices of x must be int32 or int64; got {columns.dtype} and {offsets.dtype}")
    parts = (x.numpy(), columns.numpy(), offsets.numpy())
    check_sparse("x", sparse.csr_array(parts, shape=(n_rows, n_features)))
