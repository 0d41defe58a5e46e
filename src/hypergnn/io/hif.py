"""The Hypergraph Interchange Format (HIF), version 0.1: JSON files that most hypergraph libraries read and write.

A document is an object with a list ``incidences`` of objects with ``edge`` and ``node``. The optional lists ``nodes``
and ``edges`` hold attributes, isolated vertices and empty hyperedges. All three may list the same thing several times;
such records are merged, and where they differ the last one counts.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Any, Literal, NamedTuple, NoReturn, TypeGuard, overload

import numpy as np

from hypergnn._utils.table_files import check_file
from hypergnn.io.attributed import AnyHypergraph, AttributedHypergraph
from hypergnn.io.losses import READING, check_ignore, refuse
from hypergnn.io.parts import Parts, Row, from_parts, labels, misread_names, to_parts
from hypergnn.io.simplices import Simplices, choose_simplices
from hypergnn.persistence.files import replacing


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


def write_hif(
    H: AnyHypergraph | AttributedHypergraph, path: str | os.PathLike[str], *, ignore: Collection[str] = ()
) -> None:
    """Write a hypergraph as a HIF document, with all that it has: names, weights, centroids, times and attributes.

    Weights of vertices and hyperedges are written twice: as ``weight``, as the format specifies, and in ``attrs``,
    where XGI looks for them. They are omitted if all are 1. Centroids and times are in ``attrs``, dates as text
    (ISO 8601). A directed hypergraph has the network type ``directed``, and each incidence a ``direction``, ``tail`` or
    ``head``.

    Args:
        H: The hypergraph; its names must be strings or integers, and its attributes what JSON can hold.
        path: The file; replaced atomically, and unchanged if writing fails.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, if HIF cannot hold them.

    Raises:
        ValueError: If HIF cannot hold a name or an attribute.

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
    bare = H.hypergraph if isinstance(H, AttributedHypergraph) else H
    names = [*labels(bare.vertex_names, bare.n_vertices), *labels(bare.hyperedge_names, bare.n_hyperedges)]
    odd = next((name for name in names if not isinstance(name, (str, int)) or isinstance(name, bool)), None)
    lost = misread_names(bare) if odd is None else f"names such as {odd!r}, only text and integers"
    refuse("HIF", {"names": lost}, ignore, ("names",))
    content = json.dumps(_to_document(to_parts(H, named=not lost)), allow_nan=False).encode()
    with replacing(path) as file:
        file.write(content)


@overload
def read_hif(
    path: str | os.PathLike[str],
    *,
    attributes: Literal[False] = False,
    simplices: Simplices | None = None,
    ignore: Collection[str] = (),
) -> AnyHypergraph: ...
@overload
def read_hif(
    path: str | os.PathLike[str],
    *,
    attributes: Literal[True],
    simplices: Simplices | None = None,
    ignore: Collection[str] = (),
) -> AttributedHypergraph: ...
def read_hif(
    path: str | os.PathLike[str],
    *,
    attributes: bool = False,
    simplices: Simplices | None = None,
    ignore: Collection[str] = (),
) -> AnyHypergraph | AttributedHypergraph:
    """Read a hypergraph from a HIF document; if its incidences have a direction, a directed one.

    Vertices are numbered in the order of ``nodes``, then of ``incidences``; likewise hyperedges. Ids become names,
    unless they are exactly the numbers 0, 1, 2, …. Records of the same vertex, hyperedge or incidence are merged; if
    they contradict each other, the last one counts and a warning says so.

    Args:
        path: The file.
        attributes: Whether to return an :class:`~hypergnn.io.AttributedHypergraph`, with all attributes, all weights
            and the metadata, instead of a plain hypergraph.
        simplices: Which simplices of a simplicial complex (network type ``asc``) become hyperedges: ``"all"``, the
            listed ones and all their faces of two or more vertices, or ``"maximal"``, those that are not a face of
            another one. If omitted, the listed ones do.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`, e.g. ``("direction", "attrs")``.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not valid HIF, or something would be lost that is not in ``ignore``.

    Example:
        >>> import tempfile, pathlib
        >>> from hypergnn import io
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "small.json")
        ...     _ = path.write_text('{"incidences": [{"edge": "e", "node": "a", "attrs": {"role": "host"}}]}')
        ...     io.read_hif(path, ignore=("attrs",)), io.read_hif(path, attributes=True).incidences
        (Hypergraph(1 vertices, 1 hyperedges, 1 incidences), [{'role': 'host'}])
    """
    check_ignore(ignore, READING)
    check_file(path)
    with open(path, "rb") as file:
        content = file.read()
    try:
        document = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_object)
        _check(document)
        parts, contradictions = _to_parts(document, has_direction="direction" not in ignore)
        if not attributes and parts.metadata == _HYPERNETX_DEFAULTS:
            parts.metadata = {}
        if simplices is not None:
            choose_simplices(parts, simplices)
            parts.is_complex = attributes
        made = from_parts(parts, ignore=ignore, attributes=attributes)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"cannot read {os.fspath(path)} as HIF: {error}") from error
    if contradictions:
        warnings.warn(
            f"{os.fspath(path)} contradicts itself: it lists {contradictions[0]} again with other values"
            f"{f' (and {len(contradictions) - 1} more)' if len(contradictions) > 1 else ''}. The last ones are used.",
            stacklevel=2,
        )
    return made


