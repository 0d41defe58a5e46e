"""A dataset: features, labels, structure and split, in one frozen object."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn._utils.checks import as_ids, check_choice
from hypergnn._utils.display import html_table, listed
from hypergnn._utils.matrices import as_matrix

if TYPE_CHECKING:
    from torch import Tensor

    from hypergnn.structures.directed import DirectedHypergraph
    from hypergnn.structures.graph import Graph
    from hypergnn.structures.hypergraph import Hypergraph
    from hypergnn.structures.shared_graph import SharedGraph

Ids = npt.NDArray[np.int64]
_STICKY = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Vertices with features and labels, the structures that join them, and a train/validation/test split.

    Example:
        >>> import hypergnn as hg
        >>> data = hg.datasets.load("digits")
        >>> data
        Dataset('digits': 1797 vertices, 1797 hyperedges, 64 features, 10 classes, split 200/500/1000)
        >>> hg.HypergraphConv(64, 10)(data.features(), data.hypergraph).shape
        torch.Size([1797, 10])
    """

    name: str
    x: sparse.csr_array | npt.NDArray[np.float32]
    """Features as published, ``(N, F)`` float32, an array or CSR."""
    y: Ids
    """Class of each vertex, ``(N,)``, -1 if unknown."""
    class_names: tuple[str, ...]
    graph: Graph | SharedGraph | None
    """The pairwise links, if the data has any."""
    hypergraph: Hypergraph | DirectedHypergraph
    train: Ids
    """Training vertices, ascending."""
    val: Ids
    """Validation vertices, ascending."""
    test: Ids
    """Test vertices, ascending."""
    source: str
    """Where the data came from."""
    feature_names: tuple[str, ...] | None = None
    """Name of each feature, if known."""
    construction: str | None = None
    """How the hypergraph was built, if known."""
    encoding: Mapping[str, Any] | None = None
    """How words, dates and gaps of a table became features: the settings of a ``construct.TableEncoder``."""
    has_memberships: bool = False
    """Whether the features are memberships: a column for each hyperedge, with the name of the hyperedge."""
    self_links: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    """Vertices that the published data links to themselves, ascending. Our operators give every vertex a loop, or none,
    and do not read them."""

    def __post_init__(self) -> None:
        """Convert features and ids to the documented types and check that all parts fit together."""
        n_vertices = self.hypergraph.n_vertices
        object.__setattr__(self, "x", _as_features(self.x))
        object.__setattr__(self, "y", as_ids("y", self.y, self.n_classes, "n_classes", minimum=-1))
        for part in ("train", "val", "test", "self_links"):
            object.__setattr__(self, part, as_ids(part, getattr(self, part), n_vertices, "n_vertices"))
        object.__setattr__(self, "self_links", np.unique(self.self_links))
        if self.x.shape[0] != n_vertices or self.y.shape != (n_vertices,):
            raise ValueError(
                f"x and y must have one row per vertex, {n_vertices}; got shapes {self.x.shape} and {self.y.shape}."
            )
        if self.feature_names is not None and len(self.feature_names) != self.x.shape[1]:
            raise ValueError(
                f"feature_names must have {self.x.shape[1]} names, one per feature; got {len(self.feature_names)}."
            )
        if self.graph is not None and self.graph.n_vertices != n_vertices:
            raise ValueError(f"graph must have the {n_vertices} vertices of the hypergraph; got {self.graph}.")
        split = np.concatenate([self.train, self.val, self.test])
        if np.unique(split).size < split.size:
            raise ValueError(
                "train, val and test must have no vertex in common and hold no vertex twice; at least one is repeated."
            )
        if (self.y[split] < 0).any():
            raise ValueError("train, val and test must hold only vertices with a label; at least one has label -1.")

    @property
    def n_features(self) -> int:
        """Number of features of each vertex."""
        return int(self.x.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def features(self, normalize: Literal["none", "row"] = "none") -> Tensor:
        """The features as a torch tensor, sparse CSR where :attr:`x` is sparse.

        Args:
            normalize: ``"none"`` returns the features as published; ``"row"`` divides each row by its sum of absolute
                values, as is usual for bags of words, so that long texts do not outweigh short ones. Rows of zeros
                stay zero.

        Example:
            >>> import hypergnn as hg
            >>> data = hg.datasets.load("digits")
            >>> x, scaled = data.features(), data.features(normalize="row")
            >>> bool((scaled * x.sum(dim=1, keepdim=True)).allclose(x))
            True
        """
        import torch

        from hypergnn.structures.sparse_features import csr_tensor

        x = self.scaled(normalize)
        if not sparse.issparse(x):
            return torch.from_numpy(x)
        x.sum_duplicates()
        indptr, indices, values = (torch.from_numpy(part) for part in (x.indptr, x.indices, x.data))
        return csr_tensor(indptr, indices, values, x.shape, check_invariants=True)

    def scaled(self, normalize: Literal["none", "row"]) -> Any:
        """A copy of :attr:`x`, scaled as in :meth:`features`."""
        return scaled_rows(self.x, normalize)

    def statistics(self) -> dict[str, Any]:
        """The numbers that :meth:`describe` prints, as JSON types.

        Example:
            >>> import hypergnn as hg
            >>> hg.datasets.load("digits").statistics()["hyperedge_sizes"]
            {'min': 11, 'median': 11.0, 'max': 11}
        """
        members = self.hypergraph.undirected()
        sizes = members.hyperedge_degree().cpu().numpy()
        shared = members.to_scipy() @ (sizes > 1)  # (N,) number of hyperedges with another vertex in them
        n_known = int(np.count_nonzero(self.x.data if sparse.issparse(self.x) else self.x))
        counts = np.bincount(self.y[self.y >= 0], minlength=self.n_classes)
        return {
            "name": self.name,
            "vertices": self.hypergraph.n_vertices,
            "isolated_vertices": int((shared == 0).sum()),
            "hyperedges": self.hypergraph.n_hyperedges,
            "hyperedge_sizes": {
                "min": int(sizes.min(initial=np.inf) if sizes.size else 0),
                "median": float(np.median(sizes)) if sizes.size else 0.0,
                "max": int(sizes.max(initial=0)),
            },
            "incidences": members.n_incidences,
            "links": None if self.graph is None else self.graph.n_links,
            "features": self.n_features,
            "density": n_known / max(self.x.shape[0] * self.n_features, 1),
            "classes": dict(zip(self.class_names, counts.tolist(), strict=True)),
            "unlabelled_vertices": int((self.y < 0).sum()),
            "split": {"train": self.train.size, "val": self.val.size, "test": self.test.size},
            "source": self.source,
        }

    def describe(self) -> str:
        """One screen of text: sizes, features, classes, split and source.

        Example:
            >>> import hypergnn as hg
            >>> print(hg.datasets.load("digits").describe())
            digits
              1797 vertices, 0 of them isolated
              1797 hyperedges of 11 to 11 vertices, median 11
              19767 incidences
              64 features, 51.07 % of them non-zero
              10 classes: 0 (178), 1 (182), 2 (177), 3 (183), 4 (181), 5 (182), 6 (181),
                7 (179), 8 (174), 9 (180)
              200/500/1000 vertices to train/validate/test
              source: scikit-learn
        """
        numbers = self.statistics()
        sizes, links, unlabelled = numbers["hyperedge_sizes"], numbers["links"], numbers["unlabelled_vertices"]
        classes = ", ".join(f"{name} ({count})".replace(" ", _STICKY) for name, count in numbers["classes"].items())
        lines = [
            f"{numbers['vertices']} vertices, {numbers['isolated_vertices']} of them isolated",
            f"{numbers['hyperedges']} hyperedges of {sizes['min']} to {sizes['max']} vertices, "
            f"median {sizes['median']:g}",
            f"{numbers['incidences']} incidences",
            *([] if links is None else [f"{links} links"]),
            f"{numbers['features']} features, {numbers['density']:.2%} of them non-zero".replace("%", " %"),
            f"{self.n_classes} classes: {classes}" + (f"; {unlabelled} vertices without a label" if unlabelled else ""),
            "/".join(str(size) for size in numbers["split"].values()) + " vertices to train/validate/test",
            f"source: {self.source}",
        ]
        wrapped = [textwrap.fill(line, 80, initial_indent="  ", subsequent_indent="    ") for line in lines]
        return "\n".join([self.name, *wrapped]).replace(_STICKY, " ")

    def __repr__(self) -> str:
        """Show name and sizes."""
        split = "/".join(str(part.size) for part in (self.train, self.val, self.test))
        return (
            f"Dataset({self.name!r}: {self.hypergraph.n_vertices} vertices, {self.hypergraph.n_hyperedges} hyperedges, "
            f"{self.n_features} features, {self.n_classes} classes, split {split})"
        )

    def _repr_html_(self) -> str:
        numbers = self.statistics()
        sizes, split = numbers["hyperedge_sizes"], numbers["split"]
        rows = [
            ["vertices", numbers["vertices"]],
            ["hyperedges", numbers["hyperedges"]],
            ["vertices of a hyperedge", f"{sizes['min']} to {sizes['max']}, median {sizes['median']:g}"],
            ["incidences", numbers["incidences"]],
            *([] if numbers["links"] is None else [["links", numbers["links"]]]),
            ["features", numbers["features"]],
            ["classes", listed(f"{name} ({count})" for name, count in numbers["classes"].items())],
            ["train, validate, test", f"{split['train']}, {split['val']}, {split['test']}"],
            *([] if self.construction is None else [["built from", self.construction]]),
            ["source", self.source],
        ]
        return html_table(f"Dataset {self.name}", [], rows)


def scaled_rows(rows: Any, normalize: str) -> Any:
    """A copy of features, each row by itself: as they are (``"none"``), or divided by its sum (``"row"``)."""
    check_choice("normalize", normalize, ("none", "row"))
    x = rows.copy()
    if normalize == "row":
        total = np.asarray(abs(x).sum(axis=1), dtype=np.float32)  # (N,)
        scale = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
        if sparse.issparse(x):
            x.data *= np.repeat(scale, np.diff(x.indptr))
        else:
            x *= scale[:, None]
    return x


def _as_features(x: Any) -> Any:
    """Features as float32, CSR or an array, all finite."""
    matrix = as_matrix(x, name="x", may_be_empty=True)
    if matrix.dtype == np.float32:
        return matrix
    with np.errstate(over="ignore"):
        return as_matrix(matrix.astype(np.float32), name="x", may_be_empty=True)
