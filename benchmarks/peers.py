"""The peers: PyG, DHG and plain ``torch.sparse``, each behind the same interface."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, elu

from hypergnn import Hypergraph
from hypergnn.datasets import Dataset


class Peer(ABC):
    """A library: its representation of hypergraphs and features, and its layers."""

    name: str

    @abstractmethod
    def structure(self, H: Hypergraph) -> Any:
        """Convert a hypergraph with unit weights."""

    @abstractmethod
    def conv(self, n_in: int, n_out: int, *, bias: bool = True) -> nn.Module:
        """A convolution layer; its ``forward`` takes features and structure."""

    def attention(self, n_in: int, n_out: int, *, heads: int, dropout: float) -> nn.Module:
        """An attention layer, if the library has one."""
        raise NotImplementedError(f"{self.name} has no hypergraph attention")

    def features(self, data: Dataset) -> Any:
        """Row-normalised features; dense, as most libraries load them."""
        return data.features("row").to_dense()

    def drop(self, x: Any, rate: float, training: bool) -> Any:
        """Dropout of features."""
        return dropout(x, rate, training)


class PyG(Peer):
    """``torch_geometric.nn.HypergraphConv``: the row-normalised transition without weights."""

    name = "PyG"

    def structure(self, H: Hypergraph) -> Any:
        """The index of PyG, and the number of hyperedges, which saves PyG a search."""
        return torch.stack([H.vertex, H.hyperedge]).long(), H.n_hyperedges

    def conv(self, n_in: int, n_out: int, *, bias: bool = True) -> nn.Module:
        """The layer itself."""
        from torch_geometric.nn import HypergraphConv

        layer = HypergraphConv(n_in, n_out, bias=bias)
        return _Adapter(layer, lambda x, at: layer(x, at[0], num_edges=at[1]))

    def attention(self, n_in: int, n_out: int, *, heads: int, dropout: float) -> nn.Module:
        """The layer with attention over the hyperedges of a vertex; the centroid of hyperedge e is vertex e."""
        from torch_geometric.nn import HypergraphConv

        layer = HypergraphConv(
            n_in, n_out, use_attention=True, attention_mode="edge", heads=heads, dropout=dropout, bias=True
        )
        return _Adapter(layer, lambda x, at: layer(x, at[0], hyperedge_attr=x, num_edges=at[1]))


class DHG(Peer):
    """``dhg.nn.HGNNConv``: the symmetric transition as one matrix of vertices × vertices."""

    name = "DHG"
    layer = "HGNNConv"

    def structure(self, H: Hypergraph) -> Any:
        """A DHG hypergraph; equal hyperedges are merged and their weights added, which does not change ``T``."""
        import dhg

        members = H.incidence.back_members.split(H.incidence.back_offsets.diff().tolist())
        return dhg.Hypergraph(H.n_vertices, [part.tolist() for part in members if part.numel()], merge_op="sum")

    def conv(self, n_in: int, n_out: int, *, bias: bool = True) -> nn.Module:
        """The layer without the activation and dropout of DHG."""
        import dhg

        # DHG's own products raise this warning on every call.
        warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")
        layer = getattr(dhg.nn, self.layer)(n_in, n_out, bias=bias, drop_rate=0.0, is_last=True)
        return _Adapter(layer, layer)


class DHGPlus(DHG):
    """``dhg.nn.HGNNPConv``: the row-normalised transition in two steps."""

    name = "DHG, HGNN+"
    layer = "HGNNPConv"


class TorchSparse(Peer):
    """The convolution as two products with ``torch.sparse`` CSR matrices, prepared once, each with its transpose."""

    name = "torch.sparse"

    def __init__(self, normalization: str = "symmetric") -> None:
        """``"symmetric"`` or ``"row"``."""
        self.normalization = normalization

    def structure(self, H: Hypergraph) -> Any:
        """``D^-1/2 H B^-1`` and ``Hᵀ D^-1/2``, or ``D^-1 H B^-1`` and ``Hᵀ``, scaled in advance."""
        incidence = H.to_scipy().astype("float32")  # (N, M)
        symmetric = self.normalization == "symmetric"
        degree, size = H.vertex_degree().clamp(min=1), H.hyperedge_degree().clamp(min=1)
        left = degree.pow(-0.5 if symmetric else -1.0).numpy().astype("float32")
        to_vertices = incidence.multiply(left[:, None]).multiply((1 / size).numpy().astype("float32")).tocsr()
        to_hyperedges = (incidence.multiply(left[:, None]) if symmetric else incidence).T.tocsr()
        return Matrix.of(to_vertices), Matrix.of(to_hyperedges)

    def conv(self, n_in: int, n_out: int, *, bias: bool = True) -> nn.Module:
        """Projection, two products and bias."""
        return SparseConv(n_in, n_out, bias=bias)

    def features(self, data: Dataset) -> Any:
        """Sparse if the data is sparse."""
        x = data.scaled("row")
        return Matrix.of(x.tocsr()) if hasattr(x, "tocsr") else torch.from_numpy(x)

    def drop(self, x: Any, rate: float, training: bool) -> Any:
        """Dropout of the stored entries."""
        if not isinstance(x, Matrix):
            return dropout(x, rate, training)
        return x.with_values(dropout(x.matrix.values(), rate)) if training else x


@dataclass(frozen=True)
class Matrix:
    """A constant CSR matrix with its transpose, which the gradient needs."""

    matrix: Tensor
    transposed: Tensor
    order: Tensor
    """The position in the matrix of each entry of the transpose."""

    @classmethod
    def of(cls, matrix: Any) -> Matrix:
        """Convert a SciPy CSR matrix."""
        places = matrix.copy()
        places.data = torch.arange(matrix.nnz).numpy()
        order = places.T.tocsr()
        values = torch.from_numpy(matrix.data)
        return cls(
            _csr(matrix.indptr, matrix.indices, values, matrix.shape),
            _csr(order.indptr, order.indices, values[torch.from_numpy(order.data)], order.shape),
            torch.from_numpy(order.data),
        )

    def with_values(self, values: Tensor) -> Matrix:
        """The same sparsity pattern with other values."""
        return Matrix(_like(self.matrix, values), _like(self.transposed, values[self.order]), self.order)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """The product with a dense matrix, differentiable in the dense matrix."""
        apply: Callable[..., Tensor] = _Product.apply
        return apply(dense, self.matrix, self.transposed)


class SparseConv(nn.Module):
    """``T X P + b`` with ``T`` as two sparse matrices."""

    def __init__(self, n_in: int, n_out: int, *, bias: bool) -> None:
        """Draw the parameters."""
        super().__init__()
        self.projection = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_in, n_out)))
        self.bias = nn.Parameter(torch.zeros(n_out)) if bias else None

    def forward(self, x: Tensor | Matrix, structure: tuple[Matrix, Matrix]) -> Tensor:
        """Convolve dense or sparse features."""
        to_vertices, to_hyperedges = structure
        out = to_vertices @ (to_hyperedges @ (x @ self.projection))
        return out if self.bias is None else out + self.bias


class Network(nn.Module):
    """The paper's two-layer network built from a peer's layers: 8 heads of 8 features, then one score per class."""

    def __init__(self, peer: Peer, n_features: int, n_classes: int, *, attention: bool = False) -> None:
        """Create both layers. The heads of a convolution are one wide projection."""
        super().__init__()
        self.peer = peer
        if attention:
            layers = [
                peer.attention(n_features, 8, heads=8, dropout=0.6),
                peer.attention(64, n_classes, heads=1, dropout=0.6),
            ]
        else:
            layers = [peer.conv(n_features, 64), peer.conv(64, n_classes)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Any, structure: Any) -> Tensor:
        """Scores of the classes for each vertex."""
        for layer in self.layers:
            x = elu(layer(self.peer.drop(x, 0.6, self.training), structure))
        return cast(Tensor, x)


class _Adapter(nn.Module):
    """A layer that is called with features and structure."""

    def __init__(self, layer: nn.Module, call: Callable[[Tensor, Any], Tensor]) -> None:
        super().__init__()
        self.layer, self._call = layer, call

    def forward(self, x: Tensor, structure: Any) -> Tensor:
        return self._call(x, structure)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: Tensor, transposed: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return ctx.transposed @ gradient, None, None


def _csr(indptr: Any, indices: Any, values: Tensor, shape: Any) -> Tensor:
    """A CSR tensor with 32-bit indices, which the products need; others would be converted in every call."""
    rows, columns = (torch.from_numpy(part).int() for part in (indptr, indices))
    return torch.sparse_csr_tensor(rows, columns, values, tuple(shape), check_invariants=False)


def _like(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, matrix.shape, check_invariants=False
    )
