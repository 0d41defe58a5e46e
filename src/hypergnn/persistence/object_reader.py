"""Objects put together again from what a file holds: classes from a list, attributes set one by one, nothing called.

What compiled code would index without a check is checked here: trees, sparse matrices, hypergraphs and the sizes of
arrays. A file can hold wrong numbers, but neither code nor ids that point outside of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn.models import Ensemble, Network, config_from
from hypergnn.persistence.allowed import LOSSES, NEIGHBOURS, class_named
from hypergnn.persistence.compiled_state import check_compiled, check_state, check_tree, use_threads_of_this_machine
from hypergnn.structures.hypergraph import Hypergraph

_SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix, "csc_array": sparse.csc_array}
_TYPES = {"float32": np.float32, "float64": np.float64, "int32": np.int32, "int64": np.int64, "bool": np.bool_}
_CONTAINERS: dict[str, Callable[..., Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
Node = dict[str, Any]
_WIDEST = 2**16
"""Bytes that the entries of an array of texts may have beyond the longest text."""
DAMAGES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a file with wrong content may raise while objects are put together."""


class Reader:
    """Puts values together.

    Args:
        tensors: The arrays of the file, as bytes.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        """Start without objects."""
        self._tensors = tensors
        self._made: dict[int, Any] = {}

    def read(self, node: Any) -> Any:
        """Return the value that a writer made this JSON of."""
        if not isinstance(node, dict):
            return node
        if "same" in node:
            return self._made[node["same"]]
        for kind, make in _CONTAINERS.items():
            if kind in node:
                return make(self.read(one) for one in node[kind])
        if "dict" in node:
            return {self.read(key): self.read(one) for key, one in node["dict"]}
        made = self._object(node)
        self._made[node["id"]] = made
        return made

    def _object(self, node: Node) -> Any:
        for kind, make in _KINDS.items():
            if kind in node:
                return make(self, node)
        raise ValueError(f"it holds a part of an unknown kind: {', '.join(node)}")

    def array(self, node: Node) -> npt.NDArray[Any]:
        """The array of a node."""
        shape = tuple(map(int, node["shape"]))
        if "objects" in node:
            found = [self.read(one) for one in node["objects"]]
            return np.fromiter(found, dtype=object, count=len(found)).reshape(shape)
        if "texts" in node:
            dtype = np.dtype(node["dtype"])
            texts = node["texts"] if dtype.kind == "U" else [one.encode("latin-1") for one in node["texts"]]
            if dtype.itemsize > _WIDEST + 4 * max(map(len, texts), default=0):
                raise ValueError(f"it holds texts of {dtype}, which are far shorter")
            return np.array(texts, dtype=dtype).reshape(shape)
        dtype = _fields(node["fields"], node["size"]) if "fields" in node else np.dtype(node["dtype"])
        if dtype.kind not in "biufmM" and dtype.names is None:
            raise ValueError(f"it holds an array of {dtype}")
        return self._tensors[node["array"]].numpy().copy().view(dtype).reshape(shape)

    def instance(self, node: Node) -> Any:
        """An object with the attributes of a node."""
        kind = class_named(node["class"])
        state = {str(name): self.read(one) for name, one in node["state"]}
        if hasattr(kind, "_from_state"):
            return kind._from_state(state)
        return made_of(kind, state)


def made_of(kind: type, state: Mapping[str, Any]) -> Any:
    """An object of a class with these attributes, without a call of its constructor."""
    check_state(kind, list(state))
    made: Any = object.__new__(kind)
    made.__dict__.update(state)
    check_compiled(made)
    use_threads_of_this_machine(made)
    return made


def _fields(fields: Any, size: int) -> np.dtype[Any]:
    """The type of a structured array, of numbers only."""
    names, forms, offsets = zip(*fields, strict=True)
    layout: Any = {"names": names, "formats": [np.dtype(form) for form in forms], "offsets": offsets, "itemsize": size}
    if any(form.kind not in "biuf" for form in layout["formats"]):
        raise ValueError(f"it holds a table of {', '.join(forms)}")
    made: np.dtype[Any] = np.dtype(layout)
    return made


def _named(reader: Reader, node: Node) -> Any:
    kind = class_named(node["named"])
    if not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        raise ValueError(f"it holds entries of a {kind.__name__}, which has none")
    return kind(*(reader.read(one) for one in node["entries"]))


def _loss(_: Reader, node: Node) -> Any:
    if node["loss"] not in LOSSES:
        raise ValueError(f"it holds a loss {node['loss']!r}")
    kind = getattr(import_module("sklearn._loss.loss"), node["loss"])
    return kind(n_classes=int(node["n_classes"])) if node["loss"] == "HalfMultinomialLoss" else kind()


def _tree(reader: Reader, node: Node) -> Any:
    n_features, n_classes, n_outputs, state = reader.read(node["tree"])
    check_tree(int(n_features), n_classes, int(n_outputs), state)
    made = import_module("sklearn.tree._tree").Tree(int(n_features), n_classes, int(n_outputs))
    made.__setstate__(state)
    return made


def _neighbours(reader: Reader, node: Node) -> Any:
    """A search over the stored rows, built again; nothing else of a fitted one is taken from the file but names."""
    if node["neighbours"] not in NEIGHBOURS:
        raise ValueError(f"it holds a search {node['neighbours']!r}")
    kind = getattr(import_module("sklearn.neighbors"), node["neighbours"])
    state = reader.read(node["state"])
    made = kind(**{name: state[name] for name in kind._get_param_names()})
    check_compiled(made)
    if "_fit_X" not in state:
        return made
    made.fit(state["_fit_X"], _answers(state)) if "_y" in state else made.fit(state["_fit_X"])
    if "feature_names_in_" in state:
        if np.shape(state["feature_names_in_"]) != (made.n_features_in_,):
            raise ValueError(f"its {kind.__name__} must have one name per feature")
        made.feature_names_in_ = state["feature_names_in_"]
    return made


def _answers(state: Node) -> Any:
    """What a search predicts of each stored row: numbers, or classes by their names."""
    answers, classes = state["_y"], state.get("classes_")
    if classes is None:
        return answers
    if isinstance(classes, list):
        return np.stack([names[column] for names, column in zip(classes, answers.T, strict=True)], axis=1)
    named = classes[answers]
    return named[:, None] if state.get("outputs_2d_") else named


def _random_state(reader: Reader, node: Node) -> np.random.RandomState:
    made, state = np.random.RandomState(0), reader.read(node["random_state"])
    if not 0 <= state[2] <= np.size(state[1]):  # NumPy reads the next number from there without looking
        raise ValueError(f"its random numbers must continue from 0 to {np.size(state[1])}; got {state[2]}")
    made.set_state(state)
    return made


def _generator(reader: Reader, node: Node) -> np.random.Generator:
    bits = np.random.PCG64(0)
    bits.state = reader.read(node["generator"])
    return np.random.Generator(bits)


def _sparse(reader: Reader, node: Node) -> Any:
    data, indices, indptr = (reader.array(one) for one in node["arrays"])
    made = _SPARSE[node["sparse"]]((data, indices, indptr), shape=tuple(node["shape"]))
    made.check_format(full_check=True)
    return made


def _hypergraph(reader: Reader, node: Node) -> Hypergraph:
    vertex, hyperedge, weight, centroid = (None if one is None else reader.array(one) for one in node["arrays"])
    vertex_names, hyperedge_names = (reader.read(one) for one in node["names"])
    n_vertices, n_hyperedges = node["hypergraph"]
    sizes = (n_vertices, n_hyperedges)
    return Hypergraph.from_incidence(vertex, hyperedge, *sizes, weight, centroid, vertex_names, hyperedge_names)


def _network(reader: Reader, node: Node) -> Network:
    parameters = {name: torch.from_numpy(reader.array(one)) for name, one in node["state"]}
    (n_features, n_classes), linear = node["sizes"], node["linear"] is True
    if not all(bool(one.isfinite().all()) for one in parameters.values()):
        raise ValueError("its network has parameters that are not finite")
    config = config_from(node["network"])
    kind = Ensemble if "members" in node else Network
    return kind.from_parameters(config, n_features, n_classes, parameters, linear_output=linear)


_KINDS: dict[str, Callable[[Reader, Node], Any]] = {
    "class": lambda reader, node: reader.instance(node),
    "named": _named,
    "hypergraph": _hypergraph,
    "network": _network,
    "sparse": _sparse,
    "array": lambda reader, node: reader.array(node),
    "objects": lambda reader, node: reader.array(node),
    "texts": lambda reader, node: reader.array(node),
    "scalar": lambda reader, node: reader.array(node["scalar"])[()],
    "tensor": lambda reader, node: torch.from_numpy(reader.array(node["tensor"])),
    "dtype": lambda _, node: np.dtype(node["dtype"]),
    "type": lambda _, node: _TYPES[node["type"]],
    "bytes": lambda _, node: bytes.fromhex(node["bytes"]),
    "range": lambda _, node: range(*node["range"]),
    "random_state": _random_state,
    "generator": _generator,
    "loss": _loss,
    "tree": _tree,
    "neighbours": _neighbours,
}
