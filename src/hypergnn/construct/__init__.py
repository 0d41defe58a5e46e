"""Relations become hyperedges: one constructor for each kind of data that people have.

- :func:`from_neighbourhoods`: a graph, each vertex and all linked to it, as in the paper
- :func:`from_knn`: points, each with its nearest others
- :func:`from_clusters`: points, each cluster of k-means, at one scale or several
- :func:`from_attributes`: a table of properties, all rows with the same value of a column
- :func:`from_table`: a table of (vertex, hyperedge) pairs with ids of any kind
- :func:`from_text`: documents, all those that use the same word

:func:`union` lays hypergraphs over the same vertices together and :func:`drop_hyperedges` leaves out hyperedges by
their size. Each constructor remembers the names of vertices and hyperedges, and the centroids, where it knows them.
"""

from hypergnn.construct.attributes import from_attributes
from hypergnn.construct.combine import drop_hyperedges, union
from hypergnn.construct.neighbourhoods import from_neighbourhoods
from hypergnn.construct.points import from_clusters, from_knn
from hypergnn.construct.table import from_table
from hypergnn.construct.text import from_text

__all__ = [
    "drop_hyperedges",
    "from_attributes",
    "from_clusters",
    "from_knn",
    "from_neighbourhoods",
    "from_table",
    "from_text",
    "union",
]
