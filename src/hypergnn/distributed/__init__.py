"""Several processes under ``torchrun``: each holds some of the vertices, and only sums of hyperedges cross.

>>> import torch, hypergnn as hg
>>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4)
>>> x, layer = torch.rand(4, 8), hg.HypergraphConv(8, 2)
>>> with hg.distributed.start():
...     shard = hg.distributed.shard(H)
...     rows = layer(x[shard.vertices], shard)  # those of layer(x, H)
>>> rows.shape
torch.Size([4, 2])
"""

from hypergnn.distributed.batches import fit_batches
from hypergnn.distributed.files import ShardedDataset, load_data, load_shard, save_shards
from hypergnn.distributed.groups import (
    OtherProcessError,
    check_same,
    is_started_by_torchrun,
    rank_and_size,
    start,
    sum_gradients,
    sum_of_all,
)
from hypergnn.distributed.partitioning import Cut, cut, partition
from hypergnn.distributed.shards import Shard, shard
from hypergnn.distributed.training import fit

__all__ = [
    "Cut",
    "OtherProcessError",
    "Shard",
    "ShardedDataset",
    "check_same",
    "cut",
    "fit",
    "fit_batches",
    "is_started_by_torchrun",
    "load_data",
    "load_shard",
    "partition",
    "rank_and_size",
    "save_shards",
    "shard",
    "start",
    "sum_gradients",
    "sum_of_all",
]
