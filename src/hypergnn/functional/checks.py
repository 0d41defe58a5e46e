"""Checks of features and structures; each error says what was expected, what was passed and how to fix it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hypergnn.kernels.checks import check_csr
from hypergnn.structures.base import TwoSided
from hypergnn.structures.block import Block, GraphBlock
from hypergnn.structures.graph import Graph
from hypergnn.structures.shared_graph import SharedGraph
from hypergnn.structures.sparse_features import SparseFeatures

Features = Tensor | SparseFeatures
WIDE = (torch.float32, torch.float64, torch.bfloat16)
"""The types that operators compute in."""


def check_plain(name: str, x: Tensor) -> None:
    """Raise if a tensor is nested, or a view that has yet to be negated: compiled loops would not negate it."""
    if x.is_nested:
        raise TypeError(
            f"{name} must be a rectangular tensor; got a nested one. Pad it, e.g. with torch.nested.to_padded_tensor."
        )
    if not torch.compiler.is_compiling() and x.is_neg():
        raise TypeError(f"{name} must not be a view with the negative bit. Resolve it, e.g. {name}.resolve_neg().")


def check_features(
    x: object,
    n_rows: int | None,
    device: torch.device | None,
    *,
    name: str = "x",
    rows: str = "vertex",
    width: int | None = None,
) -> None:
    """Raise unless ``x`` is a floating-point tensor with ``n_rows`` rows, on ``device``; ``None`` for any."""
    if not isinstance(x, (Tensor, SparseFeatures)):
        raise TypeError(
            f"{name} must be a torch tensor; got {type(x).__name__}. Convert it, e.g. "
            f"torch.as_tensor({name}, dtype=torch.float32)."
        )
    if not x.dtype.is_floating_point:
        raise TypeError(f"{name} must be of a floating-point dtype; got {x.dtype}. Convert it, e.g. {name}.float().")
    if x.dtype not in WIDE:
        kind = str(x.dtype).removeprefix("torch.")
        raise TypeError(f"{name} must not be {kind}, which is too narrow for degrees: use bfloat16 or float32.")
    if isinstance(x, Tensor):
        check_plain(name, x)
    if isinstance(x, Tensor) and x.layout not in (torch.strided, torch.sparse_csr):
        raise TypeError(f"{name} must be dense or sparse CSR; got {x.layout}. Convert it, e.g. x.to_sparse_csr().")
    if len(x.shape) < 2 or n_rows not in (None, x.shape[-2]):
        size = "N" if n_rows is None else n_rows
        raise ValueError(f"{name} must have shape (..., {size}, features), one row per {rows}; got {tuple(x.shape)}.")
    if isinstance(x, Tensor) and x.layout == torch.sparse_csr and x.dim() > 2:
        raise ValueError(f"{name} must have two dimensions if it is sparse; got {tuple(x.shape)}.")
    if isinstance(x, Tensor) and x.layout == torch.sparse_csr:
        check_csr(x)
    if width is not None and x.shape[-1] != width:
        raise ValueError(f"{name} must have {width} features per {rows}; got {x.shape[-1]}.")
    if device is not None and x.device != device:
        raise ValueError(f"{name} is on {x.device} but the structure is on {device}: move one of them with .to().")


def check_like(name: str, tensor: object, x: Tensor | SparseFeatures, shape: tuple[int, ...], meaning: str) -> None:
    """Raise unless ``tensor`` ends in ``shape`` and has the dtype and device of ``x``."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch tensor; got {type(tensor).__name__}.")
    check_plain(name, tensor)
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} must be dense; got {tensor.layout}. Convert it, e.g. {name}.to_dense().")
    if tuple(tensor.shape[-len(shape) :]) != shape:
        raise ValueError(f"{name} must have shape {shape}, {meaning}; got {tuple(tensor.shape)}.")
    if tensor.dtype != x.dtype:
        raise TypeError(f"{name} must have the dtype of x, {x.dtype}; got {tensor.dtype}. Convert one with .to().")
    if tensor.device != x.device:
        raise ValueError(f"{name} must be on the device of x, {x.device}; got {tensor.device}. Move one with .to().")


def check_hypergraph(H: object, *, reads: bool = True) -> None:
    """Raise unless ``H`` is a hypergraph or a block of one, and sound, unless that is checked later."""
    if not isinstance(H, TwoSided):
        raise TypeError(
            f"H must be a Hypergraph or a Block; got {type(H).__name__}. "
            "Make one, e.g. with Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges)."
        )
    if reads:
        H.check()


def check_graph(graph: object, *, may_be_shared: bool = False) -> None:
    """Raise unless ``graph`` is a graph or a block of one, which lists its links unless ``may_be_shared``."""
    kinds = (Graph, GraphBlock, SharedGraph) if may_be_shared else (Graph, GraphBlock)
    if not isinstance(graph, kinds):
        raise TypeError(
            f"graph must be a Graph or a GraphBlock; got {type(graph).__name__}. "
            "Make one, e.g. with Graph.from_links(source, target, n_vertices)."
        )
    graph.check()


def check_same_rows(graph: Graph | GraphBlock | SharedGraph, H: TwoSided) -> None:
    """Raise unless a graph and a hypergraph have the same vertices."""
    for what in ("n_vertices", "n_receivers"):
        mine, yours = getattr(graph, what), getattr(H, what)
        if mine != yours:
            raise ValueError(f"graph and hypergraph must have the same vertices; got {mine} and {yours}.")
    are_blocks = isinstance(graph, GraphBlock) and isinstance(H, Block) and not torch.compiler.is_compiling()
    if are_blocks and not all(torch.equal(getattr(graph, what), getattr(H, what)) for what in ("read", "made")):
        raise ValueError(
            "blocks of a graph and a hypergraph must read and make the same vertices; make both with "
            "hypergnn.loader.receptive_field."
        )


def check_heads(name: str, x: Tensor, n_rows: int, device: torch.device) -> None:
    """Raise unless ``x`` is a tensor of features ``(..., n_rows, heads, features)``."""
    is_tensor = isinstance(x, Tensor)
    if is_tensor:
        check_plain(name, x)
    if is_tensor and x.layout != torch.strided:
        raise TypeError(f"{name} must be dense; got {x.layout}. Convert it, e.g. {name}.to_dense().")
    if is_tensor and x.dim() < 3:
        raise ValueError(f"{name} must have shape (..., {n_rows}, heads, features); got {tuple(x.shape)}.")
    rows = "vertex" if name == "x" else "hyperedge"
    check_features(x.flatten(-2) if is_tensor else x, n_rows, device, name=name, rows=rows)


def check_slope(slope: object) -> None:
    """Raise unless the slope of LeakyReLU is a finite number."""
    if isinstance(slope, bool) or not isinstance(slope, (int, float)) or not math.isfinite(slope):
        raise ValueError(f"negative_slope must be a finite number; got {slope!r}.")
