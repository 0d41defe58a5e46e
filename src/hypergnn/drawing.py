"""Pictures of small hypergraphs, drawn with XGI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypergnn._utils.checks import Names, check_size, find_named
from hypergnn._utils.display import quiet_axes, shortened
from hypergnn._utils.extras import import_extra
from hypergnn.functional.checks import check_hypergraph
from hypergnn.io import to_xgi
from hypergnn.structures.directed import DirectedHypergraph
from hypergnn.structures.hypergraph import Hypergraph
from hypergnn.structures.incidence import Incidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLAIN, _BRIGHT = "lightsteelblue", "tab:orange"


def draw(
    H: Hypergraph | DirectedHypergraph,
    vertex: Any = None,
    hyperedges: Iterable[Any] | None = None,
    ax: Axes | None = None,
    *,
    labels: bool = True,
    limit: int = 100,
    seed: int = 0,
) -> Figure:
    """Draw a small hypergraph; the figure is returned, not shown.

    A directed hypergraph is drawn with a square for each hyperedge: arrows lead from the vertices of its tail to the
    square, and from the square to the vertices of its head.

    Args:
        H: The hypergraph, directed or not. Undirected hyperedges with fewer than two vertices have no area and are
            invisible.
        vertex: A vertex to highlight, by name or number. Its hyperedges, also those that it is in the tail or in the
            head of, are highlighted too, unless ``hyperedges`` is given.
        hyperedges: Hyperedges to highlight, by name or number.
        ax: The axes to draw on; those of a new figure by default.
        labels: Whether to write the name of each vertex beside it.
        limit: Largest number of vertices, and of hyperedges. Beyond a hundred, little can be seen and the layout takes
            long.
        seed: Seed of the layout.

    Raises:
        ImportError: If XGI or matplotlib is not installed (the extra ``plot``).
        TypeError: If ``H`` is not a hypergraph or ``hyperedges`` is a string.
        ValueError: If the hypergraph is larger than the limit, or a vertex or hyperedge does not exist.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4, vertex_names=["ann", "bob", "eve", "max"])
        >>> draw(H, vertex="eve").axes[0].get_title()
        '4 vertices, 2 hyperedges'
    """
    check_hypergraph(H)
    size = max(H.n_vertices, H.n_hyperedges)
    if size > check_size("limit", limit):
        raise ValueError(
            f"H must have at most {limit} vertices and {limit} hyperedges to be drawn; got {H.n_vertices} and "
            f"{H.n_hyperedges}. Draw a part of it, or pass limit={size}, which may take long."
        )
    chosen, highlighted = _highlighted(H, vertex, hyperedges)
    xgi = import_extra("xgi", "plot", "draw")
    drawn = to_xgi(replace(H.to("cpu"), vertex_names=None, hyperedge_names=None))
    colours = {number: _BRIGHT if number in highlighted else _PLAIN for number in range(H.n_hyperedges)}
    of_vertices = [_BRIGHT if number == chosen else "white" for number in range(H.n_vertices)]
    draw_on = _draw_arrows if isinstance(H, DirectedHypergraph) else _draw_areas
    with quiet_axes(ax, "draw", (6.4, 6.4)) as axes:
        axes.set_title(f"{H.n_vertices} vertices, {H.n_hyperedges} hyperedges")
        axes.set_axis_off()
        if H.n_vertices:
            positions = draw_on(xgi, drawn, axes, of_vertices, colours, seed)
            for number, label in enumerate(_labels(H.vertex_names, H.n_vertices) if labels else ()):
                axes.annotate(label, positions[number], xytext=(0, 7), textcoords="offset points", ha="center")
    return axes.get_figure()  # type: ignore[return-value]


def _draw_areas(
    xgi: Any, drawn: Any, axes: Axes, of_vertices: list[str], colours: dict[int, str], seed: int
) -> dict[int, Any]:
    """Draw hyperedges as areas and lines; return where the vertices are."""
    positions: dict[int, Any] = xgi.barycenter_spring_layout(drawn, seed=seed)
    xgi.draw(
        drawn,
        pos=positions,
        ax=axes,
        node_fc=of_vertices,
        node_size=9,
        edge_fc=colours,
        dyad_color=colours,
        dyad_lw=3,
    )
    return positions


def _draw_arrows(
    xgi: Any, drawn: Any, axes: Axes, of_vertices: list[str], colours: dict[int, str], seed: int
) -> dict[int, Any]:
    """Draw hyperedges as squares with arrows from their tails and to their heads; return where the vertices are."""
    patches = import_extra("matplotlib.patches", "plot", "draw")
    vertices, hyperedges = xgi.bipartite_spring_layout(drawn, seed=seed)
    for number, (tail, head) in drawn.edges.dimembers(dtype=dict).items():
        ends = [(vertices[one], hyperedges[number]) for one in tail]
        ends += [(hyperedges[number], vertices[one]) for one in head]
        for start, end in ends:
            arrow = patches.FancyArrowPatch(
                start, end, arrowstyle="->", mutation_scale=14, shrinkA=6, shrinkB=6, color=colours[number], lw=1.5
            )
            axes.add_patch(arrow)
    across, up = zip(*vertices.values(), strict=True)
    axes.scatter(across, up, c=of_vertices, edgecolors="black", s=81, zorder=3)
    if hyperedges:
        across, up = zip(*hyperedges.values(), strict=True)
        axes.scatter(across, up, c=list(colours.values()), marker="s", edgecolors="black", s=49, zorder=3)
    axes.set_aspect("equal")
    positions: dict[int, Any] = dict(vertices)
    return positions


def _highlighted(
    H: Hypergraph | DirectedHypergraph, vertex: Any, hyperedges: Iterable[Any] | None
) -> tuple[int | None, set[int]]:
    """The numbers of the vertex and of the hyperedges to highlight."""
    chosen = None if vertex is None else find_named("vertex", vertex, H.vertex_names, H.n_vertices)
    if hyperedges is not None:
        if isinstance(hyperedges, str):
            raise TypeError(f"hyperedges must be a list of names or numbers; got the string {hyperedges!r}.")
        return chosen, {find_named("hyperedges", one, H.hyperedge_names, H.n_hyperedges) for one in hyperedges}
    return chosen, set() if chosen is None else {one for pairs in _sides(H) for one in _row(pairs, chosen)}


def _sides(H: Hypergraph | DirectedHypergraph) -> tuple[Incidence, ...]:
    return (H.tails, H.heads) if isinstance(H, DirectedHypergraph) else (H.incidence,)


def _row(pairs: Incidence, vertex: int) -> list[int]:
    start, stop = pairs.offsets[vertex : vertex + 2].tolist()
    hyperedges: list[int] = pairs.members[start:stop].tolist()
    return hyperedges


def _labels(names: Names | None, size: int) -> list[str]:
    return [shortened(name, 20).replace("$", r"\$") for name in (range(size) if names is None else names.tolist())]
