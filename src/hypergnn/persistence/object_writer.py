"""Objects taken apart for a file: a tree of JSON, and arrays.

An object is its class, which must be on a list, and its attributes. What is on no list is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from hypergnn.models import Ensemble, Network
from hypergnn.persistence.allowed import LOSSES, NEIGHBOURS, name_of
from hypergnn.persistence.compiled_state import check_compiled
from hypergnn.structures.hypergraph import Hypergraph

_SIMPLE = (bool, int, float, str)
_SPARSE = ("csr_array", "csr_matrix", "csc_array")
_TYPES = ("float32", "float64", "int32", "int64", "bool")


class Writer:
    """Takes values apart."""

    def __init__(self) -> None:
        """Start without tensors."""
        self.tensors: dict[str, Tensor] = {}
        self._seen: dict[int, tuple[int, Any]] = {}

    def write(self, value: Any, trail: str) -> Any:
        """Return the JSON of a value.

        Args:
            value: The value.
            trail: Where it stands, for error messages.

        Raises:
            TypeError: If files cannot hold it.
        """
        if value is None or type(value) in _SIMPLE:
            return value
        if type(value) in (list, tuple, dict, set, frozenset):
            return self._container(value, trail)
        if id(value) in self._seen:
            return {"same": self._seen[id(value)][0]}
        number = len(self._seen)
        self._seen[id(value)] = number, value  # the value itself, so that its id stays its own
        return {"id": number, **self._object(value, trail)}

    def _container(self, value: Any, trail: str) -> Any:
        kind = type(value).__name__
        if isinstance(value, dict):
            pairs = [[self.write(key, trail), self.write(one, f"{trail}[{key!r}]")] for key, one in value.items()]
            return {kind: pairs}
        entries: Iterable[Any] = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return {kind: [self.write(one, f"{trail}[{place}]") for place, one in enumerate(entries)]}

    def _object(self, value: Any, trail: str) -> dict[str, Any]:
        for kind, taken_apart in _KINDS:
            if isinstance(value, kind):
                return taken_apart(self, value, trail)
        home, own = type(value).__module__, type(value).__qualname__
        if isinstance(value, type) and value.__name__ in _TYPES:
            return {"type": value.__name__}
        if home.startswith("sklearn._loss") and own in LOSSES:
            return {"loss": own, "n_classes": getattr(value, "n_classes", None)}
        if own == "Tree" and home == "sklearn.tree._tree":
            _, sizes, state = value.__reduce__()
            return {"tree": self.write([*sizes, state], trail)}
        if own in NEIGHBOURS and home.startswith("sklearn.neighbors."):
            state = {name: one for name, one in vars(value).items() if name != "_tree"}
            return {"neighbours": own, "state": self.write(state, trail)}
        return self._instance(value, trail)

    def _instance(self, value: Any, trail: str) -> dict[str, Any]:
        name = name_of(type(value))
        if name is None:
            raise TypeError(
                f"{trail} must be something that a file can hold without code; got {_described(value)}. Files hold "
                "arrays, tables of words, networks, hypergraphs and common estimators of scikit-learn. Use joblib.dump "
                "for everything else, and load such files only from people you trust."
            )
        if isinstance(value, tuple):  # a NamedTuple
            return {"named": name, "entries": [self.write(one, trail) for one in value]}
        try:
            check_compiled(value)
        except ValueError as error:
            raise TypeError(f"{trail} cannot be stored: {error}.") from error
        state = value._to_state() if hasattr(value, "_to_state") else vars(value)
        return {"class": name, "state": [[own, self.write(one, f"{trail}.{own}")] for own, one in state.items()]}

    def array(self, array: npt.NDArray[Any], trail: str) -> dict[str, Any]:
        """The JSON of an array."""
        kind, shape = array.dtype.kind, list(array.shape)
        if kind == "O":
            return {"objects": [self.write(one, trail) for one in array.ravel().tolist()], "shape": shape}
        if kind in "US":
            texts = [one if isinstance(one, str) else one.decode("latin-1") for one in array.ravel().tolist()]
            return {"texts": texts, "dtype": array.dtype.str, "shape": shape}
        plain = np.ascontiguousarray(array)
        if kind == "V" and array.dtype.names is not None:
            fields: Any = array.dtype.fields
            layout = [[name, fields[name][0].str, fields[name][1]] for name in array.dtype.names]
            return {
                "array": self._tensor(plain.reshape(-1).view(np.uint8)),
                "fields": layout,
                "size": array.dtype.itemsize,
                "shape": shape,
            }
        if kind not in "biufmM":
            raise TypeError(f"{trail} must hold numbers, dates or text; got {array.dtype}.")
        native = plain.astype(array.dtype.newbyteorder("="), copy=False).reshape(-1)
        return {"array": self._tensor(native.view(np.uint8)), "dtype": native.dtype.str, "shape": shape}

    def _tensor(self, array: npt.NDArray[Any]) -> str:
        name = str(len(self.tensors))
        self.tensors[name] = torch.from_numpy(array.copy())
        return name


def _described(value: Any) -> str:
    kind = type(value).__name__
    own = getattr(value, "__qualname__", None)
    return f"the {kind} {own}" if own is not None else f"a {type(value).__module__}.{kind}"


def _random_state(writer: Writer, value: np.random.RandomState, trail: str) -> dict[str, Any]:
    return {"random_state": writer.write(tuple(value.get_state(legacy=True)), trail)}


def _generator(writer: Writer, value: np.random.Generator, trail: str) -> dict[str, Any]:
    if type(value.bit_generator) is not np.random.PCG64:
        raise TypeError(f"{trail} must draw by PCG64 to be saved; got {type(value.bit_generator).__name__}.")
    return {"generator": writer.write(value.bit_generator.state, trail)}


def _sparse(writer: Writer, value: Any, trail: str) -> dict[str, Any]:
    if type(value).__name__ not in _SPARSE:
        value = sparse.csr_array(value)
    arrays = [writer.array(one, trail) for one in (value.data, value.indices, value.indptr)]
    return {"sparse": type(value).__name__, "arrays": arrays, "shape": list(value.shape)}


def _hypergraph(writer: Writer, H: Hypergraph, trail: str) -> dict[str, Any]:
    parts = (H._vertex_ids, H._hyperedge_ids, H.weight, H.centroid)
    arrays = [None if one is None else writer.array(one.cpu().numpy(), trail) for one in parts]
    names = [writer.write(one, trail) for one in (H.vertex_names, H.hyperedge_names)]
    return {"hypergraph": [H.n_vertices, H.n_hyperedges], "arrays": arrays, "names": names}


def _network(writer: Writer, network: Network, trail: str) -> dict[str, Any]:
    if not all(bool(one.isfinite().all()) for one in network.state_dict().values()):
        raise ValueError(f"{trail} must have finite parameters, because files are refused that have others.")
    parameters = [[name, writer.array(one.cpu().numpy(), trail)] for name, one in network.state_dict().items()]
    sizes = [network.n_features, network.n_classes]
    own = {"network": network.config.settings(), "sizes": sizes, "linear": network.linear_output, "state": parameters}
    return {**own, "members": network.n_members} if isinstance(network, Ensemble) else own


_KINDS: list[tuple[Any, Callable[[Writer, Any, str], dict[str, Any]]]] = [
    (np.ndarray, lambda writer, value, trail: writer.array(value, trail)),
    (np.generic, lambda writer, value, trail: {"scalar": writer.array(np.asarray(value), trail)}),
    (Tensor, lambda writer, value, trail: {"tensor": writer.array(value.detach().cpu().numpy(), trail)}),
    (Hypergraph, _hypergraph),
    (Network, _network),
    (np.dtype, lambda _, value, __: {"dtype": value.str}),
    (bytes, lambda _, value, __: {"bytes": value.hex()}),
    (range, lambda _, value, __: {"range": [value.start, value.stop, value.step]}),
    (np.random.RandomState, _random_state),
    (np.random.Generator, _generator),
    (sparse.sparray, _sparse),
    (sparse.spmatrix, _sparse),
]
