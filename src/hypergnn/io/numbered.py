"""Libraries that identify vertices and hyperedges by number: SciPy, PyTorch Geometric (PyG), DeepHypergraph (DHG)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hypergnn._utils.checks import check_choice
from hypergnn._utils.extras import import_extra
from hypergnn.io.losses import check_holds, check_undirected, refuse
from hypergnn.structures.batches import HypergraphBatch, batch
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph

if TYPE_CHECKING:
    import dhg
    from scipy import sparse
    from torch_geometric.data import Data

Weights = npt.NDArray[np.float64]
Sparse: TypeAlias = "sparse.sparray | sparse.spmatrix"
_PYG_ATTRIBUTES = {
    "centroid": "hyperedge_centroid",
    "vertex_names": "vertex_names",
    "hyperedge_names": "hyperedge_names",
    "time": "hyperedge_time",
}


@overload
def to_scipy(H: Hypergraph, *, ignore: Collection[str] = ()) -> tuple[sparse.csr_array, Weights]: ...
@overload
def to_scipy(
    H: DirectedHypergraph, *, ignore: Collection[str] = ()
) -> tuple[sparse.csr_array, Weights, sparse.csr_array]: ...
def to_scipy(H: Hypergraph | DirectedHypergraph, *, ignore: Collection[str] = ()) -> tuple[Any, ...]:
    """Return the ``(N, M)`` incidence matrix of zeros and ones, and the ``(M,)`` hyperedge weights.

    Of a directed hypergraph, return the matrix of the tails, the weights, and the matrix of the heads.

    Args:
        H: The hypergraph.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, ``"centroids"``, ``"times"``.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=3, weight=[1.0, 2.0])
        >>> incidence, weight = io.to_scipy(H)
        >>> incidence.toarray().tolist(), weight.tolist()
        ([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [1.0, 2.0])
    """
    check_holds(H, "an incidence matrix", ("names", "centroids", "times"), ignore)
    weight = H.weight.cpu().numpy().copy()
    if isinstance(H, DirectedHypergraph):
        tails, heads = H.to_scipy()
        return tails, weight, heads
    return H.to_scipy(), weight


@overload
def from_scipy(incidence: Sparse, weight: Any = None, heads: None = None) -> Hypergraph: ...
@overload
def from_scipy(incidence: Sparse, weight: Any, heads: Sparse) -> DirectedHypergraph: ...
def from_scipy(incidence: Sparse, weight: Any = None, heads: Sparse | None = None) -> Hypergraph | DirectedHypergraph:
    """Make a hypergraph from a sparse ``(N, M)`` matrix of zeros and ones and the hyperedge weights.

    Args:
        incidence: One row per vertex and one column per hyperedge.
        weight: One positive weight per hyperedge; all ones if omitted.
        heads: A second matrix of the same shape makes a directed hypergraph: ``incidence`` holds the tails, and this
            one the heads.

    Example:
        >>> import hypergnn as hg
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=3, weight=[1.0, 2.0])
        >>> io.from_scipy(*io.to_scipy(H)).equals(H)
        True
        >>> tails, weight, heads = io.to_scipy(hg.DirectedHypergraph.from_hyperedges([([0], [1, 2])], n_vertices=3))
        >>> io.from_scipy(tails, weight, heads).to_hyperedges()
        [([0], [1, 2])]
    """
    if heads is not None:
        return DirectedHypergraph.from_scipy(incidence, heads, weight)
    return Hypergraph.from_scipy(incidence, weight)


def to_pyg(H: Hypergraph, *, kind: str = "Data", dtype: torch.dtype = torch.float64) -> Data:
    """Return a PyG data object with the incidences, to which features and labels can be added.

    It has ``hyperedge_index`` (``edge_index`` in a ``HyperGraphData``), ``hyperedge_weight``, ``num_nodes`` and
    ``num_hyperedges``. PyG infers the number of hyperedges from the largest id and so misses empty ones at the end;
    hence ``num_hyperedges``. If ``H`` has them, ``hyperedge_centroid``, ``vertex_names``, ``hyperedge_names`` and
    ``hyperedge_time`` are added. A batch becomes a PyG ``Batch`` of :class:`hypergnn.pyg.HypergraphData`, which PyG's
    loaders join rightly.

    Args:
        H: The hypergraph, or a batch of several.
        kind: ``"Data"`` or ``"HyperGraphData"``.
        dtype: Of the weights. The default is exact; a network in single precision needs ``torch.float32``.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> io.to_pyg(Hypergraph.from_hyperedges([[0, 1], [1], []], n_vertices=3))
        Data(num_nodes=3, hyperedge_index=[2, 3], hyperedge_weight=[3], num_hyperedges=3)
    """
    check_choice("kind", kind, ("Data", "HyperGraphData"))
    check_undirected(H, "a PyG data object")
    if isinstance(H, HypergraphBatch):
        return _to_pyg_batch(H, kind, dtype)
    data = import_extra("torch_geometric.data.hypergraph_data", "interop")
    index = torch.stack([H._vertex_ids.long(), H._hyperedge_ids.long()])
    made = data.Data() if kind == "Data" else data.HyperGraphData()
    made.num_nodes = H.n_vertices
    made["hyperedge_index" if kind == "Data" else "edge_index"] = index
    made["hyperedge_weight"] = H.weight.to(dtype, copy=True)  # a copy: changes to data must not change H
    made["num_hyperedges"] = H.n_hyperedges
    for ours, theirs in _PYG_ATTRIBUTES.items():
        if getattr(H, ours) is not None:
            made[theirs] = deepcopy(getattr(H, ours))
    return made


def _to_pyg_batch(H: HypergraphBatch, kind: str, dtype: torch.dtype) -> Any:
    if kind != "Data":
        raise ValueError(
            "kind must be 'Data' for a batch: PyG numbers the hyperedges of a batch of HyperGraphData wrongly if the "
            f"last one of a member is empty; got {kind!r}."
        )
    data = import_extra("torch_geometric.data", "interop")
    from hypergnn.pyg.data import HypergraphData

    members = [HypergraphData.from_dict(to_pyg(one, dtype=dtype).to_dict()) for one in H.split()]
    for one in members:  # all or none must have an attribute
        missing = {
            "hyperedge_centroid": torch.full((one.num_hyperedges,), -1),
            "vertex_names": np.arange(one.num_nodes),
            "hyperedge_names": np.arange(one.num_hyperedges),
        }
        for name, value in missing.items():
            if name not in one and any(name in other for other in members):
                one[name] = value
    return data.Batch.from_data_list(members)


def from_pyg(data: Data) -> Hypergraph:
    """Make a hypergraph from the incidences of a PyG data object; features, labels and masks stay in ``data``.

    A PyG ``Batch`` becomes a :class:`hypergnn.HypergraphBatch` of its members.

    The number of vertices is ``num_nodes`` or the number of rows of ``x``. The number of hyperedges is
    ``num_hyperedges``, or the number of weights, or else the largest id plus one, as in PyG.

    Args:
        data: A ``Data`` with ``hyperedge_index`` or a ``HyperGraphData`` with ``edge_index``.

    Raises:
        ValueError: If there are no incidences or the number of vertices is unknown.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1], []], n_vertices=3)
        >>> io.from_pyg(io.to_pyg(H, kind="HyperGraphData")).equals(H)
        True
    """
    pyg = import_extra("torch_geometric.data.hypergraph_data", "interop")
    if not isinstance(data, pyg.Data):
        raise TypeError(f"data must be a torch_geometric Data; got {type(data).__name__}.")
    if isinstance(data, import_extra("torch_geometric.data", "interop").Batch):
        return batch([from_pyg(one) for one in data.to_data_list()])
    held = data.to_dict()  # only what was set; attributes of the object include what PyG infers
    index = held.get("edge_index" if isinstance(data, pyg.HyperGraphData) else "hyperedge_index")
    if not isinstance(index, Tensor) or index.dim() != 2 or index.shape[0] != 2:
        raise ValueError(
            "data must have hyperedge_index (edge_index in a HyperGraphData), a tensor of shape (2, incidences) with "
            f"vertices in the first row; got {tuple(index.shape) if isinstance(index, Tensor) else repr(index)}."
        )
    n_vertices = held.get("num_nodes", held["x"].shape[0] if held.get("x") is not None else None)
    if n_vertices is None:
        raise ValueError("data must define the number of vertices: set data.num_nodes or data.x.")
    weight = held.get("hyperedge_weight")
    inferred = int(index[1].max()) + 1 if index.shape[1] else 0
    given = held.get("num_hyperedges", inferred if weight is None else weight.shape[0])
    return Hypergraph.from_incidence(
        index[0],
        index[1],
        n_vertices,
        int(given) if isinstance(given, Tensor) else given,  # what comes out of a Batch is a tensor
        weight,
        **{ours: held.get(theirs) for ours, theirs in _PYG_ATTRIBUTES.items()},
    )


def to_dhg(H: Hypergraph, *, ignore: Collection[str] = ()) -> dhg.Hypergraph:
    """Return a DHG hypergraph with the same vertices, hyperedges and weights.

    Args:
        H: The hypergraph. It must have a vertex and no two hyperedges with the same vertices: DHG would merge them,
            which changes weights and the numbers of other hyperedges.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, ``"centroids"``, ``"times"``.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> io.to_dhg(Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=3))
        Hypergraph(num_v=3, num_e=2)
    """
    check_undirected(H, "a DHG hypergraph")
    check_holds(H, "a DHG hypergraph", ("names", "centroids", "times"), ignore)
    if H.n_vertices == 0:
        raise ValueError("a DHG hypergraph must have at least one vertex; got none.")
    members = list(map(tuple, H.to_hyperedges()))
    if len(set(members)) < len(members):
        repeated, times = Counter(members).most_common(1)[0]
        raise ValueError(
            f"DHG merges hyperedges with the same vertices; {times} have {list(repeated)[:10]}. "
            "Merge these hyperedges first and add up their weights."
        )
    return import_extra("dhg", "interop").Hypergraph(H.n_vertices, members or None, H.weight.tolist())


def from_dhg(hypergraph: dhg.Hypergraph, *, ignore: Collection[str] = ()) -> Hypergraph:
    """Make a hypergraph from the vertices, hyperedges and weights of a DHG hypergraph.

    Args:
        hypergraph: Its groups of hyperedges are concatenated.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"vertex_weights"``, and ``"attrs"``
            for the groups of the hyperedges, if there are several.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=3, weight=[1.0, 2.0])
        >>> io.from_dhg(io.to_dhg(H)).equals(H)
        True
    """
    dhg = import_extra("dhg", "interop")
    if not isinstance(hypergraph, dhg.Hypergraph):
        raise TypeError(f"hypergraph must be a dhg.Hypergraph; got {type(hypergraph).__name__}.")
    groups = hypergraph.group_names
    lost = {
        "vertex_weights": "weights of vertices" if any(weight != 1 for weight in hypergraph.v_weight) else "",
        "attrs": f"groups of hyperedges ({', '.join(map(repr, groups))})" if len(groups) > 1 else "",
    }
    refuse("a Hypergraph", lost, ignore, tuple(lost))
    hyperedges, weight = hypergraph.e
    return Hypergraph.from_hyperedges(hyperedges, hypergraph.num_v, weight)
