"""The systems of the comparison with the state of the art, one module each."""

from __future__ import annotations

from hypergnn.experiments.systems.attention import GraphAttentionNetwork
from hypergnn.experiments.systems.base import DoesNotApplyError, Probabilities, System
from hypergnn.experiments.systems.chebyshev import Chebyshev
from hypergnn.experiments.systems.deepwalk import DeepWalk
from hypergnn.experiments.systems.embedding import SemiSupervisedEmbedding
from hypergnn.experiments.systems.graph_convolution import GraphConvolutionalNetwork
from hypergnn.experiments.systems.hypergraph_networks import HypergraphNeuralNetwork
from hypergnn.experiments.systems.iterative_classification import IterativeClassification
from hypergnn.experiments.systems.label_propagation import LabelPropagation
from hypergnn.experiments.systems.manifold import ManifoldRegularization
from hypergnn.experiments.systems.monet import MoNet
from hypergnn.experiments.systems.ours import Ours
from hypergnn.experiments.systems.perceptron import MultilayerPerceptron
from hypergnn.experiments.systems.planetoid import Planetoid
from hypergnn.experiments.systems.variance_reduction import VarianceReduction

__all__ = ["SYSTEMS", "DoesNotApplyError", "Probabilities", "System"]

_ROWS: tuple[type[System], ...] = (
    MultilayerPerceptron,
    ManifoldRegularization,
    SemiSupervisedEmbedding,
    LabelPropagation,
    DeepWalk,
    IterativeClassification,
    Planetoid,
    Chebyshev,
    GraphConvolutionalNetwork,
    HypergraphNeuralNetwork,
    MoNet,
    VarianceReduction,
    GraphAttentionNetwork,
    Ours,
)

SYSTEMS: dict[str, type[System]] = {system.name: system for system in _ROWS}
"""The systems by name, in the order of the paper's table."""
