"""The Hypergraph Interchange Format (HIF), version 0.1: JSON files that most hypergraph libraries read and write.

A document is an object with a list ``incidences`` of objects with ``edge`` and ``node``. The optional lists ``nodes``
and ``edges`` hold attributes, isolated vertices and empty hyperedges.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, NoReturn, TypeGuard

from hypergnn.io.losses import READING, check_ignore, refuse
from hypergnn.io.parts import Attributes, Parts, from_parts, labels, misread_names, to_parts
from hypergnn.persistence.files import replacing
from hypergnn.structures.hypergraph import Hypergraph


class _Rule(NamedTuple):
    holds: Callable[[Any], bool]
    says: str


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_id(value: object) -> bool:  # 1.0 is an integer in JSON Schema
    return isinstance(value, str) or (_is_number(value) and (isinstance(value, int) or value.is_integer()))


_ID = _Rule(_is_id, "a string or an integer")
_NUMBER = _Rule(_is_number, "a number")
_OBJECT = _Rule(lambda value: isinstance(value, dict), "an object")
_ARRAY = _Rule(lambda value: isinstance(value, list), "an array")
_TYPE = _Rule(lambda value: value in ("undirected", "directed", "asc"), '"undirected", "directed" or "asc"')
_DIRECTION = _Rule(lambda value: value in ("head", "tail"), '"head" or "tail"')

_DOCUMENT = {"incidences": _ARRAY, "nodes": _ARRAY, "edges": _ARRAY, "network-type": _TYPE, "metadata": _OBJECT}
_RECORDS = {
    "nodes": {"node": _ID, "weight": _NUMBER, "attrs": _OBJECT},
    "edges": {"edge": _ID, "weight": _NUMBER, "attrs": _OBJECT},
    "incidences": {"edge": _ID, "node": _ID, "weight": _NUMBER, "direction": _DIRECTION, "attrs": _OBJECT},
}
_REQUIRED = {"nodes": ("node",), "edges": ("edge",), "incidences": ("edge", "node")}

# HyperNetX writes these defaults into every file; they carry no information.
_HYPERNETX_DEFAULTS = {"default_attrs": {part: {"weight": 1, "attrs": {}} for part in ("nodes", "edges", "incidences")}}


def write_hif(H: Hypergraph, path: str | os.PathLike[str], *, ignore: Collection[str] = ()) -> None:
    """Write a hypergraph as a HIF document, with all vertices, hyperedges, names, weights and centroids.

    Weights are written twice: as ``weight`` of an edge, as the format specifies, and in its ``attrs``, where XGI looks
    for them. They are omitted if all are 1. Centroids are in ``attrs``.

    Args:
        H: The hypergraph; its names must be strings or integers.
        path: The file; replaced atomically, and unchanged if writing fails.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, if HIF cannot hold them.

    Example:
        >>> import tempfile, pathlib
        >>> from hypergnn import Hypergraph, io
        >>> H = Hypergraph.from_incidence([0, 1], [0, 0], 3, 1, vertex_names=["a", "b", "c"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "small.json")
        ...     io.write_hif(H, path)
        ...     io.read_hif(path).equals(H)
        True
    """
    names = [*labels(H.vertex_names, H.n_vertices), *labels(H.hyperedge_names, H.n_hyperedges)]
    odd = next((name for name in names if not isinstance(name, (str, int)) or isinstance(name, bool)), None)
    lost = misread_names(H) if odd is None else f"names such as {odd!r}, only text and integers"
    refuse("HIF", {"names": lost}, ignore, ("names",))
    parts = to_parts(H, named=not lost)
    if bool((H.weight == 1).all()):
        for attributes in parts.hyperedges.values():
            del attributes["weight"]
    document = {
        "network-type": "undirected",
        "nodes": [{"node": name} for name in parts.vertices],
        "edges": [_edge(name, attributes) for name, attributes in parts.hyperedges.items()],
        "incidences": [{"edge": hyperedge, "node": vertex} for vertex, hyperedge, _ in parts.incidences],
    }
    with replacing(path) as file:
        file.write(json.dumps(document, allow_nan=False).encode())


def read_hif(path: str | os.PathLike[str], *, ignore: Collection[str] = ()) -> Hypergraph:
    """Read a hypergraph from a HIF document.

    Vertices are numbered in the order of ``nodes``, then of ``incidences``; likewise hyperedges. Ids become names,
    unless they are exactly the numbers 0, 1, 2, ….

    Args:
        path: The file.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`, e.g. ``("direction", "attrs")``.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not valid HIF, or something would be lost that is not in ``ignore``.

    Example:
        >>> import tempfile, pathlib
        >>> from hypergnn import io
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "small.json")
        ...     _ = path.write_text('{"incidences": [{"edge": "e", "node": "a"}], "nodes": [{"node": "b"}]}')
        ...     io.read_hif(path)
        Hypergraph(2 vertices, 1 hyperedges, 1 incidences)
    """
    check_ignore(ignore, READING)
    with open(path, "rb") as file:
        content = file.read()
    try:
        document = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_object)
        _check(document)
        kind = document.get("network-type")
        return from_parts(_to_parts(document), ignore=ignore, directed=kind == "directed", is_complex=kind == "asc")
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"cannot read {os.fspath(path)} as HIF: {error}") from error


def _edge(name: Any, attributes: Attributes) -> dict[str, Any]:
    weight = {"weight": attributes["weight"]} if "weight" in attributes else {}
    return {"edge": name, **weight, "attrs": attributes}


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"JSON has no {constant}.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        key, times = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object must have each key once; {key!r} occurs {times} times.")
    return made


def _check(document: Any) -> None:
    if not isinstance(document, dict):
        raise ValueError(f"the document must be an object; got {type(document).__name__}.")
    _check_fields("the document", document, _DOCUMENT, ("incidences",))
    for part, rules in _RECORDS.items():
        for position, record in enumerate(document.get(part, [])):
            if not isinstance(record, dict):
                raise ValueError(f"{part}[{position}] must be an object; got {record!r}.")
            _check_fields(f"{part}[{position}]", record, rules, _REQUIRED[part])


def _check_fields(where: str, record: dict[str, Any], rules: dict[str, _Rule], required: tuple[str, ...]) -> None:
    for key in required:
        if key not in record:
            raise ValueError(f"{where} must have {key!r}; got {', '.join(map(repr, record)) or 'nothing'}.")
    for key, value in record.items():
        if key not in rules:
            raise ValueError(f"{where} must have only {', '.join(map(repr, rules))}; got {key!r}.")
        if not rules[key].holds(value):
            raise ValueError(f"{key!r} of {where} must be {rules[key].says}; got {value!r:.60}.")


def _to_parts(document: dict[str, Any]) -> Parts:
    metadata = document.get("metadata", {})
    parts = Parts(metadata={} if metadata == _HYPERNETX_DEFAULTS else metadata)
    for kind, key, listed in (("nodes", "node", parts.vertices), ("edges", "edge", parts.hyperedges)):
        for record in document.get(kind, []):
            name = _name(record[key])
            if name in listed:
                raise ValueError(f"{kind} must list each {key} once; {name!r} occurs twice.")
            listed[name] = _attributes(record, f"{key} {name!r}")
    for record in document["incidences"]:
        vertex, hyperedge = _name(record["node"]), _name(record["edge"])
        parts.vertices.setdefault(vertex, {})
        parts.hyperedges.setdefault(hyperedge, {})
        attributes = _attributes(record, f"incidence of {vertex!r} and {hyperedge!r}")
        parts.incidences.append((vertex, hyperedge, attributes))
    return parts


def _name(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def _attributes(record: dict[str, Any], where: str) -> Attributes:
    own = {key: record[key] for key in ("weight", "direction") if key in record}
    attributes = {**record.get("attrs", {}), **own}
    for key in own:
        if key in record.get("attrs", {}) and record["attrs"][key] != own[key]:
            raise ValueError(
                f"{key!r} of {where} must be given once; got {own[key]!r}, and {record['attrs'][key]!r} in attrs."
            )
    return attributes
