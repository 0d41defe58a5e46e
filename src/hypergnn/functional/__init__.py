"""The paper's equations as pure functions of features and structure: a transition ``T`` applied to ``X``.

The projection ``P`` may be given, and is then multiplied on the cheaper side of ``T``; the activation ``σ`` is left to
the caller. ``T`` is never formed: a product with it is two sums over incidences with diagonal scalings between.
Isolated vertices and empty hyperedges contribute and receive exactly 0. All functions take leading batch axes.
Section 3 of the paper, equation by equation, is mapped in ``docs/paper_map.md``.
"""

from hypergnn.functional.attention import attention_incidence, hyperedge_features, hypergraph_attention
from hypergnn.functional.convolution import hyperedge_degree, hypergraph_conv, vertex_degree
from hypergnn.functional.feature_dropout import dropout
from hypergnn.functional.means import hyperedge_mean, vertex_mean
from hypergnn.functional.mutual_information import co_occurrence
from hypergnn.functional.near_rows import following
from hypergnn.functional.pairwise import attention_links, graph_attention, graph_conv, mean_attention, mean_conv
from hypergnn.functional.projection import project
from hypergnn.functional.readouts import readout
from hypergnn.functional.spectral import spectral_conv
from hypergnn.functional.steps import (
    head_score,
    incidences,
    of_receivers,
    pair_product,
    propagate,
    softmax_over_hyperedges,
    softmax_over_members,
    to_hyperedges,
    to_vertices,
)

__all__ = [
    "attention_incidence",
    "attention_links",
    "co_occurrence",
    "dropout",
    "following",
    "graph_attention",
    "graph_conv",
    "head_score",
    "hyperedge_degree",
    "hyperedge_features",
    "hyperedge_mean",
    "hypergraph_attention",
    "hypergraph_conv",
    "incidences",
    "mean_attention",
    "mean_conv",
    "of_receivers",
    "pair_product",
    "project",
    "propagate",
    "readout",
    "softmax_over_hyperedges",
    "softmax_over_members",
    "spectral_conv",
    "to_hyperedges",
    "to_vertices",
    "vertex_degree",
    "vertex_mean",
]
