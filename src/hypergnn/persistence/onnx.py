"""ONNX export: the structure is stored in the file, and the features are the only input."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from hypergnn._utils.extras import import_extra
from hypergnn.kernels import in_plain_torch
from hypergnn.models import KINDS, Ensemble, Network, check_structures
from hypergnn.persistence.files import write_atomic
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.graph import Graph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.shared_graph import SharedGraph

OPSET = 18


def export_onnx(
    model: SavedModel | Network,
    path: str | os.PathLike[str],
    H: Hypergraph | None = None,
    *,
    graph: Graph | SharedGraph | None = None,
) -> None:
    """Write a network as an ONNX file that takes dense features ``x``, ``(N, F)`` float32, and returns ``scores``.

    The structures are constants in the file, so it works for these vertices and hyperedges only. Sums over incidences
    become ``Gather`` and ``ScatterND``, which need memory for a row of features per incidence. ONNX has no sparse
    features. The input is scaled as in training: ``dataset.features("row")`` for ``feature_scaling="row"``.

    Args:
        model: A network, or a model loaded with :func:`hypergnn.load`, whose class names are stored in the metadata
            property ``class_names`` as a JSON list.
        path: The file, by convention ``*.onnx``.
        H: The hypergraph, if the network takes one.
        graph: The graph, if the network takes one.

    Example:
        >>> import tempfile
        >>> import onnxruntime
        >>> from hypergnn.models import Config
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> network = Network(Config(), n_features=5, n_classes=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export_onnx(network, f"{folder}/model.onnx", H)
        ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
        >>> session.run(["scores"], {"x": torch.rand(4, 5).numpy()})[0].shape
        (4, 3)
    """
    network = model.network if isinstance(model, SavedModel) else model
    if not isinstance(network, Network):
        raise TypeError(f"model must be a network or a loaded model; got {type(network).__name__}. Use hypergnn.load.")
    if isinstance(network, Ensemble):
        raise TypeError("model must be a single network; got an ensemble. Export each of its members.")
    for name in ("onnx", "onnxscript"):
        import_extra(name, "onnx", "export_onnx")
    if not network.is_named or KINDS[network.config.model].is_dynamic:
        what = "of given layers" if not network.is_named else "whose hyperedges follow its features"
        raise ValueError(f"model must have fixed structures and named layers to be exported; got a network {what}.")
    structures = _structures(network, H, graph)
    sizes = {one.n_vertices for one in structures.values()}
    if len(sizes) > 1:
        raise ValueError(f"graph and hypergraph must have the same vertices; got {' and '.join(map(str, sizes))}.")
    x = torch.zeros(*(sizes or {2}), network.n_features)
    program = _exported(_Closed(network, structures), x, has_any_size=not sizes)
    if isinstance(model, SavedModel):
        program.model.metadata_props["class_names"] = json.dumps(list(model.class_names), ensure_ascii=False)
    write_atomic(path, program.model_proto.SerializeToString())


class _Closed(nn.Module):
    """A network with its structures, so that features are the only input."""

    def __init__(self, network: Network, structures: dict[str, Any]) -> None:
        super().__init__()
        self.network = network
        self.steps = network._steps(structures, network.n_steps)

    def forward(self, x: Tensor) -> Tensor:
        return self.network._scores(x, self.steps)


def _structures(network: Network, H: Hypergraph | None, graph: Graph | SharedGraph | None) -> dict[str, Any]:
    given = {"graph": graph, "hypergraph": H}
    check_structures(network.config.model, given)
    return {name: given[name] for name in KINDS[network.config.model].structures}


def _exported(closed: _Closed, x: Tensor, *, has_any_size: bool) -> Any:
    """The ONNX program: traced with the portable backend, whose few operators are replaced by plain torch."""
    before = closed.network.training
    closed.eval()
    try:
        with torch.no_grad(), _quiet(), in_plain_torch():
            shapes = {"x": {0: torch.export.Dim("vertices")}} if has_any_size else None
            traced = torch.export.export(closed, (x,), dynamic_shapes=shapes).run_decompositions(_plain_steps())
            return torch.onnx.export(
                traced,
                dynamo=True,
                input_names=["x"],
                output_names=["scores"],
                opset_version=OPSET,
                verbose=False,
            )
    finally:
        closed.network.train(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings and log messages of the exporter."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for logger in loggers:
                logger.setLevel(logging.ERROR)
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)


def _plain_steps() -> dict[Any, Callable[..., Any]]:
    """Replacements for the operators that ONNX does not have. There is one trial."""
    ours = torch.ops.hypergnn
    return {
        ours.matmul.default: torch.matmul,
        ours.segment_sum.default: _segment_sum,
        ours.segment_softmax.default: _segment_softmax,
        torch.ops.aten.repeat_interleave.Tensor: _repeat,
    }


def _segment_sum(
    x: Tensor, values: Tensor | None, offsets: Tensor, members: Tensor, position: Tensor | None, *_: Any
) -> Tensor:
    rows = x[0].index_select(0, members)  # (incidences, heads, features)
    if values is not None:
        own = values[0] if position is None else values[0].index_select(0, position)
        rows = rows * own.unsqueeze(-1)
    return _sum(rows, _group_of(offsets, members.shape[0]), offsets.shape[0] - 1).unsqueeze(0)


def _segment_softmax(logits: Tensor, offsets: Tensor, _: Tensor, position: Tensor | None, *__: Any) -> Tensor:
    grouped = logits[0] if position is None else logits[0].index_select(0, position)  # (incidences, heads)
    n_groups, groups = offsets.shape[0] - 1, _group_of(offsets, grouped.shape[0])
    least = torch.full((n_groups, grouped.shape[1]), -torch.inf, dtype=grouped.dtype)
    highest = least.scatter_reduce(0, groups.unsqueeze(-1).expand_as(grouped), grouped, "amax")
    powers = (grouped - highest.index_select(0, groups)).exp()
    softmax = powers / _sum(powers, groups, n_groups).index_select(0, groups)
    if position is not None:
        softmax = _sum(softmax, position.long(), softmax.shape[0])  # positions are distinct: a permutation
    return softmax.unsqueeze(0)


def _repeat(repeats: Tensor, *, output_size: int) -> Tensor:
    ends = repeats.long().cumsum(0)
    return _group_of(torch.cat([ends.new_zeros(1), ends]), output_size).to(repeats.dtype)


def _group_of(offsets: Tensor, n_members: int) -> Tensor:
    """The group of each member: the number of groups after the first that have started before it."""
    starts = offsets[1:-1].long()
    begun = torch.zeros(n_members + 1, dtype=torch.int64).index_put((starts,), torch.ones_like(starts), accumulate=True)
    return begun.cumsum(0)[:n_members]


def _sum(rows: Tensor, groups: Tensor, n_groups: int) -> Tensor:
    return rows.new_zeros(n_groups, *rows.shape[1:]).index_put((groups,), rows, accumulate=True)
