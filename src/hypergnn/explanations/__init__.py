"""Why a vertex got its class: the exact contribution of each of its hyperedges and links.

The last layer is linear in the features that it propagates, so its score for a class is a sum over hyperedges, links,
skip connection and bias. Nothing is estimated, and the parts add up to the score.
"""

from hypergnn.explanations.explanation import Explanation
from hypergnn.explanations.question import explain

__all__ = ["Explanation", "explain"]
