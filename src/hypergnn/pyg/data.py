"""PyG's ``Data`` for hypergraphs: batches of it number vertices and hyperedges rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hypergnn._utils.extras import import_extra

if TYPE_CHECKING:
    from torch_geometric.data import Data
else:
    Data = import_extra("torch_geometric.data", "interop").Data


class HypergraphData(Data):  # type: ignore[misc]  # PyG comes without types
    """A ``Data`` with ``hyperedge_index`` that PyG's ``Batch`` and ``DataLoader`` join without mixing up hyperedges.

    In a batch of plain ``Data``, PyG shifts the ids of the hyperedges by the number of vertices: with more hyperedges
    than vertices, hyperedges of different members become one. Here they are shifted by ``num_hyperedges``, which is
    the largest id plus one unless you set it. ``hyperedge_centroid`` stays a number within its member.

    Example:
        >>> from torch_geometric.data import Batch
        >>> index = torch.tensor([[0, 1, 1], [0, 0, 2]])
        >>> one = HypergraphData(x=torch.rand(2, 4), hyperedge_index=index)
        >>> Batch.from_data_list([one, one]).hyperedge_index.tolist()
        [[0, 1, 1, 2, 3, 3], [0, 0, 2, 3, 3, 5]]
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """How much the ids of the next member in a batch are shifted."""
        if key == "hyperedge_index":
            return torch.tensor([[self.num_nodes], [self._n_hyperedges()]])
        return super().__inc__(key, value, *args, **kwargs)

    def _n_hyperedges(self) -> int:
        given = self.to_dict().get("num_hyperedges")
        if given is not None:
            return int(given)
        ids = self.hyperedge_index[1]
        return int(ids.max()) + 1 if ids.numel() else 0
