"""Convert to and from other libraries (``to_…``, ``from_…``) and file formats (``write_…``, ``read_…``).

Each pair is lossless for everything that both sides can hold. If something would be lost, an error says what; pass
``ignore`` to drop it, see :mod:`hypergnn.io.losses`, or ``attributes=True`` to read attributes into tables beside the
hypergraph, an :class:`AttributedHypergraph`. Libraries are imported when a function needs them; install all
of them with ``pip install '.[interop,tables]'`` in the source folder.

Vertices and hyperedges without names are identified by their numbers. Conversely, names that are exactly the numbers
0, 1, 2, …, in any order, are read as numbers: vertex 2 there is vertex 2 here.

Example:
    >>> from hypergnn import Hypergraph, io
    >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5, weight=[1.0, 3.0])
    >>> io.from_networkx(io.to_networkx(H)).equals(H)
    True
"""

from hypergnn.io.attributed import AttributedHypergraph
from hypergnn.io.hif import read_hif, write_hif
from hypergnn.io.hypernets import from_hypernetx, to_hypernetx
from hypergnn.io.named import from_networkx, from_networkx_arcs, from_xgi, to_networkx, to_xgi
from hypergnn.io.numbered import from_dhg, from_pyg, from_scipy, to_dhg, to_pyg, to_scipy
from hypergnn.io.tables import read_incidence_table, write_incidence_table

__all__ = [
    "AttributedHypergraph",
    "from_dhg",
    "from_hypernetx",
    "from_networkx",
    "from_networkx_arcs",
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
