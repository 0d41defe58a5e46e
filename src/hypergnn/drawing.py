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
    """Draw a small hypergraph; the figure is returned, not shown.

    Args:
        H: The hypergraph. Hyperedges with fewer than two vertices have no area and are invisible.
        vertex: A vertex to highlight, by name or number. Its hyperedges are highlighted too, unless ``hyperedges`` is
            given.
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
    with quiet_axes(ax, "draw", (6.4, 6.4)) as axes:
        axes.set_title(f"{H.n_vertices} vertices, {H.n_hyperedges} hyperedges")
        axes.set_axis_off()
        colours = {number: _BRIGHT if number in highlighted else _PLAIN for number in range(H.n_hyperedges)}
        if H.n_vertices:
            positions = xgi.barycenter_spring_layout(drawn, seed=seed)
            xgi.draw(
                drawn,
                pos=positions,
                ax=axes,
                node_fc=[_BRIGHT if number == chosen else "white" for number in range(H.n_vertices)],
                node_size=9,
                edge_fc=colours,
                dyad_color=colours,
                dyad_lw=3,
            )
            for number, label in enumerate(_labels(H.vertex_names, H.n_vertices) if labels else ()):
                axes.annotate(label, positions[number], xytext=(0, 7), textcoords="offset points", ha="center")
    return axes.get_figure()  # type: ignore[return-value]


def _highlighted(H: Hypergraph, vertex: Any, hyperedges: Iterable[Any] | None) -> tuple[int | None, set[int]]:
    """The numbers of the vertex and of the hyperedges to highlight."""
    chosen = None if vertex is None else find_named("vertex", vertex, H.vertex_names, H.n_vertices)
    if hyperedges is not None:
        if isinstance(hyperedges, str):
            raise TypeError(f"hyperedges must be a list of names or numbers; got the string {hyperedges!r}.")
        return chosen, {find_named("hyperedges", one, H.hyperedge_names, H.n_hyperedges) for one in hyperedges}
    return chosen, set() if chosen is None else set(H.hyperedge[H.vertex == chosen].tolist())


def _labels(names: Names | None, size: int) -> list[str]:
    return [shortened(name, 20).replace("$", r"\$") for name in (range(size) if names is None else names.tolist())]
