"""Libraries that identify vertices and hyperedges by name: NetworkX and XGI."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from hypergnn._utils.extras import import_extra
from hypergnn.io.attributed import AnyHypergraph, AttributedHypergraph
from hypergnn.io.losses import refuse
from hypergnn.io.parts import Pair, Parts, Row, from_parts, misread_names, to_parts
from hypergnn.io.simplices import Simplices, choose_simplices
from hypergnn.structures.directed import DirectedHypergraph

if TYPE_CHECKING:
    import networkx
    import xgi

_SIDES = ("vertex", "hyperedge")  # in the order of NetworkX: bipartite=0 and bipartite=1


def to_networkx(H: AnyHypergraph | AttributedHypergraph, *, ignore: Collection[str] = ()) -> networkx.Graph:
    """Return the bipartite graph of vertices and hyperedges, with one edge per incidence.

    A directed hypergraph becomes a ``DiGraph``: arcs lead from the vertices of a tail to the hyperedge, and from the
    hyperedge to the vertices of its head.

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
    parts = parts_of(H, "a NetworkX graph", ignore)
    networkx = import_extra("networkx", "interop")
    graph = networkx.Graph() if parts.heads is None else networkx.DiGraph()
    if any("bipartite" in row.attrs for row in (*parts.vertices.values(), *parts.hyperedges.values())):
        raise ValueError("an attribute must not be called 'bipartite': NetworkX marks the two sides by it. Rename it.")
    graph.graph.update(parts.metadata)
    for side, nodes in enumerate((parts.vertices, parts.hyperedges)):
        graph.add_nodes_from(
            ((_SIDES[side], name), {"bipartite": side, **row.flat(f"{_SIDES[side]} {name!r}")})
            for name, row in nodes.items()
        )
    graph.add_edges_from(
        (("vertex", vertex), ("hyperedge", hyperedge), row.flat(f"incidence of {vertex!r} and {hyperedge!r}"))
        for (vertex, hyperedge), row in parts.incidences.items()
    )
    graph.add_edges_from(
        (("hyperedge", hyperedge), ("vertex", vertex), row.flat(f"incidence of {vertex!r} and {hyperedge!r}"))
        for (vertex, hyperedge), row in (parts.heads or {}).items()
    )
    return graph


