"""Libraries that identify vertices and hyperedges by name: NetworkX, XGI and HyperNetX."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any

from hypergnn._utils.extras import import_extra
from hypergnn.io.losses import check_holds, refuse
from hypergnn.io.parts import Parts, from_parts, misread_names, to_parts
from hypergnn.structures.hypergraph import Hypergraph

if TYPE_CHECKING:
    import hypernetx
    import networkx
    import xgi

_SIDES = ("vertex", "hyperedge")  # in the order of NetworkX: bipartite=0 and bipartite=1


def to_networkx(H: Hypergraph, *, ignore: Collection[str] = ()) -> networkx.Graph:
    """Return the bipartite graph of vertices and hyperedges, with one edge per incidence.

    Its nodes are ``("vertex", name)`` and ``("hyperedge", name)``, so that a vertex and a hyperedge may share a name;
    without names, the numbers are used. Node attributes are ``bipartite``, 0 for vertices and 1 for hyperedges;
    hyperedges also have ``weight`` and, if they have one, ``centroid``, the name of a vertex.

    Args:
        H: The hypergraph.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, if they would be read
            back as numbers.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> graph = io.to_networkx(Hypergraph.from_hyperedges([[0, 1]], n_vertices=2, weight=[3.0]))
        >>> list(graph)
        [('vertex', 0), ('vertex', 1), ('hyperedge', 0)]
        >>> graph.nodes["hyperedge", 0]
        {'bipartite': 1, 'weight': 3.0}
    """
    parts = _parts(H, "a NetworkX graph", ignore)
    graph = import_extra("networkx", "interop").Graph()
    for side, nodes in enumerate((parts.vertices, parts.hyperedges)):
        graph.add_nodes_from(
            ((_SIDES[side], name), {"bipartite": side, **attributes}) for name, attributes in nodes.items()
        )
    graph.add_edges_from((("vertex", vertex), ("hyperedge", hyperedge)) for vertex, hyperedge, _ in parts.incidences)
    return graph


def from_networkx(graph: networkx.Graph, *, ignore: Collection[str] = ()) -> Hypergraph:
    """Make a hypergraph from a bipartite graph.

    Args:
        graph: Each node must have the attribute ``bipartite``, 0 for vertices and 1 for hyperedges. The attributes
            ``weight`` and ``centroid`` of hyperedges are read. Nodes ``("vertex", name)`` and ``("hyperedge", name)``
            become ``name``.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`.

    Raises:
        ValueError: If a node lacks ``bipartite``, an edge joins two nodes of the same side, or something would be lost.

    Example:
        >>> import networkx
        >>> from hypergnn import io
        >>> graph = networkx.complete_bipartite_graph(3, 2)  # it has the attribute bipartite, and a name
        >>> H = io.from_networkx(graph, ignore=("metadata",))
        >>> H, H.hyperedge_names.tolist()
        (Hypergraph(3 vertices, 2 hyperedges, 6 incidences), [3, 4])
    """
    networkx = import_extra("networkx", "interop")
    if not isinstance(graph, networkx.Graph):
        raise TypeError(f"graph must be a networkx.Graph; got {type(graph).__name__}.")
    side = dict(graph.nodes(data="bipartite"))
    for node, value in side.items():
        if value not in (0, 1):
            raise ValueError(f"nodes must have bipartite=0 (vertices) or 1 (hyperedges); {node!r} has {value!r}.")
    names = [_names([node for node in graph if side[node] == value], _SIDES[value]) for value in (0, 1)]
    parts = Parts(metadata=graph.graph)
    for node, attributes in graph.nodes(data=True):
        nodes = parts.hyperedges if side[node] else parts.vertices
        nodes[names[side[node]][node]] = {key: value for key, value in attributes.items() if key != "bipartite"}
    for one, other, attributes in graph.edges(data=True):
        if side[one] == side[other]:
            raise ValueError(f"edges must join a vertex and a hyperedge; {one!r} and {other!r} are on the same side.")
        vertex, hyperedge = (other, one) if side[one] else (one, other)
        parts.incidences.append((names[0][vertex], names[1][hyperedge], attributes))
    return from_parts(parts, ignore=ignore, directed=graph.is_directed())


def to_xgi(H: Hypergraph, *, ignore: Collection[str] = ()) -> xgi.Hypergraph:
    """Return an XGI hypergraph with the same names, and ``weight`` and ``centroid`` as edge attributes.

    Args:
        H: The hypergraph.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, if they would be read
            back as numbers.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> X = io.to_xgi(Hypergraph.from_hyperedges([[0, 1], []], n_vertices=3, weight=[3.0, 1.0]))
        >>> X.edges.members(), X.edges[0]
        ([{0, 1}, set()], {'weight': 3.0})
    """
    parts = _parts(H, "an XGI hypergraph", ignore)
    made: xgi.Hypergraph = import_extra("xgi", "interop").Hypergraph()
    made.add_nodes_from(parts.vertices)
    for hyperedge, members in parts.members().items():
        made.add_edge(members, idx=hyperedge, **parts.hyperedges[hyperedge])
    return made


def from_xgi(hypergraph: xgi.Hypergraph, *, ignore: Collection[str] = ()) -> Hypergraph:
    """Make a hypergraph from an XGI hypergraph, with ``weight`` and ``centroid`` from the attributes of its edges.

    Args:
        hypergraph: An ``xgi.Hypergraph``, or with ``ignore=("direction",)`` an ``xgi.DiHypergraph``, or with
            ``ignore=("asc",)`` an ``xgi.SimplicialComplex``.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`.

    Example:
        >>> import xgi
        >>> from hypergnn import io
        >>> H = io.from_xgi(xgi.Hypergraph({"first": ["a", "b"], "second": ["b", "c"]}))
        >>> H, sorted(H.vertex_names)  # XGI stores members as sets, without an order
        (Hypergraph(3 vertices, 2 hyperedges, 4 incidences), ['a', 'b', 'c'])
    """
    xgi = import_extra("xgi", "interop")
    if not isinstance(hypergraph, (xgi.Hypergraph, xgi.DiHypergraph)):
        raise TypeError(f"hypergraph must be an xgi.Hypergraph; got {type(hypergraph).__name__}.")
    described = xgi.to_hif_dict(hypergraph)
    parts = Parts(
        vertices={node: dict(hypergraph.nodes[node]) for node in hypergraph.nodes},
        hyperedges={edge: dict(hypergraph.edges[edge]) for edge in hypergraph.edges},
        incidences=[(record["node"], record["edge"], {}) for record in described["incidences"]],
        metadata=described["metadata"],
    )
    return from_parts(
        parts,
        ignore=ignore,
        directed=isinstance(hypergraph, xgi.DiHypergraph),
        is_complex=isinstance(hypergraph, xgi.SimplicialComplex),
    )


def to_hypernetx(H: Hypergraph, *, ignore: Collection[str] = ()) -> hypernetx.Hypergraph:
    """Return a HyperNetX hypergraph with the same names and weights, and ``centroid`` as an edge property.

    Args:
        H: The hypergraph. HyperNetX stores vertices and hyperedges only as parts of incidences.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"isolated"``, ``"empty"``, and
            ``"names"``, if they would be read back as numbers.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> X = io.to_hypernetx(Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2, weight=[3.0, 1.0]))
        >>> X.incidence_dict, X.edges[0].weight
        ({0: [0, 1], 1: [1]}, 3.0)
    """
    parts = _parts(H, "a HyperNetX hypergraph", ignore, ("isolated", "empty"))
    check_holds(H, "a HyperNetX hypergraph", ("isolated", "empty"), [word for word in ignore if word != "names"])
    rows = [(hyperedge, vertex) for vertex, hyperedge, _ in parts.incidences]  # preserves the order of the vertices
    used = {hyperedge: parts.hyperedges[hyperedge] for hyperedge, _ in rows}
    hypernetx = import_extra("hypernetx", "interop")
    table = import_extra("pandas", "interop").DataFrame(rows, columns=["edges", "nodes"])
    return hypernetx.Hypergraph(table if rows else {}, edge_properties=used or None)


def from_hypernetx(hypergraph: hypernetx.Hypergraph, *, ignore: Collection[str] = ()) -> Hypergraph:
    """Make a hypergraph from a HyperNetX hypergraph, with the weights of its edges and their property ``centroid``.

    Args:
        hypergraph: Its cell weights and node weights must be 1, unless ignored.
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
        incidences=[(node, edge, cell) for (edge, node), cell in _properties(hypergraph.incidences).items()],
        metadata={} if hypergraph.name is None else {"name": hypergraph.name},
    )
    return from_parts(parts, ignore=ignore)


def _parts(H: Hypergraph, holder: str, ignore: Collection[str], allowed: tuple[str, ...] = ()) -> Parts:
    misread = misread_names(H)
    refuse(holder, {"names": misread}, ignore, ("names", *allowed))
    return to_parts(H, named=not misread)


def _names(nodes: list[Any], side: str) -> dict[Hashable, Hashable]:
    tagged = all(isinstance(node, tuple) and len(node) == 2 and node[0] == side for node in nodes)
    return {node: node[1] if tagged else node for node in nodes}


def _properties(view: Any) -> dict[Any, dict[str, Any]]:
    own, default = view.user_defined_properties.to_dict("index"), view.property_store.default_properties
    found = {}
    for name in view:
        values = own.get(name, default)
        merged = {**values["misc_properties"], **values}
        del merged["misc_properties"]
        merged.pop("_level", None)  # internal to HyperNetX
        found[name] = {key: value for key, value in merged.items() if not _is_missing(value)}
    return found


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
