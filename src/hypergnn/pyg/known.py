"""What is known of tensors that a training loop passes again and again: their structure, and that they are sparse.

All of it is held weakly: it is gone when the tensor is. A structure is used again only if the ids are still the same,
number by number, which costs little beside a layer. Features are used again only if torch has counted no change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from hypergnn._utils.checks import as_ids
from hypergnn.functional.checks import Features
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence
from hypergnn.structures.sparse_features import SparseFeatures

_FEW = 0.1
"""Features with at most this share of non-zeros are used sparsely."""
_SMALL = 100_000
"""Features with fewer entries are not worth a look."""
_SAMPLE = 4096
Stamp = tuple[int, int]


@dataclass
class Structure:
    """A hypergraph made of ``hyperedge_index``."""

    H: Hypergraph
    place: Tensor | None = None
    """Which incidence each column of ``hyperedge_index`` is, where columns may repeat."""
    times: Tensor | None = None
    """How often each incidence is listed, ``(n_incidences,)`` float64; ``None`` if all are listed once."""
    weighted: tuple[Tensor, Hypergraph] | None = None
    """The last weights that were given, and the hypergraph with them."""


@dataclass
class _Index:
    """The ids that structures were made of."""

    ids: Tensor
    structures: dict[tuple[int, bool], Structure] = field(default_factory=dict)


@dataclass
class _Seen:
    """Features that were seen before, and their sparse form if few entries are not zero."""

    stamp: Stamp
    sparse: SparseFeatures | None


_indices: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
_features: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def structure_of(index: Tensor, n_vertices: int, n_hyperedges: int | None = None, *, may_repeat: bool) -> Structure:
    """The hypergraph of ``hyperedge_index``, with as many hyperedges as its largest id asks for.

    Args:
        index: ``(2, incidences)``: vertices and hyperedges.
        n_vertices: Number of vertices.
        n_hyperedges: Number of hyperedges in a traced program, which cannot look at the ids.
        may_repeat: Whether a pair that stands twice counts twice, as in PyG, or is an error.
    """
    if torch.compiler.is_compiling():
        return _sorted(index, n_vertices, n_hyperedges)
    known = _indices.get(index)
    if known is None or known.ids.shape != index.shape or not torch.equal(known.ids, index):
        _check_index(index)
        known = _indices[index] = _Index(index.detach().clone())
    key = (n_vertices, may_repeat)
    if key not in known.structures:
        with torch.inference_mode(False), torch.no_grad():  # the next call may need a gradient
            known.structures[key] = _made(known.ids, n_vertices, may_repeat)
    found: Structure = known.structures[key]
    return found


def with_weight(structure: Structure, weight: Tensor) -> Hypergraph:
    """The hypergraph with constant weights ``(M,)`` in place of ones; the last one is remembered."""
    if structure.weighted is not None and torch.equal(structure.weighted[0], weight):
        return structure.weighted[1]
    with torch.inference_mode(False), torch.no_grad():
        own, pairs = weight.detach().clone(), structure.H.incidence
        exact = own.double()
        degree = exact.new_zeros(pairs.n_rows).index_add(0, pairs.rows(), exact[pairs.members])  # D
        structure.weighted = own, replace(structure.H, weight=exact, _vertex_degree=degree)
    return structure.weighted[1]


def sparse_if_few(x: Features) -> Features:
    """Constant features that are mostly zeros in sparse form, which is remembered; all others as they are."""
    if not _may_be_sparse(x):
        return x
    stamp = (x._version, x.data_ptr())
    seen = _features.get(x)
    if seen is None or seen.stamp != stamp:
        seen = _features[x] = _Seen(stamp, _as_sparse(x))
    return x if seen.sparse is None else seen.sparse


def _may_be_sparse(x: Features) -> TypeGuard[Tensor]:
    if torch.compiler.is_compiling() or type(x) is not Tensor or x.layout != torch.strided:
        return False
    if x.requires_grad or x.is_inference() or x.dim() != 2 or x.device.type != "cpu" or x.numel() < _SMALL:
        return False
    return x.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")


def _as_sparse(x: Tensor) -> SparseFeatures | None:
    """The sparse form; ``None`` if more than a few entries are not zero, which some rows mostly tell."""
    some = x[:: max(x.numel() // _SAMPLE, 1)]
    if float(some.count_nonzero()) > _FEW * some.numel():
        return None
    with torch.inference_mode(False), torch.no_grad():
        rows, columns = x.nonzero().unbind(1)
        if rows.shape[0] > _FEW * x.numel():
            return None
        entries = Incidence.from_pairs(rows.numpy(), columns.numpy(), *x.shape)
        return SparseFeatures(entries, values=x.detach()[rows, columns])


def _check_index(index: object) -> None:
    if not isinstance(index, Tensor) or index.dim() != 2 or index.shape[0] != 2:
        given = tuple(index.shape) if isinstance(index, Tensor) else type(index).__name__
        raise ValueError(
            "hyperedge_index must be a tensor of shape (2, incidences), vertices in the first row and hyperedges in "
            f"the second; got {given}."
        )


def _made(ids: Tensor, n_vertices: int, may_repeat: bool) -> Structure:
    vertex = as_ids("hyperedge_index[0]", ids[0], n_vertices, "the number of rows of x")
    n_hyperedges = int(ids[1].max()) + 1 if ids.shape[1] else 0
    hyperedge = as_ids("hyperedge_index[1]", ids[1], max(n_hyperedges, 0), "the number of hyperedges")
    if not may_repeat:
        return Structure(Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges).to(ids.device))
    pairs, place, times = np.unique(vertex * n_hyperedges + hyperedge, return_inverse=True, return_counts=True)
    vertex, hyperedge = np.divmod(pairs, max(n_hyperedges, 1))
    H = Hypergraph.from_incidence(vertex, hyperedge, n_vertices, n_hyperedges).to(ids.device)
    repeats = torch.from_numpy(times).double().to(ids.device) if (times > 1).any() else None
    return Structure(H, torch.from_numpy(place.reshape(-1)).to(ids.device), repeats)


def _sorted(ids: Tensor, n_vertices: int, n_hyperedges: int | None = None) -> Structure:
    """The hypergraph by operators of torch, which a traced program can hold; no pair may stand twice."""
    n_hyperedges = int(ids[1].max()) + 1 if n_hyperedges is None else n_hyperedges
    order = torch.argsort(ids[0] * n_hyperedges + ids[1], stable=True)
    vertex, hyperedge = ids[0][order], ids[1][order]
    back = torch.argsort(hyperedge, stable=True)
    parts = (
        _offsets(vertex, n_vertices),
        hyperedge,
        None,
        _offsets(hyperedge[back], n_hyperedges),
        vertex[back],
        back,
    )
    index = torch.int32 if max(n_vertices, n_hyperedges, ids.shape[1]) < torch.iinfo(torch.int32).max else torch.int64
    incidence = Incidence(*(None if one is None else one.to(index) for one in parts))  # type: ignore[arg-type]
    weight = torch.ones(n_hyperedges, dtype=torch.float64, device=ids.device)
    degrees = incidence.offsets.diff().double(), incidence.back_offsets.diff().double()
    return Structure(Hypergraph(incidence, weight, *degrees), place=torch.argsort(order))


def _offsets(ascending: Tensor, n_groups: int) -> Tensor:
    groups = torch.arange(n_groups + 1, dtype=ascending.dtype, device=ascending.device)
    return torch.searchsorted(ascending, groups)