@overload
def from_networkx(
    graph: networkx.Graph,
    *,
    attributes: Literal[False] = False,
    ignore: Collection[str] = (),
) -> AnyHypergraph: ...
@overload
def from_networkx(
    graph: networkx.Graph,
    *,
    attributes: Literal[True],
    ignore: Collection[str] = (),
) -> AttributedHypergraph: ...
def from_networkx(
    graph: networkx.Graph,
    *,
    attributes: bool = False,
    ignore: Collection[str] = (),
) -> AnyHypergraph | AttributedHypergraph:
    """Make a hypergraph from a bipartite graph, and a directed one from a bipartite ``DiGraph``.

    Args:
        graph: Each node must have the attribute ``bipartite``, 0 for vertices and 1 for hyperedges. The attributes
            ``weight`` and ``centroid`` of hyperedges are read. Nodes ``("vertex", name)`` and ``("hyperedge", name)``
            become ``name``. In a ``DiGraph``, an arc from a vertex to a hyperedge puts the vertex into the tail, an arc
            from the hyperedge into the head. For a ``DiGraph`` of vertices alone, see :func:`from_networkx_arcs`.
        attributes: Whether to return an :class:`~hypergnn.io.AttributedHypergraph`, with all attributes and weights.
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
            arcs = " If all nodes are vertices, use from_networkx_arcs." if graph.is_directed() else ""
            raise ValueError(f"nodes must have bipartite=0 (vertices) or 1 (hyperedges); {node!r} has {value!r}.{arcs}")
    names = [_names([node for node in graph if side[node] == value], _SIDES[value]) for value in (0, 1)]
    parts = Parts(metadata=graph.graph, heads={} if graph.is_directed() else None)
    for node, found in graph.nodes(data=True):
        nodes = parts.hyperedges if side[node] else parts.vertices
        nodes[names[side[node]][node]] = Row.of({key: value for key, value in found.items() if key != "bipartite"})
    for one, other, found in graph.edges(data=True):
        if side[one] == side[other]:
            raise ValueError(f"edges must join a vertex and a hyperedge; {one!r} and {other!r} are on the same side.")
        vertex, hyperedge = (other, one) if side[one] else (one, other)
        pair = names[0][vertex], names[1][hyperedge]
        listed = parts.heads if side[one] and parts.heads is not None else parts.incidences
        if pair in listed:
            raise ValueError(
                f"incidences must be unique; vertex {vertex!r} occurs several times in hyperedge {hyperedge!r}. "
                "Remove the repetitions."
            )
        listed[pair] = Row.of(found)
    return from_parts(parts, ignore=ignore, attributes=attributes)


def from_networkx_arcs(graph: networkx.DiGraph, *, ignore: Collection[str] = ()) -> DirectedHypergraph:
    """Make a directed hypergraph from a directed graph: one hyperedge per arc, with one sender and one receiver.

    For one hyperedge per vertex, which sends to all that its arcs lead to, see
    :func:`hypergnn.construct.from_neighbourhoods`.

    Args:
        graph: A ``DiGraph``. Its nodes are the vertices, and hyperedges are named ``(source, target)``. The attribute
            ``weight`` of an arc is the weight of its hyperedge.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"attrs"``, ``"vertex_weights"``, ``"metadata"``.

    Raises:
        TypeError: If ``graph`` is not directed.
        ValueError: If there are several arcs from one node to another, or something would be lost.

    Example:
        >>> import networkx
        >>> from hypergnn import io
        >>> io.from_networkx_arcs(networkx.DiGraph([("a", "b"), ("a", "c")])).to_hyperedges()
        [([0], [1]), ([0], [2])]
    """
    networkx = import_extra("networkx", "interop")
    if not isinstance(graph, networkx.DiGraph):
        raise TypeError(f"graph must be a networkx.DiGraph; got {type(graph).__name__}.")
    parts = Parts(heads={}, metadata=graph.graph, vertices={node: Row.of(row) for node, row in graph.nodes(data=True)})
    heads: dict[Pair, Row] = {}
    for source, target, found in graph.edges(data=True):
        name = (source, target)
        if name in parts.hyperedges:
            raise ValueError(f"arcs must be unique; there are several from {source!r} to {target!r}. Unite them.")
        parts.hyperedges[name] = Row.of(found)
        parts.incidences[source, name], heads[target, name] = Row(), Row()
    parts.heads = heads
    return cast(DirectedHypergraph, from_parts(parts, ignore=ignore, attributes=False))


def to_xgi(
    H: AnyHypergraph | AttributedHypergraph, *, ignore: Collection[str] = ()
) -> xgi.Hypergraph | xgi.DiHypergraph:
    """Return an XGI hypergraph with the same names, and ``weight`` and ``centroid`` as edge attributes.

    A directed hypergraph becomes an ``xgi.DiHypergraph``.

    Args:
        H: The hypergraph.
        ignore: What may be dropped, see :mod:`hypergnn.io.losses`: ``"names"``, if they would be read
            back as numbers; ``"incidence_weights"``, and ``"attrs"`` of incidences.

    Example:
        >>> from hypergnn import Hypergraph, io
        >>> X = io.to_xgi(Hypergraph.from_hyperedges([[0, 1], []], n_vertices=3, weight=[3.0, 1.0]))
        >>> X.edges.members(), X.edges[0]
        ([{0, 1}, set()], {'weight': 3.0})
    """
    holder = "an XGI hypergraph"
    parts = parts_of(H, holder, ignore, ("incidence_weights", "attrs"))
    cells = [row for _, row in parts.cells()]
    lost = {
        "incidence_weights": "the weights of incidences" if any(row.weight is not None for row in cells) else "",
        "attrs": "attributes of incidences" if any(row.attrs for row in cells) else "",
    }
    refuse(holder, lost, [word for word in ignore if word in lost], tuple(lost))
    library = import_extra("xgi", "interop")
    made: Any = library.Hypergraph() if parts.heads is None else library.DiHypergraph()
    made._net_attr.update(parts.metadata)
    made.add_nodes_from((name, row.flat(f"vertex {name!r}")) for name, row in parts.vertices.items())
    tails, heads = parts.members(), parts.members(of_heads=True)
    for hyperedge, members in tails.items():
        made.add_edge(members if parts.heads is None else (members, heads[hyperedge]), idx=hyperedge)
        made.set_edge_attributes({hyperedge: parts.hyperedges[hyperedge].flat(f"hyperedge {hyperedge!r}")})
    return cast("xgi.Hypergraph | xgi.DiHypergraph", made)


@overload
def from_xgi(
    hypergraph: xgi.Hypergraph | xgi.DiHypergraph,
    *,
    attributes: Literal[False] = False,
    simplices: Simplices | None = None,
    ignore: Collection[str] = (),
) -> AnyHypergraph: ...
@overload
def from_xgi(
    hypergraph: xgi.Hypergraph | xgi.DiHypergraph,
    *,
    attributes: Literal[True],
    simplices: Simplices | None = None,
    ignore: Collection[str] = (),
) -> AttributedHypergraph: ...
def from_xgi(
    hypergraph: xgi.Hypergraph | xgi.DiHypergraph,
    *,
    attributes: bool = False,
    simplices: Simplices | None = None,
    ignore: Collection[str] = (),
) -> AnyHypergraph | AttributedHypergraph:
    """Make a hypergraph from an XGI hypergraph, with ``weight`` and ``centroid`` from the attributes of its edges.

    Args:
        hypergraph: An ``xgi.Hypergraph``; an ``xgi.DiHypergraph``, which becomes a directed hypergraph; or with
            ``ignore=("asc",)`` an ``xgi.SimplicialComplex``.
        attributes: Whether to return an :class:`~hypergnn.io.AttributedHypergraph`, with all attributes and weights.
        simplices: Which simplices of a complex become hyperedges, ``"all"`` or ``"maximal"``, as in :func:`read_hif`.
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
    cells: dict[str, dict[Pair, Row]] = {"tail": {}, "head": {}}
    for record in described["incidences"]:
        cells[record.get("direction", "tail")][record["node"], record["edge"]] = Row()
    parts = Parts(
        vertices={node: Row.of(hypergraph.nodes[node]) for node in hypergraph.nodes},
        hyperedges={edge: Row.of(hypergraph.edges[edge]) for edge in hypergraph.edges},
        incidences=cells["tail"],
        heads=cells["head"] if isinstance(hypergraph, xgi.DiHypergraph) else None,
        metadata=described["metadata"],
        is_complex=isinstance(hypergraph, xgi.SimplicialComplex),
    )
    if simplices is not None:
        choose_simplices(parts, simplices)
        parts.is_complex = attributes
    return from_parts(parts, ignore=ignore, attributes=attributes)


def bare(H: AnyHypergraph | AttributedHypergraph) -> AnyHypergraph:
    """The hypergraph without attributes."""
    return H.hypergraph if isinstance(H, AttributedHypergraph) else H


def parts_of(
    H: AnyHypergraph | AttributedHypergraph, holder: str, ignore: Collection[str], allowed: tuple[str, ...] = ()
) -> Parts:
    """Split ``H`` into parts; raise for names that would be misread and for complexes, unless ignored."""
    misread = misread_names(bare(H))
    is_complex = isinstance(H, AttributedHypergraph) and H.is_complex
    lost = {"names": misread, "asc": "that this is a simplicial complex" if is_complex else ""}
    refuse(holder, lost, ignore, ("names", "asc", *allowed))
    return to_parts(H, named=not misread)


def _names(nodes: list[Any], side: str) -> dict[Hashable, Hashable]:
    tagged = all(isinstance(node, tuple) and len(node) == 2 and node[0] == side for node in nodes)
    return {node: node[1] if tagged else node for node in nodes}
