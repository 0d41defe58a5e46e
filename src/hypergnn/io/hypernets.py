"""HyperNetX, which stores properties of nodes, edges and cells (incidences) in tables."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from hypergnn._utils.extras import import_extra
from hypergnn.io.attributed import AttributedHypergraph
from hypergnn.io.losses import check_holds, check_undirected, refuse
from hypergnn.io.named import bare, parts_of
from hypergnn.io.parts import Parts, Row, from_parts
from hypergnn.structures.hypergraph import Hypergraph

if TYPE_CHECKING:
    import hypernetx


def to_hypernetx(H: Hypergraph | AttributedHypergraph, *, ignore: Collection[str] = ()) -> hypernetx.Hypergraph:
    """Return a HyperNetX hypergraph with the same names and weights, and ``centroid`` as an edge property.

    Args:
        H: The hypergraph. HyperNetX stores vertices and hyperedges only as parts of incidences.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"isolated"``, ``"empty"``, ``"metadata"`` other
            than ``name``, and ``"names"``, if they would be read back as numbers.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> X = io.to_hypernetx(Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2, weight=[3.0, 1.0]))
        >>> X.incidence_dict, X.edges[0].weight
        ({0: [0, 1], 1: [1]}, 3.0)
    """
    holder, lacking = "a HyperNetX hypergraph", ("isolated", "empty")
    check_undirected(H, holder)
    parts = parts_of(H, holder, ignore, (*lacking, "metadata"))
    check_holds(bare(H), holder, lacking, [word for word in ignore if word in lacking])
    spare = ", ".join(repr(key) for key in parts.metadata if key != "name")
    refuse(holder, {"metadata": f"metadata ({spare})" if spare else ""}, ignore, ("names", *lacking, "metadata"))
    hypernetx = import_extra("hypernetx", "interop")
    cells = [row.flat(f"incidence of {pair[0]!r} and {pair[1]!r}") for pair, row in parts.incidences.items()]
    table = import_extra("pandas", "interop").DataFrame(
        {
            "edges": [hyperedge for _, hyperedge in parts.incidences],
            "nodes": [vertex for vertex, _ in parts.incidences],  # preserves the order of the vertices
            "weight": [cell.get("weight", 1) for cell in cells],
            "attrs": [{key: value for key, value in cell.items() if key != "weight"} for cell in cells],
        }
    )
    return hypernetx.Hypergraph(
        table if cells else {},
        cell_weight_col="weight",
        misc_cell_properties_col="attrs",
        edge_properties=_used(parts.hyperedges, table["edges"]) or None,
        node_properties=_used(parts.vertices, table["nodes"]) or None,
        name=parts.metadata.get("name"),
    )


@overload
def from_hypernetx(
    hypergraph: hypernetx.Hypergraph,
    *,
    attributes: Literal[False] = False,
    ignore: Collection[str] = (),
) -> Hypergraph: ...
@overload
def from_hypernetx(
    hypergraph: hypernetx.Hypergraph,
    *,
    attributes: Literal[True],
    ignore: Collection[str] = (),
) -> AttributedHypergraph: ...
def from_hypernetx(
    hypergraph: hypernetx.Hypergraph,
    *,
    attributes: bool = False,
    ignore: Collection[str] = (),
) -> Hypergraph | AttributedHypergraph:
    """Make a hypergraph from a HyperNetX hypergraph, with the weights of its edges and their property ``centroid``.

    Args:
        hypergraph: Its cell weights and node weights must be 1, unless ignored or read as attributes.
        attributes: Whether to return an :class:`~hypergnn.io.AttributedHypergraph`, with all attributes and weights.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`.

    Example:
        >>> import hypernetx
        >>> from hypergnn import io
        >>> H = io.from_hypernetx(hypernetx.Hypergraph({"first": ["a", "b"], "second": ["b", "c"]}))
        >>> H, H.hyperedge_names.tolist()
        (Hypergraph(3 vertices, 2 hyperedges, 4 incidences), ['first', 'second'])
    """
    hypernetx = import_extra("hypernetx", "interop")
    if not isinstance(hypergraph, hypernetx.Hypergraph):
        raise TypeError(f"hypergraph must be a hypernetx.Hypergraph; got {type(hypergraph).__name__}.")
    parts = Parts(
        vertices=_properties(hypergraph.nodes),
        hyperedges=_properties(hypergraph.edges),
        incidences={(node, edge): row for (edge, node), row in _properties(hypergraph.incidences).items()},
        metadata={} if hypergraph.name is None else {"name": hypergraph.name},
    )
    return cast(Hypergraph | AttributedHypergraph, from_parts(parts, ignore=ignore, attributes=attributes))


def _used(rows: dict[Hashable, Row], names: Any) -> dict[Hashable, dict[str, Any]]:
    """The attributes of vertices or hyperedges that are in an incidence; those without attributes are left out."""
    flat = {name: rows[name].flat(repr(name)) for name in dict.fromkeys(names)}
    return {name: attributes for name, attributes in flat.items() if attributes}


def _properties(view: Any) -> dict[Any, Row]:
    own, default = view.user_defined_properties.to_dict("index"), view.property_store.default_properties
    found = {}
    for name in view:
        values = own.get(name, default)
        merged = {**values["misc_properties"], **values}
        del merged["misc_properties"]
        merged.pop("_level", None)  # internal to HyperNetX
        found[name] = Row.of({key: value for key, value in merged.items() if not _is_missing(value)})
    return found


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
