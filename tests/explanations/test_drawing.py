"""Drawings of small hypergraphs."""

import random

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb

import hypergnn as hg
from hypergnn.drawing import _BRIGHT

H = hg.Hypergraph.from_hyperedges(
    [[0, 1, 2], [2, 3], [3, 4, 0], [], [1]],
    n_vertices=6,
    vertex_names=["a", "b", "c", "$d", "e", "f"],
    hyperedge_names=["one", "two", "three", "four", "five"],
)


def bright(figure):
    """The number of highlighted vertices, areas and lines."""
    colours = [
        to_rgb(colour)
        for collection in figure.axes[0].collections
        for colour in (*collection.get_facecolor(), *collection.get_edgecolor())
    ]
    return colours.count(to_rgb(_BRIGHT))


def test_the_figure_is_returned_and_not_shown():
    figure = hg.draw(H)
    assert not pyplot.get_fignums()
    assert {text.get_text() for text in figure.axes[0].texts} == {"a", "b", "c", r"\$d", "e", "f"}
    assert not hg.draw(H, labels=False).axes[0].texts
    figure.canvas.draw()


def test_a_vertex_is_highlighted_with_its_hyperedges():
    assert bright(hg.draw(H)) == 0
    alone = bright(hg.draw(H, vertex="a", hyperedges=[]))
    assert alone == 1
    assert bright(hg.draw(H, vertex=0)) == alone + 2
    assert bright(hg.draw(H, hyperedges=["two"])) == bright(hg.draw(H, hyperedges=[1])) >= 1


def test_the_hypergraph_is_drawn_on_given_axes():
    figure, axes = pyplot.subplots()
    assert hg.draw(H, ax=axes) is figure
    assert axes.collections
    pyplot.close(figure)


def test_drawing_leaves_the_global_random_states_alone():
    before = np.random.get_state(), random.getstate()
    hg.draw(H)
    np.testing.assert_equal((np.random.get_state(), random.getstate()), before)


@pytest.mark.parametrize("structure", [([], 0), ([], 3), ([[]], 1), ([[0]], 1)], ids=str)
def test_tiny_hypergraphs_are_drawn(structure):
    hg.draw(hg.Hypergraph.from_hyperedges(*structure)).canvas.draw()


def test_invalid_arguments_are_refused():
    large = hg.Hypergraph.from_hyperedges([[0, 1]], n_vertices=101)
    with pytest.raises(
        ValueError, match=r"at most 100 vertices and 100 hyperedges to be drawn; got 101 and 1.*limit=101"
    ):
        hg.draw(large)
    assert hg.draw(large, limit=101, labels=False).axes
    with pytest.raises(ValueError, match=r"vertex must be a number from 0 to 5, or one of the names, such as 'a'"):
        hg.draw(H, vertex="z")
    with pytest.raises(ValueError, match=r"hyperedges must be a number from 0 to 4"):
        hg.draw(H, hyperedges=["six"])
    with pytest.raises(TypeError, match=r"hyperedges must be a list of names or numbers; got the string 'one'"):
        hg.draw(H, hyperedges="one")
    with pytest.raises(TypeError, match=r"H must be a Hypergraph"):
        hg.draw([[0, 1]])


D = hg.DirectedHypergraph.from_hyperedges(
    [([0, 1], [2]), ([2], [0, 3]), ([], [3]), ([], [])],
    n_vertices=5,
    vertex_names=["a", "b", "c", "d", "e"],
    hyperedge_names=["one", "two", "three", "four"],
)


def arrows(figure):
    return sum(type(patch).__name__ == "FancyArrowPatch" for patch in figure.axes[0].patches)


def test_a_directed_hypergraph_has_an_arrow_for_each_incidence():
    figure = hg.draw(D)
    assert arrows(figure) == D.tails.n_pairs + D.heads.n_pairs
    assert {text.get_text() for text in figure.axes[0].texts} == set("abcde")
    assert bright(figure) == 0
    figure.canvas.draw()


def test_hyperedges_that_a_vertex_sends_to_or_receives_from_are_highlighted():
    assert bright(hg.draw(D, vertex="e")) == 1
    assert bright(hg.draw(D, vertex="c")) == 3  # itself, the hyperedge that it is the head of, and its own
    assert bright(hg.draw(D, hyperedges=["three"])) == 1


def test_directed_hypergraphs_without_incidences_are_drawn():
    for H in (
        hg.DirectedHypergraph.from_hyperedges([], n_vertices=2),
        hg.DirectedHypergraph.from_hyperedges([([], [])], n_vertices=2),
        hg.DirectedHypergraph.from_hyperedges([], n_vertices=0),
    ):
        assert arrows(hg.draw(H)) == 0
