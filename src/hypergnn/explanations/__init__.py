"""Why a vertex got its class: what came to it through each of its hyperedges and links, exactly.

The last layer is linear in what it propagates: its score of a class is a sum over hyperedges, links, skip connection
and bias. Nothing is estimated, and the parts add up to the score.
"""

from hypergnn.explanations.explanation import Explanation
from hypergnn.explanations.question import explain

__all__ = ["Explanation", "explain"]
