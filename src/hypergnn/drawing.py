"""Pictures of small hypergraphs, drawn by XGI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypergnn._utils.checks import Names, check_size, find_named
from hypergnn._utils.display import quiet_axes, shortened
from hypergnn._utils.extras import import_extra
from hypergnn.functional.checks import check_hypergraph
from hypergnn.io import to_xgi
from hypergnn.structures.hypergraph import Hypergraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLAIN, _BRIGHT = "lightsteelblue", "tab:orange"


def draw(
    H: Hypergraph,
    vertex: Any = None,
    hyperedges: Iterable[Any] | None = None,
    ax: Axes | None = None,
    *,
    labels: bool = True,
    limit: int = 100,
    seed: int = 0,
) -> Figure:
    """Draw a small hypergraph; the figure is returned and not shown.

    Args:
        H: The hypergraph. Hyperedges of one vertex, or of none, have no area and are not seen.
        vertex: A vertex to highlight, by name or number; its hyperedges as well, unless others are named.
        hyperedges: Hyperedges to highlight, by name or number.
        ax: Where to draw; axes of a new figure if omitted.
        labels: Whether to write the names of the vertices beside them.
        limit: How many vertices or hyperedges there may be: beyond a hundred little can be seen, and finding places
            for them takes long.
        seed: Which places to find for the vertices.

    Raises:
        ValueError: If the hypergraph is larger than the limit, or has no such vertex or hyperedge.

    Example:
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4, vertex_names=["ann", "bob", "eve", "max"])
        >>> draw(H, vertex="eve").axes[0].get_title()
        '4 vertices, 2 hyperedges'
    """
    check_hypergraph(H)
    size = max(H.n_vertices, H.n_hyperedges)
    if size > check_size("limit", limit):
        raise ValueError(
            f"H must have at most {limit} vertices and hyperedges to be drawn; got {H.n_vertices} and "
            f"{H.n_hyperedges}. Draw a part of it, or give limit={size} and wait."
        )
    chosen, bright = _highlighted(H, vertex, hyperedges)
    xgi = import_extra("xgi", "plot", "draw")
    drawn = to_xgi(replace(H.to("cpu"), vertex_names=None, hyperedge_names=None))
    with quiet_axes(ax, "draw", (6.4, 6.4)) as axes:
        axes.set_title(f"{H.n_vertices} vertices, {H.n_hyperedges} hyperedges")
        axes.set_axis_off()
        colours = {number: _BRIGHT if number in bright else _PLAIN for number in range(H.n_hyperedges)}
        if H.n_vertices:
            places = xgi.barycenter_spring_layout(drawn, seed=seed)
            xgi.draw(
                drawn,
                pos=places,
                ax=axes,
                node_fc=[_BRIGHT if number == chosen else "white" for number in range(H.n_vertices)],
                node_size=9,
                edge_fc=colours,
                dyad_color=colours,
                dyad_lw=3,
            )
            for number, label in enumerate(_labels(H.vertex_names, H.n_vertices) if labels else ()):
                axes.annotate(label, places[number], xytext=(0, 7), textcoords="offset points", ha="center")
    return axes.get_figure()  # type: ignore[return-value]


def _highlighted(H: Hypergraph, vertex: Any, hyperedges: Iterable[Any] | None) -> tuple[int | None, set[int]]:
    chosen = None if vertex is None else find_named("vertex", vertex, H.vertex_names, H.n_vertices)
    if hyperedges is not None:
        if isinstance(hyperedges, str):
            raise TypeError(f"hyperedges must be a list of names or numbers; got the string {hyperedges!r}.")
        return chosen, {find_named("hyperedges", one, H.hyperedge_names, H.n_hyperedges) for one in hyperedges}
    return chosen, set() if chosen is None else set(H.hyperedge[H.vertex == chosen].tolist())


def _labels(names: Names | None, size: int) -> list[str]:
    return [shortened(name, 20).replace("$", r"\$") for name in (range(size) if names is None else names.tolist())]
