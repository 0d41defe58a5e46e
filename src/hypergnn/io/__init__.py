"""Other people's formats: libraries (``to_…``, ``from_…``) and files (``write_…``, ``read_…``).

Each pair is lossless for what both sides can hold. What one of them cannot hold is refused with an error that says so,
never dropped silently; ``ignore`` lets it go, see :mod:`hypergnn.io.losses`. Libraries are imported when a function
needs them: ``pip install '.[interop,tables]'`` in the folder of the source brings them all.

Vertices and hyperedges that have no names are called by their numbers, and the other way round: names that are exactly
the numbers 0, 1, 2, …, in whatever order, are taken for numbers, so that vertex 2 of the other side is vertex 2 here.

Example:
    >>> from hypergnn import Hypergraph, io
    >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5, weight=[1.0, 3.0])
    >>> io.from_networkx(io.to_networkx(H)).equals(H)
    True
"""

from hypergnn.io.hif import read_hif, write_hif
from hypergnn.io.named import from_hypernetx, from_networkx, from_xgi, to_hypernetx, to_networkx, to_xgi
from hypergnn.io.numbered import from_dhg, from_pyg, from_scipy, to_dhg, to_pyg, to_scipy
from hypergnn.io.tables import read_incidence_table, write_incidence_table

__all__ = [
    "from_dhg",
    "from_hypernetx",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "from_xgi",
    "read_hif",
    "read_incidence_table",
    "to_dhg",
    "to_hypernetx",
    "to_networkx",
    "to_pyg",
    "to_scipy",
    "to_xgi",
    "write_hif",
    "write_incidence_table",
]
