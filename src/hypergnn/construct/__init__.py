"""Relations become hyperedges: one constructor for each kind of data.

- :func:`from_neighbourhoods`: a graph; each vertex and those linked to it, as in the paper
- :func:`from_knn`: points; each with its nearest neighbours
- :func:`from_clusters`: points; each cluster of k-means, at one scale or at several
- :func:`from_attributes`: a table of attributes; all rows with the same value of a column
- :func:`from_table`: a table of (vertex, hyperedge) pairs with ids of any kind
- :func:`from_events`: a table of events, such as orders, with a table of the vertices, such as customers
- :func:`from_text`: documents; all that use the same word

:func:`union` combines hypergraphs over the same vertices, and :func:`drop_hyperedges` removes hyperedges by their
size. :func:`weighted_by_inverse_frequency` gives rare hyperedges more weight. Each constructor sets the names of
vertices and hyperedges, and the centroids, where it knows them.
:class:`TableEncoder` turns a table of numbers and words with gaps into numbers.

New rows can join the hyperedges of points, tables of attributes and documents. :class:`NearestNeighbours`,
:class:`Clusters`, :class:`Attributes` and :class:`Words` take the arguments of the function above, hold the
``.hypergraph`` that it returns, and ``.join(X)`` gives the memberships of new rows. :class:`NearestVertex` does so
for any hypergraph whose vertices have features. :class:`Relation` is what they have in common.
"""

from hypergnn.construct.attributes import Attributes, from_attributes
from hypergnn.construct.clusters import Clusters, from_clusters
from hypergnn.construct.combine import drop_hyperedges, union
from hypergnn.construct.encoding import TableEncoder
from hypergnn.construct.events import Events, from_events
from hypergnn.construct.nearest import NearestNeighbours, NearestVertex, from_knn
from hypergnn.construct.neighbourhoods import from_neighbourhoods
from hypergnn.construct.relation import Relation
from hypergnn.construct.table import from_table
from hypergnn.construct.text import Words, from_text
from hypergnn.structures.frequency import inverse_frequency, weighted_by_inverse_frequency

__all__ = [
    "Attributes",
    "Clusters",
    "Events",
    "NearestNeighbours",
    "NearestVertex",
    "Relation",
    "TableEncoder",
    "Words",
    "drop_hyperedges",
    "from_attributes",
    "from_clusters",
    "from_events",
    "from_knn",
    "from_neighbourhoods",
    "from_table",
    "from_text",
    "inverse_frequency",
    "union",
    "weighted_by_inverse_frequency",
]