def _to_document(parts: Parts) -> dict[str, Any]:
    weighted = any(row.weight != 1 or "weight" in row.attrs for row in parts.hyperedges.values())
    hyperedges = {name: row if weighted else Row(row.attrs) for name, row in parts.hyperedges.items()}
    kind = "asc" if parts.is_complex else "undirected" if parts.heads is None else "directed"
    document: dict[str, Any] = {"network-type": kind}
    if parts.metadata:
        document["metadata"] = _as_json(parts.metadata, "metadata")
    document["nodes"] = [_record({"node": name}, row, twice=True) for name, row in parts.vertices.items()]
    document["edges"] = [_record({"edge": name}, row, twice=True) for name, row in hyperedges.items()]
    document["incidences"] = [
        _record({"edge": hyperedge, "node": vertex}, row, twice=False)
        for (vertex, hyperedge), row in parts.incidences.items()
    ]
    if parts.heads is not None:
        tails = [{**record, "direction": "tail"} for record in document["incidences"]]
        document["incidences"] = tails + [
            {**_record({"edge": hyperedge, "node": vertex}, row, twice=False), "direction": "head"}
            for (vertex, hyperedge), row in parts.heads.items()
        ]
    return document


def _record(ids: dict[str, Any], row: Row, *, twice: bool) -> dict[str, Any]:
    record, attrs = dict(ids), row.attrs
    if isinstance(attrs.get("time"), np.datetime64):
        attrs = {**attrs, "time": str(attrs["time"])}
    if attrs:
        attrs = _as_json(attrs, f"attributes of {' and '.join(map(repr, ids.values()))}")
    if row.weight is not None or "weight" in attrs:
        record["weight"] = 1.0 if row.weight is None else row.weight
        if twice and "weight" not in attrs:
            attrs = {"weight": record["weight"], **attrs}
    if attrs or ids.keys() == {"edge"}:  # as other libraries expect
        record["attrs"] = attrs
    return record


def _as_json(value: Any, where: str) -> Any:
    """The value as JSON holds it, if JSON can hold it without a change."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _as_json(one, where) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one, where) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ValueError(
        f"{where} must be text, finite numbers, truth values, None, lists or dictionaries with text as keys; "
        f"got {value!r:.60} of type {type(value).__name__}."
    )


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


def _to_parts(document: dict[str, Any], *, has_direction: bool) -> tuple[Parts, list[str]]:
    """The parts, and which records contradict an earlier one; without ``has_direction``, directions are ignored."""
    kind, contradictions = document.get("network-type"), []
    parts = Parts(metadata=document.get("metadata", {}), is_complex=kind == "asc")
    if has_direction and _is_directed(document):
        parts.heads = {}

    def add(listed: dict[Any, Row], name: Any, record: dict[str, Any], what: str) -> None:
        row = Row.of(record.get("attrs", {}), record.get("weight"))
        if name in listed and listed[name].differs(row):
            contradictions.append(f"{what} {name!r}")
        listed[name] = listed[name].updated(row) if name in listed else row

    for record in document.get("nodes", []):
        add(parts.vertices, _name(record["node"]), record, "node")
    for record in document.get("edges", []):
        add(parts.hyperedges, _name(record["edge"]), record, "edge")
    for record in document["incidences"]:
        vertex, hyperedge = _name(record["node"]), _name(record["edge"])
        parts.vertices.setdefault(vertex, Row())
        parts.hyperedges.setdefault(hyperedge, Row())
        is_head = parts.heads is not None and record["direction"] == "head"
        listed = parts.heads if parts.heads is not None and is_head else parts.incidences
        add(listed, (vertex, hyperedge), record, "incidence")
    return parts, contradictions


def _is_directed(document: dict[str, Any]) -> bool:
    """Whether the incidences have a direction; raise if only some have, or if the network type forbids it."""
    kind, incidences = document.get("network-type"), document["incidences"]
    pointing = sum("direction" in record for record in incidences)
    remedy = "Give ignore=('direction',) to read it as an undirected hypergraph."
    if pointing and kind in ("undirected", "asc"):
        raise ValueError(f"incidences must have no 'direction' if the network type is {kind!r}. {remedy}")
    if pointing < len(incidences) and (pointing or kind == "directed"):
        place = next(place for place, record in enumerate(incidences) if "direction" not in record)
        raise ValueError(
            f'each incidence of a directed hypergraph must have a \'direction\', "tail" or "head"; '
            f"incidences[{place}] has none. {remedy}"
        )
    return pointing > 0 or kind == "directed"


def _name(value: Any) -> Hashable:
    name: Hashable = int(value) if isinstance(value, float) else value
    return name
