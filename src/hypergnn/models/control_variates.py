"""Sampled training with less variance: layers sample only what has changed since the last look at all vertices.

Instead of ``T̂ x``, with the sampled transition ``T̂``, a layer computes

    T̂ (x - x̄) + T x̄

with the full transition ``T`` and activations ``x̄`` of all vertices that were stored when ``T x̄`` was computed. The
mean over all draws is ``T x`` again, for linear propagation, and the variance is that of the small difference. In the
first layer ``x̄`` are the features, which never change: only their dropout is sampled.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor

from hypergnn.functional.projection import drop, project, to_dense
from hypergnn.kernels.dropout import activate
from hypergnn.layers import HypergraphConv
from hypergnn.loader import Batch, NeighborLoader
from hypergnn.loader.features import Rows, rows_of
from hypergnn.models.inference import Matrix, gathered_by_parts, parts_of, received, room
from hypergnn.models.network import Network
from hypergnn.structures.block import Block

AT_ONCE = 1 << 24
"""Entries of a matrix up to which it stays in memory; larger ones are in temporary files, and computed by parts."""
_STEP = 1 << 14


class ControlVariates:
    """A network on batches whose layers sample only what has changed since :meth:`refresh`.

    Call it in place of the network. The memory is two rows per vertex and layer; what is large is in temporary files
    (in ``TMPDIR``). The gradient of the stored activations is left out.

    Args:
        network: The network, made of :class:`~hypergnn.HypergraphConv` layers with fixed weights.
        loader: The loader of the batches, which knows the hypergraph and the features of all vertices.

    Raises:
        ValueError: If the transition of a layer is not fixed, so that it cannot be applied before training.

    Example:
        >>> import hypergnn as hg
        >>> H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [3, 4, 5]], n_vertices=6)
        >>> network = hg.Network(hg.Config(dropout=0.0), n_features=8, n_classes=2)
        >>> x = torch.rand(6, 8)
        >>> loader = hg.NeighborLoader(H, x, fanout=[(1, 1), (1, 1)], batch_size=3)
        >>> variates = ControlVariates(network, loader)
        >>> everything = variates.refresh()  # once per epoch
        >>> for batch in loader:  # exact, as long as the parameters are those of the last refresh
        ...     torch.testing.assert_close(variates(batch), network(x, hypergraph=H)[batch.vertices])
    """

    def __init__(self, network: Network, loader: NeighborLoader) -> None:
        """Apply the full transition of the first layer to the features, once and for all."""
        if not isinstance(network, Network) or not isinstance(loader, NeighborLoader):
            kinds = f"{type(network).__name__} and {type(loader).__name__}"
            raise TypeError(f"network must be a Network and loader a NeighborLoader; got {kinds}.")
        self.network = network
        self._H, self._features = loader._sampler.H, loader._rows
        if network.weighted(self._H) is not self._H:
            raise ValueError("loader must be made of network.weighted(H), whose weights the network uses.")
        self._convs = _convolutions(network)
        if len(loader.fanout) != len(self._convs):
            raise ValueError(
                f"loader must have a fan-out for each of the {len(self._convs)} layers of the network; got "
                f"{len(loader.fanout)}."
            )
        if self._features.shape[1] != network.n_features:
            raise ValueError(
                f"the features of the loader must have {network.n_features} columns, as the network reads; got "
                f"{self._features.shape[1]}."
            )
        self._stored: list[Rows] = []  # what each layer after the first gets
        self._known = [rows_of(self._propagated(self._convs[0], self._features))]  # T x̄ of each layer

    @torch.no_grad()
    def refresh(self) -> Tensor:
        """Store the activations of all vertices with the present parameters, without dropout and without sampling.

        Returns:
            The scores of all vertices, which the last layer makes of them, ``(N, n_classes)``.
        """
        rows, self._stored, self._known = self._features, [], self._known[:1]
        for number, layer in enumerate(self._convs):
            if number > 0:
                self._stored.append(rows)
                self._known.append(rows_of(self._propagated(layer, rows)))
            rows = rows_of(self._activated(number, rows))
        return cast(Tensor, rows.take(np.arange(rows.shape[0])))

    def __call__(self, batch: Batch) -> Tensor:
        """The scores of the vertices of a batch, ``(..., n, n_classes)``; gradients flow into the parameters.

        Raises:
            RuntimeError: If :meth:`refresh` has not been called yet.
        """
        if len(self._known) < len(self._convs):
            raise RuntimeError("activations must be stored before the first batch: call refresh() before each epoch.")
        if len(batch.blocks) != len(self._convs):
            raise ValueError(
                f"batch must have a block for each of the {len(self._convs)} layers; got {len(batch.blocks)}."
            )
        network = self.network
        config, is_training = network.config, network.training
        x = drop(batch.x, config.first_dropout if is_training else 0.0)
        linear = self._linear(0, x, batch.x, batch.blocks[0])
        for number in range(1, len(self._convs)):
            rate = config.dropout if is_training else 0.0
            x = activate(linear, self._convs[number - 1].bias, rate)
            linear = self._linear(number, x, None, batch.blocks[number])
        last = self._convs[-1]
        return last._with_bias(linear) if network.linear_output else activate(linear, last.bias, rate=0.0)

    def _linear(self, number: int, x: object, features: object, block: Block) -> Tensor:
        """``(T̂ (x - x̄) + T x̄) P`` with aggregated heads and the skip connection; ``x̄`` are the features if given."""
        layer = self._convs[number]
        projection, x = layer._mapping(), cast(Tensor, x)
        full = cast(Tensor, self._known[number].take(block.made.cpu().numpy())).to(x.device, x.dtype)
        out = project(full, projection)
        if features is None:
            stored = self._stored[number - 1].take(block.read.cpu().numpy())
            out = out + layer._propagate(x - cast(Tensor, stored).to(x.device, x.dtype), block, projection)
        elif x is not features and isinstance(x, Tensor) and x.layout == torch.strided:
            out = out + layer._propagate(x - cast(Tensor, features), block, projection)
        elif x is not features:  # what was dropped of sparse features
            out = out + layer._propagate(project(x, projection) - project(cast(Tensor, features), projection), block)
        return layer._aggregated(out, x, block.rows)

    def _propagated(self, layer: HypergraphConv, rows: Rows) -> Matrix:
        """``T X`` of all vertices."""
        dtype, n_vertices = layer.projection.dtype, self._H.n_vertices
        if n_vertices * rows.shape[1] <= AT_ONCE:
            x = rows.take(np.arange(n_vertices))
            with torch.no_grad():
                return layer._propagate(to_dense(x).to(dtype), self._H).numpy()
        sums = gathered_by_parts(self._H, rows, layer, None, _STEP)
        out = room(n_vertices, rows.shape[1], dtype)
        for start, stop in parts_of(n_vertices, _STEP):
            out[start:stop] = received(self._H, layer, sums, start, stop).numpy()
        return out

    def _activated(self, number: int, rows: Rows) -> Matrix:
        """What a layer makes of all vertices: ELU of ``T x̄ P``, the skip connection and the bias."""
        layer, known = self._convs[number], self._known[number]
        dtype, device, n_vertices = layer.projection.dtype, layer.projection.device, rows.shape[0]
        is_linear = self.network.linear_output and number + 1 == len(self._convs)
        is_small = n_vertices * layer.width <= AT_ONCE
        kind = torch.empty(0, dtype=dtype).numpy().dtype
        out = np.empty((n_vertices, layer.width), kind) if is_small else room(n_vertices, layer.width, dtype)
        for start, stop in parts_of(n_vertices, n_vertices if is_small else _STEP):
            ids = np.arange(start, stop)
            x = rows.take(ids).to(device) if layer.skip else torch.empty(0)
            linear = layer._aggregated(project(cast(Tensor, known.take(ids)).to(device, dtype), layer._mapping()), x)
            made = layer._with_bias(linear) if is_linear else activate(linear, layer.bias, rate=0.0)
            out[start:stop] = made.reshape(made.shape[-2:]).cpu().numpy()  # one trial, if any
        return out


def _convolutions(network: Network) -> list[HypergraphConv]:
    layers = [one for one in network.layers if type(one) is HypergraphConv]
    is_plain = network._form is None and network.config.norm == "none" and len(layers) == len(network.layers)
    if not is_plain or any(one.weight_score is not None or one.n_ways > 1 for one in layers):
        raise ValueError(
            "network must be made of HypergraphConv layers one after the other, whose transition is fixed: no "
            "attention, learned weights, initial residual, PairNorm or direction='both'."
        )
    return layers
